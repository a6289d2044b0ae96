"""A diff of two trees in a few sentences, and its parts as phrases."""

from collections import Counter
from math import isfinite, isnan

from holdfast.distance.diff.conditions import ConditionChange
from holdfast.distance.diff.rows import RowChanges
from holdfast.distance.diff.rules import RuleChange
from holdfast.distance.diff.splits import SplitChange
from holdfast.distance.diff.tree_diff import TreeDiff
from holdfast.show.conditions import SHORT_LIST, condition_text
from holdfast.show.rules import rule_outcome_text
from holdfast.text.lines import item_text, printable
from holdfast.text.numbers import (
    counted,
    decimals_of_errors,
    fixed_text,
    in_words,
    number_text,
    percent_text,
    probability_text,
    rounded_percent,
    told_apart,
)
from holdfast.tree.rule import Condition, Rule
from holdfast.tree.tree import Tree
from holdfast.tree.wording import outcome_text

MOST_LABELS = 4  # categories that a phrase lists
DEGREES = ("outcome", "question", "moved", "new", "gone", "alike")  # of what became of a rule
# What became of one rule, and of several.
VERBS = {
    "outcome": ("says another class", "say another class"),
    "question": ("asks other questions", "ask other questions"),
    "moved": ("has other thresholds or categories only", "have other thresholds or categories only"),
    "alike": ("has another probability only", "have another probability only"),
    "gone": ("is gone", "are gone"),
    "same": ("is the same", "are the same"),
}
DIGITS, MOST_DIGITS = 6, 17  # of thresholds: as many as tell them apart


def diff_summary(diff: TreeDiff) -> str:
    """What changed in a few sentences: the rules, the rows, who is concerned, and which tree is better."""
    sentences = [_rules_sentence(diff)]
    if diff.rows is not None:
        sentences += [_rows_sentence(diff.rows), _score_sentence(diff.rows)]
    return " ".join(filter(None, sentences))


# -- rules ------------------------------------------------------------------------------------------------


def degree_of(change: RuleChange) -> str:
    """How far a rule changed, one of DEGREES; "alike" if it asks and says the same."""
    kinds = {*change.kinds}
    for degree in ("new", "gone", "outcome", "question"):
        if degree in kinds:
            return degree
    return "moved" if kinds & {"threshold", "categories"} else "alike"


def _rules_sentence(diff: TreeDiff) -> str:
    if diff.is_empty:
        return f"Nothing changed: both trees have the same {counted(diff.old.n_leaves, 'rule')}."
    n = Counter(map(degree_of, diff.changes))
    if not n.total() - n["alike"]:
        return _same_questions_sentence(diff)
    n["same"] = len(diff.same)
    whole = n.total() - n["new"]
    found = [degree for degree in VERBS if n[degree]]
    parts = [_part(degree, n[degree], diff.old.schema.target.is_classes) for degree in found]
    if found == ["moved"]:  # and nothing else
        told = f"{_of_all(whole, whole)} {_verb('moved', whole, True)}"
    else:
        told = f"of {in_words(whole)} {'rule' if whole == 1 else 'rules'}, {_joined(parts)}"
    new = f"; {in_words(n['new'])} {_verb('new', n['new'], True)}" if n["new"] else ""
    return f"{told[0].upper()}{told[1:]}{new}. {_root_sentence(diff)}"


def _part(degree: str, number: int, is_classes: bool) -> str:
    return f"{in_words(number)} {_verb(degree, number, is_classes)}"


def _verb(degree: str, number: int, is_classes: bool) -> str:
    """What became of so many rules."""
    one, many = VERBS.get(degree, ("is new", "are new"))
    text = one if number == 1 else many
    return text if is_classes else text.replace("probability", "value")


def _of_all(number: int, whole: int) -> str:
    if number == whole:
        return {1: "the only rule", 2: "both rules"}.get(whole, f"all {in_words(whole)} rules")
    return f"{in_words(number)} of {in_words(whole)} rules"


