"""What the nodes of a grown tree ask: features of the table, and thresholds between two values."""

import numpy as np

from holdfast.arrays import FloatArray, IntArray, LongArray
from holdfast.data.table import Table
from holdfast.kernels.growth import nodes as kernels
from holdfast.tree.tree import KNOWN, LEAF


def node_features(table: Table, fields: LongArray) -> IntArray:
    """The feature of the table that each node asks about; LEAF at a leaf. Kernels count columns by name."""
    order = np.array([*table.schema.name_order, LEAF], np.int32)
    return order[fields[:, kernels.FEATURE]]  # that of a leaf is -1: the last


def thresholds(table: Table, fields: LongArray, drawn: FloatArray | None = None) -> FloatArray:
    """The midpoint between the two values on either side of each split, or the number that was drawn there.

    Between two ordered categories it is half a position above the lower one.
    """
    threshold, features = np.full(len(fields), np.nan), node_features(table, fields)
    below, above = fields[:, kernels.LAST_LEFT], fields[:, kernels.FIRST_RIGHT]
    asks = (features != LEAF) & (below >= 0)
    threshold[asks & (above < 0)] = KNOWN
    between = np.flatnonzero(asks & (above >= 0))
    asked = features[between].astype(np.int64)
    if drawn is None:
        middle = midpoint(_values(table, asked, below[between]), _values(table, asked, above[between]))
    else:
        middle = drawn[between]
    is_ordered = np.array([feature.kind == "ordered" for feature in table.schema.features])[asked]
    threshold[between] = np.where(is_ordered, np.floor(middle) + 0.5, middle)
    return threshold


def _values(table: Table, features: LongArray, rows: LongArray) -> FloatArray:
    """The value of each feature in each row: one by one if they are few, else column by column."""
    columns = table.columns
    if len(rows) < 4 * len(columns):
        cells = zip(features.tolist(), rows.tolist(), strict=True)
        return np.array([columns[feature][row] for feature, row in cells], np.float64)
    values = np.empty(len(rows))
    for feature in set(features.tolist()):
        places = np.flatnonzero(features == feature)
        values[places] = columns[feature][rows[places]]
    return values


def midpoint(below: FloatArray, above: FloatArray) -> FloatArray:
    """Numbers t with below <= t < above, half-way if floats allow.

    >>> midpoint(np.array([1e308]), np.array([1.5e308]))
    array([1.25e+308])
    """
    middle = below / 2 + above / 2
    return np.asarray(np.where((below <= middle) & (middle < above), middle, below), np.float64)
