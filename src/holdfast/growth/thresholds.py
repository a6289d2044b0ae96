"""Features and thresholds of grown nodes."""

import numpy as np

from holdfast.arrays import FloatArray, IntArray, LongArray
from holdfast.data.table import Table
from holdfast.kernels.growth import nodes as kernels
from holdfast.tree.tree import KNOWN, LEAF


def node_features(table: Table, fields: LongArray) -> IntArray:
    """Return the feature of each node, LEAF at leaves; kernels number columns by name."""
    order = np.array([*table.schema.name_order, LEAF], np.int32)
    return order[fields[:, kernels.FEATURE]]  # that of a leaf is -1: the last


def compute_thresholds(table: Table, fields: LongArray, drawn: FloatArray | None = None) -> FloatArray:
    """Return the midpoint between the values on either side of each split, or the number drawn.

    Between two ordered categories it is half a position above the lower one.
    """
    threshold, features = np.full(len(fields), np.nan), node_features(table, fields)
    below, above = fields[:, kernels.LAST_LEFT], fields[:, kernels.FIRST_RIGHT]
    asks = (features != LEAF) & (below >= 0)
    threshold[asks & (above < 0)] = KNOWN
    between = np.flatnonzero(asks & (above >= 0))
    asked = features[between].astype(np.int64)
    middle = _midpoints(table, asked, below[between], above[between]) if drawn is None else drawn[between]
    is_ordered = np.array([feature.kind == "ordered" for feature in table.schema.features])[asked]
    threshold[between] = np.where(is_ordered, np.floor(middle) + 0.5, middle)
    return threshold


def _midpoints(table: Table, features: LongArray, below: LongArray, above: LongArray) -> FloatArray:
    """Compute midpoints of each feature between two rows, column by column if they are many."""
    columns = table.columns
    if len(features) < 4 * len(columns):
        sides = [
            np.array([columns[feature][row] for feature, row in zip(features.tolist(), rows, strict=True)])
            for rows in (below.tolist(), above.tolist())
        ]
        return midpoint(sides[0], sides[1])
    middle = np.empty(len(features))
    for feature in set(features.tolist()):
        places, values = np.flatnonzero(features == feature), columns[feature]
        middle[places] = midpoint(values[below[places]], values[above[places]])
    return middle


def midpoint(below: FloatArray, above: FloatArray) -> FloatArray:
    """Return numbers t with below <= t < above, half-way if floats allow.

    >>> midpoint(np.array([1e308]), np.array([1.5e308]))
    array([1.25e+308])
    """
    middle = below / 2 + above / 2
    return np.asarray(np.where((below <= middle) & (middle < above), middle, below), np.float64)
