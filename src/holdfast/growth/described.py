"""Which rows are concerned: a small tree that tells rows of high values from the others."""

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.data.schema import Schema, Target
from holdfast.data.table import Table
from holdfast.growth.grow import grow
from holdfast.growth.rules import GrowthRules
from holdfast.tree.tree import Tree

MOST_LEAVES = 4
LEAST_ROWS = 0.05  # of a leaf


def grow_summary_tree(table: Table, values: FloatArray, least_rows: float = LEAST_ROWS) -> Tree:
    """Grow a small tree that predicts these values, one per row; rows with NaN are left out.

    >>> table = Table.from_arrays([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"])
    >>> print(grow_summary_tree(table, np.array([0.0, 0.0, 0.0, 1.0])))
    4 rows       change  rows  of all
    ├─ x0 <= 55       0     3  75.0 %
    └─ x0 > 55        1     1  25.0 %
    """
    known = np.flatnonzero(~np.isnan(values))
    some = table if len(known) == table.n_rows else table.subset(known)
    target = Target("change", low=0.0, high=float(max(values[known].max(), 1e-9)))
    rows = Table(Schema(some.schema.features, target), some.columns, values[known], some.weight)
    rules = GrowthRules(max_leaf_nodes=MOST_LEAVES, min_samples_leaf=least_rows, criterion="squared_error")
    return grow(rows, rules)
