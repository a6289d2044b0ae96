"""Stages are read in their order, and the first of them are early."""

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.folds import (
    find_early_stages,
    find_late_stages,
    join_small_stages,
    list_stage_labels,
    rank_stages,
    read_stage,
)
from holdfast.errors import DataError


def numbered(sizes_of: list[int]) -> np.ndarray:
    """0 as often as the first size says, then 1, and so on."""
    return np.repeat(np.arange(len(sizes_of)), sizes_of)


DAYS = [date(2020, 5, 1), date(2019, 5, 1), date(2021, 5, 1), date(2019, 5, 1)]
ORDER = ["low", "mid", "high"]
LEVELS = ["mid", "low", "high", "low"]
STAGES: dict[str, Any] = {
    "integers": [2020, 2019, 2021, 2019],
    "broken numbers": np.array([0.5, -3.25, 1e9, -3.25]),
    "text": ["b", "a", "c", "a"],
    "numpy days": np.array(DAYS, "datetime64[D]"),
    "numpy nanoseconds": np.array(DAYS, "datetime64[ns]"),
    "pandas dates": pd.Series(pd.to_datetime(DAYS)),
    "pandas dates with a zone": pd.Series(pd.to_datetime(DAYS)).dt.tz_localize("Europe/Berlin"),
    "a pandas index of dates": pd.to_datetime(DAYS),
    "polars dates": pl.Series(DAYS),
    "polars moments": pl.Series(DAYS).cast(pl.Datetime("ms")),
    "Arrow dates": pa.array(DAYS),
    "Python dates": DAYS,
    "pandas objects": pd.Series(DAYS),
    "ordered pandas": pd.Series(pd.Categorical(LEVELS, ORDER, ordered=True)),
    "polars enum": pl.Series(LEVELS, dtype=pl.Enum(ORDER)),
    "nullable pandas": pd.Series([2020, 2019, 2021, 2019], dtype="Int64"),
    "long integers": np.array([2**53 + 1, 2**53, 2**53 + 2, 2**53]),
}


@pytest.mark.parametrize("name", STAGES)
def test_stages_are_numbered_in_their_order(name: str):
    assert read_stage(STAGES[name], 4).tolist() == [1, 0, 2, 0]


@pytest.mark.parametrize(
    ("rows_of", "fraction", "n_late"),
    [
        ([5, 5, 5, 5], 0.25, 1),
        ([5, 5, 5, 5], 0.5, 2),
        ([5, 5, 5, 5], 0.1, 1),
        ([1] * 100, 0.125, 12),
        ([2, 98], 0.1, 1),
    ],
)
def test_the_last_stages_hold_at_most_the_fraction_and_the_last_is_always_late(
    rows_of: list[int], fraction: float, n_late: int
):
    late = find_late_stages(numbered(rows_of), fraction)
    assert late.sum() == sum(rows_of[-n_late:])
    assert late[-rows_of[-1] :].all()


def test_one_stage_has_no_late_rows():
    with pytest.raises(DataError, match="stage has one value for all rows"):
        find_late_stages(np.zeros(5, np.int64), 0.5)


def test_flags_are_two_stages():
    assert read_stage([True, False, True], 3).tolist() == [1, 0, 1]


def test_an_unused_level_of_an_ordered_categorical_is_no_stage():
    stage = pd.Series(pd.Categorical(["high", "low"], ORDER, ordered=True))
    assert read_stage(stage, 2).tolist() == [1, 0]


