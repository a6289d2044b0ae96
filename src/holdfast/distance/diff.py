"""Differences between two trees: of their rules, of their splits, and in their predictions for given rows."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isclose, isfinite
from typing import Any

from holdfast._view import View, ViewMixin
from holdfast.adapters import as_tree
from holdfast.data.frame import make_frame
from holdfast.data.row_keys import estimate_sketch_share, find_unique_hashes
from holdfast.data.schema import Label, Schema
from holdfast.data.survival import survive_horizon
from holdfast.data.table import Table
from holdfast.data.target import Task
from holdfast.distance.costs import fraction_of_range
from holdfast.distance.diff_rows import (
    RowChanges,
    compute_column_indices,
    measure_row_changes,
    prepare_table,
)
from holdfast.distance.distance import tree_distance
from holdfast.distance.matching import RulePair, TreeDistance
from holdfast.distance.reference_schema import widen_schemas
from holdfast.errors import HoldfastError
from holdfast.scoring.calibration import Calibration
from holdfast.tree.rules import Condition, Rule, fraction_of_rows, list_conditions, split_condition
from holdfast.tree.stats import positive_class
from holdfast.tree.tree import LEAF, Tree


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

    The trees may differ in ranges and categories: changes are measured on a schema that holds both. The rules
    are matched as in `tree_distance`, and the costs of the changes add up to the distance.

    Parameters
    ----------
    old, new : Tree or fitted model
        Trees, or models that `as_tree` reads.
    X, y : array-like, optional
        Rows on which predictions are compared, preferably new to both trees; with targets `y`, scores too.
        The result reports if a fitted model was trained on them.
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
    rows = None
    if X is not None:
        table = prepare_table(before, after, X, y, sample_weight)
        has_target = y is not None or isinstance(X, Table)
        rows = measure_row_changes(
            before, after, table, positive=positive, scoring=scoring, labelled=has_target
        )
        if X_before is not None:
            index = compute_column_indices(prepare_table(before, after, X_before), table)
            rows = replace(rows, column_index=index)
        if y is not None:
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


def _share_learned(model: Any, X: Any, y: Any) -> float | None:
    """Return the fraction of the rows that a model was fitted on; None if it stores no rows."""
    sketch = getattr(model, "_row_hashes", None)
    if sketch is None:
        return None
    schema: Schema = model.schema_
    task: Task = schema.target.task
    try:
        table = Table.from_arrays(make_frame(X), y, task=task, schema=schema)
    except (HoldfastError, ValueError):  # rows that have only the columns of the splits
        return None
    return estimate_sketch_share(find_unique_hashes(table), sketch)


@dataclass(frozen=True, eq=False, repr=False)
class TreeDiff(ViewMixin):
    """Result of `tree_diff`: changes of rules and splits, and of the predictions for given rows.

    Attributes
    ----------
    old, new : Tree
        Both trees on one schema.
    distance : TreeDistance
    changes : tuple of RuleChange
        The rules that changed, the greatest cost first.
    same : tuple of RuleChange
        The rules that did not change.
    splits : tuple of SplitChange
        The splits that changed, from the root down.
    rows : RowChanges or None
        Effect on the rows, if there were any.
    positive : label or None
        Class whose probability is reported; None unless there are two classes.

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[0.0], [30.0], [50.0], [100.0]], ["no", "no", "yes", "yes"]))
    >>> print(tree_diff(tree, tree))
    Nothing changed: both trees have the same 2 rules.
    """

    old: Tree
    new: Tree
    distance: TreeDistance
    changes: tuple[RuleChange, ...]
    same: tuple[RuleChange, ...]
    splits: tuple[SplitChange, ...]
    rows: RowChanges | None = None
    positive: Label | None = None

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
        """True if both trees split on the same feature at the root, or not at all."""
        return bool(self.old.feature[0] == self.new.feature[0])

    @cached_property
    def moved_thresholds(self) -> tuple[SplitChange, ...]:
        """Splits whose threshold changed."""
        return tuple(each for each in self.splits if each.kind == "threshold")

    @cached_property
    def split_counts(self) -> SplitCounts:
        """Number of splits kept, moved, gone and new."""
        moved, gone = sum(each.is_move for each in self.splits), sum(each.n_gone for each in self.splits)
        kept = self.old.n_leaves - 1 - moved - gone
        return SplitCounts(kept, moved, gone, sum(each.n_new for each in self.splits))

    @property
    def summary(self) -> str:
        """The changes in a few sentences."""
        from holdfast.distance.diff_text import diff_summary

        return diff_summary(self)

    def of_kind(self, *kinds: str) -> tuple[RuleChange, ...]:
        """Return the rules with a change of one of these kinds."""
        return tuple(each for each in self.changes if {*kinds} & {*each.kinds})

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, None for unknown figures."""
        return {
            "summary": self.summary,
            "is_empty": self.is_empty,
            "same_root": self.same_root,
            "distance": self.distance.total,
            "matching": self.distance.matching,
            "label_weight": self.distance.label_weight,
            "old": _tree_content(self.old),
            "new": _tree_content(self.new),
            "changes": _content(self.changes),
            "same": [_content(change.new) for change in self.same],
            "splits": _content(self.splits),
            "rows": None if self.rows is None else _rows_content(self.rows),
        }

    def __repr__(self) -> str:
        return f"<TreeDiff: {len(self.changes)} rules changed, distance {self.distance.total:.6g}>"

    def _view(self) -> View:
        from holdfast.distance.diff_text import diff_view

        return diff_view(self)


