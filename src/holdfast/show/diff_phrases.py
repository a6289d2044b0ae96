"""Parts of a diff as phrases: a condition, a split and an outcome with what it was."""

from math import isfinite

from holdfast.distance.diff.conditions import ConditionChange, is_missing_moved
from holdfast.distance.diff.rules import RuleChange
from holdfast.distance.diff.splits import SplitChange
from holdfast.distance.diff.tree_diff import TreeDiff
from holdfast.show.conditions import FULL_LIST, SHORT_LIST, condition_text
from holdfast.show.risk import probability_name, told_probability
from holdfast.show.rules import rule_outcome_text
from holdfast.text.lines import item_text, printable
from holdfast.text.numbers import counted, number_text, percent_text, probability_text, told_apart
from holdfast.tree.rule import Condition, Rule
from holdfast.tree.wording import format_outcome

DIGITS, MOST_DIGITS = 6, 17  # of thresholds: as many as tell them apart


def condition_change_text(change: ConditionChange) -> str:
    """The new condition with what it was; the old one, if it is no longer asked."""
    text, note = condition_change_parts(change)
    return f"{text} ({note})" if note else text


def condition_change_parts(change: ConditionChange) -> tuple[str, str]:
    """The new condition, or the old one if it is no longer asked; and what became of it, if it is asked."""
    if change.new is None:
        assert change.old is not None
        return _told(change.old), ""
    if change.old is None:
        return _told(change.new), "new"
    if change.kind == "missing" and not is_missing_moved(change.old, change.new):
        when = "now" if change.new.missing else "no longer"
        return _told(change.new), f"a missing value would {when} go here"
    old, new = both_texts(change.old, change.new)
    return new, f"was {old}"


def both_texts(old: Condition, new: Condition) -> tuple[str, str]:
    """Both conditions on one feature: of the old one only what is needed to tell what it was."""
    if is_missing_moved(old, new):
        return _told(old), _told(new)
    if old.feature.kind == "nominal":
        return _set_texts(old, new)
    before, after = only_bound(old), only_bound(new)
    if before is None or after is None or before[0] != after[0]:
        return _told(old), _told(new)
    return told_apart(before[1], after[1], DIGITS, MOST_DIGITS)[0], _told(new)


def only_bound(condition: Condition) -> tuple[str, float] | None:
    """The end of a numeric interval that has just one, and which it is."""
    ends = {"low": condition.low, "high": condition.high}
    finite = [(name, end) for name, end in ends.items() if isfinite(end)]
    return finite[0] if len(finite) == 1 and condition.feature.kind == "numeric" else None


def _set_texts(old: Condition, new: Condition) -> tuple[str, str]:
    before, after = set(old.categories), set(new.categories)
    come = [item_text(label) for label in new.categories if label not in before]
    left = [item_text(label) for label in old.categories if label not in after]
    if len(old.categories) <= SHORT_LIST and len(new.categories) <= SHORT_LIST:
        return condition_text(old), condition_text(new)
    signs = [f"without {', '.join(come)}"] * bool(come) + [f"with {', '.join(left)}"] * bool(left)
    return " and ".join(signs), _told(new)


def _told(condition: Condition) -> str:
    return condition_text(condition, most=FULL_LIST)


def split_texts(diff: TreeDiff, split: SplitChange) -> tuple[str, str, str]:
    """Where the split is, what became of it, and how much that is."""
    where = f"where {' and '.join(map(_told, split.where))}" if split.where else "at the top"
    leaves = f"{counted(split.leaves[0], 'leaf', 'leaves')} below became {split.leaves[1]}"
    if split.old is None:
        assert split.new is not None
        said = f"was a leaf ({format_outcome(diff.old, split.old_node)})"
        return where, f"{said} -> asks {_told(split.new)}", "new split"
    if split.new is None:
        said = f"is a leaf ({format_outcome(diff.new, split.new_node)})"
        return where, f"asked {_told(split.old)} -> {said}", "split gone"
    if split.kind == "replaced":
        return where, f"{_told(split.old)} -> {_told(split.new)}", f"replaced; {leaves}"
    if split.kind == "missing":
        return where, f"{_told(split.old)}: {_side_text(split.new)}", ""
    if split.moves_missing:
        told = f"{_told(split.old)} -> {_told(split.new)}"
        if not is_missing_moved(split.old, split.new):  # the rows that lack it are those of the no side
            told = f"{told}: {_side_text(split.new)}"
        return where, told, _share_text(split)
    if split.kind == "categories":
        return where, _sides_text(split.old, split.new), _share_text(split)
    return where, _moved_text(split.old, split.new), _share_text(split)


def _share_text(split: SplitChange) -> str:
    return f"{percent_text(split.share)} of the {'categories' if split.kind == 'categories' else 'range'}"


def _side_text(new: Condition) -> str:
    return f"missing values now go to the {'yes' if new.missing else 'no'} side"


def _moved_text(old: Condition, new: Condition) -> str:
    """The threshold before and after."""
    if only_bound(old) and only_bound(new):
        before, after = told_apart(old.high, new.high, DIGITS, MOST_DIGITS)
        return f"{printable(old.name)} <= {before} -> {after}"
    return f"{_told(old)} -> {_told(new)}"


def _sides_text(old: Condition, new: Condition) -> str:
    """Which categories went to the other side."""
    before, after = set(old.categories), set(new.categories)
    come = [item_text(label) for label in new.categories if label not in before]
    left = [item_text(label) for label in old.categories if label not in after]
    moves = [f"{', '.join(come)} came in"] * bool(come) + [f"{', '.join(left)} went out"] * bool(left)
    if len(after | before) <= SHORT_LIST:
        return f"{_told(old)} -> {_told(new)}"
    return f"{_told(old)}: {'; '.join(moves)}"


# -- outcomes ---------------------------------------------------------------------------------------------


def chance_text(rule: Rule, positive: int | None) -> str:
    """The probability of the positive class, or of the predicted one: p(died) 0.07."""
    probability = probability_text(told_probability(rule.value, positive, rule.predicted))
    return f"{probability_name(rule.target, positive)} {probability}"


def outcome_change_text(old: Rule, new: Rule, positive: int | None) -> str:
    """What the new rule says, with what the old one said where that is another thing."""
    if not new.target.is_classes:
        before, after = (number_text(rule.value[0], 4) for rule in (old, new))
        return f"THEN {after}" + (f" (was {before})" if before != after else "")
    classes = rule_outcome_text(old), rule_outcome_text(new)
    chances = chance_text(old, positive), chance_text(new, positive)
    said = f"THEN {classes[1]}, {chances[1]}"
    if classes[0] != classes[1]:
        return f"{said} (was {classes[0]}, {chances[0]})"
    return said + (f" (was {chances[0].split()[-1]})" if chances[0] != chances[1] else "")


def other_classes(diff: TreeDiff) -> list[RuleChange]:
    """The rules whose conditions stay, and which predict another class."""
    return [change for change in diff.of_kind("outcome") if {*change.kinds} <= {"outcome", "value"}]
