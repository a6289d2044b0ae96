"""An update run: what is taken and whom it touches, in sentences; then the path, the change, the policy."""

from math import isnan

from holdfast.runs.update_result import UpdateRun
from holdfast.show.diff import brief_sections, row_count
from holdfast.show.update import path_parts, update_summary, verdict_table
from holdfast.text.numbers import percent_text
from holdfast.text.view import View


def update_run_view(run: UpdateRun) -> View:
    """The decision, whom it affects and the verdict; then the path, what changes, and the policy."""
    policy = "" if run.verdict is None else verdict_table(run.verdict)
    return View(*words(run), *path_parts(run.update), *brief_sections(run.diff), policy)


def words(run: UpdateRun) -> list[str]:
    """The paragraphs of an update in words."""
    step = run.facts["settings"]["take"]
    asked = "" if step is None else f"Step {step} of the path was requested. "
    found = [f"{asked}{update_summary(run.update)}"]
    if not run.diff.is_empty:
        found.append(run.diff.summary)
    if two := by_threshold_and_class(run):
        found.append(two)
    if run.verdict is not None:
        found.append(run.verdict.summary)
    return found + [f"Note: {note}" for note in [run.facts["model"]["taken_over"]] if note]


def by_threshold_and_class(run: UpdateRun) -> str:
    """Swap-ins and swap-outs by the decision threshold, and by class; nothing where none is stated."""
    outputs, rows = run.facts["outputs"], run.diff.rows
    if outputs["threshold"] is None or outputs["positive"] is None or rows is None or isnan(rows.swap_ins):
        return ""
    decisions = outputs["all"]["decisions"]
    acted = [f"{decisions[name]['rows']:,}" for name in ("swap_ins", "swap_outs")]
    said = [row_count(each, rows.n_rows) or percent_text(each) for each in (rows.swap_ins, rows.swap_outs)]
    return (
        f"By the decision threshold of {outputs['threshold']:g}: {acted[0]} swap-ins, {acted[1]} swap-outs. "
        f"By the predicted class: {said[0]} swap-ins, {said[1]} swap-outs."
    )