# -- plain data for JSON ------------------------------------------------------------------------------------


def _content(value: Any) -> Any:
    """Return a part of a diff as plain data."""
    names: tuple[str, ...]
    match value:
        case float():
            return value if isfinite(value) else None
        case tuple():
            return [_content(each) for each in value]
        case Condition() if value.feature.kind == "numeric":
            ends = {"above": _content(value.low), "at_most": _content(value.high)}
            return {"feature": value.name, **ends, "missing": value.missing}
        case Condition():
            return {"feature": value.name, "categories": list(value.categories), "missing": value.missing}
        case Rule():
            names = ("leaf", "conditions", "outcome", "value")
            parts = {name: _content(getattr(value, name)) for name in names}
            return {"text": str(value), **parts, "rows": value.count}
        case ConditionChange():
            names = ("kind", "old", "new", "share", "cost")
            return {"feature": value.name, **{name: _content(getattr(value, name)) for name in names}}
        case RuleChange():
            names = ("kinds", "cost", "outcome_cost", "shift", "old", "new", "conditions")
            return {name: _content(getattr(value, name)) for name in names}
        case SplitChange():
            return {name: _content(each) for name, each in vars(value).items() if name != "moves_missing"}
        case Calibration():
            return {name: _content(each) for name, each in {**vars(value), "ratio": value.ratio}.items()}
    return value


def _tree_content(tree: Tree) -> dict[str, Any]:
    root = None if tree.n_leaves == 1 else tree.schema.names[tree.feature[0]]
    return {"leaves": tree.n_leaves, "depth": tree.depth, "root": root, "rows": float(tree.count[0])}


def _rows_content(rows: RowChanges) -> dict[str, Any]:
    special = ("n_rows", "metric", "leaf_shares", "boxes", "groups", "column_index", "survival")
    plain = {name: _content(value) for name, value in vars(rows).items() if name not in special}
    boxes = [
        {
            "conditions": _content(box.conditions),
            "old": box.old.outcome,
            "new": box.new.outcome,
            "rows": box.n_rows,
            "fraction": box.fraction,
        }
        for box in rows.boxes
    ]
    groups = [
        {
            "conditions": _content(group.rule.conditions),
            "rate": group.rate,
            "fraction": group.fraction,
            "covered": group.covered,
        }
        for group in rows.groups
    ]
    return {
        "rows": rows.n_rows,
        **plain,
        "metric": None if rows.metric is None else rows.metric.name,
        "score_interval": _content(rows.score_interval),
        "verdict": rows.verdict,
        "leaf_shares": [vars(share) for share in rows.leaf_shares],
        "column_index": dict(rows.column_index),
        "boxes": boxes,
        "groups": groups,
    }


