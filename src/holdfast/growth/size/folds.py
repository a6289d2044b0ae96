"""The rows that a size is chosen by, in one fixed order, and how they are divided."""

from typing import Any, NamedTuple

from holdfast._check import is_number
from holdfast.arrays import BoolArray, IntArray, LongArray
from holdfast.data.canonical_order import canonical
from holdfast.data.split.folds import draw_folds, read_folds
from holdfast.data.split.row_keys import copies_as_groups
from holdfast.data.table import Table
from holdfast.random_streams import Branch


class Folds(NamedTuple):
    """Rows with the held-out and training rows of each fold."""

    table: Table
    groups: LongArray | None
    held_out: tuple[BoolArray, ...]
    times: tuple[IntArray, ...]  # how often each row is learnt from


def divide_rows(table: Table, groups: LongArray | None, cv: Any, seed: int) -> Folds:
    """Divide rows into folds as `cv` says: a number, a fraction, a splitter or pairs of row numbers."""
    if is_number(cv):
        # In one fixed order, so that the choice does not depend on that of the data.
        table, marks, units = canonical(table, [] if groups is None else [groups])
        groups = copies_as_groups(table, units) if groups is None else marks[0]
        folds = draw_folds(table, groups, cv, (seed, Branch.SIZE_FOLDS))
    else:
        folds = read_folds(table, groups, cv)
    return Folds(table, groups, tuple(fold.held_out for fold in folds), tuple(fold.times for fold in folds))
