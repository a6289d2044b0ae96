"""A random position for every row, groups whole: the rows below a fraction are that part of every stratum."""

from numbers import Real
from typing import Any

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, LongArray
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.random_streams import Stream, generator

N_STAGES = 5  # at most, so that early and late rows are divided alike
N_BINS = 10  # of a numeric target, so that low and high values are divided alike


def random_positions(strata: LongArray, groups: LongArray | None, stream: Stream) -> FloatArray:
    """A random position from 0 to 1 for every row: those below a fraction are about so many of every stratum.

    Rows of one group have one position; the stratum of a group is the lowest of its rows'. A stratum begins
    anywhere on the circle, so that many small ones do not all lose their rows to the same side.

    >>> sorted(random_positions(np.zeros(4, np.int64), None, (0,)) < 0.5)
    [np.False_, np.False_, np.True_, np.True_]
    """
    chance = generator(*stream)
    unit = np.arange(len(strata)) if groups is None else groups
    n_units = int(unit.max()) + 1
    size = np.bincount(unit, minlength=n_units)
    stratum = np.full(n_units, strata.max(), np.int64)
    np.minimum.at(stratum, unit, strata)
    order = np.lexsort((chance.permutation(n_units), stratum))
    middle = np.cumsum(size[order]) - size[order] / 2
    # Of every stratum: where it begins, how many rows it has, and where on the circle its first row stands.
    rows_of = np.bincount(stratum, size, minlength=int(stratum.max()) + 1)
    before = (np.cumsum(rows_of) - rows_of)[stratum[order]]
    offset = chance.random(len(rows_of))[stratum[order]]
    position = np.empty(n_units)
    position[order] = ((middle - before) / rows_of[stratum[order]] + offset) % 1.0
    return np.asarray(position[unit], np.float64)


def strata_of(table: Table, stage: LongArray | None = None) -> LongArray:
    """The class of every row, or a bin of its number, apart for every stage; the rarest have the lowest."""
    if table.schema.target.is_classes:
        classes = table.target.astype(np.int64)
    else:
        n_bins = max(1, min(N_BINS, table.n_rows // N_BINS))
        ranks = np.argsort(np.argsort(table.target, kind="stable"), kind="stable")
        classes = ranks * n_bins // table.n_rows
    if stage is not None:
        classes = classes * N_STAGES + _pooled(stage)
    _, strata, counts = np.unique(classes, return_inverse=True, return_counts=True)
    by_rarity = np.empty(len(counts), np.int64)
    by_rarity[np.argsort(counts, kind="stable")] = np.arange(len(counts))
    return np.asarray(by_rarity[strata], np.int64)


def _pooled(stage: LongArray) -> LongArray:
    """The stages as a few of about equal size: with one for every day, no class would be divided evenly."""
    rows_of = np.bincount(stage)
    middle = np.cumsum(rows_of) - rows_of / 2
    return np.asarray((middle * N_STAGES / len(stage)).astype(np.int64)[stage], np.int64)


def below(position: FloatArray, fraction: float) -> BoolArray:
    """The rows with a position below the fraction: at least one, and never all of two or more."""
    first, last = position.min(), position.max()
    if first == last:
        return np.ones(len(position), np.bool_)
    return np.asarray((position < max(fraction, np.nextafter(first, 2.0))) & (position < last), np.bool_)


def check_fraction(name: str, fraction: Any) -> None:
    """Raise a ParameterError unless it is a number between 0 and 1, both excluded."""
    if not isinstance(fraction, Real) or isinstance(fraction, bool) or not 0 < float(fraction) < 1:
        raise ParameterError(f"{name}={fraction!r} is out of range: it must be a fraction between 0 and 1.")


def folds_of(position: FloatArray, n_folds: int) -> LongArray:
    """The fold of every row, at least two of them if the rows have two positions."""
    fold = np.asarray(np.minimum(position * n_folds, n_folds - 1), np.int64)
    if (fold == fold[0]).all():  # two rows, say, next to each other
        fold = np.asarray(position > position.min(), np.int64)
    return fold
