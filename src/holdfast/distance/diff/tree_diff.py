"""What changed between two trees."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from holdfast.adapters import as_tree
from holdfast.data.input.frame import frame_of
from holdfast.data.input.target import Task
from holdfast.data.schema import Label, Schema
from holdfast.data.split.row_keys import share_in_sketch, unique_hashes
from holdfast.data.table import Table
from holdfast.distance.diff.data import compared_table
from holdfast.distance.diff.population import column_indices
from holdfast.distance.diff.rows import RowChanges, row_changes
from holdfast.distance.diff.rules import RuleChange, rule_changes
from holdfast.distance.diff.splits import SplitChange, SplitCounts, split_changes, split_counts
from holdfast.distance.distances import tree_distance
from holdfast.distance.matching import TreeDistance
from holdfast.distance.reference_schema import on_wider_schema
from holdfast.errors import HoldfastError
from holdfast.shown import shown
from holdfast.text.view import View, ViewMixin
from holdfast.tree.positive import positive_class
from holdfast.tree.tree import Tree


@dataclass(frozen=True, eq=False, repr=False)
class TreeDiff(ViewMixin):
    """What changed from an old tree to a new one: in rules, in splits, and for the rows of some data."""

    old: Tree  # both on one reference schema
    new: Tree
    distance: TreeDistance
    changes: tuple[RuleChange, ...]  # the rules that changed, what cost most first
    same: tuple[RuleChange, ...]  # those that did not
    splits: tuple[SplitChange, ...]  # from the roots down, those that changed
    rows: RowChanges | None = None  # with data
    positive: Label | None = None  # the class whose probability is told of both, where there are two

    @property
    def is_empty(self) -> bool:
        """True if nothing changed: no rule, no split, no value."""
        return not self.changes and not self.splits

    @property
    def positive_place(self) -> int | None:
        """The number of the positive class; None unless there are two classes."""
        return None if self.positive is None else self.old.schema.target.classes.index(self.positive)

    @property
    def same_root(self) -> bool:
        """True if both trees ask about the same feature first, or about nothing at all."""
        return bool(self.old.feature[0] == self.new.feature[0])

    @cached_property
    def moved_thresholds(self) -> tuple[SplitChange, ...]:
        """The splits whose threshold moved."""
        return tuple(each for each in self.splits if each.kind == "threshold")

    @cached_property
    def split_counts(self) -> SplitCounts:
        """How many splits stay, moved, are gone and are new."""
        return split_counts(self.old, self.splits)

    @property
    def summary(self) -> str:
        """What changed, in a few sentences."""
        return shown("diff_summary", self)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, which JSON takes; None for what cannot be told."""
        from holdfast.distance.diff.content import diff_content

        return diff_content(self)

    def __repr__(self) -> str:
        return f"<TreeDiff: {len(self.changes)} rules changed, distance {self.distance.total:.6g}>"

    def of_kind(self, *kinds: str) -> tuple[RuleChange, ...]:
        """The rules with a change of one of these kinds."""
        return tuple(each for each in self.changes if {*kinds} & {*each.kinds})

    def _view(self) -> View:
        from holdfast.show.diff import diff_view

        return diff_view(self)


def tree_diff(
    old: Any,
    new: Any,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
    X_before: Any = None,
    matching: str = "paper",
    label_weight: float | None = None,
    outcome: str | None = None,
    positive: Any = None,
    scoring: Any = None,
) -> TreeDiff:
    """What changed from the old tree to the new one, rule by rule and split by split.

    Both are trees, or fitted models that `as_tree` reads. Their ranges and categories need not agree: what
    changed is measured on the wider of both. The rules are those that `tree_distance` matches, with its
    options, and their costs add up to the distance.

    With rows X it also tells which of them get another answer, and with their target y which tree is better:
    take rows that neither tree was fitted to. It says so where a fitted model remembers that it has learned
    from them. `positive` is the class whose probability is told of both
    trees, and that swap-ins come to: by default that of the old tree. `scoring` is the metric, by default AUC
    or R². `X_before`, the rows that the old tree was fitted to, tells which columns have changed.

    >>> from holdfast import Table, grow
    >>> at_40 = grow(Table.from_arrays([[0.0], [30.0], [50.0], [100.0]], ["no", "no", "yes", "yes"]))
    >>> diff = tree_diff(at_40, at_40.replace(threshold=at_40.threshold + 5))
    >>> [change.kinds for change in diff.changes], diff.moved_thresholds[0].share
    ([('threshold',), ('threshold',)], 0.05)
    """
    before, after = on_wider_schema(as_tree(old), as_tree(new))
    rows = None if X is None else _rows(before, after, (X, y, sample_weight, X_before), positive, scoring)
    if rows is not None and y is not None:
        rows = replace(rows, old_learned=_share_learned(old, X, y), new_learned=_share_learned(new, X, y))
    distance = tree_distance(before, after, matching=matching, label_weight=label_weight, outcome=outcome)
    rules, place = rule_changes(distance), positive_class(before, positive)
    return TreeDiff(
        old=before,
        new=after,
        distance=distance,
        changes=tuple(sorted((each for each in rules if not each.is_same), key=lambda each: -each.cost)),
        same=tuple(each for each in rules if each.is_same),
        splits=split_changes(before, after),
        rows=rows,
        positive=None if place is None else before.schema.target.classes[place],
    )


def _rows(old: Tree, new: Tree, data: tuple[Any, Any, Any, Any], positive: Any, scoring: Any) -> RowChanges:
    X, y, sample_weight, X_before = data
    table = compared_table(old, new, X, y, sample_weight)
    is_labelled = y is not None or isinstance(X, Table)
    rows = row_changes(old, new, table, positive=positive, scoring=scoring, labelled=is_labelled)
    if X_before is None:
        return rows
    return replace(rows, column_index=column_indices(compared_table(old, new, X_before), table))


def _share_learned(model: Any, X: Any, y: Any) -> float | None:
    """The fraction of the rows that a fitted model has learned from; None unless it remembers its rows."""
    sketch = getattr(model, "_row_hashes", None)
    if sketch is None:
        return None
    schema: Schema = model.schema_
    task: Task = "classification" if schema.target.is_classes else "regression"
    try:
        table = Table.from_arrays(frame_of(X), y, task=task, schema=schema)
    except (HoldfastError, ValueError):  # rows with the columns that the trees ask about alone
        return None
    return share_in_sketch(unique_hashes(table), sketch)
