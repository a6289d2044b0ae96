"""One tree of a boosted ensemble: its shape, the steps of its leaves, and the finished tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from holdfast._arrays import ByteArray, FloatArray, IntArray, LongArray, freeze
from holdfast.data.schema import Schema, Target
from holdfast.data.table import Table
from holdfast.growth.grow import compute_thresholds, grow_nodes, node_features, prepare_task
from holdfast.growth.rules import SQUARED_ERROR, GrowthRules
from holdfast.growth.sample import fixed_point, scale_importance
from holdfast.kernels.boosting.histogram import TRAINING
from holdfast.kernels.boosting.leaves import add_upwards, leaf_sums
from holdfast.kernels.boosting.losses import ROWS_PER_SUM
from holdfast.kernels.growth.nodes import (
    END,
    FEATURE,
    LEFT,
    MISSING_LEFT,
    RIGHT,
    SET_START,
    START,
    NodeArrays,
)
from holdfast.parallel.tasks import ThreadPool
from holdfast.tree.monotone import Monotone, enforce_monotonicity
from holdfast.tree.tree import LEAF, Tree

GRADIENT, HESSIAN, WEIGHT, COUNT = range(4)  # columns of the sums of a node


@dataclass(frozen=True, eq=False)
class LeafSteps:
    """Shape of a tree, sums of its nodes and steps of its leaves."""

    nodes: NodeArrays
    sums: FloatArray  # (nodes, 4); of inner nodes 0
    value: FloatArray  # (nodes,); of inner nodes 0
    weight_exponent: int = 0  # gradients, hessians and weights are scaled by 2 ** -weight_exponent
    monotone: Monotone | None = None  # constraints on the steps


def divide_nodes(fields: LongArray, n_rows: int, pool: ThreadPool) -> list[tuple[int, int]]:
    """Divide nodes into runs of similar row numbers, one per thread."""
    if pool.size == 1 or n_rows < LEAST_SHARED:
        return [(0, len(fields))]
    is_leaf = fields[:, FEATURE] == LEAF
    done = np.cumsum(np.where(is_leaf, fields[:, END] - fields[:, START], 0))
    ends = np.searchsorted(done, n_rows * np.arange(1, pool.size) / pool.size, side="right")
    borders = [0, *ends.tolist(), len(fields)]
    return list(pairwise(borders))


def sum_leaves(
    shape: TreeShape, lines: tuple[FloatArray, FloatArray, FloatArray, IntArray], pool: ThreadPool
) -> FloatArray:
    """Sum gradient, hessian, weight and number of the rows of every leaf."""
    fields, rows = shape.nodes.fields, shape.rows
    sums = np.zeros((len(fields), 4))
    pool.run(lambda part: leaf_sums(fields, rows, *lines, *part, sums), divide_nodes(fields, len(rows), pool))
    return sums


def newton_steps(sums: FloatArray, l2: float) -> FloatArray:
    """Compute Newton steps from gradients and hessians."""
    below = sums[:, HESSIAN] + l2
    return np.asarray(np.where(below > 0.0, -sums[:, GRADIENT] / np.where(below > 0.0, below, 1.0), 0.0))


def step_schema(table: Table, steps: Sequence[LeafSteps]) -> Schema:
    """Return the schema of trees that predict score steps."""
    leaves = np.concatenate([each.value[each.nodes.fields[:, FEATURE] == LEAF] for each in steps])
    target = Target(f"score of {table.schema.target.name}", (), float(leaves.min()), float(leaves.max()))
    return Schema(table.schema.features, target)


def build_boosted_trees(table: Table, schema: Schema, steps: Sequence[LeafSteps], l2: float) -> list[Tree]:
    """Build trees of score steps, many at once, which takes a fifth of the time.

    The impurity of a node is the gain of the splits below it, per weight: 0 at a leaf.
    """
    fields = np.concatenate([each.nodes.fields for each in steps])
    sizes = np.array([len(each.value) for each in steps], np.int64)
    ends = np.cumsum(sizes)
    first = ends - sizes
    inner = fields[:, FEATURE] != LEAF
    sums, risk, whole, greatest = _sum_upwards(fields, steps, first, l2)
    weight = sums[:, WEIGHT] / whole
    exponent = np.repeat(np.array([each.weight_exponent for each in steps], np.intc), sizes)
    parts = {
        "feature": node_features(table, fields),
        "threshold": compute_thresholds(table, fields),
        "left": fields[:, LEFT].astype(np.int32),
        "right": fields[:, RIGHT].astype(np.int32),
        "missing_left": fields[:, MISSING_LEFT] == 1,
        "set_start": np.where(inner, fields[:, SET_START], -1),
        "value": np.where(inner, newton_steps(sums, l2), np.concatenate([each.value for each in steps]))[
            :, None
        ],
        "count": sums[:, COUNT],
        "weight": np.ldexp(sums[:, WEIGHT], exponent),
        "impurity": _finite(risk / np.where(weight > 0.0, weight, 1.0), greatest / whole),
    }
    parts = {name: freeze(part) for name, part in parts.items()}
    return [
        Tree(
            schema=schema,
            **{name: part[begin:end] for name, part in parts.items()},
            in_set=each.nodes.in_set,
            criterion="newton",
            monotone=each.monotone,
        )
        for each, begin, end in zip(steps, first.tolist(), ends.tolist(), strict=True)
    ]


def _sum_upwards(
    fields: LongArray, steps: Sequence[LeafSteps], first: LongArray, l2: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Sum the rows of every node and the gains of the splits below it.

    Returns them with the weight and the greatest gradient of each node's tree, 1 where they are 0.
    """
    sizes = np.diff(first, append=len(fields))
    inner = fields[:, FEATURE] != LEAF
    all_fields = fields.copy()
    all_fields[:, [LEFT, RIGHT]] += np.repeat(first, sizes)[:, None]
    left, right = all_fields[:, LEFT], all_fields[:, RIGHT]
    sums = np.concatenate([each.sums for each in steps])
    add_upwards(all_fields, sums)
    # Relative to weight and greatest gradient: squares may overflow or underflow.
    by_tree = sums[first, WEIGHT], np.maximum.reduceat(np.abs(sums[:, GRADIENT]), first)
    whole, greatest = (np.repeat(np.where(each == 0.0, 1.0, each), sizes) for each in by_tree)
    gradient, hessian = sums[:, GRADIENT] / greatest, (sums[:, HESSIAN] + l2) / whole
    score = np.where(hessian > 0.0, gradient * gradient / np.where(hessian > 0.0, hessian, 1.0), 0.0)
    gain = np.where(inner, np.maximum(score[left] + score[right] - score, 0.0), 0.0)
    risk = gain[:, None].copy()
    add_upwards(all_fields, risk)
    return sums, risk[:, 0], whole, greatest


