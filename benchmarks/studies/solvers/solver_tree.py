"""What the trees of solvers share: parameters, and rows that become columns of zeros and ones."""

from numbers import Integral, Real
from typing import Any, ClassVar

from benchmarks.studies.solvers.binary_splits import BinarySplits
from holdfast.data.frame import Frame
from holdfast.data.table import Table
from holdfast.data.target import Task
from holdfast.errors import ParameterError
from holdfast.estimators.base import TreeEstimator
from holdfast.tree.tree import Tree


class SolverTree(TreeEstimator):
    """An estimator whose tree a solver of another library has found.

    The tree is the best, or one of the best, of those that have at most `max_depth` questions on a path. A
    leaf costs as much as a fraction `ccp_alpha` of the rows being wrong, or of the variance left. The solver
    chooses from `n_thresholds` splits of every column (see `BinarySplits`) and the user's `questions`, and
    takes no weights. Nothing is drawn by chance: `random_state` is there because all methods of an audit have
    one.
    """

    _task: ClassVar[Task]

    # What other estimators have as parameters.
    categorical_features: Any = "from_dtype"
    handle_unknown: str = "missing"
    handle_missing: str = "learned"

    # The parameters that the methods here read.
    max_depth: int
    ccp_alpha: float
    n_thresholds: int

    def _splits(self, X: Frame, y: Any) -> tuple[Table, BinarySplits]:
        """The rows as they came, and what a solver is given of them."""
        _check_integer("max_depth", self.max_depth)
        _check_integer("n_thresholds", self.n_thresholds)
        check_amount("ccp_alpha", self.ccp_alpha)
        table = self._table(X, y, None, self._task)
        return table, BinarySplits.of(table, self.n_thresholds)


def root_alone(splits: BinarySplits) -> Tree:
    """The tree that asks nothing."""
    classes = splits.table.schema.target.classes
    return splits.with_rows(
        Tree.from_nodes(splits.table.schema, {"value": classes[0] if classes else 0.0, "count": 0})
    )


def rows_per_leaf(splits: BinarySplits, ccp_alpha: float) -> int:
    """What a leaf costs, in rows that are wrong: at least one, so that no leaf is for nothing."""
    return max(round(ccp_alpha * splits.table.n_rows), 1)


def check_amount(name: str, value: Any) -> None:
    """Raise a ParameterError unless the value is a number of at least 0."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) < float("inf"):
        raise ParameterError(f"{name}={value!r} is out of range: it must be a number of at least 0.")


def _check_integer(name: str, value: Any) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ParameterError(f"{name}={value!r} is out of range: it must be an integer of at least 1.")
