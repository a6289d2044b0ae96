"""The best split of a node whose sides say a quantile: every threshold of every feature is tried.

The best set of categories need not be a prefix of an order, as it is for means. All sets are tried where the
categories in the node are few; of many, the prefixes of their order by their own quantiles: a good guess.
"""

from typing import NamedTuple

from holdfast.arrays import ByteArray, FloatArray, IntArray, LongArray, SignArray
from holdfast.kernels.growth.categories import mark_sides
from holdfast.kernels.growth.criteria import NEVER, Node, Plan, improvement_of
from holdfast.kernels.growth.drawing import queue_columns, take_column
from holdfast.kernels.growth.guide import Paths, clipped, toward, undirected
from holdfast.kernels.growth.histogram import Coded, last_code
from holdfast.kernels.growth.shrinkage import MOST_LISTED, NO_SHIFT
from holdfast.kernels.growth.sort import ROW_MASK, sort_by, sort_keys
from holdfast.kernels.growth.split import LEFT, RIGHT, Split, better, kept_in_ties, no_split
from holdfast.kernels.jit import inner, int64
from holdfast.kernels.quantiles.sides import NEARLY, Pinball, Targets, all_rows, loss_of, without

COUNTED = 8  # a feature of up to so many values a row is sorted by counting them


class Room(NamedTuple):
    """Memory that every node of a tree uses again."""

    targets: Targets
    keys: LongArray  # (rows,) to be sorted
    waiting: LongArray  # (128,) for sorting
    starts: LongArray  # (values + 2,) where the rows of each value of a feature begin
    losses: FloatArray  # (4, rows + 1): left and right side, each without and with the missing values
    said: LongArray  # (4, rows + 1) their quantiles
    present: LongArray  # (categories + 1,) the categories that occur in the node
    # Of each category, missing being one: its weight, as much of it as is looked at, its number among those
    # that occur, and its quantile.
    units: LongArray
    reached: LongArray
    number: LongArray
    middle: FloatArray
    in_set: SignArray  # (categories,) 1 left, 0 right, -1 not seen
    queue: LongArray  # (features,) those that wait to be drawn
    paths: Paths  # what the node may ask


# Lines of `losses` and `said`.
LEFT_KNOWN, LEFT_ALL, RIGHT_KNOWN, RIGHT_ALL = range(4)


@inner
def consider(
    plan: Plan,
    node: Node,
    losses: float,
    said: tuple[int, int],
    units: int,
    rows: int,
    feature: int,
    cut: int,
    missing_left: int,
    best: Split,
) -> Split:
    """The better of the best split so far and one whose sides lose and say so much; the left one's size."""
    if rows < plan.min_rows or node.rows - rows < plan.min_rows:
        return best
    if units < plan.min_weight or node.units - units < plan.min_weight:
        return best
    if node.is_guided:
        left, right = clipped(node, float(said[0])), clipped(node, float(said[1]))
        if (right - left) * node.direction < 0.0 or (left == right and said[0] != said[1]):
            return best
    gain = max(node.impurity - losses, 0.0)
    improvement = improvement_of(plan, node, gain, 0.0, 0.0)
    return better(best, improvement, gain / node.cost, feature, cut, missing_left)


# -- thresholds -------------------------------------------------------------------------------------------


@inner
def place_rows(coded: Coded, rows: IntArray, feature: int, targets: Targets) -> tuple[int, bool]:
    """Write the rank of the feature in every row; how many have one, and whether the rows differ in it."""
    n_known, varies = int64(0), False
    first = int64(coded.ranks[feature, rows[0]])
    for i in range(len(rows)):
        rank = int64(coded.ranks[feature, rows[i]])
        targets.place[i] = rank
        n_known += rank >= 0
        varies = varies or rank != first
    return n_known, varies


@inner
def sort_rows(room: Room, n: int, n_known: int, n_places: int) -> None:
    """Write the rows in the order of their places, those without one at the end."""
    place, order, starts = room.targets.place, room.targets.order, room.starts
    if n_places <= COUNTED * n:
        for k in range(n_places + 1):
            starts[k] = 0
        for i in range(n):
            starts[place[i] + 1 if place[i] >= 0 else 0] += 1
        starts[0] = 0
        for k in range(1, n_places + 1):
            starts[k] += starts[k - 1]
        missing = n_known
        for i in range(n):
            if place[i] >= 0:
                order[starts[place[i]]] = i
                starts[place[i]] += 1
            else:
                order[missing] = i
                missing += 1
        return
    n_keys, missing = int64(0), n_known
    for i in range(n):
        if place[i] >= 0:
            room.keys[n_keys] = place[i] << 32 | i
            n_keys += 1
        else:
            order[missing] = i
            missing += 1
    sort_keys(room.keys, int64(0), n_keys, room.waiting)
    for j in range(n_keys):
        order[j] = room.keys[j] & ROW_MASK