def enforce_monotone_steps(table: Table, steps: LeafSteps, monotone: Monotone) -> FloatArray:
    """Project steps to the monotone constraints of the score; inner nodes get 0."""
    fields = steps.nodes.fields
    if len(fields) == 1:
        return steps.value
    tree = build_boosted_trees(table, step_schema(table, [steps]), [replace(steps, monotone=monotone)], 0.0)[
        0
    ]
    # Weighted by the hessian: the cost of a deviation from the best step.
    own = tree.replace(weight=np.maximum(steps.sums[:, HESSIAN], 0.0))
    return np.where(fields[:, FEATURE] == LEAF, enforce_monotonicity(own).value[:, 0], 0.0)


def _finite(impurity: FloatArray, scale: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(impurity * scale * scale, np.finfo(np.float64).max), np.float64)


# -- Shapes --------------------------------------------------------------------------------------------------

# Less work is faster with one thread: another takes a tenth of a millisecond to wake up.
LEAST_SHARED = 65_536  # rows


class TreeShape(NamedTuple):
    """A boosted tree without leaf values: nodes in preorder, and rows leaf by leaf."""

    nodes: NodeArrays
    rows: IntArray


class Derivatives(NamedTuple):
    """First and second derivatives of the loss at every row, and the training rows."""

    gradient: FloatArray
    hessian: FloatArray
    importance: FloatArray  # the weight of one repetition; empty if all are 1
    role: ByteArray
    rows: IntArray  # the training rows
    spread: FloatArray | None = None  # summary for packing: see `kernels/boosting/histogram.py`


class Splits(Protocol):
    """A split search."""

    @property
    def rules(self) -> GrowthRules:
        """Limits of the trees."""

    def tree(self, derivatives: Derivatives, seed: int, pool: ThreadPool) -> TreeShape:
        """Grow the tree whose splits lower the loss most."""


def count_blocks(n_rows: int) -> int:
    """Return the number of blocks for sums over this number of rows."""
    return -(-n_rows // ROWS_PER_SUM)


def divide_blocks(n_rows: int, pool: ThreadPool) -> list[tuple[int, int]]:
    """Divide blocks among threads, as (first, end); one part if the rows are few."""
    n_blocks = count_blocks(n_rows)
    n_parts = min(pool.size, n_blocks) if n_rows >= LEAST_SHARED else 1
    borders = [n_blocks * part // n_parts for part in range(n_parts + 1)]
    return list(pairwise(borders))


@dataclass(frozen=True, eq=False)
class ExactSplits:
    """Splits between any two neighbouring values, by squared error on targets -g/h of weight h."""

    table: Table
    repeats: IntArray
    rules: GrowthRules
    least_hessian: float

    def tree(self, derivatives: Derivatives, seed: int, pool: ThreadPool) -> TreeShape:
        """Grow the tree whose splits lower the loss most."""
        gradient, hessian, importance, role, rows, _ = derivatives
        counts = np.where(role == TRAINING, self.repeats, 0).astype(np.int32)
        # A row without a hessian has no target, and almost no weight.
        hessian = np.maximum(hessian, float(hessian[rows].max()) * 2.0**-24 or 1.0)
        importance, exponent = scale_importance(hessian * importance if len(importance) else hessian, counts)
        total = float(counts[rows] @ importance[rows])
        with np.errstate(over="ignore"):
            least, gain = np.ldexp([self.least_hessian, self.rules.min_impurity_decrease], -exponent) / total
        rules = self.rules.replace(
            min_weight_fraction_leaf=min(float(least), 0.5), min_impurity_decrease=float(gain)
        )
        fixed = fixed_point(-gradient / hessian, 0, SQUARED_ERROR, counts, importance)
        task = prepare_task(self.table, rules, fixed, [counts], [seed])
        return TreeShape(grow_nodes(self.table.coded, rules, task), task.rows)