def _same_questions_sentence(diff: TreeDiff) -> str:
    """Of trees whose rules ask and say the same: other values, another order, missing values."""
    values = diff.of_kind("value")
    parts = []
    if values:
        largest = max(abs(change.shift) for change in values)
        what = "probabilities" if diff.old.schema.target.is_classes else "values"
        size = probability_text(largest) if diff.old.schema.target.is_classes else number_text(largest, 3)
        n = _of_all(len(values), diff.old.n_leaves)
        parts.append(f"the {what} of {n} changed, by at most {size}")
    if diff.of_kind("order"):
        parts.append("questions are asked in another order")
    if diff.of_kind("missing"):
        parts.append("missing values go another way")
    return f"The rules are the same{'; ' if parts else ''}{_joined(parts)}."


def _root_sentence(diff: TreeDiff) -> str:
    old, new = (_first_question(tree) for tree in (diff.old, diff.new))
    if not diff.same_root:
        return f"The first question is another: {new or 'none'} instead of {old or 'none'}."
    if not old:
        return ""
    moved = diff.splits[0] if diff.splits and diff.splits[0].is_root else None
    return f"The first question is still about {old}{_root_move_text(moved)}."


def _root_move_text(moved: SplitChange | None) -> str:
    if moved is None or moved.old is None or moved.new is None:
        return ""
    if moved.kind == "threshold" and _only_bound(moved.old) and _only_bound(moved.new):
        before, after = told_apart(moved.old.high, moved.new.high, DIGITS, MOST_DIGITS)
        return f", at {after} instead of {before}"
    return {"threshold": ", elsewhere", "categories": ", with other categories"}.get(moved.kind, "")


def _first_question(tree: Tree) -> str:
    return printable(tree.schema.names[tree.feature[0]]) if tree.n_leaves > 1 else ""


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


# -- rows -------------------------------------------------------------------------------------------------


def _rows_sentence(rows: RowChanges) -> str:
    of = f"of {counted(rows.n_rows, 'row')}"
    if isnan(rows.flips):
        if not rows.mean_move:
            return f"No prediction {of} moves."
        return f"Predictions {of} move by {number_text(rows.mean_move, 3)} on average{_who_text(rows)}."
    if not rows.flips:
        moved = f"; probabilities move by {fixed_text(rows.churn, 3)} on average" if rows.churn else ""
        return f"None {of} gets another class{moved}."
    return f"{percent_text(rows.flips)} {of} get another class{_who_text(rows)}."


def _who_text(rows: RowChanges) -> str:
    """Where most of the change is: the groups that cover it, and how much changes in each."""
    texts = []
    for group in rows.groups:
        where = _joined([condition_text(each, most=MOST_LABELS) for each in group.rule.conditions])
        if isnan(rows.flips):
            size = f"{rounded_percent(group.covered)} of the moves are where"
            rate = f"by {number_text(group.rate, 3)} there"
        else:
            size = f"{rounded_percent(group.covered)} of them have"
            rate = f"{rounded_percent(group.rate)} of that group change"
        texts.append(f"{size} {where} ({rate})" if where else "")
    told = [text for text in texts if text]
    return f"; {', '.join(told)}" if told else ""


def _score_sentence(rows: RowChanges) -> str:
    if rows.metric is None or rows.verdict == "unknown":
        return ""
    old, new, difference, low, high = score_figures(rows)
    if rows.score_difference == rows.score_error == 0:
        return f"Both trees have the same {rows.metric.title}, {new}."
    words = {
        "better": "The new tree is better",
        "worse": "The new tree is worse",
        "alike": "Neither tree is clearly better",
    }[rows.verdict]
    return (
        f"{words}: {rows.metric.title} {new} instead of {old} ({difference}; with 95 % confidence between "
        f"{low} and {high})."
    )


