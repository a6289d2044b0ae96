"""The pages of a change: an update with its verdict and its record, and a diff of two trees."""

from collections.abc import Callable, Iterator, Mapping
from math import isnan
from typing import Any

from holdfast._text import (
    NO_BREAK,
    count_text,
    fixed_text,
    join_parts,
    label_text,
    list_text,
    number_text,
    percent_text,
    pluralize,
    rounded_percent,
    shorten,
)
from holdfast._view import Section, TextTable
from holdfast.data.schema import Label
from holdfast.data.survival import name_survival, time_text
from holdfast.distance.diff import RuleChange, SplitChange, TreeDiff
from holdfast.distance.diff_rows import RowChanges
from holdfast.distance.diff_text import (
    DEGREES,
    both_texts,
    condition_change_parts,
    degree_of,
    only_bound,
    points_text,
    row_sections,
    rules_sentence,
    score_figures,
    split_texts,
)
from holdfast.report.figures import NOTHING, Drawing, drawing, outline
from holdfast.report.page import KeyFigure, Page, PageSection, Part, ReportOptions
from holdfast.report.rules import case_section, tree_data
from holdfast.runs.update import UpdateRun, by_threshold_and_class
from holdfast.scoring.calibration import LITTLE, MUCH
from holdfast.scoring.intervals import wilson_interval
from holdfast.tree.rules import Condition, Rule, value_text
from holdfast.tree.rules_text import FULL_LIST, condition_text, rule_outcome_text
from holdfast.tree.stats import positive_class
from holdfast.tree.tree import LEAF, Tree
from holdfast.update.update import firmness_parts, path_table, taken_sentence

CHANGE, RECORD = "change", "risk manager"
LONGEST_MARK, MOST_MARKED = 32, 3  # letters of a mark in a drawing, and categories in it
MOST_WATCHED = 3  # subgroups, or columns, named at the top of the page
TONES = {"better": "good", "worse": "bad"}
DEGREE_WORDS = {
    "outcome": "another class",
    "condition": "other splits",
    "moved": "other thresholds or categories",
    "new": "new",
    "gone": "gone",
    "alike": "other value",
    "same": "unchanged",
}
SPLIT_WORDS = {
    "threshold": "Threshold moved",
    "categories": "Categories moved",
    "missing": "Missing values moved",
    "replaced": "Split replaced",
    "new": "New split",
    "gone": "Split removed",
}
# Counts of decisions.
COUNTED = {
    "changed": "flips: the decision changes",
    "swap_ins": "swap-ins: acted on now, not before",
    "swap_outs": "swap-outs: acted on before, not now",
    "negative_flips": "negative flips: right before, wrong now",
    "positive_flips": "positive flips: wrong before, right now",
    "acted_on_before": "acted on before",
    "acted_on_after": "acted on now",
}
OUTCOMES = ("swap_ins", "swap_outs", "acted_on_before", "acted_on_after")  # with observed outcomes
USES = {
    "intended_use": "Intended use",
    "not_for": "Not for",
    "population": "Population",
    "outcome": "Outcome",
    "decision": "Decision",
    "owner": "Owner",
    "contacts": "Contacts",
}
ROLES = (
    "Model owner",
    "Independent validation",
    "Approved for use",
)  # for the sign-off if the model card has none


# -- the page of a diff -----------------------------------------------------------------------------------


def diff_page(diff: TreeDiff, options: ReportOptions) -> Page:
    """Return the page of the differences between two trees."""
    name = options.model_card.get("name") or diff.new.schema.target.name
    positive = options.positive
    if positive is None and diff.rows is not None:
        positive = diff.rows.positive
    place, rules = positive_class(diff.old, positive), rules_sentence(diff)
    positive = None if place is None else diff.old.schema.target.classes[place]
    sections = [_trees_section(diff, positive), _rules_section(diff, place)]
    if max(diff.old.n_leaves, diff.new.n_leaves) > 1:
        sections.append(_case_section(diff, place, options.model_card.get("case", "case"), "After", in_use=1))
    if diff.rows is not None:
        title = "Rows whose prediction changes"
        sections.append(PageSection("rows", title, CHANGE, list(row_sections(diff))))
    return Page(
        kind="diff",
        title=options.title or f"{name}: what changed",
        subtitle="Two trees compared",
        headline=[*filter(None, [rules, diff.summary.removeprefix(rules).strip()])],
        key_figures=list(_diff_figures(diff)),
        sections=sections,
    )


def _diff_figures(diff: TreeDiff) -> Iterator[KeyFigure]:
    yield KeyFigure(
        str(len(diff.changes)), "Rules that changed", f"{pluralize(len(diff.same), 'rule')} unchanged"
    )
    first = "the same root split" if diff.same_root else "another root split"
    yield KeyFigure(str(diff.split_counts.changed), "Splits that changed", first)
    yield KeyFigure(
        fixed_text(diff.distance.total, 2), "Tree distance", f"matching {diff.distance.matching!r}"
    )
    if diff.rows is not None:
        yield from _row_figures(diff.rows)


def _row_figures(rows: RowChanges) -> Iterator[KeyFigure]:
    of = f"of {pluralize(rows.n_rows, 'row')}"
    if not isnan(rows.flips):
        yield KeyFigure(percent_text(rows.flips), "Flips", f"{of}: another predicted class")
    churn = points_text(rows.churn, "points") if rows.survival else fixed_text(rows.churn, 3)
    yield KeyFigure(churn, "Churn", f"mean absolute change of {rows.survival or 'predictions'}, {of}")
    if rows.metric is not None and rows.verdict != "unknown":
        old, new, difference, low, high = score_figures(rows)
        tone = "" if rows.new_learned else TONES.get(rows.verdict, "")
        where = "; training rows" if rows.new_learned else ""
        yield KeyFigure(new, rows.metric.title, f"was {old}; {difference} ({low} to {high}){where}", tone)


