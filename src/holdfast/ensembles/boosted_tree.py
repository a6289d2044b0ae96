"""What a boosted tree adds to the score of each row, and the tree itself."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from holdfast.arrays import FloatArray, IntArray, LongArray
from holdfast.backends.thread_pool import ThreadPool
from holdfast.data.schema import Schema, Target
from holdfast.data.table import Table
from holdfast.ensembles.newton import LEAST_SHARED, TreeShape
from holdfast.growth.thresholds import node_features, thresholds
from holdfast.kernels.boosting.leaves import add_upwards, leaf_sums
from holdfast.kernels.growth.nodes import END, FEATURE, LEFT, MISSING_LEFT, RIGHT, SET_START, START, Grown
from holdfast.tree.monotone import Monotone, in_order
from holdfast.tree.tree import LEAF, Tree

GRADIENT, HESSIAN, WEIGHT, COUNT = range(4)  # columns of the sums of a node


@dataclass(frozen=True, eq=False)
class Steps:
    """The shape of a tree, what its nodes add up to, and the step that each leaf takes."""

    grown: Grown
    sums: FloatArray  # (nodes, 4); of inner nodes 0
    value: FloatArray  # (nodes,); of inner nodes 0
    weight_exponent: int = 0  # gradients, hessians and weights are times 2 ** -weight_exponent
    promise: Monotone | None = None  # which way the steps go along features


def node_parts(fields: LongArray, n_rows: int, pool: ThreadPool) -> list[tuple[int, int]]:
    """Runs of nodes with about equal numbers of rows, one for each thread."""
    if pool.size == 1 or n_rows < LEAST_SHARED:
        return [(0, len(fields))]
    is_leaf = fields[:, FEATURE] == LEAF
    done = np.cumsum(np.where(is_leaf, fields[:, END] - fields[:, START], 0))
    ends = np.searchsorted(done, n_rows * np.arange(1, pool.size) / pool.size, side="right")
    borders = [0, *ends.tolist(), len(fields)]
    return list(pairwise(borders))


def summed(
    shape: TreeShape, lines: tuple[FloatArray, FloatArray, FloatArray, IntArray], pool: ThreadPool
) -> FloatArray:
    """What the rows of every leaf add up to: gradient, hessian, weight and number."""
    fields, rows = shape.grown.fields, shape.rows
    sums = np.zeros((len(fields), 4))
    pool.run(
        lambda part: leaf_sums(fields, rows, *lines, *part, sums),
        node_parts(fields, len(rows), pool),
    )
    return sums


def newton_steps(sums: FloatArray, l2: float) -> FloatArray:
    """The step to the lowest point of a parabola with the gradient and the hessian of the loss."""
    below = sums[:, HESSIAN] + l2
    return np.asarray(np.where(below > 0.0, -sums[:, GRADIENT] / np.where(below > 0.0, below, 1.0), 0.0))


def step_schema(table: Table, steps: Sequence[Steps]) -> Schema:
    """The schema of trees that predict steps of a score."""
    leaves = np.concatenate([each.value[each.grown.fields[:, FEATURE] == LEAF] for each in steps])
    target = Target(f"score of {table.schema.target.name}", (), float(leaves.min()), float(leaves.max()))
    return Schema(table.schema.features, target)


def boosted_tree(table: Table, schema: Schema, steps: Steps, l2: float) -> Tree:
    """The tree, whose values are steps of the score.

    The impurity of a node is what the splits below it gain, per weight: 0 at a leaf.
    """
    fields, grown = steps.grown.fields, steps.grown
    inner = fields[:, FEATURE] != LEAF
    left, right = fields[:, LEFT], fields[:, RIGHT]
    sums = steps.sums.copy()
    add_upwards(fields, sums)
    # By weight and by the greatest gradient: squares may be too large or too small for a float.
    whole, greatest = float(sums[0, WEIGHT]) or 1.0, float(np.abs(sums[:, GRADIENT]).max()) or 1.0
    gradient, hessian = sums[:, GRADIENT] / greatest, (sums[:, HESSIAN] + l2) / whole
    reached = np.where(hessian > 0.0, gradient * gradient / np.where(hessian > 0.0, hessian, 1.0), 0.0)
    gain = np.where(inner, np.maximum(reached[left] + reached[right] - reached, 0.0), 0.0)
    risk = gain[:, None].copy()
    add_upwards(fields, risk)
    weight = sums[:, WEIGHT] / whole
    value = np.where(inner, newton_steps(sums, l2), steps.value)
    return Tree(
        schema=schema,
        feature=node_features(table, fields),
        threshold=thresholds(table, fields),
        left=left.astype(np.int32),
        right=right.astype(np.int32),
        missing_left=fields[:, MISSING_LEFT] == 1,
        set_start=np.where(inner, fields[:, SET_START], -1),
        in_set=grown.in_set,
        value=value[:, None],
        count=sums[:, COUNT],
        weight=np.ldexp(sums[:, WEIGHT], steps.weight_exponent),
        impurity=_finite(risk[:, 0] / np.where(weight > 0.0, weight, 1.0), greatest / whole),
        criterion="newton",
        monotone=steps.promise,
    )


def steps_in_order(table: Table, steps: Steps, promise: Monotone) -> FloatArray:
    """The steps nearest to these that keep what is promised of the score; of inner nodes 0."""
    fields = steps.grown.fields
    if len(fields) == 1:
        return steps.value
    tree = boosted_tree(table, step_schema(table, [steps]), replace(steps, promise=promise), 0.0)
    # By the hessian: that is what a step off the best one costs.
    own = tree.replace(weight=np.maximum(steps.sums[:, HESSIAN], 0.0))
    return np.where(fields[:, FEATURE] == LEAF, in_order(own).value[:, 0], 0.0)


def _finite(impurity: FloatArray, scale: float) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(impurity * scale * scale, np.finfo(np.float64).max), np.float64)
