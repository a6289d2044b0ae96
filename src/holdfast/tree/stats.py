"""Statistics of nodes: predicted classes, class counts, quantiles, positive class and weak splits."""

from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray, freeze, round_last_digits
from holdfast.tree.tree import Tree

if TYPE_CHECKING:
    from holdfast.tree.ensemble import Ensemble


def majority(tree: "Tree") -> IntArray:
    """Return the index of the most frequent class of every node, or of the one of least expected loss.

    Ties are decided by the parent, then by its parent, and so on; ties up to the root by the order of the
    classes in the schema.

    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [1.0], [2.0]], ["a", "b", "b"]))
    >>> tree.value[1].tolist(), majority(tree).tolist()
    ([0.5, 0.5], [1, 1, 1])
    >>> majority(tree.replace(loss_matrix=np.array([[0.0, 5.0], [1.0, 0.0]]))).tolist()
    [0, 0, 1]
    """
    merit = score_classes(tree.value, tree.loss_matrix)
    outcome: IntArray = merit.argmax(axis=1).astype(np.int32)
    tied = _largest(merit)
    nodes = np.flatnonzero(tied.sum(axis=1) > 1)
    tied, above = tied[nodes], nodes.astype(np.int32)
    while len(nodes):
        above = tree.parent[above]
        is_below = above >= 0
        nodes, tied, above = nodes[is_below], tied[is_below], above[is_below]
        tied = _largest(np.where(tied, merit[above], -np.inf))
        outcome[nodes] = tied.argmax(axis=1)
        is_open = tied.sum(axis=1) > 1
        nodes, tied, above = nodes[is_open], tied[is_open], above[is_open]
    return outcome


def score_classes(value: FloatArray, loss_matrix: FloatArray | None) -> FloatArray:
    """Score the classes, (rows, classes): by fraction, or by minus the expected loss.

    >>> score_classes(np.array([[0.75, 0.25]]), np.array([[0.0, 1.0], [4.0, 0.0]]))
    array([[-1.  , -0.75]])
    """
    return value if loss_matrix is None else round_last_digits(-expected_losses(value, loss_matrix))


def expected_losses(value: FloatArray, loss_matrix: FloatArray) -> FloatArray:
    """Compute the expected loss of predicting each class from class fractions."""
    return np.asarray((value[:, :, np.newaxis] * loss_matrix).sum(axis=1), np.float64)


def set_outcome(tree: "Tree", outcome: IntArray | LongArray) -> "Tree":
    """Set the predicted class of every node, which must be one of its most frequent."""
    is_majority = np.array_equal(outcome, majority(tree))
    return tree.replace(given_outcome=None if is_majority else outcome.astype(np.int32))


def _largest(merit: FloatArray) -> BoolArray:
    """Flag the greatest numbers of each row."""
    return np.asarray(merit == merit.max(axis=1, keepdims=True), np.bool_)


# -- Class counts --------------------------------------------------------------------------------------------

ALIKE = 1e-6  # rows: greatest difference of equal counts


def class_counts(tree: Tree) -> FloatArray:
    """Return the number of rows of each class at every node.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    ndarray of shape (n_nodes, n_classes)
        Numbers of rows, independent of weights and of a teacher's predictions. After an update they include
        earlier rows. For a tree of another library they follow from its fractions and counts.

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> class_counts(grow(Table.from_arrays([[1.0], [2.0], [2.0]], ["no", "no", "yes"])))[0]
    array([2., 1.])
    """
    if tree.observed is not None:
        return tree.observed
    return freeze(tree.value * tree.count[:, None])


def set_class_counts(tree: Tree, counts: FloatArray) -> Tree:
    """Set the class counts of the nodes; stored only where the values do not imply them."""
    implied = tree.value * tree.count[:, None]
    is_implied = bool((np.abs(implied - counts) <= ALIKE).all())
    return tree.replace(observed=None if is_implied else counts)


def keep_own_counts(tree: Tree) -> Tree:
    """Store the class counts before the values are changed."""
    if tree.schema.target.is_classes:
        return tree.replace(observed=class_counts(tree))
    return tree.replace(rows_mean=tree.observed_mean)


def add_to_ancestors(tree: Tree, sums: NDArray[Any]) -> None:
    """Add the numbers of every node to all nodes above it, in place."""
    by_depth = np.argsort(tree.node_depth, kind="stable")
    ends = np.cumsum(np.bincount(tree.node_depth))
    for level in range(tree.depth, 0, -1):
        nodes = by_depth[ends[level - 1] : ends[level]]
        np.add.at(sums, tree.parent[nodes], sums[nodes])


