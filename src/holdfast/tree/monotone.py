"""Monotone constraints and decision thresholds.

If a feature with direction 1 rises and nothing else changes, a row reaches a leaf of at least the same value.
Which leaves are ordered follows from their conditions; missing values have no order. Values that violate the
order are projected to the nearest ones that meet it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, LongArray, freeze
from holdfast.data.schema import Label
from holdfast.errors import BrokenTreeError
from holdfast.tree.stats import keep_own_counts, score_classes
from holdfast.tree.tree import KNOWN, LEAF, Tree

MOST_COMPARED = 128  # leaves up to which all pairs are compared; beyond, values are bounded from the root
LEAST_WEIGHT = 1e-9  # of a leaf without rows, as a fraction of the greatest


@dataclass(frozen=True)
class Monotone:
    """Monotone constraints by feature: 1 non-decreasing, -1 non-increasing."""

    directions: tuple[tuple[str, int], ...]  # by feature name
    outcome: Label | None = None  # the class whose fraction is constrained; None for regression

    def by_feature(self, tree: Tree) -> LongArray:
        """Direction of every feature of the schema, 0 for none."""
        known = dict(self.directions)
        return np.array([known.get(feature.name, 0) for feature in tree.schema.features], np.int64)

    def column(self, tree: Tree) -> int:
        """Column of the tree's values that is constrained."""
        return tree.schema.target.classes.index(self.outcome) if self.outcome is not None else 0


def enforce_monotonicity(tree: Tree, fixed: Sequence[int] = ()) -> Tree:
    """Project leaf values to the nearest ones that meet the tree's monotone constraints.

    The tree is returned unchanged if it has no constraints or meets them. The leaves `fixed` keep their
    values if these are in order; the others are projected between them.
    """
    if tree.monotone is None or tree.n_nodes == 1:
        return tree
    directions = tree.monotone.by_feature(tree)
    if not directions[tree.feature[tree.feature != LEAF]].any():
        return tree
    leaves = np.flatnonzero(tree.feature == LEAF)
    column = tree.monotone.column(tree)
    value = tree.value[leaves, column]
    if len(leaves) > MOST_COMPARED:
        new = _clip_values(tree, directions, column)[leaves]
    else:
        is_fixed = np.isin(leaves, np.asarray(fixed, np.int64))
        new = _project_between(value, _weights(tree, leaves), *find_ordered_pairs(tree, directions), is_fixed)
    if not np.array_equal(new, value):
        tree = _set_leaf_values(keep_own_counts(tree), leaves, column, new)
    return _unify_ties(tree, leaves)


def count_violations(tree: Tree) -> int:
    """Count the pairs of leaves that violate the monotone constraints."""
    if tree.monotone is None:
        return 0
    value = tree.value[tree.feature == LEAF, tree.monotone.column(tree)]
    lower, upper = find_ordered_pairs(tree, tree.monotone.by_feature(tree))
    return int((value[lower] > value[upper]).sum())


# -- ordered pairs of leaves ----------------------------------------------------------------------------


def find_ordered_pairs(tree: Tree, directions: LongArray) -> tuple[LongArray, LongArray]:
    """List pairs of leaves, by position: the value of the first must not exceed the second's."""
    from holdfast.kernels.monotone import find_pairs, hand_down_boxes

    # Only features that the tree splits on.
    used = np.unique(tree.feature[tree.feature != LEAF])
    features = [tree.schema.features[f] for f in used.tolist()]
    start = np.cumsum([0, *(len(feature.categories) * feature.is_subset for feature in features)])
    own = np.full(len(tree.schema.features) + 1, LEAF, np.int32)  # LEAF is -1: the last entry
    own[used] = np.arange(len(used))
    shape = (tree.n_nodes, len(used))
    above, most, missing = np.full(shape, -np.inf), np.full(shape, np.inf), np.ones(shape, np.bool_)
    allowed = np.ones((tree.n_nodes, int(start[-1])), np.bool_)
    splits = (tree.threshold, tree.left, tree.right, tree.missing_left, tree.set_start, tree.in_set)
    hand_down_boxes(freeze(own[tree.feature]), *splits, start, KNOWN, above, most, missing, allowed)
    leaves = tree.feature == LEAF
    most_pairs = tree.n_leaves * (tree.n_leaves - 1) // 2
    lower, upper = np.empty(most_pairs, np.int64), np.empty(most_pairs, np.int64)
    boxes = above[leaves], most[leaves], missing[leaves], allowed[leaves]
    n_pairs = find_pairs(directions[used], start, *boxes, lower, upper)
    return lower[:n_pairs], upper[:n_pairs]


# -- projection -----------------------------------------------------------------------------------------


def _weights(tree: Tree, leaves: LongArray) -> FloatArray:
    weight = tree.weight[leaves]
    total = float(weight.max(initial=0.0))
    return np.maximum(weight / total, LEAST_WEIGHT) if total > 0 else np.ones(len(leaves))


