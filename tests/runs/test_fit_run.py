"""A run from Python: the same as from the terminal, whatever the data comes in."""

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest
from sklearn.metrics import roc_auc_score

from cli.command_line import holdfast, write_patients
from holdfast import DataError, DataWarning, Ensemble, ParameterError, Run, TreeClassifier, fit_run, load
from holdfast.io.model_file import model_to_json

FEW: dict[str, Any] = {"n_estimators": 10, "max_depth": 3, "teacher": "linear", "n_jobs": 1}
ROLES = {"stage": "year", "groups": "patient", "weight": "weight"}


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("data") / "patients.csv")


@pytest.fixture(scope="module")
def frame(patients: Path) -> pandas.DataFrame:
    return pandas.read_csv(patients, dtype={"zip": str})


@pytest.fixture(scope="module")
def run(patients: Path) -> Run:
    return fit_run(patients, "outcome", **FEW, **ROLES)


def without_seconds(run: Run) -> dict[str, Any]:
    facts = {name: fact for name, fact in run.facts.items() if name != "seconds"}
    return {**facts, "data": {**facts["data"], "source": "", "file": None}}


# -- the same run ------------------------------------------------------------------------------------------


def test_python_and_the_terminal_give_the_same_run(run: Run, patients: Path, tmp_path: Path) -> None:
    settings = {**FEW, **ROLES}
    options = [part for name, value in settings.items() for part in (f"--{name.replace('_', '-')}", value)]
    result = holdfast("fit", patients, "--target", "outcome", *options, "-o", tmp_path / "terminal")
    assert result.exit_code == 0, result.output
    run.save(tmp_path / "python")
    names = sorted(path.relative_to(tmp_path / "python") for path in (tmp_path / "python").rglob("*.*"))
    assert names == sorted(
        path.relative_to(tmp_path / "terminal") for path in (tmp_path / "terminal").rglob("*.*")
    )
    for name in names:
        one, other = ((tmp_path / way / name).read_bytes() for way in ("python", "terminal"))
        if name.name == "summary.json":
            one, other = ({**json.loads(text), "seconds": None} for text in (one, other))
        assert one == other, name


def test_a_frame_and_a_file_give_the_same_run(
    run: Run, patients: Path, frame: pandas.DataFrame, tmp_path: Path
) -> None:
    other = polars.read_csv(patients, schema_overrides={"zip": polars.String})
    other.write_parquet(tmp_path / "patients.parquet")
    for data in (frame, other, other.lazy(), str(tmp_path / "patients.parquet")):
        same = fit_run(data, "outcome", **FEW, **ROLES)
        assert model_to_json(same.model) == model_to_json(run.model)
        assert same.frontier_columns == run.frontier_columns
        assert without_seconds(same) == without_seconds(run)


def test_rows_in_another_order_give_the_same_tree(run: Run, frame: pandas.DataFrame) -> None:
    turned = fit_run(frame.iloc[::-1], "outcome", **FEW, **ROLES)
    assert model_to_json(turned.model) == model_to_json(run.model)


def test_a_run_of_all_rows_is_the_fit_of_the_estimator(frame: pandas.DataFrame) -> None:
    plain = frame.drop(columns=["year", "patient", "weight"])
    found = fit_run(plain, "outcome", model="tree", test=0, min_samples_leaf=5)
    own = TreeClassifier(min_samples_leaf=5).fit(plain.drop(columns="outcome"), plain["outcome"])
    assert str(found.model) == str(own.tree_)
    assert found.facts["model"]["test"] is None
    assert "not tested" in repr(found)


# -- what it holds -----------------------------------------------------------------------------------------


def test_the_facts_are_plain_data(run: Run) -> None:
    assert json.loads(json.dumps(run.facts, allow_nan=False)) == run.facts


def test_the_test_score_is_that_of_the_last_year(run: Run, frame: pandas.DataFrame) -> None:
    late = frame[frame["year"] == 2022]
    died = run.predict_proba(late)[:, list(run.model.schema.target.classes).index("died")]
    auc = roc_auc_score(late["outcome"] == "died", died, sample_weight=late["weight"])
    assert run.facts["trees"]["chosen"]["test"]["score"] == pytest.approx(auc)
    assert f"AUC {auc:.2f}"[:6] in str(run)


def test_the_trees_are_the_chosen_one_and_the_ends_of_the_frontier(run: Run) -> None:
    assert set(run.trees) == {"chosen", "most-stable", "best-score"}
    assert run.trees["chosen"] is run.model
    assert run.frontier is not None
    nearest = int(np.argmin(run.frontier.instability))
    assert run.trees["most-stable"].n_leaves == run.frontier.n_leaves[nearest]
    n_sizes = len(run.frontier.sizes)
    assert (len(run.references), len(run.candidates)) == (10, 2 + n_sizes)  # and two tolerances more
    assert repr(run).startswith(f"<Run: stable tree of 'outcome', {run.model.n_leaves} leaves, AUC 0.")


