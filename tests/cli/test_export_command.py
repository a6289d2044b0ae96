from pathlib import Path

import pytest
from command_line import fit, holdfast, refusal, write_patients

PLAIN = ("--drop", "year", "--drop", "patient", "--drop", "weight")


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("data") / "patients.csv")


@pytest.fixture(scope="module")
def model(patients: Path) -> Path:
    assert fit(patients, patients.parent / "run", *PLAIN).exit_code == 0
    return patients.parent / "run"


@pytest.mark.parametrize("name", ["model.py", "model.sql", "copy.json", "tree.mmd", "tree.dot"])
def test_the_name_of_the_file_tells_the_format(model: Path, tmp_path: Path, name: str) -> None:
    result = holdfast("export", model, "-o", tmp_path / name)
    assert result.exit_code == 0, result.output
    starts = {
        "model.py": "def predict(row):",
        "model.sql": "WITH ",
        "copy.json": "{",
        "tree.mmd": "flowchart",
        "tree.dot": "digraph",
    }
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(starts[name])


def test_an_export_is_verified_on_the_rows_of_a_file(model: Path, patients: Path, tmp_path: Path) -> None:
    output = tmp_path / "model.sql"
    result = holdfast("export", model, "-o", output, "--verify", patients, "--dialect", "sqlite")
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("sql equals the model on ")
    assert "(SQLite " in result.stderr
    assert output.is_file()


def test_without_a_file_the_text_goes_to_the_terminal(model: Path) -> None:
    result = holdfast("export", model, "--to", "sql", "--table", "patients", "--keep", "id")
    assert result.stdout.startswith('WITH "walked" AS MATERIALIZED (\n  SELECT\n    "id",')
    assert 'FROM "patients"' in result.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Say --to one of python, sql"),
        (("--to", "python", "-o", "model.sql"), "that of a file of sql, and --to is python"),
        (("--to", "python", "--dialect", "sqlite"), "--dialect is for --to sql, and the format is python"),
    ],
)
def test_what_does_not_fit_together_is_refused(model: Path, arguments: tuple[str, ...], says: str) -> None:
    assert says in refusal(holdfast("export", model, *arguments))
