"""Rows in one fixed order, whatever order they came in, and copies of a row as one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import fsum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, LongArray
from holdfast.data.table import Table
from holdfast.data.target import are_repetitions

MOST_COPIES = 0.1  # fraction of the rows; equal rows that are more frequent are no copies of one
WORD_BITS = 64
MOST_ROWS = 2_000_000  # whole weights that add up to more than this are not written out as rows


class CanonicalRows(NamedTuple):
    """Rows in one fixed order."""

    table: Table
    metadata: list[LongArray]  # the stage, the group of every row
    units: LongArray | None  # rows with one number are copies of one; None if no row is a copy


def find_fixed_order(table: Table, metadata: Sequence[LongArray] = ()) -> LongArray:
    """The rows sorted by all that is known of them: columns, metadata (a stage, a group), target, weight.

    The columns count in the order of their names.

    >>> find_fixed_order(Table.from_arrays([[3.0], [1.0], [2.0]], ["no", "no", "yes"])).tolist()
    [1, 2, 0]
    """
    if "coded" in table.__dict__ and 3 * table.n_rows.bit_length() <= WORD_BITS:
        return _order_by_ranks(_ranked_keys(table, metadata), table.n_rows)
    columns = [table.columns[i] for i in table.schema.name_order]
    keys: list[NDArray[Any]] = [*columns, *_further_keys(table, metadata)]
    n_keys = 1
    while True:
        order = np.asarray(np.lexsort(keys[:n_keys][::-1]), np.int64)
        # A few columns often tell all rows apart, and then the others need no sorting.
        if n_keys >= len(keys) or _all_differ([key[order] for key in keys[:n_keys]]):
            return order
        n_keys *= 4


def sort_table(
    table: Table, metadata: Sequence[LongArray] = (), n_jobs: int | None = None
) -> tuple[Table, LongArray]:
    """The table with its rows in the fixed order, coded; and the order.

    >>> table, order = sort_table(Table.from_arrays([[3.0], [1.0], [2.0]], ["no", "no", "yes"]))
    >>> table.columns[0].tolist(), table.coded.ranks.tolist(), order.tolist()
    ([1.0, 2.0, 3.0], [[0, 1, 2]], [1, 2, 0])
    """
    # Ranks are sorted sooner than numbers. Where they are made here, they are not kept in the order given.
    own = table if "coded" in table.__dict__ else table.subset(slice(None))
    own.code(n_jobs)
    order = find_fixed_order(own, metadata)
    if (order[1:] > order[:-1]).all():  # they are in it already, and no copy is needed
        return own, order
    return own.reordered(order), order


def _further_keys(table: Table, metadata: Sequence[LongArray]) -> list[NDArray[Any]]:
    """What orders rows that are alike in all columns."""
    return [*metadata, make_target_key(table), *([] if table.weight is None else [table.weight])]


def _ranked_keys(table: Table, metadata: Sequence[LongArray]) -> Iterator[tuple[NDArray[Any], int]]:
    """All that rows are sorted by, as ranks from 0 on, and the highest possible; missing values come last."""
    coded = table.coded
    for ranks, n_ranks in zip(coded.ranks, coded.n_ranks.tolist(), strict=False):
        yield np.where(ranks < 0, n_ranks, ranks), n_ranks
    for key in _further_keys(table, metadata):
        order = key.argsort(kind="stable")
        yield _dense_ranks(key[order], order)


def _order_by_ranks(keys: Iterator[tuple[NDArray[Any], int]], n_rows: int) -> LongArray:
    """The rows sorted by keys, of alike ones the first first.

    As many keys as fit stand in the upper bits of a word, with the number of the row below them: sorting
    numbers is several times as fast as sorting places by several columns.
    """
    row_bits, rows = n_rows.bit_length(), np.arange(n_rows, dtype=np.uint64)
    words, used = np.zeros(n_rows, np.uint64), 0
    for ranks, highest in keys:
        bits = highest.bit_length()
        if used + bits > WORD_BITS - row_bits:
            words, order, n_different = _sorted_words(words, rows, row_bits)
            if n_different == n_rows:
                return order
            used = n_different.bit_length()
        words = words << np.uint64(bits) | ranks.astype(np.uint64)
        used += bits
    return _sorted_words(words, rows, row_bits)[1]


def _sorted_words(
    words: NDArray[np.uint64], rows: NDArray[np.uint64], row_bits: int
) -> tuple[NDArray[np.uint64], LongArray, int]:
    """The dense rank of every word, the rows in their order, and how many different words there are."""
    joined = words << np.uint64(row_bits) | rows
    joined.sort()
    order = (joined & np.uint64((1 << row_bits) - 1)).astype(np.int64)
    ranks, highest = _dense_ranks(joined >> np.uint64(row_bits), order)
    return ranks, order, highest + 1


def _dense_ranks(values: NDArray[Any], order: LongArray) -> tuple[NDArray[np.uint64], int]:
    """The rank of every row, given the values in the order of the rows; and the highest rank."""
    ranks = np.zeros(len(values), np.uint64)
    np.cumsum(values[1:] != values[:-1], out=ranks[1:])
    dense = np.empty_like(ranks)
    dense[order] = ranks
    return dense, int(ranks[-1])


def make_target_key(table: Table) -> NDArray[Any]:
    """What orders rows by their target: numbers as they are, classes by how frequent they are.

    So the names of the classes do not order the rows.
    """
    if not table.schema.target.is_classes:
        return table.target
    classes = range(len(table.schema.target.classes))
    if table.weight is None:
        frequency = np.bincount(table.target, minlength=len(classes)).tolist()
    else:
        weight = table.weight / table.weight.max()
        frequency = [fsum(weight[table.target == number]) for number in classes]
    by_frequency = sorted(classes, key=lambda number: -frequency[number])  # of equal ones, the first by name
    rank = np.argsort(by_frequency, kind="stable")
    return np.asarray(rank[table.target], np.int64)


def _all_differ(columns: Sequence[NDArray[Any]]) -> bool:
    """True if no two neighbours are alike; False also where a missing value leaves a doubt."""
    differs = np.zeros(len(columns[0]) - 1, np.bool_)
    for column in columns:
        differs |= (column[1:] != column[:-1]) & ~np.isnan(column[1:])
    return bool(differs.all())


def number_copies(table: Table, metadata: Sequence[LongArray] = ()) -> LongArray | None:
    """Of rows in the fixed order, a number for each that copies of it share; None if there are no copies."""
    return _units(*_copies(table, metadata))


def canonicalize_rows(table: Table, metadata: Sequence[LongArray] = ()) -> CanonicalRows:
    """The table with its rows sorted and copies of a row made one; metadata (a stage, a group) come along.

    So sums over the rows do not depend on the order of the data, a weight of 2 is a row twice, and copies of
    a row never stand on both sides of a split. Rows alike in everything are copies, unless rows with the same
    features have other targets too, or they make up more than a tenth of all: then they are observations
    of their own that happen to be alike, as in a table of a few categories.
    """
    given, order = table, find_fixed_order(table, metadata)
    if table.weight is not None:
        order = order[table.weight[order] > 0]
    table, metadata = table.subset(order), [each[order] for each in metadata]
    row, is_copy = _copies(table, metadata)
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    if not _can_be_written_out(weight[~is_copy]) or not are_repetitions(weight):
        return CanonicalRows(table, list(metadata), _units(row, is_copy))
    # The first of the copies for all of them; every other row as often as its weight says.
    is_first = np.append(True, row[1:] != row[:-1])
    joint = np.bincount(row, weight)[row]
    times = np.where(is_copy, is_first, weight).astype(np.int64)
    rows = np.repeat(np.arange(table.n_rows), times)
    weight = np.where(is_copy, joint, 1.0)[rows]
    has_copies = bool((weight > 1).any())
    own = weight if has_copies else None
    if given.weight is None:  # no row was dropped for a weight of 0: all ranks still occur
        ordered = given.reordered(order[rows], own)
    else:
        ordered = replace(table.subset(rows), weight=own)
    units = np.arange(len(rows)) if has_copies else None
    return CanonicalRows(ordered, [each[rows] for each in metadata], units)


def _copies(table: Table, metadata: Sequence[LongArray]) -> tuple[LongArray, BoolArray]:
    """Of sorted rows: a number for each that equal rows share, and whether equal rows are copies."""
    differs = np.zeros(table.n_rows, np.bool_)
    for key in (*table.columns, *metadata):
        differs[1:] |= _differs_from_last(key)
    inputs = np.cumsum(differs)  # equal for the same features and metadata
    row = np.cumsum(differs | np.append(False, table.target[1:] != table.target[:-1]))
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    n_targets = np.bincount(inputs[np.append(True, row[1:] != row[:-1])])
    frequency = np.bincount(row, weight / weight.max())
    is_copy = (n_targets[inputs] == 1) & (frequency[row] <= MOST_COPIES * frequency.sum())
    return np.asarray(row, np.int64), np.asarray(is_copy, np.bool_)


def _units(row: LongArray, is_copy: BoolArray) -> LongArray | None:
    """Numbers of the rows, the same for copies; None if there are none."""
    starts = ~is_copy
    starts[0] = True
    starts[1:] |= (row[1:] != row[:-1]) | ~is_copy[:-1]
    return None if starts.all() else np.asarray(np.cumsum(starts) - 1, np.int64)


def _can_be_written_out(weight: FloatArray) -> bool:
    with np.errstate(over="ignore"):
        return bool(weight.sum() <= max(MOST_ROWS, len(weight)))


def _differs_from_last(key: NDArray[Any]) -> BoolArray:
    one, other = key[:-1], key[1:]
    differs = one != other
    if key.dtype.kind == "f":
        differs &= ~(np.isnan(one) & np.isnan(other))
    return np.asarray(differs, np.bool_)
