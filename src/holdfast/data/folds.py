"""Folds, groups and stages: which rows are for training and which are held out."""

import warnings
from collections.abc import Iterable, Sequence
from datetime import date
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, IntArray, KeyArray, LongArray, stable_argsort
from holdfast._random import Stream
from holdfast._text import RowLabels, first_rows, quoted
from holdfast.data.columns import Reading, read_column
from holdfast.data.frame import as_vector
from holdfast.data.row_keys import draw_bits, draw_uniforms, group_copies, label_keys, unit_keys
from holdfast.data.row_order import find_fixed_order, number_copies
from holdfast.data.schema import Label
from holdfast.data.table import Table
from holdfast.data.target import find_weighted_rows
from holdfast.errors import DataError, DataWarning, ParameterError


class Fold(NamedTuple):
    """Training rows and held-out rows of one fold.

    >>> fold = Fold(np.array([1, 2, 0, 0]), np.array([False, False, False, True]))
    >>> fold.training.tolist()
    [True, True, False, False]
    """

    times: IntArray  # how often each row is trained on; more than once only for user-defined folds
    held_out: BoolArray  # flags of the rows to score on

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
    """Draw `cv` folds, each held out in turn, or hold out one fraction of the rows.

    Folds are stratified by class, or by low and high numbers, and keep groups together. Few groups, or groups
    of very unequal size, give fewer folds than requested, with a warning.
    """
    n_units = table.n_rows if groups is None else 1 + int(np.count_nonzero(np.diff(np.sort(groups))))
    if n_units < 2:
        what = "row" if groups is None else "group"
        raise DataError(f"There is only one {what} (n_samples=1): folds need at least two {what}s.")
    position = draw_positions(assign_strata(table), unit_keys(table, groups), stream)
    if isinstance(cv, Integral) and int(cv) >= 2:
        n_folds = min(int(cv), n_units)
        # Single rows are divided by rank, groups of different sizes by position.
        fold = _rank(position) * n_folds // n_units if groups is None else assign_folds(position, n_folds)
        folds = [_make_fold(fold == number) for number in np.flatnonzero(np.bincount(fold))]
        if groups is not None and len(folds) < int(cv):
            warn_fewer_folds(int(cv), [len(folds)], groups)
        return folds
    if not isinstance(cv, Integral) and 0 < float(cv) < 1:
        return [_make_fold(select_below(position, float(cv)))]
    raise ParameterError(
        f"cv={cv!r} is out of range: it must be a number of folds from 2, a fraction between 0 and 1, a "
        "splitter, or pairs of row numbers."
    )


def warn_fewer_folds(n_requested: int, n_made: Sequence[int], groups: LongArray) -> None:
    """Warn that whole groups make fewer folds than requested."""
    least, most = min(n_made), max(n_made)
    made = f"{least}" if least == most else f"{least} to {most}"
    rows_of = np.unique(groups, return_counts=True)[1]
    why = f"the largest of {len(rows_of):,} groups has {rows_of.max():,} of the {len(groups):,} rows"
    if len(rows_of) < n_requested:
        why = f"there are {len(rows_of)} groups"
    warnings.warn(
        f"only {made} of {n_requested} folds can be made: rows of one group, or copies of a row, stay "
        f"together, and {why}. Use fewer folds, or smaller groups.",
        DataWarning,
        stacklevel=4,
    )


def _rank(position: FloatArray) -> LongArray:
    """Rank the positions; ties keep their order."""
    ranks = np.empty(len(position), np.int64)
    ranks[stable_argsort(position)] = np.arange(len(position))
    return ranks


def draw_stable_folds(table: Table, groups: LongArray | None, cv: Any, stream: Stream) -> list[Fold]:
    """Draw folds that do not depend on the row order and keep copies of a row together.

    Rows of weight 0 are in none of them.
    """
    order = find_fixed_order(table, [] if groups is None else [groups])
    if table.weight is not None:
        order = order[table.weight[order] > 0]
    ordered = table.subset(order)
    units = group_copies(ordered, number_copies(ordered)) if groups is None else groups[order]
    return [fold.spread(order, table.n_rows) for fold in draw_folds(ordered, units, cv, stream)]


