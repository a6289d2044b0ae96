"""The store: what was kept is found again, what is damaged or foreign is not used."""

import errno
import sqlite3
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.errors import DataError, GrowthWarning, StoreWarning
from holdfast.io import task_store
from holdfast.io.task_store import StoredList, TaskStore, read_store
from holdfast.parallel.tasks import cache_results_in, run_all, run_cached

CALLS: list[int] = []


@pytest.fixture(autouse=True)
def all_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_store, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(task_store, "MOST_SHARE", np.inf)
    CALLS.clear()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tasks.sqlite"


def squared(number: int) -> Any:
    CALLS.append(number)
    return np.array([number, number**2])


def fails_at_3(number: int) -> Any:
    if number == 3:
        raise KeyboardInterrupt
    return squared(number)


def kept_squares(path: Path, n_items: int = 5, task: Callable[[int], Any] = squared) -> list[Any]:
    store = TaskStore(path)
    try:
        with cache_results_in(store):
            found = run_all(task, range(n_items), cache_name="Squares")
    finally:
        store.write()
        store.close()
    assert [each.tolist() for each in found] == [[number, number**2] for number in range(n_items)]
    return found


def test_what_is_there_is_not_computed_again(path: Path) -> None:
    kept_squares(path)
    kept_squares(path, 7)
    assert sorted(CALLS) == [0, 1, 2, 3, 4, 5, 6]


def test_tasks_that_were_done_before_the_end_are_kept(path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        kept_squares(path, task=fails_at_3)
    assert CALLS == [0, 1, 2]
    content = read_store(path)
    assert content is not None
    assert content.stages == (StoredList("Squares", total=5, done=3, kept=3),)
    assert content.n_results == 3


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_only_the_outermost_tasks_are_kept(n_jobs: int, path: Path) -> None:
    def outer(number: int) -> int:
        return int(sum(each[1] for each in run_all(squared, range(number), cache_name="Within")))

    store = TaskStore(path)
    with cache_results_in(store):
        assert run_all(outer, [2, 3], n_jobs, cache_name="Outer") == [1, 5]
    store.write()
    assert store.n_kept == 2
    store.close()


def total(n_items: int) -> int:
    return int(sum(each[1] for each in run_all(squared, range(n_items), cache_name="Within")))


def test_a_piece_of_work_stands_for_the_lists_within_it(path: Path) -> None:
    for _ in range(2):
        store = TaskStore(path)
        with cache_results_in(store):
            assert run_cached("Total", total, 4) == 14
        store.write()
        assert store.n_kept == 1
        store.close()
    assert len(CALLS) == 4


def test_a_piece_of_work_that_is_stopped_goes_on_with_its_lists(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_: int) -> int:
        total(4)
        raise KeyboardInterrupt

    store = TaskStore(path)
    with pytest.raises(KeyboardInterrupt), cache_results_in(store):
        run_cached("Total", stop, 4)
    with cache_results_in(store):
        assert run_cached("Total", total, 4) == 14
    store.write()
    assert (store.n_kept, len(CALLS)) == (1, 4)
    store.close()


def warned(n_items: int) -> int:
    warnings.warn("few", GrowthWarning, stacklevel=1)
    return total(n_items)


def test_a_piece_of_work_that_warns_does_so_every_time(path: Path) -> None:
    store = TaskStore(path)
    for _ in range(2):
        with cache_results_in(store), pytest.warns(GrowthWarning, match="few"):
            assert run_cached("Warned", warned, 4) == 14
    assert len(CALLS) == 4  # but its lists are kept
    store.remove()


def test_lists_without_a_name_are_not_kept_and_short_ones_leave_no_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_store, "LEAST_SECONDS", 60.0)
    kept_squares(path)
    monkeypatch.setattr(task_store, "LEAST_SECONDS", 0.0)
    store = TaskStore(path)
    with cache_results_in(store):
        run_all(squared, range(3))
    store.write()
    assert not path.exists()


