"""Leaf values that combine the training rows of a node with the predictions of a teacher."""

import numpy as np

from holdfast.arrays import FloatArray, IntArray, without_last_digits
from holdfast.data.schema import Target
from holdfast.data.table import Table
from holdfast.distance.costs import fraction_of_range
from holdfast.growth.criteria import class_impurity, get_criterion
from holdfast.scoring.intervals import wilson_interval
from holdfast.tree.monotone import enforce_monotonicity
from holdfast.tree.sums import add_to_ancestors
from holdfast.tree.threshold import decision_threshold
from holdfast.tree.tree import Tree

PRIOR_ROWS = 40  # the weight of the teacher in every node, in rows
MARGIN = 0.005  # between a probability and the decision threshold, where a class is kept


def with_posterior_values(tree: Tree, table: Table, repeats: IntArray, weight: FloatArray) -> Tree:
    """Average the teacher's predictions in a tree with the target of the training rows, node by node.

    The value of n rows is `(n * mean of the rows + 40 * teacher) / (n + 40)`: the mean of a Beta or normal
    posterior whose prior is the teacher. Each row stands for `repeats` rows, of `weight` together; unequal
    weights count by Kish's effective number of rows.
    """
    leaf, target = tree.apply(table), table.schema.target
    is_classes = target.is_classes
    rows_mean = _fractions(moments(tree, table, weight, leaf)[0], target)
    n_rows = _effective_rows(tree, repeats, weight, leaf)
    share = (n_rows / (n_rows + PRIOR_ROWS))[:, None]
    value = share * rows_mean + (1.0 - share) * _fractions(tree.value, target)
    if len(target.classes) == 2:
        second = _with_supported_class(tree, value[:, 1], rows_mean[:, 1], n_rows)
        value = np.stack([1.0 - second, second], axis=1)
    elif is_classes and tree.loss_matrix is None:
        value = _with_clear_majority(value, rows_mean, n_rows)
    value = _values(without_last_digits(value), target)
    impurity = class_impurity(get_criterion(tree.criterion, True), value) if is_classes else tree.impurity
    return enforce_monotonicity(
        tree.replace(value=value, impurity=impurity, given_outcome=None, teacher_mean=tree.value)
    )


def _effective_rows(tree: Tree, repeats: IntArray, weight: FloatArray, leaf: IntArray) -> FloatArray:
    """The effective number of rows at every node."""
    weight = weight / weight.max()  # squares of the greatest and least numbers are no numbers
    squares = np.divide(weight**2, repeats, out=np.zeros(len(weight)), where=repeats > 0)
    sums = np.zeros((tree.n_nodes, 2))
    np.add.at(sums, leaf, np.column_stack([weight, squares]))
    add_to_ancestors(tree, sums)
    return without_last_digits(
        np.divide(sums[:, 0] ** 2, sums[:, 1], out=np.zeros(len(sums)), where=sums[:, 1] > 0)
    )


def _with_supported_class(
    tree: Tree, second: FloatArray, rows_mean: FloatArray, n_rows: FloatArray
) -> FloatArray:
    """The probabilities of the second class, on the side of the decision threshold that has support.

    The class of a node is the teacher's unless the 95 % interval of its rows lies on the other side of the
    threshold: otherwise few rows would decide between classes, and more classes would change with the sample.
    """
    threshold = decision_threshold(tree, 1)
    low, high = _rows_interval(rows_mean, n_rows)
    is_open = (low <= threshold) & (threshold <= high)
    is_second = np.where(is_open, tree.value[:, 1], rows_mean) > threshold
    above = min(threshold + MARGIN, (1.0 + threshold) / 2)
    below = max(threshold - MARGIN, threshold / 2)
    return np.where(is_second == (second > threshold), second, np.where(is_second, above, below))


def _with_clear_majority(value: FloatArray, rows_mean: FloatArray, n_rows: FloatArray) -> FloatArray:
    """The probabilities of three classes or more, where the class that clearly most rows have leads."""
    nodes, place = np.arange(len(value)), rows_mean.argmax(axis=1)
    low, _ = _rows_interval(rows_mean[nodes, place], n_rows)
    wrong = np.flatnonzero((low > 0.5) & (value.argmax(axis=1) != place))
    least = 0.5 + MARGIN
    value = value.copy()
    value[wrong] *= (1.0 - least) / (1.0 - value[wrong, place[wrong]])[:, None]
    value[wrong, place[wrong]] = least
    return value


def _rows_interval(rows_mean: FloatArray, n_rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The 95 % interval of the fraction of a class among the rows of every node."""
    ends = [wilson_interval(mean * n, n) for mean, n in zip(rows_mean.tolist(), n_rows.tolist(), strict=True)]
    low, high = np.array(ends).T
    return low, high


def moments(tree: Tree, table: Table, weight: FloatArray, leaf: IntArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of the target at every node; a node without rows has its value as mean."""
    target = table.schema.target
    if target.is_classes:
        outputs = np.eye(len(target.classes))[table.target]
    else:
        outputs = _fractions(table.target[:, None], target)
    sums = np.zeros((tree.n_nodes, 2 + outputs.shape[1]))
    np.add.at(
        sums, leaf, weight[:, None] * np.column_stack([np.ones(len(leaf)), outputs[:, 0] ** 2, outputs])
    )
    add_to_ancestors(tree, sums)
    mean = sums[:, 2:] / np.where(sums[:, :1] > 0, sums[:, :1], 1.0)
    square = sums[:, 1] / np.where(sums[:, 0] > 0, sums[:, 0], 1.0)
    deviation = without_last_digits(np.sqrt(np.maximum(square - mean[:, 0] ** 2, 0.0)))
    mean = np.where(sums[:, :1] > 0, _values(without_last_digits(mean), target), tree.value)
    return mean, deviation if target.is_classes else target.high * deviation - target.low * deviation


def _fractions(values: FloatArray, target: Target) -> FloatArray:
    """Values as fractions of the range of the target, whose sums neither overflow nor vanish."""
    if target.is_classes:
        return values
    if not target.low < target.high:
        return np.zeros(values.shape)
    return np.asarray(fraction_of_range(values, target.low, target.low, target.high), np.float64)


def _values(fractions: FloatArray, target: Target) -> FloatArray:
    """The values that are these fractions of the range of the target."""
    return fractions if target.is_classes else target.low * (1.0 - fractions) + target.high * fractions
