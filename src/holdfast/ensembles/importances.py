"""How much each feature does for an ensemble, and how much that varies from tree to tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from holdfast._arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    KeyArray,
    LongArray,
    freeze,
    round_last_digits,
    scale_back,
    scale_to_unit,
)
from holdfast._random import Branch
from holdfast._text import estimate_text, pluralize, printable, shorten
from holdfast._view import TextTable, View, ViewMixin
from holdfast.data.row_keys import permute_rows, row_keys
from holdfast.data.schema import Target
from holdfast.data.table import Table
from holdfast.ensembles.bagging import Bagging
from holdfast.ensembles.out_of_bag import check_rows_left_out
from holdfast.errors import DataError
from holdfast.parallel.tasks import ROWS_PER_TASK, check_jobs, make_batches, run_all
from holdfast.scoring.metric import Metric, TrueValues, make_metric, predict_at_nodes
from holdfast.tree.tree import LEAF, Tree


def importances(trees: Sequence[Tree]) -> Importances:
    """Compute the impurity decrease by feature on the training rows.

    The total decrease is the sum over the splits of a tree of the node's weight times the decrease of its
    impurity, averaged over the trees. The decrease per split is the sum of the decreases over all splits on
    the feature divided by their number, whatever the weight of their nodes.
    """
    n_features = len(trees[0].schema.features)
    total, decrease, n_splits = (np.zeros((len(trees), n_features)) for _ in range(3))
    # In units of powers of two that all trees share: neither a product nor a square overflows.
    of_weight = max(scale_to_unit(tree.weight)[1] for tree in trees)
    of_impurity = max(scale_to_unit(tree.impurity)[1] for tree in trees)
    for place, tree in enumerate(trees):
        inner = np.flatnonzero(tree.feature != LEAF)
        weight, impurity = np.ldexp(tree.weight, -of_weight), np.ldexp(tree.impurity, -of_impurity)
        asked, risk = tree.feature[inner], weight * impurity
        brought = risk[inner] - risk[tree.left[inner]] - risk[tree.right[inner]]
        total[place] = np.bincount(asked, brought, n_features)
        decrease[place] = np.bincount(asked, brought / weight[inner], n_features)
        n_splits[place] = np.bincount(asked, minlength=n_features)
    return Importances(
        names=trees[0].schema.names,
        n_estimators=len(trees),
        n_splits=n_splits.sum(axis=0).astype(np.int64),
        total_decrease=_unscaled(_spread(total), of_weight + of_impurity),
        decrease_per_split=_unscaled(_spread_per_split(decrease, n_splits), of_impurity),
    )


def _unscaled(spread: Spread, exponent: int) -> Spread:
    return Spread(*(scale_back(figures, exponent) for figures in spread))


def permutation_importance(
    bagging: Bagging, table: Table, scoring: Any = None, *, n_jobs: int | None = None, progress: str = ""
) -> tuple[Spread, Metric]:
    """Compute the loss of out-of-bag score when each feature is permuted.

    Of every tree the score on its out-of-bag rows, minus the score after the permutation, averaged over the
    trees that have such rows; by default the accuracy, or the squared error, which is negated as all losses
    are. A question of the user is a feature of its own: permuting a column leaves its answers as they are.
    """
    check_jobs(n_jobs)
    check_rows_left_out(bagging, table)
    metric = _metric(scoring, table.schema.target)
    X, keys = table.rows(range(table.n_features)), row_keys(table)
    task = partial(_lost_by_some, bagging, X, TrueValues.of(table), keys, metric)
    tasks = make_batches(range(len(bagging)), max(1, ROWS_PER_TASK // table.n_rows))
    parts = run_all(task, tasks, n_jobs, progress=progress, kept="Permutations")
    lost = np.array([each for part in parts for each in part])
    telling = ~np.isnan(lost[:, 0])
    if not telling.any():
        raise DataError("No tree has rows out of its bag to permute: grow more trees, or give more rows.")
    return _spread(lost[telling]), metric


def _metric(scoring: Any, target: Target) -> Metric:
    if isinstance(scoring, Metric):
        return scoring
    return make_metric(scoring or ("accuracy" if target.is_classes else "squared_error"), target)


def _lost_by_some(
    bagging: Bagging,
    X: FloatArray,
    true_values: TrueValues,
    keys: KeyArray,
    metric: Metric,
    indices: Sequence[int],
) -> list[FloatArray]:
    return [_lost(bagging, index, X, true_values, keys, metric) for index in indices]


def _lost(
    bagging: Bagging, index: int, X: FloatArray, true_values: TrueValues, keys: KeyArray, metric: Metric
) -> FloatArray:
    """Compute the loss of one tree's score for each permuted feature; NaN without out-of-bag rows."""
    bags, tree = bagging.bags, bagging.ensemble[index]
    rows = bags.left_out(index)
    rows = rows[bags.repeats[rows] > 0]
    lost = np.zeros(X.shape[1])
    if len(rows) == 0:
        return np.full_like(lost, np.nan)
    X, keys, routes = X[rows], keys[rows], bagging.routes(index)
    weight = None if true_values.weight is None else true_values.weight[rows]
    known = TrueValues(true_values.target, true_values.values[rows], weight)
    leaves = routes.leaves(freeze(X), freeze(np.arange(len(rows), dtype=np.int32)))
    values = _tree_values(bagging, index, leaves, metric)
    score = metric.value(values, known)
    is_asked, place = find_path_features(tree), np.argsort(tree.schema.name_order, kind="stable")
    for feature in np.unique(tree.feature[tree.feature != LEAF]).tolist():
        changing = np.flatnonzero(is_asked[leaves, feature]).astype(np.int32)
        column = X[:, feature].copy()
        stream = (bags.sampling.seed, Branch.PERMUTATIONS, index, int(place[feature]))
        X[:, feature] = column[permute_rows(keys, stream)]
        changed = values.copy()
        changed[changing] = _tree_values(bagging, index, routes.leaves(freeze(X), freeze(changing)), metric)
        X[:, feature] = column
        lost[feature] = score - metric.value(changed, known)
    return lost


