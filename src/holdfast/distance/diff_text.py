"""A diff of two trees in words: a summary, then splits, rows and rules."""

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
    list_text,
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
from holdfast.data.survival import join_value, name_survival
from holdfast.distance.diff import ConditionChange, RuleChange, SplitChange, TreeDiff, is_missing_moved
from holdfast.distance.diff_rows import RowChanges
from holdfast.scoring.calibration import LITTLE, MUCH
from holdfast.tree.rules import (
    Condition,
    Rule,
    format_class_names,
    format_outcome,
    list_conditions,
    value_text,
)
from holdfast.tree.rules_text import (
    FULL_LIST,
    SHORT_LIST,
    condition_text,
    probability_name,
    rule_outcome_text,
    select_probability,
)
from holdfast.tree.tree import LEAF

VALUES = {"classification": "probability", "regression": "value", "survival": "predicted survival"}
MOST_BOXES = 5
MOST_COLUMNS = 5  # by population stability index


def diff_view(diff: TreeDiff) -> View:
    """Return the summary, the splits that changed, the effect on the rows, and the rules."""
    rows = () if diff.rows is None else effect_sections(diff.rows)
    sections = (*split_sections(diff), *rows, *_rule_sections(diff), *_population_sections(diff))
    return View(diff.summary, *sections)


def brief_sections(diff: TreeDiff) -> Iterator[Section]:
    """List the splits that changed, and the effect on the rows if any prediction changes."""
    yield from split_sections(diff)
    if diff.rows is not None and (diff.rows.boxes or isnan(diff.rows.flips)):
        yield from effect_sections(diff.rows)


def row_sections(diff: TreeDiff) -> Iterator[Section]:
    """List the effect on the rows, and how they differ from the rows of the old tree."""
    if diff.rows is not None:
        yield from effect_sections(diff.rows)
    yield from _population_sections(diff)


# -- the trees --------------------------------------------------------------------------------------------


def split_sections(diff: TreeDiff) -> Iterator[Section]:
    """Describe each split that changed: where it is, the change, and how many rows it concerns."""
    lines = []
    for split in diff.splits:
        where, what, size = split_texts(diff, split)
        reach = "" if split.is_root else f"{percent_text(split.fraction)} of the old tree's rows"
        notes = "; ".join(filter(None, [size, reach]))
        lines.append(f"{where}: {what}" + (f" ({notes})" if notes else ""))
    if lines:
        yield Section("Splits that changed, from the root down", lines)


def _rule_sections(diff: TreeDiff) -> Iterator[Section]:
    by_degree: dict[str, list[RuleChange]] = {}
    for change in diff.changes:
        by_degree.setdefault(degree_of(change), []).append(change)
    for degree in DEGREES:
        if degree in by_degree:
            lines = [_change_line(change, diff.positive_place) for change in by_degree[degree]]
            yield Section(_title(diff, degree, len(lines)), lines)
    if diff.same and not diff.is_empty:
        lines = [_rule_line(each.new, diff.positive_place) for each in diff.same if each.new]
        yield Section(f"Rules that are the same in both: {len(lines)}", lines)
    if diff.changes:
        yield Section("How to read the rules", list(_notes(diff)))


