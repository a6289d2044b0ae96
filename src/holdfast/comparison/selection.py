"""Which of the earlier rows remain to learn from if whole groups are kept apart, and how they differ."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from holdfast.arrays import FloatArray, LongArray
from holdfast.data.schema import Target
from holdfast.data.split.folds import Fold
from holdfast.data.table import Table
from holdfast.errors import DataWarning
from holdfast.text.lists import joined
from holdfast.text.numbers import number_text, percent_text
from holdfast.tree.wording import format_class_names

SMALL_EFFECT = 0.2  # of Cohen's h and d: from here on a difference is called small, and no longer none
CHANCE = 2.0  # standard errors
LEAST_KEPT = 0.5  # of the earlier rows
MOST_CLASSES = 4  # in a sentence


@dataclass(frozen=True)
class Selection:
    """The earlier rows of all folds together, and those of them that are learnt from."""

    target: Target
    n_earlier: int
    n_learnt: int
    n_folds: int
    earlier: FloatArray  # fraction of every class, or the mean, among all earlier rows
    learnt: FloatArray  # the same among those that are learnt from
    deviation: float  # standard deviation of a numeric target among the earlier rows

    @classmethod
    def of(cls, table: Table, earlier: Sequence[Fold], learnt: Sequence[Fold]) -> "Selection":
        """What is learnt from, fold by fold, out of all rows of earlier stages."""
        before, kept = (
            np.concatenate([table.target[fold.training] for fold in each]) for each in (earlier, learnt)
        )
        n_classes = len(table.schema.target.classes)

        def summed(values: LongArray) -> FloatArray:
            if n_classes:
                return np.asarray(np.bincount(values, minlength=n_classes) / len(values), np.float64)
            return np.array([values.mean()])

        deviation = 0.0 if n_classes else float(before.std())
        return cls(
            table.schema.target, len(before), len(kept), len(learnt), summed(before), summed(kept), deviation
        )

    @property
    def effect(self) -> float:
        """How far the target moves, in Cohen's h of a class share (the greatest) or d of a mean."""
        if self.target.is_classes:
            angles = [2 * np.arcsin(np.sqrt(shares)) for shares in (self.learnt, self.earlier)]
            return float(np.abs(angles[0] - angles[1]).max())
        moved = abs(float(self.learnt[0] - self.earlier[0]))
        return moved / self.deviation if self.deviation else 0.0

    @property
    def is_shifted(self) -> bool:
        """True if the rows that remain have another target, by more than chance and by enough to matter."""
        error = 1 / sqrt(self.n_learnt)  # of Cohen's h, and about that of d
        return self.effect > max(SMALL_EFFECT, CHANCE * error)

    @property
    def is_small(self) -> bool:
        """True if less than half of the earlier rows remain."""
        return self.n_learnt < LEAST_KEPT * self.n_earlier


def selection_text(selection: Selection) -> str:
    """How many rows, and which fractions of the classes or which mean, remain, against all earlier rows."""
    folds = f" over {selection.n_folds} folds" if selection.n_folds > 1 else ""
    return (
        f"Whole groups are kept apart: {selection.n_learnt:,} of the {selection.n_earlier:,} earlier rows"
        f"{folds} are learnt from, {_target_text(selection)}."
    )


def report_selection(selection: Selection) -> None:
    """Warn if the rows that remain are few, or others than models will be used on."""
    if not selection.is_shifted and not selection.is_small:
        return
    what = "are not like the others" if selection.is_shifted else "are few"
    warnings.warn(
        f"Of the earlier rows, {selection.n_learnt:,} of {selection.n_earlier:,} remain to learn from with "
        f"whole groups kept apart, and they {what}: {_target_text(selection)}. Without strict_groups "
        "(--strict-groups) the earlier rows of a group that comes back are learnt from too.",
        DataWarning,
        stacklevel=4,
    )


def _target_text(selection: Selection) -> str:
    learnt, earlier = selection.learnt, selection.earlier
    if not selection.target.is_classes:
        return f"mean {number_text(float(learnt[0]), 4)} instead of {number_text(float(earlier[0]), 4)}"
    names = format_class_names(selection.target)
    # Of many classes, those that moved most.
    order = (
        range(len(names))
        if len(names) <= MOST_CLASSES
        else np.argsort(-np.abs(learnt - earlier), kind="stable")
    )
    parts = [f"{names[n]} {percent_text(learnt[n])} instead of {percent_text(earlier[n])}" for n in order]
    return joined(parts, MOST_CLASSES)