# -- changes of splits --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SplitChange:
    """Change of the split at one place; everything below a replaced split is replaced, too."""

    kind: str  # "threshold", "categories", "missing", "replaced", "new" or "gone"
    old_node: int
    new_node: int
    old: Condition | None  # of its yes side; None at a leaf
    new: Condition | None
    where: tuple[Condition, ...]  # of the old node
    share: float  # of the range, or of the categories, that changed side; 1 for another feature
    fraction: float  # of the old tree's rows that reach the split
    leaves: tuple[int, int]  # number of leaves below the old and the new node
    moves_missing: bool = False  # missing values, which some rows had, go to the other side

    @property
    def is_root(self) -> bool:
        """True for the root split."""
        return self.old_node == 0

    @property
    def is_move(self) -> bool:
        """True if the feature is the same."""
        return self.kind in ("threshold", "categories", "missing")

    @property
    def n_gone(self) -> int:
        """Number of splits of the old tree that are gone, here and below."""
        return 0 if self.is_move else self.leaves[0] - 1

    @property
    def n_new(self) -> int:
        """Number of new splits, here and below."""
        return 0 if self.is_move else self.leaves[1] - 1

    @property
    def new_nodes(self) -> range:
        """Nodes of the new tree with new splits, here and below, and their leaves."""
        return range(0) if self.is_move else range(self.new_node, self.new_node + 2 * self.leaves[1] - 1)


@dataclass(frozen=True)
class SplitCounts:
    """Number of splits kept, moved, gone and new; below a replaced split, all are gone or new."""

    kept: int
    moved: int
    gone: int
    new: int

    @property
    def changed(self) -> int:
        """Number of changes; where splits are gone and others new, the larger number."""
        return self.moved + max(self.gone, self.new)


def compare_splits(old: Tree, new: Tree) -> tuple[SplitChange, ...]:
    """List the splits that changed in the order of the old tree; both trees share a schema."""
    changes, places = [], [(0, 0)]
    while places:
        one, other = places.pop()
        before, after = int(old.feature[one]), int(new.feature[other])
        if before == LEAF and after == LEAF:
            continue
        if before != after:
            kind = "new" if before == LEAF else "gone" if after == LEAF else "replaced"
            changes.append(_split_change(kind, old, new, (one, other), True, 1.0))
            continue
        side = is_same_side(old, new, one, other)
        kind, share = _classify_move(old, new, one, other, side)
        if kind:
            changes.append(_split_change(kind, old, new, (one, other), side, share))
        left, right = int(new.left[other]), int(new.right[other])
        if not side:
            left, right = right, left
        places += [(int(old.right[one]), right), (int(old.left[one]), left)]
    return tuple(changes)


def _split_change(
    kind: str, old: Tree, new: Tree, nodes: tuple[int, int], side: bool, share: float
) -> SplitChange:
    one, other = nodes
    return SplitChange(
        kind=kind,
        old_node=one,
        new_node=other,
        old=None if old.feature[one] == LEAF else split_condition(old, one, True),
        new=None if new.feature[other] == LEAF else split_condition(new, other, side),
        where=tuple(each for each in list_conditions(old, one).values() if not each.allows_all),
        share=share,
        fraction=fraction_of_rows(old, one),
        leaves=(_count_leaves(old, one), _count_leaves(new, other)),
        moves_missing=kind == "missing"
        or (kind in ("threshold", "categories") and _moves_missing(old, new, one, other, side)),
    )


def _moves_missing(old: Tree, new: Tree, one: int, other: int, side: bool) -> bool:
    """Return True if missing values, seen in training by either tree, change sides."""
    if bool(old.missing_left[one]) == (bool(new.missing_left[other]) == side):
        return False
    return any(
        split_condition(tree, node, bool(tree.missing_left[node])).has_missing_rows
        for tree, node in ((old, one), (new, other))
    )


def is_same_side(old: Tree, new: Tree, one: int, other: int) -> bool:
    """Return False if yes and no sides are swapped: a split of categories can be written in two ways."""
    before = split_condition(old, one, True)
    if not before.feature.is_subset:
        return True
    reach = _reaching_categories(old, new, one, other)
    as_named, swapped = (
        len((set(before.categories) ^ set(split_condition(new, other, side).categories)) & reach)
        for side in (True, False)
    )
    return as_named <= swapped


