"""The best split of one node: exact, at the cost of a histogram.

The gain at the border of two bins follows from the histogram. Inside a bin the left side's statistics lie
between those at its two borders, and every gain is convex in them, so that its maximum over that box is at a
corner: no threshold inside the bin has a higher gain. Only bins whose bound beats the best known split are
opened: their few rows are sorted and scanned one by one.
"""

from typing import NamedTuple

from holdfast._arrays import FloatArray, IntArray, LongArray, SignArray
from holdfast.kernels.growth.constraints import AllowedFeatures
from holdfast.kernels.growth.criteria import (
    LEAST_ENTROPY,
    NEVER,
    PARTS,
    Node,
    Plan,
    improvement_of,
    split_entropy,
)
from holdfast.kernels.growth.histogram import MISSING_CODE, Coded
from holdfast.kernels.growth.small_nodes import ROWS_TO_PLACE, SortedRows
from holdfast.kernels.growth.sorting import sort_keys
from holdfast.kernels.jit import inlined, inner, int64

RIGHT, LEFT = int64(0), int64(1)  # sides; typed, so that kernels compile once for both
SURE = int64(1 << 60)  # bound of a bin that is always opened


class Split(NamedTuple):
    """The best split so far: by improvement, then the lower feature, cut, and missing values right."""

    improvement: int
    gain: float  # per cost of the feature
    feature: int
    cut: int  # highest rank that goes left; for categories, which subset
    missing_left: int


class Scratch(NamedTuple):
    """Memory that every node of a tree reuses."""

    left: LongArray  # (stats,)
    trial: LongArray  # (stats,)
    inside: LongArray  # (stats,)
    corner: LongArray  # (stats,)
    bounds: LongArray  # (features, 256) highest improvement of a threshold inside the bin
    promise: LongArray  # (features,) the highest bound of the feature
    keys: LongArray  # (rows,) rank and row, to be sorted
    places: LongArray  # (256,) where the keys of each code go
    waiting: LongArray  # (128,) for sorting
    order: LongArray  # (categories + 1,)
    # (categories + 2,) The last is the weight of one row, 0 if means are not shrunk. As a field of Plan,
    # which all functions take, it made forests a fourth slower.
    place: FloatArray
    in_set: SignArray  # (categories,) 1 left, 0 right, -1 not seen
    drawn: LongArray  # (features,) the features in the order they are drawn
    queue: LongArray  # (features,) the features not yet drawn
    constant: LongArray  # (1,) bit f is 1 if feature f < 63 is known to take one value in the node
    turns: LongArray  # (features,) the features in the order of their searches, for gain ratios
    # (features, 4) the best split of each feature: improvement, cut, missing_left, left weight
    offers: LongArray
    offered: FloatArray  # (features, 2) its gain, before and after the cost of naming a threshold
    seen: LongArray  # (values + 1,) the last search that saw each value; the number of searches at the end
    allowed: AllowedFeatures  # the features that the node may use
    sorted_rows: SortedRows  # small nodes, row by row


@inner
def no_split() -> Split:
    """Return the start of a search."""
    return Split(NEVER, 0.0, int64(-1), int64(0), RIGHT)


@inner
def keep_in_ties(best: Split, feature: int) -> Split:
    """The best split as a rival of another feature's: an equal one does not replace it.

    So where features are drawn, ties go to the first. By their numbers, the first columns of a table would
    have won every second split of a forest, most of which are of few rows and tied.
    """
    if best.feature == feature:
        return best
    return Split(best.improvement, best.gain, int64(-1), best.cut, best.missing_left)


@inner
def better(best: Split, improvement: int, gain: float, feature: int, cut: int, missing_left: int) -> Split:
    """Return the better of two splits; a tie goes to the lower feature, threshold and missing side."""
    if improvement < best.improvement:
        return best
    if improvement == best.improvement:
        if feature > best.feature:
            return best
        if feature == best.feature and (
            cut > best.cut or (cut == best.cut and missing_left >= best.missing_left)
        ):
            return best
    return Split(improvement, gain, feature, cut, missing_left)


@inner
def could_win(best: Split, bound: int, feature: int, lowest_cut: int) -> bool:
    """True if a threshold at `lowest_cut` or above, at most as good as `bound`, could replace the best."""
    if bound != best.improvement:
        return bound > best.improvement
    return feature < best.feature or (feature == best.feature and lowest_cut < best.cut)


@inlined
def surely_less(node: Node, best: Split) -> float:
    """Return a gain below which a split cannot even tie with the best one, whatever the rounding."""
    return node.cost * (best.gain * 0.999999 - node.impurity * (4.0 / PARTS)) - node.rounding


@inlined
def is_behind(plan: Plan, node: Node, gain: float, best: Split) -> bool:
    """True if a gain is so far below the best split that its improvement need not be computed."""
    return gain < surely_less(node, best) and not plan.is_normalised


@inlined
def improvement_bound(
    plan: Plan, node: Node, gain: float, weight_before: float, weight_after: float, best: Split
) -> int:
    """Bound the improvement of a gain while the left side's weight runs between two values."""
    if is_behind(plan, node, gain, best):
        return NEVER
    return bound_closely(plan, node, gain, weight_before, weight_after)


