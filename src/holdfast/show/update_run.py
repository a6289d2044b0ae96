"""An update run: what is taken and whom it touches, in sentences; then the path, the change, the policy."""

from holdfast.runs.update_result import UpdateRun
from holdfast.show.diff import brief_sections, section_text, sections_html
from holdfast.show.html import heading, sentences, view
from holdfast.show.policy import verdict_blocks, verdict_table
from holdfast.show.update import path_lines, path_table, update_summary
from holdfast.text.lines import NO_BREAK, wrapped_lines

WIDTH = 100  # columns of sentences
PATH = "The path, from the tree as it is to a fresh one"
POLICY = "The policy, line by line"


def update_run_text(run: UpdateRun, width: int = WIDTH) -> str:
    """What is taken, whom it touches and the verdict; then the path, what changes, and the policy."""
    paragraphs = ["\n".join(wrapped_lines(_unbroken(each), width)) for each in words(run)]
    path = "\n".join([PATH, *(f"  {line}" for line in path_lines(run.update, width - 2))])
    return "\n\n".join([*paragraphs, path, *change_blocks(run, width), *policy_blocks(run)])


def words(run: UpdateRun) -> list[str]:
    """The paragraphs of an update in words."""
    step = run.facts["settings"]["take"]
    asked = "" if step is None else f"Step {step} of the path is asked for. "
    found = [f"{asked}{update_summary(run.update)}"]
    if not run.diff.is_empty:
        found.append(run.diff.summary)
    if run.verdict is not None:
        found.append(run.verdict.summary)
    return found + [f"Note: {note}" for note in [run.facts["model"]["taken_over"]] if note]


def change_blocks(run: UpdateRun, width: int = WIDTH) -> list[str]:
    """The splits that changed, and the rows that get another answer."""
    return [section_text(section, width) for section in brief_sections(run.diff)]


def policy_blocks(run: UpdateRun) -> list[str]:
    """The lines of the policy, if there is one."""
    if run.verdict is None or not run.verdict.lines:
        return []
    table, *notes = verdict_blocks(run.verdict, brief=True)
    return ["\n".join([POLICY, *(f"  {line}" for line in table.splitlines())]), *notes]


def _unbroken(text: str) -> str:
    return text.replace(" %", f"{NO_BREAK}%").replace(" ± ", f"{NO_BREAK}±{NO_BREAK}")


# -- HTML -------------------------------------------------------------------------------------------------


def update_run_html(run: UpdateRun) -> str:
    """The same for a notebook, with the change rule by rule."""
    parts = [sentences(*words(run)), heading(PATH), path_table(run.update)]
    if run.verdict is not None and run.verdict.lines:
        parts += [heading(POLICY), verdict_table(run.verdict)]
    return view(*parts, sections_html(run.diff))