def _title(diff: TreeDiff, degree: str, number: int) -> str:
    value = VALUES[diff.old.schema.target.task]
    titles = {
        "outcome": "Rules that predict another class",
        "condition": "Rules with other splits",
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
    if diff.old.schema.target.hazard is not None:
        outcome = "the loss of all time up to the horizon"
    yield (
        f"cost: share of the tree distance, {_cost_text(distance.total)} (matching "
        f"{distance.matching!r}; {outcome} costs {number_text(distance.label_weight, 4)})"
    )


def _change_line(change: RuleChange, positive: int | None) -> str:
    cost = f" [cost {_cost_text(change.cost)}]" if change.cost else ""
    if change.old is None or change.new is None:
        rule = change.old or change.new
        assert rule is not None
        return f"{_rule_line(rule, positive)}{cost}"
    moved = {each.name: condition_change_text(each) for each in change.conditions}
    conditions = [moved.pop(each.name, _condition(each)) for each in change.new.conditions]
    premise = " AND ".join(conditions)
    note = " (in another order)" if "order" in change.kinds else ""
    dropped = f"; no longer a condition: {' and '.join(moved.values())}" if moved else ""
    outcome = outcome_change_text(change.old, change.new, positive)
    return f"{f'IF {premise}{note} ' if premise else ''}{outcome}{dropped}{cost}"


def _rule_line(rule: Rule, positive: int | None) -> str:
    premise = " AND ".join(map(_condition, rule.conditions))
    chance = f", {_chance_text(rule, positive)}" if rule.target.is_classes else ""
    outcome = f"THEN {rule_outcome_text(rule)}{chance} ({rows_text(rule.count)})"
    return f"IF {premise} {outcome}" if premise else outcome


def _condition(condition: Condition) -> str:
    return condition_text(condition, counts=True, most=FULL_LIST)


def _cost_text(cost: float) -> str:
    return f"{cost:.3f}" if cost >= 5e-4 or cost == 0 else f"{cost:.0e}"


# -- the rows ---------------------------------------------------------------------------------------------


def effect_sections(rows: RowChanges) -> Iterator[Section]:
    """Describe the change of predictions, the rows concerned, and which tree scores better."""
    has_truth = not isnan(rows.negative_flips) and rows.metric is None
    lines = [_learned_sentence(rows).strip()] if has_truth and rows.new_learned else []
    yield Section(f"Effect on {pluralize(rows.n_rows, 'row')}", lines, _row_table(rows))
    if rows.boxes:
        who = "Rows whose prediction changes" if isnan(rows.flips) else "Rows whose predicted class changes"
        yield Section(f"{who}, largest groups first", list(_box_lines(rows)))
    if rows.metric is not None:
        lines = [] if isnan(rows.old_score) else [_difference_line(rows)]
        yield Section("Which tree is better on these rows?", lines, _score_table(rows))


def _row_table(rows: RowChanges) -> TextTable:
    positive = "" if rows.positive is None else label_text(rows.positive)
    lines = [
        ("flips: the predicted class changes", rows.flips),
        (f"    swap-ins: now {positive}", rows.swap_ins),
        (f"    swap-outs: no longer {positive}", rows.swap_outs),
        ("    negative flips: right before, wrong now", rows.negative_flips),
        ("    positive flips: wrong before, right now", rows.positive_flips),
        ("reach a leaf that is not matched with their old leaf", rows.leaf_changes),
    ]
    grid: list[list[str]] = []
    for title, fraction in lines:
        if not isnan(fraction):
            grid.append([title, percent_text(fraction), row_count(fraction, rows.n_rows)])
    if rows.survival:
        points = [points_text(each, "points") for each in (rows.mean_move, rows.largest_move)]
        grid.append([f"churn: mean absolute change of {rows.survival}", points[0], ""])
        grid.append(["largest change", points[1], ""])
    elif isnan(rows.flips):
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
    better = "lower" if rows.metric.is_loss else "higher"
    valid = "" if rows.new_learned is not None else " Valid if neither tree was trained on these rows."
    return (
        f"{verdict}: {rows.metric.title} of the new tree minus that of the old one is {difference}, 95 % "
        f"interval {low} to {high} ({better} is better).{_learned_sentence(rows) or valid}"
    )


def _score_table(rows: RowChanges) -> TextTable:
    assert rows.metric is not None
    grid: list[list[str]] = []
    if not isnan(rows.old_score):
        shown = [rows.metric.shown(each) for each in (rows.old_score, rows.new_score)]
        scores = estimate_texts(shown, [rows.old_error, rows.new_error])
        grid.append([f"{rows.metric.title} (± standard error)", *scores])
    both = rows.old_calibration, rows.new_calibration
    for title, pair in (
        ("calibration intercept (ideal: 0)", [(each.intercept, each.intercept_error) for each in both]),
        ("calibration slope (ideal: 1)", [(each.slope, each.slope_error) for each in both]),
        ("observed over expected (ideal: 1)", [(each.ratio, nan) for each in both]),
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
        new = value_text(box.new.target, box.new.value[0]) if rows.survival else new
        where = " and ".join(map(_condition, box.conditions)) or "everyone"
        yield f"{rows_text(box.n_rows)} ({percent_text(box.fraction)}), {old} -> {new}: {where}"
    if rest := rows.boxes[MOST_BOXES:]:
        n_rows = sum(box.n_rows for box in rest)
        yield f"{rows_text(n_rows)} in {pluralize(len(rest), 'smaller group')}"


def _population_sections(diff: TreeDiff) -> Iterator[Section]:
    if diff.rows is None or not diff.rows.leaf_shares:
        return
    index = diff.rows.leaf_index
    verdict = "Hardly" if index < LITTLE else "Somewhat" if index < MUCH else "Yes, much"
    lines = [
        f"{verdict}: the population stability index over the leaves of the old tree is "
        f"{fixed_text(index, 3)} (below {LITTLE} is little, above {MUCH} is much)"
    ]
    if index >= LITTLE:
        most = max(diff.rows.leaf_shares, key=lambda share: share.index)
        where = " and ".join(map(_condition, list_conditions(diff.old, most.leaf).values())) or "all rows"
        lines.append(
            f"largest shift at {where}: {percent_text(most.before)} of the rows before, "
            f"{percent_text(most.now)} now"
        )
    if columns := list(diff.rows.column_index.items())[:MOST_COLUMNS]:
        figures = ", ".join(f"{printable(name)} {fixed_text(value, 3)}" for name, value in columns)
        lines.append(f"by column, largest first: {figures}")
    yield Section("Do these rows differ from the rows of the old tree?", lines)


# -- the summary ------------------------------------------------------------------------------------------

ALL = 0.995  # share of the rows that counts as all of them
FEW_LEARNED = 0.02  # share of the rows below which a tree counts as trained on other rows
DEGREES = ("outcome", "condition", "moved", "new", "gone", "alike")  # of the change of a rule
# The change of one rule, and of several.
VERBS = {
    "outcome": ("predicts another class", "predict another class"),
    "condition": ("has other splits", "have other splits"),
    "moved": ("has other thresholds or categories only", "have other thresholds or categories only"),
    "alike": ("has another probability only", "have another probability only"),
    "gone": ("is gone", "are gone"),
    "same": ("is the same", "are the same"),
}


def diff_summary(diff: TreeDiff) -> str:
    """Return a few sentences: the change of the rules, the rows concerned, and which tree is better."""
    sentences = [rules_sentence(diff)]
    if diff.rows is not None:
        sentences += [_rows_sentence(diff.rows), _one_class_sentence(diff), _score_sentence(diff.rows)]
    return " ".join(filter(None, sentences))


def degree_of(change: RuleChange) -> str:
    """Return the greatest change of a rule, one of DEGREES; "alike" for another value or order only."""
    kinds = {*change.kinds}
    for degree in ("new", "gone", "outcome", "condition"):
        if degree in kinds:
            return degree
    return "moved" if kinds & {"threshold", "categories"} else "alike"


def rules_sentence(diff: TreeDiff) -> str:
    """Count the rules by their change, and compare the root splits."""
    if diff.is_empty:
        return f"Nothing changed: both trees have the same {pluralize(diff.old.n_leaves, 'rule')}."
    n = Counter(map(degree_of, diff.changes))
    if not n.total() - n["alike"]:
        return _same_splits_sentence(diff)
    n["same"] = len(diff.same)
    whole = n.total() - n["new"]
    parts = {degree: _count_text(diff, degree, n[degree]) for degree in VERBS if n[degree]}
    text = f"of {number_word(whole)} {'rule' if whole == 1 else 'rules'}, {list_text([*parts.values()])}"
    if [*parts] == ["moved"]:
        text = f"{_of_all(whole, whole)} {VERBS['moved'][whole != 1]}"
    new = f"; {_count_text(diff, 'new', n['new'])}" if n["new"] else ""
    return f"{text[0].upper()}{text[1:]}{new}. {_root_sentence(diff)}{_missing_sentence(diff)}"


def _count_text(diff: TreeDiff, degree: str, number: int) -> str:
    verb = VERBS.get(degree, ("is new", "are new"))[number != 1]
    verb = verb.replace("probability", VALUES[diff.old.schema.target.task])
    return f"{number_word(number)} {verb}"


def _of_all(number: int, whole: int) -> str:
    if number == whole:
        return {1: "the only rule", 2: "both rules"}.get(whole, f"all {number_word(whole)} rules")
    return f"{number_word(number)} of {number_word(whole)} rules"


def _same_splits_sentence(diff: TreeDiff) -> str:
    """Describe changes that keep conditions and classes: values, order, missing values."""
    values = diff.of_kind("value")
    parts = []
    if values:
        largest = max(abs(change.shift) for change in values)
        what = "probabilities" if diff.old.schema.target.is_classes else "values"
        size = probability_text(largest) if diff.old.schema.target.is_classes else number_text(largest, 3)
        if diff.old.schema.target.hazard is not None:
            what, size = name_survival(diff.old.schema.target.hazard), points_text(largest)
        n = _of_all(len(values), diff.old.n_leaves)
        parts.append(f"the {what} of {n} changed, by at most {size}")
    if diff.of_kind("order"):
        parts.append("the splits come in another order")
    if diff.of_kind("missing"):
        parts.append("missing values go to another side")
    return f"The rules are the same{'; ' if parts else ''}{list_text(parts) if parts else ''}."


def _root_sentence(diff: TreeDiff) -> str:
    old, new = (
        printable(tree.schema.names[tree.feature[0]]) if tree.n_leaves > 1 else ""
        for tree in (diff.old, diff.new)
    )
    if not diff.same_root:
        return f"The root split is on another feature: {new or 'none'} instead of {old or 'none'}."
    if not old:
        return ""
    text, first = "", diff.splits[0] if diff.splits and diff.splits[0].is_root else None
    if first is not None and first.old and first.new:
        text = {"threshold": ", elsewhere", "categories": ", with other categories"}.get(first.kind, "")
        if first.kind == "threshold" and _have_one_bound(first.old, first.new):
            before, after = distinct_texts(first.old.high, first.new.high, DIGITS, MOST_DIGITS)
            text = f", at {after} instead of {before}"
    return f"The root split is still on {old}{text}."


def _missing_sentence(diff: TreeDiff) -> str:
    """Count the remaining splits at which missing values go to the other side."""
    n_splits = sum(split.moves_missing for split in diff.splits)
    return f" Missing values go to the other side at {pluralize(n_splits, 'split')}." if n_splits else ""


def _rows_sentence(rows: RowChanges) -> str:
    of = f"of {pluralize(rows.n_rows, 'row')}"
    if isnan(rows.flips):
        if not rows.mean_move:
            return f"No prediction {of} changes."
        if rows.survival:
            amount = f"{points_text(rows.mean_move)} on average"
            return f"The predicted {rows.survival} {of} changes by {amount}{_who_text(rows)}."
        return f"Predictions {of} change by {number_text(rows.mean_move, 3)} on average{_who_text(rows)}."
    if not rows.flips:
        sizes = f"by {fixed_text(rows.churn, 3)} on average, by {probability_text(rows.largest_move)} at most"
        return f"None {of} gets another class{f'; probabilities change {sizes}' if rows.churn else ''}."
    return f"{percent_text(rows.flips)} {of} get another class{_who_text(rows)}."


def points_text(difference: float, unit: str = "percentage points") -> str:
    """Format a difference of probabilities in percentage points.

    >>> points_text(0.0291)
    '2.9 percentage points'
    """
    return f"{100 * difference:.1f} {unit}"


def _one_class_sentence(diff: TreeDiff) -> str:
    """Note that no row can get another class if every leaf of both trees predicts the same one."""
    classes = {int(each) for tree in (diff.old, diff.new) for each in tree.outcome[tree.feature == LEAF]}
    if not diff.old.schema.target.is_classes or len(classes) > 1:
        return ""
    only = label_text(diff.old.schema.target.classes[classes.pop()])
    return f"Every leaf of both trees predicts {only}: rows differ in the probability only."


def _who_text(rows: RowChanges) -> str:
    """Describe the groups that cover most of the change, and how much changes in each."""
    texts = []
    for group in rows.groups:
        where = list_text([_condition(each) for each in group.rule.conditions])
        if isnan(rows.flips):
            size = f"{rounded_percent(group.covered)} of the change is where"
            amount = points_text(group.rate) if rows.survival else number_text(group.rate, 3)
            rate = f"by {amount} there"
        else:
            size = f"{rounded_percent(group.covered)} of them have"
            rate = f"{rounded_percent(group.rate)} of that group change"
        if where:
            texts.append(f"{size} {where} ({rate})")
    return f"; {', '.join(texts)}" if texts else ""


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
        f"{words}: {rows.metric.title} {figures} ({difference}; 95 % interval {low} to {high})."
        f"{_learned_sentence(rows)}"
    )


def _learned_sentence(rows: RowChanges) -> str:
    """Name the trees that were trained on the rows, after a blank; "" if none is known to be."""
    shares = {"old": rows.old_learned or 0.0, "new": rows.new_learned or 0.0}
    known = [name for name, share in shares.items() if share > FEW_LEARNED]
    if not known:
        return ""
    trees = "Both trees were" if len(known) == 2 else f"The {known[0]} tree was"
    most = max(shares.values())
    of = "these rows" if most > ALL else f"{percent_text(most)} of these rows"
    score = "their scores are" if len(known) == 2 else "its score is"
    return f" {trees} trained on {of}, so {score} optimistic: compare both on rows that are new to them."


def score_figures(rows: RowChanges) -> tuple[str, str, str, str, str]:
    """Return old and new score, their difference, and the ends of its 95 % interval, as text."""
    assert rows.metric is not None
    known = decimals_of_errors([rows.score_error, rows.old_error])
    decimals = 3 if known is None else max(3, known - 1)
    sign = -1 if rows.metric.is_loss else 1
    scores = [fixed_text(rows.metric.shown(each), decimals) for each in (rows.old_score, rows.new_score)]
    ends = sorted(sign * end for end in rows.score_interval)
    others = [fixed_text(each, decimals, "+") for each in (sign * rows.score_difference, *ends)]
    return scores[0], scores[1], others[0], others[1], others[2]


# -- phrases ----------------------------------------------------------------------------------------------

DIGITS, MOST_DIGITS = 6, 17  # of thresholds that must differ in print


def condition_change_text(change: ConditionChange) -> str:
    """Return the new condition with the old one; or the old one, if there is no new one."""
    text, note = condition_change_parts(change)
    return f"{text} ({note})" if note else text


def condition_change_parts(change: ConditionChange) -> tuple[str, str]:
    """Return the new condition with a note on its change; or the old one, if there is no new one."""
    if change.new is None:
        assert change.old is not None
        return _full_text(change.old), ""
    if change.old is None:
        return _full_text(change.new), "new"
    if change.kind == "missing" and not is_missing_moved(change.old, change.new):
        when = "now" if change.new.missing else "no longer"
        return _full_text(change.new), f"a missing value would {when} go here"
    old, new = both_texts(change.old, change.new)
    return new, f"was {old}"


def both_texts(old: Condition, new: Condition) -> tuple[str, str]:
    """Return two conditions on one feature, the old one as short as is clear beside the new one."""
    if is_missing_moved(old, new):
        return _full_text(old), _full_text(new)
    if old.feature.kind == "nominal":
        return _set_texts(old, new)
    before, after = only_bound(old), only_bound(new)
    if before is None or after is None or before[0] != after[0]:
        return _full_text(old), _full_text(new)
    return distinct_texts(before[1], after[1], DIGITS, MOST_DIGITS)[0], _full_text(new)


def only_bound(condition: Condition) -> tuple[str, float] | None:
    """Return side and value of the only finite end of a numeric interval; None for no or two ends."""
    ends = {"low": condition.low, "high": condition.high}
    finite = [(name, end) for name, end in ends.items() if isfinite(end)]
    return finite[0] if len(finite) == 1 and condition.feature.kind == "numeric" else None


def _have_one_bound(*conditions: Condition) -> bool:
    return all(only_bound(condition) for condition in conditions)


def _set_texts(old: Condition, new: Condition) -> tuple[str, str]:
    before, after = set(old.categories), set(new.categories)
    come = [item_text(label) for label in new.categories if label not in before]
    left = [item_text(label) for label in old.categories if label not in after]
    if len(old.categories) <= SHORT_LIST and len(new.categories) <= SHORT_LIST:
        return condition_text(old), condition_text(new)
    signs = [f"without {', '.join(come)}"] * bool(come) + [f"with {', '.join(left)}"] * bool(left)
    return " and ".join(signs), _full_text(new)


def _full_text(condition: Condition) -> str:
    return condition_text(condition, most=FULL_LIST)


def split_texts(diff: TreeDiff, split: SplitChange) -> tuple[str, str, str]:
    """Return the place of a split, its change, and the size of the change."""
    where = f"where {' and '.join(map(_full_text, split.where))}" if split.where else "at the root"
    leaves = f"{pluralize(split.leaves[0], 'leaf', 'leaves')} below became {split.leaves[1]}"
    if split.old is None:
        assert split.new is not None
        return (
            where,
            f"leaf ({format_outcome(diff.old, split.old_node)}) -> {_full_text(split.new)}",
            "new split",
        )
    if split.new is None:
        return (
            where,
            f"{_full_text(split.old)} -> leaf ({format_outcome(diff.new, split.new_node)})",
            "split gone",
        )
    if split.kind == "replaced":
        return where, f"{_full_text(split.old)} -> {_full_text(split.new)}", f"replaced; {leaves}"
    if split.kind == "missing":
        return where, f"{_full_text(split.old)}: {_side_text(split.new)}", ""
    if split.moves_missing:
        text = f"{_full_text(split.old)} -> {_full_text(split.new)}"
        if not is_missing_moved(split.old, split.new):  # the rows without the value were on the no side
            text = f"{text}: {_side_text(split.new)}"
        return where, text, _share_text(split)
    if split.kind == "categories":
        return where, _sides_text(split.old, split.new), _share_text(split)
    return where, _moved_text(split.old, split.new), _share_text(split)


def _share_text(split: SplitChange) -> str:
    return f"{percent_text(split.share)} of the {'categories' if split.kind == 'categories' else 'range'}"


def _side_text(new: Condition) -> str:
    return f"missing values now go to the {'yes' if new.missing else 'no'} side"


def _moved_text(old: Condition, new: Condition) -> str:
    if _have_one_bound(old, new):
        before, after = distinct_texts(old.high, new.high, DIGITS, MOST_DIGITS)
        return f"{printable(old.name)} <= {before} -> {after}"
    return f"{_full_text(old)} -> {_full_text(new)}"


def _sides_text(old: Condition, new: Condition) -> str:
    """Name the categories that changed sides, or both sets if they are short."""
    before, after = set(old.categories), set(new.categories)
    come = [item_text(label) for label in new.categories if label not in before]
    left = [item_text(label) for label in old.categories if label not in after]
    moves = [f"{', '.join(come)} join"] * bool(come) + [f"{', '.join(left)} leave"] * bool(left)
    if len(after | before) <= SHORT_LIST:
        return f"{_full_text(old)} -> {_full_text(new)}"
    return f"{_full_text(old)}: {'; '.join(moves)}"


def _chance_text(rule: Rule, positive: int | None) -> str:
    """Return the probability of the positive class, or of the predicted one: p(died) 0.07."""
    probability = probability_text(select_probability(rule.value, positive, rule.predicted))
    return f"{probability_name(rule.target, positive)} {probability}"


def outcome_change_text(old: Rule, new: Rule, positive: int | None) -> str:
    """Return the prediction of the new rule, with that of the old one if it differs."""
    if not new.target.is_classes:
        before, after = (value_text(rule.target, rule.value[0]) for rule in (old, new))
        text = join_value(new.statistic, after) if new.target.is_survival else after
        return f"THEN {text}" + (f" (was {before})" if before != after else "")
    classes = rule_outcome_text(old), rule_outcome_text(new)
    chances = _chance_text(old, positive), _chance_text(new, positive)
    text = f"THEN {classes[1]}, {chances[1]}"
    if classes[0] != classes[1]:
        return f"{text} (was {classes[0]}, {chances[0]})"
    return text + (f" (was {chances[0].split()[-1]})" if chances[0] != chances[1] else "")


def other_classes(diff: TreeDiff) -> list[RuleChange]:
    """List the rules that predict another class under the same conditions."""
    return [change for change in diff.of_kind("outcome") if {*change.kinds} <= {"outcome", "value"}]
