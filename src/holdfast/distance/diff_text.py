"""A diff of two trees: a summary, then splits, rules and rows."""

from collections import Counter
from collections.abc import Iterator
from math import isfinite, isnan, nan

from holdfast._text import (
    decimals_of_errors,
    distinct_texts,
    estimate_texts,
    fixed_text,
    item_text,
    label_text,
    number_text,
    number_word,
    percent_text,
    pluralize,
    printable,
    probability_text,
    rounded_percent,
    rows_text,
)
from holdfast._view import Section, TextTable, View
from holdfast.distance.diff import ConditionChange, RuleChange, SplitChange, TreeDiff, is_missing_moved
from holdfast.distance.diff_rows import RowChanges
from holdfast.scoring.calibration import LITTLE, MUCH
from holdfast.tree.rules import Condition, Rule, format_class_names, format_outcome, list_conditions
from holdfast.tree.rules_text import (
    FULL_LIST,
    SHORT_LIST,
    condition_text,
    probability_name,
    rule_outcome_text,
    select_probability,
)
from holdfast.tree.tree import LEAF, Tree

MOST_BOXES = 5
MOST_COLUMNS = 5  # by population stability index
# Spaces where no line should end: in conditions, and between a word and its number.
TOGETHER = r" (?=%)| (?=[<>]=? )|(?<=[<>=]) |(?<=\bp) (?=\d)|(?<=\)) (?=\d\.)|(?<=\bcost) |(?<=\bwas) (?=\d)"


def diff_view(diff: TreeDiff) -> View:
    """The summary, then the changes of splits and rules, and their effect on the rows."""
    return View(diff.summary, *sections(diff))


def sections(diff: TreeDiff) -> Iterator[Section]:
    """All that there is to tell below the summary."""
    if diff.splits:
        yield _split_section(diff)
    if diff.rows is not None:
        yield from _row_sections(diff.rows)
    yield from _rule_sections(diff)
    if diff.rows is not None and diff.rows.leaf_shares:
        yield Section("Do these rows differ from the rows of the old tree?", tuple(_population_lines(diff)))


def brief_sections(diff: TreeDiff) -> Iterator[Section]:
    """What a first look asks for: the splits that changed, and the rows that get another answer."""
    if diff.splits:
        yield _split_section(diff)
    if diff.rows is not None and (diff.rows.boxes or isnan(diff.rows.flips)):
        yield from _row_sections(diff.rows)


def row_sections(diff: TreeDiff) -> Iterator[Section]:
    """What it means for the rows, and how they differ from those of the old tree."""
    if diff.rows is None:
        return
    yield from _row_sections(diff.rows)
    if diff.rows.leaf_shares:
        yield Section("Do these rows differ from the rows of the old tree?", tuple(_population_lines(diff)))


# -- the trees --------------------------------------------------------------------------------------------


def _split_section(diff: TreeDiff) -> Section:
    return Section("Splits that changed, from the top down", tuple(_split_lines(diff)))


def _split_lines(diff: TreeDiff) -> Iterator[str]:
    for split in diff.splits:
        where, what, size = split_texts(diff, split)
        reach = "" if split.is_root else f"{percent_text(split.fraction)} of the old tree's rows"
        notes = "; ".join(filter(None, [size, reach]))
        yield f"{where}: {what}" + (f" ({notes})" if notes else "")


def _rule_sections(diff: TreeDiff) -> Iterator[Section]:
    by_degree: dict[str, list[RuleChange]] = {}
    for change in diff.changes:
        by_degree.setdefault(degree_of(change), []).append(change)
    for degree in DEGREES:
        if degree in by_degree:
            yield Section(_title(diff, degree, len(by_degree[degree])), _lines(diff, by_degree[degree]))
    if diff.same and not diff.is_empty:
        lines = tuple(_rule_line(each.new, diff.positive_place) for each in diff.same if each.new)
        yield Section(f"Rules that are the same in both: {len(lines)}", lines)
    if diff.changes:
        yield Section("How to read the rules", tuple(_notes(diff)))


def _title(diff: TreeDiff, degree: str, number: int) -> str:
    value = "probability" if diff.old.schema.target.is_classes else "value"
    titles = {
        "outcome": "Rules that predict another class",
        "question": "Rules with other splits",
        "moved": "Rules with other thresholds or categories only",
        "new": "Rules that are new",
        "gone": "Rules that are gone",
        "alike": f"Rules with another {value}, order of splits or side of missing values only",
    }
    return f"{titles[degree]}: {number}"


def _notes(diff: TreeDiff) -> Iterator[str]:
    distance, is_classes = diff.distance, diff.old.schema.target.is_classes
    if is_classes:
        place = diff.positive_place
        of = "the class" if place is None else format_class_names(diff.old.schema.target)[place]
        yield f"{probability_name(diff.old.schema.target, place)}: the predicted probability of {of}"
    outcome = "another class" if is_classes else "the greatest change of a value"
    yield (
        f"cost: share of the tree distance, {_cost_text(distance.total)} (matching "
        f"{distance.matching!r}; {outcome} costs {number_text(distance.label_weight, 4)})"
    )


