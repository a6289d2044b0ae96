"""Which rows are learnt from and which are held out, time after time."""

import warnings
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, IntArray, LongArray, stable_order
from holdfast.data.canonical_order import fixed_order, unit_numbers
from holdfast.data.input.weight import find_weighted_rows
from holdfast.data.split.row_keys import copies_as_groups, unit_keys
from holdfast.data.split.row_positions import assign_folds, assign_strata, random_positions, select_below
from holdfast.data.table import Table
from holdfast.errors import DataError, DataWarning, ParameterError
from holdfast.random_streams import Stream
from holdfast.text.lists import first_rows


class Fold(NamedTuple):
    """Training rows and held-out rows of one fold.

    >>> fold = Fold(np.array([1, 2, 0, 0]), np.array([False, False, False, True]))
    >>> fold.training.tolist()
    [True, True, False, False]
    """

    times: IntArray  # how often each row is learnt from: more than once only if given row numbers say so
    held_out: BoolArray  # True for the rows that are scored on

    @property
    def training(self) -> BoolArray:
        """Flags of the training rows."""
        return self.times > 0

    def subset(self, rows: LongArray) -> "Fold":
        """Select rows."""
        return Fold(self.times[rows], self.held_out[rows])

    def spread(self, rows: LongArray, n_rows: int) -> "Fold":
        """Expand a fold of some rows, or of reordered rows, to all rows."""
        times, held_out = np.zeros(n_rows, np.int32), np.zeros(n_rows, np.bool_)
        times[rows], held_out[rows] = self
        return Fold(times, held_out)


def draw_folds(table: Table, groups: LongArray | None, cv: Any, stream: Stream) -> list[Fold]:
    """So many folds, each held out in turn, or one fraction of the rows.

    Classes, or low and high numbers, are divided evenly, and groups never. Few groups, or groups of very
    unequal size, make fewer folds than asked for, with a warning.
    """
    n_units = table.n_rows if groups is None else 1 + int(np.count_nonzero(np.diff(np.sort(groups))))
    if n_units < 2:
        what = "row" if groups is None else "group"
        raise DataError(
            f"There is one {what} only (n_samples=1): folds hold some {what}s out and learn from others."
        )
    position = random_positions(assign_strata(table), unit_keys(table, groups), stream)
    if isinstance(cv, Integral) and int(cv) >= 2:
        n_folds = min(int(cv), n_units)
        # Alone, rows can be counted off; groups of all sizes go where their rows are.
        fold = _ranks(position) * n_folds // n_units if groups is None else assign_folds(position, n_folds)
        folds = [_fold(fold == number) for number in np.flatnonzero(np.bincount(fold))]
        if groups is not None and len(folds) < int(cv):
            warn_fewer_folds(int(cv), [len(folds)], groups)
        return folds
    if not isinstance(cv, Integral) and 0 < float(cv) < 1:
        return [_fold(select_below(position, float(cv)))]
    raise ParameterError(
        f"cv={cv!r} is out of range: it must be a number of folds from 2, a fraction between 0 and 1, a "
        "splitter, or pairs of row numbers."
    )


def warn_fewer_folds(n_asked: int, n_made: Sequence[int], groups: LongArray) -> None:
    """Warn that whole groups make fewer folds than requested."""
    least, most = min(n_made), max(n_made)
    made = f"{least}" if least == most else f"{least} to {most}"
    rows_of = np.unique(groups, return_counts=True)[1]
    why = f"the largest of {len(rows_of):,} groups has {rows_of.max():,} of the {len(groups):,} rows"
    if len(rows_of) < n_asked:
        why = f"there are {len(rows_of)} groups"
    warnings.warn(
        f"{n_asked} folds were asked for and {made} can be made: rows of one group, or copies of a row, stay "
        f"together, and {why}. Ask for fewer folds, or give smaller groups.",
        DataWarning,
        stacklevel=4,
    )


def _ranks(position: FloatArray) -> LongArray:
    """Rank the positions; ties keep their order."""
    ranks = np.empty(len(position), np.int64)
    ranks[stable_order(position)] = np.arange(len(position))
    return ranks


