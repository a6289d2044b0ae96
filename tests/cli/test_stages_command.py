"""`holdfast stages` from the terminal."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import Result
from command_line import holdfast, refusal

from reference.staged_rows import years

QUICK = ("--teacher", "linear", "--max-leaf-nodes", 4, "--n-jobs", 1)


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "visits.csv"
    data = years(3, n_rows=80)
    data["season"] = data["year"].map({2001: "spring", 2002: "summer", 2003: "autumn"})
    data.to_csv(path, index=False)
    return path


def stages(data: Path, *options: object, stage: str = "year") -> Result:
    other = "season" if stage == "year" else "year"
    columns = ("--target", "y", "--stage", stage, "--drop", "who", "--drop", other)
    return holdfast("stages", data, *columns, *QUICK, *options)


def test_it_says_what_happened_and_when_which_rule_moved(visits: Path, tmp_path: Path) -> None:
    output = tmp_path / "stages.json"
    result = stages(visits, "--strategy", "shortest-path", "--movement-weight", 0, "-o", output)
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    assert "240 rows, 3 features, 3 stages." in words
    assert "3 stages, 2001 to 2003: the tree" in words
    assert "What changed at each stage 2001: first tree" in words
    written = json.loads(output.read_text(encoding="utf-8"))
    assert written["strategy"] == "shortest-path"
    assert written["stages"]["label"] == ["2001", "2002", "2003"]
    assert written["summary"] in words


def test_no_line_is_wider_than_the_terminal_and_columns_are_explained(visits: Path) -> None:
    text = stages(visits, "--compare").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "retrained at each stage" in " ".join(text.split())
    words = " ".join(text.split())
    assert "distance: tree distance from the stage before; fit lost:" in words
    assert "next AUC: AUC on the rows of the next stage" in words


def test_a_page_a_picture_and_a_table_are_written_by_their_names(visits: Path, tmp_path: Path) -> None:
    for name in ("stages.html", "stages.svg", "stages.csv"):
        assert stages(visits, "-o", tmp_path / name).exit_code == 0
    assert "<svg" in (tmp_path / "stages.html").read_text(encoding="utf-8")
    assert (tmp_path / "stages.svg").read_text(encoding="utf-8").startswith("<svg")
    with (tmp_path / "stages.csv").open(encoding="utf-8", newline="") as file:
        assert [row["label"] for row in csv.DictReader(file)] == ["2001", "2002", "2003"]


def test_words_come_in_the_order_that_is_given(visits: Path) -> None:
    order = ("--stage-order", "spring,summer,autumn")
    result = stages(visits, *order, "--groups", "who", stage="season")
    assert "who" in refusal(result)
    columns = ("--target", "y", "--stage", "season", "--groups", "who", "--drop", "year")
    result = holdfast("stages", visits, *columns, *QUICK, *order)
    assert "3 stages, spring to autumn" in " ".join(result.stdout.split())


def test_what_is_missing_or_wrong_is_said_in_one_line(visits: Path, tmp_path: Path) -> None:
    assert "--stage is missing" in refusal(holdfast("stages", visits, "--target", "y"))
    assert "is for strategy='shortest-path'" in refusal(stages(visits, "--hindsight"))
    assert "in .svg for a picture" in refusal(stages(visits, "-o", tmp_path / "stages.doc"))
