"""The verdict on a change in words, as a table of text, and as HTML."""

from dataclasses import replace
from math import inf

from holdfast.show.html import sentences, table, view
from holdfast.stability.policy.verdict import PolicyLine, PolicyVerdict
from holdfast.text.lines import NO_BREAK, wrapped_lines
from holdfast.text.numbers import counted, fixed_text, number_text, percent_text, told_apart
from holdfast.text.table import filled, table_lines

WIDTH = 100  # columns of sentences
MOST_SUBGROUPS = 4  # that pass, and are told one by one
MOST_NAMED = 4  # lines that the summary names
FRACTIONS = {"max_threshold_shift", "max_flips", "max_negative_flips"}  # shown in percent
DIFFERENCES = {"score_margin", "subgroups"}  # shown with their sign
MARKS = {"passed": "pass", "failed": "FAIL", "not judged": "not judged"}


def verdict_summary(verdict: PolicyVerdict) -> str:
    """Whether the change keeps to the policy; and which lines fail, with figure and limit."""
    n_judged = len(verdict.lines) - len(verdict.not_judged)
    by_rows = f"judged by {counted(verdict.n_rows, 'row')}{_held_out_text(verdict)}"
    if not verdict.lines:
        return "The policy has no lines: nothing was judged."
    rest = f" {counted(len(verdict.not_judged), 'line')} could not be judged." if verdict.not_judged else ""
    if verdict.passed:
        return f"The change keeps to the policy: {_all_pass(n_judged)}, {by_rows}.{rest}"
    failed = [_failure_text(line) for line in verdict.failed]
    more = f"; and {len(failed) - MOST_NAMED} more" if len(failed) > MOST_NAMED else ""
    fail = f"{len(failed)} of {counted(n_judged, 'line')} {'fails' if len(failed) == 1 else 'fail'}"
    named = "; ".join(failed[:MOST_NAMED])
    return f"The change breaks the policy: {fail}, {by_rows}: {named}{more}.{rest}"


def _held_out_text(verdict: PolicyVerdict) -> str:
    """Which of the lines were judged by fewer rows, if any were."""
    if verdict.n_held_out is None:
        return ""
    rows = counted(verdict.n_held_out, "row")
    return f" (scores and calibration by {rows} held out)"


def _all_pass(n_judged: int) -> str:
    return "the one line passes" if n_judged == 1 else f"all {counted(n_judged, 'line')} pass"


def _failure_text(line: PolicyLine) -> str:
    """What failed, and why."""
    if line.sense == "permission":
        return f"{line.name} is never allowed, and {line.words}"
    figure, limit = figure_and_limit(line)
    return f"{_title(line)} is {figure}, and has to be {limit}"


def _title(line: PolicyLine) -> str:
    return f"{line.name} ({line.subject})" if line.subject else line.name


def verdict_text(verdict: PolicyVerdict) -> str:
    """The summary, the lines with figure and limit, and more on those that did not pass."""
    return "\n\n".join(["\n".join(_wrapped(verdict.summary)), *verdict_blocks(verdict)])


def verdict_blocks(verdict: PolicyVerdict, *, brief: bool = False) -> list[str]:
    """The lines with figure and limit, and more on those that did not pass: what is below the summary.

    If it is to be brief, of many subgroups that pass only the one with the least figure is told.
    """
    blocks = []
    if verdict.lines:
        told = replace(verdict, lines=_brief(verdict.lines)) if brief else verdict
        grid = filled(_grid(told))
        sides = "".join(">" if heading == "figure" else "<" for heading in grid[0])
        blocks.append("\n".join(table_lines(grid, sides=sides)))
    if notes := [note for line in verdict.lines if line.status != "passed" for note in _note(line)]:
        blocks.append("\n".join(notes))
    return blocks


def _brief(lines: tuple[PolicyLine, ...]) -> tuple[PolicyLine, ...]:
    passed = [line for line in lines if line.name == "subgroups" and line.status == "passed"]
    if len(passed) <= MOST_SUBGROUPS:
        return lines
    least = min(passed, key=lambda line: inf if line.figure is None else line.figure)
    told = replace(least, subject=f"{least.subject} (the least of {len(passed)})")
    return tuple(told if line is least else line for line in lines if line is least or line not in passed)


def verdict_html(verdict: PolicyVerdict) -> str:
    """The same for a notebook."""
    return view(verdict_parts(verdict))


def verdict_parts(verdict: PolicyVerdict) -> str:
    """The sentence and the table, for a larger view."""
    return f"{sentences(verdict.summary, strong=True)}{verdict_table(verdict)}"


def verdict_table(verdict: PolicyVerdict) -> str:
    """The lines as a table of HTML, with what each figure says; nothing if there are none."""
    return table(_grid(verdict, words=True), alerts=("FAIL",)) if verdict.lines else ""


def _grid(verdict: PolicyVerdict, *, words: bool = False) -> list[list[str]]:
    head = ["line", "of", "figure", "limit", "verdict"] + ["what it says"] * words
    return [head, *([*_cells(line), *[line.words] * words] for line in verdict.lines)]


def _cells(line: PolicyLine) -> list[str]:
    return [line.name, line.subject, *figure_and_limit(line), MARKS[line.status]]


def _note(line: PolicyLine) -> list[str]:
    return _wrapped(f"{_title(line)}: {line.words}.", "  ")


def _wrapped(text: str, rest: str = "") -> list[str]:
    """The sentences in lines, none of which begins with a percent sign."""
    return wrapped_lines(text.replace(" %", f"{NO_BREAK}%"), WIDTH, "", rest)


# -- numbers ----------------------------------------------------------------------------------------------


def figure_and_limit(line: PolicyLine) -> tuple[str, str]:
    """Both as text, with as many digits as it takes to see on which side of the limit the figure is."""
    limit = line.limit
    if isinstance(limit, str):
        return _number(line, line.figure), limit
    if isinstance(limit, tuple):
        return _number(line, line.figure), f"{number_text(limit[0])} to {number_text(limit[1])}"
    figure, bound = _number(line, line.figure), _number(line, limit)
    if line.figure is not None and figure == bound and line.figure != limit:
        scale, unit = (100.0, " %") if line.name in FRACTIONS else (1.0, "")
        figure, bound = (text + unit for text in told_apart(scale * line.figure, scale * limit))
    return figure, f"{line.sense} {bound}"


def _number(line: PolicyLine, number: float | None) -> str:
    if number is None:
        return ""
    if line.name in FRACTIONS:
        return percent_text(number)
    if line.name in DIFFERENCES:
        return fixed_text(number, 3, "+")
    return number_text(number, 4)
