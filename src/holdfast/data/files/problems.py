"""Columns of a file that cannot be read as they are, collected into one message."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.errors import DataError
from holdfast.text.lists import listed

MOST_PROBLEMS = 4  # in one message
MOST_NAMES = 3  # in one parameter
_PARAMETER = re.compile(r"([a-z]+)=\{\}(:[a-z]+)?")


@dataclass(frozen=True)
class Problem:
    """A column whose cells need a parameter to be read rightly."""

    column: str
    content: str  # what it holds
    example: str  # a cell of it, and where that is
    way_out: str  # in "drop={}" the braces stand for the name, or the list of names, of the columns


class UnreadableColumn(DataError):  # noqa: N818 (the name says what is wrong)
    """A column can only be read with a parameter that the user must set."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(format_problems([problem]))
        self.problem = problem


def format_problems(problems: Sequence[Problem]) -> str:
    """Format the problems, those of one kind together."""
    kinds: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        kinds.setdefault((problem.content, problem.way_out), []).append(problem)
    texts = list(map(_kind_text, kinds.values()))
    rest = len(texts) - MOST_PROBLEMS
    return " Also, ".join(texts[:MOST_PROBLEMS]) + (f" There are {rest} more problems." if rest > 0 else "")


def _kind_text(problems: Sequence[Problem]) -> str:
    first = problems[0]
    names = [problem.column for problem in problems]
    if len(names) == 1:
        return f"column {names[0]!r} holds {first.content}{first.example}: {_fill(first.way_out, names)}."
    example = f"{first.example} of column {names[0]!r}"
    return f"columns {listed(names, 5)} hold {first.content}{example}: {_fill(first.way_out, names)}."


def _fill(way_out: str, names: Sequence[str]) -> str:
    def parameter(match: re.Match[str]) -> str:
        values = [repr(name + (match[2] or "")) for name in names[:MOST_NAMES]]
        rest = ["..."] if len(names) > MOST_NAMES else []
        return f"{match[1]}=" + (values[0] if len(names) == 1 else f"[{', '.join(values + rest)}]")

    return _PARAMETER.sub(parameter, way_out)
