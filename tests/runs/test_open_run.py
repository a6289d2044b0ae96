"""A run that was saved comes back whole."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.command_line import write_patients
from holdfast import DataError, ModelFileError, Run, fit_run, open_run
from holdfast._files import make_hidden_path

FEW: dict[str, Any] = {"n_jobs": 1, "drop": ["patient", "year", "weight"]}


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("data") / "patients.csv")


@pytest.fixture(scope="module")
def run(patients: Path) -> Run:
    return fit_run(patients, "outcome", n_estimators=8, max_depth=3, **FEW)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_model_facts_collections_and_frontier_come_back(run: Run, patients: Path, tmp_path: Path) -> None:
    run.save(tmp_path / "run", report=False)
    opened = open_run(tmp_path / "run")
    assert opened.facts == run.facts
    assert opened.frontier_columns == run.frontier_columns
    assert repr(opened) == repr(run)
    assert str(opened) == str(run)
    assert {name: str(tree) for name, tree in opened.trees.items()} == {
        name: str(tree) for name, tree in run.trees.items()
    }
    assert str(opened.frontier) == str(run.frontier)
    assert opened.frontier is not None
    assert run.details is not None
    assert np.array_equal(opened.frontier.instability, run.details.trained.frontier.instability)  # type: ignore[union-attr]
    assert opened.predict(patients).tolist() == run.predict(patients).tolist()
    assert opened.details is None


@pytest.mark.parametrize("model", ["stable", "pruned", "boosting"])
def test_a_run_that_is_opened_and_saved_again_is_the_same(model: str, patients: Path, tmp_path: Path) -> None:
    few = {} if model == "pruned" else {"n_estimators": 5}
    fit_run(patients, "outcome", model=model, **few, **FEW).save(tmp_path / "first", report=False)
    open_run(tmp_path / "first").save(tmp_path / "again", report=False)
    assert content(tmp_path / "again") == content(tmp_path / "first")


def test_a_run_is_found_where_a_killed_process_has_left_it(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path / "run", report=False)
    waiting = make_hidden_path(tmp_path / "run")
    waiting.mkdir()
    (tmp_path / "run").rename(waiting / "old")
    assert open_run(tmp_path / "run").facts == run.facts


def test_what_is_no_run_is_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a run: it has no summary"):
        open_run(tmp_path)
    run.save(tmp_path / "run", report=False)
    (tmp_path / "run" / "summary.json").write_text("{}")
    with pytest.raises(DataError, match="not the summary of a run"):
        open_run(tmp_path / "run")
    (tmp_path / "run" / "summary.json").write_text("{")
    with pytest.raises(DataError, match="it is not JSON"):
        open_run(tmp_path / "run")
    run.save(tmp_path / "run", report=False)
    (tmp_path / "run" / "model.json").write_text("{}")
    with pytest.raises(ModelFileError):
        open_run(tmp_path / "run")


def test_a_folder_of_other_things_is_not_written_to(run: Run, tmp_path: Path) -> None:
    (tmp_path / "beach.jpg").write_text("")
    with pytest.raises(DataError, match="it holds other things"):
        run.save(tmp_path, report=False)
    assert content(tmp_path) == {"beach.jpg": b""}