def read_folds(table: Table, groups: LongArray | None, cv: Any) -> list[Fold]:
    """Read the folds of a scikit-learn splitter, or of pairs of row numbers, and check them."""
    folds = []
    for number, pair in enumerate(_pairs(table, groups, cv)):
        if not isinstance(pair, Sequence) or len(pair) != 2:
            raise ParameterError(f"cv has no pair of row numbers at position {number}: {pair!r}.")
        times = _count_times(pair[0], table.n_rows, f"the training rows of fold {number} of cv")
        held_out = _count_times(pair[1], table.n_rows, f"the held-out rows of fold {number} of cv") > 0
        _check_disjoint(times > 0, held_out, groups, number)
        folds.append(Fold(times, held_out))
    return folds


def _make_fold(held_out: BoolArray) -> Fold:
    return Fold((~held_out).astype(np.int32), held_out)


def _check_disjoint(training: BoolArray, held_out: BoolArray, groups: LongArray | None, number: int) -> None:
    if (both := training & held_out).any():
        raise ParameterError(
            f"cv has {both.sum()} rows both for training and held out in fold {number}, {first_rows(both)}."
        )
    if groups is not None and (n_divided := len(np.intersect1d(groups[training], groups[held_out]))):
        raise ParameterError(
            f"cv divides {n_divided} groups in fold {number}: some of their rows are for training, others "
            "are held out. Leave groups out, or give folds that keep them together, such as GroupKFold."
        )


def _count_times(rows: Any, n_rows: int, what: str) -> IntArray:
    """Count how often each row occurs among row numbers, or in a mask."""
    numbers = np.asarray(rows)
    if numbers.dtype == np.bool_ and numbers.shape == (n_rows,):
        numbers = np.flatnonzero(numbers)
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
        raise ParameterError(f"{what} are not row numbers: give integers from 0 to {n_rows - 1}, or a mask.")
    if len(numbers) == 0:
        raise ParameterError(f"{what} must not be empty.")
    if numbers.min() < 0 or numbers.max() >= n_rows:
        outside = int(numbers.min() if numbers.min() < 0 else numbers.max())
        raise ParameterError(f"{what} contain {outside}, but rows are numbered from 0 to {n_rows - 1}.")
    return np.bincount(numbers, minlength=n_rows).astype(np.int32)


def _pairs(table: Table, groups: LongArray | None, cv: Any) -> Iterable[Any]:
    if hasattr(cv, "split") and not isinstance(cv, str):
        rows = find_weighted_rows(table.weight)
        if rows is None:
            return list(cv.split(np.zeros((table.n_rows, 1)), table.target, groups))
        numbers, own = np.flatnonzero(rows), None if groups is None else groups[rows]
        pairs = cv.split(np.zeros((len(numbers), 1)), table.target[rows], own)
        return [(numbers[training], numbers[held_out]) for training, held_out in pairs]
    if not isinstance(cv, Iterable) or isinstance(cv, str):
        raise ParameterError(
            f"cv={cv!r} does not define folds: give an integer from 2, a fraction between 0 and 1, a "
            "splitter of scikit-learn, or pairs of row numbers."
        )
    pairs = list(cv)
    if not pairs:
        raise ParameterError("cv has no folds: give at least one pair of training and held-out row numbers.")
    return pairs


# -- Groups, such as patients --------------------------------------------------------------------------------


def read_groups(groups: Any, n_rows: int, rows: RowLabels | None = None) -> LongArray:
    """Read the key of every row's group, which depends on its label alone."""
    check_not_name(groups, "groups")
    vector = as_vector(groups, "groups")
    _check_length(vector, "groups", n_rows)
    if _is_integer(vector):
        return np.asarray(vector.astype(np.uint64).view(np.int64), np.int64)
    # As categories, since large patient numbers may become equal as floats.
    rows = RowLabels.of(vector) or rows
    column = read_column(vector, "groups", "categories", rows)
    _check_known(column.values, "groups", rows)
    keys = label_keys(column.labels).view(np.int64)
    return np.asarray(keys[column.values.astype(np.int64)], np.int64)


