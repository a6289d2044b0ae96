"""One tree of a boosted ensemble: the splits that lower the loss most, by its first two derivatives."""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from holdfast.arrays import ByteArray, FloatArray, IntArray
from holdfast.backends.thread_pool import ThreadPool
from holdfast.data.table import Table
from holdfast.growth.criteria import SQUARED_ERROR
from holdfast.growth.nodes import grow_nodes
from holdfast.growth.ready import SampledRows, prepare_task
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import fixed_point, relative
from holdfast.kernels.boosting.losses import ROWS_PER_SUM
from holdfast.kernels.boosting.roles import LEARNT
from holdfast.kernels.growth.nodes import Grown

# Less work than this is done sooner by one thread: another takes a tenth of a millisecond to wake up.
LEAST_SHARED = 65_536  # rows


class TreeShape(NamedTuple):
    """A boosted tree before its leaves have values: nodes in preorder, and rows leaf by leaf."""

    grown: Grown
    rows: IntArray


class Derivatives(NamedTuple):
    """First and second derivatives of the loss at every row, and the training rows."""

    gradient: FloatArray
    hessian: FloatArray
    importance: FloatArray  # the weight of one repetition; empty if all are 1
    role: ByteArray
    rows: IntArray  # those that are learnt from
    spread: FloatArray | None = None  # what is known for packing them: see `kernels/boosting/packing.py`


class Splits(Protocol):
    """A split search."""

    @property
    def rules(self) -> GrowthRules:
        """Limits of the trees."""

    def tree(self, derivatives: Derivatives, seed: int, pool: ThreadPool) -> TreeShape:
        """Grow the tree that lowers the loss most, split by split."""


def n_blocks_of(n_rows: int) -> int:
    """Return the number of blocks for sums over this number of rows."""
    return -(-n_rows // ROWS_PER_SUM)


def block_parts(n_rows: int, pool: ThreadPool) -> list[tuple[int, int]]:
    """Divide blocks among threads, as (first, end); one part if the rows are few."""
    n_blocks = n_blocks_of(n_rows)
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
        """Grow the tree that lowers the loss most, split by split."""
        gradient, hessian, importance, role, rows, _ = derivatives
        counts = np.where(role == LEARNT, self.repeats, 0).astype(np.int32)
        # A row without a hessian has no target of its own, and next to no weight.
        hessian = np.maximum(hessian, float(hessian[rows].max()) * 2.0**-24 or 1.0)
        importance, exponent = relative(hessian * importance if len(importance) else hessian, counts)
        total = float(counts[rows] @ importance[rows])
        with np.errstate(over="ignore"):
            least, gain = np.ldexp([self.least_hessian, self.rules.min_impurity_decrease], -exponent) / total
        rules = self.rules.replace(
            min_weight_fraction_leaf=min(float(least), 0.5), min_impurity_decrease=float(gain)
        )
        fixed = fixed_point(-gradient / hessian, 0, SQUARED_ERROR, counts, importance)
        task = prepare_task(self.table, rules, fixed, SampledRows([counts], [seed]))
        return TreeShape(grow_nodes(self.table.coded, rules, task), task.rows)
