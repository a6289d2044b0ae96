"""`holdfast fit --model`: every kind of model leaves a run that can be shown and predicted with."""

import csv
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import Result
from command_line import holdfast, refusal, write_patients

from holdfast import (
    BoostingClassifier,
    BoostingRegressor,
    Ensemble,
    ForestClassifier,
    ForestRegressor,
    Tree,
    TreeClassifier,
    TreeRegressor,
)
from holdfast.io.model_file import load_model, model_to_json
from holdfast.runs.settings import MODELS as FIT_MODELS

PLAIN = ("--drop", "year", "--drop", "patient", "--drop", "weight")
OTHERS = tuple(name for name in FIT_MODELS if name != "stable")
ENSEMBLES = ("forest", "boosting")
PYTHON: dict[tuple[str, str], Any] = {
    ("tree", "outcome"): TreeClassifier(),
    ("tree", "age"): TreeRegressor(),
    ("pruned", "outcome"): TreeClassifier(size="auto", random_state=3),
    ("pruned", "age"): TreeRegressor(size="auto", random_state=3),
    ("forest", "outcome"): ForestClassifier(random_state=3),
    ("forest", "age"): ForestRegressor(random_state=3),
    ("boosting", "outcome"): BoostingClassifier(random_state=3),
    ("boosting", "age"): BoostingRegressor(random_state=3),
}


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("data") / "patients.csv")


def fit(data: Path, folder: Path, model: str, *options: object, target: str = "outcome") -> Result:
    few = ("--n-jobs", 1, "--no-report")
    return holdfast("fit", data, "--target", target, "-o", folder, "--model", model, *few, *options)


