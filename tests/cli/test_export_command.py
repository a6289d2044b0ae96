from pathlib import Path

import pytest
from command_line import fit, holdfast, refusal, write_patients

from holdfast.errors import EngineError
from holdfast.exports import python as python_format
from holdfast.exports import sql as sql_format

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
    assert result.stdout.count("\n") == 1
    assert "sql equals the model on 120 rows and " in result.stdout
    assert "(SQLite " in result.stdout
    assert output.is_file()


def test_every_export_is_run_before_it_is_written(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, done = tmp_path / "model.py", holdfast("export", model, "-o", tmp_path / "model.py")
    assert done.stdout.startswith(f"Wrote {output}. python equals the model on ")
    assert "0 rows" not in done.stdout
    output.write_text("earlier")
    to_python = python_format.to_python
    monkeypatch.setattr(python_format, "to_python", lambda tree: to_python(tree).replace("<=", ">"))
    broken = holdfast("export", model, "-o", output)
    assert broken.exit_code == 2
    assert "differs from the model" in broken.stderr
    assert output.read_text() == "earlier"
    skipped = holdfast("export", model, "-o", output, "--no-verify")
    assert skipped.exit_code == 0
    assert "not verified" in skipped.stdout
    assert output.read_text().startswith("def predict(row):")


def test_an_export_without_an_engine_is_written_and_says_so(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(*_: object, **__: object) -> None:
        raise EngineError("install DuckDB.")

    monkeypatch.setattr(sql_format, "predict_rows", absent)
    result = holdfast("export", model, "-o", tmp_path / "model.sql")
    assert result.exit_code == 0
    assert "not verified: install DuckDB." in result.stdout
    assert (tmp_path / "model.sql").is_file()


def test_without_a_file_the_text_goes_to_the_terminal(model: Path) -> None:
    result = holdfast("export", model, "--to", "sql", "--table", "patients", "--keep", "id")
    assert result.stdout.startswith('WITH "walked" AS MATERIALIZED (\n  SELECT\n    "id",')
    assert 'FROM "patients"' in result.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Give --to, one of python, sql"),
        (("--to", "python", "-o", "model.sql"), "that of a sql file, and --to is python"),
        (("--to", "python", "--dialect", "sqlite"), "--dialect is for --to sql, and the format is python"),
    ],
)
def test_what_does_not_fit_together_is_refused(model: Path, arguments: tuple[str, ...], says: str) -> None:
    assert says in refusal(holdfast("export", model, *arguments))
