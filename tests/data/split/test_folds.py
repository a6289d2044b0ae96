import warnings

import numpy as np
import pytest

from holdfast import DataWarning, Table
from holdfast._arrays import LongArray
from holdfast.data.folds import Fold, draw_folds, draw_stable_folds, read_folds
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
