"""Which rows are learnt from, which are held out, and which are early.

Rows of one group always stay together, and every class and stage is divided in the same shares.
"""

from collections.abc import Sequence
from datetime import date
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import BoolArray, FloatArray, LongArray
from holdfast.data.input.columns import Reading, read_column
from holdfast.data.input.frame import as_vector
from holdfast.data.schema import Label
from holdfast.data.table import Table
from holdfast.errors import DataError, RulesError
from holdfast.random_streams import Stream, generator
from holdfast.text.lists import RowLabels, first_rows

N_STAGES = 5  # at most, to divide early and late rows in the same shares
N_BINS = 10  # of a numeric target, to divide low and high values in the same shares


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
        kinds = table.target.astype(np.int64)
    else:
        n_bins = max(1, min(N_BINS, table.n_rows // N_BINS))
        ranks = np.argsort(np.argsort(table.target, kind="stable"), kind="stable")
        kinds = ranks * n_bins // table.n_rows
    if stage is not None:
        kinds = kinds * N_STAGES + _pooled(stage)
    _, strata, counts = np.unique(kinds, return_inverse=True, return_counts=True)
    by_rarity = np.empty(len(counts), np.int64)
    by_rarity[np.argsort(counts, kind="stable")] = np.arange(len(counts))
    return np.asarray(by_rarity[strata], np.int64)


def _pooled(stage: LongArray) -> LongArray:
    """The stages as a few of about equal size: with one for every day, no class would be divided evenly."""
    rows_of = np.bincount(stage)
    middle = np.cumsum(rows_of) - rows_of / 2
    return np.asarray((middle * N_STAGES / len(stage)).astype(np.int64)[stage], np.int64)


def below(place: FloatArray, fraction: float) -> BoolArray:
    """The rows with a place below the fraction: at least one, and never all of two or more."""
    first, last = place.min(), place.max()
    if first == last:
        return np.ones(len(place), np.bool_)
    return np.asarray((place < max(fraction, np.nextafter(first, 2.0))) & (place < last), np.bool_)


def check_fraction(name: str, fraction: Any) -> None:
    """Raise a RulesError unless it is a number between 0 and 1, both excluded."""
    if not isinstance(fraction, Real) or isinstance(fraction, bool) or not 0 < float(fraction) < 1:
        raise RulesError(f"{name}={fraction!r} is out of range: it must be a fraction between 0 and 1.")


def folds_of(place: FloatArray, n_folds: int) -> LongArray:
    """The fold of every row, at least two of them if the rows have two places."""
    fold = np.asarray(np.minimum(place * n_folds, n_folds - 1), np.int64)
    if (fold == fold[0]).all():  # two rows, say, next to each other
        fold = np.asarray(place > place.min(), np.int64)
    return fold


def numbered(mark: LongArray | None, rows: BoolArray) -> LongArray | None:
    """The marks of some of the rows, numbered without gaps."""
    return None if mark is None else np.asarray(np.unique(mark[rows], return_inverse=True)[1], np.int64)


def known_rows(groups: LongArray, learnt: BoolArray, held_out: BoolArray) -> BoolArray:
    """True for the rows held out whose group is learnt from too.

    >>> learnt, held_out = np.array([True, True, False, False]), np.array([False, False, True, True])
    >>> known_rows(np.array([7, 8, 7, 9]), learnt, held_out)
    array([False, False,  True, False])
    """
    return np.asarray(held_out & np.isin(groups, groups[learnt]), np.bool_)


# -- stages and groups ----------------------------------------------------------------------------------


def read_stage(stage: Any, n_rows: int, rows: RowLabels | None = None) -> LongArray:
    """The number of every row's stage, in their order: of numbers, dates, text or ordered categories."""
    _raise_for_name(stage, "stage")
    vector = as_vector(stage, "stage")
    rows = RowLabels.of(vector) or rows
    array = vector if isinstance(vector, np.ndarray) else vector.to_numpy()
    if array.dtype == object and any(isinstance(entry, date) for entry in array):
        array = array.astype("datetime64[us]")
    if array.dtype.kind == "M":
        moments = array.astype("datetime64[us]")
        vector = np.where(np.isnat(moments), np.nan, moments.astype(np.int64).astype(np.float64))
    return _numbered(vector, "stage", "by dtype", n_rows, rows)


def read_groups(groups: Any, n_rows: int, rows: RowLabels | None = None) -> LongArray:
    """The number of every row's group."""
    _raise_for_name(groups, "groups")
    # As categories: long numbers of patients would run together as floats.
    vector = as_vector(groups, "groups")
    return _numbered(vector, "groups", "categories", n_rows, RowLabels.of(vector) or rows)


def _raise_for_name(values: Any, what: str) -> None:
    if isinstance(values, str):
        raise DataError(
            f"{what} is {values!r}: give one value for each row, such as X[{values!r}], not a name."
        )


def early_stages(stage: LongArray, fraction: float) -> BoolArray:
    """The rows of the first stages: as many as hold at least that fraction of the rows, and never the last.

    >>> early_stages(np.array([0, 0, 1, 2]), 0.5)
    array([ True,  True, False, False])
    """
    rows_of = _rows_of_stages(stage)
    n_early = int(np.searchsorted(np.cumsum(rows_of), fraction * len(stage) * (1 - 1e-12))) + 1
    return np.asarray(stage < min(n_early, len(rows_of) - 1), np.bool_)


def late_stages(stage: LongArray, fraction: float) -> BoolArray:
    """The rows of the last stages: as many as hold at most that fraction of the rows, and always the last.

    >>> late_stages(np.array([0, 0, 1, 2]), 0.5)
    array([False, False,  True,  True])
    """
    from_end = np.cumsum(_rows_of_stages(stage)[::-1])
    n_late = int(np.count_nonzero(from_end <= fraction * len(stage) * (1 + 1e-12)))
    return np.asarray(stage >= len(from_end) - max(n_late, 1), np.bool_)


def _rows_of_stages(stage: LongArray) -> LongArray:
    rows_of = np.bincount(stage)
    if len(rows_of) < 2:
        raise DataError(
            "stage has one value for all rows: the early data need a stage before the last. Leave stage out, "
            "and a random fraction of the rows is early."
        )
    return rows_of


def _numbered(vector: Any, what: str, reading: Reading, n_rows: int, rows: RowLabels | None) -> LongArray:
    if len(vector) != n_rows:
        raise DataError(f"{what} has {len(vector)} values, and the data has {n_rows} rows: give one per row.")
    if isinstance(vector, np.ndarray) and vector.dtype.kind in "iu":  # exact, however long
        return np.asarray(np.unique(vector, return_inverse=True)[1], np.int64)
    column = read_column(vector, what, reading, rows)
    values: NDArray[Any] = column.values
    if column.kind == "nominal" and (numbers := _as_numbers(column.labels)) is not None:
        values = np.append(numbers, np.nan)[np.where(np.isnan(values), -1, values).astype(np.int64)]
    if (missing := np.isnan(values)).any():
        raise DataError(
            f"{what} has {missing.sum()} missing values, {first_rows(missing, rows)}. Fill them in, or leave "
            "the rows out."
        )
    return np.asarray(np.unique(values, return_inverse=True)[1], np.int64)


def _as_numbers(labels: Sequence[Label]) -> FloatArray | None:
    """Texts as numbers if all of them are, so that stage 10 follows stage 9; else None."""
    try:
        numbers = np.array([float(label) for label in labels])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() and len(set(numbers.tolist())) == len(labels) else None
