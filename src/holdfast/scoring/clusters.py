"""How well clusters agree with known groups: purity, and normalised mutual information."""

import math
from typing import Any

import numpy as np

from holdfast.arrays import FloatArray, LongArray
from holdfast.data.input.columns import read_column
from holdfast.data.input.frame import as_vector
from holdfast.data.input.weight import read_weight
from holdfast.errors import DataError
from holdfast.text.lists import RowLabels, first_rows

NO_WEIGHT = 2.0**-500  # less, as a fraction of the greatest, changes no digit of a sum


def purity_score(labels_true: Any, labels_pred: Any, sample_weight: Any = None) -> float:
    """Compute the fraction of rows in the most frequent true group of their cluster.

    Compare clusterings with one number of clusters: it is 1 if every row is a cluster.

    Parameters
    ----------
    labels_true, labels_pred : array-like
    sample_weight : array-like, optional

    Returns
    -------
    float

    Examples
    --------
    >>> purity_score(["a", "a", "b", "b"], [0, 0, 0, 1])
    0.75
    """
    joint = _joint_weights(labels_true, labels_pred, sample_weight)
    return math.fsum(joint.max(axis=0).tolist()) / math.fsum(joint.ravel().tolist())


def nmi_score(labels_true: Any, labels_pred: Any, sample_weight: Any = None) -> float:
    """Compute the normalised mutual information: over the mean of both entropies.

    Parameters
    ----------
    labels_true, labels_pred : array-like
    sample_weight : array-like, optional

    Returns
    -------
    float
        1 for equal divisions, whatever their names (also for two single groups), 0 for independent ones.

    Examples
    --------
    >>> nmi_score(["a", "a", "b", "b"], [1, 1, 0, 0])
    1.0
    """
    joint = _joint_weights(labels_true, labels_pred, sample_weight)
    if _is_same_division(joint):
        return 1.0
    of_true, of_pred = _sums(joint), _sums(joint.T)
    total = math.fsum(joint.ravel().tolist())
    # Multiplied before they are divided, whole weights give the logarithm of exactly 1 where nothing is said.
    information = math.fsum(
        joint[i, j] * math.log(joint[i, j] * total / (of_true[i] * of_pred[j]))
        for i, j in zip(*np.nonzero(joint), strict=True)
    )
    fraction = 2 * information / (_entropy(of_true, total) + _entropy(of_pred, total))
    return float(min(max(fraction, 0.0), 1.0))  # rounding must not carry it past the ends


def _joint_weights(labels_true: Any, labels_pred: Any, sample_weight: Any) -> FloatArray:
    """Sum row weights by true group (down) and cluster (across); whole weights stay whole."""
    true, pred = _numbered(labels_true, "labels_true"), _numbered(labels_pred, "labels_pred")
    if len(true) != len(pred):
        raise DataError(
            f"labels_true has {len(true)} labels and labels_pred has {len(pred)}: give one of each per row."
        )
    weight = read_weight(sample_weight, len(true))
    given = np.ones(len(true)) if weight is None else _of_moderate_size(weight)
    shape = int(true.max()) + 1, int(pred.max()) + 1
    joint = np.bincount(true * shape[1] + pred, given, shape[0] * shape[1]).reshape(shape)
    return np.asarray(joint, np.float64)


def _of_moderate_size(weight: FloatArray) -> FloatArray:
    """Scale weights by a power of two so that no product overflows or vanishes."""
    scaled = np.ldexp(weight, -math.frexp(float(weight.max()))[1])
    return np.where(scaled < NO_WEIGHT, 0.0, scaled)


def _is_same_division(joint: FloatArray) -> bool:
    """Return True if groups and clusters are the same division."""
    there = joint > 0
    return bool((there.sum(axis=0) <= 1).all() and (there.sum(axis=1) <= 1).all())


def _sums(lines: FloatArray) -> list[float]:
    """Sum each line exactly, rounded once, independent of the order."""
    return [math.fsum(line) for line in lines.tolist()]


def _numbered(labels: Any, what: str) -> LongArray:
    line = as_vector(labels, what)
    if not len(line):
        raise DataError(f"{what} is empty: purity and information need at least one row.")
    values = read_column(line, what, "categories").values
    if (missing := np.isnan(values)).any():
        where = first_rows(missing, RowLabels.of(line))
        raise DataError(
            f"{what} has {missing.sum()} missing labels, {where}. Name the group of every row, or leave the "
            "rows out."
        )
    return np.asarray(values, np.int64)


def _entropy(weights: list[float], total: float) -> float:
    """Compute the entropy of a division, times its weight."""
    return math.fsum(weight * math.log(total / weight) for weight in weights if weight > 0)