def _project(value: FloatArray, weight: FloatArray, lower: LongArray, upper: LongArray) -> FloatArray:
    """Solve weighted isotonic regression over the ordered pairs."""
    if not (value[lower] > value[upper]).any():
        return value
    from holdfast.kernels.monotone import project, raise_to_order

    new = value.copy()
    project(new, weight, lower, upper)
    raise_to_order(new, lower, upper)
    return new


def _project_between(
    value: FloatArray, weight: FloatArray, lower: LongArray, upper: LongArray, is_fixed: BoolArray
) -> FloatArray:
    """Project with some values fixed; if that is infeasible, all values may change."""
    if not is_fixed.any() or not (value[lower] > value[upper]).any():
        return _project(value, weight, lower, upper)
    is_free = ~is_fixed[lower] & ~is_fixed[upper]
    new = _project(value, weight, lower[is_free], upper[is_free]).copy()
    least, most = np.full(len(value), -np.inf), np.full(len(value), np.inf)
    below, above = is_fixed[lower] & ~is_fixed[upper], ~is_fixed[lower] & is_fixed[upper]
    np.maximum.at(least, upper[below], value[lower[below]])
    np.minimum.at(most, lower[above], value[upper[above]])
    new = np.where(is_fixed, value, np.minimum(np.maximum(new, least), most))
    return _project(value, weight, lower, upper) if (new[lower] > new[upper]).any() else new


def _clip_values(tree: Tree, directions: LongArray, column: int) -> FloatArray:
    """Clip node values to the bounds that ordered splits pass down."""
    from holdfast.kernels.monotone import clip_downwards

    value = tree.value[:, column].copy()
    clip_downwards(tree.feature, tree.threshold, tree.left, tree.right, directions, KNOWN, value)
    return value


def _set_leaf_values(tree: Tree, leaves: LongArray, column: int, new: FloatArray) -> Tree:
    """Set leaf values; the other classes share the rest in proportion."""
    value = tree.value.copy()
    if tree.schema.target.is_classes:
        new = np.clip(new, 0.0, 1.0)
        rest = np.delete(value[leaves], column, axis=1)
        total = rest.sum(axis=1)
        n_others = rest.shape[1]
        shares = np.where(total[:, None] > 0, rest / np.where(total > 0, total, 1.0)[:, None], 1 / n_others)
        changed = np.flatnonzero(new != value[leaves, column])
        others = np.delete(np.arange(value.shape[1]), column)
        value[np.ix_(leaves[changed], others)] = shares[changed] * (1.0 - new[changed])[:, None]
    value[leaves, column] = new
    return tree.replace(value=value, given_outcome=None)


def _unify_ties(tree: Tree, leaves: LongArray) -> Tree:
    """Predict one class at all tied leaves, so that the class is monotone, too."""
    if len(tree.schema.target.classes) != 2:
        return tree
    merit = score_classes(tree.value[leaves], tree.loss_matrix)
    tied = leaves[merit[:, 0] == merit[:, 1]]
    if len(set(tree.outcome[tied].tolist())) < 2:
        return tree
    outcome = tree.outcome.copy()
    outcome[tied] = 0
    return tree.replace(given_outcome=outcome)


# -- A decision threshold ------------------------------------------------------------------------------------

REACHED = 1e-9  # tolerance below the threshold


def make_threshold_losses(threshold: float, positive: int, total: float = 1.0) -> FloatArray:
    """Make the loss matrix that predicts class `positive` from this probability on.

    Its two losses add up to `total`.

    >>> make_threshold_losses(0.2, positive=1).round(6)
    array([[0. , 0.2],
           [0.8, 0. ]])
    """
    share = max(threshold - REACHED, threshold / 2)
    losses = np.zeros((2, 2))
    losses[1 - positive, positive], losses[positive, 1 - positive] = total * share, total * (1.0 - share)
    return losses


def compute_threshold(losses: FloatArray, positive: int) -> float:
    """Compute the probability from which predicting class `positive` costs less.

    >>> compute_threshold(np.array([[0.0, 1.0], [4.0, 0.0]]), positive=1)
    0.2
    """
    wrongly, missed = losses[1 - positive, positive], losses[positive, 1 - positive]
    return float(wrongly / (wrongly + missed))


def decision_threshold(tree: Tree, positive: int) -> float:
    """Return the probability from which the tree predicts the class; 0.5 without losses."""
    return 0.5 if tree.loss_matrix is None else compute_threshold(tree.loss_matrix, positive)


def set_losses(tree: Tree, losses: FloatArray) -> Tree:
    """Make the tree predict the class of least expected loss."""
    return enforce_monotonicity(tree.replace(loss_matrix=losses, given_outcome=None))


# -- Checks --------------------------------------------------------------------------------------------------


def check_monotone(tree: Tree) -> None:
    """Raise a BrokenTreeError unless the monotone constraints are valid and met by the leaves.

    The leaves of large trees are not compared, since there are too many pairs.
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
            f"value violates the monotone constraints: {n_broken} pairs of leaves are out of order."
        )
