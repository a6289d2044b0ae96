"""The report at the end of a fit, and `holdfast report` for what is on disk."""

import json
from pathlib import Path

import pytest
from command_line import holdfast, refusal, write_patients

FEW = ("--method", "bootstrap", "--n-estimators", 10, "--max-depth", 3, "--n-jobs", 1, "--drop", "patient")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    data = write_patients(folder / "patients.csv")
    result = holdfast("fit", data, "--target", "outcome", *FEW, "-o", folder / "run")
    assert result.exit_code == 0, result.output
    assert "report.html" in result.output
    return folder / "run"


def test_a_fit_ends_with_a_page_and_its_facts(run: Path) -> None:
    facts = json.loads((run / "report.json").read_text(encoding="utf-8"))
    assert facts["page"] == "fit"
    assert facts["title"] == "Risk of outcome = died"
    assert "calibration" in facts["sections"]
    assert facts["title"] in (run / "report.html").read_text(encoding="utf-8")


def test_a_run_on_disk_gets_a_report_in_the_users_own_words(run: Path, tmp_path: Path) -> None:
    model_card = tmp_path / "model-card.toml"
    model_card.write_text('case = "patient"\n', encoding="utf-8")
    page = tmp_path / "page.html"
    options = ("--model-card", model_card, "--positive", "lived", "--title", "Who lives?")
    result = holdfast("report", run, "-o", page, *options)
    assert result.exit_code == 0, result.output
    assert str(page) in result.output
    facts = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    assert facts["title"] == "Who lives?"
    assert "patients like this" in facts["sections"]["rules"]["rules"][0]["sentence"]
    assert "calibration" not in facts["sections"]


def test_a_model_file_gets_a_report(run: Path, tmp_path: Path) -> None:
    result = holdfast("report", run / "model.json", "-o", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    assert "frontier" not in json.loads((tmp_path / "page.json").read_text(encoding="utf-8"))["sections"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("-o", "page.txt"), "Give a name that ends in .html."),
        (
            ("-o", "page.html", "--positive", "maybe"),
            "'maybe' is no class of 'outcome'",
        ),
        (("-o", "page.html", "--model-card", "nowhere.toml"), "Cannot use 'nowhere.toml'"),
    ],
)
def test_what_cannot_be_done_is_refused(
    run: Path, tmp_path: Path, options: tuple[str, ...], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert says in refusal(holdfast("report", run, *options))
    assert list(tmp_path.iterdir()) == []
