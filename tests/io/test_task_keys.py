"""TaskKeys of tasks: the same for the same task, another one for whatever could give another result."""

import subprocess
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from holdfast import GrowthRules, StableTreeClassifier, Table, TreeClassifier, grow, store_table
from holdfast.io.task_keys import LARGE, TaskKeys, UnhashableTaskError

TABLE = Table.from_arrays([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], ["a", "b", "b"])


def key(*parts: Any) -> bytes:
    return TaskKeys().key(*parts)


def work(table: Table, rules: GrowthRules, item: int) -> int:
    return item


DIFFERENT: list[Any] = [
    *(None, True, 1, 1.0, "1", b"1", 0.0, -0.0, "", (), [], {}, (1, 2), [1, 2], (1, (2,)), ((1,), 2)),
    *(("a", "b"), ("ab",), ("", "ab"), {"a": 1}, {"a": 2}, {"b": 1}, {1, 2}, range(2), slice(2)),
    *(np.array([1, 2]), np.array([1.0, 2.0]), np.array([[1], [2]]), np.array([1, 2], np.int32)),
    *(np.array(["1", "2"]), np.array([1, "2"], object), np.array([1, 2], object), np.float32(1)),
    *(GrowthRules(), GrowthRules(max_depth=3), TABLE, replace(TABLE, weight=np.array([1.0, 2.0, 1.0]))),
    *(work, partial(work, TABLE), partial(work, TABLE, GrowthRules()), len, np.exp, lambda: 1, lambda: 2),
    *(DecisionTreeClassifier(), DecisionTreeClassifier(max_depth=2), StableTreeClassifier()),
    *(TreeClassifier().fit([[1.0], [2.0]], labels) for labels in (["a", "b"], ["b", "a"])),
    *(pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"b": [1, 2]}), pd.DataFrame({"a": [1.0, 2.0]})),
    *(pd.DataFrame({"a": ["x", None]}), pd.DataFrame({"a": ["x", "None"]}), pd.Series([1, 2], name="a")),
    *(pd.DataFrame({"a": pd.Categorical(["x", "y"], order)}) for order in (["x", "y"], ["y", "x"])),
    *(pl.DataFrame({"a": [1, 2]}), pl.DataFrame({"a": [1, None]}), pl.Series("a", ["x", "y"])),
]


def test_things_that_differ_have_keys_that_differ() -> None:
    keys = [key(each) for each in DIFFERENT]
    assert len(set(keys)) == len(keys)
    assert key("a", "b") != key("ab") != key(("a", "b"))


def test_the_same_content_has_the_same_key_wherever_it_lies() -> None:
    again = Table.from_arrays(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], order="F"), ["a", "b", "b"])
    _ = again.coded  # what is worked out on the way is no content
    rules = GrowthRules(max_depth=3)
    assert key(partial(work, TABLE, rules), 1) == key(partial(work, again, GrowthRules(max_depth=3)), 1)
    assert key(pd.DataFrame({"a": ["x", "y"]})) == key(pd.DataFrame({"a": list("xy")}))


@pytest.mark.slow
def test_the_same_content_has_the_same_key_in_another_process() -> None:
    program = (
        "from holdfast import *; from holdfast.io.task_keys import TaskKeys\n"
        "table = Table.from_arrays([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], ['a', 'b', 'b'])\n"
        "print(TaskKeys().key(table, GrowthRules(), {'x', 'y', 'z'}).hex())"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert told.strip() == key(TABLE, GrowthRules(), {"x", "y", "z"}).hex()


def test_no_result_depends_on_the_number_of_jobs_or_on_what_is_shown() -> None:
    assert key(StableTreeClassifier(n_jobs=2, verbose=True)) == key(StableTreeClassifier())
    one, other = (partial(grow, random_state=1, n_jobs=number, progress="x" * number) for number in (1, 2))
    assert key(one) == key(other) != key(partial(grow, random_state=2))
    # Of other libraries nobody knows.
    from sklearn.ensemble import RandomForestClassifier

    assert key(RandomForestClassifier(n_jobs=2)) != key(RandomForestClassifier())


def test_a_stored_table_is_the_same_wherever_it_lies_and_another_where_a_part_ends_elsewhere(
    tmp_path: Path,
) -> None:
    rows = pl.DataFrame({"x": [1.0, 2.0, 3.0], "y": ["a", "b", "b"]})
    cuts = {"one": 1, "again": 1, "other": 2}
    stored = {name: store_table([rows[:cut], rows[cut:]], tmp_path / name, "y") for name, cut in cuts.items()}
    assert key(stored["one"]) == key(stored["again"]) != key(stored["other"])


def test_what_cannot_be_told_apart_has_no_key() -> None:
    itself: list[Any] = []
    itself.append(itself)
    fitted = DecisionTreeClassifier().fit([[1.0], [2.0]], [0, 1])
    for strange in (object(), itself, iter([1]), np.random.default_rng(), fitted, [].append):
        with pytest.raises(UnhashableTaskError):
            key(strange)


def test_a_large_array_is_hashed_anew_once_it_can_have_changed() -> None:
    keys, array = TaskKeys(), np.zeros(LARGE)
    first = keys.key(array)
    array[0] = 1.0
    assert keys.key(array) != first
    array.flags.writeable = False
    assert keys.key(array) == keys.key(array.copy()) != first
    del array
    assert keys._arrays == {}


@dataclass(frozen=True)
class Mine:
    number: int


def test_a_function_or_class_of_ones_own_counts_by_the_file_it_stands_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert key(Mine(1)) == key(Mine(1)) != key(Mine(2))
    monkeypatch.setattr(Mine, "__module__", "typed_into_a_notebook")
    with pytest.raises(UnhashableTaskError, match="no file"):
        key(Mine(1))
