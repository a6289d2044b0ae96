"""What all trees of a task have in common, and the memory that one after the other uses."""

from typing import NamedTuple

import numpy as np

from holdfast.arrays import ByteArray, FloatArray, IntArray, LongArray
from holdfast.kernels.growth.compact_rows import CompactRows
from holdfast.kernels.growth.criteria import Plan
from holdfast.kernels.growth.guide import Guide, Paths
from holdfast.kernels.growth.histogram import Coded, Sample
from holdfast.kernels.growth.nodes import Limits
from holdfast.kernels.growth.random_split import RankValues
from holdfast.kernels.growth.sorted_rows import SortedRows
from holdfast.kernels.growth.split import Scratch
from holdfast.kernels.jit import allocating, inner, int64

# The counters of a tree that grows: nodes made and open, flags of sets, free slots, which rows are compact,
# and whether the node that was split last is sorted, and its sorted rows are divided.
MADE, OPEN, FLAGS, FREE, COMPACT_FIRST, COMPACT_LAST, IS_SORTED, IS_DIVIDED = range(8)
N_GROWING = 8


class Given(NamedTuple):
    """What is the same for all trees of a task."""

    plan: Plan
    limits: Limits
    coded: Coded
    values: RankValues  # where there are any, splits are drawn at random and nothing is counted
    guide: Guide
    stop: ByteArray  # another thread may raise stop[0]: growth ends with the best tree so far


class Memory(NamedTuple):
    """Memory that one tree after the other uses."""

    histograms: LongArray  # (slots, statistics) the first slot is for passing use
    free: LongArray  # (slots,) those that no node holds
    heap: LongArray  # (nodes,)
    priority: FloatArray  # (nodes,)
    buffer: IntArray  # (rows,)
    compact: CompactRows  # the rows of a small node, whose subtree is grown there
    scratch: Scratch
    counters: LongArray  # (N_GROWING,)


@allocating
def new_scratch(plan: Plan, coded: Coded, guide: Guide, in_order: SortedRows, n_rows: int) -> Scratch:
    """Memory for the search."""
    n_features, widest, most_values = coded.ranks.shape[0], 256, int64(0)
    for feature in range(n_features):
        if plan.threshold_cost:
            most_values = max(most_values, int64(coded.n_ranks[feature]))
        if coded.is_wide[feature]:
            widest = max(widest, coded.n_ranks[feature] + 1)
    return Scratch(
        np.empty(plan.n_stats, np.int64),
        np.empty(plan.n_stats, np.int64),
        np.empty(plan.n_stats, np.int64),
        np.empty(plan.n_stats, np.int64),
        np.empty((n_features, 256), np.int64),
        np.empty(n_features, np.int64),
        np.empty(n_rows, np.int64),
        np.empty(256, np.int64),
        np.empty(128, np.int64),
        np.empty(widest, np.int64),
        np.empty(widest + 1, np.float64),
        np.empty(widest, np.int8),
        np.empty(n_features, np.int64),
        np.empty(n_features, np.int64),
        np.zeros(1, np.int64),
        np.empty(n_features, np.int64),
        np.empty((n_features, 4), np.int64),
        np.empty((n_features, 2), np.float64),
        np.zeros(most_values + 1, np.int64),
        Paths(
            guide.direction,
            np.zeros(n_features, np.uint8),
            np.zeros(n_features, np.uint8),
            np.ones(n_features),
            np.full(1, guide.is_set, np.uint8),
        ),
        in_order,
    )


@inner
def coded_here(given: Given, memory: Memory) -> Coded:
    """The columns of the rows at hand: those of the compact node, or of the table."""
    return memory.compact.coded if memory.counters[COMPACT_LAST] > 0 else given.coded


@inner
def sample_here(sample: Sample, memory: Memory) -> Sample:
    """What the rows at hand add to the statistics."""
    return memory.compact.sample if memory.counters[COMPACT_LAST] > 0 else sample


@inner
def release(memory: Memory, slot: int) -> None:
    """Give a slot back; the first one belongs to nobody."""
    if slot > 0:
        memory.free[memory.counters[FREE]] = slot
        memory.counters[FREE] += 1


@inner
def leave_compact(memory: Memory, rows: IntArray) -> None:
    """Number the rows again as the table does."""
    counters, origin = memory.counters, memory.compact.origin
    for i in range(counters[COMPACT_FIRST], counters[COMPACT_LAST]):
        rows[i] = origin[rows[i]]
    counters[COMPACT_FIRST] = counters[COMPACT_LAST] = 0
