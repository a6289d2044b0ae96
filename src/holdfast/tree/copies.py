"""Copies of trees: samples of small data often lead to the same tree."""

from collections.abc import Iterable

from holdfast.tree.tree import LEAF, Tree

DECIMALS = 12  # of what leaves say: sums in another order differ beyond


def make_tree_key(tree: Tree) -> bytes:
    """Make a key that is equal for trees with the same splits and predictions."""
    parts = (
        *(tree.feature, tree.threshold, tree.left, tree.missing_left, tree.set_start, tree.in_set),
        tree.value[tree.feature == LEAF].round(DECIMALS) + 0.0,  # -0.0 is 0.0
    )
    return b"|".join(part.tobytes() for part in parts)


def drop_copies(trees: Iterable[Tree]) -> dict[bytes, Tree]:
    """Return the distinct trees by their keys, in order."""
    found: dict[bytes, Tree] = {}
    for tree in trees:
        found.setdefault(make_tree_key(tree), tree)
    return found
