"""Sort rows into a fixed order, independent of the original one, and merge copies of a row."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import fsum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, LongArray
from holdfast.data.table import Table
from holdfast.data.target import are_repetitions

MOST_COPIES = 0.1  # fraction of the rows; more frequent equal rows are separate observations
WORD_BITS = 64
MOST_ROWS = 2_000_000  # integer weights with a greater sum are not expanded to rows


class CanonicalRows(NamedTuple):
    """Rows in one fixed order."""

    table: Table
    metadata: list[LongArray]  # such as the stages and the groups of the rows
    units: LongArray | None  # equal numbers mark copies of a row; None if no row is a copy


def find_fixed_order(table: Table, metadata: Sequence[LongArray] = ()) -> LongArray:
    """Return the row numbers sorted by columns (in name order), metadata, target and weight.

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
        # A few columns often distinguish all rows, and the others need no sorting.
        if n_keys >= len(keys) or _all_differ([key[order] for key in keys[:n_keys]]):
            return order
        n_keys *= 4


def sort_table(
    table: Table, metadata: Sequence[LongArray] = (), n_jobs: int | None = None
) -> tuple[Table, LongArray]:
    """Return the coded table with its rows in the fixed order, and the order.

    >>> table, order = sort_table(Table.from_arrays([[3.0], [1.0], [2.0]], ["no", "no", "yes"]))
    >>> table.columns[0].tolist(), table.coded.ranks.tolist(), order.tolist()
    ([1.0, 2.0, 3.0], [[0, 1, 2]], [1, 2, 0])
    """
    # Ranks are sorted faster than numbers. Ranks computed here are not stored with the original table.
    own = table if "coded" in table.__dict__ else table.subset(slice(None))
    own.code(n_jobs)
    order = find_fixed_order(own, metadata)
    if (order[1:] > order[:-1]).all():  # already sorted: no copy is needed
        return own, order
    return own.reorder(order), order


def _further_keys(table: Table, metadata: Sequence[LongArray]) -> list[NDArray[Any]]:
    """Return the sort keys after the columns."""
    times = [] if table.survival is None else table.survival.keys
    return [*metadata, make_target_key(table), *times, *([] if table.weight is None else [table.weight])]


def _ranked_keys(table: Table, metadata: Sequence[LongArray]) -> Iterator[tuple[NDArray[Any], int]]:
    """Yield all sort keys as ranks from 0, each with the highest possible rank; missing values come last."""
    coded = table.coded
    for ranks, n_ranks in zip(coded.ranks, coded.n_ranks.tolist(), strict=False):
        yield np.where(ranks < 0, n_ranks, ranks), n_ranks
    for key in _further_keys(table, metadata):
        order = key.argsort(kind="stable")
        yield _rank_densely(key[order], order)


def _order_by_ranks(keys: Iterator[tuple[NDArray[Any], int]], n_rows: int) -> LongArray:
    """Sort the rows by the keys, stably.

    The upper bits of a word hold as many keys as fit, the lower bits the row number: sorting words is several
    times as fast as an indirect sort by several columns.
    """
    row_bits, rows = n_rows.bit_length(), np.arange(n_rows, dtype=np.uint64)
    words, used = np.zeros(n_rows, np.uint64), 0
    for ranks, highest in keys:
        bits = highest.bit_length()
        if used + bits > WORD_BITS - row_bits:
            words, order, n_different = _sort_words(words, rows, row_bits)
            if n_different == n_rows:
                return order
            used = n_different.bit_length()
        words = words << np.uint64(bits) | ranks.astype(np.uint64)
        used += bits
    return _sort_words(words, rows, row_bits)[1]


def _sort_words(
    words: NDArray[np.uint64], rows: NDArray[np.uint64], row_bits: int
) -> tuple[NDArray[np.uint64], LongArray, int]:
    """Return the dense rank of every word, the order of the rows, and the number of distinct words."""
    joined = words << np.uint64(row_bits) | rows
    joined.sort()
    order = (joined & np.uint64((1 << row_bits) - 1)).astype(np.int64)
    ranks, highest = _rank_densely(joined >> np.uint64(row_bits), order)
    return ranks, order, highest + 1


