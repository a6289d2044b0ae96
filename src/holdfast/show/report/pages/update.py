"""The page of an update: what was decided, why and for whom; then the record that a risk manager keeps."""

from collections.abc import Iterator
from dataclasses import replace
from math import isnan
from typing import Any

from holdfast.runs.update_result import UpdateRun
from holdfast.show.diff_words import rules_sentence
from holdfast.show.report.given import Given
from holdfast.show.report.page import KeyFigure, Page, Section
from holdfast.show.report.sections import change_record as record
from holdfast.show.report.sections.both_trees import CHANGE, both_trees_section
from holdfast.show.report.sections.case import case_section, tree_data
from holdfast.show.report.sections.performance import performance_section
from holdfast.show.report.sections.periods import asked_columns, periods_section
from holdfast.show.report.sections.policy import policy_section
from holdfast.show.report.sections.rule_changes import rule_changes_section
from holdfast.show.report.sections.touched import decision_text, touched_section, touched_sentence
from holdfast.show.report.sentences import listing
from holdfast.show.update import taken_sentence
from holdfast.text.lists import joined
from holdfast.text.numbers import counted, fixed_text, percent_text
from holdfast.tree.positive import positive_class

MOST_WATCHED = 3  # subgroups, or columns, that the first screen names


def page_of(run: UpdateRun, given: Given) -> Page:
    """The page of an update run."""
    model_card = given.model_card
    columns, target = run.facts["columns"], run.update.deployed.schema.target
    name = model_card.get("name") or columns["target"] or target.name
    return Page(
        kind="update",
        title=given.title or f"{name}: update",
        subtitle=_subtitle(run),
        headline=(_outcome(run),),
        key_figures=tuple(_key_figures(run)),
        sections=tuple(_sections(run, model_card)),
        answers=tuple(_answers(run)),
        facts={"time": run.facts["time"], "by": run.facts["by"], "taken": run.is_taken},
    )


def _sections(run: UpdateRun, model_card: dict[str, Any]) -> Iterator[Section]:
    after = "after the update" if run.is_taken else "as it was proposed"
    outputs = run.facts["outputs"]
    acted = decision_text(run) if outputs["threshold"] and outputs["positive"] is not None else ""
    yield both_trees_section(run.diff, outputs["positive"], after, acted)
    yield rule_changes_section(run.diff, _place(run))
    yield _case_section(run, model_card.get("case", "case"))
    yield touched_section(run)
    yield policy_section(run.verdict)
    yield performance_section(run)
    yield periods_section(run)
    yield record.path_section(run)
    yield record.use_section(model_card)
    yield record.limits_section(run, model_card)
    yield record.monitoring_section(model_card)
    yield record.identity_section(run)
    yield record.register_section(run)
    yield record.sign_off_section(model_card)


def _case_section(run: UpdateRun, noun: str) -> Section:
    """One case through both trees, with the fields of the tree that is in use."""
    trees, place = (run.diff.old, run.diff.new), _place(run)
    names = "Before", "After" if run.is_taken else "As proposed"
    data = [tree_data(name, tree, place, noun) for name, tree in zip(names, trees, strict=True)]
    return replace(case_section(data, trees, place, noun, in_use=int(run.is_taken)), audience=CHANGE)


def _place(run: UpdateRun) -> int | None:
    """The class that matters."""
    classes, positive = run.update.deployed.schema.target.classes, run.facts["outputs"]["positive"]
    return positive_class(run.update.deployed) if positive is None else classes.index(positive)


def _subtitle(run: UpdateRun) -> str:
    day = run.facts["time"][:10]
    by = run.facts["by"]
    return f"Update of a model in use, {day}" + (f", by {by}" if by else "")


# -- the first screen -------------------------------------------------------------------------------------


def _answers(run: UpdateRun) -> Iterator[tuple[str, str]]:
    """Why, what, for whom, and what to keep an eye on."""
    reasons = [run.facts["trigger"], run.facts["why"]]
    told = " ".join(text if text[-1] in ".!?" else f"{text}." for text in reasons if text)
    yield "Why", told or "No reason was given (--trigger, --why)."
    changes = "" if run.diff.is_empty else rules_sentence(run.diff)
    step = run.facts["settings"]["take"]
    asked = "" if step is None else f"Step {step} of the path is asked for. "
    taken = f"{taken_sentence(run.update)} " if run.is_taken else "As proposed: "
    yield "What", f"{asked}{taken}{changes}".strip()
    yield "For whom", touched_sentence(run)
    if watched := list(_watched(run)):
        yield "Watch", f"{'; '.join(watched)}."