# -- both trees -------------------------------------------------------------------------------------------


def _trees_section(
    diff: TreeDiff, positive: Label | None, after: str = "After the change", acted: str = ""
) -> PageSection:
    """Show both trees, the changes marked in the new one and listed split by split."""
    parts: list[Part] = []
    if diff.splits:
        parts.append(Section("", [_split_text(diff, split) for split in diff.splits]))
    else:
        parts.append(f"All splits stay{'' if diff.is_empty else '; only the values of the leaves change'}.")
    if acted:
        parts.append(f"{acted} A leaf shows the more likely class; the decision depends on the probability.")
    marks = _marks(diff)
    for number, (title, tree, changed, beside) in enumerate(
        (("Before", diff.old, None, diff.new), (after, diff.new, marks, diff.old))
    ):
        svg = drawing(tree, f"tree-{number}", positive=positive, changed=changed, beside=[beside])
        if svg is None:
            parts.append(f"{title}: the drawing is too large for this page; tree.to_svg() draws it.")
        else:
            parts.append(Drawing(svg, outline(tree, positive, changed), f"drawing-{number}", title))
    facts = {
        "leaves": [diff.old.n_leaves, diff.new.n_leaves],
        "depth": [diff.old.depth, diff.new.depth],
        "distance": diff.distance.total,
    }
    return PageSection("trees", "The tree before and after", CHANGE, parts, facts=facts)


def _marks(diff: TreeDiff) -> dict[int, str]:
    """Return a mark for each node of the new tree whose split changed."""
    is_split = diff.new.feature != LEAF
    below = {node: "new" for split in diff.splits for node in split.new_nodes if is_split[node]}
    return below | {split.new_node: _mark(split) for split in diff.splits}


def _mark(split: SplitChange) -> str:
    if split.old is None:
        return "new"
    if split.kind == "missing":
        return "missing values: other side"
    is_moved = split.kind == "threshold" and not split.moves_missing
    if is_moved and split.new is not None and only_bound(split.old):
        return f"was {both_texts(split.old, split.new)[0]}"
    return shorten(f"was {condition_text(split.old, most=MOST_MARKED)}", LONGEST_MARK)


def _split_text(diff: TreeDiff, split: SplitChange) -> str:
    where, what, size = split_texts(diff, split)
    reach = "" if split.is_root else f"{percent_text(split.fraction)} of the old tree's rows"
    notes = "; ".join(
        filter(None, ["" if split.kind in ("new", "gone") else size.removeprefix("replaced; "), reach])
    )
    kind = SPLIT_WORDS[split.kind]
    return f"{kind} {where}: {what.replace(' -> ', ' → ')}{f' ({notes})' if notes else ''}"


def _case_section(diff: TreeDiff, place: int | None, noun: str, after: str, in_use: int) -> PageSection:
    """Return the form for one case and both trees, the columns of the tree in use first."""
    trees = diff.old, diff.new
    data = [tree_data(name, tree, place, noun) for name, tree in zip(("Before", after), trees, strict=True)]
    return case_section(data, trees, place, noun, in_use=in_use, audience=CHANGE)


# -- rule by rule -----------------------------------------------------------------------------------------


def _rules_section(diff: TreeDiff, place: int | None) -> PageSection:
    """Tabulate all rules, the greatest change first; `place` is the class whose probability is shown."""
    changes = sorted(diff.changes, key=lambda each: (DEGREES.index(degree_of(each)), -each.cost))
    pairs = [*((each, degree_of(each)) for each in changes), *((each, "same") for each in diff.same)]
    target = diff.old.schema.target
    what = target.name if not target.is_classes else "probability"
    what = what if target.hazard is None else name_survival(target.hazard)
    what = what if place is None else f"risk of {label_text(target.classes[place])}"
    rows = [
        [
            _rule_text(diff, change),
            DEGREE_WORDS[degree].replace("value", "survival" if target.is_survival else "value"),
            _prediction(change.old, place),
            _prediction(change.new, place),
            "" if change.old is None else count_text(change.old.count),
            "" if change.new is None else count_text(change.new.count),
        ]
        for change, degree in pairs
    ]
    headings = ["rule", "change", f"{what} before", "after", "rows before", "rows after"]
    note = "Rows before: training rows of the old tree. Rows after: training rows of the new tree."
    return PageSection(
        "rules", "Rule by rule", CHANGE, [TextTable(headings, rows, note=note, sides="<<>>>>")]
    )


def _rule_text(diff: TreeDiff, change: RuleChange) -> str:
    """Return the conditions of a rule, each with the old one if it changed."""
    rule = change.new or change.old
    assert rule is not None
    new = _only_in_new_splits(diff, change)
    moved = {
        each.name: (_condition(each.new), "new split")
        if each.new and each.name in new
        else condition_change_parts(each)
        for each in change.conditions
    }
    conditions = [moved.pop(each.name, (_condition(each), "")) for each in rule.conditions]
    rule_text = " and ".join(f"{text} ({note})" if note else text for text, note in conditions) or "everyone"
    gone = [text for text, _ in moved.values()] if change.new is not None else []
    return f"{rule_text}; no longer a condition: {' and '.join(gone)}" if gone else rule_text


def _only_in_new_splits(diff: TreeDiff, change: RuleChange) -> set[str]:
    """Return the columns of the new rule that only new splits use: these have no old condition."""
    if change.new is None:
        return set()
    new = {node for split in diff.splits for node in split.new_nodes}
    names = diff.new.schema.names
    used = [(names[diff.new.feature[node]], node in new) for node in _path(diff.new, change.new.leaf)]
    return {name for name, _ in used} - {name for name, is_new in used if not is_new}


