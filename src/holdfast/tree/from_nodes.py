"""Trees from plain nodes, as any other solver or a person would write them down."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from holdfast.arrays import FloatArray, IntArray
from holdfast.data.schema import Schema, Target
from holdfast.errors import BrokenTreeError
from holdfast.tree.builder import Nodes, build_preorder, list_visits
from holdfast.tree.check import TOLERANCE, check_schema
from holdfast.tree.node import Node, as_node, make_amount, make_split, make_value
from holdfast.tree.tree import LEAF, Tree


def tree_from_nodes(schema: Schema, nodes: Any) -> Tree:
    """Build a tree from nodes, see `Tree.from_nodes`; a BrokenTreeError names an invalid node."""
    check_schema(schema)
    entries, left, right = _entries(nodes)
    splits = [make_split(schema, name, node) for name, node in entries]
    feature = np.array([LEAF if split is None else split.feature for split in splits], np.int32)
    order = list_visits(feature, left, right)
    numbers = _Numbers(schema.target, entries, left, right)
    for place in reversed(order.tolist()):  # children before their parents
        numbers.fill(place)
    loose = Nodes(
        feature=feature,
        threshold=np.array([np.nan if split is None else split.threshold for split in splits]),
        left=left,
        right=right,
        missing_left=np.array([bool(node.missing_left) for _, node in entries]),
        value=numbers.value,
        count=numbers.count,
        weight=numbers.weight,
        impurity=numbers.impurity,
        sets={
            place: split.goes_left
            for place, split in enumerate(splits)
            if split is not None and split.goes_left is not None
        },
    )
    return build_preorder(loose, schema, "gini" if schema.target.is_classes else "squared_error")


# -- which node is whose child ----------------------------------------------------------------------------

_Entry = tuple[str, Node]  # what the node is called in messages, and the node


def _entries(nodes: Any) -> tuple[list[_Entry], IntArray, IntArray]:
    """List all nodes, nested ones last, with the numbers of their children."""
    is_one = isinstance(nodes, Node | Mapping)
    if not is_one and not (isinstance(nodes, Iterable) and not isinstance(nodes, str)):
        raise TypeError(f"Nodes are a list, or the root with its children in it, not {nodes!r}.")
    given = [nodes] if is_one else list(nodes)
    if not given:
        raise BrokenTreeError("there are no nodes: a tree has at least one.")
    names = ["root"] if is_one else [f"node {place}" for place in range(len(given))]
    entries = [(name, as_node(name, each)) for name, each in zip(names, given, strict=True)]
    nested_in: list[tuple[int, ...]] = [(id(each),) for each in given]  # itself, and those around it
    children = []
    for place, (name, node) in enumerate(entries):  # which grows on the way
        pair = []
        for word in ("left", "right"):
            child = getattr(node, word)
            if isinstance(child, Node | Mapping):
                if id(child) in nested_in[place]:
                    raise BrokenTreeError(f"{name}: {word} is a node that {name} itself is nested in.")
                pair.append(len(entries))
                entries.append((f"{name}.{word}", as_node(f"{name}.{word}", child)))
                nested_in.append((*nested_in[place], id(child)))
            else:
                pair.append(LEAF if child is None else _child(name, word, child, len(given)))
        children.append(pair)
    left, right = np.array(children, np.int32).T
    return entries, left, right


def _child(name: str, word: str, child: Any, n_nodes: int) -> int:
    if not isinstance(child, int | np.integer) or isinstance(child, bool):
        raise BrokenTreeError(f"{name}: {word} is {child!r}: a child is the number of a node, or a node.")
    if not 0 <= child < n_nodes:
        raise BrokenTreeError(f"{name}: {word} is node {child}, and the nodes are 0 to {n_nodes - 1}.")
    return int(child)


# -- what a node says -------------------------------------------------------------------------------------


class _Numbers:
    """Value, count, weight and impurity of all nodes; gaps are filled from children."""

    def __init__(self, target: Target, entries: Sequence[_Entry], left: IntArray, right: IntArray) -> None:
        self.target, self.entries, self.left, self.right = target, entries, left, right
        n_nodes = len(entries)
        self.value: FloatArray = np.zeros((n_nodes, max(len(target.classes), 1)))
        self.count, self.weight, self.impurity = np.zeros((3, n_nodes))

    def fill(self, place: int) -> None:
        """Fill in one node from its children, which must be filled."""
        name, node = self.entries[place]
        is_leaf = node.feature is None
        count, weight = (make_amount(name, word, getattr(node, word)) for word in ("count", "weight"))
        if is_leaf:
            self.count[place] = (weight or 0.0) if count is None else count
            self.weight[place] = self.count[place] if weight is None else weight
        else:
            pair = [self.left[place], self.right[place]]
            sums = float(self.count[pair].sum()), float(self.weight[pair].sum())
            self.count[place] = sums[0] if count is None else count
            self.weight[place] = sums[1]
            if weight is not None and abs(weight - sums[1]) > TOLERANCE * weight:
                raise BrokenTreeError(
                    f"{self.entries[place][0]}: its weight is {weight:g}, and its children's are {sums[1]:g} "
                    "together."
                )
        if node.value is not None:
            self.value[place] = make_value(name, node.value, self.target)
        elif is_leaf:
            raise BrokenTreeError(f"{name} has no value: a leaf says what it predicts.")
        else:
            self.value[place] = self._mean(place, self.value)
        impurity = make_amount(name, "impurity", node.impurity)
        self.impurity[place] = self._impurity(place, is_leaf) if impurity is None else impurity

    def _mean(self, place: int, numbers: FloatArray) -> Any:
        """Average the children's numbers by weight; without weights, plainly."""
        left, right = self.left[place], self.right[place]
        whole = self.weight[left] + self.weight[right]
        fraction = self.weight[left] / whole if whole > 0 else 0.5
        return fraction * numbers[left] + (1 - fraction) * numbers[right]

    def _impurity(self, place: int, is_leaf: bool) -> float:
        """Compute Gini impurity; or the variance, unknown at a leaf."""
        value = self.value[place]
        if self.target.is_classes:
            return max(1 - float(np.square(value).sum()), 0.0)
        if is_leaf:
            return 0.0
        between = (self.value[:, 0] - value[0]) ** 2
        return float(self._mean(place, self.impurity + between))
