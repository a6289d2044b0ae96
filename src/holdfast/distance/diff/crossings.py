"""From which leaf of the old tree to which leaf of the new one the rows of a table go."""

from dataclasses import dataclass
from functools import cached_property
from math import fsum

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import BoolArray, FloatArray, IntArray, LongArray, frozen
from holdfast.data.input.weight import are_repetitions
from holdfast.data.schema import Feature
from holdfast.data.table import Table
from holdfast.errors import SchemaMismatch
from holdfast.text.lists import columns_text
from holdfast.tree.route import Routes
from holdfast.tree.tree import LEAF, Tree


@dataclass(frozen=True, eq=False)
class Crossings:
    """The leaves of each row in two trees on one schema, and the pairs of these leaves.

    All figures of changed answers are sums over the pairs, so that the order of the rows changes no bit.
    """

    old: Tree
    new: Tree
    old_leaf: IntArray  # of each row
    new_leaf: IntArray
    row_weight: FloatArray

    @classmethod
    def of(cls, old: Tree, new: Tree, table: Table) -> "Crossings":
        """Route the rows of the table, columns found by name and categories by value."""
        weight = np.ones(table.n_rows) if table.weight is None else table.weight
        return cls(old, new, find_table_leaves(old, table), find_table_leaves(new, table), weight)

    @cached_property
    def pair(self) -> LongArray:
        """Number of each row's pair of leaves."""
        return frozen(self._found[1])

    @cached_property
    def leaves(self) -> LongArray:
        """Old and new leaf of every pair with rows."""
        numbers = self._found[0]
        return np.stack([numbers // self.new.n_nodes, numbers % self.new.n_nodes], axis=1)

    @cached_property
    def weight(self) -> FloatArray:
        """Weight of the rows of every pair."""
        return self.summed(self.row_weight)

    @cached_property
    def total(self) -> float:
        """Weight of all rows."""
        return fsum(self.weight.tolist())

    @cached_property
    def n_rows(self) -> LongArray:
        """Number of rows of every pair, unweighted."""
        return np.bincount(self.pair, minlength=len(self.leaves)).astype(np.int64)

    def summed(self, values: FloatArray) -> FloatArray:
        """Sum row values over every pair, exactly, whatever the order of the rows."""
        n = len(self.leaves)
        if are_repetitions(values):
            return np.bincount(self.pair, values, minlength=n).astype(np.float64)
        order = np.argsort(self.pair, kind="stable")
        parts = np.split(values[order], np.cumsum(self.n_rows)[:-1])
        return np.array([fsum(part.tolist()) for part in parts])

    def mean(self, of_pairs: FloatArray | BoolArray) -> float:
        """Average over the weighted rows of a figure that is constant within pairs."""
        return fsum((self.weight * of_pairs).tolist()) / self.total

    @cached_property
    def moved(self) -> FloatArray:
        """Change of the prediction of every pair: total variation, or the difference of numbers."""
        difference = np.abs(self.old.value[self.leaves[:, 0]] - self.new.value[self.leaves[:, 1]])
        if self.old.schema.target.is_classes:
            return np.array([fsum(each) / 2 for each in difference.tolist()])
        return np.asarray(difference[:, 0], np.float64)

    @cached_property
    def places(self) -> LongArray:
        """Old and new class index of every pair."""
        classes = self.old.outcome[self.leaves[:, 0]], self.new.outcome[self.leaves[:, 1]]
        return np.stack(classes, axis=1).astype(np.int64)

    @cached_property
    def flipped(self) -> BoolArray:
        """Flags of the pairs whose class changes; all False for regression."""
        if not self.old.schema.target.is_classes:
            return np.zeros(len(self.leaves), np.bool_)
        return np.asarray(self.places[:, 0] != self.places[:, 1], np.bool_)

    @cached_property
    def _found(self) -> tuple[LongArray, LongArray]:
        numbers = self.old_leaf.astype(np.int64) * self.new.n_nodes + self.new_leaf
        found, place = np.unique(numbers, return_inverse=True)
        return found, place


def find_table_leaves(tree: Tree, table: Table) -> IntArray:
    """Return the leaf of each row, columns found by name and categories by value."""
    used = np.unique(tree.feature[tree.feature != LEAF])
    matrix = np.empty((table.n_rows, len(used)))
    place = {feature.name: index for index, feature in enumerate(table.schema.features)}
    for column, index in enumerate(used.tolist()):
        feature = tree.schema.features[index]
        if feature.name not in place:
            raise SchemaMismatch(
                f"The tree asks about {feature.name!r}, and the table has no such column. "
                f"{columns_text([feature.name], table.schema.names)}"
            )
        at = place[feature.name]
        matrix[:, column] = _recoded(table.columns[at], table.schema.features[at], feature)
    return Routes.of(tree, used).leaves(frozen(matrix), frozen(np.arange(len(matrix), dtype=np.int32)))


def _recoded(values: NDArray[np.float64], own: Feature, wanted: Feature) -> NDArray[np.float64]:
    """Recode a column by the tree's categories; unknown ones count as missing."""
    if own.kind != wanted.kind:
        raise SchemaMismatch(
            f"The tree asks about the {wanted.kind} feature {wanted.name!r}, which is {own.kind} in the "
            "table: read the data with schema=tree.schema."
        )
    if own.categories == wanted.categories:
        return values
    position = {label: float(index) for index, label in enumerate(wanted.categories)}
    codes = np.array([position.get(label, np.nan) for label in own.categories])
    known = ~np.isnan(values)
    recoded = np.full(len(values), np.nan)
    recoded[known] = codes[values[known].astype(np.intp)]
    return recoded