def _path(tree: Tree, leaf: int) -> list[int]:
    """Return the inner nodes above a leaf, the root first."""
    nodes, node = [], int(tree.parent[leaf])
    while node >= 0:
        nodes.append(node)
        node = int(tree.parent[node])
    return nodes[::-1]


def _condition(condition: Condition) -> str:
    return condition_text(condition, counts=True, most=FULL_LIST)


def _prediction(rule: Rule | None, place: int | None) -> str:
    """Return the probability of the positive class with the predicted class, or the number."""
    if rule is None:
        return ""
    if not rule.target.is_classes:
        return value_text(rule.target, rule.value[0])
    if place is None:
        return f"{rule_outcome_text(rule)} {percent_text(rule.value[rule.predicted])}"
    return f"{percent_text(rule.value[place])}, predicts {rule_outcome_text(rule)}"


# -- the page of an update --------------------------------------------------------------------------------


def update_page(run: UpdateRun, options: ReportOptions) -> Page:
    """Return the page of an update: the decision, its reasons and effects, then the record."""
    card, outputs, diff = options.model_card, run.facts["outputs"], run.diff
    target = run.update.deployed.schema.target
    positive = outputs["positive"]
    place = positive_class(run.update.deployed) if positive is None else target.classes.index(positive)
    after, name = ("After the update", "After") if run.is_taken else ("As proposed", "As proposed")
    acted = _decision_text(run) if outputs["threshold"] and positive is not None else ""
    by = run.facts["by"]
    sections = [
        _trees_section(diff, positive, after, acted),
        _rules_section(diff, place),
        _case_section(diff, place, card.get("case", "case"), name, in_use=int(run.is_taken)),
        _affected_section(run),
        _policy_section(run),
        _performance_section(run),
        _periods_section(run),
        _path_section(run),
        _words_section("use", "What the model is for", {title: card.get(key) for key, title in USES.items()}),
        _limits_section(run, card),
        _words_section(
            "monitoring",
            "Monitoring from now on",
            {
                "Monitoring": card.get("monitoring"),
                "Next triggers": card.get("triggers"),
                "Next review": card.get("next_review"),
            },
        ),
        _identity_section(run),
        _register_section(run),
        _sign_off_section(card),
    ]
    return Page(
        kind="update",
        title=options.title or f"{card.get('name') or run.facts['columns']['target'] or target.name}: update",
        subtitle=f"Update of a deployed model, {run.facts['time'][:10]}{f', by {by}' if by else ''}",
        headline=[_outcome(run)],
        key_figures=list(_update_figures(run)),
        sections=sections,
        answers=list(_answers(run)),
        facts={"time": run.facts["time"], "by": by, "taken": run.is_taken},
    )


def _outcome(run: UpdateRun) -> str:
    """State whether the update goes into use."""
    verdict = run.verdict
    accepted = "The tree is unchanged and stays in use." if run.diff.is_empty else "The update is accepted."
    if verdict is None:
        return f"{accepted} There is no change policy, so no limit was checked."
    if verdict.passed:
        return f"{accepted} {verdict.summary}"
    failed = f"it breaks {list_text(dict.fromkeys(line.name for line in verdict.failed))}"
    if run.facts["forced"]:
        return f"The update is accepted by force, against the policy: {failed}."
    return f"The update is rejected, and the deployed model stays in use: {failed} of the policy."


def _answers(run: UpdateRun) -> Iterator[tuple[str, str]]:
    """Answer why, what, for whom, and what to watch."""
    reasons = [run.facts["trigger"], run.facts["why"]]
    why = " ".join(text if text[-1] in ".!?" else f"{text}." for text in reasons if text)
    yield "Why", why or "No reason was given (--trigger, --why)."
    changes = "" if run.diff.is_empty else rules_sentence(run.diff)
    step = run.facts["settings"]["take"]
    requested = "" if step is None else f"Step {step} of the path was requested. "
    taken = f"{taken_sentence(run.update)} " if run.is_taken else "As proposed: "
    yield "What", f"{requested}{taken}{changes}".strip()
    yield "For whom", _affected_sentence(run)
    if watched := list(_watched(run)):
        yield "Watch", f"{'; '.join(watched)}."


def _watched(run: UpdateRun) -> Iterator[str]:
    """Name subgroups in which the new tree is worse or badly calibrated, and columns that have shifted."""
    known = [part for part in run.facts["subgroups"] if not part["is_small"] and part["scores"] is not None]
    for part in known:
        if part["scores"]["difference"]["verdict"] == "worse":
            yield f"{run.facts['metric']['title']} is worse where {part['name']}"
    off = []
    for part in known:
        scores = part["scores"]
        if scores.get("observed_low") is None:
            continue
        expected, observed = scores["new_calibration"]["expected"], scores["observed"]
        if not scores["observed_low"] <= expected <= scores["observed_high"]:
            text = (
                f"{percent_text(expected)} expected, {percent_text(observed)} observed where {part['name']}"
            )
            off.append((-round(abs(expected - observed), 9), text))
    yield from (text for _, text in sorted(off)[:MOST_WATCHED])
    if len(off) > MOST_WATCHED:
        yield f"and {pluralize(len(off) - MOST_WATCHED, 'more subgroup')}"
    moved = [
        each["name"] for each in run.facts["periods"]["columns"] if each["band"] == "much" or each["news"]
    ]
    used = _used_columns(run)
    for title, names in (
        ("large shift", [name for name in moved if name in used]),
        ("large shift, not in the tree", [name for name in moved if name not in used]),
    ):
        if names:
            yield f"{title}: {join_parts(names, MOST_WATCHED)}"


