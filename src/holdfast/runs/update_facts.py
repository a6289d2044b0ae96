"""What is known of an update run, as plain data: what `update.json` holds."""

from math import isnan
from typing import Any

from holdfast._version import __version__
from holdfast.distance.diff.tree_diff import TreeDiff
from holdfast.governance.register import ChangeRecord, software_versions
from holdfast.runs.facts import metric_facts
from holdfast.scoring.calibration import ObservedExpected
from holdfast.shown import shown
from holdfast.stability.update.update import TreeUpdate


def update_facts(update: TreeUpdate, diff: TreeDiff, change: ChangeRecord) -> dict[str, Any]:
    """The facts of an update: versions, hashes, the path with every step's figures, diff and verdict."""
    return {
        "holdfast": __version__,
        "software": software_versions(),
        "seed": change.seed,
        "model": {
            "old": change.old_model,
            "new": change.new_model,
            "in_use": change.new_model if update.is_taken else change.old_model,
        },
        "data": {
            "fingerprint": change.data,
            "rows": change.n_rows,
            "rows_learnt_from": update.n_rows,
            "rows_scored": update.n_scored,
            "prior_rows": update.settings.prior_rows,
        },
        "metric": metric_facts(update.metric),
        "distance": {
            "matching": update.distances.matching,
            "label_weight": update.distances.label_weight,
            "outcome": update.distances.outcome,
        },
        "summary": shown("update_summary", update),
        "taken": update.is_taken,
        "forced": update.is_forced,
        "step": update.taken,
        "own_loss": update.own_loss,
        "path": [_step_facts(update, number) for number in range(len(update.steps))],
        "diff": diff.to_dict(),
        "policy": None if update.verdict is None else update.verdict.policy.to_dict(),
        "verdict": None if update.verdict is None else update.verdict.to_dict(),
    }


def _step_facts(update: TreeUpdate, number: int) -> dict[str, Any]:
    step = update.steps[number]
    return {
        "step": number,
        "kind": step.kind,
        "changes": shown("changes_text", update, number),
        "distance": step.distance,
        "fit_lost": max(step.loss, 0.0),
        "score": _known(update.metric.shown(step.score)),
        "against_keeping": _known(update.metric.shown(step.difference)),
        "standard_error": _known(step.error),
        "observed_expected": _ratio_facts(step.observed_expected),
        "leaves": step.tree.n_leaves,
        "depth": step.tree.depth,
    }


def _ratio_facts(found: ObservedExpected | None) -> dict[str, float | None] | None:
    """Observed over expected on the rows that are scored on, with its interval."""
    if found is None:
        return None
    figures = {"ratio": found.ratio, "low": found.low, "high": found.high}
    return {name: _known(figure) for name, figure in figures.items()}


def _known(figure: float) -> float | None:
    """The figure; None, as JSON has it, for one that cannot be told."""
    return None if isnan(figure) else figure
