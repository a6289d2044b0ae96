"""Columns as numbers, with and without the zeros."""

import numpy as np
import pytest

from holdfast import Table
from holdfast._random import Branch
from holdfast.data.row_keys import unit_keys
from holdfast.stable.consensus import teacher as module
from holdfast.stable.consensus.teacher import DesignMatrix, Landmarks, TeacherData, teacher_predictions

STREAM = (0, Branch.TEACHER_LANDMARKS)


@pytest.fixture(scope="module")
def rows() -> list[list[object]]:
    random = np.random.default_rng(0)
    towns = [None if code == 0 else f"town {code:02}" for code in random.integers(0, 40, 300)]
    dose = np.where(random.random(300) < 0.1, np.nan, random.normal(size=300))
    return [list(row) for row in zip(random.normal(size=300), towns, dose, strict=True)]


@pytest.fixture(scope="module")
def classes(rows: list[list[object]]) -> Table:
    return Table.from_arrays(rows, ["yes" if row[0] > 0.3 else "no" for row in rows])


@pytest.fixture
def without_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_DENSE", 0)


def test_a_matrix_without_its_zeros_says_the_same(classes: Table, without_zeros: None) -> None:
    sparse = DesignMatrix.of(classes).compact(classes)
    assert not isinstance(sparse, np.ndarray)
    assert sparse.nnz < 5 * classes.n_rows
    assert (sparse.toarray() == DesignMatrix.of(classes).dense(classes)).all()


def test_small_matrices_and_those_of_numbers_keep_their_zeros(classes: Table) -> None:
    assert isinstance(DesignMatrix.of(classes).compact(classes), np.ndarray)


def test_numbers_are_never_taken_apart(without_zeros: None) -> None:
    table = Table.from_arrays(np.random.default_rng(0).normal(size=(50, 3)), ["a", "b"] * 25)
    assert isinstance(DesignMatrix.of(table).compact(table), np.ndarray)


def test_kernel_features_do_not_depend_on_zeros(classes: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    design, keys = DesignMatrix.of(classes), unit_keys(classes, None)
    dense = design.dense(classes)
    whole = Landmarks.of(dense, keys, STREAM, 3).features(dense)
    monkeypatch.setattr(module, "MOST_DENSE", 0)
    sparse = design.compact(classes)
    other = Landmarks.of(sparse, keys, STREAM, 3).features(sparse)
    np.testing.assert_allclose(other @ other.T, whole @ whole.T, atol=1e-6)


def test_other_rows_are_standardised_by_the_rows_of_the_design(classes: Table) -> None:
    part = np.arange(40)
    design = DesignMatrix.of(classes)
    assert (design.dense(classes.subset(part)) == design.dense(classes)[part]).all()


@pytest.mark.parametrize("teacher", ["linear", "kernel"])
@pytest.mark.parametrize("is_classes", [True, False])
def test_teachers_say_the_same_with_and_without_the_zeros(
    rows: list[list[object]], classes: Table, teacher: str, is_classes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = Table.from_arrays(rows, [float(row[0]) / 10 + 0.5 for row in rows])
    data = TeacherData(classes if is_classes else numbers, None, 1)
    dense = teacher_predictions(data, teacher)
    monkeypatch.setattr(module, "MOST_DENSE", 0)
    np.testing.assert_allclose(teacher_predictions(data, teacher), dense, atol=1e-6)
