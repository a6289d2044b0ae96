"""Rows are split into early, training and held-out ones, in the same share of every class and stage."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.folds import read_groups
from holdfast.data.row_order import canonicalize_rows
from holdfast.data.table import Table
from holdfast.errors import DataError, ParameterError
from holdfast.stable.rows import (
    FOLDS,
    MOST_CROSS_FITTED,
    REPEATS,
    RowMetadata,
    RowSplit,
    draw_test_rows,
    split_rows,
)
from holdfast.stable.settings import StabilitySettings

FRACTIONS = (0.1, 0.25, 1 / 3, 0.5, 0.67, 0.9)


def divide(table: Table, *, stage: Any = None, groups: Any = None, **options: Any) -> RowSplit:
    return split_rows(table, StabilitySettings(**options), RowMetadata(stage, groups))


def numbered(sizes_of: list[int]) -> np.ndarray:
    """As many zeros as the first size, then ones, and so on."""
    return np.repeat(np.arange(len(sizes_of)), sizes_of)


def classes_table(y: Any, seed: int = 0) -> Table:
    """A table with these labels, whose rows are all different."""
    X = np.random.default_rng(seed).normal(size=(len(y), 2))
    return Table.from_arrays(X, list(y), task="classification")


def balance(flags: np.ndarray, kind: np.ndarray) -> dict[int, float]:
    return {value: float(flags[kind == value].mean()) for value in np.unique(kind).tolist()}


@given(st.lists(st.integers(2, 40), min_size=2, max_size=4), st.sampled_from(FRACTIONS), st.integers(0, 999))
def test_classes_and_stages_are_divided_in_the_same_fraction(of_class: list[int], fraction: float, seed: int):
    y = numbered(of_class)
    stage = np.arange(len(y)) % 2
    division = divide(classes_table(y), stage=stage, validation=fraction, seed=seed)
    (held_out,) = division.validation
    for kind in range(len(of_class)):
        for period in range(2):
            inside = (y == kind) & (stage == period)
            # Within one row, and one more where the table would else have nothing on one side.
            slack = 1 if inside.sum() > 2 else 2
            assert abs(np.count_nonzero(held_out & inside) - fraction * inside.sum()) <= slack


@given(st.integers(2, 60), st.integers(2, 7), st.integers(0, 999))
def test_folds_partition_the_rows_three_times(n_rows: int, n_folds: int, seed: int):
    y = np.arange(n_rows) % 2
    division = divide(classes_table(y), validation=n_folds, seed=seed)
    assert division.is_cross_fitted
    times = np.sum(division.validation, axis=0)
    assert times.tolist() == [3] * n_rows
    for training, held_out in zip(division.training, division.validation, strict=True):
        assert held_out.any()
        assert training.any()
        assert (training ^ held_out).all()


def test_folds_have_equal_parts_of_every_class():
    y = np.array([0] * 50 + [1] * 25)
    division = divide(classes_table(y), validation=5, seed=3)
    assert len(division.validation) == 15
    for held_out in division.validation:
        assert (held_out[:50].sum(), held_out[50:].sum()) == (10, 5)


@pytest.mark.parametrize("validation", ["auto", 0.3, 4])
def test_groups_stay_whole_on_every_side(validation: Any):
    random = np.random.default_rng(0)
    groups = read_groups(random.integers(0, 40, 200) * 10**15, 200)
    division = divide(classes_table(random.integers(0, 3, 200)), groups=groups, validation=validation)
    for flags in (division.early, *division.validation):
        shares = balance(flags, groups)
        assert set(shares.values()) == {0.0, 1.0}


def test_early_rows_are_the_fraction_of_every_class():
    y = np.array([0] * 60 + [1] * 20)
    early = divide(classes_table(y), early_fraction=0.25).early
    assert (early[:60].sum(), early[60:].sum()) == (15, 5)


def test_a_stage_decides_which_rows_are_early():
    stage = np.arange(60) // 10
    division = divide(classes_table(np.arange(60) % 2), stage=stage, early_fraction=0.5)
    assert division.early.tolist() == (stage < 3).tolist()
    assert all((rows <= division.early).all() for rows in division.early_training)


def test_few_rows_are_cross_fitted_and_a_third_of_many_is_held_out():
    few, many = (divide(classes_table(np.arange(n_rows) % 2)) for n_rows in (300, MOST_CROSS_FITTED + 1))
    assert len(few.validation) == FOLDS * REPEATS
    assert len(many.validation) == 1
    assert many.validation[0].mean() == pytest.approx(1 / 3, abs=0.001)


def test_the_division_does_not_depend_on_the_order_of_the_rows():
    random = np.random.default_rng(4)
    X, y, groups = random.normal(size=(90, 2)), random.integers(0, 2, 90), random.integers(0, 30, 90)
    found = []
    for order in (np.arange(90), random.permutation(90)):
        table = Table.from_arrays(X[order], y[order], task="classification")
        table, (settled,), _ = canonicalize_rows(table, [groups[order]])
        division = divide(table, groups=settled, seed=5)
        held_out = np.array([division.early, *division.validation])
        found.append({tuple(row) for row in np.column_stack([*table.columns, held_out.T]).tolist()})
    assert found[0] == found[1]


@pytest.mark.parametrize("validation", ["auto", 0.3, 0.999, 0.001, 2, 5])
@pytest.mark.parametrize("seed", range(6))
def test_two_rows_are_one_to_learn_from_and_one_to_choose_by(validation: Any, seed: int):
    division = divide(classes_table("ab"), validation=validation, seed=seed)
    assert division.early.sum() == 1
    for training, held_out in zip(division.training, division.validation, strict=True):
        assert (training.sum(), held_out.sum()) == (1, 1)
    assert all(rows.any() for rows in division.early_training)


@pytest.mark.parametrize("validation", ["auto", 0.3, 5])
def test_one_row_serves_both_ends_and_one_group_raises_an_error(validation: Any):
    division = divide(Table.from_arrays([[1.0]], [0.5]), validation=validation)
    assert len(division.validation) == 1
    assert division.validation[0].all()
    assert division.training[0].all()
    assert division.early_training[0].any()
    with pytest.raises(DataError, match="all of one group"):
        divide(classes_table("abab"), groups=np.zeros(4, np.int64), validation=validation)


def test_a_stage_for_every_day_leaves_the_classes_divided_evenly():
    # 18 of 400 rows are of the rare class; a third of them are 6, give or take one for each of five pools.
    table = classes_table("a" * 382 + "b" * 18)
    for seed in range(20):
        flags = draw_test_rows(table, 1 / 3, stage=np.arange(400) * 7 % 400, groups=None, seed=seed)
        assert 3 <= flags[-18:].sum() <= 9


def test_early_rows_serve_even_if_all_of_them_are_held_out():
    flags = np.array([True, False, False])
    division = RowSplit(early=flags, validation=(flags,))
    assert division.early_training[0].tolist() == [True, False, False]


def test_rows_to_test_by_hold_the_fraction_of_every_class_and_whole_groups():
    y = np.array([0] * 30 + [1] * 60)
    held_out = draw_test_rows(classes_table(y), 1 / 3, stage=None, groups=None, seed=2)
    assert (held_out[:30].sum(), held_out[30:].sum()) == (10, 20)
    groups = np.arange(90) // 3
    held_out = draw_test_rows(classes_table(y), 0.3, stage=None, groups=groups, seed=2)
    assert (held_out[:30].sum(), held_out[30:].sum()) == (9, 18)  # 3 of 10 groups and 6 of 20
    assert set(balance(held_out, groups).values()) == {0.0, 1.0}


@pytest.mark.parametrize("fraction", [0.0, 1.5, True, "half", None, float("nan")])
def test_a_fraction_that_is_none_raises_an_error_by_name(fraction: Any):
    table = classes_table("abab")
    with pytest.raises(ParameterError, match=r"early_fraction=.*between 0 and 1"):
        divide(table, early_fraction=fraction)
    with pytest.raises(ParameterError, match=r"test=.*between 0 and 1"):
        draw_test_rows(table, fraction, stage=None, groups=None, seed=0)


@pytest.mark.parametrize("validation", [0.0, 1, True, "half", None, 2.5, float("nan")])
def test_a_validation_that_is_neither_fraction_nor_folds_raises_an_error(validation: Any):
    with pytest.raises(ParameterError, match="validation="):
        divide(classes_table("abab"), validation=validation)
