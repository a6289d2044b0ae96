"""What changed between two trees."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isclose, isfinite
from typing import Any

from holdfast._view import View, ViewMixin
from holdfast.adapters import as_tree
from holdfast.data.frame import make_frame
from holdfast.data.row_keys import share_in_sketch, unique_hashes
from holdfast.data.schema import Label, Schema
from holdfast.data.table import Table
from holdfast.data.target import Task
from holdfast.distance.costs import fraction_of_range
from holdfast.distance.diff_rows import (
    RowBox,
    RowChanges,
    RowGroup,
    compute_column_indices,
    measure_row_changes,
    prepare_table,
)
from holdfast.distance.distance import tree_distance
from holdfast.distance.matching import RulePair, TreeDistance, UnmatchedRule
from holdfast.distance.reference_schema import widen_schemas
from holdfast.errors import HoldfastError
from holdfast.scoring.calibration import Calibration
from holdfast.tree.rules import Condition, Rule, fraction_of_rows, list_conditions, split_condition
from holdfast.tree.stats import positive_class
from holdfast.tree.tree import LEAF, Tree


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
        from holdfast.distance.diff_text import diff_summary

        return diff_summary(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, None for unknown figures."""

        return make_diff_content(self)

    def __repr__(self) -> str:
        return f"<TreeDiff: {len(self.changes)} rules changed, distance {self.distance.total:.6g}>"

    def of_kind(self, *kinds: str) -> tuple[RuleChange, ...]:
        """Return the rules with a change of one of these kinds."""
        return tuple(each for each in self.changes if {*kinds} & {*each.kinds})

    def _view(self) -> View:
        from holdfast.distance.diff_text import diff_view

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


# -- A diff as plain data, for JSON --------------------------------------------------------------------------

_FIGURES = (
    "churn",
    "mean_move",
    "largest_move",
    "leaf_changes",
    "flips",
    "negative_flips",
    "positive_flips",
    "swap_ins",
    "swap_outs",
    "old_score",
    "old_error",
    "new_score",
    "new_error",
    "score_difference",
    "score_error",
    "leaf_index",
)


def make_diff_content(diff: TreeDiff) -> dict[str, Any]:
    """Return the content of a diff as plain data: the summary, then every figure."""
    distance = diff.distance
    return {
        "summary": diff.summary,
        "is_empty": diff.is_empty,
        "same_root": diff.same_root,
        "distance": distance.total,
        "matching": distance.matching,
        "label_weight": distance.label_weight,
        "old": _tree(diff.old),
        "new": _tree(diff.new),
        "changes": [_rule_change(change) for change in diff.changes],
        "same": [_rule(change.new) for change in diff.same],
        "splits": [_split(split) for split in diff.splits],
        "rows": None if diff.rows is None else _content_rows(diff.rows),
    }


def _number(value: float) -> float | None:
    return value if isfinite(value) else None


def _tree(tree: Tree) -> dict[str, Any]:
    root = None if tree.n_leaves == 1 else tree.schema.names[tree.feature[0]]
    return {"leaves": tree.n_leaves, "depth": tree.depth, "root": root, "rows": float(tree.count[0])}


# -- rules and splits -------------------------------------------------------------------------------------


def _condition(condition: Condition | None) -> dict[str, Any] | None:
    if condition is None:
        return None
    content: dict[str, Any] = {"feature": condition.name}
    if condition.feature.kind == "numeric":
        content |= {"above": _number(condition.low), "at_most": _number(condition.high)}
    else:
        content["categories"] = list(condition.categories)
    return content | {"missing": condition.missing}


def _rule(rule: Rule | None) -> dict[str, Any] | None:
    if rule is None:
        return None
    return {
        "text": str(rule),
        "leaf": rule.leaf,
        "conditions": [_condition(condition) for condition in rule.conditions],
        "outcome": rule.outcome,
        "value": list(rule.value),
        "rows": rule.count,
    }


def _rule_change(change: RuleChange) -> dict[str, Any]:
    return {
        "kinds": list(change.kinds),
        "cost": change.cost,
        "outcome_cost": change.outcome_cost,
        "shift": change.shift,
        "old": _rule(change.old),
        "new": _rule(change.new),
        "conditions": [_condition_change(each) for each in change.conditions],
    }


def _condition_change(change: ConditionChange) -> dict[str, Any]:
    return {
        "feature": change.name,
        "kind": change.kind,
        "old": _condition(change.old),
        "new": _condition(change.new),
        "share": change.share,
        "cost": change.cost,
    }


def _split(split: SplitChange) -> dict[str, Any]:
    return {
        "kind": split.kind,
        "where": [_condition(condition) for condition in split.where],
        "old": _condition(split.old),
        "new": _condition(split.new),
        "old_node": split.old_node,
        "new_node": split.new_node,
        "share": split.share,
        "fraction": split.fraction,
        "leaves": list(split.leaves),
    }


# -- rows -------------------------------------------------------------------------------------------------


