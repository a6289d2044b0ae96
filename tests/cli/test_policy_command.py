"""`holdfast policy` from the terminal."""

import json
from pathlib import Path

import pytest
from click.testing import Result
from command_line import holdfast, refusal, write_patients

from holdfast import (
    ChangePolicy,
    ForestClassifier,
    StableTreeClassifier,
    Table,
    Tree,
    TreeClassifier,
    save,
)
from holdfast.io.model_file import load_model
from reference.reading import read_file

DROP = ("year", "patient", "weight")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two trees of two years of patients, who are 120 rows each, and a policy that both keep to."""
    folder = tmp_path_factory.mktemp("policy")
    for name, seed in (("old", 1), ("new", 2)):
        frame = read_file(write_patients(folder / f"{name}.csv", seed=seed), categorical=["zip"], drop=DROP)
        table = Table.from_frame(frame, "outcome")
        model = TreeClassifier(max_leaf_nodes=4, min_samples_leaf=10)
        model.fit(frame.without(["outcome"]), frame.column("outcome"))
        save(model.tree_.with_schema(table.schema), folder / f"{name}.json")
    write_patients(folder / "test.csv", seed=3)
    (folder / "wide.toml").write_text(
        'max_flips = 1.0\nmax_churn = 1.0\nsubgroups = ["ward", "year"]\nscore_margin = 1'
    )
    (folder / "narrow.toml").write_text("max_churn = 0.0\nmax_distance = 100")
    return folder


def check(folder: Path, *options: object, policy: str = "wide.toml", data: str = "test.csv") -> Result:
    models = (folder / "old.json", folder / "new.json")
    return holdfast(
        "policy", "check", *models, "--data", folder / data, "--policy", folder / policy, *options
    )


# -- init -------------------------------------------------------------------------------------------------


def test_the_template_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = holdfast("policy", "init")
    assert result.exit_code == 0, result.output
    assert ChangePolicy.load("change.toml") == ChangePolicy.template()
    Path("change.toml").write_text("max_churn = 0.01")
    assert "exists already" in refusal(holdfast("policy", "init"))
    assert Path("change.toml").read_text() == "max_churn = 0.01"
    assert holdfast("policy", "init", "-o", "other.toml").exit_code == 0
    assert holdfast("policy", "init", "-o", "-").stdout == Path("other.toml").read_text()
    assert "no folder" in refusal(holdfast("policy", "init", "-o", "none/change.toml"))


# -- check ------------------------------------------------------------------------------------------------


def test_a_change_that_keeps_to_the_policy_ends_well(folder: Path) -> None:
    result = check(folder)
    assert result.exit_code == 0, result.output
    assert "The change keeps to the policy" in result.stdout
    assert "judged by 120 rows" in " ".join(result.stdout.split())
    assert result.stderr == ""


def test_a_line_that_fails_ends_with_exit_code_3(folder: Path, tmp_path: Path) -> None:
    result = check(folder, "-o", tmp_path / "verdict.json", policy="narrow.toml")
    assert result.exit_code == 3, result.output
    assert "The change breaks the policy: 1 of 2 lines fails" in result.stdout
    assert result.stderr == ""
    verdict = json.loads((tmp_path / "verdict.json").read_text())
    assert not verdict["passed"]
    assert verdict["policy"]["max_churn"] == 0
    assert [line["status"] for line in verdict["lines"]] == ["passed", "failed"]


def test_the_figures_are_those_of_python(folder: Path, tmp_path: Path) -> None:
    check(folder, "-o", tmp_path / "verdict.json", policy="narrow.toml")
    trees: list[Tree] = [load_model(folder / name) for name in ("old.json", "new.json")]
    wide = trees[0].schema.widen(trees[1].schema)
    frame = read_file(folder / "test.csv", categorical=["zip"], drop=DROP)
    table = Table.from_frame(frame, "outcome", schema=wide.widen(Table.from_frame(frame, "outcome").schema))
    verdict = ChangePolicy.load(folder / "narrow.toml").check(*trees, table)
    assert json.loads((tmp_path / "verdict.json").read_text())["lines"] == verdict.to_dict()["lines"]


def test_subgroups_may_be_columns_that_no_tree_knows(folder: Path, tmp_path: Path) -> None:
    check(folder, "-o", tmp_path / "verdict.json")
    lines = json.loads((tmp_path / "verdict.json").read_text())["lines"]
    subjects = [line["subject"] for line in lines if line["name"] == "subgroups"]
    assert subjects == [
        "ward = A",
        "ward = B",
        "ward = C",
        "year = 2019",
        "year = 2020",
        "year = 2021",
        "year = 2022",
    ]


def test_weights_count(folder: Path, tmp_path: Path) -> None:
    churn = []
    for options in ((), ("--weight", "weight")):
        check(folder, *options, "-o", tmp_path / "verdict.json", policy="narrow.toml")
        churn.append(json.loads((tmp_path / "verdict.json").read_text())["lines"][1]["figure"])
    assert churn[0] != churn[1]


# -- what cannot be ---------------------------------------------------------------------------------------


def test_bad_input_is_one_line_and_changes_nothing(folder: Path, tmp_path: Path) -> None:
    (folder / "typo.toml").write_text("max_chrun = 0.1")
    (folder / "type.toml").write_text('max_churn = "little"')
    (folder / "sexx.toml").write_text('subgroups = ["sexx"]\nscore_margin = 0.1')
    before = sorted(path.name for path in folder.iterdir())
    assert "no line 'max_chrun' (= 0.1): did you mean 'max_churn'?" in refusal(
        check(folder, policy="typo.toml")
    )
    assert "line max_churn must be a number of at least 0, got 'little'" in refusal(
        check(folder, policy="type.toml")
    )
    assert "There is no column 'sexx'" in refusal(check(folder, policy="sexx.toml"))
    assert "No such file" in refusal(check(folder, policy="none.toml"))
    assert "No such file" in refusal(check(folder, data="none.csv"))
    assert "no column 'lived'" in refusal(check(folder, "--target", "lived"))
    assert "--target" not in refusal(check(folder, "--target", "ward"))
    assert "it is what is read" in refusal(check(folder, "-o", folder / "wide.toml"))
    assert sorted(path.name for path in folder.iterdir()) == before


def test_models_that_cannot_be_compared_are_one_line(folder: Path, tmp_path: Path) -> None:
    frame = read_file(folder / "test.csv", categorical=["zip"], drop=DROP)
    features, outcome = frame.without(["outcome"]), frame.column("outcome")
    save(ForestClassifier(n_estimators=2).fit(features, outcome), tmp_path / "forest.json")
    save(
        TreeClassifier(max_depth=1).fit(frame.without(["ward", "outcome"]), frame.column("ward")),
        tmp_path / "ward.json",
    )
    options = ("--data", folder / "test.csv", "--policy", folder / "wide.toml")
    forest = refusal(holdfast("policy", "check", folder / "old.json", tmp_path / "forest.json", *options))
    assert "ensemble of 2 trees" in forest
    other = refusal(holdfast("policy", "check", folder / "old.json", tmp_path / "ward.json", *options))
    assert "target" in other
    data = refusal(holdfast("policy", "check", folder / "old.json", folder / "test.csv", *options))
    assert "test.csv" in data


@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")
def test_flips_of_firm_answers_are_judged_by_the_reference_trees_of_the_old_model(
    folder: Path, tmp_path: Path
) -> None:
    frame = read_file(folder / "old.csv", categorical=["zip"], drop=DROP)
    stable = StableTreeClassifier(teacher="linear", n_estimators=10, max_leaf_nodes=3)
    stable.fit(frame.without(["outcome"]), frame.column("outcome"))
    save(stable, tmp_path / "stable.json")
    (tmp_path / "firm.toml").write_text("max_flips_of_firm = 1.0")
    rest = "--data", folder / "test.csv", "--target", "outcome", "--policy", tmp_path / "firm.toml"
    output = tmp_path / "verdict.json"
    result = holdfast("policy", "check", tmp_path / "stable.json", folder / "new.json", *rest, "-o", output)
    assert result.exit_code == 0, result.output
    (line,) = json.loads(output.read_text())["lines"]
    tested = read_file(folder / "test.csv", categorical=["zip"], drop=DROP).without(["outcome"])
    is_firm = stable.predict_firmness(tested).is_firm()
    flips = stable.predict(tested) != load_model(folder / "new.json").predict(tested)
    assert line["figure"] == pytest.approx(flips[is_firm].mean())
    result = check(folder, policy=str(tmp_path / "firm.toml"))  # plain trees have no reference trees
    assert "not judged" in result.output
