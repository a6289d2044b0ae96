"""What a split of a boosted tree is, what limits it, and what it brings."""

from typing import NamedTuple

from holdfast.arrays import FloatArray, LongArray
from holdfast.kernels.jit import inner, int64

NONE = int64(-1)
FORBIDDEN = int64(-2)  # instead of a side for missing values: the split is the best, but a limit rules it out
# Two splits whose gains differ by less are tied, and the lower feature and threshold win.
CLEARLY = 1.0 + 2.0**-40


class Limits(NamedTuple):
    """When growth ends."""

    max_depth: int
    max_leaves: int
    min_rows: int  # in each side of a split
    min_hessian: float  # in each side of a split, in units
    l2: float  # in units of the hessian
    min_impurity_decrease: float  # in units of gradient squared over hessian
    n_drawn: int  # features drawn per split; 0 for all of them
    best_first: int  # 1: the node with the greatest gain is split next; 0: depth first
    n_threads: int
    rows_to_share: int  # a part has as many rows or more
    cells_to_share: int  # a node with fewer rows times features, and bins, is counted by one thread
    dispersion: float  # of gradients by chance, in units; 0: categories are searched exactly


class Best(NamedTuple):
    """The best split so far: what its sides have is top / bottom."""

    top: float
    bottom: float
    feature: int
    cut: int  # the last bin, or the number of categories, that goes left; minus the bit pattern of a set
    missing_left: int  # or FORBIDDEN


class Scratch(NamedTuple):
    """Memory that every node uses again."""

    order: LongArray  # (categories + 1,)
    place: FloatArray  # (categories + 1,)
    queue: LongArray  # (features,) the features that wait to be drawn
    waiting: LongArray  # (128,) for sorting


class Reach(NamedTuple):
    """What guides the split of a node by one feature: see `kernels/growth/guide.py`."""

    is_guided: bool
    direction: int
    lowest: float  # bounds of the steps of the node and of all below it
    highest: float
    whole: float  # what the node has by its best step
    clipped: float  # what it has by the step within the bounds
    cost: float


@inner
def reached(sum_: float, below: float, step: float) -> float:
    """What a side has by a step: G^2 / H by its best one."""
    return -(2.0 * sum_ + below * step) * step


@inner
def guided_sides(
    reach: Reach, sum_left: float, below_left: float, sum_right: float, below_right: float
) -> float:
    """What two sides have by steps within the bounds, per cost; -1 if these are out of order, or the same.

    On the scale of a node without bounds, which has the same before the split.
    """
    if below_left <= 0.0 or below_right <= 0.0:
        return -1.0
    own_left, own_right = -sum_left / below_left, -sum_right / below_right
    left = min(max(own_left, reach.lowest), reach.highest)
    right = min(max(own_right, reach.lowest), reach.highest)
    if (right - left) * reach.direction < 0.0 or (left == right and own_left != own_right):
        return -1.0
    sides = reached(sum_left, below_left, left) + reached(sum_right, below_right, right)
    return reach.whole + max(sides - reach.clipped, 0.0) / reach.cost