def _rank_densely(values: NDArray[Any], order: LongArray) -> tuple[NDArray[np.uint64], int]:
    """Return the rank of every row, given the sorted values and their order; and the highest rank."""
    ranks = np.zeros(len(values), np.uint64)
    np.cumsum(values[1:] != values[:-1], out=ranks[1:])
    dense = np.empty_like(ranks)
    dense[order] = ranks
    return dense, int(ranks[-1])


def make_target_key(table: Table) -> NDArray[Any]:
    """Return the sort key of the target: numbers, or classes by descending frequency.

    So the names of the classes have no effect.
    """
    if not table.schema.target.is_classes:
        return table.target
    classes = range(len(table.schema.target.classes))
    if table.weight is None:
        frequency = np.bincount(table.target, minlength=len(classes)).tolist()
    else:
        weight = table.weight / table.weight.max()
        frequency = [fsum(weight[table.target == number]) for number in classes]
    by_frequency = sorted(classes, key=lambda number: -frequency[number])  # ties by name
    rank = np.argsort(by_frequency, kind="stable")
    return np.asarray(rank[table.target], np.int64)


def _all_differ(columns: Sequence[NDArray[Any]]) -> bool:
    """Return True if all neighbours differ; missing values count as equal."""
    differs = np.zeros(len(columns[0]) - 1, np.bool_)
    for column in columns:
        differs |= (column[1:] != column[:-1]) & ~np.isnan(column[1:])
    return bool(differs.all())


def number_copies(table: Table, metadata: Sequence[LongArray] = ()) -> LongArray | None:
    """Number rows in the fixed order, copies alike; None if there are no copies."""
    return _units(*_copies(table, metadata))


def canonicalize_rows(table: Table, metadata: Sequence[LongArray] = ()) -> CanonicalRows:
    """Sort the rows of a table and its metadata, and merge copies of a row.

    Then sums over the rows do not depend on the order of the data, a weight of 2 equals a repeated row, and
    copies of a row are never divided between training and test data. Equal rows are copies, unless rows with
    the same features have different targets, or they make up more than a tenth of all rows: then they are
    separate observations that happen to be equal, as in a table of a few categories.
    """
    original, order = table, find_fixed_order(table, metadata)
    if table.weight is not None:
        order = order[table.weight[order] > 0]
    table, metadata = table.subset(order), [each[order] for each in metadata]
    row, is_copy = _copies(table, metadata)
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    if not _can_be_written_out(weight[~is_copy]) or not are_repetitions(weight):
        return CanonicalRows(table, list(metadata), _units(row, is_copy))
    # The first copy replaces all of them; any other row is repeated as often as its weight.
    is_first = np.append(True, row[1:] != row[:-1])
    total = np.bincount(row, weight)[row]
    times = np.where(is_copy, is_first, weight).astype(np.int64)
    rows = np.repeat(np.arange(table.n_rows), times)
    weight = np.where(is_copy, total, 1.0)[rows]
    has_copies = bool((weight > 1).any())
    own = weight if has_copies else None
    if original.weight is None:  # no row of weight 0 was dropped: all ranks still occur
        ordered = original.reorder(order[rows], own)
    else:
        ordered = replace(table.subset(rows), weight=own)
    units = np.arange(len(rows)) if has_copies else None
    return CanonicalRows(ordered, [each[rows] for each in metadata], units)


def _copies(table: Table, metadata: Sequence[LongArray]) -> tuple[LongArray, BoolArray]:
    """Number sorted rows, equal ones alike, and flag those that are copies."""
    differs = np.zeros(table.n_rows, np.bool_)
    for key in (*table.columns, *metadata):
        differs[1:] |= _differs_from_last(key)
    inputs = np.cumsum(differs)  # equal for the same features and metadata
    for key in [table.target] if table.survival is None else table.survival.keys:
        differs[1:] |= key[1:] != key[:-1]
    row = np.cumsum(differs)
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    n_targets = np.bincount(inputs[np.append(True, row[1:] != row[:-1])])
    frequency = np.bincount(row, weight / weight.max())
    is_copy = (n_targets[inputs] == 1) & (frequency[row] <= MOST_COPIES * frequency.sum())
    return np.asarray(row, np.int64), np.asarray(is_copy, np.bool_)


def _units(row: LongArray, is_copy: BoolArray) -> LongArray | None:
    """Number the rows, copies alike; None if there are no copies."""
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
