"""Ugly files end to end: what is said of each, which options help, and that the same tree comes of it."""

import csv
from pathlib import Path

import pytest
from click.testing import Result
from command_line import fit as fit_with
from command_line import holdfast, refusal
from ugly_files import N_ROWS, patients, text_of, write_ugly

from holdfast.io.model_file import load_model

PLAIN = {"age": "numeric", "ward": "nominal", "lab": "numeric", "cost": "numeric"}


def fit(data: Path, folder: Path, *options: object) -> Result:
    """A tree of the rows themselves: what a file holds matters here, and not the method."""
    return fit_with(data, folder, "--method", "bootstrap", *options)


def features(folder: Path) -> dict[str, str]:
    return {
        feature.name: feature.kind for feature in load_model(folder / "run" / "model.json").schema.features
    }


def predicted(path: Path, *options: str) -> list[dict[str, str]]:
    """The rows of the file with their predictions; the tree can be shown, too."""
    run = path.parent / "run"
    result = holdfast("predict", run, path, *options)
    assert result.exit_code == 0, result.output
    assert "rows" in holdfast("show", run).stdout
    rows = list(csv.DictReader(result.stdout.splitlines(keepends=True)))
    assert len(rows) == N_ROWS
    assert {row["prediction"] for row in rows} == {"died", "lived"}
    return rows


@pytest.fixture(scope="module")
def plain_tree(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The tree of the same patients in a clean file."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "plain.csv").write_text(text_of(patients()))
    assert fit(folder / "plain.csv", folder / "run").stderr == ""
    return holdfast("show", folder / "run").stdout


# The options that the message offers, and what it says besides.
OFFERED = {
    "decimal_commas": (["--decimal", ","], "'lab' holds numbers with a decimal comma, as '5,10' at line 2"),
    "thousands": (["--thousands", ","], "'cost' holds numbers with a comma, as '7,320' at line 2"),
    "latin_1": (["--encoding", "latin-1"], "the place reads 'École'"),
    "one_bad_word": (["--coerce"], "'lab' holds 119 numbers, but also 'hemolysed' at line 14"),
    "missing_targets": (["--drop-missing-target"], "missing in 3 of 120 rows"),
    "dates": (["--date", "admitted"], "'admitted' holds dates, as '01/01/2019' at line 2"),
}


@pytest.mark.parametrize("name", OFFERED)
def test_what_a_file_needs_is_offered_and_works(name: str, tmp_path: Path) -> None:
    path = write_ugly(name, tmp_path)
    options, words = OFFERED[name]
    line = refusal(fit(path, tmp_path / "run"))
    assert words in line
    assert options[0].removeprefix("--").replace("-", "_") in line or options[0] in line
    result = fit(path, tmp_path / "run", *options)
    assert result.exit_code == 0, result.output
    predicted(path, *(option for option in options if option != "--drop-missing-target"))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("decimal_commas", ("--decimal", ",")),
        ("thousands", ("--thousands", ",")),
        ("utf_16", ()),
        ("identifiers", ()),
    ],
)
def test_the_tree_is_that_of_the_clean_file(
    name: str, options: tuple[str, ...], plain_tree: str, tmp_path: Path
) -> None:
    path = write_ugly(name, tmp_path)
    assert fit(path, tmp_path / "run", *options).exit_code == 0
    assert features(tmp_path) == PLAIN
    assert holdfast("show", tmp_path / "run").stdout == plain_tree
    predicted(path, *options)


def test_a_model_of_commas_asks_for_the_option_again(tmp_path: Path) -> None:
    path = write_ugly("decimal_commas", tmp_path)
    fit(path, tmp_path / "run", "--decimal", ",")
    assert "decimal=',' reads them as numbers" in refusal(holdfast("predict", tmp_path / "run", path))


@pytest.mark.parametrize(
    ("option", "made"),
    [
        ("admitted", ["admitted (days since 2000-01-01)"]),
        ("admitted:parts", ["admitted (year)", "admitted (month)", "admitted (weekday)"]),
    ],
)
def test_a_model_of_dates_reads_them_by_itself(option: str, made: list[str], tmp_path: Path) -> None:
    lines = write_ugly("dates", tmp_path).read_text().splitlines()
    path = tmp_path / "late.csv"  # whoever comes late dies, so that the tree has to ask
    late = [line.replace("lived", "died") if place > 60 else line for place, line in enumerate(lines)]
    late = [line if place > 60 else line.replace("died", "lived") for place, line in enumerate(late)]
    path.write_text("\n".join(line.partition(",")[0] + "," + line.split(",")[-1] for line in late) + "\n")
    assert fit(path, tmp_path / "run", "--date", option).exit_code == 0
    assert list(features(tmp_path)) == made
    rows = predicted(path)
    assert sum(row["prediction"] == row["outcome"] for row in rows) > 100
    (tmp_path / "few.csv").write_text("admitted\n03/04/2019\n")
    line = refusal(holdfast("predict", tmp_path / "run", tmp_path / "few.csv"))
    assert "no cell shows which is the day and which the month" in line
    assert (
        holdfast("predict", tmp_path / "run", tmp_path / "few.csv", "--date", "admitted:dmy").exit_code == 0
    )


