"""C4.5's pruning: a subtree gives way unless it lowers the upper bound of the errors to be expected.

A leaf of N rows with E errors is expected to err on N * U(E, N) of as many new ones: U is the error rate at
which so few errors, or fewer, come about with no more than the given probability. Small leaves look bad.
"""

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from holdfast._check import check_fraction
from holdfast.adapters import as_tree
from holdfast.arrays import FloatArray, IntArray, LongArray, frozen, scaled
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.pruning.fitting import check_rows
from holdfast.growth.pruning.risk import check_counts
from holdfast.growth.rules import ClassWeight, GrowthRules
from holdfast.growth.sample import FixedPointSample, fixed_point_sample
from holdfast.growth.values import refit_values
from holdfast.tree.prune import TIED, prune_at, prune_to_lowest_cost, rearrange_nodes
from holdfast.tree.recorded import set_recorded
from holdfast.tree.route import Routes
from holdfast.tree.tree import LEAF, Tree

SAME = 1e-6  # fractions of the classes at the root that differ by more are those of other rows


def error_bound(errors: Any, rows: Any, confidence: float = 0.25) -> Any:
    """Compute the upper confidence bound of an error rate, as C4.5 does.

    Parameters
    ----------
    errors, rows : array-like
        Numbers of errors and rows, or their weights.
    confidence : float
        Level of the exact (Clopper-Pearson) binomial bound.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> float(error_bound(0, 6).round(4)), float(error_bound(1, 16).round(4))
    (0.2063, 0.1596)
    """
    from scipy.special import betaincinv

    check_fraction("confidence", confidence)
    wrong, n = np.broadcast_arrays(np.asarray(errors, np.float64), np.asarray(rows, np.float64))
    right = np.maximum(n - wrong, 0.0)
    some = right > TIED * np.maximum(n, 1.0)
    bound = betaincinv(wrong + 1.0, np.where(some, right, 1.0), 1.0 - confidence)
    return np.where(some, bound, np.where(n > 0, 1.0, 0.0))


def prune_pessimistic(
    tree: Tree,
    confidence: float = 0.25,
    *,
    table: Table | None = None,
    subtree_raising: bool = True,
    class_weight: ClassWeight = None,
) -> Tree:
    """Replace subtrees whose expected errors are not below those of a leaf or of a branch, as C4.5 does.

    Parameters
    ----------
    tree : Tree
    confidence : float
        See `error_bound`.
    table : Table, optional
        The training rows, needed to raise branches: rows of the smaller branch then pass through the larger
        one. All node values are refitted to them.
    subtree_raising : bool
        Let a branch replace its parent.
    class_weight : dict or "balanced", optional
        As it was when the tree was grown.

    Returns
    -------
    Tree
    """
    check_fraction("confidence", confidence)
    tree = as_tree(tree)
    if not tree.schema.target.is_classes:
        raise ParameterError(
            f"Pessimistic pruning counts errors, and the target {tree.schema.target.name!r} is a number: "
            "prune it by cost and complexity."
        )
    check_counts(tree)
    if table is None or not subtree_raising:
        return _replaced(tree, confidence)
    check_rows(tree, table)
    fixed = fixed_point_sample(table, GrowthRules(criterion=tree.criterion, class_weight=class_weight))
    root = prune_at(tree, tree.node_depth == 0)
    fractions = refit_values(root, table, fixed, fixed.repeats).value
    if np.abs(fractions - tree.value[0]).max() > SAME:
        raise ParameterError(
            "The tree was not grown on these rows, or its classes were weighted otherwise: the fractions of "
            f"the classes are {_listed(fractions[0])}, and at its root {_listed(tree.value[0])}. Give the "
            "table and the class_weight that it was grown with, or no table."
        )
    smaller = _raised(tree, table, fixed, fixed.repeats, confidence)
    return tree if smaller is tree else set_recorded(smaller, table)


def _listed(fractions: FloatArray) -> str:
    return ", ".join(f"{fraction:.4g}" for fraction in fractions)


