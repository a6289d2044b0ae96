"""Near-optimal trees: of all trees that are nearly as good as the best, one that lies well, by ArborEnum."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from benchmarks.studies.solvers.binary_splits import BinarySplits
from benchmarks.studies.solvers.solver_tree import SolverTree, check_amount, root_alone, rows_per_leaf
from benchmarks.studies.solvers.standard_output import muted_output
from holdfast._arrays import FloatArray
from holdfast.data.frame import make_frame
from holdfast.data.schema import Target
from holdfast.data.target import Task
from holdfast.distance.distance import distance_matrix
from holdfast.estimators.base import ClassifierBase
from holdfast.evaluate.measures import join_schemas
from holdfast.tree.tree import Tree

MOST_TREES = 500  # distances of all pairs are needed


class NearOptimalTreeClassifier(SolverTree, ClassifierBase):
    """The medoid of the near-optimal set: the tree of the least mean distance to all others of the set.

    The objective of a tree is its errors, and `ccp_alpha` of the rows for every leaf (see `SolverTree`). The
    set has all trees whose objective is within a fraction `tolerance` of the best; of more than 500, the best
    ones, none without its equals.
    """

    _task: ClassVar[Task] = "classification"

    def __init__(
        self,
        *,
        max_depth: int = 3,
        ccp_alpha: float = 0.01,
        tolerance: float = 0.05,
        n_thresholds: int = 7,
        custom_features: Sequence[str] | None = None,
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.ccp_alpha = ccp_alpha
        self.tolerance = tolerance
        self.n_thresholds = n_thresholds
        self.custom_features = custom_features
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Find the set on rows X with classes y, and take its medoid."""
        return self._fit(X, y, None)

    def _fit(self, X: Any, y: Any, near: Tree | None) -> Self:
        """Take the tree of the set that is nearest to another one; the medoid, if there is none."""
        X = make_frame(X)
        check_amount("tolerance", self.tolerance)
        table, splits = self._splits(X, y)
        trees = near_optimal_trees(splits, self.max_depth, self.ccp_alpha, self.tolerance)
        tree = trees[_medoid(trees) if near is None else _nearest(trees, near)]
        self._set_classes(y, table)
        return self._set_fitted(X, splits.with_rows(tree))


class NearestTreeClassifier(NearOptimalTreeClassifier):
    """The same; trained again, the tree of the new set that is nearest to the tree before."""

    def fit_again(self, previous: NearOptimalTreeClassifier, X: Any, y: Any) -> Self:
        """Find the set on rows X with classes y, and take its tree nearest to that of the model before."""
        return self._fit(X, y, previous.tree_)


def near_optimal_trees(
    splits: BinarySplits, max_depth: int, ccp_alpha: float, tolerance: float
) -> list[Tree]:
    """The trees of the set, the best first. Their leaves say a class, and have no counts."""
    from arborenum import ArborEnum

    from benchmarks.studies.solvers.arborenum_trees import read_trees

    if not splits.splits:
        return [root_alone(splits)]
    target = splits.table.target
    solver = ArborEnum()
    with muted_output():
        solver.fit(
            splits.answers.astype(np.float64),
            target,
            proxy_mode="continuous",  # with this, such a lookahead and exact keys no tree is missed
            lookahead_k=max(max_depth - 1, 1),
            key_mode="exact",
            depth_budget=max_depth,
            lambda_reg=rows_per_leaf(splits, ccp_alpha) / len(target),
            rashomon_mult=tolerance,
        )
    classes = tuple(range(len(splits.table.schema.target.classes)))
    schema = splits.schema(Target(classes=classes))
    histogram = solver.get_root_histogram()
    limit = (1 + tolerance) * histogram[0][0] + 1e-9  # which ArborEnum rounds to a whole row
    numbers = best_trees([each for each in histogram if each[0] <= limit], MOST_TREES)
    return [splits.on_columns(tree) for tree in read_trees(solver, numbers, schema)]


def best_trees(histogram: Sequence[tuple[int, int]], most: int) -> list[int]:
    """Numbers of trees that stand in the order of their objectives, of which a histogram is given.

    All trees of one objective are taken or none; but of the best one, if they are too many, some at equal
    steps.

    >>> best_trees([(30, 2), (31, 3), (33, 9)], 6), best_trees([(30, 5)], 3)
    ([0, 1, 2, 3, 4], [0, 2, 4])
    """
    total = np.cumsum([count for _, count in histogram])
    if total[0] > most:
        return [int(number) for number in np.linspace(0, total[0] - 1, most).round()]
    return list(range(int(total[total <= most][-1])))


def _medoid(trees: Sequence[Tree]) -> int:
    """The tree of the least mean distance to all; of equal ones the best."""
    return int(_rounded(distance_matrix(trees).mean(axis=1)).argmin())


def _nearest(trees: Sequence[Tree], other: Tree) -> int:
    """The tree that is nearest to the other one, which may know other columns; of equal ones the best.

    Distances do not see where missing values go, so that of two trees at the same one the size tells more.
    """
    schema = join_schemas(trees[0].schema, other.schema)
    placed = [tree.with_schema(schema) for tree in trees]
    distances = _rounded(distance_matrix([other.with_schema(schema)], placed)[0])
    differences = np.array([abs(tree.n_leaves - other.n_leaves) for tree in trees])
    return int(np.lexsort((differences, distances))[0])


def _rounded(distances: FloatArray) -> FloatArray:
    """The distances without their last bits, which decide nothing."""
    return np.round(distances, 9)
