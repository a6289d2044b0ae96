"""Bootstrap samples and subsamples of the rows, drawn by row keys."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from holdfast._arrays import IntArray, KeyArray, LongArray, freeze
from holdfast._random import Stream
from holdfast.data.row_keys import (
    STEP,
    draw_bits,
    draw_poisson_counts,
    draw_poisson_samples,
    draw_uniforms,
    select_lowest,
    unit_keys,
)
from holdfast.data.table import Table

MOST_DRAWS = 16  # per row; with more copies their counts are drawn at once


@dataclass(frozen=True, eq=False)
class Units:
    """Units of resampling: rows or, if there are groups, all rows of a group."""

    keys: KeyArray
    are_groups: bool = False

    @classmethod
    def of(cls, table: Table, groups: LongArray | None = None) -> "Units":
        """Make the units of a table, or of its groups."""
        return cls(freeze(unit_keys(table, groups)), groups is not None)

    @cached_property
    def n_keys(self) -> int:
        """Number of distinct units."""
        return len(np.unique(self.keys))


class Draws(NamedTuple):
    """A bootstrap sample; a row of the table may stand for several."""

    counts: IntArray  # how often each row is drawn, copies included
    rows: IntArray  # how many of its copies are drawn
    squares: LongArray  # sum of squares of how often each copy is drawn


def draw_sample(
    repeats: IntArray,
    units: Units,
    stream: Stream,
    *,
    n_draws: int | None = None,
    replacement: bool = True,
) -> Draws:
    """Draw a bootstrap sample, in which each row is drawn once on average by default.

    With replacement it is a Poisson bootstrap: each row is drawn independently, by its key and the stream,
    and `n_draws` is the mean sample size. Without replacement, the `n_draws` rows with the lowest random
    numbers are drawn. A row stands for `repeats` copies, drawn separately. Groups are drawn whole, and
    `n_draws` counts groups.

    >>> draw_sample(np.ones(5, np.int32), Units(np.arange(5, dtype=np.uint64)), (0, 0)).counts
    array([1, 1, 2, 0, 1], dtype=int32)
    """
    counted = np.flatnonzero(repeats)
    if len(counted) < len(repeats):  # rows that count 0 times take no part
        present = Units(units.keys[counted], units.are_groups)
        own = draw_sample(repeats[counted], present, stream, n_draws=n_draws, replacement=replacement)
        return Draws(*(_spread(part, counted, len(repeats)) for part in own))
    keys = units.keys
    if units.are_groups:
        return _draw_together(_draw_times(units, stream, n_draws, replacement), repeats)
    n_rows, n_all = len(repeats), int(repeats.sum(dtype=np.int64))
    if not replacement and n_draws in (None, n_all):
        return _draw_together(np.ones(n_rows, np.int32), repeats)
    if n_all == n_rows:  # each row stands for itself
        times = _draw_times(units, stream, n_draws, replacement)
        return Draws(times, (times > 0).astype(np.int32), np.square(times, dtype=np.int64))
    if n_all > MOST_DRAWS * n_rows:
        rate = (n_all if n_draws is None else n_draws) / n_all
        counts = _draw_many(repeats, keys, stream, rate, replacement)
        # Expected sum of squares, given the counts.
        squares = counts + counts.astype(np.int64) * (counts - 1) // repeats
        return Draws(counts, np.minimum(counts, repeats), squares)
    row = np.repeat(np.arange(n_rows), repeats)
    copy = np.arange(n_all) - (np.cumsum(repeats) - repeats)[row]
    copies = Units(keys[row] + copy.astype(np.uint64) * STEP)
    times = _draw_times(copies, stream, n_draws, replacement)
    summed = [np.bincount(row, part, minlength=n_rows) for part in (times, times > 0, times * times)]
    return Draws(summed[0].astype(np.int32), summed[1].astype(np.int32), summed[2].astype(np.int64))


def draw_samples(
    repeats: IntArray,
    units: Units,
    streams: Sequence[Stream],
    *,
    n_draws: int | None = None,
    replacement: bool = True,
) -> list[Draws]:
    """Draw one sample per stream; all at once if no row stands for several."""
    if n_draws is None and replacement and not units.are_groups and (repeats <= 1).all():
        counted = np.flatnonzero(repeats)
        if len(counted) == len(repeats):
            times = draw_poisson_samples(units.keys, streams)
        else:
            times = np.zeros((len(streams), len(repeats)), np.int32)
            times[:, counted] = draw_poisson_samples(units.keys[counted], streams)
        rows, squares = (times > 0).astype(np.int32), np.square(times, dtype=np.int64)
        return list(map(Draws, times, rows, squares))
    return [
        draw_sample(repeats, units, stream, n_draws=n_draws, replacement=replacement) for stream in streams
    ]


def draw_all_counts(repeats: IntArray, units: Units, streams: Sequence[Stream]) -> list[IntArray]:
    """Draw how often each row is in the bootstrap sample of every stream."""
    return [draws.counts for draws in draw_samples(repeats, units, streams)]


def _draw_together(times: IntArray, repeats: IntArray) -> Draws:
    """Return the sample in which all copies of a row are drawn equally often."""
    counts, rows = (repeats * part for part in (times, times > 0))
    return Draws(counts.astype(np.int32), rows.astype(np.int32), counts.astype(np.int64) * times)


def _spread(part: IntArray | LongArray, counted: LongArray, n_rows: int) -> Any:
    spread = np.zeros(n_rows, part.dtype)
    spread[counted] = part
    return spread


def count_groups(repeats: IntArray, groups: LongArray) -> int:
    """Count the groups with a row of positive count.

    >>> count_groups(np.array([1, 0, 2, 0]), np.array([7, 7, 8, 9]))
    2
    """
    return len(np.unique(groups[repeats > 0]))


def _draw_times(units: Units, stream: Stream, n_draws: int | None, replacement: bool) -> IntArray:
    if n_draws is None:
        return draw_poisson_counts(units.keys, stream) if replacement else np.ones(len(units.keys), np.int32)
    if replacement:
        return draw_poisson_counts(units.keys, stream, n_draws / units.n_keys)
    return select_lowest(units.keys, stream, n_draws).astype(np.int32)


def _draw_many(repeats: IntArray, keys: KeyArray, stream: Stream, rate: float, replacement: bool) -> IntArray:
    """Draw counts of rows with many copies, all copies at once."""
    from scipy.special import bdtr, bdtrik, pdtr, pdtrik

    drawn = draw_uniforms(keys, stream)
    # Inverse of the distribution function: the least count whose cumulative probability reaches the number.
    if replacement:
        counts = np.ceil(pdtrik(drawn, repeats * rate))
        is_less = pdtr(np.maximum(counts - 1, 0), repeats * rate) >= drawn
    else:
        counts = np.ceil(bdtrik(drawn, repeats, rate))
        is_less = bdtr(np.maximum(counts - 1, 0), repeats, rate) >= drawn
    counts = np.asarray(np.maximum(counts - is_less, 0.0), np.int32)
    if not counts.any():
        counts[drawn.argmax()] = 1
    return counts


# -- Subsamples of large tables, without a random number per row in memory ---

_BLOCK = 2**18  # rows at a time


def draw_subsample(keys: KeyArray, stream: Stream, n_rows: int) -> LongArray:
    """Draw sorted row numbers without replacement: the rows with the lowest random numbers.

    With distinct keys, the sample does not depend on the order of the rows, and hardly on what other rows
    there are.

    >>> draw_subsample(np.arange(10, dtype=np.uint64), (0, 1), 3)
    array([1, 7, 9])
    """
    n_all = len(keys)
    if n_rows >= n_all:
        return np.arange(n_all)
    margin = 8.0 * math.sqrt(n_rows) + 8.0
    while True:
        share = min((n_rows + margin) / n_all, 1.0)
        rows, bits = _select_below(keys, stream, share)
        if len(rows) >= n_rows:
            return np.sort(rows[np.argsort(bits, kind="stable")[:n_rows]])
        margin *= 4.0


def _select_below(keys: KeyArray, stream: Stream, share: float) -> tuple[LongArray, KeyArray]:
    """Return the rows whose random number is below this share of the range, with the numbers."""
    most = np.uint64(min(int(share * 2.0**64), 2**64 - 1))
    rows, numbers = [], []
    for start in range(0, len(keys), _BLOCK):
        bits = draw_bits(keys[start : start + _BLOCK], stream)
        below = np.flatnonzero(bits <= most)
        rows.append(below + start)
        numbers.append(bits[below])
    return np.concatenate(rows), np.concatenate(numbers)
