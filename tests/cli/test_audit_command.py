"""`holdfast audit` from the terminal."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result
from command_line import holdfast, refusal, write_patients

from holdfast import retrain_audit
from holdfast.evaluate.methods import METHODS
from holdfast.runs.dataset import read_rows
from holdfast.runs.settings import DataSettings

PLAIN = ("--drop", "year", "--drop", "patient", "--drop", "weight")


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("data") / "patients.csv")


def audit(data: Path, *options: object, methods: str = "pruned-1se,c4.5") -> Result:
    few = ("--repeats", 2, "--n-jobs", 1, "--methods", methods)
    return holdfast("audit", data, "--target", "outcome", *few, *options)


def test_it_says_how_many_rows_get_another_class_and_shows_the_tables(patients: Path) -> None:
    result = audit(patients, *PLAIN)
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    assert "120 rows, 4 features; 2 random divisions." in words
    assert "Retrained," in words
    assert "changes the class of" in words
    assert "Small changes: distance" in words
    assert result.stderr == ""


def test_consensus_trees_are_audited_by_default_and_know_columns_by_name(
    patients: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {
        name: replace(known, parameters={**known.parameters, "n_estimators": 5})
        for name, known in METHODS.items()
        if known.estimator in ("StableTree", "UpdatedTree", "Forest")
    }
    monkeypatch.setattr("holdfast.evaluate.methods.METHODS", {**METHODS, **few})
    options = ("--repeats", 1, "--n-jobs", 1, "--changes", "columns permuted", "-o", tmp_path / "audit.json")
    result = holdfast("audit", patients, "--target", "outcome", *PLAIN, *options)
    assert result.exit_code == 0, result.output
    rows = {each["method"]: each for each in json.loads((tmp_path / "audit.json").read_text())["table"]}
    trees = ["cart-cv", "pruned-1se", "c4.5", "paper", "consensus", "consensus-8", "updated"]
    assert list(rows) == [*trees, "forest"]
    assert rows["updated"]["distance"] == 0
    for name, most in (("consensus", 12), ("consensus-8", 8)):
        assert rows[name]["leaves"] <= most
        assert (rows[name]["distance"], rows[name]["churn"], rows[name]["identical"]) == (0, 0, 1)


def test_a_method_for_classes_refuses_numbers_in_one_line(patients: Path) -> None:
    result = holdfast("audit", patients, "--target", "age", "--methods", "c4.5", "--repeats", 1)
    assert result.exit_code == 2
    assert "'c4.5' is for classes, and the target is a number: leave it out." in result.stderr


def test_the_pairs_in_the_file_are_those_of_retrain_audit(patients: Path, tmp_path: Path) -> None:
    options = ("--changes", "overlap, fewer rows", "--random-state", 3, "--label-weight", 4, "--test", 0.4)
    result = audit(patients, *PLAIN, *options, "-o", tmp_path / "audit.csv")
    assert result.exit_code == 0, result.output
    rows = read_rows(patients, DataSettings(target="outcome", drop=["year", "patient", "weight"]))
    found = retrain_audit(
        ["pruned-1se", "c4.5"],
        rows.features,
        rows.frame.column("outcome"),
        changes=["overlap", "fewer rows"],
        n_repeats=2,
        random_state=3,
        label_weight=4,
        test_size=0.4,
    )
    lines = list(csv.DictReader((tmp_path / "audit.csv").read_text().splitlines()))
    assert [float(line["distance"]) for line in lines] == [each["distance"] for each in found.pairs]
    assert [line["change"] for line in lines] == [each["change"] for each in found.pairs]


def test_stages_groups_weights_and_questions_have_their_columns(patients: Path, tmp_path: Path) -> None:
    roles = (
        "--stage",
        "year",
        "--groups",
        "patient",
        "--weight",
        "weight",
        "--custom-feature",
        "age > lab * 10",
    )
    result = audit(
        patients, *roles, "--changes", "staged", "-o", tmp_path / "audit.json", methods="pruned-1se"
    )
    assert result.exit_code == 0, result.output
    content = json.loads((tmp_path / "audit.json").read_text())
    assert content["summary"].startswith("Retrained")
    assert [each["part"] for each in content["pairs"]] == [0, 1, 2, 0, 1, 2]
    assert content["table"][0]["change"] == "staged"
    assert content["paired"] == []


def test_a_page_has_the_tables_and_the_picture(patients: Path, tmp_path: Path) -> None:
    result = audit(patients, *PLAIN, "--changes", "overlap", "-o", tmp_path / "audit.html")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "audit.html").read_text()
    assert page.startswith("<!doctype html>")
    assert json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))["page"] == "audit"
    assert "<svg" in page
    assert "<table" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--methods", "oracle"), "The method 'oracle' is unknown"),
        (("--changes", "weather"), "--changes names 'weather'"),
        (("-o", "audit.docx"), "in .html for a page"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(patients: Path, options: tuple[str, ...], message: str) -> None:
    assert message in refusal(audit(patients, *PLAIN, *options))
