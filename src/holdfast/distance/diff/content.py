"""A diff as plain data, for JSON: what changed, with None for every number that nobody can tell."""

from math import isfinite
from typing import TYPE_CHECKING, Any

from holdfast.distance.diff.affected import RowBox, RowGroup
from holdfast.distance.diff.conditions import ConditionChange
from holdfast.distance.diff.rows import RowChanges
from holdfast.distance.diff.rules import RuleChange
from holdfast.distance.diff.splits import SplitChange
from holdfast.scoring.calibration import Calibration
from holdfast.tree.rule import Condition, Rule
from holdfast.tree.tree import Tree

if TYPE_CHECKING:
    from holdfast.distance.diff.tree_diff import TreeDiff

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


def make_diff_content(diff: "TreeDiff") -> dict[str, Any]:
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
        "rows": None if diff.rows is None else _rows(diff.rows),
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


def _rows(rows: RowChanges) -> dict[str, Any]:
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