def summary(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return content


# -- the run ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["outcome", "age"])
@pytest.mark.parametrize("model", OTHERS)
def test_each_model_leaves_a_whole_run(model: str, target: str, patients: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    result = fit(patients, folder, model, "--groups", "patient", *PLAIN[:2], *PLAIN[4:], target=target)
    assert result.exit_code == 0, result.output
    own = "importances.csv" if model in ENSEMBLES else "tree.svg"
    assert sorted(path.name for path in folder.iterdir()) == sorted(["model.json", "summary.json", own])
    fitted = load_model(folder / "model.json")
    assert isinstance(fitted, Ensemble if model in ENSEMBLES else Tree)
    assert fitted.schema.target.name == target
    if model not in ENSEMBLES:
        assert ElementTree.parse(folder / "tree.svg").getroot().tag.endswith("svg")
    facts = summary(folder)
    assert facts["settings"]["model"] == facts["model"]["kind"] == model
    division = facts["division"]
    n_test = division["test_rows"]
    assert (n_test + division["training_rows"], division["test_kind"]) == (120, "random")
    assert n_test == pytest.approx(30, abs=4)  # whole patients, of every class or tenth of the numbers
    assert not {name for name in division if name.startswith(("early_", "held_out"))}
    assert facts["model"]["trees"] == (100 if model in ENSEMBLES else 1)
    assert sum(entry["importance"] for entry in facts["features"]) == pytest.approx(1.0)
    # What is printed has the figures of the summary, within the terminal.
    lines = [line for line in result.stdout.splitlines() if str(tmp_path) not in line]
    assert max(map(len, lines)) <= 80
    (shown,) = re.findall(rf"^on {n_test} test rows +(-?[\d.]+) ± ", result.stdout, re.MULTILINE)
    assert float(shown) == pytest.approx(facts["model"]["test"]["score"], abs=0.006)
    # The other commands take the folder.
    assert holdfast("show", folder).exit_code == 0
    scored = holdfast("predict", folder, patients).stdout.splitlines()
    assert len(list(csv.DictReader(scored))) == 120


@pytest.mark.parametrize(("model", "target"), PYTHON)
def test_the_model_is_that_of_python(model: str, target: str, patients: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(patients, dtype={"zip": str}).drop(columns=["year", "patient", "weight"])
    assert (
        fit(
            patients, tmp_path / "run", model, *PLAIN, "--test", 0, "--random-state", 3, target=target
        ).exit_code
        == 0
    )
    python = PYTHON[model, target].fit(frame.drop(columns=target), frame[target])
    own = python.tree_ if hasattr(python, "tree_") else python.ensemble_
    assert model_to_json(load_model(tmp_path / "run" / "model.json")) == model_to_json(own)


def test_the_test_score_is_that_of_rows_the_model_has_not_seen(tmp_path: Path) -> None:
    """A whole tree knows every training row by rote, so that all its errors are on the test rows."""
    path = tmp_path / "noise.csv"
    path.write_text("age,outcome\n" + "".join(f"{age},{age * 7919 % 101 % 2}\n" for age in range(200)))
    options = ("--scoring", "accuracy", "--task", "classification")
    assert fit(path, tmp_path / "run", "tree", *options).exit_code == 0
    facts = summary(tmp_path / "run")
    lines = list(csv.DictReader(holdfast("predict", tmp_path / "run", path).stdout.splitlines()))
    n_errors = sum(line["prediction"] != line["outcome"] for line in lines)
    assert n_errors > 10
    n_test = facts["division"]["test_rows"]
    assert facts["model"]["test"]["score"] == pytest.approx(1 - n_errors / n_test)


def test_without_test_rows_a_model_that_expects_something_says_so(patients: Path, tmp_path: Path) -> None:
    result = fit(patients, tmp_path / "run", "forest", *PLAIN, "--test", 0)
    facts = summary(tmp_path / "run")["model"]
    assert facts["test"] is None
    assert 0.5 < facts["expected"]["score"] <= 1
    assert "from the rows that each tree was not grown on" in " ".join(result.stdout.split())
    assert "test rows" not in result.stdout


def test_the_expected_score_of_a_forest_is_its_out_of_bag_score(patients: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(patients, dtype={"zip": str}).drop(columns=["year", "patient", "weight"])
    python = ForestClassifier(random_state=0, oob_score="auc").fit(
        frame.drop(columns="outcome"), frame["outcome"]
    )
    fit(patients, tmp_path / "run", "forest", *PLAIN, "--test", 0)
    assert summary(tmp_path / "run")["model"]["expected"]["score"] == pytest.approx(python.oob_score_)


def test_a_forest_of_one_row_expects_nothing(tmp_path: Path) -> None:
    path = tmp_path / "row.csv"
    path.write_text("age,outcome\n41,lived\n")
    result = fit(path, tmp_path / "run", "forest", "--test", 0)
    assert result.exit_code == 0, result.output
    assert summary(tmp_path / "run")["model"]["expected"] is None


def test_the_importances_file_has_every_feature(patients: Path, tmp_path: Path) -> None:
    fit(patients, tmp_path / "run", "forest", *PLAIN)
    lines = list(csv.DictReader((tmp_path / "run" / "importances.csv").read_text().splitlines()))
    fitted = load_model(tmp_path / "run" / "model.json")
    assert {line["feature"]: float(line["importance"]) for line in lines} == pytest.approx(
        dict(zip(fitted.schema.names, fitted.importances.tolist(), strict=True))
    )
    assert [float(line["importance"]) for line in lines] == sorted(fitted.importances.tolist(), reverse=True)


def test_a_run_of_another_model_leaves_nothing_of_the_earlier_one(patients: Path, tmp_path: Path) -> None:
    fit(patients, tmp_path / "run", "forest", *PLAIN)
    fit(patients, tmp_path / "run", "tree", *PLAIN)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "model.json",
        "summary.json",
        "tree.svg",
    ]


def test_stages_need_not_be_two_for_a_model_without_early_rows(patients: Path, tmp_path: Path) -> None:
    header, *lines = patients.read_text().splitlines()
    path = tmp_path / "one.csv"
    path.write_text("\n".join([header, *(line for line in lines if ",2019," in line)]) + "\n")
    assert fit(path, tmp_path / "run", "tree", "--stage", "year", "--test", 0, *PLAIN[2:]).exit_code == 0


# -- how it grows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", FIT_MODELS)
def test_leaves_hold_the_rows_that_they_must(model: str, patients: Path, tmp_path: Path) -> None:
    few = ("--n-estimators", 10) if model in ("stable", *ENSEMBLES) else ()
    for size, rows in (("12", 12), ("0.2", 18)):
        result = fit(patients, tmp_path / "run", model, *PLAIN, *few, "--min-samples-leaf", size)
        assert result.exit_code == 0, result.output
        fitted = load_model(tmp_path / "run" / "model.json")
        for tree in [fitted] if isinstance(fitted, Tree) else fitted.trees:
            # In a bag, a row counts as often as it was drawn, and a fraction is one of the rows drawn.
            least = {"stable": 0.6 * rows, "forest": min(rows, float(size) * tree.count[0])}.get(model, rows)
            assert min(tree.count[tree.feature == -1]) >= least
        assert summary(tmp_path / "run")["settings"]["min_samples_leaf"] == float(size)


@pytest.mark.parametrize("model", ["tree", "forest"])
def test_trees_grow_as_c45_does(model: str, patients: Path, tmp_path: Path) -> None:
    result = fit(patients, tmp_path / "run", model, *PLAIN, "--growth", "c4.5")
    assert result.exit_code == 0, result.output
    assert summary(tmp_path / "run")["settings"]["criterion"] == "gain_ratio"
    refused = fit(patients, tmp_path / "run", model, *PLAIN, "--growth", "c4.5", target="age")
    assert (refused.exit_code, "gain_ratio" in refused.stderr) == (2, True)


@pytest.mark.parametrize("seed", range(5))
def test_any_seed_gives_a_pruned_tree(seed: int, patients: Path, tmp_path: Path) -> None:
    assert fit(patients, tmp_path / "run", "pruned", *PLAIN, "--random-state", seed).exit_code == 0


@pytest.mark.parametrize("model", FIT_MODELS)
def test_classes_weigh_what_they_are_said_to(model: str, patients: Path, tmp_path: Path) -> None:
    few = ("--n-estimators", 10) if model in ("stable", *ENSEMBLES) else ()
    shares = {}
    for weights in ("lived=1", "died=20,lived=1", "balanced"):
        folder = tmp_path / weights
        result = fit(patients, folder, model, *PLAIN, *few, "--max-depth", 1, "--class-weight", weights)
        assert result.exit_code == 0, result.output
        lines = csv.DictReader(holdfast("predict", folder, patients).stdout.splitlines())
        shares[weights] = sum(float(line["p(died)"]) for line in lines) / 120
    assert shares["lived=1"] < shares["balanced"] < shares["died=20,lived=1"]


def test_weights_name_classes_that_are_numbers_by_their_text(tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text("age,old\n" + "".join(f"{age},{int(age > 50)}\n" for age in range(100)))
    options = ("--class-weight", "1=3", "--task", "classification")
    assert fit(path, tmp_path / "run", "tree", *options, target="old").exit_code == 0
    fitted = load_model(tmp_path / "run" / "model.json")
    n_old = round(float(fitted.count[0] * fitted.value[0, 1] / (3 - 2 * fitted.value[0, 1])))
    assert fitted.weight[0] == pytest.approx(fitted.count[0] + 2 * n_old)


@pytest.mark.parametrize("model", FIT_MODELS)
def test_questions_of_the_user_are_asked(model: str, tmp_path: Path) -> None:
    """Neither column tells the class by itself, and the question does."""
    path = tmp_path / "two.csv"
    rows = [f"{a},{b},{'yes' if a > b else 'no'}" for a in range(12) for b in range(12)]
    path.write_text("\n".join(["a,b,outcome", *rows]) + "\n")
    few = ("--n-estimators", 10) if model in ("stable", *ENSEMBLES) else ()
    asked = ("--custom-feature", "a > b", "--custom-feature", "a + b > 20")
    result = fit(path, tmp_path / "run", model, *few, *asked, "--max-depth", 1)
    assert result.exit_code == 0, result.output
    fitted = load_model(tmp_path / "run" / "model.json")
    assert fitted.schema.names == ("a", "b", "a > b", "a + b > 20")
    assert summary(tmp_path / "run")["columns"]["custom_features"] == ["a > b", "a + b > 20"]
    lines = list(csv.DictReader(holdfast("predict", tmp_path / "run", path).stdout.splitlines()))
    agree = [line["prediction"] == line["outcome"] for line in lines]
    assert sum(agree) > (0.7 if model == "forest" else 0.999) * len(agree)


# -- orders -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Survival falls from stage to stage, in an order that no alphabet has; one row has none."""
    path = tmp_path_factory.mktemp("stages") / "stages.csv"
    grades = ("zero", "one", "two", "three")
    lines = [f"{grades[number % 4]},{number % 5},{number % 4 * 10 + number % 3}.5" for number in range(160)]
    path.write_text("\n".join(["grade,noise,cost", *lines, ",0,0"]) + "\n")
    return path


def test_ordered_categories_are_split_in_their_order(stages: Path, tmp_path: Path) -> None:
    order = "grade=zero, one,two,three"
    result = fit(
        stages, tmp_path / "run", "tree", "--ordered", order, "--max-depth", 1, "--test", 0, target="cost"
    )
    assert result.exit_code == 0, result.output
    fitted = load_model(tmp_path / "run" / "model.json")
    grade = fitted.schema.features[0]
    assert (grade.kind, grade.categories) == ("ordered", ("zero", "one", "two", "three"))
    assert "1 ordered" in result.stdout
    assert fitted.rules().startswith("IF   grade at most one (80) or not recorded (1)\n")
    # A new file is read by the same order, and knows the words.
    line = holdfast("predict", tmp_path / "run", stages).stdout.splitlines()[1]
    assert float(line.split(",")[-1]) == pytest.approx(fitted.value[1, 0])


def test_ordered_categories_reach_stable_trees_and_comparisons(stages: Path, tmp_path: Path) -> None:
    order = ("--ordered", "grade=zero,one,two,three")
    result = fit(stages, tmp_path / "run", "stable", *order, "--n-estimators", 5, target="cost")
    assert result.exit_code == 0, result.output
    assert load_model(tmp_path / "run" / "model.json").schema.features[0].kind == "ordered"
    compared = holdfast("compare", stages, "--target", "cost", *order, "--models", "tree", "--n-jobs", 1)
    assert compared.exit_code == 0, compared.output


def test_a_category_without_a_place_in_the_order_is_refused(stages: Path, tmp_path: Path) -> None:
    line = refusal(fit(stages, tmp_path / "run", "tree", "--ordered", "grade=zero,one,two", target="cost"))
    assert line == (
        "Error: column 'grade' has 'three' in 40 rows, and ordered grade=zero,one,two does not: "
        "put all into the order."
    )


def test_stages_that_are_words_follow_the_order_that_is_given(stages: Path, tmp_path: Path) -> None:
    path = tmp_path / "whole.csv"
    path.write_text("\n".join(stages.read_text().splitlines()[:-1]) + "\n")
    options = ("--n-estimators", 5, "--stage", "grade")
    order = ("--stage-order", "zero,one,two,three")
    assert fit(path, tmp_path / "run", "stable", *options, *order, target="cost").exit_code == 0
    tested = summary(tmp_path / "run")["division"]["test_stages"]
    assert tested == ["three"]
    silent = fit(path, tmp_path / "alphabet", "stable", *options, target="cost")
    assert "in the order of the alphabet: one, three, two, zero" in silent.stderr
    assert "stage_order" in silent.stderr
    line = refusal(fit(path, tmp_path / "no", "stable", *options, "--stage-order", "zero,one", target="cost"))
    assert "the stage has 'two' in 40 rows, and 'three', and stage_order zero, one does not" in line


def test_years_and_dates_need_no_order(patients: Path, tmp_path: Path) -> None:
    result = fit(patients, tmp_path / "run", "tree", "--stage", "year", *PLAIN[2:])
    assert "alphabet" not in result.stderr


# -- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (
            "forest",
            ["--selection-rule", "knee"],
            "--selection-rule: selection_rule goes with model='stable'",
        ),
        (
            "tree",
            ["--n-estimators", "5"],
            "--n-estimators: n_estimators goes with model='stable' or 'forest' or 'boosting'",
        ),
        ("boosting", ["--growth", "c4.5"], "growth_rules of boosting are"),
        ("pruned", ["--early-fraction", "0.5"], "--early-fraction: early_fraction goes with model='stable'"),
        ("stable", ["--stage-order", "a,b"], "--stage-order: stage_order needs stage"),
        (
            "stable",
            ["--ordered", "a=b,c", "--ordered", "a=c,b"],
            "--ordered: ordered is given twice for column 'a'",
        ),
        ("stable", ["--ordered", "ward"], "'ward' must be a column and its categories in their order"),
        ("stable", ["--ordered", "ward=A"], "'A' must be names between commas"),
        ("stable", ["--ordered", "ward=A,A"], "('A', 'A') has a name twice"),
        ("stable", ["--min-samples-leaf", "0"], "'0' must be an integer of at least 1"),
        ("stable", ["--min-samples-leaf", "1.5"], "or a fraction of the rows such as 0.05"),
        ("stable", ["--min-samples-leaf", "nan"], "'nan' must be an integer"),
        ("stable", ["--class-weight", "even"], "'even' must be balanced, or weights above 0"),
        ("stable", ["--class-weight", "died=-1"], "'died=-1' must be balanced, or weights above 0"),
        ("stable", ["--class-weight", "died=1,died=2"], "has a name twice"),
        ("trees", [], "'trees' is not one of 'stable', 'tree', 'pruned', 'forest', 'boosting'"),
    ],
)
def test_options_that_cannot_be_are_usage_errors(
    model: str, options: list[str], message: str, patients: Path, tmp_path: Path
) -> None:
    result = fit(patients, tmp_path / "run", model, *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ordered", "wart=A,B,C"], "There is no column 'wart' in "),
        (["--ordered", "outcome=died,lived"], "given both as target and as ordered"),
        (
            ["--class-weight", "dead=2"],
            "class_weight has a weight for 'dead', but the classes of y are 'died', 'lived'",
        ),
        (["--custom-feature", "height > 2"], "'height' at character 1 is not a column"),
        (["--target", "age", "--class-weight", "balanced"], "class_weight"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "compare"])
def test_what_does_not_fit_the_data_is_refused_in_one_line(
    command: str, options: list[str], message: str, patients: Path, tmp_path: Path
) -> None:
    place = ("-o", tmp_path / "run") if command == "fit" else ("--models", "tree", "--n-jobs", 1)
    result = holdfast(command, patients, "--target", "outcome", *place, *PLAIN, *options)
    line = next(line for line in result.stderr.splitlines() if line.startswith("Error: "))
    assert (result.exit_code, message in line) == (2, True), line
    assert list(tmp_path.iterdir()) == []
