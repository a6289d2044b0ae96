import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from command_line import holdfast, refusal, write_patients

from holdfast import Table, TreeClassifier
from holdfast.cli import compare as command
from holdfast.evaluate.compare import compare_models
from holdfast.evaluate.methods import COMPARED_METHODS, METHODS, MethodSpec
from holdfast.runs.dataset import read_rows
from holdfast.runs.settings import DataSettings

PLAIN = ("--drop", "year", "--drop", "patient", "--drop", "weight")


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("data") / "patients.csv")


@pytest.fixture
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models that a test can wait for."""
    few = {
        "stable": MethodSpec(
            "stable tree", "StableTree", {"method": "bootstrap", "n_estimators": 10, "max_depth": 3}
        ),
        "pruned": MethodSpec("pruned tree", "Tree", {"size": "auto", "cv": 3}),
    }
    monkeypatch.setattr("holdfast.evaluate.methods.METHODS", METHODS | few)


def compare(data: Path, *options: object, target: str = "outcome", models: str = "tree,c4.5") -> Result:
    return holdfast("compare", data, "--target", target, "--n-jobs", 1, "--models", models, *options)


def figures(path: Path) -> dict[str, dict[str, str]]:
    return {row["model"]: row for row in csv.DictReader(path.read_text().splitlines())}


@pytest.mark.usefixtures("few_trees")
def test_the_table_has_a_line_for_every_model_and_says_how_to_read_it(patients: Path) -> None:
    result = compare(patients, *PLAIN, models="tree,pruned,c4.5,stable")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    for name in ("tree", "pruned tree", "C4.5", "stable tree"):
        assert sum(line.startswith(f"{name}  ") and "leaves" in line for line in lines) == 1
    words = " ".join(result.stdout.split())
    assert "120 rows, 4 features" in words
    assert "over the same 5 folds, each of about 24 rows held out" in words
    assert "standard errors of a difference, which are corrected for the rows that the folds share" in words


def test_the_figures_in_the_file_are_those_of_compare_models(patients: Path, tmp_path: Path) -> None:
    result = compare(
        patients,
        *PLAIN,
        "--folds",
        3,
        "--random-state",
        7,
        "--scoring",
        "log_loss,accuracy",
        "-o",
        tmp_path / "c.csv",
    )
    assert result.exit_code == 0, result.output
    rows = read_rows(patients, DataSettings(target="outcome", drop=["year", "patient", "weight"]))
    found = compare_models(
        {"tree": TreeClassifier()},
        rows.features,
        rows.frame.column("outcome"),
        cv=3,
        random_state=7,
        scoring=["log_loss", "accuracy"],
    )
    tree = figures(tmp_path / "c.csv")["tree"]
    assert float(tree["score"]) == pytest.approx(found.mean[0])
    assert [float(tree[f"fold_{number}"]) for number in (1, 2, 3)] == pytest.approx(found.scores[0])
    assert float(tree["accuracy"]) == pytest.approx(found.by("accuracy").mean[0])


def test_groups_and_stages_make_the_folds(patients: Path, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    stages = compare(patients, "--stage", "year", "--drop", "weight", "--drop", "patient", "--output", out)
    assert stages.exit_code == 0, stages.output
    assert "each stage is predicted by models of all before it" in " ".join(stages.stdout.split())
    # Four years of 30 rows each: the first is only trained on.
    assert json.loads(out.read_text())["folds"] == [
        {"training_rows": learnt, "held_out_rows": 30} for learnt in (30, 60, 90)
    ]
    groups = compare(patients, "--groups", "patient", "--drop", "weight", "--drop", "year", "--output", out)
    assert groups.exit_code == 0, groups.output
    assert "groups are kept together" in " ".join(groups.stdout.split())
    assert all(
        fold["held_out_rows"] % 2 == 0 for fold in json.loads(out.read_text())["folds"]
    )  # two rows each


def write_exams(path: Path) -> Path:
    """160 persons, of whom 120 come back two years later; of the 20 that are sick, 2 of them."""
    lines = ["age,sick,person,year"]
    for year, persons in ((2019, range(160)), (2021, range(120))):
        for person in persons:
            sick = "yes" if person < 2 or 120 <= person < 138 else "no"
            lines.append(f"{20 + person * 7 % 60},{sick},P{person},{year}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_forward_earlier_rows_of_a_person_are_used_unless_strictly_apart(tmp_path: Path) -> None:
    exams, out = write_exams(tmp_path / "exams.csv"), tmp_path / "c.json"
    marks = ("--stage", "year", "--groups", "person", "--output", out)
    forward = compare(exams, *marks, target="sick")
    assert forward.exit_code == 0, forward.output
    assert forward.stderr == ""
    words = " ".join(forward.stdout.split())
    assert "120 of the 120 rows that are held out belong to groups that are used for training too" in words
    assert json.loads(out.read_text())["folds"] == [{"training_rows": 160, "held_out_rows": 120}]
    strict = compare(exams, *marks, "--strict-groups", target="sick")
    assert strict.exit_code == 0, strict.output
    said = "no 55.0 % instead of 87.5 %, yes 45.0 % instead of 12.5 %"
    assert f"40 of the 160 earlier rows are used for training, {said}." in " ".join(strict.stdout.split())
    assert strict.stderr.startswith(
        "Note: Of the earlier rows, 40 of 160 remain with whole groups kept apart"
    )
    content = json.loads(out.read_text())
    assert content["folds"] == [{"training_rows": 40, "held_out_rows": 120}]
    assert said in content["notes"][0]


def test_fewer_folds_than_asked_for_are_said_before_the_work(tmp_path: Path) -> None:
    path = tmp_path / "wards.csv"
    rows = [f"{n},{'big' if n < 80 else f'W{n % 4}'},{'yes' if n % 3 else 'no'}" for n in range(100)]
    path.write_text("\n".join(["age,ward,outcome", *rows]) + "\n")
    result = compare(path, "--groups", "ward")
    assert result.exit_code == 0, result.output
    assert "of 5 folds can be made" in result.stderr
    made = int(result.stderr.split("only ")[1].split()[0])
    assert f"folds {made}, stratified by class" in " ".join(result.stdout.split())


def test_weights_count(patients: Path, tmp_path: Path) -> None:
    plain, weighted = tmp_path / "plain.csv", tmp_path / "weighted.csv"
    assert compare(patients, *PLAIN, "--output", plain, models="tree").exit_code == 0
    options = ("--weight", "weight", *PLAIN[:4])
    assert compare(patients, *options, "--output", weighted, models="tree").exit_code == 0
    assert figures(plain)["tree"]["score"] != figures(weighted)["tree"]["score"]


def test_the_file_as_json_has_all_figures_and_no_words_that_json_has_not(
    patients: Path, tmp_path: Path
) -> None:
    out = tmp_path / "c.json"
    assert compare(patients, *PLAIN, "--baseline", "tree", "--output", out).exit_code == 0

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    content = json.loads(out.read_text(), parse_constant=refuse)
    assert content["baseline"] == "tree"
    assert content["metrics"] == [{"name": "auc", "title": "AUC", "loss": False}]
    tree = next(model for model in content["models"] if model["model"] == "tree")
    assert tree["difference"] == 0
    assert tree["n_estimators"] is None
    assert tree["n_leaves"] > 1


@pytest.mark.usefixtures("few_trees")
def test_c45_is_left_out_for_numbers_unless_it_is_asked_for(patients: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(command, "COMPARED_METHODS", ("tree", "pruned", "c4.5", "stable"))
    by_default = compare(patients, *PLAIN, target="age", models="tree,pruned,c4.5,stable")
    assert by_default.exit_code == 0, by_default.output
    assert "C4.5" not in by_default.stdout
    assert "R²" in by_default.stdout
    asked = compare(patients, *PLAIN, target="age", models="tree,c4.5")
    assert "'c4.5' is for classes, and the target is a number" in refusal(asked)


def test_the_same_seed_gives_the_same_scores_for_any_number_of_jobs(patients: Path, tmp_path: Path) -> None:
    scores = []
    for jobs in (1, 2):
        out = tmp_path / f"{jobs}.csv"
        arguments = ("compare", patients, "--target", "outcome", *PLAIN, "--models", "tree,c4.5")
        assert holdfast(*arguments, "--n-jobs", jobs, "--output", out).exit_code == 0
        scores.append(
            [
                {name: cell for name, cell in row.items() if "seconds" not in name}
                for row in figures(out).values()
            ]
        )
    assert scores[0] == scores[1]


def test_a_model_that_fails_leaves_the_others_their_lines(patients: Path, monkeypatch: Any) -> None:
    class Broken(TreeClassifier):
        def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> "Broken":
            if len(y) > 12:  # more than the rows that make sure of the kernels
                raise MemoryError("too many rows")
            return super().fit(X, y)

    models = {"tree": TreeClassifier(), "broken": Broken()}
    monkeypatch.setattr(command, "make_models", lambda *_, **__: models)
    result = compare(patients, *PLAIN)
    assert result.exit_code == 0, result.output
    assert "broken failed on 5 of 5 folds: MemoryError: too many rows" in result.stdout
    assert "One model only" in result.stdout


@pytest.mark.filterwarnings("ignore:The AUC needs", "ignore:The R² needs")
@pytest.mark.parametrize("ending", ["Classifier", "Regressor"])
@pytest.mark.parametrize("name", COMPARED_METHODS)
def test_every_model_can_be_built_fitted_and_measured(name: str, ending: str) -> None:
    if (name, ending) == ("c4.5", "Regressor"):
        pytest.skip("C4.5 is for classes")
    X = np.arange(24.0)[:, np.newaxis]
    y = X[:, 0] if ending == "Regressor" else np.where(X[:, 0] < 12, "a", "b")
    models = command.make_models([name], Table.from_arrays(X, y).schema.target, random_state=3)
    assert list(models) == [METHODS[name].title]
    (model,) = models.values()
    assert type(model).__name__ == METHODS[name].estimator + ending
    assert model.get_params()["random_state"] == 3
    small = {each: 3 for each in ("n_estimators",) if each in model.get_params()}
    found = compare_models([model.set_params(**small)], X, y, cv=2)
    assert np.isfinite(found.leaves).all() != np.isfinite(found.trees).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--models", "oak"], "--models 'oak' names 'oak': choose from stable, tree, pruned"),
        (["--models", ","], "names none"),
        (["--baseline", "forest"], "--baseline forest is not among the compared models: tree, c4.5"),
        (
            ["--scoring", "r2"],
            "--scoring: scoring='r2' is for numbers, and the target 'outcome' holds classes",
        ),
        (["--folds", "1"], "--folds 1 goes with --stage only"),
        (["--strict-groups"], "keeps whole groups apart, and no groups are given: give groups (--groups)"),
        (["--groups", "ward", "--stage", "nobody"], "There is no column 'nobody'"),
        (["--output", "c.xlsx"], "c.xlsx"),
        (["--output", "c.jsn"], "in .parquet, .pq for Parquet; in .json for JSON; in .html for a page."),
        (["-o", "c"], "it must end in .csv, .tsv, .txt, or one of these and .gz, for CSV"),
        (["--output", "c.jsn"], "The name 'c.jsn' has no known ending"),
    ],
)
def test_what_cannot_be_done_is_one_line(options: list[str], message: str, patients: Path) -> None:
    assert message in refusal(compare(patients, *PLAIN, *options))


def test_no_jobs_at_all_are_refused_before_the_file_is_looked_for() -> None:
    result = holdfast("compare", "nowhere.csv", "--target", "y", "--n-jobs", 0)
    assert result.exit_code == 2
    assert "Invalid value for '--n-jobs': '0' must be" in result.stderr


def test_the_file_that_is_read_is_never_written_to(patients: Path) -> None:
    before = patients.read_bytes()
    assert "it is what is read" in refusal(compare(patients, *PLAIN, "--output", patients))
    assert patients.read_bytes() == before


SLIPS = [
    ["--target", "outcome", "--models", "tree,forrest"],
    ["--target", "outcome", "--models", "tree", "--baseline", "stable"],
    ["--target", "outcome", "--output", "c.jsn"],
    ["--target", "outcome", "--output", "no such folder/c.json"],
    ["--target", "outcome", "--folds", "1"],
]


def test_a_slip_is_refused_before_anything_heavy_is_imported(patients: Path) -> None:
    # One process for all of them: what one imports is still there after the next.
    program = (
        "import sys\n"
        "from holdfast.cli.main import main\n"
        f"for slip in {SLIPS!r}:\n"
        f"    try: main(['compare', {str(patients)!r}, *slip])\n"
        "    except SystemExit as end:\n"
        "        heavy = [name for name in ('sklearn', 'numba', 'scipy') if name in sys.modules]\n"
        "        print(end.code, heavy, slip)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [f"2 [] {slip}" for slip in SLIPS], run.stderr


def test_a_table_that_is_too_wide_does_without_times_and_breaks_no_line(tmp_path: Path) -> None:
    path = tmp_path / "cost.csv"
    rows = [f"{age},{age % 7},{(age > 50) * 1e7 + age % 11 * 123456.5}" for age in range(100)]
    path.write_text("\n".join(["age,noise,cost", *rows]) + "\n")
    scoring = "squared_error,absolute_error,r2,neg_median_absolute_error"
    arguments = (
        "compare",
        path,
        "--target",
        "cost",
        "--models",
        "tree,pruned",
        "--scoring",
        scoring,
        "--n-jobs",
        1,
    )
    narrow, wide = (holdfast(*arguments, columns=columns).stdout for columns in (66, 200))
    assert max(map(len, narrow.splitlines())) <= 66
    heading, *_ = [line for line in narrow.splitlines() if line.startswith("model ")]
    assert ("fit" in heading.split(), "size" in heading.split()) == (False, True)
    heading, *_ = [line for line in wide.splitlines() if line.startswith("model ")]
    assert "fit" in heading.split()
    for title in ("mean absolute error", "R²", "median absolute error"):
        assert title in narrow
        assert title in wide


@pytest.mark.usefixtures("few_trees")
def test_what_is_said_of_the_trees_reaches_every_model(patients: Path, tmp_path: Path) -> None:
    said = (
        "--min-samples-leaf",
        15,
        "--class-weight",
        "balanced",
        "--custom-feature",
        "age > 60 and lab > 6",
    )
    out, models = tmp_path / "c.csv", ",".join(COMPARED_METHODS)
    result = compare(patients, *PLAIN, *said, "--folds", 2, "--output", out, models=models)
    assert result.exit_code == 0, result.output
    rows = figures(out)
    assert len(rows) == len(COMPARED_METHODS)
    # Of about 60 rows to learn from, leaves of 15 make 4 at most.
    assert all(
        0 < float(rows[name]["n_leaves"]) <= 4 for name in ("tree", "pruned tree", "C4.5", "stable tree")
    )
