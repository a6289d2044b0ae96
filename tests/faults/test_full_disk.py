"""Full disks, outputs that nobody reads, paths that lead nowhere: one line, and nothing half-done."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result
from small_run import PLAIN, fit, holdfast, write_patients

import holdfast as package
from holdfast._files import replace_file
from holdfast.data.write import write_file
from holdfast.errors import DataError, ModelFileError
from holdfast.io.model_file import load, load_trees, save
from reference.reading import read_file
from reference.small_disks import small_disk_at

FEW = ("--n-estimators", "2")
COMMAND = [sys.executable, "-m", "holdfast"]
NO_SPACE = "Error: Cannot write the output: No space left on device.\n"


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("patients") / "patients.csv")


@pytest.fixture(scope="module")
def run(patients: Path) -> Path:
    assert fit(patients, patients.parent / "run", *PLAIN).exit_code == 0
    return patients.parent / "run"


def error_line(result: Result) -> str:
    """The one line on stderr of a command that was refused; what it had printed before does not matter."""
    assert result.exit_code == 2, result.output
    line, end = result.stderr.split("\n")
    assert end == ""
    assert line.startswith("Error: ")
    return line


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# -- outputs ----------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize("verb", ["predict", "fit", "help"])
def test_a_full_output_is_one_line(verb: str, run: Path, patients: Path, tmp_path: Path) -> None:
    arguments = {
        "predict": ["predict", run, patients],
        "fit": ["fit", patients, "--target", "outcome", *PLAIN, *FEW, "-o", tmp_path / "new"],
        "help": ["fit", "--help"],
    }[verb]
    with open("/dev/full", "w") as full:
        ended = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr) == (2, NO_SPACE)
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_is_read_no_further_is_no_error(run: Path, patients: Path, tmp_path: Path) -> None:
    header, *rows = patients.read_text().splitlines()
    (tmp_path / "long.csv").write_text("\n".join([header, *rows * 100]))
    with subprocess.Popen(
        [*COMMAND, "predict", str(run), str(tmp_path / "long.csv")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("age,ward,")
        process.stdout.close()
        assert process.stderr.read() == ""


@pytest.mark.skipif(os.name == "nt", reason="done by a shell")
@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-"])
def test_closed_outputs_are_no_error(closed: str, run: Path, patients: Path) -> None:
    command = f'"$0" -m holdfast predict "$1" "$2" {closed}'
    assert subprocess.run(["sh", "-c", command, sys.executable, run, patients]).returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_where_no_line_can_be_written_the_exit_code_tells() -> None:
    with open("/dev/full", "w") as full:
        assert subprocess.run([*COMMAND, "show", "nothing"], stdout=full, stderr=full).returncode == 2


# -- disks ------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB."""
    with small_disk_at(tmp_path / "disk", "1m") as disk:
        yield disk


def fill(disk: Path, *, left: int) -> None:
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    (disk / "filler").write_bytes(bytes(free - left))


@pytest.mark.parametrize("left", [0, 4096, 12288])
def test_a_full_disk_ends_a_fit_in_one_line_and_the_earlier_run_is_intact(
    left: int, patients: Path, small_disk: Path
) -> None:
    assert fit(patients, small_disk / "run", *PLAIN, "--n-estimators", 4).exit_code == 0
    fill(small_disk, left=left)
    before = content_of(small_disk)
    for folder in ("run", "new"):
        ended = fit(patients, small_disk / folder, *PLAIN, "--random-state", 1)
        *notes, line, end = ended.stderr.split("\n")
        assert (ended.exit_code, end) == (2, "")
        assert re.match(f"Error: (Cannot use|The disk of) '{small_disk / folder}", line)
        assert re.search(r"No space left on device\.$|is full: make room", line)
        assert all(note.startswith("Note: Results cannot be kept") for note in notes)
        assert content_of(small_disk) == before
    assert sorted(entry.name for entry in small_disk.iterdir()) == ["filler", "run"]
    (small_disk / "filler").unlink()
    assert fit(patients, small_disk / "run", *PLAIN, "--n-estimators", 4, "--random-state", 1).exit_code == 0


def test_a_full_disk_ends_other_verbs_in_one_line(run: Path, patients: Path, small_disk: Path) -> None:
    (small_disk / "old.csv").write_text("old\n")
    fill(small_disk, left=0)
    before = content_of(small_disk)
    predict, show = ["predict", run, patients], ["show", run]
    for command, names in ((predict, ("old.csv", "new.csv", "new.parquet")), (show, ("old.csv", "new.svg"))):
        for name in names:
            line = error_line(holdfast(*command, "-o", small_disk / name))
            assert line == f"Error: Cannot use '{small_disk / name}': No space left on device."
    assert content_of(small_disk) == before


