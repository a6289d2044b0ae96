"""The verdict on a change: every line of the policy with its figure, its limit, and whether it passed."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from holdfast._text import distinct_texts, fixed_text, number_text, percent_text, pluralize
from holdfast._view import TextTable, View, ViewMixin
from holdfast.governance.policy import ChangePolicy

MOST_NAMED = 4  # lines that the summary names
FRACTIONS = {
    "max_threshold_shift",
    "max_flips",
    "max_negative_flips",
    "max_flips_of_firm",
}  # shown in percent
DIFFERENCES = {"score_margin", "subgroups"}  # shown with their sign
MARKS = {"passed": "pass", "failed": "FAIL", "not judged": "not judged"}
TONES = {"pass": "good", "FAIL": "bad", "not judged": "warn"}
Status = Literal["passed", "failed", "not judged"]
Sense = Literal["at most", "at least", "within", "permission"]


@dataclass(frozen=True)
class PolicyLine:
    """One line of a policy, judged."""

    name: str  # of the line
    subject: str  # the subgroup, column or class that it is about; empty if it is about the whole
    figure: float | None  # None where it cannot be told, or nothing has one
    limit: float | tuple[float, float] | str  # what it is held against
    sense: Sense  # how: the figure may be at most, or at least, the limit; within it; or permitted or not
    status: Status
    words: str  # what the figure means


@dataclass(frozen=True)
class PolicyVerdict(ViewMixin):
    """How a change stands to a policy, line by line."""

    policy: ChangePolicy
    lines: tuple[PolicyLine, ...]
    n_rows: int  # that it was judged by
    n_held_out: int | None = None  # of them, that scores and calibration were judged by; None: by all

    @property
    def passed(self) -> bool:
        """True if no line failed. Lines that could not be judged do not fail."""
        return not self.failed

    @property
    def failed(self) -> tuple[PolicyLine, ...]:
        """The lines that failed."""
        return tuple(line for line in self.lines if line.status == "failed")

    @property
    def not_judged(self) -> tuple[PolicyLine, ...]:
        """The lines that the rows, or the kind of the target, gave no figure for."""
        return tuple(line for line in self.lines if line.status == "not judged")

    @property
    def summary(self) -> str:
        """Whether the change keeps to the policy; and which lines fail, with figure and limit."""
        n_judged = len(self.lines) - len(self.not_judged)
        by_rows = f"judged by {pluralize(self.n_rows, 'row')}{_held_out_text(self)}"
        if not self.lines:
            return "The policy has no lines: nothing was judged."
        rest = f" {pluralize(len(self.not_judged), 'line')} could not be judged." if self.not_judged else ""
        if self.passed:
            return f"The change keeps to the policy: {_all_pass(n_judged)}, {by_rows}.{rest}"
        failed = [_failure_text(line) for line in self.failed]
        more = f"; and {len(failed) - MOST_NAMED} more" if len(failed) > MOST_NAMED else ""
        fail = f"{len(failed)} of {pluralize(n_judged, 'line')} {'fails' if len(failed) == 1 else 'fail'}"
        named = "; ".join(failed[:MOST_NAMED])
        return f"The change breaks the policy: {fail}, {by_rows}: {named}{more}.{rest}"

    def table(self, *, words: bool = False) -> TextTable | str:
        """Return the lines with figure, limit and verdict, or "" without lines.

        `words` adds the meaning of each figure; without it a note explains the lines that did not pass.
        """
        if not self.lines:
            return ""
        headings = ["line", "of", "figure", "limit", "verdict", "meaning"]
        rows = [
            [
                line.name,
                line.subject,
                *figure_and_limit(line),
                MARKS[line.status],
                line.words if words else "",
            ]
            for line in self.lines
        ]
        notes = [f"{_title(line)}: {line.words}." for line in self.lines if line.status != "passed"]
        note = "" if words else "\n".join(notes)
        return TextTable(headings, rows, title="Change policy", note=note, sides="<<><<<", tones=TONES)

    def _view(self) -> View:
        return View(self.summary, self.table())

    def to_dict(self) -> dict[str, Any]:
        """All of it but the policy, as JSON has it."""
        lines = [asdict(line) for line in self.lines]
        for line in lines:
            if isinstance(line["limit"], tuple):
                line["limit"] = list(line["limit"])
        return {"passed": self.passed, "n_rows": self.n_rows, "summary": self.summary, "lines": lines}


def _held_out_text(verdict: PolicyVerdict) -> str:
    """Which of the lines were judged by fewer rows, if any were."""
    if verdict.n_held_out is None:
        return ""
    rows = pluralize(verdict.n_held_out, "row")
    return f" (scores and calibration by {rows} held out)"


def _all_pass(n_judged: int) -> str:
    return "the one line passes" if n_judged == 1 else f"all {pluralize(n_judged, 'line')} pass"


def _failure_text(line: PolicyLine) -> str:
    """What failed, and why."""
    if line.sense == "permission":
        return f"{line.name} is never allowed, and {line.words}"
    figure, limit = figure_and_limit(line)
    return f"{_title(line)} is {figure}, and has to be {limit}"


def _title(line: PolicyLine) -> str:
    return f"{line.name} ({line.subject})" if line.subject else line.name


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
        figure, bound = (text + unit for text in distinct_texts(scale * line.figure, scale * limit))
    return figure, f"{line.sense} {bound}"


def _number(line: PolicyLine, number: float | None) -> str:
    if number is None:
        return ""
    if line.name in FRACTIONS:
        return percent_text(number)
    if line.name in DIFFERENCES:
        return fixed_text(number, 3, "+")
    return number_text(number, 4)
