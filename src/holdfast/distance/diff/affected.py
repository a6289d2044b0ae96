"""Who gets another answer: the boxes that their rows lie in, and a few rules that cover most of them."""

from dataclasses import dataclass, replace

import numpy as np

from holdfast.arrays import BoolArray, FloatArray
from holdfast.data.schema import Label, Schema
from holdfast.data.table import Table
from holdfast.distance.diff.crossings import Crossings
from holdfast.growth.described import LEAST_ROWS, grow_summary_tree
from holdfast.tree.rule import Condition, Rule, tree_rules
from holdfast.tree.tree import LEAF, Tree

MOST_BOXES = 20
MOST_GROUPS = 2
ENOUGH = 0.8  # of the changed rows: then no further group is told
FEWEST = 5  # rows of a group
MOST_CELLS = 500_000  # of a table that is described by all its columns: coding them takes most of the time


@dataclass(frozen=True)
class RowBox:
    """All rows that move from one leaf to another with another prediction."""

    old: Rule
    new: Rule
    conditions: tuple[Condition, ...]  # of both rules together
    n_rows: int
    fraction: float  # of the weight of all rows

    @property
    def outcomes(self) -> tuple[Label | float, Label | float]:
        """Old and new prediction of these rows."""
        return self.old.outcome, self.new.outcome


@dataclass(frozen=True)
class RowGroup:
    """A rule that covers many of the rows with another prediction, and their predictions."""

    rule: Rule  # its value is the fraction that changes class; or, of numbers, how far predictions move
    fraction: float  # of all rows, that meet it
    covered: float  # of the change: of the rows that change class, or of the sum of all moves

    @property
    def rate(self) -> float:
        """Fraction of its rows that change class; for numbers, the mean shift of predictions."""
        return self.rule.value[0]


def find_changed_boxes(crossings: Crossings, table: Table) -> tuple[RowBox, ...]:
    """List the boxes of rows with another prediction, the largest change first."""
    is_classes = crossings.old.schema.target.is_classes
    change = crossings.weight * (crossings.flipped if is_classes else crossings.moved)
    rules = [{rule.leaf: rule for rule in tree_rules(tree)} for tree in (crossings.old, crossings.new)]
    order = [int(pair) for pair in np.argsort(-change, kind="stable") if change[pair] > 0]
    boxes = []
    for pair in order[:MOST_BOXES]:
        old, new = rules[0][int(crossings.leaves[pair, 0])], rules[1][int(crossings.leaves[pair, 1])]
        fraction = float(crossings.weight[pair]) / crossings.total
        where = count_missing(join_conditions(old, new), table, crossings.pair == pair)
        boxes.append(RowBox(old, new, where, int(crossings.n_rows[pair]), fraction))
    return tuple(boxes)


def join_conditions(old: Rule, new: Rule) -> tuple[Condition, ...]:
    """Intersect the conditions of both rules by feature."""
    joined: dict[str, Condition] = {condition.name: condition for condition in old.conditions}
    for condition in new.conditions:
        before = joined.get(condition.name)
        joined[condition.name] = condition if before is None else condition.within(before)
    return tuple(joined.values())


def count_missing(conditions: tuple[Condition, ...], table: Table, rows: BoolArray) -> tuple[Condition, ...]:
    """Add the counts of known and missing values to the conditions."""
    place = {name: index for index, name in enumerate(table.schema.names)}
    counted = []
    for condition in conditions:
        if condition.missing and condition.name in place:
            n_missing = int(np.isnan(table.rows([place[condition.name]])[rows, 0]).sum())
            condition = replace(condition, n_known=float(rows.sum()) - n_missing, n_missing=float(n_missing))
        counted.append(condition)
    return tuple(counted)


def find_changed_groups(crossings: Crossings, table: Table) -> tuple[RowGroup, ...]:
    """Find one or two groups that cover most of the change, by a small tree; none without change."""
    is_classes = crossings.old.schema.target.is_classes
    values = (crossings.flipped if is_classes else crossings.moved)[crossings.pair].astype(np.float64)
    counted = np.where(crossings.row_weight > 0, values, np.nan)
    if not np.nansum(counted) > 0:
        return ()
    share = crossings.mean(crossings.flipped) if is_classes else 1.0
    least = min(LEAST_ROWS, max(share / 4, FEWEST / table.n_rows))
    return _best(grow_summary_tree(_select_columns(crossings, table), counted, least))


def _select_columns(crossings: Crossings, table: Table) -> Table:
    """Keep only the columns that the trees split on if the table is large."""
    if table.n_rows * table.n_features <= MOST_CELLS:
        return table
    trees = crossings.old, crossings.new
    asked = {tree.schema.names[index] for tree in trees for index in np.unique(tree.feature) if index != LEAF}
    kept = [place for place, name in enumerate(table.schema.names) if name in asked]
    schema = Schema(tuple(table.schema.features[place] for place in kept), table.schema.target)
    return Table(schema, tuple(table.columns[place] for place in kept), table.target, table.weight)


def _best(tree: Tree) -> tuple[RowGroup, ...]:
    """Return the leaves with an above-average rate of change, those that cover most first."""
    leaves = tree.feature == LEAF
    change: FloatArray = tree.weight * tree.value[:, 0]
    total = float(change[leaves].sum())
    rules = [rule for rule in tree_rules(tree) if rule.value[0] >= float(tree.value[0, 0])]
    groups: list[RowGroup] = []
    for rule in sorted(rules, key=lambda rule: -round(float(change[rule.leaf]) / total, 9)):
        if len(groups) == MOST_GROUPS or sum(group.covered for group in groups) >= ENOUGH:
            break
        fraction = float(tree.weight[rule.leaf] / tree.weight[0])
        groups.append(RowGroup(rule, fraction, float(change[rule.leaf]) / total))
    return tuple(groups)