def _lines(diff: TreeDiff, changes: list[RuleChange]) -> tuple[str, ...]:
    return tuple(_change_line(change, diff.positive_place) for change in changes)


def _change_line(change: RuleChange, positive: int | None) -> str:
    cost = f" [cost {_cost_text(change.cost)}]" if change.cost else ""
    if change.old is None or change.new is None:
        rule = change.old or change.new
        assert rule is not None
        return f"{_rule_line(rule, positive)}{cost}"
    moved = {each.name: condition_change_text(each) for each in change.conditions}
    conditions = [moved.pop(each.name, _condition(each)) for each in change.new.conditions]
    asked = " AND ".join(conditions)
    note = " (in another order)" if "order" in change.kinds else ""
    dropped = f"; no longer a condition: {' and '.join(moved.values())}" if moved else ""
    outcome = outcome_change_text(change.old, change.new, positive)
    return f"{f'IF {asked}{note} ' if asked else ''}{outcome}{dropped}{cost}"


def _rule_line(rule: Rule, positive: int | None) -> str:
    asked = " AND ".join(map(_condition, rule.conditions))
    chance = f", {chance_text(rule, positive)}" if rule.target.is_classes else ""
    said = f"THEN {rule_outcome_text(rule)}{chance} ({rows_text(rule.count)})"
    return f"IF {asked} {said}" if asked else said


def _condition(condition: Condition) -> str:
    return condition_text(condition, counts=True, most=FULL_LIST)


def _cost_text(cost: float) -> str:
    return f"{cost:.3f}" if cost >= 5e-4 or cost == 0 else f"{cost:.0e}"


# -- the rows ---------------------------------------------------------------------------------------------


def _row_sections(rows: RowChanges) -> Iterator[Section]:
    has_truth = not isnan(rows.negative_flips) and rows.metric is None
    lines = (learned_sentence(rows).strip(),) if has_truth and rows.new_learned else ()
    yield Section(f"Effect on {pluralize(rows.n_rows, 'row')}", lines, _row_table(rows))
    if rows.boxes:
        who = "Rows whose prediction changes" if isnan(rows.flips) else "Rows whose predicted class changes"
        yield Section(f"{who}, largest groups first", tuple(_box_lines(rows)))
    if rows.metric is not None:
        lines = () if isnan(rows.old_score) else (_difference_line(rows),)
        yield Section("Which tree is better on these rows?", lines, _score_table(rows))


def _row_table(rows: RowChanges) -> TextTable:
    positive = "" if rows.positive is None else label_text(rows.positive)
    lines = [
        ("flips: the predicted class changes", rows.flips),
        (f"    swap-ins: now {positive}", rows.swap_ins),
        (f"    swap-outs: no longer {positive}", rows.swap_outs),
        ("    negative flips: were right, become wrong", rows.negative_flips),
        ("    positive flips: were wrong, become right", rows.positive_flips),
        ("reach a leaf that does not correspond to their old leaf", rows.leaf_changes),
    ]
    grid: list[list[str]] = []
    for title, fraction in lines:
        if not isnan(fraction):
            grid.append([title, percent_text(fraction), row_count(fraction, rows.n_rows)])
    if isnan(rows.flips):
        grid.append(["mean absolute change of the predictions", number_text(rows.mean_move, 3), ""])
        grid.append(["churn: the same in standard deviations", fixed_text(rows.churn, 3), ""])
        grid.append(["largest change", number_text(rows.largest_move, 3), ""])
    else:
        grid.append(["churn: mean absolute change of the probability", fixed_text(rows.churn, 3), ""])
        grid.append(["largest change of a probability", probability_text(rows.largest_move), ""])
    return TextTable(["", "of all", "rows"], grid)


def row_count(fraction: float, n_rows: int) -> str:
    """The number of rows, if the fraction is of rows that count once."""
    count = fraction * n_rows
    return f"{round(count):,}" if abs(count - round(count)) < 1e-6 * max(n_rows, 1) else ""


def _difference_line(rows: RowChanges) -> str:
    assert rows.metric is not None
    _, _, difference, low, high = score_figures(rows)
    verdict = {"better": "the new one", "worse": "the old one", "alike": "neither clearly"}[rows.verdict]
    better = "less" if rows.metric.is_loss else "more"
    return (
        f"{verdict}: {rows.metric.title} of the new tree less that of the old one is {difference}, 95 % "
        f"interval {low} to {high} ({better} is better).{learned_sentence(rows) or _unknown_rows(rows)}"
    )


def _unknown_rows(rows: RowChanges) -> str:
    """When the scores hold, where it is not known what the trees have learned from."""
    return "" if rows.new_learned is not None else " It holds if neither tree has learned from these rows."


