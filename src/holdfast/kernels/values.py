"""What the rows of every node of a finished tree have in common."""

import math

import numpy as np

from holdfast.arrays import FloatArray, IntArray, LongArray
from holdfast.kernels.grow import END, FEATURE, LEFT, NONE, RIGHT, START
from holdfast.kernels.jit import kernel


@kernel
def number_values(
    fields: LongArray,
    rows: IntArray,
    target: FloatArray,
    weight: FloatArray,
    count: IntArray,
    is_poisson: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weight, mean and impurity of the target at every node: two passes at the leaves, then upwards.

    Impurity is the mean squared deviation or, for Poisson, the mean of half the deviance. A node without rows
    has no weight, and 0 for the rest.
    """
    n_nodes = len(fields)
    weights, mean, impurity = np.zeros(n_nodes), np.zeros(n_nodes), np.zeros(n_nodes)
    for i in range(n_nodes - 1, -1, -1):  # children stand after their parent
        if fields[i, FEATURE] == NONE:
            first, last = fields[i, START], fields[i, END]
            if first == last:
                continue
            origin = target[rows[first]]  # a leaf of equal targets has exactly their mean
            for j in range(first, last):
                own = weight[rows[j]] * count[rows[j]]
                weights[i] += own
                mean[i] += own * (target[rows[j]] - origin)
            mean[i] = origin + mean[i] / weights[i]
            for j in range(first, last):
                own = weight[rows[j]] * count[rows[j]] / weights[i]
                if not is_poisson:
                    impurity[i] += own * (target[rows[j]] - mean[i]) ** 2
                elif target[rows[j]] > 0.0:
                    impurity[i] += own * target[rows[j]] * math.log(target[rows[j]] / mean[i])
        else:
            a, b = fields[i, LEFT], fields[i, RIGHT]
            weights[i] = weights[a] + weights[b]
            if weights[i] == 0.0:
                continue
            share_a, share_b = weights[a] / weights[i], weights[b] / weights[i]
            mean[i] = mean[a] + (mean[b] - mean[a]) * share_b
            impurity[i] = share_a * impurity[a] + share_b * impurity[b]
            if not is_poisson:
                impurity[i] += share_a * share_b * (mean[a] - mean[b]) ** 2
            else:
                for child in (a, b):
                    if mean[child] > 0.0:
                        share = weights[child] / weights[i]
                        impurity[i] += share * mean[child] * math.log(mean[child] / mean[i])
        impurity[i] = max(impurity[i], 0.0)
    return weights, mean, impurity