def _update_figures(run: UpdateRun) -> Iterator[KeyFigure]:
    yield _verdict_figure(run)
    yield _change_figure(run.diff)
    yield _affected_figure(run)
    yield from _score_figures(run)
    yield _population_figure(run)


def _verdict_figure(run: UpdateRun) -> KeyFigure:
    verdict, title = run.verdict, "May it go live?"
    use = "in use from now on" if run.is_taken else "not in use"
    use = "the tree is unchanged" if run.diff.is_empty else use
    if verdict is None:
        return KeyFigure("No policy", title, use, "warn")
    n_judged = len(verdict.lines) - len(verdict.not_judged)
    lines = f"{n_judged - len(verdict.failed)} of {n_judged} lines of the policy pass; {use}"
    if run.facts["forced"]:
        return KeyFigure("By force", title, lines, "bad")
    return KeyFigure(*(("Yes", title, lines, "good") if verdict.passed else ("No", title, lines, "bad")))


def _change_figure(diff: TreeDiff) -> KeyFigure:
    if not diff.splits:
        value = "Nothing" if diff.is_empty else "Leaf values"
        n_splits = diff.old.n_leaves - 1
        note = {0: "the tree has no split", 1: "the only split stays"}.get(
            n_splits, f"all {n_splits} splits stay"
        )
        return KeyFigure(value, "What changed?", note)
    n = diff.split_counts
    parts = [
        f"{n.kept} of {pluralize(n.kept + n.moved + n.gone, 'split')} {'stays' if n.kept == 1 else 'stay'}"
    ]
    parts += [
        f"{number} {verb}"
        for number, verb in ((n.moved, "moved"), (n.gone, "gone"), (n.new, "new"))
        if number
    ]
    note = f"{', '.join(parts)}; tree distance {fixed_text(diff.distance.total, 2)}"
    return KeyFigure(pluralize(n.changed, "split"), "What changed?", note)


def _affected_figure(run: UpdateRun) -> KeyFigure:
    outputs, target = run.facts["outputs"], run.update.deployed.schema.target
    part, threshold = outputs["all"], outputs["threshold"]
    if target.hazard is not None and threshold is None:
        name = f"Mean change of {name_survival(target.hazard)}"
        return KeyFigure(points_text(part["churn"], "points"), name, f"{part['rows']:,} rows")
    if not target.is_classes and threshold is None:
        return KeyFigure(fixed_text(part["churn"], 3), "Mean change of predictions", f"{part['rows']:,} rows")
    decisions, changed = part["decisions"], part["decisions"]["changed"]
    by = "class" if threshold is None else f"threshold {threshold:g}"
    note = f"of {part['rows']:,} rows ({percent_text(changed['fraction'])}) get another decision ({by})"
    if "swap_ins" in decisions:
        sides = [_swap_text(decisions[name], name) for name in ("swap_ins", "swap_outs")]
        note += f": {', '.join(sides)}"
    return KeyFigure(f"{changed['rows']:,}", "Who is affected?", note)


def _score_figures(run: UpdateRun) -> Iterator[KeyFigure]:
    scores, title = run.facts["outputs"]["all"]["scores"], run.facts["metric"]["title"]
    if scores is None or scores["new"]["value"] is None or scores["old"]["value"] is None:
        return
    difference = scores["difference"]
    new, old = (fixed_text(scores[which]["value"], 3) for which in ("new", "old"))
    apart = ""
    if difference["low"] is not None:
        ends = [fixed_text(difference[end], 3, "+") for end in ("value", "low", "high")]
        apart = f"; {ends[0]} ({ends[1]} to {ends[2]})"
    where = "held-out rows" if run.facts["outputs"]["scored_on_rows_held_out"] else "training rows"
    title, before = (title, "was") if run.is_taken else (f"{title} of the proposed tree", "tree in use")
    tone = TONES.get(difference["verdict"], "")
    yield KeyFigure(new, title, f"{before} {old}{apart}; {scores['rows']:,} {where}", tone)
    keep, step = (run.update.steps[place].observed_expected for place in (0, run.update.taken))
    found = step if run.update.is_taken else keep
    if found is None or keep is None or isnan(found.low):
        return
    note = f"{fixed_text(found.low, 2)} to {fixed_text(found.high, 2)}; ideal: 1"
    note += "" if found is keep else f"; was {fixed_text(keep.ratio, 2)}"
    title = "Observed over expected" + ("" if run.is_taken else " of the tree in use")
    if found.is_off:
        much = "too little" if found.ratio > 1 else "too much"
        remedy = "choose a step with new leaf values" if found is keep else "update with --prior-rows 0"
        note += f". The tree in use predicts {much}: {remedy}"
    yield KeyFigure(fixed_text(found.ratio, 2), title, note, "bad" if found.is_off else "")


def _population_figure(run: UpdateRun) -> KeyFigure:
    known = [each for each in run.facts["periods"]["columns"] if each["index"] is not None]
    if not known:
        return KeyFigure("Unknown", "Population", "the earlier rows are not available")
    used = _used_columns(run)
    most = next((each for each in known if each["name"] in used), known[0])
    words = {"little": ("Little shift", ""), "some": ("Some shift", "warn"), "much": ("Large shift", "bad")}
    value, tone = words[most["band"]]
    which = "largest in the tree" if most["name"] in used else "largest, not in the tree"
    note = f"{which}: {most['name']}, stability index {fixed_text(most['index'], 2)}"
    return KeyFigure(value, "Population", note, tone)


# -- who is affected --------------------------------------------------------------------------------------