def _watched(run: UpdateRun) -> Iterator[str]:
    """What should not be overlooked: subgroups in which the new tree is off or worse, columns that moved."""
    for part in run.facts["subgroups"]:
        scores = part["scores"]
        if part["is_small"] or scores is None:
            continue
        if scores["difference"]["verdict"] == "worse":
            yield f"{run.facts['metric']['title']} is worse where {part['name']}"
    yield from _first(_off(run), MOST_WATCHED)
    moved = [each for each in run.facts["periods"]["columns"] if each["band"] == "much" or each["news"]]
    asked = asked_columns(run)
    told = [each["name"] for each in moved if each["name"] in asked]
    if told:
        yield f"much moved: {joined(told, MOST_WATCHED)}"
    if len(moved) > len(told):
        others = [each["name"] for each in moved if each["name"] not in asked]
        yield f"moved too, and not asked about: {joined(others, MOST_WATCHED)}"


def _off(run: UpdateRun) -> list[str]:
    """Subgroups where what was observed, with its interval, is not what is expected; the farthest first."""
    found = []
    for part in run.facts["subgroups"]:
        scores = part["scores"]
        if part["is_small"] or scores is None or scores.get("observed_low") is None:
            continue
        expected = scores["new_calibration"]["expected"]
        if not scores["observed_low"] <= expected <= scores["observed_high"]:
            said = f"{percent_text(expected)} expected, {percent_text(scores['observed'])} observed"
            found.append((abs(expected - scores["observed"]), f"{said} where {part['name']}"))
    return [text for _, text in sorted(found, key=lambda each: -round(each[0], 9))]


def _first(texts: list[str], most: int) -> list[str]:
    rest = len(texts) - most
    return texts if rest <= 0 else [*texts[:most], f"and {counted(rest, 'more subgroup')} like that"]


def _outcome(run: UpdateRun) -> str:
    """Whether the update goes live, in a sentence."""
    verdict = run.verdict
    taken = "The tree is unchanged and stays in use." if run.diff.is_empty else "The update is taken."
    if verdict is None:
        return f"{taken} No policy was stated, so nothing was judged."
    if verdict.passed:
        return f"{taken} {verdict.summary}"
    failed = f"it breaks {listing(dict.fromkeys(line.name for line in verdict.failed))}"
    if run.facts["forced"]:
        return f"The update is taken by force, against the policy: {failed}."
    return f"The update is not taken, and the deployed model stays in use: {failed} of the policy."


def _key_figures(run: UpdateRun) -> Iterator[KeyFigure]:
    yield _verdict_figure(run)
    yield _change_figure(run)
    yield _touched_figure(run)
    yield from _score_figures(run)
    yield _population_figure(run)


def _verdict_figure(run: UpdateRun) -> KeyFigure:
    verdict = run.verdict
    use = "in use from now on" if run.is_taken else "not in use"
    use = "the tree is unchanged" if run.diff.is_empty else use
    if verdict is None:
        return KeyFigure("No policy", "May it go live?", use, "warn")
    n_judged = len(verdict.lines) - len(verdict.not_judged)
    lines = f"{n_judged - len(verdict.failed)} of {n_judged} lines pass"
    if run.facts["forced"]:
        return KeyFigure("By force", "May it go live?", f"{lines}; {use}", "bad")
    value, tone = ("Yes", "good") if verdict.passed else ("No", "bad")
    return KeyFigure(value, "May it go live?", f"{lines}; {use}", tone)


def _change_figure(run: UpdateRun) -> KeyFigure:
    diff = run.diff
    if not diff.splits:
        value = "Nothing" if diff.is_empty else "Leaf values"
        return KeyFigure(value, "What changed?", _all_stay_text(diff.old.n_leaves - 1))
    n = diff.split_counts
    parts = [
        f"{n.kept} of {counted(n.kept + n.moved + n.gone, 'split')} {'stays' if n.kept == 1 else 'stay'}"
    ]
    parts += [f"{number} {verb}" for number, verb in ((n.moved, "moved"), (n.gone, "gone")) if number]
    parts += [f"{n.new} new"] * bool(n.new)
    return KeyFigure(
        counted(n.changed, "split"),
        "What changed?",
        f"{', '.join(parts)}; distance {fixed_text(diff.distance.total, 2)}",
    )


