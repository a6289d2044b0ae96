"""Pruning: nested subtrees by cost-complexity, depth or leaves, merging of leaves, and C4.5's pruning."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, Literal, overload

import numpy as np

from holdfast._arrays import FloatArray, IntArray, LongArray, freeze, scale_back, scale_to_unit
from holdfast._check import check_fraction, check_number
from holdfast.adapters import as_tree
from holdfast.data.survival import describe_misfit
from holdfast.data.table import Table
from holdfast.errors import ParameterError, SchemaMismatch
from holdfast.growth.leaf_values import refit_values
from holdfast.growth.rules import CLASS_CRITERIA, ClassWeight, GrowthRules, class_impurity
from holdfast.growth.sample import FixedPointSample, fixed_point_sample
from holdfast.kernels.growth.leaf_values import ROUNDING, weakest_links
from holdfast.tree.predict import Routes
from holdfast.tree.prune import TIED, prune_at, prune_to_lowest_cost, rearrange_nodes
from holdfast.tree.recorded import set_recorded
from holdfast.tree.stats import expected_losses
from holdfast.tree.tree import LEAF, Tree

SizeParameter = Literal["ccp_alpha", "max_depth", "max_leaf_nodes"]
# The value of each parameter that does not limit the size of a tree.
UNLIMITED: dict[SizeParameter, Any] = {"ccp_alpha": 0.0, "max_depth": None, "max_leaf_nodes": None}
DIGITS = 12  # decimals of gains as fractions of the root's risk, so that rounding breaks no ties
LEAST = float(np.nextafter(0.0, 1.0))


@dataclass(frozen=True, eq=False, repr=False)
class PruningPath:
    """Nested subtrees of one tree, from the whole tree to the root."""

    tree: Tree
    parameter: SizeParameter
    values: FloatArray  # of the parameter, for which each subtree is the result
    n_leaves: LongArray
    risks: FloatArray  # total risk of the leaves per row
    step: LongArray  # for every node, the first subtree in which it is a leaf or gone; 0 at the tree's leaves

    def __post_init__(self) -> None:
        for name in ("values", "n_leaves", "risks", "step"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    @property
    def alphas(self) -> FloatArray:
        """Complexity parameter from which each subtree is optimal; 0 for the whole tree."""
        if self.parameter != "ccp_alpha":
            raise AttributeError(f"A path by {self.parameter} has no alphas: it has values.")
        return self.values

    @property
    def complexity(self) -> FloatArray:
        """Alphas as fractions of the root's risk (rpart's CP)."""
        return np.asarray(self.alphas / (self.risks[-1] or 1.0), np.float64)

    @cached_property
    def gone(self) -> LongArray:
        """For every node, the first subtree without it; for the root, the number of subtrees."""
        return freeze(np.append(self.step, len(self))[self.tree.parent])

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, place: int) -> Tree: ...
    @overload
    def __getitem__(self, place: slice) -> list[Tree]: ...
    def __getitem__(self, place: int | slice) -> Tree | list[Tree]:
        if isinstance(place, slice):
            return [self[each] for each in range(len(self))[place]]
        return prune_at(self.tree, self.step <= range(len(self))[place])

    def __iter__(self) -> Iterator[Tree]:
        return (self[place] for place in range(len(self)))

    def place_of(self, value: float) -> int:
        """Return the subtree for an alpha, a greatest depth or a number of leaves."""
        if self.parameter != "ccp_alpha":
            return int(np.searchsorted(-self.values, -value, side="left").clip(0, len(self) - 1))
        return int(np.searchsorted(self.values, value, side="right")) - 1 if value > 0 else 0

    def tree_at(self, value: float) -> Tree:
        """Return the tree for a value of the parameter."""
        return self[self.place_of(value)]

    def columns(self) -> dict[str, list[Any]]:
        """Column names and one entry per subtree."""
        root = float(self.risks[-1]) or 1.0
        return {
            self.parameter: self.values.tolist(),
            "n_leaves": self.n_leaves.tolist(),
            "risk": self.risks.tolist(),
            "relative_error": (self.risks / root).tolist(),
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a pandas, polars or pyarrow frame (the first installed) with one row per subtree."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        types: dict[str, Any] = dict.fromkeys(columns, nw.Float64) | {"n_leaves": nw.Int64}
        return frame_from(columns, types, backend)

    def plot(self, ax: Any = None, *, by: Literal["n_leaves", "parameter"] = "n_leaves") -> Any:
        """Plot the risk by the number of leaves, or by="parameter"; returns a `PruningDisplay`."""
        from holdfast.plots.pruning import PruningDisplay

        return PruningDisplay.from_result(self, ax=ax, by=by)

    def __repr__(self) -> str:
        sizes = f"{len(self)} subtrees, {self.n_leaves[0]} leaves to {self.n_leaves[-1]}"
        return f"<PruningPath: {sizes}, by {self.parameter}>"


def pruning_path(tree: Tree, risk: str | None = None) -> PruningPath:
    """Compute minimal cost-complexity pruning: subtrees of least risk + alpha * leaves.

    Parameters
    ----------
    tree : Tree
    risk : str, optional
        Default: the impurity by which the tree was grown; or another classification criterion such as
        "misclassification".

    Returns
    -------
    PruningPath
        The whole tree first, with alpha 0. Alphas are in units of risk per row, as in scikit-learn. Splits
        that do not lower the risk are undone first, at the smallest number above 0.

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0], [3.0], [4.0]], ["a", "b", "a", "a"]))
    >>> path = pruning_path(tree, risk="misclassification")
    >>> print(path.alphas, path.n_leaves, path.risks)
    [0.    0.125] [3 1] [0.   0.25]
    """
    tree = as_tree(tree)
    node_risks = node_risk(tree, risk)
    risks, exponent = scale_to_unit(node_risks)  # so that sums are finite
    alphas = np.empty(tree.n_nodes)
    weakest_links(tree.left, tree.right, risks, alphas)
    inner = np.flatnonzero(tree.feature != LEAF)
    order = inner[np.argsort(alphas[inner], kind="stable")]
    rounding = ROUNDING * risks[order]
    starts = np.diff(alphas[order], prepend=-np.inf) > np.maximum(
        rounding, np.append(0.0, rounding[:-1])[: len(rounding)]
    )
    step = np.zeros(tree.n_nodes, np.int64)
    step[order] = np.cumsum(starts)
    last_of_step = np.flatnonzero(np.append(starts[1:], True))[: len(order)]
    # Splits that lower no risk get the least number above 0, since 0 itself is the whole tree.
    values = np.append(0.0, np.maximum(scale_back(alphas[order[last_of_step]], exponent), LEAST))
    return _path(tree, "ccp_alpha", values, step, node_risks)


def depth_path(tree: Tree) -> PruningPath:
    """Cut the tree at every depth, as if grown with that `max_depth`."""
    inner = tree.feature != LEAF
    step = np.where(inner, tree.depth - tree.node_depth, 0).astype(np.int64)
    return _path(tree, "max_depth", np.arange(tree.depth, -1.0, -1.0), step, node_risk(tree))


def leaves_path(tree: Tree) -> PruningPath:
    """Order splits by gain, as if grown best-first with each `max_leaf_nodes`."""
    risks = node_risk(tree)
    step = np.zeros(tree.n_nodes, np.int64)
    waiting = [(0.0, 0, 0)]  # the greatest gain first, then the oldest node, as in growth
    age = 0
    for undone in range(tree.n_leaves - 1, 0, -1):
        *_, node = heapq.heappop(waiting)
        step[node] = undone
        for child in (int(tree.left[node]), int(tree.right[node])):
            age += 1
            if tree.feature[child] != LEAF:
                gain = risks[child] - risks[tree.left[child]] - risks[tree.right[child]]
                heapq.heappush(waiting, (-round(float(gain / risks[0]), DIGITS), age, child))
    return _path(tree, "max_leaf_nodes", np.arange(tree.n_leaves, 0.0, -1.0), step, risks)


def prune(tree: Tree, alpha: float, risk: str | None = None) -> Tree:
    """Return the smallest subtree of least risk + alpha * leaves.

    Parameters
    ----------
    tree : Tree
    alpha : float
        Cost of a leaf; 0 prunes nothing.
    risk : str, optional
        See `pruning_path`.

    Returns
    -------
    Tree

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0], [3.0], [4.0]], ["a", "b", "a", "a"]))
    >>> [prune(tree, alpha, risk="misclassification").n_leaves for alpha in (0.1, 0.2)]
    [3, 1]
    """
    return pruning_path(tree, risk).tree_at(check_alpha("alpha", alpha))


def check_alpha(name: str, alpha: Any) -> float:
    """Check that the value is a number of at least 0."""
    return float(check_number(name, alpha, is_finite=False))  # infinity prunes all


def _path(
    tree: Tree, parameter: SizeParameter, values: FloatArray, step: LongArray, risks: FloatArray
) -> PruningPath:
    """Make the path on which each split is undone at its step."""
    inner = np.flatnonzero(tree.feature != LEAF)
    risks, exponent = scale_to_unit(risks)
    n_undone = np.bincount(step[inner], minlength=len(values)).cumsum()
    saved = risks[inner] - (risks[tree.left[inner]] + risks[tree.right[inner]])
    # Summed from the root downwards, the last subtree first.
    of_step = np.bincount(step[inner], saved, minlength=len(values) + 1)[: len(values) + 1]
    saved_after = np.append(0.0, np.cumsum(of_step[:0:-1]))[::-1]
    return PruningPath(
        tree=tree,
        parameter=parameter,
        values=values,
        n_leaves=1 + len(inner) - n_undone,
        risks=scale_back(np.maximum(risks[0] - saved_after[: len(values)], 0.0), exponent),
        step=step,
    )


# -- Risk of a node as a leaf --------------------------------------------------------------------------------

_ERRORS = ("misclassification", "purity")


def least_loss(tree: Tree) -> FloatArray:
    """Compute the expected cost per row of the class that each node predicts."""
    assert tree.loss_matrix is not None
    expected = expected_losses(tree.value, tree.loss_matrix)
    return np.asarray(expected[np.arange(tree.n_nodes), tree.outcome], np.float64)


def node_risk(tree: Tree, risk: str | None = None) -> FloatArray:
    """Compute impurity times weight fraction of every node; the sum over the leaves is the risk of the tree.

    `risk` names a classification criterion such as "misclassification"; the default is the criterion of the
    tree. Regression trees use their own: squared error, half the Poisson deviance, or the pinball loss. With
    a loss matrix, errors count by their losses, also by default.
    """
    impurity = tree.impurity
    if tree.schema.target.is_classes:
        if tree.loss_matrix is not None and risk in (None, *_ERRORS):
            check_counts(tree)
            return np.asarray(least_loss(tree) * (tree.weight / tree.weight[0]), np.float64)
        name = tree.criterion if risk is None else risk
        if risk is None and name not in CLASS_CRITERIA:
            raise ParameterError(
                f"The tree was grown by {name!r}, which is no measure of risk: give one such as 'gini'."
            )
        if name not in CLASS_CRITERIA:
            raise ParameterError(
                f"risk={name!r} is not one for classes: choose one of {sorted(CLASS_CRITERIA)}."
            )
        impurity = class_impurity(CLASS_CRITERIA[name], tree.value)
    elif risk not in (None, tree.criterion):
        raise ParameterError(
            f"risk={risk!r} is not available for this regression tree, which was grown by "
            f"{tree.criterion!r}: leave it None."
        )
    check_counts(tree)
    return np.asarray(impurity * (tree.weight / tree.weight[0]), np.float64)


def check_counts(tree: Tree) -> None:
    """Raise a ParameterError unless the tree knows the row counts of its nodes."""
    if not tree.weight[0] > 0:
        raise ParameterError(
            "The tree does not know how many rows reach its nodes, so that it cannot be pruned."
        )


# -- Pruning by the growth rules -----------------------------------------------------------------------------


def prune_by_rules(
    tree: Tree, rules: GrowthRules, table: Table, fixed: FixedPointSample, counts: IntArray
) -> Tree:
    """Prune the tree as the rules require, by the rows that it was grown on."""
    if not fixed.n_classes:
        for name, default in (("pruning_confidence", None), ("merge_leaves", False)):
            if (value := getattr(rules, name)) is not default:
                raise ParameterError(
                    f"{name}={value!r} is for classification; {table.schema.target.name!r} is numeric: "
                    "use ccp_alpha."
                )
    if rules.ccp_risk is not None:
        node_risk(tree, rules.ccp_risk)  # raises an error for an unknown name, also without an alpha
    if rules.pruning_confidence is not None and rules.loss_matrix is not None:
        raise ParameterError(
            f"pruning_confidence={rules.pruning_confidence!r} counts errors and ignores the loss_matrix: "
            "prune by ccp_alpha, or leave one of the two out."
        )
    if rules.pruning_confidence is not None and rules.subtree_raising:
        tree = _raise_subtrees(tree, table, fixed, counts, rules.pruning_confidence)
    elif rules.pruning_confidence is not None:
        tree = _replace_subtrees(tree, rules.pruning_confidence)
    if rules.ccp_alpha > 0:
        tree = prune(tree, rules.ccp_alpha, rules.ccp_risk)
    return merge_leaves(tree) if rules.merge_leaves else tree


# -- Merging of leaves that predict the same class -----------------------------------------------------------


def merge_leaves(tree: Tree) -> Tree:
    """Merge sibling leaves of the same class until all siblings differ.

    Parameters
    ----------
    tree : Tree
        A classification tree.

    Returns
    -------
    Tree
        Predicts the same classes, with other fractions.

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0], [2.0], [3.0]], ["a", "a", "b", "a"]))
    >>> tree.n_leaves, merge_leaves(tree).n_leaves
    (3, 1)
    """
    tree = as_tree(tree)
    if not tree.schema.target.is_classes:
        raise ParameterError(
            f"merge_leaves compares classes, and the target {tree.schema.target.name!r} is a number: "
            "leave it out."
        )
    is_leaf = tree.feature == LEAF
    outcome, left, right = tree.outcome.tolist(), tree.left.tolist(), tree.right.tolist()
    for node in range(tree.n_nodes - 1, -1, -1):  # preorder: children stand after their parent
        if left[node] != LEAF and is_leaf[left[node]] and is_leaf[right[node]]:
            is_leaf[node] = outcome[left[node]] == outcome[right[node]]
    return prune_at(tree, np.asarray(is_leaf))


# -- Checks of rows ------------------------------------------------------------------------------------------

_WAY_OUT = "read them with schema=tree.schema."


def check_rows(tree: Tree, table: Any) -> None:
    """Raise an error unless the table has the columns and classes of the tree in the same order."""
    if not isinstance(table, Table):
        raise TypeError(
            f"The rows to prune by are a {type(table).__name__}: make a table of them, "
            "Table.from_arrays(X, y, schema=tree.schema)."
        )
    if tree.schema.names != table.schema.names:
        raise SchemaMismatch(f"The rows to prune by have other columns than the tree: {_WAY_OUT}")
    if tree.schema.target.classes != table.schema.target.classes:
        raise SchemaMismatch(f"The rows to prune by have other classes than the tree: {_WAY_OUT}")
    if (problem := describe_misfit(tree.schema.target, table.schema.target)) is not None:
        raise SchemaMismatch(f"{problem} {_WAY_OUT}")


# -- C4.5's pruning ------------------------------------------------------------------------------------------

SAME = 1e-6  # greatest difference of class fractions at the root for the same rows


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
        return _replace_subtrees(tree, confidence)
    check_rows(tree, table)
    fixed = fixed_point_sample(table, GrowthRules(criterion=tree.criterion, class_weight=class_weight))
    root = prune_at(tree, tree.node_depth == 0)
    fractions = refit_values(root, table, fixed, fixed.repeats).value
    if np.abs(fractions - tree.value[0]).max() > SAME:
        raise ParameterError(
            "The tree was not grown on these rows, or with another class_weight: the fractions of the "
            f"classes are {_format_fractions(fractions[0])}, and at its root "
            f"{_format_fractions(tree.value[0])}. Give the table and the class_weight that it was grown "
            "with, or no table."
        )
    smaller = _raise_subtrees(tree, table, fixed, fixed.repeats, confidence)
    return tree if smaller is tree else set_recorded(smaller, table)


def _format_fractions(fractions: FloatArray) -> str:
    return ", ".join(f"{fraction:.4g}" for fraction in fractions)


def _replace_subtrees(tree: Tree, confidence: float) -> Tree:
    """Replace subtrees by leaves, from the leaves upwards."""
    weight, _ = scale_to_unit(tree.weight)
    rows = weight * (tree.count[0] / weight[0])  # independent of the unit of the weights
    expected = rows * error_bound(rows * (1.0 - tree.value.max(axis=1)), rows, confidence)
    return prune_to_lowest_cost(tree, expected)


# -- subtree raising ------------------------------------------------------------------------------------


def _raise_subtrees(
    tree: Tree, table: Table, fixed: FixedPointSample, counts: IntArray, confidence: float
) -> Tree:
    work = _RaisingState.of(tree, table, fixed, counts, confidence)
    work.prune_all()
    smaller = work.build(tree)
    # The rows of a raised branch have changed.
    return smaller if smaller is tree else refit_values(smaller, table, fixed, counts)


@dataclass(eq=False)
class _RaisingState:
    """A tree during pruning; nodes keep their numbers, a raised branch takes its parent's."""

    routes: Routes  # writable copies
    source: LongArray  # the node whose split each node has; LEAF at a leaf
    X: FloatArray
    rows: IntArray  # in the order of the leaves
    start: LongArray  # where the rows of each node begin, and where they end
    end: LongArray
    label: LongArray  # of every row of the table
    weight: LongArray  # of every row of the table, in units
    rows_per_unit: float
    of_class: LongArray  # (nodes, classes) weight of each class
    as_leaf: FloatArray  # expected errors of each node as a leaf
    expected: FloatArray  # expected errors of each pruned subtree
    confidence: float

    @classmethod
    def of(
        cls, tree: Tree, table: Table, fixed: FixedPointSample, counts: IntArray, confidence: float
    ) -> "_RaisingState":
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
            source=np.where(tree.feature == LEAF, LEAF, nodes),
            X=freeze(table.rows(used.tolist())),
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
        return self.routes.leaves(self.X, freeze(self.rows[self.start[node] : self.end[node]]), top)

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
            if self.source[node] != LEAF:
                left, right = self.routes.left[node], self.routes.right[node]
                self.of_class[node] = self.of_class[left] + self.of_class[right]
                self.end[node] = self.end[right]
        self.as_leaf[nodes] = self._errors(self.of_class[nodes])

    def prune_all(self) -> None:
        """Prune every subtree from the bottom up."""
        waiting = list(range(len(self.source)))
        while waiting:
            node = waiting.pop()
            if self.source[node] == LEAF:
                self.expected[node] = self.as_leaf[node]
            elif (branch := self._find_branch(node)) is not None:
                self._raise(node, *branch)
                # Its rows and errors have changed: prune the raised branch once more.
                waiting += self._subtree(node).tolist()

    def _find_branch(self, node: int) -> tuple[int, IntArray] | None:
        """Return the branch that should replace the subtree; None if it stays or becomes a leaf."""
        left, right = int(self.routes.left[node]), int(self.routes.right[node])
        as_it_is = self.expected[left] + self.expected[right]
        as_leaf = float(self.as_leaf[node])
        larger = left if self.of_class[left].sum() >= self.of_class[right].sum() else right
        as_branch, leaves = inf, None
        if self.source[larger] != LEAF:
            leaves = self.leaves(node, larger)
            as_branch = self._errors_below(node, leaves)
        if as_leaf <= min(as_it_is, as_branch) * (1.0 + TIED):
            self.source[node] = self.routes.feature[node] = LEAF
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
        reached, place = np.unique(leaves, return_inverse=True)
        of_class = np.zeros((len(reached), self.of_class.shape[1]), np.int64)
        np.add.at(of_class, (place, self.label[rows]), self.weight[rows])
        return float(self._errors(of_class).sum())

    def _raise(self, node: int, branch: int, leaves: IntArray) -> None:
        """Replace the node by the branch, which takes all its rows."""
        routes = self.routes
        for name in ("feature", "threshold", "left", "right", "missing_left", "set_start", "n_categories"):
            array = getattr(routes, name)
            array[node] = array[branch]
        self.source[node] = self.source[branch]
        self.take_rows(self._subtree(node), leaves)

    def _subtree(self, top: int) -> LongArray:
        """List the nodes of a subtree in preorder."""
        nodes, waiting = [], [top]
        while waiting:
            node = waiting.pop()
            nodes.append(node)
            if self.source[node] != LEAF:
                waiting += (int(self.routes.right[node]), int(self.routes.left[node]))
        return np.array(nodes, np.int64)

    def build(self, tree: Tree) -> Tree:
        """Return the pruned tree, its nodes with the values they had before."""
        nodes = self._subtree(0)
        if len(nodes) == tree.n_nodes:
            return tree
        place = np.full(tree.n_nodes + 1, LEAF, np.int32)
        place[nodes] = np.arange(len(nodes))
        inner = self.source[nodes] != LEAF
        left, right = (
            place[np.where(inner, side[nodes], LEAF)] for side in (self.routes.left, self.routes.right)
        )
        return rearrange_nodes(tree, nodes, self.source[nodes], left, right)
