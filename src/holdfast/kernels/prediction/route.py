"""Rows to leaves."""

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, IntArray, LongArray
from holdfast.kernels.jit import kernel


@kernel
def route(
    X: FloatArray,
    rows: IntArray,
    top: int,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    missing_left: BoolArray,
    set_start: LongArray,
    n_categories: IntArray,
    in_set: BoolArray,
    out: IntArray,
) -> None:
    """out[i] = the leaf that X[rows[i]] reaches from `top`; `feature` is a column of X, or -1 at a leaf."""
    for i in range(len(rows)):
        row, node = rows[i], top
        while feature[node] >= 0:
            x = X[row, feature[node]]
            goes_left = missing_left[node]
            if set_start[node] < 0:
                if not np.isnan(x):
                    goes_left = x <= threshold[node]
            elif 0.0 <= x < n_categories[node]:  # false for NaN, and for what is no category of the feature
                goes_left = in_set[set_start[node] + int(x)]
            node = left[node] if goes_left else right[node]
        out[i] = node
