"""Optimal trees: of all trees of some depth the one of the fewest errors, by pystreed."""

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from benchmarks.studies.solvers.binary_splits import BinarySplits
from benchmarks.studies.solvers.solver_tree import SolverTree, root_alone, rows_per_leaf
from holdfast.adapters import as_tree
from holdfast.data.frame import make_frame
from holdfast.data.schema import Target
from holdfast.data.target import Task
from holdfast.errors import GrowthWarning
from holdfast.estimators.base import ClassifierBase, RegressorBase
from holdfast.tree.tree import Tree

MOST_SECONDS = 600.0  # after which pystreed gives the best tree that it has


class OptimalTreeClassifier(SolverTree, ClassifierBase):
    """The tree of fewest errors, where every leaf counts as `ccp_alpha` of the rows; see `SolverTree`."""

    _task: ClassVar[Task] = "classification"

    def __init__(
        self,
        *,
        max_depth: int = 3,
        ccp_alpha: float = 0.01,
        n_thresholds: int = 7,
        custom_features: Sequence[str] | None = None,
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.ccp_alpha = ccp_alpha
        self.n_thresholds = n_thresholds
        self.custom_features = custom_features
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Find the tree on rows X with classes y."""
        X = make_frame(X)
        table, splits = self._splits(X, y)
        tree = _fewest_errors(splits, self.max_depth, self.ccp_alpha)
        self._set_classes(y, table)
        return self._set_fitted(X, tree)


class OptimalTreeRegressor(SolverTree, RegressorBase):
    """The tree of least squared error, where every leaf counts as `ccp_alpha` of the variance."""

    _task: ClassVar[Task] = "regression"

    def __init__(
        self,
        *,
        max_depth: int = 3,
        ccp_alpha: float = 0.01,
        n_thresholds: int = 7,
        custom_features: Sequence[str] | None = None,
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.ccp_alpha = ccp_alpha
        self.n_thresholds = n_thresholds
        self.custom_features = custom_features
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Find the tree on rows X with numbers y."""
        X = make_frame(X)
        _, splits = self._splits(X, y)
        return self._set_fitted(X, _least_squares(splits, self.max_depth, self.ccp_alpha))


def _fewest_errors(splits: BinarySplits, max_depth: int, ccp_alpha: float) -> Tree:
    from pystreed import STreeDClassifier

    target = splits.table.target
    classes = tuple(range(len(splits.table.schema.target.classes)))
    cost = rows_per_leaf(splits, ccp_alpha) / len(target)
    solver = STreeDClassifier(
        "cost-complex-accuracy", max_depth=max_depth, cost_complexity=cost, time_limit=MOST_SECONDS
    )
    return _solved(solver, splits, target, Target(classes=classes))


def _least_squares(splits: BinarySplits, max_depth: int, ccp_alpha: float) -> Tree:
    from pystreed import STreeDRegressor

    target = splits.table.target
    if not (spread := float(target.std())) > 0:
        return root_alone(splits)
    solver = STreeDRegressor(
        "cost-complex-regression",
        max_depth=max_depth,
        cost_complexity=ccp_alpha,  # in fractions of the variance
        use_task_lower_bound=False,  # that of 1.4.0 cuts off better trees where rows are of few kinds
        time_limit=MOST_SECONDS,
    )
    return _solved(solver, splits, (target - target.mean()) / spread, Target())


def _solved(solver: Any, splits: BinarySplits, y: Any, target: Target) -> Tree:
    """The tree that the solver finds; a GrowthWarning if it ran out of time."""
    if not splits.splits:
        return root_alone(splits)
    solver.fit(splits.answers.astype(int), y)
    if not solver.fit_result.is_optimal():
        warnings.warn(
            f"pystreed stopped after {MOST_SECONDS:g} seconds: its tree may not be the best. Fewer "
            "thresholds or a smaller depth take less time.",
            GrowthWarning,
            stacklevel=4,
        )
    return splits.with_rows(splits.on_columns(as_tree(solver, splits.schema(target))))