# -- Quantiles -----------------------------------------------------------------------------------------------

ABSOLUTE_ERROR = "absolute_error"
QUANTILE = "quantile"
MEDIAN = 0.5


def format_quantile_name(fraction: float) -> str:
    """Return the criterion name of trees that predict this quantile.

    >>> format_quantile_name(0.9)
    'quantile 0.9'
    """
    return f"{QUANTILE} {float(fraction)!r}"


def parse_quantile(criterion: str) -> float | None:
    """Return the quantile of a criterion name; None if it is not a quantile criterion.

    >>> parse_quantile("absolute_error"), parse_quantile("quantile 0.9"), parse_quantile("squared_error")
    (0.5, 0.9, None)
    """
    if criterion == ABSOLUTE_ERROR:
        return MEDIAN
    name, _, text = criterion.partition(" ")
    if name != QUANTILE or not text:
        return None
    try:
        fraction = float(text)
    except ValueError:
        return None
    return fraction if isfinite(fraction) and 0.0 < fraction < 1.0 else None


def format_statistic(criterion: str) -> str:
    """Name the statistic that the leaves of a regression tree predict.

    >>> format_statistic("absolute_error"), format_statistic("quantile 0.9")
    ('median', '0.9 quantile')
    """
    fraction = parse_quantile(criterion)
    if fraction is None:
        return "mean"
    return "median" if fraction == MEDIAN else f"{fraction!r} quantile"


def weighted_quantile(values: FloatArray, weight: FloatArray, fraction: float) -> float:
    """Compute a weighted quantile, half-way between two values if it falls between them.

    The median of two rows is therefore their mean.

    >>> weighted_quantile(np.array([3.0, 1.0, 2.0, 9.0]), np.ones(4), 0.5)
    2.5
    """
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order])
    target = fraction * below[-1]
    place = int(np.searchsorted(below, target * (1 - 1e-12)))  # with a margin for rounding
    own = float(values[order[place]])
    if below[place] > target * (1 + 1e-12):
        return own
    after = np.flatnonzero(weight[order[place + 1 :]] > 0)
    return own if len(after) == 0 else own / 2 + float(values[order[place + 1 + after[0]]]) / 2


# -- Positive class ------------------------------------------------------------------------------------------


def positive_class(model: "Tree | Ensemble", positive: Any = None) -> int | None:
    """Return the index of the positive class.

    Parameters
    ----------
    model : Tree or Ensemble
    positive : label, optional
        Default: the class stored with the target, see `Target`.

    Returns
    -------
    int or None
        None unless there are two classes.
    """
    place = _find_positive(model, positive)
    is_density = isinstance(model, Tree) and model.criterion == "density"  # clusters have no positive one
    return None if is_density or len(model.schema.target.classes) != 2 else place


def risk(tree: Tree, positive: Any = None) -> FloatArray | None:
    """Return the probability of the positive class, or the mean, of every node.

    With three or more classes it is None unless a positive class is given or stored.
    """
    place = positive_class(tree, positive)
    if place is None:
        place = _find_positive(tree, positive)
    if tree.schema.target.is_classes:
        return None if place is None else tree.value[:, place]
    return tree.value[:, 0]


def set_positive(tree: Tree, positive: Any) -> Tree:
    """Set the positive class of the target; the tree is unchanged if `positive` is None."""
    if positive is None:
        return tree
    return tree.replace(schema=replace(tree.schema, target=tree.schema.target.with_positive(positive)))


def _find_positive(model: "Tree | Ensemble", positive: Any) -> int | None:
    """Return the given or stored positive class; a ParameterError if it is unknown."""
    target = model.schema.target
    label = target.positive if positive is None else positive
    return None if label is None else target.class_place(label)


# -- Weak splits ---------------------------------------------------------------------------------------------

LEAST_SUPPORT = 0.1  # share of the reference trees below which a split is marked


def find_weak_splits(tree: Tree) -> dict[int, float]:
    """Return the support of splits where it is low, by node."""
    if tree.split_support is None:
        return {}
    nodes = np.flatnonzero(tree.split_support < LEAST_SUPPORT)  # NaN is not
    return {node: float(tree.split_support[node]) for node in nodes.tolist()}
