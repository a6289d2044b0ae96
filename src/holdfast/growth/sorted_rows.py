"""Room for the rows of small nodes in the order of every feature."""

import numpy as np

from holdfast.growth.compact_rows import COMPACT_ROWS
from holdfast.growth.rules import GrowthRules
from holdfast.kernels.growth.compact_rows import CompactRows
from holdfast.kernels.growth.criteria import Plan
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.growth.nodes import Limits
from holdfast.kernels.growth.search import FEW_ROWS
from holdfast.kernels.growth.sorted_rows import SortedRows

# Nodes of up to so many rows are sorted where bins have no close bounds: of numbers, and of many classes by
# the Gini impurity. Two classes have close ones, so that few features are opened, however many there are:
# they are sorted where at most FEW_COLUMNS have to be. By other criteria, whose gains are not ruled out by
# products alone, classes are counted down to FEW_ROWS.
MANY_ROWS = 1024
FEW_COLUMNS = 16
LEAST_LEAVES = 16  # of a tree, for sorting many rows to pay
LEAST_CODES = FEW_ROWS // 4 + 1  # columns of fewer values are counted, as in `search`
MOST_SORTED = 2**22  # row numbers, of four bytes


def make_sorted_rows(
    rules: GrowthRules, plan: Plan, coded: Coded, limits: Limits, compact: CompactRows, n_rows: int
) -> SortedRows:
    """Allocate sorted rows of a compact node or small table; empty where they would not help."""
    n_features, n_table = coded.ranks.shape
    n_places = len(compact.origin) or (n_rows if n_rows < 4 * COMPACT_ROWS else 0)
    # Where features are drawn, most of what is kept in order would never be asked.
    is_of_use = not limits.n_drawn and rules.splitter != "random" and rules.memory_limit is None
    if not is_of_use or n_features * n_places > MOST_SORTED:
        n_places = 0
    is_kept = (coded.is_subset == 0) & (coded.n_codes >= LEAST_CODES)
    n_kept = int(is_kept.sum())
    by_gini = plan.n_classes > 0 and plan.shift_factor > 0.0
    is_loose = plan.n_classes == 0 or (by_gini and (plan.n_classes > 2 or n_kept <= FEW_COLUMNS))
    may_grow = limits.max_leaves >= LEAST_LEAVES and limits.min_impurity_decrease == 0.0
    is_worth_it = is_loose and may_grow and 2 * n_kept >= n_features
    return SortedRows(
        np.empty((n_features, n_places), np.int32),
        is_kept.astype(np.uint8),
        np.empty((len(compact.origin) or n_table) if n_places else 0, np.uint8),
        np.zeros(2, np.int64),
        np.empty(FEW_ROWS, np.int32),
        MANY_ROWS if is_worth_it else FEW_ROWS,
    )
