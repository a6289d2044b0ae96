"""Feature importances of an ensemble, and their spread over the trees."""

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
from holdfast.data.table import Table
from holdfast.ensembles.bagging import Bagging
from holdfast.ensembles.out_of_bag import check_rows_left_out
from holdfast.errors import DataError
from holdfast.parallel.tasks import ROWS_PER_TASK, check_jobs, make_batches, run_all
from holdfast.scoring.metric import Metric, TrueValues, make_metric, predict_at_nodes
from holdfast.tree.tree import LEAF, Tree


def compute_importances(trees: Sequence[Tree]) -> Importances:
    """Compute the impurity decrease by feature on the training rows.

    The total decrease is the sum over the splits of a tree of the node's weight times the decrease of its
    impurity, averaged over the trees. The decrease per split is the sum of the decreases over all splits on
    the feature divided by their number, not weighted by their nodes.
    """
    n_features = len(trees[0].schema.features)
    total, decrease, n_splits = (np.zeros((len(trees), n_features)) for _ in range(3))
    # In powers of two that all trees share, so that neither products nor squares overflow.
    of_weight = max(scale_to_unit(tree.weight)[1] for tree in trees)
    of_impurity = max(scale_to_unit(tree.impurity)[1] for tree in trees)
    for place, tree in enumerate(trees):
        inner = np.flatnonzero(tree.feature != LEAF)
        weight, impurity = np.ldexp(tree.weight, -of_weight), np.ldexp(tree.impurity, -of_impurity)
        feature, risk = tree.feature[inner], weight * impurity
        gain = risk[inner] - risk[tree.left[inner]] - risk[tree.right[inner]]
        total[place] = np.bincount(feature, gain, n_features)
        decrease[place] = np.bincount(feature, gain / weight[inner], n_features)
        n_splits[place] = np.bincount(feature, minlength=n_features)
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

    The score of each tree on its out-of-bag rows minus the score after the permutation, averaged over the
    trees that have such rows; by default the accuracy, the squared error, negated like all losses, or the
    concordance. A custom feature is a feature of its own: permuting a column does not change its values.
    """
    check_jobs(n_jobs)
    check_rows_left_out(bagging, table)
    metric = scoring
    if not isinstance(scoring, Metric):
        usual = {"classification": "accuracy", "regression": "squared_error", "survival": "concordance"}
        metric = make_metric(scoring or usual[table.schema.target.task], table.schema.target)
    X, keys = table.rows(range(table.n_features)), row_keys(table)
    task = partial(_score_losses, bagging, X, TrueValues.of(table), keys, metric)
    tasks = make_batches(range(len(bagging)), max(1, ROWS_PER_TASK // table.n_rows))
    parts = run_all(task, tasks, n_jobs, progress=progress, cache_name="Permutations")
    lost = np.array([each for part in parts for each in part])
    has_rows = ~np.isnan(lost[:, 0])
    if not has_rows.any():
        raise DataError("No tree has out-of-bag rows to permute: grow more trees, or give more rows.")
    return _spread(lost[has_rows]), metric


def _score_losses(
    bagging: Bagging,
    X: FloatArray,
    true_values: TrueValues,
    keys: KeyArray,
    metric: Metric,
    indices: Sequence[int],
) -> list[FloatArray]:
    return [_score_loss(bagging, index, X, true_values, keys, metric) for index in indices]


def _score_loss(
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
    targets = true_values.subset(rows)
    leaves = routes.leaves(freeze(X), freeze(np.arange(len(rows), dtype=np.int32)))
    values = _tree_values(bagging, index, leaves, metric)
    score = metric.value(values, targets)
    is_used, place = find_path_features(tree), np.argsort(tree.schema.name_order, kind="stable")
    for feature in np.unique(tree.feature[tree.feature != LEAF]).tolist():
        changing = np.flatnonzero(is_used[leaves, feature]).astype(np.int32)
        column = X[:, feature].copy()
        stream = (bags.sampling.seed, Branch.PERMUTATIONS, index, int(place[feature]))
        X[:, feature] = column[permute_rows(keys, stream)]
        changed = values.copy()
        changed[changing] = _tree_values(bagging, index, routes.leaves(freeze(X), freeze(changing)), metric)
        X[:, feature] = column
        lost[feature] = score - metric.value(changed, targets)
    return lost


def _tree_values(bagging: Bagging, index: int, leaves: IntArray, metric: Metric) -> FloatArray:
    """Return a tree's predictions for its leaves; classes if the metric needs labels."""
    if metric.by_labels:
        return predict_at_nodes(metric, bagging.ensemble[index], leaves)
    return bagging.tree_values(index, leaves)


