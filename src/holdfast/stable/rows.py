"""Split the rows: training, held out to choose by, and early; and test trees against a constant."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, KeyArray, LongArray
from holdfast._check import check_fraction, is_integer
from holdfast._random import Branch
from holdfast._text import estimate_texts, pluralize
from holdfast.data.folds import (
    assign_folds,
    assign_strata,
    draw_positions,
    find_early_stages,
    select_below,
    warn_fewer_folds,
)
from holdfast.data.resampling import Units
from holdfast.data.row_keys import unit_keys
from holdfast.data.survival import LEAST_RISK
from holdfast.data.table import Table
from holdfast.errors import DataError, ParameterError
from holdfast.scoring import formulas
from holdfast.scoring.formulas import standard_error, weighted_mean
from holdfast.scoring.metric import Metric, Score, TrueValues
from holdfast.scoring.survival import concordance
from holdfast.stable.settings import StabilitySettings
from holdfast.tree.rules import WARNING
from holdfast.tree.tree import Tree

MOST_CROSS_FITTED = 5_000  # rows; with more of them, one part held out serves as well
FRACTION_HELD_OUT = 1 / 3
FOLDS, REPEATS = 5, 3


@dataclass(frozen=True, eq=False)
class RowSplit:
    """Which rows are early, and one or several ways to hold rows out.

    A candidate is grown on the training rows of one of them and scored on its validation rows; with several
    of them, all rows serve both ends, but never for the same tree.
    """

    early: BoolArray
    validation: tuple[BoolArray, ...]

    @property
    def training(self) -> tuple[BoolArray, ...]:
        """The rows that candidates are grown on. A table of a single row has nothing to hold out."""
        return tuple(held_out if held_out.all() else ~held_out for held_out in self.validation)

    @property
    def early_training(self) -> tuple[BoolArray, ...]:
        """The rows that reference trees are grown on."""
        # Where all early rows happen to be held out, they serve all the same: no score depends on them.
        both = [rows & self.early for rows in self.training]
        return tuple(rows if rows.any() else self.early for rows in both)

    @property
    def is_cross_fitted(self) -> bool:
        """True if every row is held out in turn."""
        return len(self.validation) > 1

    @property
    def n_folds(self) -> float:
        """The number of folds of one division; folds of different divisions share rows."""
        return 1 / float(np.mean([held_out.mean() for held_out in self.validation]))


class RowMetadata(NamedTuple):
    """Stage, group and holdout flag of every row; None if unknown."""

    stage: LongArray | None = None
    groups: LongArray | None = None
    holdout: BoolArray | None = None  # True for the rows that the user holds out to score on


def split_rows(table: Table, settings: StabilitySettings, info: RowMetadata | None = None) -> RowSplit:
    """Split the rows of a table. Groups stay together; classes and stages are balanced.

    `settings.validation` is the fraction of rows held out, or a number of folds, each of them held out in
    turn, with new folds three times; "auto" takes five folds for up to 5,000 rows, else a third of them.
    """
    info = info or RowMetadata()
    if info.holdout is not None:
        raise ParameterError(
            f"X_holdout is for method='paper', and method={settings.method!r} holds rows out by itself, as "
            "validation determines: leave it out, and test the chosen tree on these rows."
        )
    strata, keys = assign_strata(table, info.stage), unit_keys(table, info.groups)
    check_fraction("early_fraction", settings.early_fraction)
    if info.stage is not None:
        early = find_early_stages(info.stage, settings.early_fraction)
    else:
        positions = draw_positions(strata, keys, (settings.seed, Branch.EARLY_ROWS))
        early = select_below(positions, settings.early_fraction)
    groups = info.groups
    n_units = table.n_rows if groups is None else len(np.unique(groups))
    n_folds, fraction = _read_validation(settings.validation, table.n_rows, n_units)
    if n_units < 2 <= table.n_rows:
        raise DataError(
            "The rows to learn from are all of one group: there is nothing to hold out. Give the group of "
            "each row, such as the patient, leave groups out, or keep no rows back to test by (test=0)."
        )
    if n_units < 2:
        return RowSplit(early, (np.ones(table.n_rows, np.bool_),))
    if not n_folds:
        positions = draw_positions(strata, keys, (settings.seed, Branch.VALIDATION_ROWS))
        return RowSplit(early, (select_below(positions, fraction),))
    flags, n_made = _draw_folds(strata, keys, n_folds, settings.seed)
    requested = settings.validation
    if groups is not None and isinstance(requested, Integral) and min(n_made) < int(requested):
        warn_fewer_folds(int(requested), n_made, groups)
    return RowSplit(early, flags)


def _draw_folds(
    strata: LongArray, keys: KeyArray, n_folds: int, seed: int
) -> tuple[tuple[BoolArray, ...], list[int]]:
    """Draw folds several times: the rows of each fold, and how many folds each draw has."""
    flags: list[BoolArray] = []
    n_made: list[int] = []
    for repeat in range(REPEATS):
        fold = assign_folds(draw_positions(strata, keys, (seed, Branch.VALIDATION_ROWS, repeat)), n_folds)
        flags += [fold == number for number in np.unique(fold)]
        n_made.append(len(np.unique(fold)))
    return tuple(flags), n_made


def draw_test_rows(
    table: Table, fraction: float, *, stage: LongArray | None, groups: LongArray | None, seed: int
) -> BoolArray:
    """Draw the test rows, which no choice of a tree may depend on."""
    check_fraction("test", fraction)
    keys = unit_keys(table, groups)
    return select_below(draw_positions(assign_strata(table, stage), keys, (seed, Branch.TEST_ROWS)), fraction)


def _read_validation(validation: Any, n_rows: int, n_units: int) -> tuple[int, float]:
    """Read the number of folds and the fraction held out, one of them 0."""
    if isinstance(validation, str) and validation == "auto":
        return (min(FOLDS, n_units), 0.0) if n_rows <= MOST_CROSS_FITTED else (0, FRACTION_HELD_OUT)
    if is_integer(validation) and int(validation) >= 2:
        return min(int(validation), n_units), 0.0
    if isinstance(validation, Real) and not isinstance(validation, Integral) and 0 < float(validation) < 1:
        return 0, float(validation)
    raise ParameterError(
        f"validation={validation!r} is out of range: it must be a fraction between 0 and 1, a number of "
        "folds from 2, or 'auto'."
    )


# -- The rows of a training ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Rows in canonical order, their split, and their metadata."""

    table: Table
    division: RowSplit
    groups: LongArray | None = None  # the key of each group, as given, or else of the copies of one row
    stage: LongArray | None = None

    @cached_property
    def units(self) -> Units:
        """The units of bootstrap samples: rows, or groups."""
        return Units.of(self.table, self.groups)


