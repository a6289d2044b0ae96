"""What an edit costs: two trees on the same rows, by score, by the answers that change, and by distance."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray
from holdfast._text import decimals_of_errors, fixed_text, number_text, percent_text, pluralize, quoted
from holdfast._view import TextTable, View, ViewMixin
from holdfast.adapters import as_tree
from holdfast.data.frame import make_frame
from holdfast.data.schema import Schema, SchemaDifferences, Target
from holdfast.data.table import Table, match_weighted_target
from holdfast.data.target import find_weighted_rows, read_vector, read_weight
from holdfast.distance.distance import tree_distance
from holdfast.errors import SchemaMismatch
from holdfast.scoring.formulas import standard_error, weighted_mean
from holdfast.scoring.metric import Metric, Score, TrueValues, make_metric, predict_at_nodes, score_difference
from holdfast.tree.tree import Tree

NORMAL = 1.959963984540054  # standard errors on each side of an interval of 95 %


@dataclass(frozen=True)
class EditPrice(ViewMixin):
    """What becomes of score, answers and rules where one tree takes the place of another."""

    metric: Metric
    old: Score  # greater is better: losses are negated
    new: Score
    difference: Score  # new minus old, and its standard error on the same rows
    churn: Score  # mean change of the probabilities; of numbers, in standard deviations of the target
    flips: Score | None  # fraction of the rows that get another class; None for numbers
    negative_flips: Score | None  # that were right and become wrong
    distance: float
    n_rows: int

    @property
    def interval(self) -> tuple[float, float]:
        """Where the difference of the scores lies, with 95 % confidence."""
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
    """What the new tree costs in place of the old one, by the rows of X: best rows that neither was grown on.

    The difference of the scores is paired: both trees answer for the same rows, so it is known better than
    either score. `scoring` is "auc" for classes and "r2" for numbers by default, or any other metric.
    X may be a Table, which has the target in it. Rows of one of the `groups` are not independent.

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
    said = [predict_at_nodes(metric, tree, at) for tree, at in zip((old, new), leaves, strict=True)]
    difference = score_difference(metric, said[0], said[1], true_values)
    is_classes = old.schema.target.is_classes
    flipped, spoilt = _flipped(old, new, *leaves, true_values.values) if is_classes else (None, None)
    return EditPrice(
        metric=metric,
        old=metric.score(said[0], true_values),
        new=metric.score(said[1], true_values),
        difference=difference,
        churn=_mean(_moved(old.value[leaves[0]], new.value[leaves[1]], true_values), true_values),
        flips=None if flipped is None else _mean(flipped, true_values),
        negative_flips=None if spoilt is None else _mean(spoilt, true_values),
        distance=float(tree_distance(old, new).total),
        n_rows=int(np.count_nonzero(true_values.counted)),
    )


def _true_values(target: Target, X: Any, y: Any, sample_weight: Any, groups: Any) -> TrueValues:
    """What is known of the rows, as the target has it."""
    if isinstance(X, Table):
        if X.schema.target.classes != target.classes:
            raise SchemaMismatch(
                f"The rows have the classes {quoted(X.schema.target.classes)}, and the trees have "
                f"{quoted(target.classes)}. Read them with schema=tree.schema."
            )
        return TrueValues.of(X, groups)
    frame = make_frame(X)
    vector, differences = read_vector(y, frame.n_rows), SchemaDifferences()
    weight = read_weight(sample_weight, frame.n_rows, frame.rows)
    values = match_weighted_target(vector, target, None, find_weighted_rows(weight), differences, frame.rows)
    differences.raise_if_any()
    return TrueValues.of(Table(Schema((), target), (), values, weight), groups)


# -- what changes for each row ----------------------------------------------------------------------------


def _moved(old: FloatArray, new: FloatArray, true_values: TrueValues) -> FloatArray:
    """How far the answer moves: as total variation, or in standard deviations of the target."""
    difference = np.abs(new - old)
    if true_values.target.is_classes:
        return np.asarray(difference.sum(axis=1) / 2, np.float64)
    rows = true_values.rows
    mean = np.average(rows.values, weights=rows.weight)
    spread = math.sqrt(float(np.average((rows.values - mean) ** 2, weights=rows.weight)))
    return np.asarray(difference[:, 0] / (spread or 1.0), np.float64)


def _flipped(
    old: Tree, new: Tree, old_leaves: IntArray, new_leaves: IntArray, true: IntArray
) -> tuple[BoolArray, BoolArray]:
    """The rows that get another class, and those of them that had the right one."""
    before, after = old.outcome[old_leaves], new.outcome[new_leaves]
    flipped = before != after
    return flipped, flipped & (before == true)


def _mean(of_rows: FloatArray | BoolArray, true_values: TrueValues) -> Score:
    """The weighted mean over the rows, with its standard error."""
    measured = weighted_mean(of_rows[true_values.counted].astype(np.float64), true_values.rows)
    return Score(measured.value, standard_error(measured, true_values.rows))


# -- The price of an edit ------------------------------------------------------------------------------------

USUAL, MOST = 3, 4  # decimals of a score, where nothing is known of its error, and at most
SMALL = 0.1  # a score below which more decimals tell


def edit_price_view(price: EditPrice) -> View:
    """The score in a sentence, then the figures of both trees, then the rows and the rules that change."""
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
    """As many as two digits of the error need, and not more than one can read."""
    known = decimals_of_errors([price.difference.error])
    if known is None:
        return USUAL
    return min(known, MOST) if max(abs(price.old.value), abs(price.new.value)) >= SMALL else known


def _rows_sentence(price: EditPrice) -> str:
    churn = fixed_text(price.churn.value, 4)
    if price.flips is None or price.negative_flips is None:
        return f"Mean change of the predictions: {churn} standard deviations of the target."
    moved = f"Mean change of the probabilities (churn): {churn}."
    if price.flips.value == 0:
        return f"No predicted class changes. {moved}"
    flips = percent_text(price.flips.value)
    right = percent_text(price.negative_flips.value) if price.negative_flips.value else "none of them"
    return f"The predicted class of {flips} of the rows changes; {right} were right before. {moved}"
