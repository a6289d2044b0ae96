"""`holdfast explain`: rows of a file, or of the command line, through the tree of a model or a run."""

import json
from pathlib import Path

import pytest
from command_line import fit, holdfast, refusal, write_patients

from holdfast import explain_row, open_run
from holdfast.io.model_file import open_model

PLAIN = ("--drop", "year", "--drop", "patient", "--drop", "weight")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explained")
    assert fit(write_patients(folder / "patients.csv"), folder / "run", *PLAIN).exit_code == 0
    return folder / "run"


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("rows") / "new.csv", 25, seed=1)


def test_a_row_of_a_file_is_explained_as_python_does(run: Path, rows: Path) -> None:
    import pandas as pd

    result = holdfast("explain", run / "model.json", rows, "--row", 3, columns=100)
    assert result.exit_code == 0, result.output
    row = pd.read_csv(rows, dtype={"zip": str}).iloc[[2]]
    stored = open_model(run / "model.json")
    tree, references = stored.model, stored.references_
    assert result.output == f"{explain_row(tree, row, references=references)}\n"
    assert "of 20 trees trained on resampled data agree" in result.output


def test_no_line_is_wider_than_the_terminal(run: Path, rows: Path) -> None:
    for columns in (60, 80):
        text = holdfast("explain", run, rows, columns=columns).output
        assert max(map(len, text.splitlines())) <= columns


def test_a_run_also_says_how_firmly_each_question_stands(run: Path, rows: Path) -> None:
    text = " ".join(holdfast("explain", run, rows, "--row", 3).output.split())
    assert "split support" in text
    model = " ".join(holdfast("explain", run / "model.json", rows, "--row", 3).output.split())
    assert "split support" not in model


def test_a_run_explains_in_python_what_it_explains_here(run: Path) -> None:
    row = {"age": 70, "lab": 7.0, "ward": "A", "zip": "01000"}
    options = [part for name, value in row.items() for part in ("--set", f"{name}={value}")]
    assert holdfast("explain", run, *options, columns=120).output == f"{open_run(run).explain_row(row)}\n"


def test_values_may_stand_on_the_command_line_and_in_place_of_those_of_a_row(run: Path, rows: Path) -> None:
    text = holdfast("explain", run, "--set", "age=30", "--set", "lab=NA", "--set", "ward=Q", "--set", "zip=1")
    assert "age is 30" in text.output
    replaced = holdfast("explain", run, rows, "--row", 1, "--set", "age=91").output
    assert "age is 91" in replaced


def test_several_rows_stand_below_each_other_by_number_or_name(run: Path, rows: Path) -> None:
    text = holdfast("explain", run, rows, "--row", 1, "--row", 3, "--id", "patient").output
    assert "patient P0\n----------\nPrediction of outcome" in text
    assert "patient P1\n" in text
    assert "20 of 25 rows: --row selects others, -o FILE writes all." in holdfast("explain", run, rows).output


def test_a_file_has_all_rows_as_figures_or_as_a_page(run: Path, rows: Path, tmp_path: Path) -> None:
    assert holdfast("explain", run, rows, "-o", tmp_path / "all.json").output == ""
    facts = json.loads((tmp_path / "all.json").read_text())
    assert [each["row"] for each in facts["rows"]] == [f"row {number}" for number in range(1, 26)]
    assert {"prediction", "path", "counterfactuals"} <= facts["rows"][0].keys()
    holdfast("explain", run, rows, "--row", 2, "-o", tmp_path / "one.html")
    assert '<div class="holdfast">' in (tmp_path / "one.html").read_text()


def test_what_is_fixed_and_wanted_is_passed_on(run: Path, rows: Path) -> None:
    options = ("--fixed", "age", "--fixed", "lab", "--threshold", 0.3)
    text = holdfast("explain", run, rows, "--row", 1, *options).output
    assert "age from" not in text
    assert "a risk of died" in text


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--fixed", "nope"), "--fixed: fixed='nope' is not a column of the model"),
        (("--row", 99), "--row 99 does not exist"),
        (("--id", "nope"), "--id names 'nope', which is not a column of"),
        (("--set", "age"), "write COLUMN=VALUE"),
        (("--set", "agee=3"), "--set names 'agee', which is not a column of the model"),
        (("--set", "age=old"), "is not a number, and the column is numeric"),
        (("--wanted", "maybe"), "--wanted: wanted='maybe' is not a class of 'outcome'"),
        (("-o", "x.png"), "must end in .txt, .html or .json"),
    ],
)
def test_what_cannot_be_is_one_line(run: Path, rows: Path, options: tuple[object, ...], says: str) -> None:
    assert says in refusal(holdfast("explain", run, rows, *options))


def test_without_rows_the_values_that_lack_are_named(run: Path) -> None:
    assert "give it with --set" in refusal(holdfast("explain", run, "--set", "age=70"))
    assert "the rows of a file: give ROWS" in refusal(holdfast("explain", run, "--row", 1))


def test_an_ensemble_is_refused(tmp_path: Path) -> None:
    data = write_patients(tmp_path / "patients.csv", 60)
    assert fit(data, tmp_path / "forest", "--model", "forest", *PLAIN).exit_code == 0
    assert "contains 20 trees" in refusal(holdfast("explain", tmp_path / "forest", data))