# -- The test against a constant, on held-out rows -----------------------------------------------------------

CLEAR = 2.5  # standard errors by which the trees must be better: on pure noise, less than 1 % are
CLEAR_AT_ONCE = 4.0  # at least this or less than OPEN: no further folds are needed
OPEN = 1.0

Parts = Iterable[tuple[BoolArray, Sequence[Tree]]]  # rows held out, and trees trained without them


_CONSTANTS = {
    "classification": "the base rate",
    "regression": "the mean",
    "survival": "the risk of all rows",
}


class BaselineTest(NamedTuple):
    """The test of the trees against the base rate or the mean, on held-out rows."""

    score: Score  # of the mean of the trees
    ratio: float  # the covariance of predictions and target, in standard errors
    metric: Metric
    task: str  # of the target
    n_rows: int  # held out, of which both are

    @property
    def is_better(self) -> bool:
        """True if the trees are significantly better than the constant."""
        return self.ratio >= CLEAR

    @property
    def finding(self) -> str:
        """The result, as a sentence without its subject."""
        constant = _CONSTANTS[self.task]
        value = estimate_texts([self.metric.shown(self.score.value)], [self.score.error])[0]
        # Rounded down: 2.48 is not "2.5 where 2.5 are required".
        ratio = np.floor(10 * self.ratio) / 10 + 0.0
        return (
            f"not clearly better than predicting {constant}: {self.metric.title} {value} on "
            f"{pluralize(self.n_rows, 'held-out row')} (association with the target: {ratio:.1f} standard "
            f"errors; {CLEAR:g} are required)."
        )

    @property
    def warning(self) -> str:
        """The warning to show first; empty if the trees are better than the constant."""
        return "" if self.is_better else f"{WARNING}{self.finding}"


