"""A process that ends at any step that it takes on the disk leaves the old run or the new one, whole."""

import json
import os
import re
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast import lock as run_lock
from holdfast.errors import DataError
from holdfast.files import replace_file
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
from holdfast.runs.folder import reserved
with reserved(Path(sys.argv[1])):
    print("ready", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_process(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", HOLDER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture(params=[True, False], ids=["flock", "no flock"])
def locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if not request.param:
        monkeypatch.setattr(run_lock, "hold", lambda file: False)
    return bool(request.param)


def test_a_second_run_is_refused_and_names_the_first(locks: bool, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with another_process(run) as first:
        text = rf"to '.*run': process {first.pid} on {re.escape(socket.gethostname())} has been at it since"
        with pytest.raises(DataError, match=rf"{text} \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d"):
            write_run(run, NEW)
        with pytest.raises(DataError), new_run(run):
            pass
        assert not run.exists()
        write_run(tmp_path / "other", NEW)
    write_run(run, NEW)  # the other was killed, and its lock ended with it
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["other", "run"]


def test_a_lock_is_given_back(locks: bool, tmp_path: Path) -> None:
    with another_process(tmp_path / "run") as first:
        first.communicate("")
        write_run(tmp_path / "run", NEW)
    assert content_of(tmp_path) == {f"run/{name}": NEW for name in run_of(NEW)}


@pytest.mark.parametrize(
    ("change", "is_taken_over"),
    [
        ({}, False),
        ({"start": "1"}, True),  # the number of the process was given to another
        ({"pid": 2**22 + 1}, True),
        ({"host": "elsewhere"}, False),
        ({"pid": "x"}, False),
    ],
)
def test_without_locks_of_the_system_the_process_must_have_ended(
    change: dict[str, object], is_taken_over: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_lock, "hold", lambda file: False)
    holder = {**run_lock._this_process(), **change}
    if not holder["start"]:
        pytest.skip("nobody can tell here when a process began")
    lock = tmp_path / "work" / "lock"
    lock.parent.mkdir()
    lock.write_text(json.dumps(holder))
    if is_taken_over:
        with run_lock.locked(lock, "No"):
            assert json.loads(lock.read_text())["pid"] == os.getpid()
        assert not lock.exists()
    else:
        with pytest.raises(DataError, match=r"remove '.*lock'"), run_lock.locked(lock, "No"):
            pass
        assert json.loads(lock.read_text()) == holder
