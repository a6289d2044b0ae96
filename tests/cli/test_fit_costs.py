"""`holdfast fit --loss --priors --threshold`: what the runs predict, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import fit, holdfast, refusal, write_patients

from holdfast import TreeClassifier, fit_run
from holdfast.io.model_file import load_model

PLAIN = ("--drop", "year", "--drop", "patient", "--drop", "weight")


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("data") / "patients.csv")


def summary(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return content


@pytest.mark.parametrize("model", ["stable", "tree", "boosting"])
def test_a_run_predicts_by_its_losses_and_says_so(patients: Path, tmp_path: Path, model: str) -> None:
    options = () if model == "stable" else ("--model", model)
    if model == "tree":
        result = holdfast(
            *("fit", patients, "--target", "outcome", "-o", tmp_path / "run", *options, *PLAIN),
            *("--loss", "died:lived=9", "--min-samples-leaf", 10),
        )
    else:
        result = fit(patients, tmp_path / "run", *options, *PLAIN, "--loss", "died:lived=9")
    assert result.exit_code == 0, result.output
    assert summary(tmp_path / "run")["settings"]["loss_matrix"] == {"died:lived": 9.0}
    model_file = load_model(tmp_path / "run" / "model.json")
    assert model_file.loss_matrix.tolist() == [[0.0, 9.0], [1.0, 0.0]]
    output = tmp_path / "told.csv"
    assert holdfast("predict", tmp_path / "run", patients, "-o", output).exit_code == 0
    header, *rows = [line.split(",") for line in output.read_text().splitlines()]
    told, died = header.index("prediction"), header.index("p(died)")
    for row in rows:
        assert (row[told] == "died") == (float(row[died]) >= 0.1)


def test_a_threshold_by_cost_is_that_of_python(patients: Path, tmp_path: Path) -> None:
    import pandas as pd

    run = fit_run(
        patients,
        target="outcome",
        model="tree",
        drop=["year", "patient", "weight", "zip"],
        loss_matrix={("died", "lived"): 4},
        threshold="cost",
        max_depth=2,
        test=0,
    )
    rows = pd.read_csv(patients)
    model = TreeClassifier(
        max_depth=2, loss_matrix={("died", "lived"): 4}, threshold="cost", random_state=0
    ).fit(rows[["age", "ward", "lab"]], rows["outcome"])
    assert np.allclose(run.model.loss_matrix, model.tree_.loss_matrix)


def test_priors_are_the_fractions_at_the_root(patients: Path, tmp_path: Path) -> None:
    result = holdfast(
        *("fit", patients, "--target", "outcome", "-o", tmp_path / "run", "--model", "tree", *PLAIN),
        *("--priors", "died=0.2,lived=0.8"),
    )
    assert result.exit_code == 0, result.output
    assert load_model(tmp_path / "run" / "model.json").value[0].tolist() == pytest.approx([0.2, 0.8])


@pytest.mark.parametrize(
    ("target", "option", "value", "message"),
    [
        ("outcome", "--loss", "died:gone=2", "loss_matrix has the key 'died:gone'"),
        ("outcome", "--priors", "died=0.5,gone=0.5", "priors names 'gone'"),
        ("age", "--loss", "a:b=2", "--loss: loss_matrix is for a target of classes, and 'age' is a number"),
        ("age", "--priors", "a=0.5,b=0.5", "--priors: priors is for a target of classes"),
        (
            "age",
            "--threshold",
            "0.2",
            "--threshold: threshold is for a target of classes, and 'age' is a number",
        ),
        (
            "ward",
            "--threshold",
            "cost",
            "is for two classes, and the target has 3",
        ),
    ],
)
def test_what_does_not_fit_the_target_is_refused_in_one_line(
    patients: Path, tmp_path: Path, target: str, option: str, value: str, message: str
) -> None:
    result = holdfast(
        *("fit", patients, "--target", target, "-o", tmp_path / "run", "--model", "tree", option, value)
    )
    assert message in refusal(result)
