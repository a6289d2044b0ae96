"""Leaf values that the rows and the teacher give together."""

import numpy as np

from holdfast.arrays import FloatArray, IntArray, without_last_digits
from holdfast.data.input.weight import effective_rows
from holdfast.data.table import Table
from holdfast.growth.criteria import class_impurity, criterion_of
from holdfast.scoring.intervals import wilson_interval
from holdfast.tree.monotone import in_order
from holdfast.tree.sums import add_upwards
from holdfast.tree.tree import Tree

PRIOR_ROWS = 40  # that the teacher counts for in every leaf: with these, probabilities are calibrated
NUDGE = 0.005  # from one half


def with_posterior_values(tree: Tree, table: Table, repeats: IntArray) -> Tree:
    """Average the teacher's values of a tree with what the rows of each node were.

    The value of n rows is `(n * observed + 40 * teacher) / (n + 40)`: the mean of a Beta posterior whose
    prior is the teacher. Of two classes it is kept within the 95 % interval of the rows alone.
    """
    weight = np.asarray(repeats, np.float64) if table.weight is None else table.weight
    observed, _ = moments(tree, table, weight, tree.apply(table))
    n_rows = tree.count * effective_rows(table.weight, table.n_rows) / max(float(repeats.sum()), 1.0)
    share = (n_rows / (n_rows + PRIOR_ROWS))[:, None]
    value = share * observed + (1.0 - share) * tree.value
    target = table.schema.target
    if len(target.classes) == 2:
        ends = [wilson_interval(k, n) for k, n in zip(observed[:, 1] * n_rows, n_rows, strict=True)]
        low, high = np.array(ends).T
        second = np.clip(value[:, 1], low, high)
        second = _on_teachers_side(second, tree.value[:, 1], low, high)
        value = np.stack([1.0 - second, second], axis=1)
    value = without_last_digits(value)
    if target.is_classes:
        tree = tree.replace(impurity=class_impurity(criterion_of(tree.criterion, True), value))
    else:
        tree = tree.replace(rows_mean=observed)
    return in_order(tree.replace(value=value, given_outcome=None))


def _on_teachers_side(
    value: FloatArray, teacher: FloatArray, low: FloatArray, high: FloatArray
) -> FloatArray:
    """The probabilities of the second class, where rows that leave it open do not change the class.

    A value that crosses one half stays just on the teacher's side of it, unless the interval of the rows
    lies beyond one half altogether: every row of the leaf would change its class for next to nothing.
    """
    is_open = ((value > 0.5) != (teacher > 0.5)) & (low <= 0.5) & (high >= 0.5)
    return np.where(is_open, np.where(teacher > 0.5, 0.5 + NUDGE, 0.5 - NUDGE), value)


def moments(tree: Tree, table: Table, weight: FloatArray, leaf: IntArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of the target at every node: answers of a teacher vary less."""
    target = table.schema.target
    low, width = (0.0, 1.0) if target.is_classes else (target.low, (target.high - target.low) or 1.0)
    outputs = (
        np.eye(len(target.classes))[table.target]
        if target.is_classes
        else (table.target[:, None] - low) / width
    )
    sums = np.zeros((tree.n_nodes, 2 + outputs.shape[1]))
    np.add.at(
        sums, leaf, weight[:, None] * np.column_stack([np.ones(len(leaf)), outputs[:, 0] ** 2, outputs])
    )
    add_upwards(tree, sums)
    mean = sums[:, 2:] / np.where(sums[:, :1] > 0, sums[:, :1], 1.0)
    square = sums[:, 1] / np.where(sums[:, 0] > 0, sums[:, 0], 1.0)
    deviation = width * np.sqrt(np.maximum(square - mean[:, 0] ** 2, 0.0))
    mean = np.where(sums[:, :1] > 0, low + width * mean, tree.value)
    return without_last_digits(mean), without_last_digits(deviation)