def _tree_values(bagging: Bagging, index: int, leaves: IntArray, metric: Metric) -> FloatArray:
    """Return a tree's predictions for its leaves; classes if the metric needs labels."""
    if metric.by_labels:
        return predict_at_nodes(metric, bagging.ensemble[index], leaves)
    return bagging.tree_values(index, leaves)


def find_path_features(tree: Tree) -> BoolArray:
    """Flag the features split on above each node, (nodes, features)."""
    asked = np.zeros((tree.n_nodes, len(tree.schema.features)), np.bool_)
    by_depth = np.argsort(tree.node_depth, kind="stable")
    ends = np.cumsum(np.bincount(tree.node_depth))
    for level in range(1, tree.depth + 1):
        nodes = by_depth[ends[level - 1] : ends[level]]
        parents = tree.parent[nodes]
        asked[nodes] = asked[parents]
        asked[nodes, tree.feature[parents]] = True
    return asked


# -- over the trees ---------------------------------------------------------------------------------------


def _spread(figures: FloatArray) -> Spread:
    """Return mean and spread of (trees, features) figures; spread 0 for a single tree."""
    n_trees = len(figures)
    deviation = figures.std(axis=0, ddof=1) if n_trees > 1 else np.zeros(figures.shape[1])
    return Spread(figures.mean(axis=0), deviation, deviation / np.sqrt(n_trees))


def _spread_per_split(decrease: FloatArray, n_splits: FloatArray) -> Spread:
    """Return the decrease of an average split with its spread over trees.

    The standard error is that of a ratio of sums over the trees, as far as its first derivatives tell.
    """
    n_trees = len(decrease)
    all_splits = np.maximum(n_splits.sum(axis=0), 1)
    mean = decrease.sum(axis=0) / all_splits
    uses = n_splits > 0
    n_uses = uses.sum(axis=0)
    of_tree = decrease / np.maximum(n_splits, 1)
    centre = of_tree.sum(axis=0) / np.maximum(n_uses, 1)
    squares = np.where(uses, np.square(of_tree - centre), 0.0).sum(axis=0)
    deviation = np.sqrt(squares / np.maximum(n_uses - 1, 1))
    pull = np.square(decrease - mean * n_splits).sum(axis=0)
    error = np.sqrt(pull * n_trees / max(n_trees - 1, 1)) / all_splits
    return Spread(mean, deviation, error)