def subset_groups(groups: LongArray | None, rows: NDArray[Any]) -> LongArray | None:
    """Select the groups of some rows by a mask or row numbers."""
    return None if groups is None else groups[rows]


def renumber_groups(numbers: LongArray | None, rows: NDArray[Any]) -> LongArray | None:
    """Number the stages or groups of some rows from 0 without gaps."""
    return None if numbers is None else np.asarray(np.unique(numbers[rows], return_inverse=True)[1], np.int64)


def find_known_groups(groups: LongArray, training: BoolArray, held_out: BoolArray) -> BoolArray:
    """Flag the held-out rows whose group is among the training rows.

    >>> training, held_out = np.array([True, True, False, False]), np.array([False, False, True, True])
    >>> find_known_groups(np.array([7, 8, 7, 9]), training, held_out)
    array([False, False,  True, False])
    """
    return np.asarray(held_out & np.isin(groups, groups[training]), np.bool_)


def _rank_labels(vector: Any, what: str, reading: Reading, n_rows: int, rows: RowLabels | None) -> LongArray:
    """Return the rank of every row's value, equal for equal values; missing values are an error."""
    _check_length(vector, what, n_rows)
    if _is_integer(vector):  # exact for any number of digits
        return np.asarray(np.unique(vector, return_inverse=True)[1], np.int64)
    column = read_column(vector, what, reading, rows)
    values: NDArray[Any] = column.values
    if column.kind == "nominal" and (numbers := _as_numbers(column.labels)) is not None:
        values = np.append(numbers, np.nan)[np.where(np.isnan(values), -1, values).astype(np.int64)]
    _check_known(values, what, rows)
    return np.asarray(np.unique(values, return_inverse=True)[1], np.int64)


def _is_integer(vector: Any) -> bool:
    return isinstance(vector, np.ndarray) and vector.dtype.kind in "iu"


def _check_length(vector: Any, what: str, n_rows: int) -> None:
    if len(vector) != n_rows:
        raise DataError(f"{what} has {len(vector)} values, and the data has {n_rows} rows: give one per row.")


def _check_known(values: NDArray[Any], what: str, rows: RowLabels | None) -> None:
    if (missing := np.isnan(values)).any():
        raise DataError(
            f"{what} has {missing.sum()} missing values, {first_rows(missing, rows)}. Fill them in, or drop "
            "the rows."
        )


def _as_numbers(labels: Sequence[Label]) -> FloatArray | None:
    """Convert texts to numbers if all are, so that stage 10 follows stage 9; else None."""
    try:
        numbers = np.array([float(label) for label in labels])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() and len(set(numbers.tolist())) == len(labels) else None


def check_not_name(values: Any, what: str) -> None:
    """Raise a DataError if a column is given by name instead of by its values."""
    if isinstance(values, str):
        raise DataError(
            f"{what} is {values!r}: give one value for each row, such as X[{values!r}], not a name."
        )


# -- Stratified random positions -----------------------------------------------------------------------------

N_STAGES = 5  # pooled stages that form strata, at most
SHIFT = 2**32 - 1  # last number of the stream that shifts strata, greater than that of any tree or fold
N_BINS = 10  # of a numeric target that form strata


