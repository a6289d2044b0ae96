"""Work that is stopped at any task, again and again, ends with the bits of work that was not."""

import errno
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pandas as pd
import pytest

from holdfast import (
    BoostingClassifier,
    StableTreeClassifier,
    Table,
    TreeClassifier,
    compare_models,
    fit_run,
    resumable,
    retrain_audit,
)
from holdfast._files import make_hidden_path
from holdfast.errors import DataError, FullDiskError, StoreWarning
from holdfast.growth import grow_subsamples
from holdfast.io import task_store
from holdfast.io.model_file import model_to_json
from holdfast.io.task_store import read_store
from holdfast.parallel import tasks as run_tasks
from holdfast.runs.status import STORE, run_status
from reference.small_disks import small_disk_at

CHANCE = np.random.default_rng(0)
X = pd.DataFrame({"age": CHANCE.normal(50, 10, 120).round(1), "ward": CHANCE.choice(list("abc"), 120)})
Y = np.where(X["age"] + 5 * (X["ward"] == "a") + CHANCE.normal(0, 5, 120) > 52, "yes", "no")


@pytest.fixture(autouse=True)
def all_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_store, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(task_store, "MOST_SHARE", np.inf)


def stopped_every(n_tasks: int, path: Path, work: Callable[[], Any]) -> tuple[Any, int]:
    """What the work comes to if Ctrl-C comes after so many new tasks, over and over; and how often it did."""
    for number in range(100):
        done = iter(range(n_tasks + number))  # more each time, however slow the machine is
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(run_tasks, "_time_task", _stopping(done))
            try:
                with resumable(path):
                    return work(), number
            except KeyboardInterrupt:
                continue
    raise AssertionError


def _stopping(done: Iterator[int]) -> Callable[..., Any]:
    timed = run_tasks._time_task

    def task(*args: Any) -> Any:
        if next(done, None) is None:
            raise KeyboardInterrupt
        return timed(*args)

    return task


def stable(n_jobs: int | None) -> bytes:
    model = StableTreeClassifier(max_leaf_nodes=4, n_estimators=6, teacher="forest", n_jobs=n_jobs).fit(X, Y)
    return model_to_json(model.tree_)


def bootstrapped(seed: int = 0) -> bytes:
    model = StableTreeClassifier(method="bootstrap", n_estimators=6, random_state=seed)
    return model_to_json(model.fit(X, Y).tree_)


def audited(n_jobs: int | None) -> bytes:
    audit = retrain_audit(
        ["pruned-1se", "c4.5"], X, Y, changes=["overlap", "noise column"], n_repeats=2, n_jobs=n_jobs
    )
    return json.dumps([{**row, "seconds": 0} for row in audit.pairs], default=repr).encode()


def compared(n_jobs: int | None) -> bytes:
    models = {"tree": TreeClassifier(max_depth=2), "deep": TreeClassifier()}
    comparison = compare_models(models, X, Y, cv=3, n_jobs=n_jobs)
    columns = comparison.columns()
    return repr({name: columns[name] for name in columns if "seconds" not in name}).encode()


def subsampled(n_jobs: int | None) -> bytes:
    table = Table.from_frame(X.assign(y=Y), target="y")
    trees = grow_subsamples(table, n_estimators=20, max_samples=50, n_jobs=n_jobs)
    return b"".join(map(model_to_json, trees))


def boosted(n_jobs: int | None) -> bytes:
    settings = {"n_estimators": 3, "max_depth": 2, "n_jobs": n_jobs}
    models = [BoostingClassifier(learning_rate=rate, **settings).fit(X, Y) for rate in (0.1, 0.2)]
    return b"".join(model_to_json(model.ensemble_) for model in models)