# -- The importances of the features as a table --------------------------------------------------------------


class Spread(NamedTuple):
    """A figure of every feature with its variation over the trees."""

    mean: FloatArray
    deviation: FloatArray  # standard deviation over the trees
    error: FloatArray  # standard error of the mean


@dataclass(frozen=True, eq=False, repr=False)
class Importances(ViewMixin):
    """How much each feature does for the trees of an ensemble, in the order of the schema."""

    names: tuple[str, ...]
    n_estimators: int
    n_splits: LongArray  # on each feature, in all trees
    total_decrease: Spread  # of impurity, times the weight of the nodes
    decrease_per_split: Spread
    permutation: Spread | None = None  # of the feature among rows out of the bag: what the score loses
    metric: Metric | None = None  # of that score

    def __len__(self) -> int:
        return len(self.names)

    @property
    def order(self) -> LongArray:
        """Features by importance: by permutation if computed, else by total decrease."""
        leading = self.total_decrease if self.permutation is None else self.permutation
        return np.argsort(-round_last_digits(leading.mean), kind="stable")

    def columns(self) -> dict[str, list[Any]]:
        """Column names and one entry per feature, the most important first."""
        order = self.order.tolist()
        columns: dict[str, list[Any]] = {"feature": [self.names[place] for place in order]}
        for name in ("total_decrease", "decrease_per_split", "permutation"):
            spread: Spread | None = getattr(self, name)
            if spread is not None:
                columns[name] = spread.mean[order].tolist()
                columns[f"{name}_deviation"] = spread.deviation[order].tolist()
                columns[f"{name}_error"] = spread.error[order].tolist()
        return {**columns, "n_splits": self.n_splits[order].tolist()}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a pandas, polars or pyarrow frame (the first installed) with one row per feature."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        types: dict[str, Any] = dict.fromkeys(columns, nw.Float64)
        return frame_from(columns, types | {"feature": nw.String, "n_splits": nw.Int64}, backend)

    def plot(self, ax: Any = None, *, kind: str | None = None, max_features: int = 20) -> Any:
        """An `ImportanceDisplay`, drawn: bars with their spread over the trees."""
        from holdfast.plots.importance import ImportanceDisplay

        return ImportanceDisplay.from_result(self, ax=ax, kind=kind, max_features=max_features)

    def _view(self) -> View:

        return importances_view(self)


# -- The importances of the features as a table --------------------------------------------------------------

MOST_LINES = 20
LONGEST_NAME = 32
LOST = "change of the score when the feature is permuted among the out-of-bag rows"


def importances_view(importances: Importances) -> View:
    """The features, the most important first, cut if they are many."""
    metric, order = importances.metric, importances.order.tolist()
    score = [] if metric is None else [f"{'rise' if metric.is_loss else 'loss'} of {metric.title}"]
    headings = ["feature", "splits", "total decrease", "decrease per split", *score]
    rows = [_cells(importances, place) for place in order[:MOST_LINES]]
    cut = f"({MOST_LINES} of {len(order)} features; to_frame() has them all)\n" * (len(order) > MOST_LINES)
    note = f"{cut}± is one standard error over {pluralize(importances.n_estimators, 'tree')}."
    widths = (0, 7, *[19] * (len(headings) - 2))
    return View(TextTable(headings, rows, note=note, widths=widths, meanings=dict.fromkeys(score, LOST)))


def _cells(importances: Importances, place: int) -> list[str]:
    spreads = [importances.total_decrease, importances.decrease_per_split, importances.permutation]
    return [
        shorten(printable(importances.names[place]), LONGEST_NAME),
        str(importances.n_splits[place]),
        *(estimate_text(spread.mean[place], spread.error[place], room=7) for spread in spreads if spread),
    ]