def score_figures(rows: RowChanges) -> tuple[str, str, str, str, str]:
    """Old and new score, their difference, and the ends of its interval, as people say them."""
    assert rows.metric is not None
    known = decimals_of_errors([rows.score_error, rows.old_error])
    decimals = 3 if known is None else max(3, known - 1)
    sign = -1 if rows.metric.is_loss else 1
    scores = [fixed_text(rows.metric.shown(each), decimals) for each in (rows.old_score, rows.new_score)]
    ends = sorted(sign * end for end in rows.score_interval)
    others = [fixed_text(each, decimals, "+") for each in (sign * rows.score_difference, *ends)]
    return scores[0], scores[1], others[0], others[1], others[2]


# -- conditions and splits --------------------------------------------------------------------------------


def condition_change_text(change: ConditionChange) -> str:
    """The new condition with what it was; the old one, if it is no longer asked."""
    if change.new is None:
        assert change.old is not None
        return _told(change.old)
    if change.old is None:
        return f"{_told(change.new)} (new)"
    if change.kind == "missing":
        return f"{_told(change.new)} ({'and now' if change.new.missing else 'no longer'} missing values)"
    old, new = both_texts(change.old, change.new)
    return f"{new} (was {old})"


def both_texts(old: Condition, new: Condition) -> tuple[str, str]:
    """Both conditions on one feature: of the old one only what is needed to tell what it was."""
    if old.feature.kind == "nominal":
        return _set_texts(old, new)
    before, after = _only_bound(old), _only_bound(new)
    if before is None or after is None or before[0] != after[0]:
        return _told(old), _told(new)
    return told_apart(before[1], after[1], DIGITS, MOST_DIGITS)[0], _told(new)


def _only_bound(condition: Condition) -> tuple[str, float] | None:
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
    return condition_text(condition, most=SHORT_LIST)


def split_texts(diff: TreeDiff, split: SplitChange) -> tuple[str, str, str]:
    """Where the split is, what became of it, and how much that is."""
    where = f"where {' and '.join(map(_told, split.where))}" if split.where else "at the top"
    leaves = f"{counted(split.leaves[0], 'leaf', 'leaves')} below became {split.leaves[1]}"
    if split.old is None:
        assert split.new is not None
        said = f"was a leaf ({outcome_text(diff.old, split.old_node)})"
        return where, f"{said} -> asks {_told(split.new)}", "new split"
    if split.new is None:
        said = f"is a leaf ({outcome_text(diff.new, split.new_node)})"
        return where, f"asked {_told(split.old)} -> {said}", "split gone"
    if split.kind == "replaced":
        return where, f"{_told(split.old)} -> {_told(split.new)}", f"replaced; {leaves}"
    if split.kind == "missing":
        side = "yes" if split.new.missing else "no"
        return where, f"{_told(split.old)}: missing values now go to the {side} side", ""
    if split.kind == "categories":
        return where, _sides_text(split.old, split.new), f"{percent_text(split.share)} of the categories"
    return where, _moved_text(split.old, split.new), f"{percent_text(split.share)} of the range"


def _moved_text(old: Condition, new: Condition) -> str:
    """The threshold before and after."""
    if _only_bound(old) and _only_bound(new):
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


def outcome_change_text(old: Rule, new: Rule) -> str:
    """What the new rule says, with what the old one said where that is another thing."""
    if not new.target.is_classes:
        before, after = (number_text(rule.value[0], 4) for rule in (old, new))
        return f"THEN {after}" + (f" (was {before})" if before != after else "")
    classes = rule_outcome_text(old), rule_outcome_text(new)
    chances = probability_text(max(old.value)), probability_text(max(new.value))
    if classes[0] != classes[1]:
        return f"THEN {classes[1]}, p {chances[1]} (was {classes[0]}, p {chances[0]})"
    return f"THEN {classes[1]}, p {chances[1]}" + (f" (was {chances[0]})" if chances[0] != chances[1] else "")
