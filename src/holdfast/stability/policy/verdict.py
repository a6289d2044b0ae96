"""The verdict on a change: every line of the policy with its figure, its limit, and whether it passed."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from holdfast.shown import shown
from holdfast.stability.policy.forms import Interval
from holdfast.stability.policy.policy import ChangePolicy

Status = Literal["passed", "failed", "not judged"]
Sense = Literal["at most", "at least", "within", "permission"]


@dataclass(frozen=True)
class PolicyLine:
    """One line of a policy, judged."""

    name: str  # of the line
    subject: str  # the subgroup, column or class that it is about; empty if it is about the whole
    figure: float | None  # None where it cannot be told, or nothing has one
    limit: float | Interval | str  # what it is held against
    sense: Sense  # how: the figure may be at most, or at least, the limit; within it; or permitted or not
    status: Status
    words: str  # what the figure means


@dataclass(frozen=True)
class PolicyVerdict:
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
        """The verdict in a sentence or two."""
        return shown("verdict_summary", self)

    def __str__(self) -> str:
        return shown("verdict_text", self)

    def _repr_html_(self) -> str:
        return shown("verdict_html", self)

    def to_dict(self) -> dict[str, Any]:
        """All of it but the policy, as JSON has it."""
        lines = [asdict(line) for line in self.lines]
        for line in lines:
            if isinstance(line["limit"], tuple):
                line["limit"] = list(line["limit"])
        return {"passed": self.passed, "n_rows": self.n_rows, "summary": self.summary, "lines": lines}