def test_an_ensemble_has_no_chosen_tree(frame: pandas.DataFrame) -> None:
    run = fit_run(frame, "outcome", model="forest", n_estimators=5, n_jobs=1, drop="patient")
    assert isinstance(run.model, Ensemble)
    assert (run.trees, run.frontier, run.candidates) == ({}, None, ())
    assert "forest of 'outcome', 5 trees" in str(run)


# -- predictions -------------------------------------------------------------------------------------------


def test_predictions_for_a_file_and_a_frame_are_those_of_the_model(
    run: Run, patients: Path, frame: pandas.DataFrame
) -> None:
    features = frame[["age", "ward", "zip", "lab"]]
    expected = run.model.predict(features)
    for data in (patients, frame, features, polars.from_pandas(frame)):
        assert run.predict(data).tolist() == expected.tolist()


def test_dates_are_read_in_predictions_as_they_were_in_the_run(tmp_path: Path) -> None:
    days = pandas.date_range("2020-01-01", periods=100, freq="D")
    frame = pandas.DataFrame({"seen": days, "late": np.where(np.arange(100) < 50, "no", "yes")})
    run = fit_run(frame, "late", date="seen", model="tree", test=0)
    assert run.predict(frame).tolist() == frame["late"].tolist()
    frame.assign(seen=days.strftime("%Y-%m-%d")).to_csv(tmp_path / "new.csv", index=False)
    assert run.predict(tmp_path / "new.csv").tolist() == frame["late"].tolist()


# -- errors and notes --------------------------------------------------------------------------------------


def test_errors_name_keywords_and_not_options(frame: pandas.DataFrame) -> None:
    with pytest.raises(DataError, match="no column 'yr' in the frame \\(stage\\)"):
        fit_run(frame, "outcome", stage="yr")
    with pytest.raises(DataError, match="given both as target and as drop"):
        fit_run(frame, "outcome", drop="outcome")
    with pytest.raises(
        ParameterError, match="test_rows='forward' holds out the last stages: name their column with stage"
    ):
        fit_run(frame, "outcome", test_rows="forward")
    with pytest.raises(TypeError, match="did you mean 'max_depth'"):
        fit_run(frame, "outcome", max_deep=3)
    with pytest.raises(DataError, match="its columns have no names"):
        fit_run(np.zeros((9, 2)), "x0")


def test_warnings_are_given_once_and_kept_as_notes(frame: pandas.DataFrame) -> None:
    odd = frame.assign(constant=1, full_name=[f"Ms {number}" for number in range(len(frame))])
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        run = fit_run(odd, "outcome", model="tree", drop="patient")
    assert [each.category for each in given] == [DataWarning, DataWarning]
    assert {each.filename for each in given} == {__file__}
    assert re.search("keep.ids(=True)? keeps such columns", str(given[0].message))
    assert len(run.facts["notes"]) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert fit_run(odd, "outcome", model="tree", drop="patient").facts["notes"] == run.facts["notes"]


def test_progress_is_shown_only_when_asked_for(frame: pandas.DataFrame, capfd: Any) -> None:
    fit_run(frame, "outcome", drop="patient", **FEW)
    assert "".join(capfd.readouterr()) == ""


def test_a_saved_run_is_for_the_terminal_too(run: Run, patients: Path, tmp_path: Path) -> None:
    run.save(tmp_path / "run")
    assert holdfast("show", tmp_path / "run").output == f"{load(tmp_path / 'run' / 'model.json').tree_}\n"
    lines = holdfast("predict", tmp_path / "run", patients).output.splitlines()
    assert [line.split(",")[8] for line in lines[1:]] == run.predict(patients).tolist()


def test_the_positive_class_is_remembered_in_the_model_and_in_the_facts(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"age": [20.0, 30.0, 40.0, 50.0] * 5, "ill": [0, 0, 1, 1] * 5})
    run = fit_run(frame, "ill", model="tree", test=0, positive="0", task="classification")
    assert run.model.schema.target.positive == 0
    assert "p(0)" in str(run.model)
    assert run.facts["settings"]["positive"] == "0"
    run.save(tmp_path / "run")
    assert load(tmp_path / "run" / "model.json").tree_.schema.target.positive == 0
    with pytest.raises(ParameterError, match="positive='2' is no class of 'ill': choose one of 0, 1"):
        fit_run(frame, "ill", model="tree", test=0, positive="2", task="classification")


def test_a_folder_of_parquet_files_is_one_file_in_parts(frame: pandas.DataFrame, tmp_path: Path) -> None:
    folder, whole = tmp_path / "parts", tmp_path / "patients.parquet"
    folder.mkdir()
    frame.to_parquet(whole)
    for number in range(2):
        frame[number::2].to_parquet(folder / f"{number}.parquet")
    settings: dict[str, Any] = {"target": "outcome", "model": "tree", "max_depth": 2, "drop": ["patient"]}
    parts, one = (fit_run(data, **settings) for data in (folder, whole))
    assert parts.model.rules() == one.model.rules()
    one.save(tmp_path / "run")
    scored = holdfast("predict", tmp_path / "run" / "model.json", folder)
    assert len(scored.stdout.splitlines()) == len(frame) + 1