def _classify_move(old: Tree, new: Tree, one: int, other: int, side: bool) -> tuple[str, float]:
    """Classify the change, empty for none, with the share of values that changed sides."""
    before, after = split_condition(old, one, True), split_condition(new, other, side)
    feature = before.feature
    if feature.is_subset:
        moved = (set(before.categories) ^ set(after.categories)) & _reaching_categories(old, new, one, other)
        if moved:
            return "categories", len(moved) / len(feature.categories)
    elif not is_same_condition(before, after):
        (_, high), (_, other_high) = before.bounds, after.bounds
        width = feature.high - feature.low
        whole = (feature.low, feature.high)
        return "threshold", float(fraction_of_range(high, other_high, *whole)) if width > 0 else 0.0
    moves = before.missing != after.missing and (_can_miss(old, one) or _can_miss(new, other))
    return ("missing", 0.0) if moves else ("", 0.0)


def _can_miss(tree: Tree, node: int) -> bool:
    """Return True if a row without the value of the split can reach the node."""
    known = list_conditions(tree, node).get(int(tree.feature[node]))
    return known is None or known.missing


def _reaching_categories(old: Tree, new: Tree, one: int, other: int) -> set[Label]:
    """Return the categories of the split feature that reach the node in both trees."""
    index = int(old.feature[one])
    reach = set(old.schema.features[index].categories)
    for tree, node in ((old, one), (new, other)):
        known = list_conditions(tree, node).get(index)
        if known is not None:
            reach &= set(known.categories)
    return reach


def _count_leaves(tree: Tree, node: int) -> int:
    """Count the leaves of a subtree."""
    end, last = node, node
    while tree.feature[last] != LEAF:
        last = int(tree.right[last])
        end = last
    return int((tree.feature[node : end + 1] == LEAF).sum())


# -- changes of conditions ----------------------------------------------------------------------------------

CONDITION_KINDS = ("threshold", "categories", "missing", "condition")
LAST_DIGITS = 1e-12  # relative difference of thresholds that count as equal


@dataclass(frozen=True)
class ConditionChange:
    """Change of the condition on one feature.

    `kind` is "threshold" or "categories" if both rules have a condition on the feature, "missing" if only the
    side of missing values changed, "condition" if one rule has a condition or a bound that the other lacks.
    """

    name: str  # of the feature
    old: Condition | None  # None: any value was allowed
    new: Condition | None
    kind: str
    share: float  # of the feature's range, or of its categories, that only one rule allows
    cost: float  # contribution to the tree distance


def compare_conditions(old: Rule, new: Rule, costs: Mapping[str, float]) -> tuple[ConditionChange, ...]:
    """List the conditions that differ, in the order of the old rule; `costs` are by feature."""
    changes = []
    for name in dict.fromkeys(condition.name for rule in (old, new) for condition in rule.conditions):
        before, after = old.condition(name), new.condition(name)
        if kind := _condition_kind(before, after):
            share, cost = share_changed(before, after), costs.get(name, 0.0)
            changes.append(ConditionChange(name, before, after, kind, share, cost))
    return tuple(changes)


def _condition_kind(old: Condition | None, new: Condition | None) -> str:
    """Classify the change, or nothing."""
    if old is None or new is None:
        only = old or new
        return "missing" if only is not None and only.is_whole else "condition"
    if old.feature.is_subset:
        if set(old.categories) != set(new.categories):
            return "categories"
    elif not is_same_condition(old, new):
        has_same_bounds = (old.low > -inf, old.high < inf) == (new.low > -inf, new.high < inf)
        return "threshold" if has_same_bounds else "condition"
    return "missing" if old.missing != new.missing else ""


def is_same_condition(old: Condition, new: Condition) -> bool:
    """Return True if two conditions allow the same known values.

    Of an ordered feature a threshold may lie anywhere between two categories, or beyond the last.
    """
    if old.feature.kind == "ordered" and old.categories == new.categories:
        return True
    return is_same_threshold(old.low, new.low) and is_same_threshold(old.high, new.high)


def is_same_threshold(one: float, other: float) -> bool:
    """Return True if two thresholds differ in the last digits at most."""
    return one == other or isclose(one, other, rel_tol=LAST_DIGITS, abs_tol=0.0)


def is_missing_moved(old: Condition | None, new: Condition | None) -> bool:
    """Return True if only one condition allows missing values, and training rows had some."""
    if old is None or new is None or old.missing == new.missing:
        return False
    return old.has_missing_rows or new.has_missing_rows


