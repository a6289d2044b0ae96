"""A process that ends at any step that it takes on the disk leaves the old run or the new one, whole."""

import os
import re
import shutil
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast._files import get_process_start, has_ended, hold_lock, read_lock_holder, replace_file
from holdfast.errors import DataError
from holdfast.runs import folder as run_folder
from holdfast.runs.folder import model_file, new_run, reserved

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")

# What Python reports to an audit hook before it is done.
STEPS = ("open", "os.", "shutil.", "ctypes.")
OLD, NEW = b"old", b"new"


def write_run(folder: Path, content: bytes) -> None:
    with new_run(folder) as draft:
        (draft / "collections").mkdir()
        for name in ("model.json", "summary.json", "collections/references.json"):
            replace_file(draft / name, content)


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run_of(content: bytes, **others: bytes) -> dict[str, bytes]:
    names = ("model.json", "summary.json", "collections/references.json")
    return {**dict.fromkeys(names, content), **others}


def ended_at(step: int, work: Callable[[], None], *, by_kill: bool) -> bool:
    """Whether a child process was killed, or interrupted once, before it was done with the work."""
    child = os.fork()
    if child == 0:
        count = 0

        def watch(event: str, _: object) -> None:
            nonlocal count
            if event.startswith(STEPS):
                count += 1
                if by_kill and count > step:
                    os._exit(9)  # which cleans up as little as a kill does
                if count == step + 1:
                    raise KeyboardInterrupt

        sys.addaudithook(watch)
        try:
            work()
        except KeyboardInterrupt:
            os._exit(130)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, 9 if by_kill else 130)
    return status != 0


@contextmanager
def no_swaps(turned_off: bool) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if turned_off:
            patch.setattr(run_folder, "swapped", lambda *_: False)
        yield


@pytest.mark.parametrize("by_kill", [True, False], ids=["killed", "interrupted"])
@pytest.mark.parametrize("without_swaps", [False, True], ids=["swaps", "no swaps"])
def test_the_old_run_or_the_new_one_is_there_whenever_a_process_ends(
    without_swaps: bool, by_kill: bool, tmp_path: Path
) -> None:
    ends = set()
    for step in range(1000):
        home = tmp_path / str(step)
        run = home / "run"
        home.mkdir()
        write_run(run, OLD)
        (run / "notes.txt").write_bytes(b"mine")
        with no_swaps(without_swaps):
            has_ended = ended_at(step, lambda run=run: write_run(run, NEW), by_kill=by_kill)
        assert model_file(run).read_bytes() == model_file(run / "model.json").read_bytes()
        if by_kill:
            with reserved(run):
                pass  # what was left over is cleaned up
        assert content_of(home) in [
            {f"run/{name}": data for name, data in run_of(content, **{"notes.txt": b"mine"}).items()}
            for content in (OLD, NEW)
        ]
        ends.add((run / "model.json").read_bytes())
        write_run(run, b"next")
        assert content_of(run) == run_of(b"next", **{"notes.txt": b"mine"})
        if not has_ended:
            break
    assert step > 20
    assert ends == {OLD, NEW}


@pytest.mark.parametrize("by_kill", [True, False], ids=["killed", "interrupted"])
def test_a_first_run_is_whole_or_not_there(by_kill: bool, tmp_path: Path) -> None:
    for step in range(1000):
        home = tmp_path / str(step)
        run = home / "deep" / "run"
        home.mkdir()
        has_ended = ended_at(step, lambda run=run: write_run(run, NEW), by_kill=by_kill)
        if by_kill:
            with reserved(run):
                pass
        assert content_of(home) in ({}, {f"deep/run/{name}": NEW for name in run_of(NEW)})
        if not has_ended:
            break
        write_run(run, b"next")
        assert content_of(run) == run_of(b"next")
    assert step > 10
    assert run.exists()


@pytest.mark.parametrize("by_kill", [True, False], ids=["killed", "interrupted"])
def test_a_process_that_ends_leaves_the_old_file_or_the_new_one(by_kill: bool, tmp_path: Path) -> None:
    ends = set()
    for step in range(100):
        path = tmp_path / str(step) / "out.csv"
        path.parent.mkdir()
        path.write_bytes(OLD)
        has_ended = ended_at(step, lambda path=path: replace_file(path, NEW), by_kill=by_kill)
        ends.add(path.read_bytes())
        if not by_kill:
            assert len(content_of(path.parent)) == 1
        replace_file(path, b"next")
        assert content_of(path.parent) == {"out.csv": b"next"}
        if not has_ended:
            break
    assert ends == {OLD, NEW}


# -- two at a time ----------------------------------------------------------------------------------------

HOLDER = """
import sys
from pathlib import Path
from holdfast._files import hold_lock
from holdfast.runs.folder import reserved
with reserved(Path(sys.argv[2])) if sys.argv[1] == "run" else hold_lock(Path(sys.argv[2]), "No"):
    print("ready", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_process(path: Path, kind: str = "run") -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", HOLDER, kind, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_second_run_is_refused_and_names_the_first(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with another_process(run) as first:
        text = rf"to '.*run': process {first.pid} on {re.escape(socket.gethostname())} has used it since"
        with pytest.raises(DataError, match=rf"{text} \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d"):
            write_run(run, NEW)
        with pytest.raises(DataError), new_run(run):
            pass
        assert not run.exists()
        write_run(tmp_path / "other", NEW)
    write_run(run, NEW)  # the other was killed, and its lock ended with it
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["other", "run"]


def test_a_lock_is_given_back(tmp_path: Path) -> None:
    with another_process(tmp_path / "run") as first:
        first.communicate("")
        write_run(tmp_path / "run", NEW)
    assert content_of(tmp_path) == {f"run/{name}": NEW for name in run_of(NEW)}


def test_a_killed_process_leaves_no_lock_and_its_name_says_that_it_has_ended(tmp_path: Path) -> None:
    lock = tmp_path / "work" / "lock"
    with another_process(lock, "lock") as other:
        held = read_lock_holder(lock)
        assert held is not None
        assert (held.pid, held.is_running) == (other.pid, True)
        with pytest.raises(DataError, match=f"^No: process {other.pid} on"), hold_lock(lock, "No"):
            pass
    killed = read_lock_holder(lock)
    assert killed is not None
    assert not killed.is_running
    with hold_lock(lock, "No"):
        mine = read_lock_holder(lock)
        assert mine is not None
        assert mine.pid == os.getpid()
    assert list(lock.parent.iterdir()) == []


def test_a_copied_lock_names_nobody(tmp_path: Path) -> None:
    with hold_lock(tmp_path / "one" / "lock", "No"):
        shutil.copytree(tmp_path / "one", tmp_path / "two")
        assert read_lock_holder(tmp_path / "one" / "lock") is not None
        assert read_lock_holder(tmp_path / "two" / "lock") is None


def test_a_process_number_that_was_given_again_is_not_the_same_process() -> None:
    assert not has_ended(os.getpid(), get_process_start(os.getpid()))
    assert has_ended(os.getpid(), "1")
    assert has_ended(2**22 + 1)
