"""The stage of every row, such as a year: the first stages are early, the last ones late."""

from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np

from holdfast.arrays import BoolArray, LongArray
from holdfast.data.input.frame import as_vector
from holdfast.data.split.groups import check_not_name, rank_labels
from holdfast.errors import DataError
from holdfast.text.lists import RowLabels, listed


def read_stage(stage: Any, n_rows: int, rows: RowLabels | None = None) -> LongArray:
    """Number the stages of the rows in order: of numbers, dates, text or ordered categories."""
    check_not_name(stage, "stage")
    vector = as_vector(stage, "stage")
    rows = RowLabels.of(vector) or rows
    array = vector if isinstance(vector, np.ndarray) else vector.to_numpy()
    if array.dtype == object and any(isinstance(entry, date) for entry in array):
        array = array.astype("datetime64[us]")
    if array.dtype.kind == "M":
        moments = array.astype("datetime64[us]")
        vector = np.where(np.isnat(moments), np.nan, moments.astype(np.int64).astype(np.float64))
    return rank_labels(vector, "stage", "by dtype", n_rows, rows)


def early_stages(stage: LongArray, fraction: float) -> BoolArray:
    """Flag the first stages that hold at least this fraction of the rows, never the last stage.

    >>> early_stages(np.array([0, 0, 1, 2]), 0.5)
    array([ True,  True, False, False])
    """
    rows_of = _rows_of_stages(stage)
    n_early = int(np.searchsorted(np.cumsum(rows_of), fraction * len(stage) * (1 - 1e-12))) + 1
    return np.asarray(stage < min(n_early, len(rows_of) - 1), np.bool_)


def late_stages(stage: LongArray, fraction: float) -> BoolArray:
    """Flag the last stages that hold at most this fraction of the rows, always the last stage.

    >>> late_stages(np.array([0, 0, 1, 2]), 0.5)
    array([False, False,  True,  True])
    """
    from_end = np.cumsum(_rows_of_stages(stage)[::-1])
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
    run[-1] = max(int(run[-1]), int(run[0]) + 1)  # a last stage that is most of the rows stays one of its own
    return np.asarray(np.unique(run[stage], return_inverse=True)[1], np.int64)


def join_small_stages(stage: LongArray, least: int) -> LongArray:
    """Join stages with too few rows with the next ones, and renumber them.

    >>> join_small_stages(np.array([0, 1, 1, 2, 3, 3, 4]), 2)
    array([0, 0, 0, 1, 1, 1, 1])
    """
    rows_of = np.bincount(stage)
    number, so_far, numbers = 0, 0, []
    for n_rows in rows_of.tolist():
        numbers.append(number)
        so_far += n_rows
        if so_far >= least:
            number, so_far = number + 1, 0
    joint = np.array(numbers, np.int64)
    if so_far:  # too few are left for one of their own
        joint = np.minimum(joint, max(number - 1, 0))
    return np.asarray(joint[stage], np.int64)


def rank_stages(stage: Any, order: Sequence[Any]) -> LongArray:
    """Return the position of every row's stage in the given order.

    >>> rank_stages(["spring", "autumn"], ["spring", "summer", "autumn"])
    array([0, 2])
    """
    vector = as_vector(stage, "stage")
    entries = vector.tolist() if isinstance(vector, np.ndarray) else vector.to_list()
    place = {label: number for number, label in enumerate(order)}
    if unknown := [entry for entry in dict.fromkeys(entries) if entry not in place]:
        raise DataError(
            f"stage has {listed(unknown)}, and stage_order={listed(order)} does not: put all into the order."
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
    return tuple(_label(array[int(row)]) for row in first)


def _label(entry: Any) -> str:
    if isinstance(entry, float | np.floating) and float(entry).is_integer():
        entry = int(entry)
    if isinstance(entry, date | np.datetime64):
        return str(np.array([entry], "datetime64[s]")[0]).removesuffix("T00:00:00")
    return str(entry)


def _rows_of_stages(stage: LongArray) -> LongArray:
    rows_of = np.bincount(stage)
    if len(rows_of) < 2:
        raise DataError(
            "stage has one value for all rows: the early data need a stage before the last. Leave stage out, "
            "and a random fraction of the rows is early."
        )
    return rows_of
