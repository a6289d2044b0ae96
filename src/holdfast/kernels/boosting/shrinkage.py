"""Columns with many categories in boosting: see `kernels/growth/shrinkage.py`.

The same by gradients and hessians. A category is expected to have its share of the node's gradient, by its
hessian, and the deviations are shrunk as far as chance explains their spread. By chance, the square of a sum
of gradients is the sum of the hessians times the dispersion: 1 for probabilities and counts that are right.
"""

from typing import NamedTuple

from holdfast.arrays import FloatArray, LongArray
from holdfast.kernels.boosting.histogram import place_of_missing
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.growth.shrinkage import LEAST_ROWS, MOST_LISTED, is_chance, prior_weight
from holdfast.kernels.growth.sort import sort_by
from holdfast.kernels.jit import inner, int64


class Groups(NamedTuple):
    """The categories of a node in groups: each that is not rare, and the rare and missing ones together."""

    n: int
    is_pooled: bool  # False: rare categories differ by more than chance, and each is a group
    rare_excess: float  # gradient over the share by the hessian
    rare_hessian: float
    prior: float  # the hessian that the node's mean has in the mean of a group


@inner
def is_shrunk(dispersion: float, coded: Coded, feature: int) -> bool:
    """True if the column has so many categories that their means are shrunk."""
    return bool(dispersion > 0.0 and coded.n_codes[feature] > MOST_LISTED)


@inner
def place_of(coded: Coded, feature: int, code: int) -> int:
    """Where the sums of a category stand in a histogram; missing values have the code after the last."""
    if code == coded.n_codes[feature]:
        return place_of_missing(coded, feature)
    return int64(2 * (coded.start[feature] + code))


@inner
def is_rare(coded: Coded, feature: int, code: int, other: int, bits: int) -> bool:
    """True of missing values and of categories with few rows, or none that can take a step."""
    n_rows, hessian = other & ((int64(1) << bits) - 1), other >> bits
    return bool(code == coded.n_codes[feature] or n_rows < LEAST_ROWS or hessian <= 0)


@inner
def grouped(
    coded: Coded,
    histogram: LongArray,
    feature: int,
    total: int,
    other: int,
    bits: int,
    dispersion: float,
    order: LongArray,
) -> tuple[int, Groups]:
    """The number of categories that occur, which are written to `order`, and their groups."""
    n_codes, hessian = int64(coded.n_codes[feature]), float(other >> bits)
    mean = total / hessian if hessian > 0.0 else 0.0
    n = n_full = n_rare = int64(0)
    spread = squares = rare_spread = rare_squares = rare_excess = rare_hessian = 0.0
    for code in range(n_codes + 1):
        at = place_of(coded, feature, int64(code))
        if histogram[at + 1] == 0:
            continue
        order[n] = code
        n += 1
        below = float(histogram[at + 1] >> bits)
        excess = histogram[at] - below * mean
        apart = excess * excess / below if below > 0.0 else 0.0
        if is_rare(coded, feature, int64(code), histogram[at + 1], bits):
            rare_excess += excess
            rare_hessian += below
            rare_spread += apart
            rare_squares += below * below
            n_rare += 1
        else:
            spread += apart
            squares += below * below
            n_full += 1
    is_pooled = False
    if n_rare > 0:
        together = rare_excess * rare_excess / rare_hessian if rare_hessian > 0.0 else 0.0
        is_pooled = rare_hessian <= 0.0 or is_chance(rare_spread - together, dispersion, n_rare)
        if is_pooled:
            rare_spread, rare_squares, n_rare = together, rare_hessian * rare_hessian, int64(1)
    n_groups = n_full + n_rare
    prior = prior_weight(hessian, spread + rare_spread, squares + rare_squares, dispersion, n_groups)
    return n, Groups(n_groups, is_pooled, rare_excess, rare_hessian, prior)


@inner
def arrange_shrunk(
    coded: Coded,
    histogram: LongArray,
    feature: int,
    total: int,
    other: int,
    bits: int,
    dispersion: float,
    order: LongArray,
    place: FloatArray,
) -> tuple[int, int, float]:
    """Write the categories of the node in the order of the step that each is expected to take.

    How many they and their groups are, and the mean of all shrunk deviations, which stand in `place`.
    """
    n, groups = grouped(coded, histogram, feature, total, other, bits, dispersion, order)
    hessian, of_rare, remains = float(other >> bits), 0.0, 0.0
    mean = total / hessian if hessian > 0.0 else 0.0
    if groups.rare_hessian + groups.prior > 0.0:
        of_rare = groups.rare_excess / (groups.rare_hessian + groups.prior)
    for i in range(n):
        at = place_of(coded, feature, order[i])
        below = float(histogram[at + 1] >> bits)
        place[order[i]] = of_rare
        if below > 0.0 and not (
            groups.is_pooled and is_rare(coded, feature, order[i], histogram[at + 1], bits)
        ):
            place[order[i]] = (histogram[at] - below * mean) / (below + groups.prior)
        remains += below / hessian * place[order[i]] if hessian > 0.0 else 0.0
    sort_by(order, place, n)
    return n, groups.n, remains
