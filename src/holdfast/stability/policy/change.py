"""A change as it is judged: the trees before and after it, what differs, and the rows to judge by."""

from dataclasses import dataclass
from functools import cached_property
from math import fsum, sqrt
from typing import Any

import numpy as np

from holdfast.arrays import BoolArray
from holdfast.data.input.columns import Column
from holdfast.data.table import Table
from holdfast.distance.diff.crossings import find_table_leaves
from holdfast.distance.diff.rows import RowChanges, measure_row_changes, read_true_values
from holdfast.distance.diff.tree_diff import TreeDiff
from holdfast.scoring.overall_shift import overall_shift
from holdfast.stability.policy.policy import ChangePolicy
from holdfast.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class Change:
    """A change, the policy that it is held against, and the rows that it is judged by."""

    policy: ChangePolicy
    diff: TreeDiff
    table: Table
    columns: dict[str, Column]  # that subgroups are made by

    def limit(self, name: str) -> Any:
        """What the line of this name says."""
        return getattr(self.policy, name)

    @cached_property
    def rows(self) -> RowChanges:
        """What the change means for all rows."""
        return self.rows_of(self.table)

    def rows_of(self, table: Table, positive: object = None) -> RowChanges:
        """What the change means for the rows of a table."""
        diff, scoring = self.diff, self.policy.scoring
        return measure_row_changes(
            diff.old, diff.new, table, positive=positive, scoring=scoring, describe=False
        )

    @cached_property
    def counted(self) -> BoolArray:
        """The rows whose weight is above 0."""
        weight = self.table.weight
        return np.ones(self.table.n_rows, np.bool_) if weight is None else np.asarray(weight > 0, np.bool_)

    @cached_property
    def rows_by_leaf(self) -> dict[int, int]:
        """How many rows of a weight above 0 each leaf of the new tree has."""
        new = self.diff.new
        counts = np.bincount(find_table_leaves(new, self.table)[self.counted], minlength=new.n_nodes)
        return {leaf: int(counts[leaf]) for leaf in np.flatnonzero(new.feature < 0).tolist()}

    def overall_shift(self, tree: Tree, place: int) -> float:
        """What the tree's predictions lack on the whole; of numbers, in standard deviations of the target."""
        truth = read_true_values(tree.schema.target, self.table)
        lacking = overall_shift(tree.value[find_table_leaves(tree, self.table)], truth, place)
        return lacking if tree.schema.target.is_classes else lacking / self._spread

    @cached_property
    def _spread(self) -> float:
        """The standard deviation of a numeric target; 1 if it is constant."""
        values = self.table.target[self.counted]
        weight = np.ones(len(values)) if self.table.weight is None else self.table.weight[self.counted]
        total = fsum(weight.tolist())
        mean = fsum((weight * values).tolist()) / total
        return sqrt(fsum((weight * np.square(values - mean)).tolist()) / total) or 1.0