def _affected_sentence(run: UpdateRun) -> str:
    """Count the rows with another decision, by direction, and describe the largest group."""
    outputs = run.facts["outputs"]
    part, changed = outputs["all"], outputs["all"]["decisions"]["changed"]
    n_rows = pluralize(part["rows"], "new row")
    hazard = run.update.deployed.schema.target.hazard
    if hazard is not None and outputs["threshold"] is None:
        move = points_text(part["churn"])
        return f"The predicted {name_survival(hazard)} of {n_rows} changes by {move} on average."
    if not changed["rows"]:
        move = percent_text(part["churn"]) if outputs["positive"] is not None else f"{part['churn']:.3g}"
        return f"None of {n_rows} gets another decision; the mean change of the predictions is {move}."
    sides = ""
    if "swap_ins" in part["decisions"]:
        both = [_swap_text(part["decisions"][name], name, outputs) for name in ("swap_ins", "swap_outs")]
        sides = f": {' and '.join(both)}"
    most = next(each for each in outputs["touched"] if each["decided_before"] != each["decided_after"])
    who = " and ".join(most["who"]) or "everyone"
    return (
        f"{changed['rows']:,} of {n_rows} ({percent_text(changed['fraction'])}) get another decision{sides}. "
        f"{rounded_percent(most['rows'] / changed['rows'])} of them have {who}."
    )


def _swap_text(part: Mapping[str, Any], name: str, outputs: Mapping[str, Any] | None = None) -> str:
    """Count the rows that are newly, or no longer, acted on; `outputs` adds the observed frequency."""
    what = "newly acted on" if name == "swap_ins" else "no longer acted on"
    if not part["rows"]:
        return f"none {what}"
    text = f"{part['rows']:,} {what}"
    if outputs is None or outputs["positive"] is None:
        return text
    rate = rounded_percent(part["events"] / part["rows"])
    return f"{text} ({rate} observed {label_text(outputs['positive'])})"


def _decision_text(run: UpdateRun) -> str:
    """Define "acted on"."""
    outputs, target = run.facts["outputs"], run.update.deployed.schema.target
    positive = None if outputs["positive"] is None else label_text(outputs["positive"])
    if outputs["threshold"] is not None:
        what = target.name if positive is None else f"probability of {positive}"
        what = "relative risk" if target.is_survival else what
        return f"Acted on means a {what} of {outputs['threshold']:g} or more."
    if positive is not None:
        return f"Acted on means that the tree predicts {positive}."
    if target.is_classes:
        return "The decision is the predicted class."
    return "No decision is defined: the model card can give a decision_threshold."


def _affected_section(run: UpdateRun) -> PageSection:
    """Tabulate the decisions that change, the groups of rows concerned, and the subgroups."""
    outputs, target = run.facts["outputs"], run.update.deployed.schema.target
    is_classes, part = target.is_classes, outputs["all"]
    has_decision = not target.is_survival or outputs["threshold"] is not None
    learned = run.diff.rows is not None and bool(run.diff.rows.new_learned)
    trained = (
        " The new tree was trained on these rows, so expect more wrong decisions on other rows."
        if learned and has_decision
        else ""
    )
    text = f"{_decision_text(run)} Counts are of all {part['rows']:,} new rows.{trained}"
    parts: list[Part] = [" ".join(filter(None, [text, by_threshold_and_class(run)]))]
    names = [name for name in COUNTED if name in part["decisions"]]
    if target.is_survival:  # a censored row tells of no decision whether it was right
        names = [name for name in names if name not in ("negative_flips", "positive_flips")]
    rows = [
        _decision_row(name, {**part["decisions"][name], **({"events": None} if target.is_survival else {})})
        for name in names
    ]
    if rows and has_decision:
        observed = "" if outputs["positive"] is None else f"observed {label_text(outputs['positive'])}"
        parts.append(TextTable(["decisions", "rows", "of all", observed, "95 % interval"], rows))
    mean = _mean_text(is_classes or target.is_survival)
    size = (fixed_text(part["churn"], 3), fixed_text(part["largest_move"], 2))
    if not is_classes:
        size = number_text(part["churn"], 3), number_text(part["largest_move"], 3)
    of = "the predictions"
    if target.hazard is not None:
        of = f"the predicted {name_survival(target.hazard)}"
        size = points_text(part["churn"]), points_text(part["largest_move"])
    means = ""
    if not is_classes or outputs["positive"] is not None:
        means = f"; mean prediction {mean(part['mean_before'])} before and {mean(part['mean_after'])} after"
    parts.append(f"Mean absolute change of {of} (churn) {size[0]}, largest change {size[1]}{means}.")
    groups = [
        [
            " and ".join(each["who"]) or "everyone",
            f"{each['rows']:,}",
            percent_text(each["fraction"]),
            mean(each["before"]),
            mean(each["after"]),
            _group_decision(each, outputs) if has_decision else "",
        ]
        for each in outputs["touched"]
    ]
    title = "Groups of rows by their predictions before and after"
    headings = ["rows with", "rows", "of all", "before", "after", "decision" if has_decision else ""]
    tones = {"swap-in": "warn", "swap-out": "warn"}
    parts.append(
        TextTable(headings, groups, title=title, tones=tones) if groups else "No prediction changes."
    )
    if run.facts["subgroups"]:
        parts.append(_subgroup_table(run.facts["subgroups"], mean, has_decision=has_decision))
    parts += firmness_parts(run.update)
    return PageSection("touched", "Who is affected", CHANGE, parts)


def _mean_text(is_share: bool) -> Callable[[float], str]:
    """Return the format of mean predictions: percent of probabilities and survival, or a number."""
    return percent_text if is_share else lambda value: number_text(value, 4)