@inner
def lose_left(
    pinball: Pinball,
    targets: Targets,
    n: int,
    n_known: int,
    with_missing: bool,
    losses: FloatArray,
    said: LongArray,
) -> None:
    """Write at j what the rows up to the j-th in the order of the feature lose and say; the missing too."""
    side = all_rows(pinball, targets, n, with_missing)
    order, place = targets.order, targets.place
    losses[n_known - 1], said[n_known - 1] = loss_of(pinball, targets, side), targets.target[side.at]
    for j in range(n_known - 1, 0, -1):
        side = without(pinball, targets, n, side, order[j])
        if place[order[j]] != place[order[j - 1]]:
            losses[j - 1], said[j - 1] = loss_of(pinball, targets, side), targets.target[side.at]


@inner
def lose_right(
    pinball: Pinball,
    targets: Targets,
    n: int,
    n_known: int,
    with_missing: bool,
    losses: FloatArray,
    said: LongArray,
) -> None:
    """Write at j what the rows from the j-th on lose and say; the missing too, or on their own at the end."""
    side = all_rows(pinball, targets, n, with_missing)
    order, place = targets.order, targets.place
    for j in range(n_known if with_missing else n_known - 1):
        side = without(pinball, targets, n, side, order[j])
        if j == n_known - 1 or place[order[j]] != place[order[j + 1]]:
            losses[j + 1], said[j + 1] = loss_of(pinball, targets, side), targets.target[side.at]


@inner
def scan_thresholds(
    plan: Plan, pinball: Pinball, node: Node, room: Room, n: int, n_known: int, feature: int, best: Split
) -> Split:
    """The best threshold of the feature by whose order the rows stand, with missing values on either side."""
    targets, losses, said = room.targets, room.losses, room.said
    order, place = targets.order, targets.place
    some_missing = n_known < n
    lose_left(pinball, targets, n, n_known, False, losses[LEFT_KNOWN], said[LEFT_KNOWN])
    lose_right(pinball, targets, n, n_known, False, losses[RIGHT_KNOWN], said[RIGHT_KNOWN])
    units_missing = rows_missing = int64(0)
    if some_missing:
        lose_left(pinball, targets, n, n_known, True, losses[LEFT_ALL], said[LEFT_ALL])
        lose_right(pinball, targets, n, n_known, True, losses[RIGHT_ALL], said[RIGHT_ALL])
        for j in range(n_known, n):
            units_missing += targets.weight[order[j]]
            rows_missing += targets.repeats[order[j]]
    right = RIGHT_ALL if some_missing else RIGHT_KNOWN
    units = rows = int64(0)
    for j in range(n_known - 1):
        units += targets.weight[order[j]]
        rows += targets.repeats[order[j]]
        cut = place[order[j]]
        if cut == place[order[j + 1]]:
            continue
        both = losses[LEFT_KNOWN, j] + losses[right, j + 1]
        pair = (said[LEFT_KNOWN, j], said[right, j + 1])
        best = consider(plan, node, both, pair, units, rows, feature, cut, RIGHT, best)
        if some_missing:
            both = losses[LEFT_ALL, j] + losses[RIGHT_KNOWN, j + 1]
            pair = (said[LEFT_ALL, j], said[RIGHT_KNOWN, j + 1])
            all_units, all_rows_left = units + units_missing, rows + rows_missing
            best = consider(plan, node, both, pair, all_units, all_rows_left, feature, cut, LEFT, best)
    if some_missing:
        j = n_known - 1
        both = losses[LEFT_KNOWN, j] + losses[RIGHT_ALL, n_known]
        pair = (said[LEFT_KNOWN, j], said[RIGHT_ALL, n_known])
        units, rows = node.units - units_missing, node.rows - rows_missing
        alone = undirected(node)  # known values parted from missing ones have no order
        best = consider(plan, alone, both, pair, units, rows, feature, place[order[j]], RIGHT, best)
    return best


# -- categories -------------------------------------------------------------------------------------------


@inner
def list_present(coded: Coded, room: Room, n: int, feature: int) -> int:
    """Write the categories that occur, the missing one last, and their weights; how many they are.

    The place of every row is then its category, also if that is missing.
    """
    targets, last = room.targets, last_code(coded, feature, NO_SHIFT)
    for code in range(coded.n_codes[feature]):
        room.units[code] = 0
    room.units[last] = 0
    for i in range(n):
        if targets.place[i] < 0:
            targets.place[i] = last
        room.units[targets.place[i]] += targets.weight[i]
    n_present = int64(0)
    for i in range(coded.n_codes[feature] + 1):
        code = i if i < coded.n_codes[feature] else last
        if room.units[code] > 0:
            room.present[n_present] = code
            n_present += 1
    return n_present


@inner
def arrange(pinball: Pinball, room: Room, n: int, n_present: int) -> None:
    """Sort the categories that occur by their own quantiles."""
    targets, reached = room.targets, room.reached
    for k in range(n_present):
        reached[room.present[k]] = 0
    for i in range(n):  # in the order of the targets
        code = targets.place[i]
        wanted = pinball.fraction * room.units[code] * NEARLY
        if reached[code] < wanted:
            room.middle[code] = float(targets.target[i])
        reached[code] += targets.weight[i]
    sort_by(room.present, room.middle, n_present)


