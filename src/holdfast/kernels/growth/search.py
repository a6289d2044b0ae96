"""The best split of a node over all features, or over features drawn at random."""

import math

from holdfast._arrays import ByteArray, IntArray, LongArray
from holdfast.kernels.growth.categories import scan_categories
from holdfast.kernels.growth.constraints import with_direction
from holdfast.kernels.growth.criteria import (
    NEVER,
    PARTS,
    Node,
    Plan,
    add_class,
    class_impurity,
    row_impurity,
    weight_of,
)
from holdfast.kernels.growth.histogram import Coded, Sample, bits_dropped, count_one
from holdfast.kernels.growth.many_classes import HEAD, open_classes, scan_classes, scan_rows_classes
from holdfast.kernels.growth.small_nodes import write_keys
from holdfast.kernels.growth.sorting import ROW_MASK
from holdfast.kernels.growth.split import (
    Scratch,
    Split,
    could_win,
    keep_in_ties,
    no_split,
    queue_columns,
    take_column,
)
from holdfast.kernels.growth.two_statistics import open_two, scan_rows, scan_two
from holdfast.kernels.jit import inner, int64

# A node of this many rows is counted in full bins, and keeps its histogram for its children. Smaller nodes
# are counted in coarser bins, and scanned in coarser ones still: about 16 rows to a bin were fastest, 32 for
# many classes, where a bin is expensive, and 4 to 8 for numbers, whose bounds are less tight.
FULL_ROWS = 2048
# A node with at most this many rows is not counted: its rows are sorted by each feature.
FEW_ROWS = 48
NO_DIRECTION = int64(0)
ROUNDING = 2.0**-49  # a few roundings of a float, relative to it
# The improvement of a split into pure sides, of a node of less weight than this. Weights are integers: a
# split with a mixed side misses at least one unit of the impurity, and for every formula rounding changes
# the fraction of the impurity that is gained by less than half a part.
SMALL_WEIGHT = 2.0**17
PARTED = int64(PARTS)


@inner
def add_up(plan: Plan, sample: Sample, rows: IntArray, total: LongArray) -> None:
    """Write the statistics of the rows to `total`."""
    for k in range(plan.n_stats):
        total[k] = 0
    bits, mask = plan.label_bits, (1 << plan.label_bits) - 1
    if plan.n_classes > 0:
        for i in range(len(rows)):
            weight = sample.weight[rows[i]]
            total[weight & mask] += weight >> bits
    else:
        for i in range(len(rows)):
            total[0] += sample.weight[rows[i]]
            total[1] += sample.total[rows[i]]
            total[2] += sample.square[rows[i]]
    if plan.counts_apart:
        for i in range(len(rows)):
            total[plan.n_stats - 1] += sample.repeats[rows[i]]


@inner
def describe(plan: Plan, sample: Sample, rows: IntArray, total: LongArray) -> Node:
    """Return the node of these rows; `total` holds their statistics."""
    units = weight_of(plan, total, HEAD)
    weight = float(units)
    n_rows = total[plan.n_stats - 1] if plan.counts_apart else units
    low, high, impurity = 0.0, 1.0, 0.0
    if plan.n_classes > 0:
        most = classes = 0.0
        for k in range(plan.n_classes):
            most = max(most, float(total[k]))
            classes = add_class(plan.formula, classes, float(total[k]))
        if most < weight:
            impurity = class_impurity(plan.formula, weight, classes)
        return Node(
            n_rows,
            weight,
            impurity,
            low,
            high,
            1.0,
            units,
            total[1] if plan.n_classes > 1 else int64(0),
            0.0,
            NO_DIRECTION,
            -math.inf,
            math.inf,
            0.0,
            1.0,
            NO_DIRECTION,
        )
    mean = total[1] / weight
    low, high, differs = math.inf, -math.inf, False
    for i in range(len(rows)):
        row = rows[i]
        # Rounding to units can separate equal targets of different weight: compare the targets themselves.
        differs = differs or sample.target[row] != sample.target[rows[0]]
        target = sample.total[row] / sample.weight[row]
        low, high = min(low, target), max(high, target)
        impurity += row_impurity(plan.formula, float(sample.weight[row]), float(sample.total[row]), mean)
    # If targets differ there is something to split, even if rounding hides it.
    impurity = max(impurity, 1e-300) if differs and low < high else 0.0
    per_range = 1.0 / (high - low) if low < high else 0.0
    # If targets differ in their last digits only, the bounds of bins have few significant digits.
    rounding = ROUNDING * weight * (high - low)
    if plan.shift_factor > 0.0:  # of squares
        rounding *= max(abs(low), abs(high))
    return Node(
        n_rows,
        weight,
        impurity,
        low,
        high,
        per_range,
        units,
        total[1],
        rounding,
        NO_DIRECTION,
        -math.inf,
        math.inf,
        0.0,
        1.0,
        NO_DIRECTION,
    )


