"""The rows of a small node, copied side by side: its subtree is grown there."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import FloatArray, IntArray, LongArray
from holdfast.kernels.growth.criteria import Plan
from holdfast.kernels.growth.histogram import Coded, Sample
from holdfast.kernels.jit import inner


class CompactRows(NamedTuple):
    """Room for the rows of one node, side by side: it fits a cache that the whole table does not.

    `coded` and `sample` are the same memory, which only `move_to_compact` writes to.
    """

    coded: Coded
    sample: Sample
    codes: NDArray[np.uint32]  # (features / 4, rows)
    ranks: IntArray  # (features, rows)
    weight: LongArray  # (rows,)
    total: LongArray
    square: LongArray
    target: FloatArray
    repeats: IntArray
    origin: IntArray  # (rows,) which row of the table each is


@inner
def move_to_compact(plan: Plan, coded: Coded, sample: Sample, rows: IntArray, compact: CompactRows) -> None:
    """Copy the rows and number them anew, in their order."""
    for i in range(len(rows)):
        row = rows[i]
        compact.origin[i] = row
        compact.weight[i] = sample.weight[row]
        if plan.n_classes == 0:
            compact.total[i], compact.square[i] = sample.total[row], sample.square[row]
            compact.target[i] = sample.target[row]
        if plan.counts_apart:
            compact.repeats[i] = sample.repeats[row]
    # Line by line: in a loop that writes, the compiler would look up where a line begins for every number.
    for block in range(coded.codes.shape[0]):
        codes, own_codes = coded.codes[block], compact.codes[block]
        for i in range(len(rows)):
            own_codes[i] = codes[rows[i]]
    for feature in range(coded.ranks.shape[0]):
        ranks, own_ranks = coded.ranks[feature], compact.ranks[feature]
        for i in range(len(rows)):
            own_ranks[i] = ranks[rows[i]]
    for i in range(len(rows)):
        rows[i] = i
