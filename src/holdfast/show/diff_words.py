"""A diff of two trees in a few sentences, and its parts as phrases."""

from collections import Counter
from math import isnan

from holdfast.distance.diff.rows import RowChanges
from holdfast.distance.diff.rules import RuleChange
from holdfast.distance.diff.splits import SplitChange
from holdfast.distance.diff.tree_diff import TreeDiff
from holdfast.show.conditions import FULL_LIST, condition_text
from holdfast.show.diff_phrases import DIGITS, MOST_DIGITS, only_bound
from holdfast.text.lines import label_text, printable
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
from holdfast.tree.tree import LEAF, Tree

ALL = 0.995  # a share of the rows that counts as all of them
FEW_LEARNED = 0.02  # of the rows: a tree that has learned from fewer has learned from other rows
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


def diff_summary(diff: TreeDiff) -> str:
    """What changed in a few sentences: the rules, the rows, who is concerned, and which tree is better."""
    sentences = [rules_sentence(diff)]
    if diff.rows is not None:
        sentences += [_rows_sentence(diff.rows), _one_class_sentence(diff), _score_sentence(diff.rows)]
    return " ".join(filter(None, sentences))


# -- rules ------------------------------------------------------------------------------------------------


def degree_of(change: RuleChange) -> str:
    """How far a rule changed, one of DEGREES; "alike" if it asks and says the same."""
    kinds = {*change.kinds}
    for degree in ("new", "gone", "outcome", "question"):
        if degree in kinds:
            return degree
    return "moved" if kinds & {"threshold", "categories"} else "alike"


def rules_sentence(diff: TreeDiff) -> str:
    """What became of the rules, and of the first question."""
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
    return f"{told[0].upper()}{told[1:]}{new}. {_root_sentence(diff)}{_missing_sentence(diff)}"


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


def _missing_sentence(diff: TreeDiff) -> str:
    """At how many splits that are still there missing values go to the other side."""
    n_splits = sum(split.moves_missing for split in diff.splits)
    return f" Missing values go to the other side of {counted(n_splits, 'split')}." if n_splits else ""


def _root_move_text(moved: SplitChange | None) -> str:
    if moved is None or moved.old is None or moved.new is None:
        return ""
    if moved.kind == "threshold" and only_bound(moved.old) and only_bound(moved.new):
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
        most = f"by {probability_text(rows.largest_move)} at most"
        moved = (
            f"; probabilities move by {fixed_text(rows.churn, 3)} on average, {most}" if rows.churn else ""
        )
        return f"None {of} gets another class{moved}."
    return f"{percent_text(rows.flips)} {of} get another class{_who_text(rows)}."


def _one_class_sentence(diff: TreeDiff) -> str:
    """That no row can get another class, if every leaf of both trees says the same one."""
    said = {int(each) for tree in (diff.old, diff.new) for each in tree.outcome[tree.feature == LEAF]}
    if not diff.old.schema.target.is_classes or len(said) > 1:
        return ""
    only = label_text(diff.old.schema.target.classes[said.pop()])
    return f"Every leaf of both trees says {only}: what tells rows apart is the probability."


def _who_text(rows: RowChanges) -> str:
    """Where most of the change is: the groups that cover it, and how much changes in each."""
    texts = []
    for group in rows.groups:
        where = _joined([condition_text(each, counts=True, most=FULL_LIST) for each in group.rule.conditions])
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
    figures = f"{new}, as before" if new == old else f"{new} instead of {old}"
    return (
        f"{words}: {rows.metric.title} {figures} ({difference}; with 95 % confidence between {low} and "
        f"{high}).{learned_sentence(rows)}"
    )


def learned_sentence(rows: RowChanges) -> str:
    """Which tree has learned from the rows that it is scored on, after a blank; "" if none is known to."""
    shares = {"old": rows.old_learned or 0.0, "new": rows.new_learned or 0.0}
    known = [name for name, share in shares.items() if share > FEW_LEARNED]
    if not known:
        return ""
    trees = "Both trees have" if len(known) == 2 else f"The {known[0]} tree has"
    most = max(shares.values())
    of = "these rows" if most > ALL else f"{percent_text(most)} of these rows"
    whom = "them" if len(known) == 2 else "it"
    return f" {trees} learned from {of}, which flatters {whom}: rows that neither tree has seen tell more."


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