def _decision_row(name: str, part: Mapping[str, Any]) -> list[str]:
    row = [COUNTED[name], f"{part['rows']:,}", percent_text(part["fraction"])]
    if name not in OUTCOMES or part["events"] is None or not part["rows"]:
        return [*row, "", ""]
    low, high = wilson_interval(part["events"], part["rows"])
    observed = f"{part['events']:,} ({percent_text(part['events'] / part['rows'])})"
    return [*row, observed, f"{rounded_percent(low)} to {rounded_percent(high)}"]


def _group_decision(group: Mapping[str, Any], outputs: Mapping[str, Any]) -> str:
    if group["decided_before"] == group["decided_after"]:
        return "unchanged"
    if outputs["positive"] is None and outputs["threshold"] is None:
        return "another class"
    return "swap-in" if group["decided_after"] == 1 else "swap-out"


def _subgroup_table(parts: list[Mapping[str, Any]], mean: Any, *, has_decision: bool) -> TextTable:
    rows = [
        [
            part["name"],
            f"{part['rows']:,}",
            mean(part["mean_before"]),
            mean(part["mean_after"]),
            f"{part['decisions']['changed']['rows']:,} "
            f"({percent_text(part['decisions']['changed']['fraction'])})",
            *(
                f"{part['decisions'][name]['rows']:,}" if name in part["decisions"] else ""
                for name in ("swap_ins", "swap_outs")
            ),
        ]
        for part in parts
    ]
    headings = ["subgroup", "rows", "mean before", "mean after", "other decision", "swap-ins", "swap-outs"]
    kept = None if has_decision else 4
    return TextTable(headings[:kept], [row[:kept] for row in rows], title="By subgroup")


# -- the evidence of the record ---------------------------------------------------------------------------


def _policy_section(run: UpdateRun) -> PageSection:
    parts: list[Part] = ["There is no change policy: nothing limits what the update may change."]
    if run.verdict is not None:
        parts = [run.verdict.summary, run.verdict.table(words=True)]
    return PageSection("policy", "The change policy, line by line", RECORD, parts)


def _performance_section(run: UpdateRun) -> PageSection:
    """Compare scores and calibration of both trees on the same rows, all rows first, then the subgroups."""
    outputs, metric = run.facts["outputs"], run.facts["metric"]
    task = run.update.deployed.schema.target.task
    groups = [{"name": "all rows", "is_small": False, **outputs["all"]}, *run.facts["subgroups"]]
    n_rows = f"{outputs['rows_scored']:,} rows"
    text = f"No rows were held out: scores on {n_rows} that the new tree was trained on are too optimistic."
    if run.update.steps[run.update.taken].holdout_tree is None:
        text = "This step has no score: without the held-out rows, no step of this kind was found."
    elif outputs["scored_on_rows_held_out"]:
        text = (
            f"Both trees are scored on the same {n_rows}, which were held out. A tree trained without them "
            "represents the new tree."
        )
    known = [each for each in groups if each["scores"] is not None]
    tones: dict[str, str] = {}
    rows = [_score_row(each, metric["name"], tones) for each in known]
    events = "events" if any(row[2] for row in rows) else ""
    less = " (lower is better)" if metric["loss"] else ""
    title = f"{metric['title']}{less}, with 95 % intervals"
    headings = ["rows", "number", events, "before", "after", "difference"]
    parts: list[Part] = [text]
    if rows:
        parts.append(TextTable(headings, rows, title=title, tones=tones, sides="<>>>>>"))
    calibrated = [each for each in known if each["scores"]["new_calibration"]]
    if calibrated:
        headings = [
            "rows",
            "observed",
            "expected",
            "observed / expected",
            "in the large",
            "slope",
            "intercept",
        ]
        title = "Calibration, before → after (ideal: 1, 0, 1 and 0; ± is one standard error)"
        hazard = run.update.deployed.schema.target.hazard
        if hazard is not None:
            until = time_text(hazard.horizon, hazard.unit)
            title = title.replace("Calibration", f"Calibration of the probability of an event in {until}")
        cells = [_calibration_row(each, task) for each in calibrated]
        parts.append(TextTable(headings, cells, title=title, sides="<>>>>>>"))
    if any(each["is_small"] for each in groups):
        parts.append(
            "Small: fewer rows than the model card requires (default 100); the figures are uncertain."
        )
    if len(groups) == 1:
        parts.append("No subgroups are defined: the model card or a policy can name columns.")
    return PageSection("performance", "Performance and calibration", RECORD, parts)


def _group_name(part: Mapping[str, Any]) -> str:
    return f"{part['name']} (small)" if part["is_small"] else part["name"]


def _score_row(part: Mapping[str, Any], metric: str, tones: dict[str, str]) -> list[str]:
    scores = part["scores"]
    most = 1.0 if metric in ("auc", "accuracy", "balanced_accuracy") else float("inf")
    both = [_interval_text(scores[which], 2, most) for which in ("old", "new")]
    difference = _interval_text(scores["difference"], 3, sign="+")
    if tone := TONES.get(scores["difference"]["verdict"]):
        tones[difference] = tone
    events = "" if scores["events"] is None else count_text(scores["events"])
    return [_group_name(part), count_text(scores["rows"]), events, *both, difference]


def _interval_text(
    found: Mapping[str, Any], decimals: int, most: float = float("inf"), sign: str = ""
) -> str:
    if found["value"] is None:
        return NOTHING
    value = fixed_text(found["value"], 3, sign)
    if found["low"] is None:
        return value
    ends = fixed_text(found["low"], decimals, sign), fixed_text(min(found["high"], most), decimals, sign)
    return f"{value} ({ends[0]} to {ends[1]})"


