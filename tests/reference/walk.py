"""Rows to leaves, one row and one question at a time, by the meaning of the tree."""

import math
from collections.abc import Mapping
from typing import Any

from holdfast.tree.tree import LEAF, Tree


def path_of(tree: Tree, row: Mapping[str, Any]) -> list[int]:
    """The nodes that a row passes, its leaf last; the row holds values as people write them."""
    path = [0]
    while tree.feature[path[-1]] != LEAF:
        node = path[-1]
        path.append(int(tree.left[node] if goes_left(tree, node, row) else tree.right[node]))
    return path


def goes_left(tree: Tree, node: int, row: Mapping[str, Any]) -> bool:
    """True if the answer at the node is yes."""
    feature = tree.schema.features[tree.feature[node]]
    value = row[feature.name]
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return bool(tree.missing_left[node])
    if feature.kind == "numeric":
        return bool(value <= tree.threshold[node])
    if value not in feature.categories:
        return bool(tree.missing_left[node])
    if feature.kind == "ordered":
        return bool(feature.categories.index(value) <= tree.threshold[node])
    return bool(tree.left_categories(node)[feature.categories.index(value)])