def find_path_features(tree: Tree) -> BoolArray:
    """Flag the features split on above each node, (nodes, features)."""
    is_used = np.zeros((tree.n_nodes, len(tree.schema.features)), np.bool_)
    by_depth = np.argsort(tree.node_depth, kind="stable")
    ends = np.cumsum(np.bincount(tree.node_depth))
    for level in range(1, tree.depth + 1):
        nodes = by_depth[ends[level - 1] : ends[level]]
        parents = tree.parent[nodes]
        is_used[nodes] = is_used[parents]
        is_used[nodes, tree.feature[parents]] = True
    return is_used


def _spread(figures: FloatArray) -> Spread:
    """Return mean and spread of (trees, features) figures; spread 0 for a single tree."""
    n_trees = len(figures)
    deviation = figures.std(axis=0, ddof=1) if n_trees > 1 else np.zeros(figures.shape[1])
    return Spread(figures.mean(axis=0), deviation, deviation / np.sqrt(n_trees))


def _spread_per_split(decrease: FloatArray, n_splits: FloatArray) -> Spread:
    """Return the decrease of an average split with its spread over trees.

    The standard error is that of a ratio of sums over the trees, by the delta method.
    """
    n_trees = len(decrease)
    all_splits = np.maximum(n_splits.sum(axis=0), 1)
    mean = decrease.sum(axis=0) / all_splits
    uses = n_splits > 0
    n_uses = uses.sum(axis=0)
    by_tree = decrease / np.maximum(n_splits, 1)
    center = by_tree.sum(axis=0) / np.maximum(n_uses, 1)
    squares = np.where(uses, np.square(by_tree - center), 0.0).sum(axis=0)
    deviation = np.sqrt(squares / np.maximum(n_uses - 1, 1))
    residual = np.square(decrease - mean * n_splits).sum(axis=0)
    error = np.sqrt(residual * n_trees / max(n_trees - 1, 1)) / all_splits
    return Spread(mean, deviation, error)


# -- The result ----------------------------------------------------------------------------------------------

MOST_LINES = 20  # of the printed table
LONGEST_NAME = 32
LOST = "change of the score when the feature is permuted among the out-of-bag rows"


class Spread(NamedTuple):
    """A figure of every feature with its variation over the trees."""

    mean: FloatArray
    deviation: FloatArray  # standard deviation over the trees
    error: FloatArray  # standard error of the mean


@dataclass(frozen=True, eq=False, repr=False)
class Importances(ViewMixin):
    """Feature importances of an ensemble, in the order of the schema.

    Examples
    --------
    >>> from holdfast import ForestClassifier
    >>> X, y = [[1, 5], [2, 4], [3, 5]] * 9, [0, 1, 1] * 9
    >>> forest = ForestClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> forest.importances_.columns()["feature"]
    ['x0', 'x1']
    """

    names: tuple[str, ...]
    n_estimators: int
    n_splits: LongArray  # on each feature, in all trees
    total_decrease: Spread  # of impurity, times the weight of the nodes
    decrease_per_split: Spread
    permutation: Spread | None = None  # loss of score when the feature is permuted among out-of-bag rows
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
        """Draw bars with their spread over the trees, as an `ImportanceDisplay`."""
        from holdfast.plots.importance import ImportanceDisplay

        return ImportanceDisplay.from_result(self, ax=ax, kind=kind, max_features=max_features)

    def _view(self) -> View:
        """The features, the most important first, cut if they are many."""
        metric, order = self.metric, self.order.tolist()
        score = [] if metric is None else [f"{'rise' if metric.is_loss else 'loss'} of {metric.title}"]
        headings = ["feature", "splits", "total decrease", "decrease per split", *score]
        cut = f"({MOST_LINES} of {len(order)} features; to_frame() has them all)\n"
        note = f"± is one standard error over {pluralize(self.n_estimators, 'tree')}."
        table = TextTable(
            headings,
            [self._cells(place) for place in order[:MOST_LINES]],
            note=cut * (len(order) > MOST_LINES) + note,
            widths=(0, 7, *[19] * (len(headings) - 2)),
            meanings=dict.fromkeys(score, LOST),
        )
        return View(table)

    def _cells(self, place: int) -> list[str]:
        spreads = [self.total_decrease, self.decrease_per_split, self.permutation]
        return [
            shorten(printable(self.names[place]), LONGEST_NAME),
            str(self.n_splits[place]),
            *(estimate_text(spread.mean[place], spread.error[place], room=7) for spread in spreads if spread),
        ]
