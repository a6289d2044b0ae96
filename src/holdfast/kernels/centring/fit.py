"""How well a tree fits the teacher's answers: sums over the rows of its leaves."""

from typing import NamedTuple

from holdfast.arrays import FloatArray, LongArray
from holdfast.kernels.centring.problem import LEAF, Bounds, Nodes, Questions, Rows
from holdfast.kernels.jit import inner


class SideSums(NamedTuple):
    """The rows at a node by the leaves that they would reach through either of its children."""

    leaf_left: LongArray  # (rows,) the leaf below the left child, from 0
    leaf_right: LongArray  # (rows,)
    totals: FloatArray  # (leaves, 2 + values) of the leaves below the right child if all rows went there
    on_left: FloatArray  # (bins, leaves, 2 + values)
    on_right: FloatArray  # (bins, leaves, 2 + values)


@inner
def leaf_reached(questions: Questions, rows: Rows, nodes: Nodes, top: int, row: int) -> int:
    """The leaf that a row reaches from a node."""
    node = top
    while nodes.ask[node] != LEAF:
        q = nodes.ask[node]
        goes_left = questions.goes_left[q, rows.bin[questions.feature[q], row]]
        node = node + 1 if goes_left else nodes.right[node]
    return node


@inner
def add_row(rows: Rows, row: int, stats: FloatArray) -> None:
    """Add a row to the rows, the weight and the sums of answers of a leaf."""
    stats[0] += rows.times[row]
    stats[1] += rows.weight[row]
    for s in range(len(stats) - 2):
        stats[2 + s] += rows.answer[row, s]


@inner
def leaf_explains(stats: FloatArray, unit: float) -> float:
    """What one leaf explains of the sum of squares; nothing if it has no rows."""
    squares = 0.0
    for s in range(2, len(stats)):
        total = stats[s] * unit
        squares += total * total
    return squares / stats[1] if stats[1] > 0.0 else 0.0


@inner
def explained(stats: FloatArray, n_leaves: int, bounds: Bounds) -> float:
    """What the leaves explain of the sum of squares; -1 if one of them has too few rows."""
    total = 0.0
    for i in range(n_leaves):
        if stats[i, 0] < bounds.least_rows or stats[i, 1] <= 0.0:
            return -1.0
        total += leaf_explains(stats[i], bounds.unit)
    return total


@inner
def clear_stats(stats: FloatArray, n: int) -> None:
    """Set the first n entries to 0."""
    for i in range(n):
        for s in range(stats.shape[1]):
            stats[i, s] = 0.0


@inner
def add_stats(stats: FloatArray, more: FloatArray, first: int, n: int, sign: float) -> None:
    """Add n entries, or take them away, from the entry `first` on."""
    for i in range(n):
        for s in range(more.shape[1]):
            stats[first + i, s] += sign * more[i, s]


@inner
def fill_histograms(
    questions: Questions, rows: Rows, chosen: LongArray, f: int, sides: tuple[int, int], sums: SideSums
) -> None:
    """Sums by bin of a feature and by the leaf that a row reaches through the left child, and the right one.

    Of a range the sums run on from bin to bin; the bin of missing values, the last, stands alone.
    """
    on_left, on_right, n_bins = sums.on_left, sums.on_right, questions.n_bins[f]
    for b in range(n_bins + 1):
        clear_stats(on_left[b], sides[0])
        clear_stats(on_right[b], sides[1])
    for i in range(len(chosen)):
        b = rows.bin[f, chosen[i]]
        add_row(rows, chosen[i], on_left[b, sums.leaf_left[i]])
        add_row(rows, chosen[i], on_right[b, sums.leaf_right[i]])
    if questions.n_categories[f] == 0:
        for b in range(1, n_bins):
            add_stats(on_left[b], on_left[b - 1], 0, sides[0], 1.0)
            add_stats(on_right[b], on_right[b - 1], 0, sides[1], 1.0)


@inner
def split_stats(
    questions: Questions, q: int, sides: tuple[int, int], sums: SideSums, stats: FloatArray
) -> None:
    """The sums of all leaves below a node if it asks question q: those of the left child first."""
    n_left, n_right = sides
    n_bins, last = questions.n_bins[questions.feature[q]], questions.last_bin[q]
    clear_stats(stats, n_left + n_right)
    add_stats(stats, sums.totals, n_left, n_right, 1.0)
    for b in range(n_bins + 1):
        # Of a range the last bin that goes left has the sums of all before it.
        counts = b == last if last >= 0 and b < n_bins else questions.goes_left[q, b]
        if counts:
            add_stats(stats, sums.on_left[b], 0, n_left, 1.0)
            add_stats(stats, sums.on_right[b], n_left, n_right, -1.0)