def draw_stable_folds(table: Table, groups: LongArray | None, cv: Any, stream: Stream) -> list[Fold]:
    """Draw folds that do not depend on the row order and keep copies of a row together.

    A row without weight is in none of them.
    """
    order = fixed_order(table, [] if groups is None else [groups])
    if table.weight is not None:
        order = order[table.weight[order] > 0]
    ordered = table.subset(order)
    units = copies_as_groups(ordered, unit_numbers(ordered)) if groups is None else groups[order]
    return [fold.spread(order, table.n_rows) for fold in draw_folds(ordered, units, cv, stream)]


def read_folds(table: Table, groups: LongArray | None, cv: Any) -> list[Fold]:
    """Read the folds of a scikit-learn splitter, or of pairs of row numbers, and check them."""
    folds = []
    for number, pair in enumerate(_pairs(table, groups, cv)):
        if not isinstance(pair, Sequence) or len(pair) != 2:
            raise ParameterError(f"cv has no pair of row numbers in place {number}: {pair!r}.")
        times = _times(pair[0], table.n_rows, f"the rows to learn from in place {number} of cv")
        held_out = _times(pair[1], table.n_rows, f"the rows to score on in place {number} of cv") > 0
        _check_apart(times > 0, held_out, groups, f"in place {number}")
        folds.append(Fold(times, held_out))
    return folds


def _fold(held_out: BoolArray) -> Fold:
    return Fold((~held_out).astype(np.int32), held_out)


def _check_apart(learnt: BoolArray, held_out: BoolArray, groups: LongArray | None, where: str) -> None:
    if (both := learnt & held_out).any():
        raise ParameterError(
            f"cv has {both.sum()} rows both to learn from and to score on, {first_rows(both)}, {where}."
        )
    if groups is not None and (n_torn := len(np.intersect1d(groups[learnt], groups[held_out]))):
        raise ParameterError(
            f"cv divides {n_torn} groups {where}: some of their rows are learnt from, and others are scored "
            "on. Leave groups out, or give folds that keep them together, such as GroupKFold."
        )


def _times(rows: Any, n_rows: int, what: str) -> IntArray:
    """Count how often each row is named, by numbers or by flags."""
    numbers = np.asarray(rows)
    if numbers.dtype == np.bool_ and numbers.shape == (n_rows,):
        numbers = np.flatnonzero(numbers)
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
        raise ParameterError(f"{what} are not row numbers: give integers from 0 to {n_rows - 1}, or flags.")
    if len(numbers) == 0:
        raise ParameterError(f"{what} must not be empty: every fold needs rows.")
    if numbers.min() < 0 or numbers.max() >= n_rows:
        outside = int(numbers.min() if numbers.min() < 0 else numbers.max())
        raise ParameterError(
            f"{what} have the number {outside}, and rows are numbered from 0 to {n_rows - 1}."
        )
    return np.bincount(numbers, minlength=n_rows).astype(np.int32)


def _pairs(table: Table, groups: LongArray | None, cv: Any) -> Iterable[Any]:
    if hasattr(cv, "split") and not isinstance(cv, str):
        rows = find_weighted_rows(table.weight)
        if rows is None:
            return list(cv.split(np.zeros((table.n_rows, 1)), table.target, groups))
        numbers, own = np.flatnonzero(rows), None if groups is None else groups[rows]
        pairs = cv.split(np.zeros((len(numbers), 1)), table.target[rows], own)
        return [(numbers[learnt], numbers[held_out]) for learnt, held_out in pairs]
    if not isinstance(cv, Iterable) or isinstance(cv, str):
        raise ParameterError(
            f"cv={cv!r} says nothing of folds: give an integer from 2, a fraction between 0 and 1, a "
            "splitter of scikit-learn's, or pairs of row numbers."
        )
    pairs = list(cv)
    if not pairs:
        raise ParameterError(
            "cv holds no folds: give at least one pair of row numbers to learn from and to score on."
        )
    return pairs
