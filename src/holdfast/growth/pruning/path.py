"""Nested sequences of subtrees, from the whole tree to its root: by cost and complexity, depth, or leaves."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np

from holdfast._check import check_number
from holdfast.adapters import as_tree
from holdfast.arrays import FloatArray, LongArray, frozen, scaled, unscaled
from holdfast.growth.pruning.risk import node_risk
from holdfast.kernels.growth.prune import ROUNDING, weakest_links
from holdfast.tree.prune import prune_at
from holdfast.tree.tree import LEAF, Tree

SizeParameter = Literal["ccp_alpha", "max_depth", "max_leaf_nodes"]
# The value of each parameter that leaves a tree as large as it grows.
UNLIMITED: dict[SizeParameter, Any] = {"ccp_alpha": 0.0, "max_depth": None, "max_leaf_nodes": None}
DIGITS = 12  # of gains, as fractions of the root's risk: rounding does not tell ties apart
LEAST = float(np.nextafter(0.0, 1.0))


@dataclass(frozen=True, eq=False, repr=False)
class PruningPath:
    """Nested subtrees of one tree, from the whole tree to the root."""

    tree: Tree
    parameter: SizeParameter
    values: FloatArray  # of the parameter: the subtree is the one that it asks for
    n_leaves: LongArray
    risks: FloatArray  # what the leaves cost together, per row
    step: LongArray  # for every node, the first subtree in which it is a leaf or gone; 0 at the tree's leaves

    def __post_init__(self) -> None:
        for name in ("values", "n_leaves", "risks", "step"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

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
        return frozen(np.append(self.step, len(self))[self.tree.parent])

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
        """A `PruningDisplay`, drawn: the risk by the number of leaves, or by="parameter"."""
        from holdfast.show.plots.pruning import PruningDisplay

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
    given = node_risk(tree, risk)
    risks, exponent = scaled(given)  # whose sums are finite
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
    # Splits that lower no risk go at the least number above 0: 0 itself asks for the whole tree.
    values = np.append(0.0, np.maximum(unscaled(alphas[order[last_of_step]], exponent), LEAST))
    return _path(tree, "ccp_alpha", values, step, given)


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
    """The number, or a ParameterError if it is below 0 or none."""
    return float(check_number(name, alpha, is_finite=False))  # infinity prunes all


def _path(
    tree: Tree, parameter: SizeParameter, values: FloatArray, step: LongArray, risks: FloatArray
) -> PruningPath:
    """Make the path on which each split is undone at its step."""
    inner = np.flatnonzero(tree.feature != LEAF)
    risks, exponent = scaled(risks)
    n_undone = np.bincount(step[inner], minlength=len(values)).cumsum()
    saved = risks[inner] - (risks[tree.left[inner]] + risks[tree.right[inner]])
    # Added from the root downwards, the last subtree first.
    of_step = np.bincount(step[inner], saved, minlength=len(values) + 1)[: len(values) + 1]
    saved_after = np.append(0.0, np.cumsum(of_step[:0:-1]))[::-1]
    return PruningPath(
        tree=tree,
        parameter=parameter,
        values=values,
        n_leaves=1 + len(inner) - n_undone,
        risks=unscaled(np.maximum(risks[0] - saved_after[: len(values)], 0.0), exponent),
        step=step,
    )