def _score_table(rows: RowChanges) -> TextTable:
    assert rows.metric is not None
    grid: list[list[str]] = []
    if not isnan(rows.old_score):
        shown = [rows.metric.shown(each) for each in (rows.old_score, rows.new_score)]
        scores = estimate_texts(shown, [rows.old_error, rows.new_error])
        grid.append([f"{rows.metric.title} (± standard error)", *scores])
    both = rows.old_calibration, rows.new_calibration
    for title, pair in (
        ("calibration intercept (0 is right)", [(each.intercept, each.intercept_error) for each in both]),
        ("calibration slope (1 is right)", [(each.slope, each.slope_error) for each in both]),
        ("observed over expected (1 is right)", [(each.ratio, nan) for each in both]),
    ):
        if not all(isnan(value) for value, _ in pair):
            grid.append([title, *(_figure(*each) for each in pair)])
    return TextTable(["", "old tree", "new tree"], grid)


def _figure(value: float, error: float) -> str:
    if isnan(value):
        return "unknown"
    return fixed_text(value, 2) if isnan(error) else f"{fixed_text(value, 2)} ± {fixed_text(error, 2)}"


def _box_lines(rows: RowChanges) -> Iterator[str]:
    for box in rows.boxes[:MOST_BOXES]:
        old, new = (rule_outcome_text(rule) for rule in (box.old, box.new))
        where = " and ".join(map(_condition, box.conditions)) or "everyone"
        yield f"{rows_text(box.n_rows)} ({percent_text(box.fraction)}), {old} -> {new}: {where}"
    if rest := rows.boxes[MOST_BOXES:]:
        n_rows = sum(box.n_rows for box in rest)
        yield f"{rows_text(n_rows)} in {pluralize(len(rest), 'smaller group')}"


def _population_lines(diff: TreeDiff) -> Iterator[str]:
    assert diff.rows is not None
    index = diff.rows.leaf_index
    verdict = "Hardly" if index < LITTLE else "Somewhat" if index < MUCH else "Yes, much"
    yield (
        f"{verdict}: the population stability index over the leaves of the old tree is "
        f"{fixed_text(index, 3)} (below {LITTLE} is little, above {MUCH} is much)"
    )
    if index >= LITTLE:
        most = max(diff.rows.leaf_shares, key=lambda share: share.index)
        where = " and ".join(map(_condition, list_conditions(diff.old, most.leaf).values())) or "all rows"
        yield f"most at {where}: {percent_text(most.before)} of rows then, {percent_text(most.now)} now"
    if diff.rows.column_index:
        told = list(diff.rows.column_index.items())[:MOST_COLUMNS]
        yield "by column, most first: " + ", ".join(f"{printable(k)} {fixed_text(v, 3)}" for k, v in told)


# -- A diff of two trees in a few sentences, and its parts as phrases ----------------------------------------

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
        return f"Nothing changed: both trees have the same {pluralize(diff.old.n_leaves, 'rule')}."
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
        told = f"of {number_word(whole)} {'rule' if whole == 1 else 'rules'}, {_joined(parts)}"
    new = f"; {number_word(n['new'])} {_verb('new', n['new'], True)}" if n["new"] else ""
    return f"{told[0].upper()}{told[1:]}{new}. {_root_sentence(diff)}{_missing_sentence(diff)}"


def _part(degree: str, number: int, is_classes: bool) -> str:
    return f"{number_word(number)} {_verb(degree, number, is_classes)}"


def _verb(degree: str, number: int, is_classes: bool) -> str:
    """What became of so many rules."""
    one, many = VERBS.get(degree, ("is new", "are new"))
    text = one if number == 1 else many
    return text if is_classes else text.replace("probability", "value")


def _of_all(number: int, whole: int) -> str:
    if number == whole:
        return {1: "the only rule", 2: "both rules"}.get(whole, f"all {number_word(whole)} rules")
    return f"{number_word(number)} of {number_word(whole)} rules"


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
    return f" Missing values go to the other side of {pluralize(n_splits, 'split')}." if n_splits else ""


def _root_move_text(moved: SplitChange | None) -> str:
    if moved is None or moved.old is None or moved.new is None:
        return ""
    if moved.kind == "threshold" and only_bound(moved.old) and only_bound(moved.new):
        before, after = distinct_texts(moved.old.high, moved.new.high, DIGITS, MOST_DIGITS)
        return f", at {after} instead of {before}"
    return {"threshold": ", elsewhere", "categories": ", with other categories"}.get(moved.kind, "")


def _first_question(tree: Tree) -> str:
    return printable(tree.schema.names[tree.feature[0]]) if tree.n_leaves > 1 else ""


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


# -- rows -------------------------------------------------------------------------------------------------


def _rows_sentence(rows: RowChanges) -> str:
    of = f"of {pluralize(rows.n_rows, 'row')}"
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


# -- Parts of a diff as phrases ------------------------------------------------------------------------------

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
    return distinct_texts(before[1], after[1], DIGITS, MOST_DIGITS)[0], _told(new)


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
    leaves = f"{pluralize(split.leaves[0], 'leaf', 'leaves')} below became {split.leaves[1]}"
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
        before, after = distinct_texts(old.high, new.high, DIGITS, MOST_DIGITS)
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
    probability = probability_text(select_probability(rule.value, positive, rule.predicted))
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
