"""How well clusters agree with known groups: purity, and normalised mutual information."""

from typing import Any

import numpy as np

from holdfast.arrays import FloatArray, LongArray, scaled
from holdfast.data.columns import read_column
from holdfast.data.frame import line_of
from holdfast.data.weight import read_weight
from holdfast.data.wording import first_rows
from holdfast.errors import DataError


def purity_score(labels_true: Any, labels_pred: Any, sample_weight: Any = None) -> float:
    """Share of the rows that are in the most frequent true group of their cluster.

    It is 1 if every row is a cluster of its own: compare clusterings of one number of clusters.

    >>> purity_score(["a", "a", "b", "b"], [0, 0, 0, 1])
    0.75
    """
    shares = _joint_shares(labels_true, labels_pred, sample_weight)
    return float(shares.max(axis=0).sum())


def nmi_score(labels_true: Any, labels_pred: Any, sample_weight: Any = None) -> float:
    """Mutual information of true groups and clusters, as a share of the mean of their two entropies.

    It is 1 for the same division under any names and 0 for one that says nothing about the other. Two
    divisions into a single group are the same division, and get 1.

    >>> nmi_score(["a", "a", "b", "b"], [1, 1, 0, 0])
    1.0
    """
    shares = _joint_shares(labels_true, labels_pred, sample_weight)
    of_true, of_pred = shares.sum(axis=1), shares.sum(axis=0)
    entropies = _entropy(of_true) + _entropy(of_pred)
    if entropies == 0.0:
        return 1.0
    there = shares > 0
    information = shares[there] @ np.log(shares[there] / np.outer(of_true, of_pred)[there])
    # Rounding must not carry it past the ends.
    return float(np.clip(2 * information / entropies, 0.0, 1.0))


def _joint_shares(labels_true: Any, labels_pred: Any, sample_weight: Any) -> FloatArray:
    """Share of the rows in every true group (down) and cluster (across)."""
    true, pred = _numbered(labels_true, "labels_true"), _numbered(labels_pred, "labels_pred")
    if len(true) != len(pred):
        raise DataError(
            f"labels_true has {len(true)} labels and labels_pred has {len(pred)}: give one of each per row."
        )
    weight = read_weight(sample_weight, len(true))
    given = np.ones(len(true)) if weight is None else scaled(weight)[0]
    shape = int(true.max()) + 1, int(pred.max()) + 1
    joint = np.bincount(true * shape[1] + pred, given, shape[0] * shape[1]).reshape(shape)
    return np.asarray(joint / joint.sum(), np.float64)


def _numbered(labels: Any, what: str) -> LongArray:
    line = line_of(labels, what)
    if not len(line):
        raise DataError(f"{what} is empty: purity and information need at least one row.")
    values = read_column(line, what, "categories").values
    if (missing := np.isnan(values)).any():
        raise DataError(
            f"{what} has {missing.sum()} missing labels, {first_rows(missing)}. Name the group of every row, "
            "or leave the rows out."
        )
    return np.asarray(values, np.int64)


def _entropy(shares: FloatArray) -> float:
    there = shares[shares > 0]
    return float(-(there @ np.log(there))) if len(there) > 1 else 0.0
