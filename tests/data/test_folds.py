"""Folds, groups and stages, and the positions that they are drawn by."""

import warnings
from collections import Counter
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import DataWarning, Table
from holdfast._arrays import LongArray
from holdfast.data.folds import (
    Fold,
    assign_folds,
    assign_strata,
    draw_folds,
    draw_positions,
    draw_stable_folds,
    find_early_stages,
    find_late_stages,
    join_small_stages,
    list_stage_labels,
    rank_stages,
    read_folds,
    read_groups,
    read_stage,
    select_below,
)
from holdfast.errors import DataError
from holdfast.stable.rows import RowMetadata, split_rows
from holdfast.stable.settings import StabilitySettings

SEED = (0, 1)


def rows_of(sizes: list[int]) -> tuple[Table, LongArray]:
    """Groups of these sizes, classes in turn."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    n_rows = len(groups)
    return Table.from_arrays(np.arange(float(n_rows))[:, None], ["no", "yes"] * (n_rows // 2)), groups


# -- one kind ------------------------------------------------------------------------------------------------


def test_rows_to_learn_from_and_rows_held_out_are_flags() -> None:
    table, groups = rows_of([2] * 10)
    folds = [
        *draw_folds(table, None, 4, SEED),
        *draw_folds(table, groups, 0.3, SEED),
        *draw_stable_folds(table, groups, 4, SEED),
        *read_folds(table, None, [(range(15), range(15, 20))]),
    ]
    for fold in folds:
        assert fold.training.dtype == fold.held_out.dtype == np.bool_
        assert (fold.training ^ fold.held_out).all()
        assert table.subset(fold.training).n_rows + table.subset(fold.held_out).n_rows == 20


def test_a_row_named_twice_is_flagged_once_and_counted_twice() -> None:
    table, _ = rows_of([2] * 3)
    (fold,) = read_folds(table, None, [([0, 3, 3], [5])])
    assert np.flatnonzero(fold.training).tolist() == [0, 3]
    assert fold.times.tolist() == [1, 0, 0, 2, 0, 0]


def test_a_fold_of_some_rows_is_spread_over_all() -> None:
    fold = Fold(np.array([1, 2, 0], np.int32), np.array([False, False, True])).spread(np.array([4, 0, 2]), 5)
    assert fold.times.tolist() == [2, 0, 0, 0, 1]
    assert fold.training.tolist() == [True, False, False, False, True]
    assert fold.held_out.tolist() == [False, False, True, False, False]


# -- fewer than asked ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("draw", [draw_folds, draw_stable_folds])
def test_fewer_folds_than_asked_for_are_reported_with_the_reason(draw) -> None:  # type: ignore[no-untyped-def]
    table, groups = rows_of([80, 5, 5, 5, 5])
    with pytest.warns(DataWarning, match=r"only \d of 5 folds can be made") as said:
        folds = draw(table, groups, 5, SEED)
    assert len(folds) < 5
    assert f"only {len(folds)} of 5 folds can be made" in str(said[0].message)
    assert "the largest of 5 groups has 80 of the 100 rows" in str(said[0].message)
    table, groups = rows_of([10, 10, 10])
    with pytest.warns(DataWarning, match=r"of 10 folds can be made: .* there are 3 groups"):
        draw(table, groups, 10, SEED)


def test_as_many_folds_as_asked_for_need_no_word() -> None:
    table, groups = rows_of([4] * 25)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(draw_folds(table, groups, 5, SEED)) == 5
        assert len(draw_folds(table, None, 5, SEED)) == 5
        assert len(draw_folds(table, groups, 0.2, SEED)) == 1
        split_rows(table, StabilitySettings(method="bootstrap", validation=5), RowMetadata(groups=groups))
        table, groups = rows_of([80, 5, 5, 5, 5])
        split_rows(
            table, StabilitySettings(method="bootstrap"), RowMetadata(groups=groups)
        )  # none were asked for


def test_fewer_validation_folds_than_asked_for_are_reported_once() -> None:
    table, groups = rows_of([80, 5, 5, 5, 5])
    with pytest.warns(DataWarning, match="of 5 folds can be made") as said:
        split_rows(table, StabilitySettings(method="bootstrap", validation=5), RowMetadata(groups=groups))
    assert len(said) == 1


# -- groups --------------------------------------------------------------------------------------------------


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
    first, second, third = read_groups(groups, 3)
    assert first == third != second


def test_the_key_of_a_group_is_that_of_its_label_alone():
    for labels in (["p2", "p1", "p3", "p2"], [7, 5, 9, 7], [1.5, 0.5, 2.5, 1.5]):
        whole = read_groups(labels, 4)
        assert whole[[0, 2]].tolist() == read_groups([labels[0], labels[2]], 2).tolist()
    numbers = np.array([7, -5, 2**62])
    for alike in (
        numbers.tolist(),
        pd.Series(numbers),
        pl.Series(numbers),
        pd.Series(numbers, dtype="Int64"),
    ):
        assert read_groups(alike, 3).tolist() == read_groups(numbers, 3).tolist()


def test_a_missing_group_raises_an_error():
    with pytest.raises(DataError, match="groups has 1 missing values, first at row 2"):
        read_groups(["a", "b", None], 3)


# -- stages --------------------------------------------------------------------------------------------------


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


# -- row positions -------------------------------------------------------------------------------------------


FRACTIONS = (0.1, 0.25, 1 / 3, 0.5, 0.67, 0.9)
sizes = st.lists(st.integers(1, 30), min_size=1, max_size=8)
seeds = st.integers(0, 2**32 - 1)


def own_keys(n_rows: int) -> np.ndarray:
    """A key for every row."""
    return np.arange(n_rows, dtype=np.uint64)


def classes_table(y: Any, seed: int = 0) -> Table:
    """A table with these labels, whose rows are all different."""
    X = np.random.default_rng(seed).normal(size=(len(y), 2))
    return Table.from_arrays(X, list(y), task="classification")


# -- positions -----------------------------------------------------------------------------------------------


@given(sizes, st.sampled_from(FRACTIONS), seeds, st.randoms())
def test_every_stratum_gives_its_fraction_to_within_one_row(
    of_stratum: list[int], fraction: float, seed: int, random: Any
):
    strata = numbered(of_stratum)
    strata = strata[random.sample(range(len(strata)), len(strata))]
    place = draw_positions(strata, own_keys(len(strata)), (seed, 1))
    assert ((place >= 0) & (place < 1)).all()
    for stratum, size in enumerate(of_stratum):
        taken = np.count_nonzero(place[strata == stratum] < fraction)
        assert abs(taken - fraction * size) <= 1


@given(sizes, st.sampled_from(FRACTIONS), seeds)
def test_rows_of_a_group_have_one_position(of_group: list[int], fraction: float, seed: int):
    groups = numbered(of_group)
    place = draw_positions(np.zeros(len(groups), np.int64), groups.astype(np.uint64), (seed,))
    assert all(len(set(place[groups == group])) == 1 for group in range(len(of_group)))
    # One stratum: the fraction is met to within the largest group.
    assert abs(np.count_nonzero(place < fraction) - fraction * len(groups)) <= max(of_group)


def test_many_tiny_strata_do_not_all_give_to_the_same_side():
    # 400 strata of one row: a quarter of the rows, give or take a few, are below a quarter.
    place = draw_positions(np.arange(400), own_keys(400), (0,))
    assert 70 <= np.count_nonzero(place < 0.25) <= 130
    place = draw_positions(numbered([3] * 200), own_keys(600), (1,))
    assert 160 <= np.count_nonzero(place < 1 / 3) <= 240


def test_other_seeds_and_branches_give_other_positions():
    strata = numbered([20, 20])
    streams = ((0, 1), (0, 2), (1, 1), (0, 1, 0))
    drawn = [draw_positions(strata, own_keys(40), stream).tolist() for stream in streams]
    assert len({tuple(place) for place in drawn}) == 4
    assert draw_positions(strata, own_keys(40), (0, 1)).tolist() == drawn[0]


def test_a_group_of_two_strata_counts_for_the_lowest():
    strata, groups = np.array([1, 0, 1, 1]), np.array([0, 0, 1, 2])
    place = draw_positions(strata, groups.astype(np.uint64), (3,))
    # Group 0 alone is stratum 0; groups 1 and 2 share stratum 1 and stand half a circle apart.
    assert (place[2] - place[3]) % 1.0 == pytest.approx(0.5)


def test_rows_that_stay_hardly_move():
    strata, keys = numbered([300, 700]), own_keys(1_000)
    stay = np.random.default_rng(0).random(1_000) < 0.98
    before, after = (
        draw_positions(strata, keys, (0,))[stay],
        draw_positions(strata[stay], keys[stay], (0,)),
    )
    moved = np.abs(before - after)
    assert np.minimum(moved, 1 - moved).max() < 0.02
    assert np.count_nonzero(assign_folds(before, 5) != assign_folds(after, 5)) < 30
    # In whatever order they come, and whichever stratum is the rarer.
    turned = draw_positions(1 - strata[::-1], keys[::-1], (0,))[::-1]
    assert (turned == draw_positions(strata, keys, (0,))).all()


def test_a_row_alone_in_its_stratum_keeps_its_position():
    keys = own_keys(100)
    whole = draw_positions(np.arange(100), keys, (0,))
    stay = np.arange(100) % 3 != 0
    assert (draw_positions(np.arange(100)[stay], keys[stay], (0,)) == whole[stay]).all()


# -- strata --------------------------------------------------------------------------------------------------


def test_strata_are_classes_with_the_rarest_first():
    assert assign_strata(classes_table("aaabbc")).tolist() == [2, 2, 2, 1, 1, 0]


def test_stages_divide_the_classes():
    strata = assign_strata(classes_table("aabb"), np.array([0, 1, 0, 0]))
    assert Counter(strata.tolist()) == {0: 1, 1: 1, 2: 2}
    assert strata[2] == strata[3] == 2


def test_numbers_are_divided_into_ten_bins_of_one_size():
    y = np.random.default_rng(0).permutation(200) / 7
    strata = assign_strata(Table.from_arrays(np.arange(200.0)[:, None], y))
    assert sorted(Counter(strata.tolist()).values()) == [20] * 10
    for stratum in range(10):
        inside = y[strata == stratum]
        assert np.count_nonzero((y >= inside.min()) & (y <= inside.max())) == 20


def test_few_numbers_are_one_stratum():
    assert set(assign_strata(Table.from_arrays([[1.0], [2.0], [3.0]], [0.5, 1.5, 2.5])).tolist()) == {0}


def test_below_takes_at_least_the_first_and_never_all():
    place = np.array([0.4, 0.6, 0.8])
    assert select_below(place, 0.5).tolist() == [True, False, False]
    assert select_below(place, 0.01).tolist() == [True, False, False]
    assert select_below(place, 0.99).tolist() == [True, True, False]
    assert select_below(np.array([0.3]), 0.5).tolist() == [True]