@inner
def number_rows(room: Room, n: int, n_present: int) -> None:
    """Put the number of its category, the first being 1, in the place of every row."""
    for k in range(n_present):
        room.number[room.present[k]] = k + 1
    for i in range(n):
        room.targets.place[i] = room.number[room.targets.place[i]]


@inner
def scan_sets(
    plan: Plan, pinball: Pinball, node: Node, room: Room, n: int, n_present: int, feature: int, best: Split
) -> Split:
    """The best of all sets of the categories; `cut` is its bit pattern, without a bit for the first one."""
    targets = room.targets
    for pattern in range(1, 1 << (n_present - 1)):
        units = rows = total = all_total = int64(0)
        for i in range(n):
            own = targets.weight[i] * targets.target[i]
            all_total += own
            if pattern << 2 >> targets.place[i] & 1:
                units += targets.weight[i]
                rows += targets.repeats[i]
                total += own
        left = set_loss(pinball, targets, n, pattern, 1, units, total)
        right = set_loss(pinball, targets, n, pattern, 0, node.units - units, all_total - total)
        both, pair = left[0] + right[0], (left[1], right[1])
        best = consider(plan, node, both, pair, units, rows, feature, int64(pattern), RIGHT, best)
    return best


@inner
def set_loss(
    pinball: Pinball, targets: Targets, n: int, pattern: int, side: int, units: int, total: int
) -> tuple[float, int]:
    """What the rows of a side lose and say, 1 being that of the categories in the pattern."""
    wanted, units_below, total_below = pinball.fraction * units * NEARLY, int64(0), int64(0)
    for i in range(n):
        if pattern << 2 >> targets.place[i] & 1 != side:
            continue
        value, weight = targets.target[i], targets.weight[i]
        if units_below + weight >= wanted:
            above = total - total_below - value * (units - units_below)
            below = value * units_below - total_below
            return pinball.above * float(above) + pinball.below * float(below), value
        units_below += weight
        total_below += weight * value
    return 0.0, int64(0)


@inner
def scan_categories(
    plan: Plan, pinball: Pinball, node: Node, coded: Coded, room: Room, n: int, feature: int, best: Split
) -> Split:
    """The best set of categories: `cut` is its pattern, or how many of them in their order go left."""
    n_present = list_present(coded, room, n, feature)
    if n_present <= MOST_LISTED:
        number_rows(room, n, n_present)
        return scan_sets(plan, pinball, node, room, n, n_present, feature, best)
    arrange(pinball, room, n, n_present)
    number_rows(room, n, n_present)
    sort_rows(room, n, n, n_present + 1)
    return scan_thresholds(plan, pinball, node, room, n, n, feature, best)


@inner
def choose_set(pinball: Pinball, coded: Coded, rows: IntArray, room: Room, feature: int, cut: int) -> int:
    """Mark in `in_set` which categories go left; whether missing values do, or -1 if none was seen."""
    n = len(rows)
    place_rows(coded, rows, feature, room.targets)
    n_present = list_present(coded, room, n, feature)
    first, is_listed = room.present[0], n_present <= MOST_LISTED
    if not is_listed:
        arrange(pinball, room, n, n_present)
    return mark_sides(coded, feature, room.present, n_present, first, cut, is_listed, room.in_set)


# -- all features -----------------------------------------------------------------------------------------


@inner
def search(
    plan: Plan,
    pinball: Pinball,
    node: Node,
    coded: Coded,
    rows: IntArray,
    room: Room,
    n_drawn: int,
    seed: int,
    stop: ByteArray,
) -> Split:
    """The best split over all features or, if n_drawn > 0, over as many drawn ones that can be asked.

    The rows stand in the order of their targets, and `room.targets` holds these.
    """
    best, paths, n = no_split(), room.paths, len(rows)
    has_paths, n_varied, n_ready, n_least = paths.is_set[0] > 0, int64(0), int64(0), n_drawn
    for i in range(coded.ranks.shape[0]):
        if stop[0] or (n_drawn > 0 and n_varied >= n_drawn and best.improvement != NEVER):
            break
        feature = int64(i)
        if n_drawn > 0:
            while i >= n_ready:
                n_ready = queue_columns(coded.name_keys, seed, n_least, i, room.queue, room.waiting)
                n_least *= 2
            feature = take_column(room.queue, int64(i), n_ready)
        if has_paths and paths.is_closed[feature] > 0:
            continue
        n_known, varies = place_rows(coded, rows, feature, room.targets)
        if not varies:
            continue
        n_varied += 1
        if has_paths:
            node = toward(node, paths, feature)
        earlier = best
        if n_drawn > 0:
            best = kept_in_ties(best, feature)
        if coded.is_subset[feature]:
            best = scan_categories(plan, pinball, node, coded, room, n, feature, best)
        else:
            sort_rows(room, n, n_known, int64(coded.n_ranks[feature]))
            best = scan_thresholds(plan, pinball, node, room, n, n_known, feature, best)
        best = earlier if best.feature < 0 else best
    return best
