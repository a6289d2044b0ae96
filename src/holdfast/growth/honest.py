"""Honest leaves: values from rows that had no part in choosing the questions."""

from typing import NamedTuple

import numpy as np

from holdfast.arrays import BoolArray, LongArray
from holdfast.data.canonical_order import canonical
from holdfast.data.split.row_keys import copies_as_groups, unit_keys
from holdfast.data.split.row_positions import assign_strata, random_positions, select_below
from holdfast.data.table import Table
from holdfast.errors import DataError
from holdfast.growth.leaf_values import refit_leaf_values
from holdfast.growth.rules import GrowthRules
from holdfast.random_streams import Branch
from holdfast.tree.monotone import enforce_monotonicity
from holdfast.tree.tree import Tree

FRACTION_ASKED = 0.5  # of the rows, which choose the questions; the others give the values


class HonestRows(NamedTuple):
    """Rows in canonical order, and flags of those that choose the splits; the others give values."""

    table: Table
    groups: LongArray | None
    asked: BoolArray

    @property
    def structure(self) -> Table:
        """Rows that choose the splits."""
        return self.table.subset(self.asked)

    @property
    def values(self) -> Table:
        """Rows that give the leaves their values."""
        return self.table.subset(~self.asked)


def honest_rows(table: Table, groups: LongArray | None, seed: int) -> HonestRows:
    """Divide rows into halves for splits and for leaf values, evenly by class, groups kept whole."""
    table, marks, units = canonical(table, [] if groups is None else [groups])
    of_units = copies_as_groups(table, units) if groups is None else marks[0]
    return HonestRows(table, marks[0] if marks else None, draw_structure_rows(table, of_units, seed))


def draw_structure_rows(table: Table, groups: LongArray | None, seed: int) -> BoolArray:
    """Flag the half of the rows that chooses the splits; the rows are in canonical order."""
    positions = random_positions(assign_strata(table), unit_keys(table, groups), (seed, Branch.HONEST_ROWS))
    asked = select_below(positions, FRACTION_ASKED)
    if asked.all() or not asked.any():
        raise DataError(
            "leaf_values='honest' grows the tree on half of the rows and takes the leaf values from the "
            "others, and these rows, copies of each other or of one group, cannot be divided: give more "
            "rows, or leaf_values='shrunk'."
        )
    return asked


def set_honest_values(tree: Tree, table: Table, rules: GrowthRules) -> Tree:
    """Set values and counts from rows on which the tree was not grown.

    A node that none of them reaches says what the node above says, and has no rows.
    """
    fitted = refit_leaf_values(tree, table, rules)
    value = fitted.value.copy()
    for node, above in enumerate(fitted.parent.tolist()):  # preorder: a parent stands before its children
        if node and not fitted.weight[node] > 0:
            value[node] = value[above]
    return enforce_monotonicity(fitted.replace(value=np.asarray(value, np.float64)))
