from pathlib import Path

import pytest
from command_line import fit, holdfast, refusal, write_patients

from holdfast.runs import files as json_file
from holdfast.runs import files as run_files
from holdfast.runs import run as fit_run

PLAIN = ("--drop", "year", "--drop", "patient", "--drop", "weight")


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    return write_patients(tmp_path / "patients.csv")


def written(folder: Path) -> dict[str, bytes]:
    """All files but the results that are kept for a run that goes on."""
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if not name.startswith(".holdfast-")}


def earlier_run(folder: Path) -> None:
    folder.mkdir()
    for name in ("model.json", "summary.json", "frontier.csv", "tree.svg"):
        (folder / name).write_text("old")
    (folder / "collections").mkdir()
    (folder / "collections" / "references.json").write_text("old")


# -- through the command line -----------------------------------------------------------------------------


def test_a_second_run_replaces_the_first(patients: Path, tmp_path: Path) -> None:
    fit(patients, tmp_path / "run", *PLAIN, "--random-state", 1)
    first = written(tmp_path / "run")
    fit(patients, tmp_path / "run", *PLAIN)
    assert written(tmp_path / "run")["frontier.csv"] != first["frontier.csv"]
    assert written(tmp_path / "run").keys() == first.keys()


def test_the_usual_folder_is_kept_from_a_fit_of_other_data_or_another_target(
    patients: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    other = write_patients(tmp_path / "other.csv", seed=1)
    quick = ("--model", "tree", "--no-report", *PLAIN)
    first = holdfast("fit", patients, "--target", "outcome", *quick)
    assert first.exit_code == 0
    assert "replaced" not in first.output
    before = written(tmp_path)
    for data, target in ((other, "outcome"), (patients, "ward")):
        told = refusal(holdfast("fit", data, "--target", target, *quick))
        assert "patients.csv" in told
        assert "'outcome'" in told
        assert "--force" in told
        assert written(tmp_path) == before
    again = holdfast("fit", "patients.csv", "--target", "outcome", *quick)  # the same by another name
    assert again.exit_code == 0
    assert "replaced" in again.output
    forced = holdfast("fit", other, "--target", "outcome", *quick, "--force")
    assert "patients.csv" in forced.output.split("replaced")[1].replace("\n", "")
    named = holdfast("fit", patients, "--target", "ward", *quick, "-o", "run")
    assert "other.csv" in named.output.split("replaced")[1].replace("\n", "")


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (fit_run, "read_rows"),
        (fit_run, "fit"),
        (run_files, "save_trees"),
        (json_file, "replace_file"),
    ],
)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_run_that_breaks_anywhere_leaves_nothing_behind(
    module: object,
    name: str,
    error: type[BaseException],
    patients: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    earlier_run(tmp_path / "run")
    before = written(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(module, name, fail)
    for folder in ("run", "new"):
        assert fit(patients, tmp_path / folder, *PLAIN).exit_code != 0
    assert written(tmp_path) == before
    entries = sorted(entry.name for entry in tmp_path.iterdir() if not entry.name.startswith(".holdfast-"))
    assert entries == ["patients.csv", "run"]


def test_a_folder_of_other_things_is_refused_before_any_work(
    patients: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fit_run, "read_rows", None)
    (tmp_path / "holidays").mkdir()
    (tmp_path / "holidays" / "beach.jpg").write_text("")
    line = refusal(fit(patients, tmp_path / "holidays"))
    assert "it holds other things, such as 'beach.jpg'" in line
    assert "it is a file" in refusal(fit(patients, patients))


def test_the_folder_one_stands_in_is_refused(
    patients: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert f"Give a folder in it, such as '{tmp_path / 'here' / 'run'}'" in refusal(fit(patients, Path()))


def test_a_folder_below_a_file_is_refused(patients: Path) -> None:
    assert f"'{patients}' is a file" in refusal(fit(patients, patients / "run"))


def test_show_reads_a_run_folder_and_its_collections(patients: Path, tmp_path: Path) -> None:
    fit(patients, tmp_path / "run", *PLAIN)
    model = tmp_path / "run" / "model.json"
    assert holdfast("show", tmp_path / "run").output == holdfast("show", model).output
    references = tmp_path / "run" / "collections" / "references.json"
    overview = holdfast("show", references).output
    assert overview.startswith("20 trees that predict 'outcome' from 4 features\n")
    lines = holdfast("show", references, "--format", "csv").output.splitlines()
    assert lines[0] == "tree,leaves,depth,mean_path_length,root_split"
    assert len(lines) == 21
    assert "contains 20 trees, and --format svg is for one" in refusal(
        holdfast("show", references, "--format", "svg")
    )