def share_changed(old: Condition | None, new: Condition | None) -> float:
    """Return the fraction of the range, or of the categories, that only one condition allows.

    >>> from holdfast import Feature
    >>> age = Feature("age", low=0.0, high=100.0)
    >>> share_changed(Condition(age, high=40.0), Condition(age, high=50.0))
    0.1
    """
    known = old or new
    if known is None:
        return 0.0
    feature = known.feature
    if feature.is_subset:
        before, after = (set(feature.categories if each is None else each.categories) for each in (old, new))
        return len(before ^ after) / len(feature.categories)
    if not feature.low < feature.high:
        return 0.0
    whole = (feature.low, feature.high)
    (a, b), (c, d) = (whole if each is None else each.bounds for each in (old, new))
    # Where they overlap, each end moved by itself; else all of both is allowed by one only.
    parts = [(a, c), (b, d)] if min(b, d) > max(a, c) else [(a, b), (c, d)]
    return float(sum(fraction_of_range(high, low, *whole) for low, high in parts))


# -- changes of rules, from the cheapest matching of both trees ----------------------------------------------

CHANGE_KINDS = (*CONDITION_KINDS, "outcome", "value", "order", "new", "gone")
NOTHING = 1e-12  # change of a value, as a fraction of its range, that counts as none


@dataclass(frozen=True)
class RuleChange:
    """Change of one rule: a matched pair, or a rule without a partner.

    `kinds` are some of CHANGE_KINDS, none if the rules are the same. "outcome" is another class, "value" the
    same class with other fractions, or another number; "order" the same conditions in another order.
    """

    old: Rule | None  # None: the rule is new
    new: Rule | None  # None: the rule is gone
    kinds: tuple[str, ...]
    conditions: tuple[ConditionChange, ...]  # those that differ
    outcome_cost: float  # contribution of the outcomes to the tree distance
    cost: float  # contribution of the whole rule

    @property
    def is_same(self) -> bool:
        """True if nothing changed."""
        return not self.kinds

    @property
    def shift(self) -> float:
        """Change of the value: total variation, or difference of numbers; 0 for a single rule.

        Of relative risks it is that of survival to the horizon.
        """
        if self.old is None or self.new is None:
            return 0.0
        if self.old.target.is_classes:
            return sum(abs(a - b) for a, b in zip(self.old.value, self.new.value, strict=True)) / 2
        if (old := self.old.target.hazard) is not None and (new := self.new.target.hazard) is not None:
            new = replace(new, horizon=old.horizon)
            return survive_horizon(new, self.new.value[0]) - survive_horizon(old, self.old.value[0])
        return self.new.value[0] - self.old.value[0]


def compare_rules(distance: TreeDistance) -> tuple[RuleChange, ...]:
    """List the matched pairs of rules in the order of the old tree, then unmatched rules."""
    pairs = [_pair_change(pair) for pair in distance.pairs]
    alone = []
    for each in distance.unmatched:
        old, new, kind = (each.rule, None, "gone") if each.side == "first" else (None, each.rule, "new")
        alone.append(RuleChange(old, new, (kind,), (), 0.0, each.weight))
    return (*pairs, *alone)


def _pair_change(pair: RulePair) -> RuleChange:
    old, new = pair.first, pair.second
    width = 1.0 if old.target.is_classes else min(old.target.high - old.target.low, sys.float_info.max)
    conditions = compare_conditions(old, new, {part.feature: part.cost for part in pair.parts})
    kinds = {change.kind for change in conditions}
    if any(is_missing_moved(each.old, each.new) for each in conditions):
        kinds.add("missing")
    if old.target.is_classes and old.outcome != new.outcome:
        kinds.add("outcome")
    elif any(abs(a - b) > NOTHING * max(width, abs(a)) for a, b in zip(old.value, new.value, strict=True)):
        kinds.add("value")
    if not conditions and [each.name for each in old.conditions] != [each.name for each in new.conditions]:
        kinds.add("order")
    ordered = tuple(kind for kind in CHANGE_KINDS if kind in kinds)
    return RuleChange(old, new, ordered, conditions, pair.outcome_cost, pair.cost)
