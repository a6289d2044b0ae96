"""Who is touched by an update: decisions that change, and the groups of rows that move."""

from collections.abc import Mapping
from typing import Any

from holdfast.runs.update_result import UpdateRun
from holdfast.scoring.intervals import wilson_interval
from holdfast.show.report.page import Section
from holdfast.show.report.sections.both_trees import CHANGE
from holdfast.show.update_run import by_threshold_and_class
from holdfast.text.lines import label_text
from holdfast.text.numbers import counted, percent_text, rounded_percent

# What is counted of decisions, and what it is.
COUNTED = {
    "changed": "get another decision",
    "swap_ins": "swap-ins: acted on now, not before",
    "swap_outs": "swap-outs: acted on before, not now",
    "negative_flips": "negative flips: decided rightly before, wrongly now",
    "positive_flips": "positive flips: decided wrongly before, rightly now",
    "acted_on_before": "acted on before",
    "acted_on_after": "acted on now",
}

TELLING = ("swap_ins", "swap_outs", "acted_on_before", "acted_on_after")  # how many turned out so


def touched_section(run: UpdateRun) -> Section:
    """What is decided otherwise for the new rows, and for whom; by subgroup, too."""
    outputs = run.facts["outputs"]
    decisions = outputs["all"]["decisions"]
    facts: dict[str, Any] = {
        "decision": decision_text(run),
        "by_class": by_threshold_and_class(run),
        "positive": None if outputs["positive"] is None else label_text(outputs["positive"]),
        "is_classes": run.update.deployed.schema.target.is_classes,
        "rows": outputs["all"]["rows"],
        "is_learned": run.diff.rows is not None and bool(run.diff.rows.new_learned),
        "decisions": [_counted(name, decisions[name]) for name in COUNTED if name in decisions],
        "groups": outputs["touched"],
        "threshold": outputs["threshold"],
        "mean_before": outputs["all"]["mean_before"],
        "mean_after": outputs["all"]["mean_after"],
        "churn": outputs["all"]["churn"],
        "largest_move": outputs["all"]["largest_move"],
        "subgroups": [_subgroup(each) for each in run.facts["subgroups"]],
    }
    return Section("touched", "Who is affected", CHANGE, "touched.html", facts)


def touched_sentence(run: UpdateRun) -> str:
    """How many get another decision, which way, and where most of them are."""
    outputs = run.facts["outputs"]
    part, decisions = outputs["all"], outputs["all"]["decisions"]
    changed, n_rows = decisions["changed"], counted(part["rows"], "new row")
    if not changed["rows"]:
        move = percent_text(part["churn"]) if outputs["positive"] is not None else f"{part['churn']:.3g}"
        return f"None of {n_rows} gets another decision; answers move by {move} on average."
    sides = ""
    if "swap_ins" in decisions:
        parts = [_side_text(decisions[name], name, outputs) for name in ("swap_ins", "swap_outs")]
        sides = f": {' and '.join(parts)}"
    most = next(each for each in outputs["touched"] if each["decided_before"] != each["decided_after"])
    who = " and ".join(most["who"]) or "everyone"
    share = rounded_percent(most["rows"] / changed["rows"])
    return (
        f"{changed['rows']:,} of {n_rows} ({percent_text(changed['fraction'])}) get another decision{sides}. "
        f"{share} of them have {who}."
    )


def _side_text(part: Mapping[str, Any], name: str, outputs: Mapping[str, Any]) -> str:
    noun = name.replace("_", "-").removesuffix("s")
    if not part["rows"]:
        return f"no {noun}s"
    text = counted(part["rows"], noun)
    if outputs["positive"] is None:
        return text
    rate = rounded_percent(part["events"] / part["rows"])
    return f"{text} ({rate} turned out {label_text(outputs['positive'])})"


def decision_text(run: UpdateRun) -> str:
    """What "acted on" means, in a sentence."""
    outputs, target = run.facts["outputs"], run.update.deployed.schema.target
    positive = None if outputs["positive"] is None else label_text(outputs["positive"])
    if outputs["threshold"] is not None:
        what = target.name if positive is None else f"probability of {positive}"
        return f"Acted on: a {what} of {outputs['threshold']:g} or more."
    if positive is not None:
        return f"Acted on: those for whom the tree says {positive}."
    if target.is_classes:
        return "A decision is the class that the tree says."
    return "No decision is stated: model-card.toml can give a decision_threshold."


def _counted(name: str, part: Mapping[str, Any]) -> dict[str, Any]:
    rate = None
    if name in TELLING and part["events"] is not None and part["rows"]:
        rate = [part["events"] / part["rows"], *wilson_interval(part["events"], part["rows"])]
    return {"name": name, "title": COUNTED[name], **part, "rate": rate}


def _subgroup(part: Mapping[str, Any]) -> dict[str, Any]:
    decisions = part["decisions"]
    known = {name: decisions[name] for name in ("changed", "swap_ins", "swap_outs") if name in decisions}
    moves = {name: part[name] for name in ("name", "rows", "mean_before", "mean_after", "churn")}
    return {**moves, **known}