@pytest.mark.skipif(os.name == "nt", reason="there are no such limits")
def test_a_file_that_may_not_grow_is_as_a_full_disk(run: Path, patients: Path, tmp_path: Path) -> None:
    """The same without a disk of one's own: the system refuses the 1,001st byte of any file."""
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); "
        "from holdfast.cli.start import run; run()"
    )
    (tmp_path / "old.csv").write_text("old\n")
    command = [sys.executable, "-c", limited, "predict", run, patients, "-o", tmp_path / "old.csv"]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr == f"Error: Cannot use '{tmp_path / 'old.csv'}': File too large.\n"
    assert content_of(tmp_path) == {"old.csv": b"old\n"}


# -- paths ------------------------------------------------------------------------------------------------


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "device.csv").symlink_to(os.devnull)
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "folder.csv" / "mine").write_text("")
    (tmp_path / "file.csv").write_text("a\n1\n")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.csv")
    return tmp_path


PLACES = ("loop.csv", "device.csv", "folder.csv", "pipe.csv", "loop.csv/x.csv", "file.csv/x.csv", "no\0.csv")


@pytest.mark.skipif(os.name == "nt", reason="links and pipes")
@pytest.mark.parametrize("place", PLACES)
def test_a_path_that_leads_nowhere_is_one_line(place: str, odd: Path, run: Path, patients: Path) -> None:
    path = f"{odd}/{place}"
    compared = ("compare", patients, "--target", "outcome", "--models", "tree", "--folds", 2)
    for arguments in (
        ("fit", patients, "--target", "outcome", *PLAIN, "--n-estimators", 2, "-o", path),
        ("predict", run, patients, "-o", path),
        ("show", run, "-o", path),
        (*compared, "--output", path),
        ("predict", run, path),
        ("predict", path, patients),
        ("show", path),
        ("fit", path, "--target", "outcome", "-o", odd / "new"),
    ):
        line = error_line(holdfast(*arguments))
        assert place.split("\0")[0].split("/")[0] in line
    assert sorted(each.name for each in odd.iterdir()) == sorted(
        ["loop.csv", "device.csv", "folder.csv", "file.csv", "pipe.csv"]
    )


@pytest.mark.skipif(os.name == "nt", reason="links and pipes")
@pytest.mark.parametrize("place", PLACES)
def test_python_says_the_same_by_its_errors(place: str, odd: Path, run: Path) -> None:
    path, tree = f"{odd}/{place}", load(run / "model.json")
    for refusal, work in (
        ((DataError, OSError), lambda: write_file({"a": [1]}, path)),
        ((ModelFileError, OSError), lambda: save(tree, path)),
        ((DataError, OSError), lambda: replace_file(path, b"")),
        ((DataError, OSError), lambda: read_file(path)),
        ((ModelFileError, OSError), lambda: load(path)),
        ((ModelFileError, OSError), lambda: load_trees(path)),
    ):
        with pytest.raises(refusal):
            work()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do anything")
def test_what_may_not_be_touched_is_one_line(run: Path, patients: Path, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir()
    (tmp_path / "locked").chmod(0o500)
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    secret.chmod(0)
    for arguments in (
        ("predict", run, patients, "-o", tmp_path / "locked" / "x.csv"),
        ("predict", run, secret),
        ("show", secret),
    ):
        assert "Permission denied" in error_line(holdfast(*arguments))


def test_all_files_are_written_in_one_place() -> None:
    """Only `_files.py` opens files to write to them."""
    root = Path(package.__file__).parent
    writing = {"write_text", "write_bytes", "to_csv", "savez", "save", "NamedTemporaryFile", "mkstemp"}
    found = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            texts = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
            modes = [text for text in texts if isinstance(text, str) and set(text) <= set("rwxab+t")]
            opens = name == "open" and any(set(mode) & set("wxa+") for mode in modes)
            if opens or (name in writing and isinstance(node.func, ast.Attribute)):
                found.add(path.relative_to(root).as_posix())
    # Displays and runs save themselves through _files.py; workbooks and archives are written to memory.
    saving = {"cli/plot.py", "runs/run.py"}
    in_memory = {"exports/excel.py", "data/stored.py"}
    assert found == {"_files.py", "cli/main.py", *saving, *in_memory}