def baseline_test(rows: TrainingSet, metric: Metric, parts: Parts) -> BaselineTest | None:
    """Test the mean prediction of the trees on held-out rows.

    The result is None without held-out rows, or if the target is constant.

    For every metric it is a test of discrimination: the covariance of predictions and target relative to its
    standard error or, if that is more, the AUC or the concordance against 0.5 or, for numbers, the covariance
    with the ranks. A row that several parts hold out counts once, by its mean prediction. Trees of several
    folds share most training rows, and the standard error is corrected as Nadeau and Bengio (2003) propose.
    """
    table, target = rows.table, rows.table.schema.target
    predicted = np.zeros((table.n_rows, max(1, len(target.classes))))
    centred, times, fractions = predicted.copy(), np.zeros(table.n_rows), []
    for held_out, trees in parts:
        if held_out.all() or not trees:
            continue
        part = table.subset(held_out)
        mean = np.mean([tree.value[tree.apply(part)] for tree in trees], axis=0)
        predicted[held_out] += mean
        if target.is_survival:  # a score test of Cox's model has logarithms
            mean = np.log(np.maximum(mean, LEAST_RISK))
        # Within each part: a constant that lacks the rows held out is negatively correlated with them.
        centred[held_out] += mean - _mean(mean, part.weight)
        times[held_out] += 1
        fractions.append(float(held_out.mean()))
    if not fractions or (table.target == table.target[0]).all():
        return None
    known = times > 0
    true_values = TrueValues.of(table, rows.groups).subset(known)
    predicted, centred = predicted[known] / times[known, None], centred[known] / times[known, None]
    if metric.by_labels and target.is_classes:
        predicted = np.eye(predicted.shape[1])[predicted.argmax(axis=1)]
    factor = np.sqrt(1 + 1 / (1 - np.mean(fractions))) if len(fractions) > 1 else 1.0
    ratio = _test_discrimination(centred[true_values.counted], true_values) / factor
    score = metric.score(predicted, true_values)
    score = score._replace(error=float(factor * score.error))
    return BaselineTest(score, float(ratio), metric, target.task, int(known.sum()))


def _test_discrimination(predicted: FloatArray, true_values: TrueValues) -> float:
    """Measure the association of predictions and target, in standard errors."""
    rows = true_values.rows
    measures = []
    if true_values.target.is_classes:
        truths = [np.eye(predicted.shape[1])[rows.values]]
        auc = formulas.auc(predicted, rows)
        measures = [auc._replace(value=auc.value - 0.5)]
    elif rows.survival is not None:  # as in a log-rank test: events less those expected
        truths = [(rows.survival.event - rows.survival.exposure)[:, None]]
        found = concordance(predicted, rows)
        measures = [found._replace(value=found.value - 0.5)]
    else:
        in_order = np.sort(rows.values)
        ranks = sum(np.searchsorted(in_order, rows.values, side) / 2 for side in ("left", "right"))
        truths = [rows.values[:, None], np.asarray(ranks)[:, None]]
    for truth in truths:
        # As fractions of the greatest: no product overflows.
        truth, own = (each / max(float(np.abs(each).max()), 1e-300) for each in (truth, predicted))
        products = ((truth - _mean(truth, rows.weight)) * own).sum(axis=1)
        measures.append(weighted_mean(products, rows))
    ratios = []
    for measured in measures:
        error = standard_error(measured, rows)
        ratios.append(measured.value / error if error > 0 else np.inf if measured.value > 0 else 0.0)
    return float(max(ratios))


def _mean(values: FloatArray, weight: FloatArray | None) -> FloatArray:
    if weight is None or not weight.sum() > 0:
        return np.asarray(values.mean(axis=0), np.float64)
    return np.asarray((weight[:, None] * values).sum(axis=0) / weight.sum(), np.float64)
