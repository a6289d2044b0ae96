"""What rows are worth that weigh unlike, or come in groups: the design effect."""

import numpy as np

from holdfast.arrays import FloatArray, LongArray


def design_effect(values: FloatArray, weight: FloatArray, groups: LongArray | None) -> float:
    """Compute the design effect of weights and groups, at least 1.

    `values` is (rows, 1) numbers, or (rows, classes) with a 1 for the class of each row. Weights count by
    Kish: the mean of their squares over the square of their mean. Groups count by what their sums vary more
    than those of as many rows drawn alone. A group whose rows are all alike is worth one row.

    >>> heads = np.array([[1.0], [1.0], [0.0], [0.0]])
    >>> design_effect(heads, np.ones(4), None), design_effect(heads, np.ones(4), np.array([0, 0, 1, 1]))
    (1.0, 2.0)
    """
    if not weight.max(initial=0.0) > 0:
        return 1.0
    # Their own size does not matter, and squares of the greatest and least numbers are no numbers.
    values, weight = scale_to_unit(values)[0], scale_to_unit(weight)[0]
    total = float(weight.sum())
    of_weights = len(weight) * float((weight**2).sum()) / total**2
    if groups is None:
        return max(1.0, of_weights)
    group = np.unique(groups, return_inverse=True)[1]
    in_group = np.bincount(group, weight)
    # The most that groups can cost: as if all rows of a group were one.
    most = len(weight) * float((in_group**2).sum()) / total**2
    rest = values - (weight[:, None] * values).sum(axis=0) / total
    alone = float(np.square(weight[:, None] * rest).sum())
    n_groups = len(in_group)
    if n_groups < 2 or not alone > 0:
        return max(1.0, most)
    sums = [np.bincount(group, weight * column) for column in rest.T]
    together = n_groups / (n_groups - 1) * float(np.square(sums).sum())
    return float(np.clip(of_weights * together / alone, 1.0, max(1.0, most)))


def scale_to_unit(values: FloatArray) -> tuple[FloatArray, int]:
    """Scale values by a power of two to a greatest value in [0.5, 1); return the exponent, too.

    >>> scale_to_unit(np.array([12.0, -3.0]))
    (array([ 0.75  , -0.1875]), 4)
    """
    exponent = int(np.frexp(np.abs(values).max(initial=0.0))[1])
    return np.ldexp(values, -exponent), exponent