def test_what_has_no_key_or_no_bytes_is_computed_as_ever(path: Path) -> None:
    store = TaskStore(path)
    with cache_results_in(store):
        assert run_all(lambda each: each[0], [[1], [2]], cache_name="One") == [1, 2]
        strange = [object(), object()]
        assert run_all(id, strange, cache_name="Two") == list(map(id, strange))
        assert len(run_all(lambda _: object(), [1, 2], cache_name="Three")) == 2
    store.remove()


# -- files that cannot be used ----------------------------------------------------------------------------


def edit(path: Path, *orders: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for order in orders:
            connection.execute(order)


def test_a_result_that_is_damaged_is_computed_again(path: Path) -> None:
    kept_squares(path)
    edit(path, "UPDATE results SET content = zeroblob(40) WHERE rowid = 2")
    edit(path, "UPDATE results SET key = zeroblob(32) WHERE rowid = 3")
    kept_squares(path)
    assert len(CALLS) == 7


def test_results_that_changed_places_are_computed_again(path: Path) -> None:
    kept_squares(path, 2)
    with closing(sqlite3.connect(path)) as connection, connection:
        (first, one), (second, two) = connection.execute("SELECT rowid, content FROM results").fetchall()
        connection.execute("UPDATE results SET content = ? WHERE rowid = ?", (two, first))
        connection.execute("UPDATE results SET content = ? WHERE rowid = ?", (one, second))
    kept_squares(path, 2)
    assert len(CALLS) == 4


@pytest.mark.parametrize(
    "orders",
    [
        ["UPDATE facts SET value = 'of another version' WHERE name = 'environment'"],
        ["DELETE FROM facts"],
        ["PRAGMA user_version = 99"],
    ],
)
def test_what_another_version_kept_is_not_used(orders: list[str], path: Path) -> None:
    kept_squares(path)
    edit(path, *orders)
    with pytest.warns(StoreWarning, match="All is computed again"):
        kept_squares(path)
    assert len(CALLS) == 10
    kept_squares(path)
    assert len(CALLS) == 10


@pytest.mark.parametrize("place", [0, 20, 5000, 9000])
def test_a_file_that_is_damaged_is_never_a_wrong_result(place: int, path: Path) -> None:
    kept_squares(path, 200)
    data = bytearray(path.read_bytes())
    data[place : place + 64] = b"\xff" * 64
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StoreWarning)
        kept_squares(path, 200)


@pytest.mark.parametrize("content", [b"", b"some other file, of somebody's own\n" * 50])
def test_a_file_that_is_no_database_is_begun_anew(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    assert read_store(path) is None
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        kept_squares(path)
    assert len(given) == bool(content)
    assert read_store(path) is not None


def test_a_database_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    edit(path, "CREATE TABLE mine (a)")
    before = path.read_bytes()
    with pytest.raises(DataError, match="database of another program"):
        TaskStore(path)
    assert path.read_bytes() == before
    assert read_store(path) is None


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device. The work goes on; "),
        (DataError("Cannot write to it: disk I/O error. Remove it."), "I/O error. Remove it. The work goes"),
    ],
)
def test_work_that_nothing_can_be_kept_of_says_so_once_and_goes_on(
    error: Exception, said: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(task_store.Database, "open", refused)
    monkeypatch.setattr(task_store, "LONG", 0.0)  # every result is written at once
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        kept_squares(path)
    (told,) = given
    assert said in str(told.message)
    assert (told.category, path.exists(), len(CALLS)) == (StoreWarning, False, 5)


def test_it_can_be_asked_while_it_is_written_to(path: Path) -> None:
    store = TaskStore(path, {"command": "holdfast fit"})
    with cache_results_in(store):
        run_all(squared, range(4), cache_name="Squares")
        store.write()
        content = read_store(path)
    assert content is not None
    assert (content.n_results, content.facts["command"]) == (4, "holdfast fit")
    assert content.written.startswith("2")
    store.remove()
    assert list(path.parent.iterdir()) == []
