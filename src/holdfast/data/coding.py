"""Columns as small integers, once per table and shared by every tree grown from it."""

import hashlib
from collections.abc import Sequence

import numpy as np

from holdfast.arrays import FloatArray, IntArray, LongArray, frozen
from holdfast.data.schema import Feature
from holdfast.kernels.growth.categories import QUESTION
from holdfast.kernels.growth.histogram import MISSING_CODE, MOST_BINS, Coded
from holdfast.kernels.growth.random_split import RankValues


def code_columns(
    features: Sequence[Feature], columns: Sequence[FloatArray], repeats: LongArray | None = None
) -> Coded:
    """The columns as ranks and as bins that never divide equal values.

    `repeats` says how many rows each row stands for: bins hold about equal numbers of these.

    >>> ages = np.array([40.0, 20.0, np.nan, 40.0])
    >>> code_columns([Feature("age")], [ages]).ranks.tolist()
    [[1, 0, -1, 1]]
    """
    n_features, n_rows = len(columns), len(columns[0])
    n_padded = -(-n_features // 4) * 4
    codes = np.zeros((n_padded // 4, n_rows, 4), np.uint8)
    ranks = np.empty((n_features, n_rows), np.int32)
    n_codes, n_ranks = np.ones(n_padded, np.int32), np.ones(n_padded, np.int32)
    is_subset, is_wide = np.ones(n_padded, np.uint8), np.zeros(n_padded, np.uint8)
    top_rank = np.zeros((n_features, 256), np.int32)
    for j, (feature, column) in enumerate(zip(features, columns, strict=True)):
        is_subset[j] = _subset_kind(feature)
        if is_subset[j]:
            n_ranks[j] = n_codes[j] = len(feature.categories)
            is_wide[j] = n_codes[j] > MOST_BINS
            ranks[j] = np.where(np.isnan(column), -1, column)
            bins = ranks[j]
        else:
            n_ranks[j] = rank_values(column, ranks[j])
            bins, tops = bin_ranks(ranks[j], int(n_ranks[j]), repeats)
            n_codes[j] = len(tops)
            top_rank[j, : len(tops)] = tops
        if not is_wide[j]:
            codes[j // 4, :, j % 4] = np.where(ranks[j] < 0, MISSING_CODE, bins)
    sizes = np.maximum(np.where(is_wide, n_ranks + 1, 0), MISSING_CODE + 1)
    start = np.concatenate(([0], np.cumsum(sizes)))
    packed = codes.view("<u4")[:, :, 0]
    keys = np.array([name_key(feature.name) for feature in features], np.int64)
    arrays = (packed, ranks, n_codes, n_ranks, is_subset, is_wide, top_rank, start.astype(np.int64), keys)
    return Coded(*map(frozen, arrays))


def rank_values_of(features: Sequence[Feature], columns: Sequence[FloatArray], coded: Coded) -> RankValues:
    """What the ranks of the coded columns stand for: numbers, or hashes of the categories' labels.

    >>> ages = [np.array([40.0, 20.0, np.nan, 40.0])]
    >>> rank_values_of([Feature("age")], ages, code_columns([Feature("age")], ages)).number.tolist()
    [20.0, 40.0]
    """
    start = np.concatenate(([0], np.cumsum(coded.n_ranks[: len(columns)], dtype=np.int64)))
    number = np.zeros(start[-1])
    for j, (feature, column) in enumerate(zip(features, columns, strict=True)):
        own, ranks = number[start[j] : start[j + 1]], coded.ranks[j]
        if coded.is_subset[j]:
            own[:] = [text_key(repr(label)) for label in feature.categories]
        else:
            own[ranks[ranks >= 0]] = column[ranks >= 0] + 0.0  # -0.0 and 0.0 have one rank
    return RankValues(frozen(start), frozen(number))


def name_key(name: str) -> int:
    """A hash of 32 bits of a column's name; x3, as an array has it, and 3, as a frame without names, are one.

    >>> name_key("x3") == name_key("3"), name_key("age") == text_key("age")
    (True, True)
    """
    return text_key(name[1:] if name.startswith("x") and name[1:].isdecimal() else name)


def text_key(text: str) -> int:
    """A hash of 32 bits of the text, the same on every machine.

    >>> text_key("age")
    2055926754
    """
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "little")


def rank_values(column: FloatArray, out: IntArray) -> int:
    """Write the dense rank of every value, -1 for the missing ones; the number of distinct values."""
    order = np.argsort(column, kind="stable")  # missing values come last
    n_known = len(column) - int(np.count_nonzero(np.isnan(column)))
    known = column[order[:n_known]]
    out[order[n_known:]] = -1
    if n_known == 0:
        return 1
    steps = np.empty(n_known, np.int32)
    steps[0] = 0
    np.not_equal(known[1:], known[:-1], out=steps[1:], casting="unsafe")
    np.cumsum(steps, out=steps)
    out[order[:n_known]] = steps
    return int(steps[-1]) + 1


def bin_ranks(ranks: IntArray, n_ranks: int, repeats: LongArray | None = None) -> tuple[IntArray, IntArray]:
    """The bin of every row, bins of about equal numbers of rows, and the highest rank in each bin.

    A value whose rows stand for none shares a bin with one that has some.
    """
    if n_ranks <= MOST_BINS and repeats is None:
        return ranks, np.arange(n_ranks, dtype=np.int32)
    known = ranks >= 0
    weights = None if repeats is None else repeats[known]
    rows_at = np.bincount(ranks[known], weights, n_ranks).astype(np.int64)
    if np.count_nonzero(rows_at) <= MOST_BINS:
        bin_of_rank = np.maximum(np.cumsum(rows_at > 0) - 1, 0)
    else:
        rows_below = np.cumsum(rows_at) - rows_at
        fraction = rows_below * MOST_BINS // max(int(rows_at.sum()), 1)
        bin_of_rank = np.concatenate(([0], np.cumsum(np.diff(fraction) > 0)))
    bin_of_rank = bin_of_rank.astype(np.int32)
    tops = np.flatnonzero(np.append(np.diff(bin_of_rank) > 0, True)).astype(np.int32)
    return bin_of_rank[ranks], tops  # missing rows read the last rank's bin, which the caller overwrites


def _subset_kind(feature: Feature) -> int:
    if feature.kind == "question":
        return QUESTION
    return int(feature.kind == "nominal")
