"""The price of an edit: two trees compared on the same rows by score, by predictions and by tree distance."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast._arrays import BoolArray, FloatArray
from holdfast._text import decimals_of_errors, fixed_text, number_text, percent_text, pluralize, quoted
from holdfast._view import TextTable, View, ViewMixin
from holdfast.adapters import as_tree
from holdfast.data.frame import make_frame
from holdfast.data.schema import Schema, SchemaDifferences, Target
from holdfast.data.survival import make_risk_target, name_survival, read_survival
from holdfast.data.table import Table, match_weighted_target
from holdfast.data.target import find_weighted_rows, read_vector, read_weight
from holdfast.distance.distance import tree_distance
from holdfast.errors import SchemaMismatch
from holdfast.scoring.formulas import standard_error, weighted_mean
from holdfast.scoring.metric import Metric, Score, TrueValues, make_metric, predict_at_nodes, score_difference
from holdfast.tree.survival import shown_values

NORMAL = 1.959963984540054  # half width of a 95 % interval, in standard errors


@dataclass(frozen=True)
class EditPrice(ViewMixin):
    """Change of score, predictions and rules where one tree replaces another.

    Attributes
    ----------
    metric : Metric
        What scores are.
    old, new : Score
        Scores of both trees with standard errors; greater is better: losses are negated.
    difference : Score
        New minus old, with its standard error on the same rows.
    churn : Score
        Mean change of the probabilities; of numbers, in standard deviations of the target; of times to an
        event, of the survival to the horizon.
    flips, negative_flips : Score or None
        Fraction of rows whose predicted class changes, and that were right and become wrong; None for
        numbers.
    distance : float
        The tree distance.
    n_rows : int
        Number of rows of positive weight.
    survival : str
        Of times to an event, what changes, such as "5-year survival".
    """

    metric: Metric
    old: Score
    new: Score
    difference: Score
    churn: Score
    flips: Score | None
    negative_flips: Score | None
    distance: float
    n_rows: int
    survival: str = ""

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the score difference."""
        value, error = self.difference
        return value - NORMAL * error, value + NORMAL * error

    def _view(self) -> View:

        return edit_price_view(self)


def price_of_edit(
    old: Any,
    new: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    scoring: Any = None,
    groups: Any = None,
) -> EditPrice:
    """Compare a new tree with the old one that it replaces, best on rows that neither was grown on.

    The score difference is paired: both trees predict the same rows, so its error is smaller than those of
    the scores.

    Parameters
    ----------
    old, new : Tree or fitted estimator
        Both must predict the same classes.
    X : array, frame or Table of shape (n_rows, n_features)
        The rows; a Table has the target.
    y : array of shape (n_rows,), optional
        The target.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows.
    scoring : str or callable, optional
        The metric. Default: "auc" or "r2".
    groups : array of shape (n_rows,), optional
        Rows of one group are not independent.

    Returns
    -------
    EditPrice
        Scores, churn, flips and tree distance.

    Examples
    --------
    >>> from holdfast import grow
    >>> ages, lived = [[20.0], [30.0], [48.0], [60.0]], ["no", "no", "yes", "yes"]
    >>> tree = grow(Table.from_arrays(ages, lived))
    >>> price = price_of_edit(tree, tree.with_threshold(0, 50), ages, lived)
    >>> price.flips.value, price.negative_flips.value, price.difference.value
    (0.25, 0.25, -0.25)
    """
    old, new = as_tree(old), as_tree(new)
    if old.schema.target.classes != new.schema.target.classes:
        new = new.with_schema(old.schema)
    true_values = _true_values(old.schema.target, X, y, sample_weight, groups)
    metric = make_metric(scoring, old.schema.target)
    leaves = old.apply(X), new.apply(X)
    predicted = [predict_at_nodes(metric, tree, at) for tree, at in zip((old, new), leaves, strict=True)]
    difference = score_difference(metric, predicted[0], predicted[1], true_values)
    flips = negative_flips = None
    if old.schema.target.is_classes:
        before, after = old.outcome[leaves[0]], new.outcome[leaves[1]]
        flips = _mean(before != after, true_values)
        negative_flips = _mean((before != after) & (before == true_values.values), true_values)
    hazard = old.schema.target.hazard
    shown = shown_values(old), shown_values(new, hazard)
    return EditPrice(
        metric=metric,
        old=metric.score(predicted[0], true_values),
        new=metric.score(predicted[1], true_values),
        difference=difference,
        churn=_mean(_row_changes(shown[0][leaves[0]], shown[1][leaves[1]], true_values), true_values),
        flips=flips,
        negative_flips=negative_flips,
        distance=float(tree_distance(old, new).total),
        n_rows=int(np.count_nonzero(true_values.counted)),
        survival="" if hazard is None else name_survival(hazard),
    )


