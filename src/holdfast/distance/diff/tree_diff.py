"""What changed between two trees."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from holdfast.adapters import as_tree
from holdfast.data.input.frame import make_frame
from holdfast.data.input.target import Task
from holdfast.data.schema import Label, Schema
from holdfast.data.split.row_keys import share_in_sketch, unique_hashes
from holdfast.data.table import Table
from holdfast.distance.diff.data import prepare_table
from holdfast.distance.diff.population import compute_column_indices
from holdfast.distance.diff.rows import RowChanges, measure_row_changes
from holdfast.distance.diff.rules import RuleChange, compare_rules
from holdfast.distance.diff.splits import SplitChange, SplitCounts, compare_splits, count_splits
from holdfast.distance.distances import tree_distance
from holdfast.distance.matching import TreeDistance
from holdfast.distance.reference_schema import widen_schemas
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
        """True if no rule, split or value changed."""
        return not self.changes and not self.splits

    @property
    def positive_place(self) -> int | None:
        """Index of the positive class; None unless there are two classes."""
        return None if self.positive is None else self.old.schema.target.classes.index(self.positive)

    @property
    def same_root(self) -> bool:
        """True if both trees split on the same feature first, or not at all."""
        return bool(self.old.feature[0] == self.new.feature[0])

    @cached_property
    def moved_thresholds(self) -> tuple[SplitChange, ...]:
        """Splits whose threshold moved."""
        return tuple(each for each in self.splits if each.kind == "threshold")

    @cached_property
    def split_counts(self) -> SplitCounts:
        """Number of splits kept, moved, gone and new."""
        return count_splits(self.old, self.splits)

    @property
    def summary(self) -> str:
        """The changes in a few sentences."""
        return shown("diff_summary", self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, None for unknown figures."""
        from holdfast.distance.diff.content import make_diff_content

        return make_diff_content(self)

    def __repr__(self) -> str:
        return f"<TreeDiff: {len(self.changes)} rules changed, distance {self.distance.total:.6g}>"

    def of_kind(self, *kinds: str) -> tuple[RuleChange, ...]:
        """Return the rules with a change of one of these kinds."""
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
    """Compare an old tree with a new one, rule by rule and split by split.

    The trees may differ in ranges and categories: changes are measured on the wider of both schemas. The
    rules are matched as by `tree_distance`, and the costs add up to the distance.

    Parameters
    ----------
    old, new : Tree or model
        Trees, or fitted models that `as_tree` reads.
    X, y : array-like, optional
        Rows, best new to both trees, on which predictions are compared; with targets `y`, scores too. The
        result says so if a fitted model was trained on them.
    sample_weight : array-like, optional
    X_before : array-like, optional
        Training rows of the old tree, to find columns whose distribution changed.
    matching, label_weight, outcome
        See `tree_distance`.
    positive : label, optional
        Class whose probability is reported. Default: that of the old tree.
    scoring : str or callable, optional
        Default: AUC, or R² for regression.

    Returns
    -------
    TreeDiff

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> at_40 = grow(Table.from_arrays([[0.0], [30.0], [50.0], [100.0]], ["no", "no", "yes", "yes"]))
    >>> diff = tree_diff(at_40, at_40.replace(threshold=at_40.threshold + 5))
    >>> [change.kinds for change in diff.changes], diff.moved_thresholds[0].share
    ([('threshold',), ('threshold',)], 0.05)
    """
    before, after = widen_schemas(as_tree(old), as_tree(new))
    rows = None if X is None else _rows(before, after, (X, y, sample_weight, X_before), positive, scoring)
    if rows is not None and y is not None:
        rows = replace(rows, old_learned=_share_learned(old, X, y), new_learned=_share_learned(new, X, y))
    distance = tree_distance(before, after, matching=matching, label_weight=label_weight, outcome=outcome)
    rules, place = compare_rules(distance), positive_class(before, positive)
    return TreeDiff(
        old=before,
        new=after,
        distance=distance,
        changes=tuple(sorted((each for each in rules if not each.is_same), key=lambda each: -each.cost)),
        same=tuple(each for each in rules if each.is_same),
        splits=compare_splits(before, after),
        rows=rows,
        positive=None if place is None else before.schema.target.classes[place],
    )


def _rows(old: Tree, new: Tree, data: tuple[Any, Any, Any, Any], positive: Any, scoring: Any) -> RowChanges:
    X, y, sample_weight, X_before = data
    table = prepare_table(old, new, X, y, sample_weight)
    is_labelled = y is not None or isinstance(X, Table)
    rows = measure_row_changes(old, new, table, positive=positive, scoring=scoring, labelled=is_labelled)
    if X_before is None:
        return rows
    return replace(rows, column_index=compute_column_indices(prepare_table(old, new, X_before), table))


def _share_learned(model: Any, X: Any, y: Any) -> float | None:
    """Return the fraction of the rows that a model was fitted on; None if it stores no rows."""
    sketch = getattr(model, "_row_hashes", None)
    if sketch is None:
        return None
    schema: Schema = model.schema_
    task: Task = "classification" if schema.target.is_classes else "regression"
    try:
        table = Table.from_arrays(make_frame(X), y, task=task, schema=schema)
    except (HoldfastError, ValueError):  # rows with the columns that the trees ask about alone
        return None
    return share_in_sketch(unique_hashes(table), sketch)
