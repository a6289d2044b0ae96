"""Pruning by its definitions: every subtree there is, and the weakest link cut again and again.

A subtree is the set of the nodes at which it ends. Costs are exact fractions wherever the data allow.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from holdfast.data.table import Table
from holdfast.tree.tree import LEAF, Tree
from reference.disagreement import going_left

Ends = frozenset[int]
Cost = Sequence[Any]  # of every node as a leaf: fractions, or floats


class Step(NamedTuple):
    """The subtree that is the best from an alpha on."""

    alpha: Any
    ends: Ends


# -- subtrees ---------------------------------------------------------------------------------------------


def subtrees(left: Sequence[int], right: Sequence[int], node: int = 0) -> list[Ends]:
    """Every subtree with the same root: it ends there, or it is one of each branch."""
    alone = [frozenset({node})]
    if left[node] == LEAF:
        return alone
    branches = (subtrees(left, right, int(child)) for child in (left[node], right[node]))
    return alone + [one | other for one, other in product(*branches)]


def all_subtrees(tree: Tree) -> list[Ends]:
    """Every subtree of the tree."""
    return subtrees(tree.left.tolist(), tree.right.tolist())


def total(cost: Cost, ends: Ends) -> Any:
    """What the leaves of a subtree cost together."""
    return sum((cost[node] for node in sorted(ends)), start=cost[0] * 0)


def cheapest(choices: list[Ends], cost: Cost, alpha: Any = 0) -> Ends:
    """The subtree of least cost + alpha * leaves, and of these the smallest; exact costs only."""
    return min(choices, key=lambda ends: (total(cost, ends) + alpha * len(ends), len(ends)))


def ends_of(tree: Tree, whole: Tree, tolerance: float = 0.0) -> Ends:
    """The nodes of the whole tree at which a part of it ends; fails if it is no part of it."""
    ends, waiting = set(), [(0, 0)]
    while waiting:
        one, other = waiting.pop()
        for name in ("value", "count", "weight", "impurity"):
            numbers = getattr(tree, name)[one], getattr(whole, name)[other]
            np.testing.assert_allclose(*numbers, tolerance, tolerance, err_msg=name)
        if tree.feature[one] == LEAF:
            ends.add(other)
            continue
        assert tree.feature[one] == whole.feature[other]
        assert np.array_equal(tree.threshold[one], whole.threshold[other], equal_nan=True)
        assert tree.missing_left[one] == whole.missing_left[other]
        if tree.set_start[one] >= 0:
            assert np.array_equal(tree.left_categories(one), whole.left_categories(other))
        waiting += [
            (int(tree.left[one]), int(whole.left[other])),
            (int(tree.right[one]), int(whole.right[other])),
        ]
    return frozenset(ends)


# -- the weakest link -------------------------------------------------------------------------------------


def weakest_link_steps(left: Sequence[int], right: Sequence[int], cost: Cost) -> list[Step]:
    """The smallest subtree of least cost, then what is left as all weakest links are cut, to the root."""
    ends = cheapest(subtrees(left, right), cost)
    steps = [Step(cost[0] * 0, ends)]
    while ends != {0}:
        links = {}
        for node in range(len(left)):
            below = _below(left, right, node) & ends
            if left[node] != LEAF and len(below) > 1:
                links[node] = (cost[node] - total(cost, below)) / (len(below) - 1)
        alpha = min(links.values())
        for node in (node for node, link in links.items() if link == alpha):
            below = _below(left, right, node) & ends
            if len(below) > 1:  # no node above it was cut in the same step
                ends = ends - below | {node}
        steps.append(Step(alpha, ends))
    return steps


def _below(left: Sequence[int], right: Sequence[int], node: int) -> Ends:
    """The node and all that stands below it."""
    if left[node] == LEAF:
        return frozenset({node})
    branches = (_below(left, right, int(child)) for child in (left[node], right[node]))
    return frozenset({node}).union(*branches)


# -- costs ------------------------------------------------------------------------------------------------


def rows_at_nodes(tree: Tree, table: Table) -> list[Any]:
    """The rows of the table that reach each node."""
    rows = [np.arange(table.n_rows)] * tree.n_nodes
    for node in range(tree.n_nodes):
        if tree.left[node] != LEAF:
            yes = going_left(tree, node, table)[rows[node]]
            rows[tree.left[node]], rows[tree.right[node]] = rows[node][yes], rows[node][~yes]
    return rows


def whole(table: Table) -> list[Fraction]:
    """The weights of the rows."""
    return [Fraction(1)] * table.n_rows if table.weight is None else [Fraction(each) for each in table.weight]


def class_costs(tree: Tree, table: Table, impurity: Callable[[list[Fraction]], Any]) -> list[Any]:
    """The impurity of the rows at each node, times their fraction of the weight."""
    weight, costs = whole(table), []
    for rows in rows_at_nodes(tree, table):
        counts = [Fraction(0)] * len(table.schema.target.classes)
        for row in rows:
            counts[table.target[row]] += weight[row]
        size = sum(counts)
        costs.append(impurity([count / size for count in counts]) * size / sum(weight))
    return costs


def gini(shares: list[Fraction]) -> Fraction:
    """One less the chance that two rows have one class."""
    return 1 - sum((share * share for share in shares), start=Fraction(0))


def misclassification(shares: list[Fraction]) -> Fraction:
    """The fraction of the rows that the most frequent class is wrong about."""
    return 1 - max(shares)


def squared_costs(tree: Tree, table: Table) -> list[Fraction]:
    """The squared error of the rows at each node from their mean, over the whole weight."""
    weight, target = whole(table), [Fraction(number) for number in table.target]
    costs = []
    for rows in rows_at_nodes(tree, table):
        size = sum(weight[row] for row in rows)
        mean = sum((weight[row] * target[row] for row in rows), start=Fraction(0)) / size
        error = sum((weight[row] * (target[row] - mean) ** 2 for row in rows), start=Fraction(0))
        costs.append(error / sum(weight))
    return costs


# -- losses on other rows ---------------------------------------------------------------------------------


def error_losses(tree: Tree, table: Table) -> list[Fraction]:
    """The weight of the rows at each node whose class is not that of the node."""
    weight = whole(table)
    return [
        sum((weight[row] for row in rows if table.target[row] != tree.outcome[node]), start=Fraction(0))
        for node, rows in enumerate(rows_at_nodes(tree, table))
    ]


def squared_losses(tree: Tree, table: Table) -> list[Fraction]:
    """The squared difference of the rows at each node from the value of the node."""
    weight, target = whole(table), [Fraction(number) for number in table.target.tolist()]
    losses = []
    for node, rows in enumerate(rows_at_nodes(tree, table)):
        value = Fraction(float(tree.value[node, 0]))
        losses.append(sum((weight[row] * (target[row] - value) ** 2 for row in rows), start=Fraction(0)))
    return losses


def poisson_losses(tree: Tree, table: Table) -> list[float]:
    """The Poisson deviance of the rows at each node from the value of the node, by scikit-learn."""
    from sklearn.metrics import mean_poisson_deviance

    weight = np.array(whole(table), float)
    losses = []
    for node, rows in enumerate(rows_at_nodes(tree, table)):
        rows = rows[weight[rows] > 0]
        mean = np.full(len(rows), tree.value[node, 0])
        loss = mean_poisson_deviance(table.target[rows], mean, sample_weight=weight[rows]) if len(rows) else 0
        losses.append(float(loss) * weight[rows].sum())
    return losses