def _content_rows(rows: RowChanges) -> dict[str, Any]:
    figures = {name: _number(getattr(rows, name)) for name in _FIGURES}
    return {
        "rows": rows.n_rows,
        "positive": rows.positive,
        **figures,
        "metric": None if rows.metric is None else rows.metric.name,
        "score_interval": [_number(end) for end in rows.score_interval],
        "verdict": rows.verdict,
        "old_learned": rows.old_learned,
        "new_learned": rows.new_learned,
        "old_calibration": _calibration(rows.old_calibration),
        "new_calibration": _calibration(rows.new_calibration),
        "leaf_shares": [vars(share) for share in rows.leaf_shares],
        "column_index": dict(rows.column_index),
        "boxes": [_box(box) for box in rows.boxes],
        "groups": [_group(group) for group in rows.groups],
    }


def _calibration(calibration: Calibration) -> dict[str, float | None]:
    figures = {**vars(calibration), "ratio": calibration.ratio}
    return {name: _number(value) for name, value in figures.items()}


def _box(box: RowBox) -> dict[str, Any]:
    return {
        "conditions": [_condition(condition) for condition in box.conditions],
        "old": box.old.outcome,
        "new": box.new.outcome,
        "rows": box.n_rows,
        "fraction": box.fraction,
    }


def _group(group: RowGroup) -> dict[str, Any]:
    return {
        "conditions": [_condition(condition) for condition in group.rule.conditions],
        "rate": group.rate,
        "fraction": group.fraction,
        "covered": group.covered,
    }


# -- What changed split by split -----------------------------------------------------------------------------

SPLIT_KINDS = ("threshold", "categories", "missing", "replaced", "new", "gone")


@dataclass(frozen=True)
class SplitChange:
    """Change of the split at one place; everything below a replaced split is replaced, too."""

    kind: str  # of SPLIT_KINDS
    old_node: int
    new_node: int
    old: Condition | None  # what led to its yes side; None at a leaf
    new: Condition | None
    where: tuple[Condition, ...]  # what led to the old node
    share: float  # of the range, or of the categories, that changed side; 1 if another question is asked
    fraction: float  # of the old tree's rows, that came by
    leaves: tuple[int, int]  # below the old and the new node
    moves_missing: bool = False  # the same feature sends missing values, which rows had, to the other side

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
    """Number of splits kept, moved, gone and new.

    Below a split that is replaced nothing moves: what was there is gone, and what is there is new.
    """

    kept: int
    moved: int
    gone: int
    new: int

    @property
    def changed(self) -> int:
        """Number of changes; where splits are gone and others new, the larger number."""
        return self.moved + max(self.gone, self.new)


def count_splits(old: Tree, changes: Sequence[SplitChange]) -> SplitCounts:
    """Count changes of splits as sentences, figures and policies report them."""
    moved, gone = sum(each.is_move for each in changes), sum(each.n_gone for each in changes)
    return SplitCounts(old.n_leaves - 1 - moved - gone, moved, gone, sum(each.n_new for each in changes))


def compare_splits(old: Tree, new: Tree) -> tuple[SplitChange, ...]:
    """List the splits that changed in the order of the old tree; both trees share a schema."""
    return tuple(_walk(old, new))


def _walk(old: Tree, new: Tree) -> Iterator[SplitChange]:
    places = [(0, 0)]
    while places:
        one, other = places.pop()
        asked, asks = int(old.feature[one]), int(new.feature[other])
        if asked == LEAF and asks == LEAF:
            continue
        if asked != asks:
            kind = "new" if asked == LEAF else "gone" if asks == LEAF else "replaced"
            yield _change(kind, old, new, (one, other), True, 1.0)
            continue
        side = is_same_side(old, new, one, other)
        kind, share = _classify_move(old, new, one, other, side)
        if kind:
            yield _change(kind, old, new, (one, other), side, share)
        left, right = int(new.left[other]), int(new.right[other])
        below = [
            (int(old.left[one]), left if side else right),
            (int(old.right[one]), right if side else left),
        ]
        places += reversed(below)


