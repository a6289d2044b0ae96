"""A fraction of the rows: groups stay whole, and every stratum gives its part."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.folds import assign_folds, assign_strata, draw_positions, select_below
from holdfast.data.table import Table

FRACTIONS = (0.1, 0.25, 1 / 3, 0.5, 0.67, 0.9)
sizes = st.lists(st.integers(1, 30), min_size=1, max_size=8)
seeds = st.integers(0, 2**32 - 1)


def numbered(sizes_of: list[int]) -> np.ndarray:
    """0 as often as the first size says, then 1, and so on."""
    return np.repeat(np.arange(len(sizes_of)), sizes_of)


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
