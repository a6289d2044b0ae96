"""Which rows are early, held out or learnt from: groups stay whole, and every stratum gives its fraction."""

from collections import Counter
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.data.split.fractions import (
    below,
    early_stages,
    late_stages,
    places,
    read_groups,
    read_stage,
    strata_of,
)
from holdfast.data.table import Table
from holdfast.errors import DataError

SHARES = (0.1, 0.25, 1 / 3, 0.5, 0.67, 0.9)
sizes = st.lists(st.integers(1, 30), min_size=1, max_size=8)
seeds = st.integers(0, 2**32 - 1)


def numbered(sizes_of: list[int]) -> np.ndarray:
    """0 as often as the first size says, then 1, and so on."""
    return np.repeat(np.arange(len(sizes_of)), sizes_of)


def classes_table(y: Any, seed: int = 0) -> Table:
    """A table with these labels, whose rows are all different."""
    X = np.random.default_rng(seed).normal(size=(len(y), 2))
    return Table.from_arrays(X, list(y), task="classification")


def balance(flags: np.ndarray, kind: np.ndarray) -> dict[int, float]:
    return {value: float(flags[kind == value].mean()) for value in np.unique(kind).tolist()}


# -- places -----------------------------------------------------------------------------------------------


@settings(max_examples=80)
@given(sizes, st.sampled_from(SHARES), seeds, st.randoms())
def test_every_stratum_gives_its_share_to_within_one_row(
    of_stratum: list[int], fraction: float, seed: int, random: Any
):
    strata = numbered(of_stratum)
    strata = strata[random.sample(range(len(strata)), len(strata))]
    place = places(strata, None, (seed, 1))
    assert ((place >= 0) & (place < 1)).all()
    for stratum, size in enumerate(of_stratum):
        taken = np.count_nonzero(place[strata == stratum] < fraction)
        assert abs(taken - fraction * size) <= 1


@settings(max_examples=60)
@given(sizes, st.sampled_from(SHARES), seeds)
def test_rows_of_a_group_stand_at_one_place(of_group: list[int], fraction: float, seed: int):
    groups = numbered(of_group)
    place = places(np.zeros(len(groups), np.int64), groups, (seed,))
    assert all(len(set(place[groups == group])) == 1 for group in range(len(of_group)))
    # One stratum: the fraction is met to within the largest group.
    assert abs(np.count_nonzero(place < fraction) - fraction * len(groups)) <= max(of_group)


def test_many_tiny_strata_do_not_all_give_to_the_same_side():
    # 400 strata of one row: a quarter of the rows, give or take a few, are below a quarter.
    place = places(np.arange(400), None, (0,))
    assert 70 <= np.count_nonzero(place < 0.25) <= 130
    place = places(numbered([3] * 200), None, (1,))
    assert 160 <= np.count_nonzero(place < 1 / 3) <= 240


def test_other_seeds_and_branches_give_other_places():
    strata = numbered([20, 20])
    drawn = [places(strata, None, seed).tolist() for seed in ((0, 1), (0, 2), (1, 1), (0, 1, 0))]
    assert len({tuple(place) for place in drawn}) == 4
    assert places(strata, None, (0, 1)).tolist() == drawn[0]


def test_a_group_of_two_strata_counts_for_the_lowest():
    strata, groups = np.array([1, 0, 1, 1]), np.array([0, 0, 1, 2])
    place = places(strata, groups, (3,))
    # Group 0 alone is stratum 0; groups 1 and 2 fraction stratum 1 and stand half a circle apart.
    assert (place[2] - place[3]) % 1.0 == pytest.approx(0.5)


# -- strata -----------------------------------------------------------------------------------------------


def test_strata_are_classes_with_the_rarest_first():
    assert strata_of(classes_table("aaabbc")).tolist() == [2, 2, 2, 1, 1, 0]


def test_stages_divide_the_classes():
    strata = strata_of(classes_table("aabb"), np.array([0, 1, 0, 0]))
    assert Counter(strata.tolist()) == {0: 1, 1: 1, 2: 2}
    assert strata[2] == strata[3] == 2


def test_numbers_are_divided_into_ten_bins_of_one_size():
    y = np.random.default_rng(0).permutation(200) / 7
    strata = strata_of(Table.from_arrays(np.arange(200.0)[:, None], y))
    assert sorted(Counter(strata.tolist()).values()) == [20] * 10
    for stratum in range(10):
        inside = y[strata == stratum]
        assert np.count_nonzero((y >= inside.min()) & (y <= inside.max())) == 20


def test_few_numbers_are_one_stratum():
    assert set(strata_of(Table.from_arrays([[1.0], [2.0], [3.0]], [0.5, 1.5, 2.5])).tolist()) == {0}


# -- stages -----------------------------------------------------------------------------------------------

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
def test_the_last_stages_hold_at_most_the_share_and_the_last_is_always_late(
    rows_of: list[int], fraction: float, n_late: int
):
    late = late_stages(numbered(rows_of), fraction)
    assert late.sum() == sum(rows_of[-n_late:])
    assert late[-rows_of[-1] :].all()


def test_one_stage_has_no_late_rows():
    with pytest.raises(DataError, match="stage has one value for all rows"):
        late_stages(np.zeros(5, np.int64), 0.5)


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
def test_a_missing_stage_is_refused_with_its_row(stage: Any):
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
def test_what_is_no_stage_is_refused(stage: Any, message: str):
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
def test_early_stages_hold_the_share_and_never_the_last(stage: list[int], fraction: float, n_early: int):
    assert early_stages(np.array(stage), fraction).tolist() == [value < n_early for value in stage]


def test_one_stage_has_nothing_before_it():
    with pytest.raises(DataError, match="stage has one value"):
        early_stages(np.zeros(5, np.int64), 0.5)


# -- groups -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "groups",
    [
        np.array([2**53 + 1, 2**53, 2**53 + 1]),
        np.array([2**64 - 1, 2**64 - 2, 2**64 - 1], np.uint64),
        [2**70 + 1, 2**70, 2**70 + 1],
        pd.Series([2**60 + 1, 2**60, 2**60 + 1], dtype="Int64"),
        pl.Series([2**60 + 1, 2**60, 2**60 + 1]),
        ["p2", "p1", "p2"],
        [1.5, -2.0, 1.5],
        pd.Series(pd.Categorical(["b", "a", "b"])),
    ],
    ids=lambda groups: type(groups).__module__.split(".")[0],
)
def test_long_numbers_and_texts_of_groups_do_not_run_together(groups: Any):
    assert read_groups(groups, 3).tolist() == [1, 0, 1]


def test_a_missing_group_is_refused():
    with pytest.raises(DataError, match="groups has 1 missing values, first at row 2"):
        read_groups(["a", "b", None], 3)


def test_stages_written_as_text_are_in_the_order_of_their_numbers():
    assert read_stage(["9", "10", "11", "9"], 4).tolist() == [0, 1, 2, 0]
    assert read_stage(["b", "10", "9"], 3).tolist() == [2, 0, 1]
    assert read_stage([None, date(2024, 1, 2), date(2023, 5, 6)][1:], 2).tolist() == [1, 0]


def test_below_takes_at_least_the_first_and_never_all():
    place = np.array([0.4, 0.6, 0.8])
    assert below(place, 0.5).tolist() == [True, False, False]
    assert below(place, 0.01).tolist() == [True, False, False]
    assert below(place, 0.99).tolist() == [True, True, False]
    assert below(np.array([0.3]), 0.5).tolist() == [True]