def _true_values(target: Target, X: Any, y: Any, sample_weight: Any, groups: Any) -> TrueValues:
    """Read the true values of the rows, by the classes of the target."""
    if isinstance(X, Table):
        if X.schema.target.classes != target.classes:
            raise SchemaMismatch(
                f"The rows have the classes {quoted(X.schema.target.classes)}, and the trees have "
                f"{quoted(target.classes)}. Read them with schema=tree.schema."
            )
        return TrueValues.of(X, groups)
    frame = make_frame(X)
    if target.is_survival:
        known = read_weight(sample_weight, frame.n_rows, frame.rows)
        values, _, survival = make_risk_target(read_survival(y, frame.n_rows), known, target.hazard)
        return TrueValues.of(Table(Schema((), target), (), values, known, survival=survival), groups)
    vector, differences = read_vector(y, frame.n_rows), SchemaDifferences()
    weight = read_weight(sample_weight, frame.n_rows, frame.rows)
    values = match_weighted_target(vector, target, None, find_weighted_rows(weight), differences, frame.rows)
    differences.raise_if_any()
    return TrueValues.of(Table(Schema((), target), (), values, weight), groups)


# -- changes of single rows ----------------------------------------------------------------------------


def _row_changes(old: FloatArray, new: FloatArray, true_values: TrueValues) -> FloatArray:
    """Measure the change of each prediction: total variation, survival or deviations of the target."""
    difference = np.abs(new - old)
    if true_values.target.is_classes:
        return np.asarray(difference.sum(axis=1) / 2, np.float64)
    if true_values.target.is_survival:
        return np.asarray(difference[:, 0], np.float64)
    rows = true_values.rows
    mean = np.average(rows.values, weights=rows.weight)
    spread = math.sqrt(float(np.average((rows.values - mean) ** 2, weights=rows.weight)))
    return np.asarray(difference[:, 0] / (spread or 1.0), np.float64)


def _mean(of_rows: FloatArray | BoolArray, true_values: TrueValues) -> Score:
    """Compute the weighted mean over the rows, with its standard error."""
    measured = weighted_mean(of_rows[true_values.counted].astype(np.float64), true_values.rows)
    return Score(measured.value, standard_error(measured, true_values.rows))


# -- The price of an edit ------------------------------------------------------------------------------------

USUAL, MOST = 3, 4  # decimals of a score: without an error, and at most
SMALL = 0.1  # scores below have more decimals


def edit_price_view(price: EditPrice) -> View:
    """Show the score, the figures of both trees, and the rows and rules that change."""
    decimals = _decimals(price)
    values = [
        f"{fixed_text(price.metric.shown(each.value), decimals)} ± {fixed_text(each.error, decimals)}"
        for each in (price.old, price.new, price.difference)
    ]
    table = TextTable(["", "before", "after", "difference"], [[price.metric.title, *values]])
    return View(
        _score_sentence(price),
        table,
        f"{_rows_sentence(price)} The tree distance is {number_text(price.distance, 4)}.",
    )


def _score_sentence(price: EditPrice) -> str:
    title, rows = price.metric.title, pluralize(price.n_rows, "row")
    value, (low, high) = price.difference.value, price.interval
    decimals = _decimals(price)
    old, new = (fixed_text(price.metric.shown(each.value), decimals) for each in (price.old, price.new))
    if value == 0 and low == high:
        return f"The edit does not change the {title}: {old} on {rows}."
    ends = sorted((-low, -high) if value < 0 else (low, high))  # of a cost, as a cost
    interval = " to ".join(fixed_text(end, decimals) for end in ends)
    amount = fixed_text(abs(value), decimals)
    if price.metric.is_loss:
        what = f"{'raises' if value < 0 else 'lowers'} the {title} by {amount}"
    else:
        what = f"{'costs' if value < 0 else 'gains'} {amount} of {title}"
    return f"The edit {what} (95 % interval {interval}): {old} became {new} on {rows}."


def _decimals(price: EditPrice) -> int:
    """Choose the decimals that show two digits of the error, within limits."""
    known = decimals_of_errors([price.difference.error])
    if known is None:
        return USUAL
    return min(known, MOST) if max(abs(price.old.value), abs(price.new.value)) >= SMALL else known


def _rows_sentence(price: EditPrice) -> str:
    churn = fixed_text(price.churn.value, 4)
    if price.survival:
        points = fixed_text(100 * price.churn.value, 1)
        return f"Mean change of the predicted {price.survival}: {points} percentage points."
    if price.flips is None or price.negative_flips is None:
        return f"Mean change of the predictions: {churn} standard deviations of the target."
    moved = f"Mean change of the probabilities (churn): {churn}."
    if price.flips.value == 0:
        return f"No predicted class changes. {moved}"
    flips = percent_text(price.flips.value)
    right = percent_text(price.negative_flips.value) if price.negative_flips.value else "none of them"
    return f"The predicted class of {flips} of the rows changes; {right} were right before. {moved}"
