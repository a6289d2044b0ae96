"""The terminal, `fit_run` and an estimator make the same model of the same rows, to the bit."""

from pathlib import Path
from typing import Any

import pandas
import pytest

from cli.command_line import holdfast, write_patients
from holdfast import fit_run, load, open_run, update_run
from holdfast.evaluate.methods import make_estimator
from holdfast.io.model_file import model_to_json
from holdfast.tree.tree import Tree

FEW = {"n_estimators": 8}
CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("stable", "outcome", {**FEW, "teacher": "linear"}),
    ("stable", "age", {**FEW, "teacher": "linear", "max_leaf_nodes": 6}),
    ("stable", "outcome", {**FEW, "method": "bootstrap", "max_depth": 3}),
    ("stable", "outcome", {**FEW, "method": "paper", "max_depth": 3}),
    ("stable", "age", {**FEW, "method": "pruned", "selection_rule": "knee"}),
    ("stable", "outcome", {**FEW, "teacher": "linear", "threshold": 0.3}),
    ("tree", "outcome", {"class_weight": {"died": 3.0}, "min_samples_leaf": 4}),
    ("tree", "age", {"criterion": "absolute_error", "max_depth": 3}),
    ("tree", "outcome", {"loss_matrix": {("died", "lived"): 4.0}, "threshold": "cost", "max_depth": 2}),
    ("pruned", "outcome", {}),
    ("forest", "outcome", FEW),
    ("boosting", "age", {**FEW, "loss": "absolute_error"}),
]


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("data") / "patients.csv", 160)


@pytest.fixture(scope="module")
def frame(patients: Path) -> pandas.DataFrame:
    return pandas.read_csv(patients, dtype={"zip": str})


def split(frame: pandas.DataFrame, target: str) -> tuple[pandas.DataFrame, dict[str, Any]]:
    given = {"sample_weight": frame["weight"], "groups": frame["patient"]}
    return frame.drop(columns=[target, "weight", "patient", "year"]), given


def terminal_options(model: str, parameters: dict[str, Any]) -> list[Any]:
    options = []
    for name, value in {"model": model, **parameters}.items():
        text = {"class_weight": "died=3", "loss_matrix": "died:lived=4"}.get(name, value)
        name = {"loss_matrix": "loss", "loss": "criterion"}.get(name, name)
        options += [f"--{name.replace('_', '-')}", text]
    return options


@pytest.mark.parametrize(("model", "target", "parameters"), CASES)
def test_terminal_fit_run_and_estimator_give_the_same_bits(
    patients: Path,
    frame: pandas.DataFrame,
    tmp_path: Path,
    model: str,
    target: str,
    parameters: dict[str, Any],
) -> None:
    roles = {"groups": "patient", "weight": "weight", "drop": "year"}
    run = fit_run(frame, target, model=model, test=0, **roles, **parameters)
    options = [part for name, column in roles.items() for part in (f"--{name}", column)]
    result = holdfast(
        *("fit", patients, "--target", target, "--test", 0, "--no-report", "-o", tmp_path / "run"),
        *options,
        *terminal_options(model, parameters),
    )
    assert result.exit_code == 0, result.output
    X, given = split(frame, target)
    task: Any = "classification" if target == "outcome" else "regression"
    own = make_estimator(model, task, random_state=0, **parameters).fit(X, frame[target], **given)
    assert model_to_json(run.model) == model_to_json(
        own.tree_ if isinstance(run.model, Tree) else own.ensemble_
    )
    assert (tmp_path / "run" / "model.json").read_bytes() == model_to_json(run.estimator)
    loaded = load(tmp_path / "run" / "model.json")
    assert type(loaded) is type(own)
    assert loaded.predict(X).tolist() == own.predict(X).tolist()


@pytest.mark.parametrize("method", ["consensus", "bootstrap"])
def test_the_update_of_a_saved_run_is_that_of_its_estimator(
    frame: pandas.DataFrame, tmp_path: Path, method: str
) -> None:
    old, new = (
        frame[frame["year"] < 2021],
        frame[frame["year"] >= 2021].assign(lab=lambda rows: rows["lab"] + 2),
    )
    parameters = {**FEW, "method": method, **({"teacher": "linear"} if method == "consensus" else {})}
    run = fit_run(
        old.drop(columns=["weight", "patient", "year"]), "outcome", test=0, max_depth=3, **parameters
    )
    run.save(tmp_path / "run")
    X = new.drop(columns=["outcome", "weight", "patient", "year"])
    updated = update_run(tmp_path / "run", X.assign(outcome=new["outcome"]), tolerance=0.0)
    python = run.estimator.update(X, new["outcome"], tolerance=0.0)
    assert model_to_json(updated.model.tree_) == model_to_json(python.tree_)
    assert [step.distance for step in updated.update.steps] == [
        step.distance for step in python.update_.steps
    ]


def test_a_run_that_is_opened_has_the_estimator_with_its_reference_trees(
    frame: pandas.DataFrame, tmp_path: Path
) -> None:
    run = fit_run(frame, "outcome", drop=["patient", "year"], teacher="linear", **FEW)
    run.save(tmp_path / "run")
    opened = open_run(tmp_path / "run")
    assert opened.estimator.get_params() == run.estimator.get_params()
    assert len(opened.estimator.reference_trees_) == 8
    assert opened.frontier is not None
    assert run.frontier is not None
    assert opened.frontier.instability.tolist() == run.frontier.instability.tolist()
