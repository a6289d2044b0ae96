"""The folds that all models share: at random, as given, or stage after stage."""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from holdfast._check import is_number
from holdfast.arrays import BoolArray, LongArray
from holdfast.comparison.selection import Selection, report_selection, selection_text
from holdfast.data.split.folds import Fold, draw_stable_folds, read_folds
from holdfast.data.split.groups import find_known_groups, subset_groups
from holdfast.data.split.stages import pool_stages
from holdfast.data.table import Table
from holdfast.errors import DataError, ParameterError
from holdfast.random_streams import Branch


class SharedFolds(NamedTuple):
    """The folds that all models share, and what is to be said of them."""

    folds: tuple[Fold, ...]
    notes: tuple[str, ...] = ()


def shared_folds(
    table: Table,
    cv: Any,
    *,
    stage: LongArray | None = None,
    groups: LongArray | None = None,
    strict_groups: bool = False,
    seed: int = 0,
) -> SharedFolds:
    """The folds of the table in the order of its rows; a row without weight is in none of them.

    Groups are never divided, but by stages: earlier rows of a group are learnt from, and its later rows are
    held out, unless `strict_groups` keeps whole groups apart there too.
    """
    if strict_groups and groups is None:
        raise ParameterError(
            "strict_groups=True (--strict-groups) keeps whole groups apart, and no groups are given: give "
            "groups (--groups), or leave it out."
        )
    counted = np.ones(table.n_rows, np.bool_) if table.weight is None else table.weight > 0
    if stage is None and not is_number(cv):
        return SharedFolds(
            tuple(_without(fold, ~counted, place) for place, fold in enumerate(read_folds(table, groups, cv)))
        )
    if stage is None:
        return SharedFolds(tuple(draw_stable_folds(table, groups, cv, (seed, Branch.COMPARISON_FOLDS))))
    rows = np.flatnonzero(counted)
    own_stage, own_groups = np.unique(stage[counted], return_inverse=True)[1], subset_groups(groups, counted)

    def forward(apart: LongArray | None) -> tuple[Fold, ...]:
        return tuple(fold.spread(rows, table.n_rows) for fold in forward_folds(own_stage, cv, apart))

    if groups is None:
        return SharedFolds(forward(None))
    if not strict_groups:
        return SharedFolds(forward(None), (_known_text(forward(None), groups),))
    folds = forward(own_groups)
    selection = Selection.of(table, forward(None), folds)
    report_selection(selection)
    return SharedFolds(folds, (selection_text(selection),))


def forward_folds(stage: LongArray, cv: Any, apart: LongArray | None = None) -> list[Fold]:
    """Each stage but the first held out, and learnt from all before it.

    Stages that would make more than `cv` folds are pooled, neighbours with neighbours, into `cv` + 1 of about
    the same number of rows. Of groups that are to be kept `apart`, no earlier row is learnt from.

    >>> [fold.times.tolist() for fold in forward_folds(np.array([0, 1, 1, 2]), 5)]
    [[1, 0, 0, 0], [1, 1, 1, 0]]
    """
    if not isinstance(cv, Integral) or isinstance(cv, bool) or int(cv) < 1:
        raise ParameterError(
            f"cv={cv!r} does not go with stage, which makes the folds: give the greatest number of them, "
            "from 1, or leave stage out."
        )
    if stage.min() == stage.max():
        raise DataError("stage has one value for all rows: later stages are predicted by earlier ones.")
    block = pool_stages(stage, int(cv) + 1)
    return [_forward(block, number, apart) for number in range(1, int(block.max()) + 1)]


def _forward(block: LongArray, number: int, apart: LongArray | None) -> Fold:
    held_out = np.asarray(block == number, np.bool_)
    learnt = block < number
    if apart is not None:
        learnt &= ~np.isin(apart, apart[held_out])
        if not learnt.any():
            raise DataError(
                f"All groups before stage {number + 1} of {int(block.max()) + 1} are also in it: kept "
                "strictly apart, nothing is left to learn from. Leave strict_groups out (--strict-groups), "
                "or give other groups."
            )
    return Fold(learnt.astype(np.int32), held_out)


def _known_text(folds: tuple[Fold, ...], groups: LongArray) -> str:
    known = sum(int(find_known_groups(groups, fold.training, fold.held_out).sum()) for fold in folds)
    held_out = sum(int(fold.held_out.sum()) for fold in folds)
    if not known:
        return "No row that is held out belongs to a group that is learnt from."
    return (
        f"{known:,} of the {held_out:,} rows that are held out belong to groups that are learnt from too, by "
        "their earlier rows, as in use."
    )


def _without(fold: Fold, dropped: BoolArray, place: int) -> Fold:
    kept = Fold(np.where(dropped, 0, fold.times).astype(np.int32), fold.held_out & ~dropped)
    if not kept.training.any() or not kept.held_out.any():
        raise DataError(f"All rows to learn from or to score on in place {place} of cv have the weight 0.")
    return kept