def _change(kind: str, old: Tree, new: Tree, nodes: tuple[int, int], side: bool, share: float) -> SplitChange:
    one, other = nodes
    before = None if old.feature[one] == LEAF else split_condition(old, one, True)
    after = None if new.feature[other] == LEAF else split_condition(new, other, side)
    where = tuple(each for each in list_conditions(old, one).values() if not each.allows_all)
    return SplitChange(
        kind=kind,
        old_node=one,
        new_node=other,
        old=before,
        new=after,
        where=where,
        share=share,
        fraction=fraction_of_rows(old, one),
        leaves=(_leaves_below(old, one), _leaves_below(new, other)),
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
    """Return False if yes and no sides are swapped: a category set has two names."""
    before = split_condition(old, one, True)
    if not before.feature.is_subset:
        return True
    reach = _reaching(old, new, one, other)
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
        moved = (set(before.categories) ^ set(after.categories)) & _reaching(old, new, one, other)
        if moved:
            return "categories", len(moved) / len(feature.categories)
    elif not is_same_condition(before, after):
        (_, high), (_, other_high) = before.bounds, after.bounds
        width = feature.high - feature.low
        whole = (feature.low, feature.high)
        return "threshold", float(fraction_of_range(high, other_high, *whole)) if width > 0 else 0.0
    moves = before.missing != after.missing and (_missing_reach(old, one) or _missing_reach(new, other))
    return ("missing", 0.0) if moves else ("", 0.0)


def _missing_reach(tree: Tree, node: int) -> bool:
    """Return True if a row without the value of the split can reach the node."""
    known = list_conditions(tree, node).get(int(tree.feature[node]))
    return known is None or known.missing


def _reaching(old: Tree, new: Tree, one: int, other: int) -> set[Label]:
    """Return the categories of the split feature that reach the node in both trees."""
    index = int(old.feature[one])
    reach = set(old.schema.features[index].categories)
    for tree, node in ((old, one), (new, other)):
        known = list_conditions(tree, node).get(index)
        if known is not None:
            reach &= set(known.categories)
    return reach


def _leaves_below(tree: Tree, node: int) -> int:
    """Count the leaves of a subtree."""
    end, last = node, node
    while tree.feature[last] != LEAF:
        last = int(tree.right[last])
        end = last
    return int((tree.feature[node : end + 1] == LEAF).sum())


# -- What changed in the conditions of two rules that correspond ---------------------------------------------

CONDITION_KINDS = ("threshold", "categories", "missing", "question")
LAST_DIGITS = 1e-12  # of a threshold: that close they are the same


@dataclass(frozen=True)
class ConditionChange:
    """Change of the condition on one feature.

    `kind` is "threshold" or "categories" where both rules ask, "missing" where only the side of missing
    values changed, and "question" where one of them does not ask, or has a bound that the other has not.
    """

    name: str  # of the feature
    old: Condition | None  # None: any value was allowed
    new: Condition | None
    kind: str
    share: float  # of the feature's range, or of its categories: allowed by one of them only
    cost: float  # what it adds to the distance


def compare_conditions(old: Rule, new: Rule, costs: Mapping[str, float]) -> tuple[ConditionChange, ...]:
    """List the conditions that differ, in the order of the old rule; `costs` are by feature."""
    return tuple(_changes(old, new, costs))


def _changes(old: Rule, new: Rule, costs: Mapping[str, float]) -> Iterator[ConditionChange]:
    for name in dict.fromkeys(condition.name for rule in (old, new) for condition in rule.conditions):
        before, after = old.condition(name), new.condition(name)
        if kind := _kind(before, after):
            yield ConditionChange(
                name, before, after, kind, share_changed(before, after), costs.get(name, 0.0)
            )


def _kind(old: Condition | None, new: Condition | None) -> str:
    """Classify the change; empty if there is none."""
    if old is None or new is None:
        only = old or new
        return "missing" if only is not None and only.is_whole else "question"
    if old.feature.is_subset:
        if set(old.categories) != set(new.categories):
            return "categories"
    elif not is_same_condition(old, new):
        has_same_bounds = (old.low > -inf, old.high < inf) == (new.low > -inf, new.high < inf)
        return "threshold" if has_same_bounds else "question"
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
    """Return True if one condition only allows missing values, and training rows had them there."""
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


# -- What changed rule by rule, from the cheapest matching of two trees --------------------------------------

CHANGE_KINDS = (*CONDITION_KINDS, "outcome", "value", "order", "new", "gone")
NOTHING = 1e-12  # a value that moved by less of its range is the same


@dataclass(frozen=True)
class RuleChange:
    """Change of one rule: a matched pair, or a rule without a partner.

    `kinds` are some of CHANGE_KINDS, none if the rules are the same. "outcome" is another class, "value" the
    same class with other fractions, or another number; "order" the same conditions asked in another order.
    """

    old: Rule | None  # None: the rule is new
    new: Rule | None  # None: the rule is gone
    kinds: tuple[str, ...]
    conditions: tuple[ConditionChange, ...]  # those that differ
    outcome_cost: float  # what the outcomes add to the distance
    cost: float  # all that the rule adds

    @property
    def is_same(self) -> bool:
        """True if nothing changed."""
        return not self.kinds

    @property
    def asks_the_same(self) -> bool:
        """True if both rules cover the same rows."""
        return not {*self.kinds} & {*CONDITION_KINDS, "new", "gone"}

    @property
    def shift(self) -> float:
        """Change of the value: total variation, or difference of numbers; 0 for a single rule."""
        if self.old is None or self.new is None:
            return 0.0
        if self.old.target.is_classes:
            return sum(abs(a - b) for a, b in zip(self.old.value, self.new.value, strict=True)) / 2
        return self.new.value[0] - self.old.value[0]


def compare_rules(distance: TreeDistance) -> tuple[RuleChange, ...]:
    """List the matched pairs of rules in the order of the old tree, then single rules."""
    pairs = [_pair_change(pair) for pair in distance.pairs]
    alone = [_lone_change(unmatched) for unmatched in distance.unmatched]
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


def _lone_change(unmatched: UnmatchedRule) -> RuleChange:
    if unmatched.side == "first":
        return RuleChange(unmatched.rule, None, ("gone",), (), 0.0, unmatched.weight)
    return RuleChange(None, unmatched.rule, ("new",), (), 0.0, unmatched.weight)
