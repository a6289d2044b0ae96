"""The place of a node in its tree as a number, and sizes of subtrees."""

from collections.abc import Iterable

import numpy as np

from holdfast.tree.tree import LEAF, Tree


def number_paths(tree: Tree) -> dict[int, int]:
    """Number the nodes by path: 1 is the root, 2 p and 2 p + 1 are the children of p."""
    path = {0: 1}
    for node in np.flatnonzero(tree.feature != LEAF).tolist():
        path[int(tree.left[node])], path[int(tree.right[node])] = 2 * path[node], 2 * path[node] + 1
    return {number: node for node, number in path.items()}


def find_paths_above(tree: Tree, nodes: Iterable[int]) -> frozenset[int]:
    """List the paths of some nodes and of all nodes above them."""
    path = {node: number for number, node in number_paths(tree).items()}
    return frozenset(path[node] >> up for node in nodes for up in range(path[node].bit_length()))


def subtree_sizes(tree: Tree) -> list[int]:
    """Count the nodes of each subtree."""
    size = [1] * tree.n_nodes
    for node in range(tree.n_nodes - 1, 0, -1):
        size[int(tree.parent[node])] += size[node]
    return size


def is_same_split(one: Tree, node: int, other: Tree, place: int) -> bool:
    """Return True if two nodes on one schema have the same split, or are both leaves."""
    return split_key(one, node) == split_key(other, place)


def split_key(tree: Tree, node: int) -> tuple[object, ...]:
    """Make a key of a node's split; the same for all leaves."""
    feature = int(tree.feature[node])
    if feature == LEAF:
        return (LEAF,)
    is_set = bool(tree.set_start[node] >= 0)
    asked = tree.left_categories(node).tolist() if is_set else [float(tree.threshold[node])]
    return (feature, bool(tree.missing_left[node]), is_set, *asked)


def find_shared_paths(one: Tree, other: Tree) -> frozenset[int]:
    """List the paths with the same splits in two trees on one schema."""
    own, others = number_paths(one), number_paths(other)
    shared = {1}
    for path in sorted(own.keys() & others.keys() - {1}):
        above = path >> 1
        if above in shared and is_same_split(one, own[above], other, others[above]):
            shared.add(path)
    return frozenset(shared)


def find_common_leaves(tree: Tree, other: Tree) -> list[int]:
    """List leaves that another tree has at the same place with the same value."""
    own, others = number_paths(tree), number_paths(other)
    pairs = [(own[path], others[path]) for path in sorted(find_shared_paths(tree, other))]
    return [
        node
        for node, place in pairs
        if tree.feature[node] == other.feature[place] == LEAF
        and np.array_equal(tree.value[node], other.value[place])
    ]