@pytest.mark.parametrize(
    "stage",
    [
        [2020, None, 2021],
        [2020.0, np.nan, 2021.0],
        ["a", None, "b"],
        np.array(["2020", "NaT", "2021"], "datetime64[D]"),
        pd.Series([pd.Timestamp("2020"), pd.NaT, pd.Timestamp("2021")]),
        pl.Series([DAYS[0], None, DAYS[1]]),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series(pd.Categorical(["low", None, "mid"], ORDER, ordered=True)),
    ],
    ids=lambda stage: type(stage).__module__.split(".")[0],
)
def test_a_missing_stage_raises_an_error_with_its_row(stage: Any):
    with pytest.raises(DataError, match="stage has 1 missing values, first at row 1"):
        read_stage(stage, 3)


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        ([1, 2], "stage has 2 values, and the data has 3 rows"),
        ([[1], [2], [3]], "stage should be a 1d array"),
        ("year", "stage is 'year': give one value for each row"),
        ([1.0, np.inf, 2.0], "stage contains infinity"),
    ],
)
def test_what_is_no_stage_raises_an_error(stage: Any, message: str):
    with pytest.raises(DataError, match=message):
        read_stage(stage, 3)


@pytest.mark.parametrize(
    ("stage", "fraction", "n_early"),
    [
        ([0, 0, 1, 2], 0.5, 1),
        ([0, 1, 2, 3], 0.5, 2),
        ([0, 1, 2, 3], 0.51, 3),
        ([0, 1, 1, 1], 0.25, 1),
        ([0, 1, 1, 1], 0.3, 1),  # both stages would hold it, but the last is never early
        ([0, 0, 0, 1], 0.1, 1),  # the first stage is always early
        ([0, 1, 2], 1 / 3, 1),  # a third of three rows is one row, whatever the rounding
        ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 0.7, 7),
        ([3, 1, 2, 0], 0.99, 3),
    ],
)
def test_early_stages_hold_the_fraction_and_never_the_last(stage: list[int], fraction: float, n_early: int):
    assert find_early_stages(np.array(stage), fraction).tolist() == [value < n_early for value in stage]


def test_one_stage_has_nothing_before_it():
    with pytest.raises(DataError, match="stage has one value"):
        find_early_stages(np.zeros(5, np.int64), 0.5)


def test_stages_written_as_text_are_in_the_order_of_their_numbers():
    assert read_stage(["9", "10", "11", "9"], 4).tolist() == [0, 1, 2, 0]
    assert read_stage(["b", "10", "9"], 3).tolist() == [2, 0, 1]
    assert read_stage([None, date(2024, 1, 2), date(2023, 5, 6)][1:], 2).tolist() == [1, 0]


def test_small_stages_are_joined_with_the_next_and_what_is_left_with_the_last() -> None:
    stage = np.repeat([0, 1, 2, 3, 4], [3, 1, 2, 5, 2])
    assert join_small_stages(stage, 3).tolist() == [0] * 3 + [1] * 3 + [2] * 7
    assert join_small_stages(stage, 1).tolist() == stage.tolist()
    assert join_small_stages(stage, 100).tolist() == [0] * 13


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(1, 12))
def test_joined_stages_are_runs_of_neighbours_that_are_large_enough(sizes: list[int], least: int) -> None:
    stage = np.repeat(np.arange(len(sizes)), sizes)
    joint = join_small_stages(stage, least)
    assert (np.diff(joint) >= 0).all()
    assert (np.diff(joint)[np.diff(stage) == 0] == 0).all()
    n_rows = np.bincount(joint)
    assert (n_rows >= least).all() or len(n_rows) == 1


def test_stages_are_called_what_the_data_calls_them() -> None:
    days = np.array(["2001-02-03", "2001-02-03T06:00"], "datetime64[ns]")
    assert list_stage_labels(days, np.array([0, 1])) == ("2001-02-03", "2001-02-03T06:00:00")
    assert list_stage_labels(pd.Series([2.0, 1.0]), np.array([1, 0])) == ("1", "2")
    assert list_stage_labels([date(2001, 2, 3)], np.array([0])) == ("2001-02-03",)


def test_an_order_that_lacks_a_stage_is_refused() -> None:
    with pytest.raises(DataError, match="stage has 'late', which stage_order='early' lacks"):
        rank_stages(["early", "late"], ["early"])
