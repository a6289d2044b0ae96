"""A tree of a boosted ensemble while it grows, and what the threads that grow it know of a work."""

from typing import NamedTuple

from holdfast.arrays import FloatArray, IntArray, LongArray, SignArray
from holdfast.kernels.boosting.packing import Unpacked
from holdfast.kernels.boosting.splits import Scratch
from holdfast.kernels.growth.guide import Guide, Paths
from holdfast.kernels.jit import int64

# The counters of a tree that is growing. A work is about a node, and about the other child of its parent if
# that one is to be made from its parent's histogram; each has a slot for its own.
N_NODES, N_LEAVES, N_OPEN, N_SET, N_FREE, FRESH = range(6)
NODE, SLOT_OF_NODE, OTHER, SLOT_OF_OTHER, N_PARTS, GATHERS_LEFT = range(6, 12)
N_COUNTERS = 12
# The works that are done in parts; the first is the second for the root, whose gradients are packed before.
PACK, GATHER, DIVIDE, PLACE, SEARCH = int64(0), int64(1), int64(2), int64(3), int64(4)
# What a block of features found, for the node and for the other one.
TOP, BOTTOM, BEST_FEATURE, BEST_CUT, BEST_SIDE = range(5)
N_FOUND = 8  # a line of the cache


class Growing(NamedTuple):
    """A tree while it grows: its nodes in the order in which they were made, and memory."""

    unpacked: Unpacked
    rows: IntArray  # in the order of the nodes
    ordered: LongArray  # (rows,) gradients in the same order, of the node that is counted
    fields: LongArray  # (nodes, N_FIELDS)
    total: LongArray  # (nodes, 2) hessian and number of rows; gradient
    gain: FloatArray  # (nodes,)
    heap: LongArray
    counters: LongArray
    free: LongArray  # slots of histograms that nobody holds
    histograms: LongArray  # (slots, statistics)
    buffer: IntArray  # (2, rows)
    sides: SignArray  # (categories + 1,) of the set by which a node is divided
    notes: LongArray  # (parts, N_NOTES)
    found: FloatArray  # (2, blocks, N_FOUND)
    queue: LongArray  # of parts that wait to be taken
    scratch: Scratch  # each thread has its own
    guide: Guide
    guided: FloatArray  # (nodes, N_GUIDED), or of no nodes where nothing guides growth
    paths: Paths
