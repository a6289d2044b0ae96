"""A random position for every row, groups whole: the rows below a fraction are that part of every stratum."""

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import BoolArray, FloatArray, KeyArray, LongArray, stable_order
from holdfast.data.split.row_keys import random_bits, uniforms
from holdfast.data.table import Table
from holdfast.random_streams import Stream

N_STAGES = 5  # at most, so that early and late rows are divided alike
MOVED = 2**32 - 1  # further down the stream, beyond any tree or fold: not the numbers that order the rows
N_BINS = 10  # of a numeric target, so that low and high values are divided alike


def random_positions(strata: LongArray, keys: KeyArray, stream: Stream) -> FloatArray:
    """Assign a random position in [0, 1) to every row, evenly within each stratum.

    It is the rank of the row's random number in its stratum, so that when others come or go a row moves
    little. Rows with one key, those of a group, have one position; their stratum is the lowest of them. Where
    a stratum begins is left to chance, so that many small ones do not all lose their rows to the same side.

    >>> sorted(random_positions(np.zeros(4, np.int64), np.arange(4, dtype=np.uint64), (0,)) < 0.5)
    [np.False_, np.False_, np.True_, np.True_]
    """
    units, unit = np.unique(keys, return_inverse=True)
    n_units = len(units)
    size = np.bincount(unit, minlength=n_units)
    stratum = np.full(n_units, strata.max(), np.int64)
    np.minimum.at(stratum, unit, strata)
    order = stable_order(random_bits(units, stream))
    order = order[np.argsort(_narrow(stratum[order]), kind="stable")]
    middle = np.cumsum(size[order]) - size[order] / 2
    # Of every stratum: where it begins, how many rows it has, and by how much of a unit it is moved on.
    begins = np.append(True, np.diff(stratum[order]) != 0)
    first, number = np.flatnonzero(begins), np.cumsum(begins) - 1
    n_inside = np.diff(first, append=n_units)
    before = (np.cumsum(size[order]) - size[order])[first]
    n_rows = np.diff(np.append(before, len(strata)))
    moved = uniforms(units[order[first]], (*stream, MOVED)) / n_inside
    position = np.empty(n_units)
    position[order] = ((middle - before[number]) / n_rows[number] + moved[number]) % 1.0
    return np.asarray(position[unit], np.float64)


def _narrow(strata: LongArray) -> LongArray | NDArray[np.uint16]:
    """Convert stratum numbers to 16 bits if they fit, which sorts ten times as fast."""
    return strata.astype(np.uint16) if strata.max() < 2**16 else strata


def assign_strata(table: Table, stage: LongArray | None = None) -> LongArray:
    """Assign strata by class, or by bin of the target, and by stage; the rarest come first."""
    if table.schema.target.is_classes:
        classes = table.target.astype(np.int64)
    else:
        n_bins = max(1, min(N_BINS, table.n_rows // N_BINS))
        ranks = np.argsort(np.argsort(table.target, kind="stable"), kind="stable")
        classes = ranks * n_bins // table.n_rows
    if stage is not None:
        classes = classes * N_STAGES + _pooled(stage)
    rows_of = np.bincount(classes)
    present = np.flatnonzero(rows_of)
    by_rarity = np.empty(len(rows_of), np.int64)
    by_rarity[present[np.argsort(rows_of[present], kind="stable")]] = np.arange(len(present))
    return np.asarray(by_rarity[classes], np.int64)


def _pooled(stage: LongArray) -> LongArray:
    """Pool stages into a few of similar size, so that classes can be divided evenly."""
    rows_of = np.bincount(stage)
    middle = np.cumsum(rows_of) - rows_of / 2
    return np.asarray((middle * N_STAGES / len(stage)).astype(np.int64)[stage], np.int64)


def select_below(position: FloatArray, fraction: float) -> BoolArray:
    """Flag the rows with a position below the fraction: at least one, never all of two or more."""
    first, last = position.min(), position.max()
    if first == last:
        return np.ones(len(position), np.bool_)
    return np.asarray((position < max(fraction, np.nextafter(first, 2.0))) & (position < last), np.bool_)


def assign_folds(position: FloatArray, n_folds: int) -> LongArray:
    """The fold of every row, at least two of them if the rows have two positions."""
    fold = np.asarray(np.minimum(position * n_folds, n_folds - 1), np.int64)
    if (fold == fold[0]).all():  # two rows, say, next to each other
        fold = np.asarray(position > position.min(), np.int64)
    return fold
