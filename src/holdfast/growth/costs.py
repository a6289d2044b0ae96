"""What a prediction costs, where asking about a column has a price."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from holdfast.arrays import FloatArray, scaled
from holdfast.growth.constraints import list_columns_read, read_feature_costs
from holdfast.growth.rules import GrowthRules
from holdfast.tree.tree import LEAF, Tree


def expected_cost(tree: Tree, feature_costs: Mapping[Any, float]) -> float:
    """Compute the mean cost of the features that a prediction needs, weighted by the training rows.

    Parameters
    ----------
    tree : Tree
    feature_costs : mapping
        Cost by column; 1 for others. A column is paid once per path. A question costs what its columns cost,
        unless it is named itself.

    Returns
    -------
    float

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0, 5.0], [1.0, 7.0], [2.0, 5.0], [2.0, 5.0]], ["a", "b", "c", "c"]))
    >>> expected_cost(tree, {"x1": 10.0})  # x0 of all rows, x1 of half of them
    6.0
    """
    leaves = np.flatnonzero(tree.feature == LEAF)
    weight, _ = scaled(tree.weight[leaves])
    if not weight.sum():
        return 0.0
    return float((compute_path_costs(tree, feature_costs)[leaves] * weight).sum() / weight.sum())


def compute_path_costs(tree: Tree, feature_costs: Mapping[Any, float]) -> FloatArray:
    """Compute for every node the cost of all features split on above it."""
    costs = read_feature_costs(tree.schema, GrowthRules(feature_costs=feature_costs))
    assert costs is not None
    price = dict(zip(tree.schema.names, costs.tolist(), strict=True))
    bought = [
        [name]
        if feature.kind != "question" or name in feature_costs
        else list_columns_read(tree.schema, name)
        for name, feature in zip(tree.schema.names, tree.schema.features, strict=True)
    ]
    asked: list[frozenset[str]] = [frozenset()] * tree.n_nodes
    for node, parent in enumerate(tree.parent.tolist()):  # preorder: a parent stands before its children
        if parent >= 0:
            asked[node] = asked[parent].union(bought[tree.feature[parent]])
    return np.array([sum(price[name] for name in sorted(names)) for names in asked])
