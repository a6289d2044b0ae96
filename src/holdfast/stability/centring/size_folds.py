"""Folds that choose the size of a centred tree."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from holdfast.arrays import LongArray
from holdfast.backends.tasks import run_all
from holdfast.data.split.folds import Fold, drawn_folds
from holdfast.data.split.groups import of_rows
from holdfast.data.table import Table
from holdfast.random_streams import Branch
from holdfast.scoring.differences import score_difference
from holdfast.scoring.metric import Metric, Score, TrueValues
from holdfast.scoring.predictions import predictions_for
from holdfast.scoring.unscored_folds import report_unscored_folds
from holdfast.stability.centring.names import MOST_LEAVES
from holdfast.stability.centring.size_choice import SizeChoice
from holdfast.stability.rows import PreparedRows
from holdfast.stability.settings import StabilitySettings
from holdfast.tree.tree import Tree

# Trees of 24 leaves are searched for ten times as long as those of 12, and hardly read at a glance.
SIZES = (4, 8, MOST_LEAVES, 16)
N_FOLDS = 5

Students = Callable[[Sequence[int], Table, LongArray | None], list[Tree]]


class _FoldScores(NamedTuple):
    """What one fold says of every size."""

    scores: list[Score]
    differences: list[Score]  # to the usual size


def choose_size(
    rows: PreparedRows, metric: Metric, students: Students, settings: StabilitySettings
) -> SizeChoice:
    """Students of every size, grown without each fold in turn, and how they do on it.

    `students(sizes, table, groups)` grows one of each size; the teacher learns anew without each fold. They
    stand for the centred trees of as many leaves: to search for these on every fold would take far longer,
    and the differences between sizes are alike.
    """
    table, groups = rows.table, rows.groups
    folds = drawn_folds(table, groups, N_FOLDS, (settings.seed, Branch.CENTRED_SIZE_FOLDS))
    telling = [fold for fold in folds if _can_tell(table, fold, metric)]
    if len(np.unique(table.target)) < metric.least_values:  # nothing can be told of any size
        telling = folds
    if len(telling) < len(folds):
        report_unscored_folds(metric, len(telling), len(folds))
    # One after the other: the teacher has use for all cores.
    progress = "Sizes" if settings.verbose else ""
    scores_of = partial(_fold_scores, table, groups, metric, students)
    found = run_all(scores_of, telling, 1, progress=progress, kept="Sizes")
    scores = np.array([[score.value for score in each.scores] for each in found]).T
    by_size = list(zip(*(each.differences for each in found), strict=True))
    return SizeChoice(
        sizes=np.array(SIZES),
        scores=scores,
        error=np.array([_mean_error(each) for each in zip(*(each.scores for each in found), strict=True)]),
        difference=np.array([np.mean([score.value for score in each]) for each in by_size]),
        difference_error=np.array([_mean_error(each) for each in by_size]),
        metric=metric,
    )


def _can_tell(table: Table, fold: Fold, metric: Metric) -> bool:
    return len(np.unique(table.target[fold.held_out])) >= metric.least_values


def _fold_scores(
    table: Table, groups: LongArray | None, metric: Metric, students: Students, fold: Fold
) -> _FoldScores:
    """The scores of students of all sizes that have not seen the fold."""
    trees = students(SIZES, table.taken(fold.training), of_rows(groups, fold.training))
    part = table.taken(fold.held_out)
    true_values = TrueValues.of(part, of_rows(groups, fold.held_out))
    said = [predictions_for(metric, tree, part) for tree in trees]
    usual = said[SIZES.index(MOST_LEAVES)]
    return _FoldScores(
        [metric.score(each, true_values) for each in said],
        [score_difference(metric, usual, each, true_values) for each in said],
    )


def _mean_error(scores: Sequence[Score]) -> float:
    """The standard error of the mean over the folds, which hold out different rows."""
    return math.hypot(*(score.error for score in scores)) / len(scores)