def _all_stay_text(n_splits: int) -> str:
    """That no question changes.

    >>> _all_stay_text(1), _all_stay_text(4)
    ('the only question stays', 'all 4 questions stay')
    """
    if n_splits == 0:
        return "no question is asked"
    return "the only question stays" if n_splits == 1 else f"all {n_splits} questions stay"


def _touched_figure(run: UpdateRun) -> KeyFigure:
    part = run.facts["outputs"]["all"]
    decisions = part["decisions"]
    if not run.update.deployed.schema.target.is_classes and run.facts["outputs"]["threshold"] is None:
        return KeyFigure(fixed_text(part["churn"], 3), "Mean move of predictions", f"{part['rows']:,} rows")
    changed = decisions["changed"]
    threshold = run.facts["outputs"]["threshold"]
    by = "class" if threshold is None else f"threshold {threshold:g}"
    note = f"of {part['rows']:,} rows ({percent_text(changed['fraction'])}) get another decision by {by}"
    if "swap_ins" in decisions:
        note += f": {decisions['swap_ins']['rows']:,} swap-ins, {decisions['swap_outs']['rows']:,} swap-outs"
    return KeyFigure(f"{changed['rows']:,}", "Who is affected?", note)


def _score_figures(run: UpdateRun) -> Iterator[KeyFigure]:
    scores, metric = run.facts["outputs"]["all"]["scores"], run.facts["metric"]
    if scores is None or scores["new"]["value"] is None or scores["old"]["value"] is None:
        return
    difference = scores["difference"]
    new, old = (fixed_text(scores[which]["value"], 3) for which in ("new", "old"))
    apart = ""
    if difference["low"] is not None:
        ends = [fixed_text(difference[end], 3, "+") for end in ("value", "low", "high")]
        apart = f"; {ends[0]} ({ends[1]} to {ends[2]})"
    where = "rows held out" if run.facts["outputs"]["scored_on_rows_held_out"] else "rows learnt from"
    tone = {"better": "good", "worse": "bad"}.get(difference["verdict"], "")
    title, before = (
        (metric["title"], "was")
        if run.is_taken
        else (f"{metric['title']} of the proposed tree", "tree in use")
    )
    yield KeyFigure(new, title, f"{before} {old}{apart}; {scores['rows']:,} {where}", tone)
    if figure := _calibration_figure(run):
        yield figure


def _calibration_figure(run: UpdateRun) -> KeyFigure | None:
    """Observed over expected with its interval; in the warning colour, with the remedy, where it is off."""
    update = run.update
    keep, step = (update.steps[place].observed_expected for place in (0, update.taken))
    found = step if update.is_taken else keep
    if found is None or keep is None or isnan(found.low):
        return None
    interval = f"{fixed_text(found.low, 2)} to {fixed_text(found.high, 2)}; 1 is right"
    was = "" if found is keep else f"; was {fixed_text(keep.ratio, 2)}"
    title = "Observed over expected" + ("" if run.is_taken else " of the tree in use")
    if not found.is_off:
        return KeyFigure(fixed_text(found.ratio, 2), title, f"{interval}{was}")
    much = "too little" if found.ratio > 1 else "too much"
    remedy = "take a step that gives the leaves new values" if found is keep else "update with --prior-rows 0"
    note = f"{interval}{was}. The tree in use predicts {much}: {remedy}"
    return KeyFigure(fixed_text(found.ratio, 2), title, note, "bad")


def _population_figure(run: UpdateRun) -> KeyFigure:
    known = [each for each in run.facts["periods"]["columns"] if each["index"] is not None]
    if not known:
        return KeyFigure("Unknown", "Population", "nothing is known of the rows of before")
    asked = asked_columns(run)
    most = next((each for each in known if each["name"] in asked), known[0])
    words = {"little": ("Little moved", ""), "some": ("Some moved", "warn"), "much": ("Much moved", "bad")}
    value, tone = words[most["band"]]
    which = "most of the columns asked about" if most["name"] in asked else "most, and not asked about"
    note = f"{which}: {most['name']}, index {fixed_text(most['index'], 2)}"
    return KeyFigure(value, "Population", note, tone)
