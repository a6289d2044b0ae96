"""The rows that a chosen tree is tested by: the last stages, or random rows."""

import warnings
from typing import NamedTuple

import numpy as np

from holdfast.arrays import BoolArray, LongArray
from holdfast.data.canonical_order import fixed_order, unit_numbers
from holdfast.data.split.row_keys import copies_as_groups
from holdfast.data.split.stages import late_stages
from holdfast.data.table import Table
from holdfast.errors import DataError, DataWarning, ParameterError
from holdfast.runs.rows import Rows
from holdfast.scoring.enough import describe_few_to_learn, has_enough_rows
from holdfast.stability.division import hold_out
from holdfast.text.lines import printable
from holdfast.text.lists import joined
from holdfast.tree.wording import format_class_names

LEAST_LATE = 100  # rows of the last stages
MIN_TRAINED = 0.5  # of the rows; with fewer, a note says how to learn from more
MOST_NAMED = 4  # stages or classes in a sentence


class HeldOut(NamedTuple):
    """The rows to test by."""

    test: BoolArray
    earlier: BoolArray  # random rows of earlier stages, besides
    stages: tuple[str, ...] = ()  # of the test rows, if they are held out as a whole


def choose_test_rows(whole: Table, rows: Rows, fraction: float, kind: str | None, seed: int) -> HeldOut:
    """Rows that nothing may see that grows or chooses a tree.

    The `kind` is "forward" or "random"; without it, the last stages if there are any, else random rows.
    """
    if few := describe_few_to_learn(whole.schema.target, whole.target):
        warnings.warn(few, DataWarning, stacklevel=2)
    none = np.zeros(whole.n_rows, np.bool_)
    if kind == "forward" and rows.stage is None:
        raise ParameterError(
            "test_rows='forward' holds out the last stages: say by stage which column has them."
        )
    if fraction == 0:
        return HeldOut(none, none)
    if rows.stage is None or kind == "random":
        is_test = _draw(whole, rows, fraction, seed)
        if is_test.all():
            units = f"{whole.n_rows} rows" if rows.groups is None else f"{len(np.unique(rows.groups))} groups"
            raise DataError(f"With test rows held out, none of the {units} is left to train on: set test=0.")
        return HeldOut(is_test, none)
    return _forward(whole, rows, rows.stage, fraction, seed)


def _forward(whole: Table, rows: Rows, stage: LongArray, fraction: float, seed: int) -> HeldOut:
    """The last stages, at most half of the test rows if stages are small, and random rows of those before.

    The last stage is held out as a whole: a tree that has learnt from a part of it says nothing of going
    forward. Earlier rows of the same group are learnt from, as they will be in use.
    """
    is_late = _enough_stages(whole, stage, late_stages(stage, fraction / 2), fraction)
    stages = tuple(rows.stages[number] for number in np.unique(stage[is_late]).tolist())
    before, early = whole.subset(~is_late), rows.subset(~is_late)
    earlier = np.zeros(whole.n_rows, np.bool_)
    drawn = _draw(before, early, fraction / 2, seed)
    if not drawn.all():
        earlier[~is_late] = drawn
    is_test = is_late & ~_of_new_class(whole, is_late, stages)
    if (~(is_test | earlier)).sum() < MIN_TRAINED * whole.n_rows:
        _report_few_to_train(stages, int(is_test.sum()), int(earlier.sum()), whole.n_rows)
    return HeldOut(is_test, earlier, stages)


def _enough_stages(whole: Table, stage: LongArray, is_late: BoolArray, fraction: float) -> BoolArray:
    """The late rows and, until they can judge a tree, those of the stages before.

    Enough are `LEAST_LATE` rows, of a small table half of the test rows, with enough events. Stages that
    would leave less than half of the rows to learn from are not taken.
    """
    least = min(LEAST_LATE, fraction / 2 * whole.n_rows * (1 - 1e-12))
    late = is_late
    while late.sum() < least or not has_enough_rows(whole.schema.target, whole.target[late]):
        first = int(stage[late].min())
        late = np.asarray(stage >= first - 1, np.bool_)
        if first < 2 or late.sum() > (1 - MIN_TRAINED) * whole.n_rows:
            return is_late
    return late


def _of_new_class(whole: Table, is_late: BoolArray, stages: tuple[str, ...]) -> BoolArray:
    """The late rows of classes that no earlier row has: to test by them would mean nothing."""
    target = whole.schema.target
    if not target.is_classes:
        return np.zeros(whole.n_rows, np.bool_)
    known = np.bincount(whole.target[~is_late], minlength=len(target.classes)) > 0
    is_new = np.asarray(~known[whole.target], np.bool_)
    if (is_new == is_late).all():
        raise DataError(
            f"No class of the last stages, {_named(stages)}, is known from those before: nothing can be "
            "tested forward. Set test_rows='random', or test=0."
        )
    if is_new.any():
        names = [format_class_names(target)[place] for place in np.flatnonzero(~known)]
        warnings.warn(
            f"{is_new.sum()} rows have a class, {joined(names, MOST_NAMED)}, that no stage before "
            f"{_named(stages[:1])} has: they are learnt from, and not tested by.",
            DataWarning,
            stacklevel=4,
        )
    return is_new


def _report_few_to_train(stages: tuple[str, ...], n_test: int, n_earlier: int, n_rows: int) -> None:
    warnings.warn(
        f"The test holds out stage {_named(stages)}, {n_test:,} rows, and {n_earlier:,} random rows of the "
        f"stages before: the tree learns from the other {n_rows - n_test - n_earlier:,} of {n_rows:,} rows. "
        "test_rows='random' tests by rows of all stages, and test=0 learns from all rows.",
        DataWarning,
        stacklevel=5,
    )


def _named(stages: tuple[str, ...]) -> str:
    return joined([printable(stage) for stage in stages], MOST_NAMED)


def _draw(whole: Table, rows: Rows, fraction: float, seed: int) -> BoolArray:
    """Random rows to test by: whole groups, in whatever order the rows stand in the file."""
    labels = [label for label in (rows.stage, rows.groups) if label is not None]
    order = fixed_order(whole, labels)
    ordered, labels = whole.subset(order), [label[order] for label in labels]
    copies = None if rows.groups is not None else unit_numbers(ordered, labels)
    flags = hold_out(
        ordered,
        fraction,
        stage=None if rows.stage is None else labels[0],
        groups=labels[-1] if rows.groups is not None else copies_as_groups(ordered, copies),
        seed=seed,
    )
    is_test = np.empty(whole.n_rows, np.bool_)
    is_test[order] = flags
    return np.asarray(is_test & ~_rows_of_rare_classes(whole, rows, is_test), np.bool_)


def _rows_of_rare_classes(whole: Table, rows: Rows, is_test: BoolArray) -> BoolArray:
    """The rows of classes that would have no other row to train on, with all of their groups."""
    n_classes = len(whole.schema.target.classes)
    if not n_classes or is_test.all():
        return np.zeros(whole.n_rows, np.bool_)
    known = np.bincount(whole.target[~is_test], minlength=n_classes) > 0
    needed = np.asarray(~known[whole.target], np.bool_)
    return needed if rows.groups is None else np.isin(rows.groups, rows.groups[needed])
