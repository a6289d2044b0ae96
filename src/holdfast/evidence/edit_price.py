"""What an edit costs: two trees on the same rows, by score, by the answers that change, and by distance."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.adapters import as_tree
from holdfast.arrays import BoolArray, FloatArray, IntArray
from holdfast.data.input.frame import make_frame
from holdfast.data.input.target import read_vector
from holdfast.data.input.weight import find_weighted_rows, read_weight
from holdfast.data.input.zero_weight import match_weighted_target
from holdfast.data.schema import Schema, Target
from holdfast.data.schema_differences import SchemaDifferences
from holdfast.data.table import Table
from holdfast.distance.distances import tree_distance
from holdfast.errors import SchemaMismatch
from holdfast.scoring.differences import score_difference
from holdfast.scoring.formulas import standard_error, weighted_mean
from holdfast.scoring.metric import Metric, Score, TrueValues, make_metric
from holdfast.scoring.predictions import predict_at_nodes
from holdfast.text.lists import listed
from holdfast.text.view import View, ViewMixin
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
        from holdfast.show.edit_price import edit_price_view

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
                f"The rows have the classes {listed(X.schema.target.classes)}, and the trees have "
                f"{listed(target.classes)}. Read them with schema=tree.schema."
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
