"""Refit an edited tree to rows, grow subtrees of it, and summarise which rows a change affects."""

from dataclasses import replace

import numpy as np

from holdfast._arrays import BoolArray, FloatArray
from holdfast.data.schema import Schema, Target
from holdfast.data.table import Table
from holdfast.errors import EditError
from holdfast.growth.grow import grow
from holdfast.growth.leaf_values import refit_leaf_values
from holdfast.growth.rules import CART, CLASS_CRITERIA, GrowthRules, default_criterion, is_for_numbers
from holdfast.tree.edit import set_leaf_values
from holdfast.tree.recorded import set_recorded
from holdfast.tree.stats import class_counts, set_class_counts
from holdfast.tree.survival import set_curves
from holdfast.tree.tree import Tree


def refit_nodes(
    tree: Tree,
    table: Table,
    nodes: BoolArray,
    rules: GrowthRules | None = None,
    keep_values: bool = False,
) -> Tree:
    """Refit counts and weights everywhere, values and impurities at the flagged nodes.

    A node that no row reaches keeps its value; with `keep_values` all nodes do. The rules hold the class
    weights; impurity is measured as in the rest of the tree.
    """
    fitted = refit_leaf_values(tree, table, _keep_criterion(tree, rules or CART))
    is_classes = tree.schema.target.is_classes
    impurity = np.where(nodes, fitted.impurity, tree.impurity)
    counts = class_counts(fitted)  # before the values, which may not be those of the rows
    tree = tree.replace(
        count=fitted.count,
        weight=fitted.weight,
        impurity=impurity,
        observed=None,
        effective=None,
        rows_mean=None if is_classes and table.weight is None else fitted.value,
    )
    tree = tree if keep_values else set_leaf_values(tree, nodes, fitted.value)
    tree = set_class_counts(tree, counts) if is_classes else tree
    return set_recorded(set_curves(tree, table), table)


def grow_subtree(tree: Tree, node: int, table: Table, rules: GrowthRules | None = None) -> Tree:
    """Grow a subtree on the rows that reach the node; by default CART with the tree's criterion."""
    leaf = tree.apply(table)
    reaching = (leaf >= node) & (leaf < tree.subtree_end[node])
    if not reaching.any():
        raise EditError(
            f"Nothing grows at node {node}: none of the {table.n_rows} rows of the table reaches it."
        )
    return grow(table.subset(reaching), _keep_criterion(tree, CART) if rules is None else rules)


def _keep_criterion(tree: Tree, rules: GrowthRules) -> GrowthRules:
    """Return rules with the criterion of the tree, or the default if it is another library's."""
    is_classes = tree.schema.target.is_classes
    is_known = tree.criterion in CLASS_CRITERIA if is_classes else is_for_numbers(tree.criterion)
    criterion = tree.criterion if is_known else default_criterion(tree.schema.target)
    return replace(rules, criterion=criterion, quantile=None, threshold_cost=False)


# -- Summary of a change -------------------------------------------------------------------------------------

MOST_LEAVES = 4
LEAST_ROWS = 0.05  # of a leaf


def grow_summary_tree(table: Table, values: FloatArray, least_rows: float = LEAST_ROWS) -> Tree:
    """Grow a small tree that predicts these values, one per row; rows with NaN are left out.

    >>> table = Table.from_arrays([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"])
    >>> print(grow_summary_tree(table, np.array([0.0, 0.0, 0.0, 1.0])))
    4 rows       change  rows  of all
    ├─ x0 <= 55       0     3  75.0 %
    └─ x0 > 55        1     1  25.0 %
    """
    known = np.flatnonzero(~np.isnan(values))
    some = table if len(known) == table.n_rows else table.subset(known)
    target = Target("change", low=0.0, high=float(max(values[known].max(), 1e-9)))
    rows = Table(Schema(some.schema.features, target), some.columns, values[known], some.weight)
    rules = GrowthRules(max_leaf_nodes=MOST_LEAVES, min_samples_leaf=least_rows, criterion="squared_error")
    return grow(rows, rules)
