"""Columns coded as bins and ranks, which the histogram kernels read."""

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, ByteArray, FloatArray, IntArray, LongArray, freeze
from holdfast.data.schema import Feature
from holdfast.kernels.growth.categories import YES_NO
from holdfast.kernels.growth.histogram import MISSING_CODE, MOST_BINS, Coded
from holdfast.kernels.growth.random_splits import RankValues
from holdfast.kernels.growth.sorting import rank_bits
from holdfast.parallel.tasks import LEAST_SHARED, ThreadPool

_NO_TOPS = np.empty(0, np.int64)
MOST_COUNTED = 2**17  # range of integers that are counted within the processor's cache
EXACT = 2.0**53  # up to here floats hold all integers


class CodeBuffers(NamedTuple):
    """Arrays that codes and ranks are written to, in memory or on disk."""

    codes: ByteArray  # (features / 4, rows, 4)
    ranks: IntArray  # (features, rows)

    @classmethod
    def in_memory(cls, n_features: int, n_rows: int) -> "CodeBuffers":
        """Allocate arrays; columns that pad a block of four have the code 0."""
        return cls(
            np.zeros((-(-n_features // 4), n_rows, 4), np.uint8), np.empty((n_features, n_rows), np.int32)
        )


def code_columns(
    features: Sequence[Feature],
    columns: Sequence[FloatArray],
    repeats: LongArray | None = None,
    *,
    n_jobs: int | None = None,
    buffers: CodeBuffers | None = None,
) -> Coded:
    """Code columns as ranks and as bins, each with about equally many rows.

    Equal values share a bin, and a row counts as often as `repeats` says. Columns of large tables are coded
    in parallel threads. Codes and ranks are written to the buffers; None: to new memory.

    >>> ages = np.array([40.0, 20.0, np.nan, 40.0])
    >>> code_columns([Feature("age")], [ages]).ranks.tolist()
    [[1, 0, -1, 1]]
    """
    n_features, n_rows = len(columns), len(columns[0])
    buffers = buffers or CodeBuffers.in_memory(n_features, n_rows)
    task = partial(_code_column, features, columns, repeats, buffers)
    with ThreadPool(n_jobs if n_rows >= LEAST_SHARED else 1) as threads:
        coded = threads.run(task, range(n_features))
    n_padded = 4 * len(buffers.codes)
    n_codes, n_ranks = np.ones(n_padded, np.int32), np.ones(n_padded, np.int32)
    is_subset, is_wide = np.ones(n_padded, np.uint8), np.zeros(n_padded, np.uint8)
    top_rank = np.zeros((n_features, 256), np.int32)
    for j, column in enumerate(coded):
        n_codes[j], n_ranks[j], is_subset[j], is_wide[j], tops = column
        top_rank[j, : len(tops)] = tops
    sizes = np.maximum(np.where(is_wide, n_ranks + 1, 0), MISSING_CODE + 1)
    start = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    packed = buffers.codes.view("<u4")[:, :, 0]
    keys = np.array([hash_name(feature.name) for feature in features], np.int64)
    arrays = (packed, buffers.ranks, n_codes, n_ranks, is_subset, is_wide, top_rank, start, keys)
    return Coded(*map(freeze, arrays))


def _code_column(
    features: Sequence[Feature],
    columns: Sequence[FloatArray],
    repeats: LongArray | None,
    buffers: CodeBuffers,
    j: int,
) -> tuple[int, int, int, bool, LongArray]:
    """Write the codes and ranks of column j.

    Return the numbers of codes and of ranks, the kind of subset, whether there are too many categories for
    codes, and the highest rank in each bin (empty for categories).
    """
    codes, feature = buffers.codes[j // 4, :, j % 4], features[j]
    kind = YES_NO if feature.kind == "question" else int(feature.kind == "nominal")
    ranks = np.empty(len(codes), np.int32)  # written at random places, and the buffer may be a file
    if not kind:
        rows_below = write_dense_ranks(columns[j], ranks)
        buffers.ranks[j] = ranks
        bins, tops = bin_ranks(ranks, rows_below, repeats)
        codes[:] = bins.take(ranks)  # rank -1 takes the last one; three times as fast as bins[ranks]
        return len(tops), len(rows_below) - 1, kind, False, tops
    n_categories = len(feature.categories)
    buffers.ranks[j] = ranks[:] = np.where(np.isnan(columns[j]), -1, columns[j])
    is_wide = n_categories > MOST_BINS
    if not is_wide:
        codes[:] = ranks.astype(np.uint8)  # -1 becomes 255, the code of missing values
    return n_categories, n_categories, kind, is_wide, _NO_TOPS


def list_rank_values(features: Sequence[Feature], columns: Sequence[FloatArray], coded: Coded) -> RankValues:
    """List the values that ranks stand for: numbers, or hashes of category labels.

    >>> ages = [np.array([40.0, 20.0, np.nan, 40.0])]
    >>> list_rank_values([Feature("age")], ages, code_columns([Feature("age")], ages)).number.tolist()
    [20.0, 40.0]
    """
    start = np.concatenate(([0], np.cumsum(coded.n_ranks[: len(columns)], dtype=np.int64)))
    number = np.zeros(start[-1])
    for j, (feature, column) in enumerate(zip(features, columns, strict=True)):
        own, ranks = number[start[j] : start[j + 1]], coded.ranks[j]
        if coded.is_subset[j]:
            own[:] = [hash_text(repr(label)) for label in feature.categories]
        else:
            own[ranks[ranks >= 0]] = column[ranks >= 0] + 0.0  # -0.0 and 0.0 have one rank
    return RankValues(freeze(start), freeze(number))


def hash_name(name: str) -> int:
    """Hash a column name to 32 bits; x3 (of an array) and 3 (of a frame without names) are equal.

    >>> hash_name("x3") == hash_name("3"), hash_name("age") == hash_text("age")
    (True, True)
    """
    return hash_text(name[1:] if name.startswith("x") and name[1:].isdecimal() else name)


def hash_text(text: str) -> int:
    """Hash a text to 32 bits, the same on every machine.

    >>> hash_text("age")
    2055926754
    """
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "little")


def write_dense_ranks(column: FloatArray, out: IntArray) -> LongArray:
    """Write the dense rank of every value, -1 if missing; return how many values lie below each rank.

    The last entry is the number of all values. A column without values has one rank, with no rows.

    >>> ranks = np.empty(4, np.int32)
    >>> write_dense_ranks(np.array([40.0, 20.0, np.nan, 40.0]), ranks), ranks
    (array([0, 1, 3]), array([ 1,  0, -1,  1], dtype=int32))
    """
    counted = _ranks_by_counting(column, out)
    if counted is not None:
        return counted
    bits = np.array(column).view(np.uint64)  # a copy: it is read at random places, and may be a file
    words, spare = np.empty((2, len(column) + 1), np.int64)
    n_ranks = rank_bits(bits, len(column).bit_length(), words, spare, out)
    return spare[: n_ranks + 1].copy() if n_ranks else np.zeros(2, np.int64)


def _ranks_by_counting(column: FloatArray, out: IntArray) -> LongArray | None:
    """Rank integers in a small range by counting, several times as fast; None for other columns."""
    low, high = (float(end.reduce(column, initial=np.nan)) for end in (np.fmin, np.fmax))
    width = high - low + 1.0  # NaN without a value
    if not width <= min(MOST_COUNTED, 4 * len(column)) or max(abs(low), abs(high)) > EXACT:
        return None
    missing: BoolArray = np.isnan(column)
    has_gaps = bool(missing.any())
    numbers = np.where(missing, low, column) if has_gaps else column
    places = numbers.astype(np.int64)
    if (places != numbers).any():
        return None
    places -= int(low)
    rows_at = np.bincount(places[~missing] if has_gaps else places)
    present = (rows_at > 0).nonzero()[0]
    rank_at = np.empty(len(rows_at), np.int32)
    rank_at[present] = np.arange(len(present))
    out[:] = rank_at[places]
    if has_gaps:
        out[missing] = -1
    return np.concatenate(([0], rows_at[present].cumsum()))


def bin_ranks(
    ranks: IntArray, rows_below: LongArray, repeats: LongArray | None = None
) -> tuple[ByteArray, LongArray]:
    """Return the bin of every rank, with MISSING_CODE at the end, and the highest rank of each bin.

    Bins hold about equal numbers of rows. A value whose rows count 0 times shares the bin of another.

    >>> bin_ranks(np.array([1, 0, -1, 1]), np.array([0, 1, 3]))
    (array([  0,   1, 255], dtype=uint8), array([0, 1]))
    """
    n_ranks = len(rows_below) - 1
    begins = np.zeros(n_ranks + 1, np.uint8)
    begins[_first_ranks(ranks, rows_below, repeats)] = 1
    begins[0], begins[-1] = 0, 1
    tops = begins[1:].nonzero()[0]
    bins = begins.cumsum(dtype=np.uint8)
    bins[-1] = MISSING_CODE
    return bins, tops


def _first_ranks(ranks: IntArray, rows_below: LongArray, repeats: LongArray | None) -> LongArray | slice:
    """Return the first rank of each bin but the first; ranks may repeat, or be one past the last."""
    if repeats is None:
        return _at_borders(rows_below) if len(rows_below) > MOST_BINS + 1 else slice(None)
    known, n_ranks = ranks >= 0, len(rows_below) - 1
    rows_at = np.bincount(ranks[known], repeats[known], n_ranks).astype(np.int64)
    with_rows = rows_at.nonzero()[0]
    if len(with_rows) <= MOST_BINS:
        return with_rows[1:]
    return _at_borders(np.concatenate(([0], rows_at.cumsum())))


def _at_borders(rows_below: LongArray) -> LongArray:
    """Return the ranks at which each 240th of the rows begins."""
    borders = -(-np.arange(1, MOST_BINS) * rows_below[-1] // MOST_BINS)
    return np.asarray(rows_below[:-1].searchsorted(borders), np.int64)
