"""Who is touched by an update: decisions that change, and the groups of rows that move."""

from collections.abc import Mapping
from typing import Any

from holdfast.runs.update_result import UpdateRun
from holdfast.scoring.intervals import wilson_interval
from holdfast.show.report.page import Section
from holdfast.show.report.sections.both_trees import CHANGE
from holdfast.text.lines import label_text

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


def touched_section(run: UpdateRun) -> Section:
    """What is decided otherwise for the new rows, and for whom; by subgroup, too."""
    outputs = run.facts["outputs"]
    decisions = outputs["all"]["decisions"]
    facts: dict[str, Any] = {
        "decision": decision_text(run),
        "positive": None if outputs["positive"] is None else label_text(outputs["positive"]),
        "is_classes": run.update.deployed.schema.target.is_classes,
        "rows": outputs["all"]["rows"],
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
    return "No decision is stated: about.toml can give a decision_threshold."


def _counted(name: str, part: Mapping[str, Any]) -> dict[str, Any]:
    rate = None
    if part["events"] is not None and part["rows"]:
        rate = [part["events"] / part["rows"], *wilson_interval(part["events"], part["rows"])]
    return {"name": name, "title": COUNTED[name], **part, "rate": rate}


def _subgroup(part: Mapping[str, Any]) -> dict[str, Any]:
    decisions = part["decisions"]
    known = {name: decisions[name] for name in ("changed", "swap_ins", "swap_outs") if name in decisions}
    moves = {name: part[name] for name in ("name", "rows", "mean_before", "mean_after", "churn")}
    return {**moves, **known}