@inner
def search(
    plan: Plan,
    node: Node,
    total: LongArray,
    coded: Coded,
    sample: Sample,
    rows: IntArray,
    fine: int,
    histogram: LongArray,
    scratch: Scratch,
    n_drawn: int,
    seed: int,
    first: int,
    last: int,
    stop: ByteArray,
) -> Split:
    """Return the best split over all features by their histograms; or, if n_drawn > 0, over drawn features.

    Features are drawn until n_drawn of them vary in the node and one can be split: constant features do not
    count. The bins that could hold the best split are opened last, the most promising feature first. The
    search is limited to features from `first` on and before `last`, and ends when `stop[0]` is set.
    """
    best, has_two, coarse = no_split(), plan.n_classes <= 2, fine
    in_order = scratch.sorted_rows
    is_small, is_sorted = len(rows) <= FEW_ROWS, in_order.place[1] > 0
    rows_to_scan_all = 8192 if plan.n_classes > 2 else 4096 if plan.n_classes > 0 else 1024
    while coarse < 4 and len(rows) << coarse < rows_to_scan_all:
        coarse += 1
    four = (scratch.left, scratch.trial, scratch.inside, scratch.corner)
    drawn, promise, allowed = scratch.drawn, scratch.promise, scratch.allowed
    is_limited_here = allowed.is_set[0] > 0
    may_be_parted = plan.n_classes > 0 and not plan.is_normalised and not is_limited_here
    may_be_parted = may_be_parted and node.weight < SMALL_WEIGHT
    n_varied, n_ready, n_least = int64(0), int64(0), n_drawn
    for i in range(first, last):
        if stop[0]:
            break
        feature = int64(i)
        if n_drawn > 0:
            while i >= n_ready:
                n_ready = queue_columns(coded.name_keys, seed, n_least, i, scratch.queue, scratch.waiting)
                n_least *= 2
            feature = take_column(scratch.queue, int64(i), n_ready)
        drawn[i], promise[feature], ordered = feature, NEVER, rows
        # A feature that is constant in a node is constant below it.
        is_known = n_drawn > 0 and feature < 63 and scratch.constant[0] >> feature & 1
        is_excluded = is_limited_here and allowed.is_excluded[feature] > 0
        varied = not is_excluded and (n_drawn == 0 or (not is_known and varies(coded, rows, feature)))
        if not varied and not is_known and not is_excluded and feature < 63:
            scratch.constant[0] |= int64(1) << feature
        if is_limited_here:
            node = with_direction(node, allowed, feature)
        earlier = best
        if n_drawn > 0:
            best = keep_in_ties(best, feature)
        if varied:
            n_codes, begin = int64(coded.n_codes[feature]), coded.start[feature] * plan.n_stats
            own_fine, shift = bits_dropped(coded, feature, fine), bits_dropped(coded, feature, coarse)
            if n_drawn > 0 and n_codes == coded.n_ranks[feature] and n_codes <= 128:
                own_fine = shift = int64(0)  # each value has its own bin: nothing to open
            by_rows = is_small and not coded.is_subset[feature] and n_codes * 4 > len(rows)
            if is_sorted and in_order.is_kept[feature]:
                by_rows, ordered = True, in_order.rows[feature, in_order.place[0] : in_order.place[1]]
            elif by_rows:
                write_keys(coded, rows, feature, scratch.keys, scratch.places, scratch.waiting)
                for j in range(len(rows)):
                    in_order.few[j] = scratch.keys[j] & ROW_MASK
                ordered = in_order.few[: len(rows)]
            elif n_drawn > 0 or is_small or is_sorted:
                count_one(plan, coded, sample, rows, feature, own_fine, histogram)
            if coded.is_subset[feature]:
                best, varied = scan_categories(plan, node, total, coded, feature, histogram, scratch, best)
            elif by_rows and has_two:
                best, varied = scan_rows(plan, node, coded, sample, ordered, feature, best)
            elif by_rows:
                best, varied = scan_rows_classes(
                    plan, node, total, coded, sample, ordered, feature, scratch, best
                )
            elif has_two:
                best, promise[feature], varied = scan_two(
                    plan,
                    node,
                    n_codes,
                    coded.top_rank,
                    feature,
                    own_fine,
                    shift,
                    histogram,
                    begin,
                    scratch.bounds,
                    best,
                )
            else:
                best, promise[feature], varied = scan_classes(
                    plan,
                    node,
                    total,
                    n_codes,
                    coded.top_rank,
                    feature,
                    own_fine,
                    shift,
                    histogram,
                    begin,
                    scratch.bounds,
                    four,
                    best,
                )
        best = earlier if best.feature < 0 else best
        n_varied += varied
        if n_drawn == 0 and len(rows) == 2 and best.improvement != NEVER and not is_limited_here:
            break  # two rows can be separated in one way only, and the first feature wins the tie
        # No split gains more than one into pure sides, and only the same sides gain as much: later features
        # could at best tie, and ties go to the earlier feature.
        is_parted = may_be_parted and best.improvement >= PARTED
        if i < last - 1 and not is_parted and (n_drawn == 0 or n_varied < n_drawn):
            continue
        while not stop[0]:
            feature = int64(-1)
            for j in range(first, i + 1):
                f = drawn[j]
                rival = keep_in_ties(best, f) if n_drawn > 0 else best
                if could_win(rival, promise[f], f, NEVER) and (feature < 0 or promise[f] > promise[feature]):
                    feature = f
            if feature < 0:
                break
            promise[feature] = NEVER
            earlier = best
            if n_drawn > 0:
                best = keep_in_ties(best, feature)
            own_fine, shift = bits_dropped(coded, feature, fine), bits_dropped(coded, feature, coarse)
            if is_limited_here:
                node = with_direction(node, allowed, feature)
            if has_two:
                best = open_two(
                    plan, node, coded, sample, rows, feature, own_fine, shift, histogram, scratch, best
                )
            else:
                best = open_classes(
                    plan, node, total, coded, sample, rows, feature, own_fine, shift, histogram, scratch, best
                )
            best = earlier if best.feature < 0 else best
        if best.improvement != NEVER:
            break
    return best


@inner
def varies(coded: Coded, rows: IntArray, feature: int) -> bool:
    """True if the feature takes several values in the rows; most columns show it within a few rows."""
    ranks = coded.ranks
    first = ranks[feature, rows[0]]
    for i in range(1, len(rows)):  # noqa: SIM110 (a kernel)
        if ranks[feature, rows[i]] != first:
            return True
    return False