def draw_positions(strata: LongArray, keys: KeyArray, stream: Stream) -> FloatArray:
    """Assign a random position in [0, 1) to every row, evenly within each stratum.

    It is the rank of the row's random number in its stratum, so that a row moves little when others are added
    or removed. Rows with equal keys, those of a group, share a position; their stratum is the lowest of them.
    Each stratum is shifted at random, so that small ones do not all lose their rows to the same side.

    >>> sorted(draw_positions(np.zeros(4, np.int64), np.arange(4, dtype=np.uint64), (0,)) < 0.5)
    [np.False_, np.False_, np.True_, np.True_]
    """
    units, unit = np.unique(keys, return_inverse=True)
    n_units = len(units)
    size = np.bincount(unit, minlength=n_units)
    stratum = np.full(n_units, strata.max(), np.int64)
    np.minimum.at(stratum, unit, strata)
    order = stable_argsort(draw_bits(units, stream))
    # 16 bits, where they suffice, are sorted ten times as fast.
    narrow = stratum.astype(np.uint16) if stratum.max() < 2**16 else stratum
    order = order[np.argsort(narrow[order], kind="stable")]
    middle = np.cumsum(size[order]) - size[order] / 2
    # For each stratum: where it begins, its number of rows, and by what fraction of a unit it is shifted.
    begins = np.append(True, np.diff(stratum[order]) != 0)
    first, number = np.flatnonzero(begins), np.cumsum(begins) - 1
    n_inside = np.diff(first, append=n_units)
    before = (np.cumsum(size[order]) - size[order])[first]
    n_rows = np.diff(np.append(before, len(strata)))
    shift = draw_uniforms(units[order[first]], (*stream, SHIFT)) / n_inside
    position = np.empty(n_units)
    position[order] = ((middle - before[number]) / n_rows[number] + shift[number]) % 1.0
    return np.asarray(position[unit], np.float64)


