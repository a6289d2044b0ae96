"""What the two sides of every split lose around their quantiles, in integers.

A loss around a quantile is no function of sums over rows: which rows count as above depends on the quantile,
and so on the side. So the rows of a side stand in a list, in the order of their targets, from which they are
taken one after the other. The quantile then moves by few rows at a time, and the sums of weight and target
below it move along: after the sort by the feature, all splits of a feature take one pass for each side.
"""

from typing import NamedTuple

from holdfast.arrays import LongArray
from holdfast.kernels.jit import inner, int64

NOBODY = int64(-1)
# A fraction of the weight is reached if no more than rounding is missing: 0.7 of 10 rows are 7.
NEARLY = 1.0 - 1e-12


class Pinball(NamedTuple):
    """Which quantile, and what a unit of the target costs on either side of it."""

    fraction: float  # of the weight that is at most the quantile
    above: float  # cost of a target above it
    below: float


class Targets(NamedTuple):
    """The rows of a node in the order of their targets: memory that all nodes use again."""

    weight: LongArray
    target: LongArray
    repeats: LongArray  # how many rows it stands for
    place: LongArray  # the rank of the feature, or the place of the category; negative if missing
    order: LongArray  # the rows in the order of the feature, those without a value last
    before: LongArray  # the list: who stands before each
    after: LongArray


class Side(NamedTuple):
    """A side of a split, and where its quantile is."""

    units: int  # weight of all
    total: int  # weight times target of all
    at: int  # the row that is the quantile
    units_below: int  # of the rows that stand before it
    total_below: int


@inner
def loss_of(pinball: Pinball, targets: Targets, side: Side) -> float:
    """What the side loses around its quantile."""
    value = targets.target[side.at]
    above = side.total - side.total_below - value * (side.units - side.units_below)
    below = value * side.units_below - side.total_below
    return pinball.above * float(above) + pinball.below * float(below)


@inner
def settled(
    pinball: Pinball, targets: Targets, units: int, total: int, at: int, units_below: int, total_below: int
) -> Side:
    """The side with its quantile where it belongs: the first row up to which the fraction is reached."""
    weight, target, before, after = targets.weight, targets.target, targets.before, targets.after
    wanted = pinball.fraction * units * NEARLY
    while units_below + weight[at] < wanted:
        units_below += weight[at]
        total_below += weight[at] * target[at]
        at = after[at]
    while units_below >= wanted:
        at = before[at]
        units_below -= weight[at]
        total_below -= weight[at] * target[at]
    return Side(units, total, at, units_below, total_below)


@inner
def all_rows(pinball: Pinball, targets: Targets, n: int, with_missing: bool) -> Side:
    """The side of all n rows, or of those with a value of the feature, one at least; lists them."""
    first, last, units, total = NOBODY, NOBODY, int64(0), int64(0)
    for i in range(n):
        if with_missing or targets.place[i] >= 0:
            targets.before[i], targets.after[i] = last, n
            if last == NOBODY:
                first = int64(i)
            else:
                targets.after[last] = i
            last = int64(i)
            units += targets.weight[i]
            total += targets.weight[i] * targets.target[i]
    return settled(pinball, targets, units, total, first, int64(0), int64(0))


@inner
def without(pinball: Pinball, targets: Targets, n: int, side: Side, row: int) -> Side:
    """The side without one of its rows, which is not the last."""
    before, after = targets.before[row], targets.after[row]
    own = targets.weight[row]
    own_total = own * targets.target[row]
    at, units_below, total_below = side.at, side.units_below, side.total_below
    if row < at:
        units_below -= own
        total_below -= own_total
    elif row == at and after < n:
        at = after
    elif row == at:
        at = before
        units_below -= targets.weight[at]
        total_below -= targets.weight[at] * targets.target[at]
    if before != NOBODY:
        targets.after[before] = after
    if after < n:
        targets.before[after] = before
    return settled(pinball, targets, side.units - own, side.total - own_total, at, units_below, total_below)