def prune_grown_pessimistically(
    tree: Tree, rules: GrowthRules, table: Table, fixed: FixedPointSample, counts: IntArray
) -> Tree:
    """Prune a tree on the rows that it was grown on; raise subtrees if the rules ask for it."""
    if rules.pruning_confidence is None:
        return tree
    if not rules.subtree_raising:
        return _replaced(tree, rules.pruning_confidence)
    return _raised(tree, table, fixed, counts, rules.pruning_confidence)


def _replaced(tree: Tree, confidence: float) -> Tree:
    """Replace subtrees by leaves, from the leaves upwards."""
    weight, _ = scaled(tree.weight)
    rows = weight * (tree.count[0] / weight[0])  # so that the unit of the weights does not matter
    expected = rows * error_bound(rows * (1.0 - tree.value.max(axis=1)), rows, confidence)
    return prune_to_lowest_cost(tree, expected)


# -- raising --------------------------------------------------------------------------------------------


def _raised(tree: Tree, table: Table, fixed: FixedPointSample, counts: IntArray, confidence: float) -> Tree:
    work = _Work.of(tree, table, fixed, counts, confidence)
    work.settle_all()
    smaller = work.finished(tree)
    # A branch that has moved up holds other rows than before.
    return smaller if smaller is tree else refit_values(smaller, table, fixed, counts)


