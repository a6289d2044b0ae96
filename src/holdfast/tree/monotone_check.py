"""What a tree that promises directions must keep: known features with an order, and leaves in it."""

from holdfast.errors import BrokenTreeError
from holdfast.tree.monotone import MOST_COMPARED, count_violations
from holdfast.tree.tree import Tree


def check_monotone(tree: Tree) -> None:
    """Raise a BrokenTreeError unless the monotone constraints are valid and met by the leaves.

    Leaves of large trees are not compared: each would have to be with each.
    """
    assert tree.monotone is not None
    features = {feature.name: feature for feature in tree.schema.features}
    if not tree.monotone.directions:
        raise BrokenTreeError("monotone has no directions: leave it out.")
    for name, direction in tree.monotone.directions:
        if name not in features or features[name].is_subset:
            raise BrokenTreeError(f"monotone has a direction for {name!r}, which is not an ordered feature.")
        if direction not in (-1, 1):
            raise BrokenTreeError(f"monotone of {name!r} is {direction!r}: it is 1 or -1.")
    outcome, classes = tree.monotone.outcome, tree.schema.target.classes
    if (outcome is None) == bool(classes) or (classes and outcome not in classes):
        raise BrokenTreeError(f"monotone.outcome is {outcome!r}: the classes are {list(classes)}.")
    if tree.n_leaves <= MOST_COMPARED and (n_broken := count_violations(tree)):
        raise BrokenTreeError(
            f"value breaks what monotone promises: {n_broken} pairs of leaves are out of order."
        )
