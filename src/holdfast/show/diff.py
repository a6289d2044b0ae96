"""A diff of two trees: a summary, then splits, rules and rows."""

from collections.abc import Iterator
from math import isnan, nan

from holdfast.distance.diff.rows import RowChanges
from holdfast.distance.diff.rules import RuleChange
from holdfast.distance.diff.tree_diff import TreeDiff
from holdfast.scoring.population import LITTLE, MUCH
from holdfast.show.conditions import FULL_LIST, condition_text
from holdfast.show.diff_phrases import chance_text, condition_change_text, outcome_change_text, split_texts
from holdfast.show.diff_words import DEGREES, degree_of, learned_sentence, score_figures
from holdfast.show.risk import probability_name
from holdfast.show.rules import rule_outcome_text
from holdfast.text.lines import label_text, printable
from holdfast.text.numbers import (
    counted,
    fixed_text,
    number_text,
    percent_text,
    probability_text,
    rows_text,
    with_errors,
)
from holdfast.text.table import Table
from holdfast.text.view import Section, View
from holdfast.tree.rule import Condition, Rule, list_conditions
from holdfast.tree.wording import format_class_names

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
    yield Section(f"Effect on {counted(rows.n_rows, 'row')}", lines, _row_table(rows))
    if rows.boxes:
        who = "Rows whose prediction changes" if isnan(rows.flips) else "Rows whose predicted class changes"
        yield Section(f"{who}, largest groups first", tuple(_box_lines(rows)))
    if rows.metric is not None:
        lines = () if isnan(rows.old_score) else (_difference_line(rows),)
        yield Section("Which tree is better on these rows?", lines, _score_table(rows))


def _row_table(rows: RowChanges) -> Table:
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
    return Table(["", "of all", "rows"], grid)


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


def _score_table(rows: RowChanges) -> Table:
    assert rows.metric is not None
    grid: list[list[str]] = []
    if not isnan(rows.old_score):
        shown = [rows.metric.shown(each) for each in (rows.old_score, rows.new_score)]
        scores = with_errors(shown, [rows.old_error, rows.new_error])
        grid.append([f"{rows.metric.title} (± standard error)", *scores])
    both = rows.old_calibration, rows.new_calibration
    for title, pair in (
        ("calibration intercept (0 is right)", [(each.intercept, each.intercept_error) for each in both]),
        ("calibration slope (1 is right)", [(each.slope, each.slope_error) for each in both]),
        ("observed over expected (1 is right)", [(each.ratio, nan) for each in both]),
    ):
        if not all(isnan(value) for value, _ in pair):
            grid.append([title, *(_figure(*each) for each in pair)])
    return Table(["", "old tree", "new tree"], grid)


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
        yield f"{rows_text(n_rows)} in {counted(len(rest), 'smaller group')}"


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