@dataclass(eq=False)
class _Work:
    """A tree during pruning; nodes keep their numbers, a raised branch takes its parent's."""

    routes: Routes  # arrays that are written to
    asks: LongArray  # whose question each node asks; LEAF at a leaf
    X: FloatArray
    rows: IntArray  # in the order of the leaves
    start: LongArray  # where the rows of each node begin, and where they end
    end: LongArray
    label: LongArray  # of every row of the table
    weight: LongArray  # of every row of the table, as an integer: sums do not depend on the order of rows
    rows_per_unit: float
    of_class: LongArray  # (nodes, classes) weight of each class
    as_leaf: FloatArray  # errors to be expected of each node, were it a leaf
    expected: FloatArray  # errors of the subtree, as far as it is settled
    confidence: float

    @classmethod
    def of(
        cls, tree: Tree, table: Table, fixed: FixedPointSample, counts: IntArray, confidence: float
    ) -> "_Work":
        """Start from the whole tree with the rows that it was grown on."""
        used = np.unique(tree.feature[tree.feature != LEAF])
        routes = Routes.of(tree, used)
        names = ("feature", "threshold", "left", "right", "missing_left", "set_start", "n_categories")
        own = {name: getattr(routes, name).copy() for name in names}
        rows = np.flatnonzero(counts).astype(np.int32)
        weight = counts.astype(np.int64) if fixed.weight is None else counts * fixed.weight
        nodes = np.arange(tree.n_nodes)
        work = cls(
            routes=Routes(**own, in_set=tree.in_set),
            asks=np.where(tree.feature == LEAF, LEAF, nodes),
            X=frozen(table.rows(used.tolist())),
            rows=rows,
            start=np.zeros(tree.n_nodes, np.int64),
            end=np.full(tree.n_nodes, len(rows)),
            label=fixed.label,
            weight=weight,
            rows_per_unit=float(counts.sum(dtype=np.int64)) / float(weight.sum()),
            of_class=np.zeros((tree.n_nodes, fixed.n_classes), np.int64),
            as_leaf=np.zeros(tree.n_nodes),
            expected=np.zeros(tree.n_nodes),
            confidence=confidence,
        )
        work.take_rows(nodes, work.leaves(0, 0))
        return work

    def leaves(self, node: int, top: int) -> IntArray:
        """Return the leaf below `top` that each row of the node reaches."""
        return self.routes.leaves(self.X, frozen(self.rows[self.start[node] : self.end[node]]), top)

    def take_rows(self, nodes: LongArray, leaves: IntArray) -> None:
        """Divide the rows of a node among its subtree, in preorder."""
        first, last = self.start[nodes[0]], self.end[nodes[0]]
        rows = self.rows[first:last]
        self.of_class[nodes] = 0
        np.add.at(self.of_class, (leaves, self.label[rows]), self.weight[rows])
        n_rows = np.bincount(leaves, minlength=nodes[-1] + 1)
        self.rows[first:last] = rows[np.argsort(leaves, kind="stable")]
        before = first
        for node in nodes.tolist():
            self.start[node], self.end[node] = before, before + n_rows[node]
            before += n_rows[node]
        for node in nodes[::-1].tolist():  # children stand after their parent, and their rows are next to it
            if self.asks[node] != LEAF:
                left, right = self.routes.left[node], self.routes.right[node]
                self.of_class[node] = self.of_class[left] + self.of_class[right]
                self.end[node] = self.end[right]
        self.as_leaf[nodes] = self._errors(self.of_class[nodes])

    def settle_all(self) -> None:
        """Prune every subtree from the bottom up."""
        waiting = list(range(len(self.asks)))
        while waiting:
            node = waiting.pop()
            if self.asks[node] == LEAF:
                self.expected[node] = self.as_leaf[node]
            elif (branch := self._settled(node)) is not None:
                self._raise(node, *branch)
                # Other rows, other errors: all that stands there now is looked at once more.
                waiting += self._subtree(node).tolist()

    def _settled(self, node: int) -> tuple[int, IntArray] | None:
        """Return the branch that should replace the subtree; None if it stays or becomes a leaf."""
        left, right = int(self.routes.left[node]), int(self.routes.right[node])
        as_it_is = self.expected[left] + self.expected[right]
        as_leaf = float(self.as_leaf[node])
        larger = left if self.of_class[left].sum() >= self.of_class[right].sum() else right
        as_branch, leaves = inf, None
        if self.asks[larger] != LEAF:
            leaves = self.leaves(node, larger)
            as_branch = self._errors_below(node, leaves)
        if as_leaf <= min(as_it_is, as_branch) * (1.0 + TIED):
            self.asks[node] = self.routes.feature[node] = LEAF
            self.expected[node] = as_leaf
            return None
        if leaves is not None and as_branch <= as_it_is * (1.0 + TIED):
            return larger, leaves
        self.expected[node] = as_it_is
        return None

    def _errors(self, of_class: LongArray) -> FloatArray:
        """Expected errors of leaves with these class counts, (leaves, classes)."""
        rows = of_class.sum(axis=1) * self.rows_per_unit
        most = of_class.max(axis=1) * self.rows_per_unit
        return np.asarray(rows * error_bound(rows - most, rows, self.confidence), np.float64)

    def _errors_below(self, node: int, leaves: IntArray) -> float:
        """Expected errors if the rows of the node reach these leaves."""
        rows = self.rows[self.start[node] : self.end[node]]
        found, place = np.unique(leaves, return_inverse=True)
        of_class = np.zeros((len(found), self.of_class.shape[1]), np.int64)
        np.add.at(of_class, (place, self.label[rows]), self.weight[rows])
        return float(self._errors(of_class).sum())

    def _raise(self, node: int, branch: int, leaves: IntArray) -> None:
        """Replace the node by the branch, with all its rows."""
        routes = self.routes
        for name in ("feature", "threshold", "left", "right", "missing_left", "set_start", "n_categories"):
            array = getattr(routes, name)
            array[node] = array[branch]
        self.asks[node] = self.asks[branch]
        self.take_rows(self._subtree(node), leaves)

    def _subtree(self, top: int) -> LongArray:
        """List the nodes of a subtree in preorder."""
        nodes, waiting = [], [top]
        while waiting:
            node = waiting.pop()
            nodes.append(node)
            if self.asks[node] != LEAF:
                waiting += (int(self.routes.right[node]), int(self.routes.left[node]))
        return np.array(nodes, np.int64)

    def finished(self, tree: Tree) -> Tree:
        """Return the pruned tree, its nodes with the values they had before."""
        nodes = self._subtree(0)
        if len(nodes) == tree.n_nodes:
            return tree
        place = np.full(tree.n_nodes + 1, LEAF, np.int32)
        place[nodes] = np.arange(len(nodes))
        inner = self.asks[nodes] != LEAF
        left, right = (
            place[np.where(inner, side[nodes], LEAF)] for side in (self.routes.left, self.routes.right)
        )
        return rearrange_nodes(tree, nodes, self.asks[nodes], left, right)