@pytest.mark.parametrize(
    ("work", "n_tasks"), [(stable, 7), (audited, 4), (compared, 2), (subsampled, 2), (boosted, 1)]
)
def test_work_that_was_stopped_ends_with_the_same_bits(
    work: Callable[[int | None], bytes], n_tasks: int, tmp_path: Path
) -> None:
    undisturbed = work(None)
    found, n_stops = stopped_every(n_tasks, tmp_path / "run", lambda: work(2))
    assert n_stops >= 1
    assert found == undisturbed
    assert list(tmp_path.iterdir()) == []  # all that was kept is removed


def kept(path: Path) -> Path:
    return make_hidden_path(path.resolve()) / STORE


def stop(path: Path, n_tasks: int = 3) -> None:
    """A run of it that is stopped after so many tasks."""
    done = iter(range(n_tasks))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_tasks, "_time_task", _stopping(done))
        with pytest.raises(KeyboardInterrupt) as caught, resumable(path):
            bootstrapped()
    assert caught.value.__notes__ == [f"{n_tasks} results are kept: the same command continues from there."]


def test_what_stopped_is_told_of(tmp_path: Path) -> None:
    stop(tmp_path / "run")
    with resumable(tmp_path / "run") as stopped:
        assert stopped is not None
        assert (stopped.n_results, sum(stage.kept for stage in stopped.stages)) == (3, 3)
    with resumable(tmp_path / "run") as stopped:
        assert stopped is None


def test_to_begin_anew_what_is_kept_is_removed(tmp_path: Path) -> None:
    stop(tmp_path / "run")
    with resumable(tmp_path / "run", restart=True) as stopped:
        assert stopped is None
        assert not kept(tmp_path / "run").exists()


def test_other_settings_take_nothing_that_is_not_theirs(tmp_path: Path) -> None:
    stop(tmp_path / "run", 5)
    none = r"The 5 results that were kept are of other data or settings, and not used\."
    with pytest.warns(StoreWarning, match=none), resumable(tmp_path / "run"):
        found = bootstrapped(seed=1)
    assert found == bootstrapped(seed=1) != bootstrapped()


def test_a_copy_of_work_under_way_is_work_that_stopped(tmp_path: Path) -> None:
    home, copy = tmp_path / "home", tmp_path / "copy"
    with resumable(home / "run"):
        found = bootstrapped()
        assert run_status(home / "run").state == "running"
        copytree(home, copy)
        assert run_status(copy / "run").state == "stopped"
    with resumable(copy / "run") as stopped:
        assert stopped is not None
        assert bootstrapped() == found


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EROFS, r"Read-only file system: 'out\.json'"),
        (errno.ENOSPC, r"The disk of 'out\.json' is full: make room, or write to another place\."),
    ],
)
def test_a_place_that_cannot_be_written_to_has_the_name_that_the_user_gave(
    number: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(lock: Path, *_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number), os.fspath(lock))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("holdfast.runs.status.hold_lock", refused)
    with pytest.raises(OSError, match=said), resumable("out.json"):
        pass


def test_an_error_that_leaves_nothing_to_keep_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError) as caught, resumable(tmp_path / "deep" / "run"):
        raise ZeroDivisionError
    assert not hasattr(caught.value, "__notes__")
    assert list(tmp_path.iterdir()) == []


def test_a_run_is_saved_within_its_block(tmp_path: Path) -> None:
    with resumable(tmp_path / "run"):
        fit_run(X.assign(y=Y), "y", model="pruned").save(tmp_path / "run", report=False)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert run_status(tmp_path / "run").state == "finished"


def test_a_fit_with_a_folder_is_saved_and_goes_on(tmp_path: Path) -> None:
    rows, settings = X.assign(y=Y), {"method": "bootstrap", "n_estimators": 4}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_tasks, "_time_task", _stopping(iter(range(4))))
        with pytest.raises(KeyboardInterrupt):
            fit_run(rows, "y", folder=tmp_path / "run", **settings)
    assert run_status(tmp_path / "run").state == "stopped"
    run = fit_run(rows, "y", folder=tmp_path / "run", **settings)
    assert model_to_json(run.model) == model_to_json(fit_run(rows, "y", **settings).model)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("")
    with pytest.raises(DataError, match="no earlier run"):
        fit_run(rows, "y", folder=tmp_path / "mine", **settings)