def assign_strata(table: Table, stage: LongArray | None = None) -> LongArray:
    """Assign strata by class, event or bin of a numeric target, and by stage; the rarest come first."""
    if table.survival is not None:
        classes = table.survival.event.astype(np.int64)
    elif table.schema.target.is_classes:
        classes = table.target.astype(np.int64)
    else:
        n_bins = max(1, min(N_BINS, table.n_rows // N_BINS))
        ranks = np.argsort(np.argsort(table.target, kind="stable"), kind="stable")
        classes = ranks * n_bins // table.n_rows
    if stage is not None:
        rows_of = np.bincount(stage)
        middle = np.cumsum(rows_of) - rows_of / 2
        classes = classes * N_STAGES + (middle * N_STAGES / len(stage)).astype(np.int64)[stage]
    rows_of = np.bincount(classes)
    present = np.flatnonzero(rows_of)
    by_rarity = np.empty(len(rows_of), np.int64)
    by_rarity[present[np.argsort(rows_of[present], kind="stable")]] = np.arange(len(present))
    return np.asarray(by_rarity[classes], np.int64)


def select_below(position: FloatArray, fraction: float) -> BoolArray:
    """Flag the rows with a position below the fraction: at least one, but not all of several."""
    first, last = position.min(), position.max()
    if first == last:
        return np.ones(len(position), np.bool_)
    return np.asarray((position < max(fraction, np.nextafter(first, 2.0))) & (position < last), np.bool_)


def assign_folds(position: FloatArray, n_folds: int) -> LongArray:
    """Assign rows to folds by position; two positions give at least two folds."""
    fold = np.asarray(np.minimum(position * n_folds, n_folds - 1), np.int64)
    if (fold == fold[0]).all():  # two neighbouring rows, for example
        fold = np.asarray(position > position.min(), np.int64)
    return fold


# -- Stages, such as years -----------------------------------------------------------------------------------


def read_stage(stage: Any, n_rows: int, rows: RowLabels | None = None) -> LongArray:
    """Rank the stages of the rows: numbers, dates, text or ordered categories."""
    check_not_name(stage, "stage")
    vector = as_vector(stage, "stage")
    rows = RowLabels.of(vector) or rows
    array = vector if isinstance(vector, np.ndarray) else vector.to_numpy()
    if array.dtype == object and any(isinstance(entry, date) for entry in array):
        array = array.astype("datetime64[us]")
    if array.dtype.kind == "M":
        moments = array.astype("datetime64[us]")
        vector = np.where(np.isnat(moments), np.nan, moments.astype(np.int64).astype(np.float64))
    return _rank_labels(vector, "stage", "by dtype", n_rows, rows)


def find_early_stages(stage: LongArray, fraction: float) -> BoolArray:
    """Flag the first stages that hold at least this fraction of the rows, never the last stage.

    >>> find_early_stages(np.array([0, 0, 1, 2]), 0.5)
    array([ True,  True, False, False])
    """
    rows_of = _count_rows_by_stage(stage)
    n_early = int(np.searchsorted(np.cumsum(rows_of), fraction * len(stage) * (1 - 1e-12))) + 1
    return np.asarray(stage < min(n_early, len(rows_of) - 1), np.bool_)


def find_late_stages(stage: LongArray, fraction: float) -> BoolArray:
    """Flag the last stages that hold at most this fraction of the rows, always the last stage.

    >>> find_late_stages(np.array([0, 0, 1, 2]), 0.5)
    array([False, False,  True,  True])
    """
    from_end = np.cumsum(_count_rows_by_stage(stage)[::-1])
    n_late = int(np.count_nonzero(from_end <= fraction * len(stage) * (1 + 1e-12)))
    return np.asarray(stage >= len(from_end) - max(n_late, 1), np.bool_)


def pool_stages(stage: LongArray, most: int) -> LongArray:
    """Pool consecutive stages into at most this many of similar size.

    >>> pool_stages(np.array([0, 1, 2, 2, 3]), 2)
    array([0, 0, 1, 1, 1])
    """
    rows_of = np.bincount(stage)
    if len(rows_of) <= most:
        return stage
    middle = np.cumsum(rows_of) - rows_of / 2
    run = (middle * most / len(stage)).astype(np.int64)
    run[-1] = max(int(run[-1]), int(run[0]) + 1)  # a last stage with most of the rows stays separate
    return np.asarray(np.unique(run[stage], return_inverse=True)[1], np.int64)


def join_small_stages(stage: LongArray, least: int) -> LongArray:
    """Merge stages with too few rows into the next ones, and renumber them.

    >>> join_small_stages(np.array([0, 1, 1, 2, 3, 3, 4]), 2)
    array([0, 0, 0, 1, 1, 1, 1])
    """
    rows_of = np.bincount(stage)
    number, n_so_far, numbers = 0, 0, []
    for n_rows in rows_of.tolist():
        numbers.append(number)
        n_so_far += n_rows
        if n_so_far >= least:
            number, n_so_far = number + 1, 0
    merged = np.array(numbers, np.int64)
    if n_so_far:  # the last rows are too few for a stage
        merged = np.minimum(merged, max(number - 1, 0))
    return np.asarray(merged[stage], np.int64)


def rank_stages(stage: Any, order: Sequence[Any]) -> LongArray:
    """Return the position of every row's stage in an explicit order.

    >>> rank_stages(["spring", "autumn"], ["spring", "summer", "autumn"])
    array([0, 2])
    """
    vector = as_vector(stage, "stage")
    entries = vector.tolist() if isinstance(vector, np.ndarray) else vector.to_list()
    place = {label: number for number, label in enumerate(order)}
    if unknown := [entry for entry in dict.fromkeys(entries) if entry not in place]:
        raise DataError(
            f"stage has {quoted(unknown)}, which stage_order={quoted(order)} lacks: add them to the order."
        )
    return np.array([place[entry] for entry in entries], np.int64)


def list_stage_labels(stage: Any, numbers: LongArray) -> tuple[str, ...]:
    """List the labels of the stages in order; midnight is shown as a day.

    >>> list_stage_labels([1999, 2001, 1999], np.array([0, 1, 0]))
    ('1999', '2001')
    """
    vector = as_vector(stage, "stage")
    array = vector if isinstance(vector, np.ndarray) else vector.to_numpy()
    _, first = np.unique(numbers, return_index=True)
    return tuple(_stage_label(array[int(row)]) for row in first)


def _stage_label(entry: Any) -> str:
    if isinstance(entry, float | np.floating) and float(entry).is_integer():
        entry = int(entry)
    if isinstance(entry, date | np.datetime64):
        return str(np.array([entry], "datetime64[s]")[0]).removesuffix("T00:00:00")
    return str(entry)


def _count_rows_by_stage(stage: LongArray) -> LongArray:
    rows_of = np.bincount(stage)
    if len(rows_of) < 2:
        raise DataError(
            "stage has one value for all rows, but the early data must lie before the last stage. Without "
            "stage, a random fraction of the rows is early."
        )
    return rows_of