@inner
def bound_closely(plan: Plan, node: Node, gain: float, weight_before: float, weight_after: float) -> int:
    """Bound the improvement of a gain that may be as good as the best.

    One part and `node.rounding` are added for the rounding of the bound itself.
    """
    if plan.is_normalised:
        if weight_before <= 0.0 or weight_after >= node.weight:
            return SURE
        before = split_entropy(weight_before, node.weight - weight_before)
        after = split_entropy(weight_after, node.weight - weight_after)
        if min(before, after) <= LEAST_ENTROPY * node.weight:
            return SURE
        # The entropy of the sides is concave in the weight: lowest at one of the two ends.
        lower = weight_before if before < after else weight_after
        return improvement_of(plan, node, gain, lower, node.weight - lower) + 1
    return improvement_of(plan, node, gain + node.rounding, 0.0, 0.0) + 1


@inner
def cut_after(top_rank: IntArray, feature: int, n_codes: int, b: int, shift: int) -> int:
    """Return the highest rank in a bin."""
    return int64(top_rank[feature, min(((b + 1) << shift) - 1, n_codes - 1)])


@inner
def lowest_rank(top_rank: IntArray, feature: int, b: int, shift: int) -> int:
    """Return the lowest rank in a bin."""
    return int64(top_rank[feature, (b << shift) - 1]) + 1 if b > 0 else int64(0)


@inner
def gather_keys(
    coded: Coded, rows: IntArray, feature: int, shift: int, scratch: Scratch, n_codes: int, best: Split
) -> int:
    """Write the keys, rank and row, of the bins that could still win in sorted order; return their number.

    Codes are in the order of ranks: many keys are distributed by code, and then sorted within each code.
    """
    lane, block, keys, places = 8 * (feature % 4), feature // 4, scratch.keys, scratch.places
    codes, ranks, top_rank, bounds = coded.codes, coded.ranks, coded.top_rank, scratch.bounds
    n_keys = int64(0)
    for b in range(((n_codes - 1) >> shift) + 1):
        is_open = could_win(best, bounds[feature, b], feature, lowest_rank(top_rank, feature, b, shift))
        for code in range(b << shift, min((b + 1) << shift, n_codes)):
            places[code] = 0 if is_open else NEVER
    places[MISSING_CODE] = NEVER
    for i in range(len(rows)):
        # Always written, and kept if the bin is open: a branch would be mispredicted too often.
        row = int64(rows[i])
        keys[n_keys] = row
        n_keys += places[codes[block, row] >> lane & 255] + 1
    if n_keys < max(ROWS_TO_PLACE, len(rows) // 16):  # sorting them takes less time than two more passes
        for i in range(n_keys):
            keys[i] |= int64(ranks[feature, keys[i]]) << 32
        sort_keys(keys, int64(0), n_keys, scratch.waiting)
        return n_keys
    n_keys = int64(0)
    for i in range(len(rows)):
        code = int64(codes[block, rows[i]] >> lane & 255)
        if places[code] != NEVER:
            places[code] += 1
    for code in range(n_codes):
        if places[code] != NEVER:
            places[code], n_keys = n_keys, n_keys + places[code]
    for i in range(len(rows)):
        row = int64(rows[i])
        code = int64(codes[block, row] >> lane & 255)
        place = places[code]
        if place != NEVER:
            keys[place] = (int64(ranks[feature, row]) << 32) | row
            places[code] = place + 1
    start = int64(0)
    for code in range(n_codes):
        if places[code] != NEVER:
            sort_keys(keys, start, places[code], scratch.waiting)
            start = places[code]
    return n_keys


# -- Columns drawn at a node, by a hash of their names -------------------------------------------------------

POSITION_BITS = 31  # of an entry of the queue; the hash stands above them
POSITION_MASK = (1 << POSITION_BITS) - 1
MOST_SOUGHT = 32  # columns of a queue that is searched for the next one; a longer one is sorted


@inner
def mix(x: int) -> int:
    """Return a 32-bit hash of x."""
    x = (x ^ (x >> 16)) * 0x2C1B3C6D & 0xFFFFFFFF
    x = (x ^ (x >> 12)) * 0x297A2D39 & 0xFFFFFFFF
    return x ^ (x >> 15)


@inner
def child_seed(seed: int, side: int) -> int:
    """Return the seed of a child, 0 left and 1 right: a seed identifies the path from the root."""
    return mix(seed + 1 + side & 0xFFFFFFFF)


@inner
def queue_columns(
    name_keys: LongArray, seed: int, n_least: int, n_had: int, queue: LongArray, waiting: LongArray
) -> int:
    """Write the columns with the smallest hashes, of which the first `n_had` were drawn; return their number.

    About a quarter more than `n_least`, or all of them: sorting all columns, of which few are drawn, took a
    fifth of the time in wide tables. A later call with a larger `n_least` writes the same columns and more.
    """
    n, n_ready = len(name_keys), int64(0)
    limit = (n_least + n_least // 4 + 3 << 32) // n
    for i in range(n):
        # Always written, and kept if it is small: a branch would be mispredicted too often.
        x = mix(seed ^ name_keys[i])
        queue[n_ready] = x << POSITION_BITS | i
        n_ready += x < limit
    if n_ready > MOST_SOUGHT:
        sort_keys(queue, int64(0), n_ready, waiting)
    for i in range(min(n_had, n_ready)):
        take_column(queue, int64(i), n_ready)
    return n_ready


@inner
def take_column(queue: LongArray, i: int, n_ready: int) -> int:
    """Return the column at a place of the queue, after those of all places before it."""
    if n_ready <= MOST_SOUGHT:  # without a branch that would be mispredicted
        least, place = queue[i], i
        for j in range(i + 1, n_ready):
            place = j if queue[j] < least else place
            least = min(least, queue[j])
        queue[place] = queue[i]
        queue[i] = least
    return int64(queue[i] & POSITION_MASK)
