"""How good both trees are on the same rows, and how well calibrated: on the whole and in every subgroup."""

from collections.abc import Mapping
from typing import Any

from holdfast.runs.update_result import UpdateRun
from holdfast.show.report.page import Section
from holdfast.show.report.sections.policy import RISK

BOUNDED = ("auc", "accuracy", "balanced_accuracy")  # scores that end at 1


def performance_section(run: UpdateRun) -> Section:
    """Scores with intervals and calibration, all rows first, then the subgroups."""
    outputs, metric = run.facts["outputs"], run.facts["metric"]
    parts = [{"name": "all rows", "is_small": False, **outputs["all"]}, *run.facts["subgroups"]]
    facts: dict[str, Any] = {
        "metric": metric,
        "is_classes": run.update.deployed.schema.target.is_classes,
        "has_scores": run.update.steps[run.update.taken].alike is not None,
        "held_out": outputs["scored_on_rows_held_out"],
        "rows_scored": outputs["rows_scored"],
        "parts": [_part(each, metric["name"]) for each in parts],
        "has_small": any(each["is_small"] for each in parts),
        "has_subgroups": len(parts) > 1,
    }
    return Section("performance", "Performance and calibration", RISK, "performance.html", facts)


def _part(part: Mapping[str, Any], metric: str) -> dict[str, Any]:
    scores = part["scores"]
    known = {"name": part["name"], "is_small": part["is_small"], "column": part.get("column")}
    if scores is None:
        return {**known, "scores": None}
    for which in ("old", "new"):
        if metric in BOUNDED and scores[which]["high"] is not None:
            scores = {**scores, which: {**scores[which], "high": min(1.0, scores[which]["high"])}}
    return {**known, "scores": scores}