def _calibration_row(part: Mapping[str, Any], task: str) -> list[str]:
    scores, mean = part["scores"], _mean_text(task != "regression")
    was, now = scores["old_calibration"], scores["new_calibration"]
    observed = mean(scores["observed"])
    if task == "classification":
        observed += (
            f" ({rounded_percent(scores['observed_low'])} to {rounded_percent(scores['observed_high'])})"
        )
    pairs = [f"{_two(was[name])} → {_two(now[name])}" for name in ("ratio", "in_the_large")]
    estimates = [f"{_estimate(was, name)} → {_estimate(now, name)}" for name in ("slope", "intercept")]
    return [
        _group_name(part),
        observed,
        f"{mean(was['expected'])} → {mean(now['expected'])}",
        *pairs,
        *estimates,
    ]


def _two(value: float | None) -> str:
    return NOTHING if value is None or isnan(value) else fixed_text(value, 2)


def _estimate(found: Mapping[str, Any], name: str) -> str:
    if found[name] is None:
        return "unknown"
    error = found[f"{name}_error"]
    return fixed_text(found[name], 2) + ("" if error is None else f" ± {fixed_text(error, 2)}")


def _used_columns(run: UpdateRun) -> set[str]:
    """Return the columns that the old or the new tree splits on."""
    return {
        tree.schema.names[feature]
        for tree in (run.update.deployed, run.update.tree)
        for feature in tree.feature.tolist()
        if feature != LEAF
    }


def _periods_section(run: UpdateRun) -> PageSection:
    """Compare earlier and new rows, and the shift of each column."""
    periods, sources = run.facts["periods"], (run.facts["model"]["source"], run.facts["data"]["source"])
    before, now, rows = periods["before"], periods["now"], run.diff.rows
    behind = f"the deployed tree was trained on {count_text(run.facts['rows_behind'])}"
    is_survival = run.update.deployed.schema.target.is_survival
    lines = [
        ["source", sources[0] + (f" ({before['source']})" if before else ""), sources[1]],
        ["rows", f"{before['rows']:,} ({behind})" if before else f"unknown ({behind})", f"{now['rows']:,}"],
        ["target", *(_target_text(each, is_survival) if each else "unknown" for each in (before, now))],
    ]
    parts: list[Part] = [TextTable(["", "before", "now"], lines, sides="<<<")]
    parts.append(
        " ".join(_schema_lines(periods["schema"])) or "The columns, categories and classes are the same."
    )
    if rows is not None and rows.leaf_shares:
        parts.append(
            f"Population stability index over the leaves of the old tree: {fixed_text(rows.leaf_index, 3)}."
        )
    if not before:
        parts.append(
            "Only ranges and categories of the earlier rows are known. For a comparison of distributions, "
            "update the folder of a run, or give the earlier rows with --old."
        )
    used = _used_columns(run)
    note = (
        f"Index: the population stability index; by convention, below {LITTLE} is little shift, up to "
        f"{MUCH} some, "
        "above it much. Rows beyond: outside the range known to the deployed model."
    )
    columns = sorted(periods["columns"], key=lambda each: each["name"] not in used)
    cells = [_column_row(each, each["name"] in used) for each in columns]
    headings = [
        "column",
        "in the tree",
        "index",
        "shift",
        "missing before",
        "now",
        "range before",
        "range now",
        "rows beyond",
    ]
    tones = {"little": "good", "some": "warn", "much": "bad"}
    title = "Shift of the columns"
    parts.append(TextTable(headings, cells, title=title, note=note, tones=tones, whole="update.json"))
    return PageSection("data", "The data of both periods", RECORD, parts)


def _target_text(period: Mapping[str, Any], is_survival: bool) -> str:
    target = period["target"]
    if is_survival:
        return f"{percent_text(target['mean'])} with an event"
    if "classes" not in target:
        return (
            f"mean {number_text(target['mean'], 4)}, standard deviation {number_text(target['deviation'], 3)}"
        )
    total = sum(target["classes"].values()) or 1
    return ", ".join(
        f"{name} {count:,} ({percent_text(count / total)})" for name, count in target["classes"].items()
    )


def _column_row(each: Mapping[str, Any], is_used: bool) -> list[str]:
    ranges = [
        "" if not each[which] else f"{number_text(each[which][0], 4)} to {number_text(each[which][1], 4)}"
        for which in ("range_before", "range_now")
    ]
    missing = [
        "" if each[which] is None else percent_text(each[which])
        for which in ("missing_before", "missing_now")
    ]
    index = each["news"] or ("unknown" if each["index"] is None else fixed_text(each["index"], 3))
    beyond = percent_text(each["beyond"]) if each["beyond"] else ""
    return [each["name"], "yes" if is_used else "", index, each["band"] or "", *missing, *ranges, beyond]


def _schema_lines(schema: Any) -> list[str]:
    """Describe the differences of the schema, one sentence each."""
    named = (
        ("new_columns", "New columns"),
        ("gone_columns", "Removed columns"),
        ("other_kinds", "Columns of another kind"),
        ("new_classes", "New classes"),
    )
    lines = [f"{title}: {', '.join(map(label_text, schema[name]))}." for name, title in named if schema[name]]
    for column, labels in schema["new_categories"].items():
        lines.append(f"New categories of {column}: {', '.join(map(label_text, labels))}.")
    return lines


def _path_section(run: UpdateRun) -> PageSection:
    """Tabulate the steps from the current tree to a new one."""
    which = "accepted" if run.is_taken else "proposed"
    text = (
        "Each step is a tree that could be deployed, the closest to the current tree first; "
        f"the {which} one is in bold."
    )
    return PageSection("path", "Alternatives", RECORD, [text, path_table(run.update, changes=True)])


