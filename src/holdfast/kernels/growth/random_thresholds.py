"""The thresholds that the nodes of a tree have drawn, once more: a growing tree keeps ranks alone."""

from holdfast.arrays import FloatArray, IntArray, LongArray
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.growth.nodes import END, FEATURE, FIRST_RIGHT, LAST_LEFT, SEED, START
from holdfast.kernels.growth.random_split import RankValues, drawn_number, rank_range
from holdfast.kernels.jit import int64, kernel


@kernel
def drawn_thresholds(
    fields: LongArray, rows: IntArray, coded: Coded, values: RankValues, out: FloatArray
) -> None:
    """Write the threshold of every node that parts known values; `rows` stand in the order of the leaves."""
    for node in range(len(fields)):
        if fields[node, LAST_LEFT] < 0 or fields[node, FIRST_RIGHT] < 0:
            continue
        feature, own = int64(fields[node, FEATURE]), rows[fields[node, START] : fields[node, END]]
        if feature >= 0:
            lowest, highest, _ = rank_range(coded.ranks[feature], own)
            key, low = coded.name_keys[feature], values.number[values.start[feature] + lowest]
            high = values.number[values.start[feature] + highest]
            out[node] = drawn_number(fields[node, SEED], key, low, high)
