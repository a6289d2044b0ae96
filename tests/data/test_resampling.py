"""Samples of rows and groups, drawn by their keys."""

import numpy as np
import pytest
from scipy import stats

from holdfast.data.resampling import Units, count_groups, draw_sample, draw_samples
from holdfast.data.row_keys import STEP, draw_poisson_counts, draw_uniforms, row_keys, select_lowest
from holdfast.data.table import Table
from reference.resampling import draw_counts

KEYS = row_keys(Table.from_arrays(np.arange(200.0)[:, None], np.arange(200) % 2))
ROWS = Units(KEYS)
GROUPS = Units(np.repeat(KEYS[:40], 5), are_groups=True)
ONES = np.ones(200, np.int32)


def test_rows_of_one_each_are_drawn_by_their_keys():
    assert draw_counts(ONES, ROWS, (0, 1)).tolist() == draw_poisson_counts(KEYS, (0, 1)).tolist()
    some = draw_counts(ONES, ROWS, (0, 1), n_draws=50, replacement=False)
    assert some.tolist() == select_lowest(KEYS, (0, 1), 50).tolist()


def test_a_row_that_stands_for_several_is_drawn_for_each_of_them():
    repeats = np.arange(200).astype(np.int32) % 4
    counts = draw_counts(repeats, ROWS, (0, 1))
    for row in range(0, 200, 7):
        copies = KEYS[row] + np.arange(repeats[row], dtype=np.uint64) * STEP
        by_hand = (
            draw_poisson_counts(copies, (0, 1))
            if draw_uniforms(copies, (0, 1)).max(initial=0) > np.exp(-1)
            else [0]
        )
        assert counts[row] == sum(by_hand)


def test_rows_that_stand_for_none_are_never_drawn_and_change_nothing():
    there = np.arange(200) % 3 > 0
    for units in (ROWS, GROUPS):
        part = Units(units.keys[there], units.are_groups)
        for settings in ({}, {"n_draws": 20}, {"n_draws": 20, "replacement": False}):
            counts = draw_counts(there.astype(np.int32), units, (3,), **settings)
            assert counts[~there].sum() == 0
            assert counts[there].tolist() == draw_counts(ONES[there], part, (3,), **settings).tolist()


@pytest.mark.parametrize("repeats", [ONES, ONES * (np.arange(200) % 3 > 0), ONES * 2])
@pytest.mark.parametrize("units", [ROWS, GROUPS])
@pytest.mark.parametrize("settings", [{}, {"n_draws": 30}, {"n_draws": 30, "replacement": False}])
def test_samples_drawn_together_are_those_drawn_one_by_one(repeats, units, settings):
    repeats, streams = repeats.astype(np.int32), [(0, 1), (0, 2), (7,)]
    for draws, stream in zip(draw_samples(repeats, units, streams, **settings), streams, strict=True):
        for together, alone in zip(draws, draw_sample(repeats, units, stream, **settings), strict=True):
            assert (together.dtype, together.tolist()) == (alone.dtype, alone.tolist())


def test_groups_are_drawn_whole_and_counted_as_one():
    repeats = (np.arange(200) % 3).astype(np.int32)
    counts = draw_counts(repeats, GROUPS, (0, 1))
    times = draw_poisson_counts(GROUPS.keys, (0, 1))
    assert counts.tolist() == (repeats * times).tolist()
    assert len({*times.tolist()}) > 2
    some = draw_counts(ONES, GROUPS, (0, 1), n_draws=8, replacement=False)
    assert some.reshape(40, 5).sum(axis=1).tolist().count(5) == 8
    assert some.sum() == 40


@pytest.mark.parametrize("n_draws", [None, 5_000, 3])
def test_many_repetitions_have_the_counts_that_scipy_finds(n_draws: int | None):
    repeats = (np.arange(200) + 1).astype(np.int32)  # 20,100 together: more than 16 for each row
    rate = (20_100 if n_draws is None else n_draws) / 20_100
    drawn = draw_uniforms(KEYS, (0, 1))
    counts = draw_counts(repeats, ROWS, (0, 1), n_draws=n_draws)
    assert counts.tolist() == stats.poisson.ppf(drawn, repeats * rate).tolist()
    if n_draws is not None:
        counts = draw_counts(repeats, ROWS, (0, 1), n_draws=n_draws, replacement=False)
        assert counts.tolist() == stats.binom.ppf(drawn, repeats, rate).tolist()


def test_of_two_units_something_is_always_drawn():
    for index in range(200):
        assert draw_counts(ONES[:2], Units(KEYS[:2]), (0, index)).sum() > 0
        assert draw_counts(ONES[:5], Units(GROUPS.keys[:5], True), (0, index)).min() > 0
        assert draw_counts(ONES[:1] * 99, Units(KEYS[:1]), (0, index), n_draws=1).sum() > 0


def test_without_replacement_all_rows_are_taken_once():
    assert draw_counts(ONES * 3, ROWS, (0,), replacement=False).tolist() == [3] * 200
    assert draw_counts(ONES, ROWS, (0,), n_draws=200, replacement=False).tolist() == [1] * 200


def test_groups_with_a_row_that_counts_are_counted():
    assert count_groups(np.array([0, 1, 0, 0], np.int32), np.array([9, 9, 2, 5])) == 1