# -- the record -------------------------------------------------------------------------------------------


def _words_section(name: str, title: str, lines: Mapping[str, Any]) -> PageSection:
    """Tabulate statements of the model card."""
    statements = {key: "; ".join(_texts(value)) or "not stated" for key, value in lines.items()}
    return PageSection(name, title, RECORD, [_item_table(statements)])


def _item_table(items: Mapping[str, str]) -> TextTable:
    rows = [[name, text] for name, text in items.items() if text]
    return TextTable(["item", "value"], rows, sides="<<")


def _texts(value: Any) -> list[str]:
    if not value:
        return []
    return [value] if isinstance(value, str) else [str(each) for each in value]


def _limits_section(run: UpdateRun, card: dict[str, Any]) -> PageSection:
    """List the limits stated by the owners, and those of this evaluation."""
    stated = _texts(card.get("limits")) or ["none"]
    parts: list[Part] = [Section("Stated by the owners", stated)]
    if found := list(_evaluation_limits(run)):
        parts.append(Section("Of this evaluation", found))
    if notes := run.facts["notes"]:
        parts.append(Section("Notes of the update", notes))
    return PageSection("limits", "Limits", RECORD, parts)


def _evaluation_limits(run: UpdateRun) -> Iterator[str]:
    outputs, subgroups = run.facts["outputs"], run.facts["subgroups"]
    if not outputs["scored_on_rows_held_out"]:
        yield "No rows were held out: scores and calibration are of training rows, and too optimistic."
    if small := [each["name"] for each in subgroups if each["is_small"]]:
        yield f"Too few rows to evaluate {pluralize(len(small), 'subgroup')}: {', '.join(small)}."
    if not subgroups:
        yield "No subgroups are defined, so none is evaluated: the model card or a policy can name columns."
    if run.facts["periods"]["before"] is None:
        yield "The earlier rows are not available, so the shift of the population is unknown."
    if run.verdict is None:
        yield "There was no change policy before the update."
    elif run.verdict.not_judged:
        lines = ", ".join(dict.fromkeys(line.name for line in run.verdict.not_judged))
        n_open = pluralize(len(run.verdict.not_judged), "line")
        yield f"{n_open} of the policy could not be checked: {lines}."


def _identity_section(run: UpdateRun) -> PageSection:
    """List hashes of both models and of the data, versions, settings, and edits by hand."""
    facts = run.facts
    model, data = facts["model"], facts["data"]
    settings = {**facts["settings"], **{name: each for name, each in facts["columns"].items() if each}}
    shown = [
        f"{name} = {', '.join(map(str, value)) if isinstance(value, list | tuple) else value}"
        for name, value in settings.items()
        if value not in (None, [], False)
    ]
    lines = {
        "Model before": model["old"],
        "Model after" if run.is_taken else "Model proposed": model["new"],
        "Model in use from now on": model["in_use"],
        "New rows": data["fingerprint"],
        "Policy": run.change.policy_hash,
        "Model before, from": model["source"],
        "New rows, from": data["source"],
        "Earlier rows, from": data["old_source"],
        "Settings": model["taken_over"],
        "Software": ", ".join(f"{name} {number}" for name, number in facts["software"].items()),
        "Seed": "none" if facts["seed"] is None else str(facts["seed"]),
        "Settings of the update": ", ".join(shown),
    }
    parts: list[Part] = [_item_table(lines)]
    edits = facts["edits"]
    for which, title in (
        ("old", "Edits by hand in the model before"),
        ("new", "Edits by hand in the model after"),
    ):
        if edits[which]:
            parts.append(Section(title, [_edit_text(each) for each in edits[which]]))
    if not edits["old"] and not edits["new"]:
        parts.append("Neither model was edited by hand.")
    return PageSection("identity", "Identity of models, data and software", RECORD, parts)


def _edit_text(edit: Mapping[str, Any]) -> str:
    notes = ["no author is given"] * (not edit["by"]) + ["changed again later"] * (not edit["holds"])
    return f"{edit['text']} ({', '.join(notes)})" if notes else str(edit["text"])


def _register_section(run: UpdateRun) -> PageSection:
    """Show the entry in the change register, and how to roll back."""
    record, model = run.record, run.facts["model"]
    lines: dict[str, str] = {"Record": "none: the update was made without a register (--register)."}
    if record is not None:
        lines = {
            "Record": f"{record.number}, written {record.time}{f', by {record.who}' if record.who else ''}",
            "Reason": record.why or "",
            "Hash": record.hash or "",
            "Previous record": record.previous or "none: this is the first",
        }
    way_back = f"There is nothing to roll back. The model in use has the hash {model['old']}"
    if run.is_taken:
        way_back = (
            f"Deploy the previous model again ({model['source']}). Its hash is {model['old']}; "
            "holdfast register find HASH FOLDER finds its file"
        )
    change = "accepted" if run.is_taken else "rejected: the deployed model stays in use"
    lines["Change"] = "accepted by force, against the policy" if run.facts["forced"] else change
    lines["Rollback"] = way_back
    return PageSection("register", "Register entry and rollback", RECORD, [_item_table(lines)])


def _sign_off_section(card: dict[str, Any]) -> PageSection:
    """Return a line to sign for each role."""
    people = card.get("sign_off") or dict.fromkeys(ROLES, "")
    blank = NO_BREAK * 24
    rows = [[role, name or blank, blank, blank] for role, name in people.items()]
    return PageSection(
        "sign-off", "Sign-off", RECORD, [TextTable(["role", "name", "signature", "date"], rows, sides="<<<<")]
    )
