"""An update run: what is taken and whom it touches, in sentences; then the path, the change, the policy."""

from math import isnan

from holdfast.runs.update_result import UpdateRun
from holdfast.show.diff import brief_sections, row_count, section_text, sections_html
from holdfast.show.html import heading, sentences, view
from holdfast.show.update import path_lines, path_table, update_summary
from holdfast.text.lines import NO_BREAK, wrapped_lines
from holdfast.text.numbers import percent_text

WIDTH = 100  # columns of sentences
PATH = "The path, from the tree as it is to a fresh one"
POLICY = "The policy, line by line"


def update_run_text(run: UpdateRun, width: int = WIDTH) -> str:
    """What is taken, whom it touches and the verdict; then the path, what changes, and the policy."""
    paragraphs = ["\n".join(wrapped_lines(_unbroken(each), width)) for each in words(run)]
    path = "\n".join([PATH, *(f"  {line}".rstrip() for line in path_lines(run.update, width - 2))])
    return "\n\n".join([*paragraphs, path, *change_blocks(run, width), *policy_blocks(run)])


def words(run: UpdateRun) -> list[str]:
    """The paragraphs of an update in words."""
    step = run.facts["settings"]["take"]
    asked = "" if step is None else f"Step {step} of the path is asked for. "
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
        f"By the class that the trees say: {said[0]} swap-ins, {said[1]} swap-outs."
    )


def change_blocks(run: UpdateRun, width: int = WIDTH) -> list[str]:
    """The splits that changed, and the rows that get another answer."""
    return [section_text(section, width) for section in brief_sections(run.diff)]


def policy_blocks(run: UpdateRun) -> list[str]:
    """The lines of the policy, if there is one."""
    if run.verdict is None or not run.verdict.lines:
        return []
    table, *notes = run.verdict.text_blocks(brief=True)
    return ["\n".join([POLICY, *(f"  {line}" for line in table.splitlines())]), *notes]


def _unbroken(text: str) -> str:
    return text.replace(" %", f"{NO_BREAK}%").replace(" ± ", f"{NO_BREAK}±{NO_BREAK}")


# -- HTML -------------------------------------------------------------------------------------------------


def update_run_html(run: UpdateRun) -> str:
    """The same for a notebook, with the change rule by rule."""
    parts = [sentences(*words(run)), heading(PATH), path_table(run.update)]
    if run.verdict is not None and run.verdict.lines:
        parts += [heading(POLICY), run.verdict.html_table()]
    return view(*parts, sections_html(run.diff))
