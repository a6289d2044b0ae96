"""Are the trees better than a constant? A test on rows that they have not seen."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from holdfast.arrays import BoolArray, FloatArray
from holdfast.scoring import formulas
from holdfast.scoring.formulas import standard_error, weighted_mean
from holdfast.scoring.metric import Metric, Score, TrueValues
from holdfast.stability.rows import PreparedRows
from holdfast.text.numbers import counted, with_errors
from holdfast.tree.tree import Tree
from holdfast.tree.wording import WARNING

CLEAR = 2.5  # standard errors by which the trees must be better: less than 1 % of noise is
CLEAR_AT_ONCE = 4.0  # so clear, or less than OPEN, that no further folds are needed
OPEN = 1.0

Parts = Iterable[tuple[BoolArray, Sequence[Tree]]]  # rows held out, and trees that have not seen them


class BaselineTest(NamedTuple):
    """The trees of a fit against the constant that the target alone would give, on held-out rows."""

    score: Score  # of the mean of the trees
    ratio: float  # the covariance of predictions and target, in standard errors
    metric: Metric
    is_classes: bool
    n_rows: int  # held out, of which both are

    @property
    def is_better(self) -> bool:
        """True if the trees are better than the constant by more than chance explains."""
        return self.ratio >= CLEAR

    @property
    def finding(self) -> str:
        """What was tested and found, as a sentence without its subject."""
        constant = "the base rate" if self.is_classes else "the mean"
        value = with_errors([self.metric.shown(self.score.value)], [self.score.error])[0]
        # Rounded down: 2.48 is not "2.5 where 2.5 are required".
        ratio = np.floor(10 * self.ratio) / 10 + 0.0
        return (
            f"not clearly better than predicting {constant}: {self.metric.title} {value} on "
            f"{counted(self.n_rows, 'held-out row')} (association with the target: {ratio:.1f} standard "
            f"errors; {CLEAR:g} are required)."
        )

    @property
    def warning(self) -> str:
        """What the reader must know first; empty if the trees are better than the constant."""
        return "" if self.is_better else f"{WARNING}{self.finding}"


def baseline_test(rows: PreparedRows, metric: Metric, parts: Parts) -> BaselineTest | None:
    """Test the mean of the trees on the rows that they have not seen.

    None if each tree has seen all rows, or the target has one value.

    The test is of discrimination, whatever the metric: the covariance of predictions and target against its
    standard error or, if that is more, the AUC against 0.5, and for numbers the covariance with their ranks.
    A row that several parts hold out counts once, by its mean. Trees of several folds have most rows in
    common, which the standard error does not know: it is enlarged as Nadeau and Bengio (2003) propose.
    """
    table, target = rows.table, rows.table.schema.target
    said = np.zeros((table.n_rows, max(1, len(target.classes))))
    centred, times, fractions = said.copy(), np.zeros(table.n_rows), []
    for held_out, trees in parts:
        if held_out.all() or not trees:
            continue
        part = table.subset(held_out)
        mean = np.mean([tree.value[tree.apply(part)] for tree in trees], axis=0)
        said[held_out] += mean
        # Within each part: a constant that lacks the rows held out is negatively correlated with them.
        centred[held_out] += mean - _mean(mean, part.weight)
        times[held_out] += 1
        fractions.append(float(held_out.mean()))
    if not fractions or (table.target == table.target[0]).all():
        return None
    known = times > 0
    true_values = TrueValues.of(table, rows.groups).subset(known)
    said, centred = said[known] / times[known, None], centred[known] / times[known, None]
    if metric.by_labels and target.is_classes:
        said = np.eye(said.shape[1])[said.argmax(axis=1)]
    factor = np.sqrt(1 + 1 / (1 - np.mean(fractions))) if len(fractions) > 1 else 1.0
    ratio = _discrimination(centred[true_values.counted], true_values) / factor
    score = metric.score(said, true_values)
    score = score._replace(error=float(factor * score.error))
    return BaselineTest(score, float(ratio), metric, target.is_classes, int(known.sum()))


def _discrimination(said: FloatArray, true_values: TrueValues) -> float:
    """How far predictions go with the target, in standard errors."""
    rows = true_values.rows
    found = []
    if true_values.target.is_classes:
        truths = [np.eye(said.shape[1])[rows.values]]
        found = [formulas.auc(said, rows)]
        found[0] = found[0]._replace(value=found[0].value - 0.5)
    else:
        in_order = np.sort(rows.values)
        ranks = sum(np.searchsorted(in_order, rows.values, side) / 2 for side in ("left", "right"))
        truths = [rows.values[:, None], np.asarray(ranks)[:, None]]
    for truth in truths:
        # As fractions of the greatest: no product overflows.
        truth, own = (each / max(float(np.abs(each).max()), 1e-300) for each in (truth, said))
        products = ((truth - _mean(truth, rows.weight)) * own).sum(axis=1)
        found.append(weighted_mean(products, rows))
    ratios = []
    for measured in found:
        error = standard_error(measured, rows)
        ratios.append(measured.value / error if error > 0 else np.inf if measured.value > 0 else 0.0)
    return float(max(ratios))


def _mean(values: FloatArray, weight: FloatArray | None) -> FloatArray:
    if weight is None or not weight.sum() > 0:
        return np.asarray(values.mean(axis=0), np.float64)
    return np.asarray((weight[:, None] * values).sum(axis=0) / weight.sum(), np.float64)
