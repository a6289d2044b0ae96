"""Room for the rows of one small node at a time, which fits a cache that the whole table does not."""

from functools import cache

import numpy as np

from holdfast.arrays import frozen
from holdfast.data.coding import code_columns
from holdfast.data.schema import Feature
from holdfast.kernels.growth.compact_rows import CompactRows
from holdfast.kernels.growth.histogram import Coded, Sample
from holdfast.kernels.growth.nodes import Limits

COMPACT_ROWS = 2048  # of a node whose subtree is grown there


def make_compact_rows(coded: Coded, limits: Limits, n_rows: int) -> CompactRows:
    """Allocate compact rows for small nodes; empty where they would not help."""
    n_features, n_drawn = len(coded.ranks), limits.n_drawn
    # Subtrees are grown one after the other only depth first; and all features are moved, drawn or not.
    is_worth_it = n_rows >= 4 * COMPACT_ROWS and n_features <= 16 * (n_drawn or n_features)
    return _room(coded, COMPACT_ROWS) if is_worth_it and not limits.best_first else _no_room()


def _room(coded: Coded, n_rows: int) -> CompactRows:
    codes = np.empty((len(coded.codes), n_rows), np.uint32)
    ranks = np.empty((len(coded.ranks), n_rows), np.int32)
    weight, total, square = (np.empty(n_rows, np.int64) for _ in range(3))
    target, repeats = np.empty(n_rows), np.empty(n_rows, np.int32)
    return CompactRows(
        Coded(frozen(codes), frozen(ranks), *coded[2:]),
        Sample(frozen(weight), frozen(total), frozen(square), frozen(target), frozen(repeats)),
        codes,
        ranks,
        weight,
        total,
        square,
        target,
        repeats,
        np.empty(n_rows, np.int32),
    )


@cache
def _no_room() -> CompactRows:
    return _room(code_columns([Feature("none")], [np.zeros(1)]), 0)
