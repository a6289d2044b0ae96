"""Values that travel as bytes come back the same, and what they share travels once."""

import gc
from functools import partial
from typing import Any

import numpy as np
import pytest

from holdfast import Table
from holdfast._arrays import ByteArray
from holdfast.errors import ClusterError
from holdfast.parallel.clusters import SentValues, compare_versions, list_versions, pack, unpack

pytest.importorskip("cloudpickle")

TABLE = Table.from_arrays(np.arange(3000.0).reshape(1000, 3), np.arange(1000) % 2)


def never(_: Any) -> str:
    raise AssertionError("nothing in it is shared")


def test_a_value_comes_back_with_arrays_that_are_views_as_kernels_want_them() -> None:
    given = {"ages": np.arange(5.0), "name": "age", "none": np.empty(0), "flags": np.ones(3, bool)}
    blob = pack(given, never)
    value = unpack(blob, {})
    assert value["ages"].tolist() == [0, 1, 2, 3, 4]
    assert value["flags"].tolist() == [True] * 3
    assert (value["name"], len(value["none"])) == ("age", 0)
    assert np.shares_memory(value["ages"], blob)
    assert value["ages"].flags.aligned
    assert not value["ages"].flags.writeable


def test_a_table_is_a_key_in_whatever_holds_it() -> None:
    _ = TABLE.coded
    whole = pack(TABLE, never)
    task = pack(partial(Table.subset, TABLE), lambda table: "t")
    assert len(task) < 1000 < TABLE.n_rows * 3 * 8 < len(whole)
    table = unpack(whole, {})
    assert unpack(task, {"t": table}).args == (table,)
    assert [column.tolist() for column in table.columns] == [column.tolist() for column in TABLE.columns]
    assert "coded" in vars(table)  # no worker has to code it
    assert table.coded.ranks.tobytes() == TABLE.coded.ranks.tobytes()


def test_functions_of_a_notebook_travel_too() -> None:
    factor = 3
    assert unpack(pack(lambda number: factor * number, never), {})(2) == 6


def test_what_pickle_cannot_write_raises_an_error_that_says_so() -> None:
    with pytest.raises(ClusterError, match=r"cannot be sent.*generator"):
        pack((number for number in range(3)), never)


class Store:
    """Counts what it is given."""

    def __init__(self) -> None:
        self.blobs: list[ByteArray] = []

    def put(self, blob: ByteArray) -> int:
        self.blobs.append(blob)
        return len(self.blobs)


def table_of(seed: int) -> Table:
    return Table.from_arrays(np.random.default_rng(seed).normal(size=(1000, 3)), np.arange(1000) % 2)


def test_a_table_is_sent_once_for_many_tasks_and_again_only_when_more_is_known_of_it() -> None:
    store, sent, table = Store(), SentValues(), table_of(0)
    tasks = [partial(Table.subset, table) for _ in range(3)]
    parts = [sent.part(task, store.put) for task in tasks]
    assert len(store.blobs) == 4  # three tasks, and one table
    assert sum(len(blob) > 10_000 for blob in store.blobs) == 1
    assert len({part.contained[0].key for part in parts}) == 1
    assert sent.part(tasks[0], store.put) is parts[0]
    assert list(parts[0].list_handles().values()) == [1, 2]  # what is needed first comes first

    _ = table.coded
    again = sent.part(partial(Table.subset, table), store.put)
    assert again.contained[0].n_bytes > parts[0].contained[0].n_bytes
    assert sent.n_bytes == sum(len(blob) for blob in store.blobs)


def test_a_method_is_known_by_the_value_that_it_belongs_to() -> None:
    store, sent, table = Store(), SentValues(), table_of(1)
    assert sent.part(table.subset, store.put) is sent.part(table.subset, store.put)
    assert sent.part(table.rows, store.put) is not sent.part(table.subset, store.put)


def test_what_is_gone_here_is_forgotten() -> None:
    store, sent, table = Store(), SentValues(), table_of(2)
    sent.part(partial(Table.subset, table), store.put)
    assert len(sent.parts) == 1  # the task is gone already
    del table
    gc.collect()
    assert len(sent.parts) == 0


def test_other_versions_are_named_with_both_values() -> None:
    ours = list_versions()
    assert compare_versions(ours, ours) == ""
    assert compare_versions(ours | {"numba": "0.1"}, ours) == f"numba {ours['numba']}, not 0.1"