def test_identifiers_are_left_out_or_kept(tmp_path: Path) -> None:
    path = write_ugly("identifiers", tmp_path)
    notes = fit(path, tmp_path / "run").stderr
    assert "columns 'column 1', 'patient_id' are left out" in notes
    assert "column 'remark' is left out" in notes
    assert fit(path, tmp_path / "run", "--keep-ids").exit_code == 0
    assert features(tmp_path) == {
        "column 1": "numeric", "patient_id": "numeric", "remark": "nominal", **PLAIN
    }  # fmt: skip


def test_every_marker_is_a_gap_and_others_can_be_named(tmp_path: Path) -> None:
    path = write_ugly("missing_markers", tmp_path)
    assert "but also 'unknown' at line 35" in refusal(fit(path, tmp_path / "run"))
    result = fit(path, tmp_path / "run", "--missing", "Unknown")
    assert "24 missing cells: ward 12, lab 12" in " ".join(result.stdout.split())
    predicted(path, "--missing", "unknown")


def test_missing_targets_are_told_with_their_lines(tmp_path: Path) -> None:
    path = write_ugly("missing_targets", tmp_path)
    result = fit(path, tmp_path / "run", "--drop-missing-target")
    assert "3 of 120 rows have no 'outcome' and are left out, first at lines 6, 42, 79" in result.stderr
    assert "117 rows" in result.stdout


def test_postcodes_are_text_and_long_numbers_are_told_of(tmp_path: Path) -> None:
    path = write_ugly("postcodes_and_long_numbers", tmp_path)
    result = fit(path, tmp_path / "run")
    assert "column 'insurance' has integers beyond 2**53 that become equal" in result.stderr
    assert features(tmp_path) == {"insurance": "numeric", "zip": "nominal", **PLAIN}
    assert fit(path, tmp_path / "run", "--categorical", "insurance").stderr == ""
    assert features(tmp_path)["insurance"] == "nominal"
    assert predicted(path)[0]["insurance"] == "9007199254740993"


def test_quotes_and_line_breaks_stay_in_their_cells(tmp_path: Path) -> None:
    path = write_ugly("quotes_and_line_breaks", tmp_path)
    assert "it is called 'column 1'" in fit(path, tmp_path / "run").stderr
    ward = next(
        each for each in load_model(tmp_path / "run" / "model.json").schema.features if each.name == "ward"
    )
    assert ward.categories == ('Ward "A", left', "plain", "two\nlines")
    assert {row["ward"] for row in predicted(path)} == set(ward.categories)


def test_repeated_names_are_refused(tmp_path: Path) -> None:
    path = write_ugly("repeated_names", tmp_path)
    assert "several columns have the same name: 'age'" in refusal(fit(path, tmp_path / "run"))


def test_a_comparison_reads_files_by_the_same_options(tmp_path: Path) -> None:
    path = write_ugly("decimal_commas", tmp_path)
    few = ("--target", "outcome", "--models", "tree", "--folds", 2, "--n-jobs", 1)
    assert "decimal=',' reads" in refusal(holdfast("compare", path, *few))
    result = holdfast("compare", path, *few, "--decimal", ",")
    assert result.exit_code == 0, result.output
    assert "120 rows, 4 features" in result.stdout


@pytest.mark.parametrize("command", ["fit", "compare", "predict"])
def test_every_command_that_reads_data_has_the_options(command: str) -> None:
    words = holdfast(command, "--help").stdout
    for option in ("--missing", "--date", "--decimal", "--thousands", "--encoding", "--coerce"):
        assert option in words
    assert ("--keep-ids" in words) == ("--drop-missing-target" in words) == (command != "predict")


def test_rows_of_a_file_are_called_by_their_lines(tmp_path: Path) -> None:
    rows = [{**row, "weight": "1", "year": "2020"} for row in patients()]
    rows[7]["weight"], rows[9]["year"] = "-1", ""
    path = tmp_path / "data.csv"
    path.write_text("\n" + text_of(rows))  # the empty line counts
    assert "first at line 10" in refusal(fit(path, tmp_path / "run", "--weight", "weight"))
    for option in ("--stage", "--groups"):
        assert "first at line 12" in refusal(fit(path, tmp_path / "run", option, "year"))