def test_two_cannot_work_on_one_run(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom holdfast import resumable\n"
        "with resumable(sys.argv[1]): print('ready', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "run")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "ready\n"
        with pytest.raises(DataError, match=f"process {first.pid} on "), resumable(tmp_path / "run"):
            pass
        status = run_status(tmp_path / "run")
        assert status.state == "running"
        assert status.holder is not None
        assert (status.holder.pid, status.holder.is_running) == (first.pid, True)
        first.kill()
    assert run_status(tmp_path / "run").state == "stopped"
    with resumable(tmp_path / "run"):
        pass
    assert list(tmp_path.iterdir()) == []


# -- kills ------------------------------------------------------------------------------------------------

SLOW = """
import sys, time
import numpy as np
from holdfast import resumable
from holdfast.parallel.tasks import run_all

def task(number):
    time.sleep(0.12)
    return np.random.default_rng(number).random(1000)

with resumable(sys.argv[1]):
    for name in ("first", "second"):
        first = 100 * (name == "second")
        found = run_all(task, range(first, first + 25), 2, cache_name=name)
    np.save(sys.argv[2], found)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_process_that_is_killed_leaves_a_store_that_is_whole(tmp_path: Path) -> None:
    path, out = tmp_path / "run", tmp_path / "out.npy"
    (tmp_path / "slow.py").write_text(SLOW)
    n_kept = [0]
    command = [sys.executable, tmp_path / "slow.py", str(path), str(out)]
    for seconds in CHANCE.uniform(0.0, 0.3, 3):
        with subprocess.Popen(command) as process:
            while process.poll() is None and not (kept(path).exists() and read_store(kept(path))):
                time.sleep(0.01)
            time.sleep(seconds)
            process.kill()
        with closing(sqlite3.connect(kept(path))) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        status = run_status(path)
        assert status.state == "stopped"
        n_kept.append(status.to_dict()["kept"])
    assert n_kept == sorted(n_kept)  # nothing that was kept is lost
    assert 0 < n_kept[-1] < 50
    subprocess.run(command, check=True, capture_output=True)
    expected = [np.random.default_rng(100 + number).random(1000) for number in range(25)]
    assert np.load(out).tobytes() == np.array(expected).tobytes()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["out.npy", "slow.py"]


# -- full disks -------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB."""
    with small_disk_at(tmp_path / "disk", "2m") as disk:
        yield disk


def drawn(number: int) -> Any:
    return np.random.default_rng(number).random(5000)  # 40 KB that cannot be made smaller


def test_a_full_disk_is_one_sentence_and_the_work_goes_on_when_there_is_room(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_store, "LONG", 0.0)  # every result is written at once
    (small_disk / "filler").write_bytes(bytes(1_700_000))
    path = small_disk / "run"
    with pytest.raises(FullDiskError) as caught, resumable(path):
        run_tasks.run_all(drawn, range(9), cache_name="Drawn")
    n_kept = run_status(path).to_dict()["kept"]
    assert 0 < n_kept < 9
    assert str(caught.value) == (
        f"The disk of '{path}' is full. {n_kept} results are kept: make room, and the same "
        "command continues from there."
    )
    (small_disk / "filler").unlink()
    monkeypatch.setattr(task_store, "LONG", 1.0)
    with resumable(path) as stopped:
        assert stopped is not None
        assert stopped.n_results == n_kept
        found = run_tasks.run_all(drawn, range(9), cache_name="Drawn")
    assert [each.tobytes() for each in found] == [drawn(number).tobytes() for number in range(9)]
    assert list(small_disk.iterdir()) == []
