"""What keeps columns of a file from being read, gathered so that one message has all of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote

from holdfast.errors import DataError
from holdfast.text.lists import listed

MOST_PROBLEMS = 4  # in one message
MOST_OPTIONS = 3  # one for each column
_OPTION = re.compile(r"(--[a-z]+) \{\}(:[a-z]+)?")


@dataclass(frozen=True)
class Problem:
    """A column that would be read as something it is not."""

    column: str
    content: str  # what it holds
    example: str  # a cell of it, and where that is
    way_out: str  # what to type; "--drop {}" becomes the option for each of the columns


class UnreadableColumn(DataError):  # noqa: N818 (the name says what is wrong)
    """A column cannot be read without a word of the user."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(format_problems([problem]))
        self.problem = problem


def format_problems(problems: Sequence[Problem]) -> str:
    """All problems in words, those of the same kind together."""
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
        return f"column {names[0]!r} holds {first.content}{first.example}: {_options(first.way_out, names)}."
    example = f"{first.example} of column {names[0]!r}"
    return f"columns {listed(names, 5)} hold {first.content}{example}: {_options(first.way_out, names)}."


def _options(way_out: str, names: Sequence[str]) -> str:
    def spelt_out(match: re.Match[str]) -> str:
        option, form = match[1], match[2] or ""
        options = [f"{option} {quote(name + form)}" for name in names[:MOST_OPTIONS]]
        return " ".join(options) + (" ..." if len(names) > MOST_OPTIONS else "")

    return _OPTION.sub(spelt_out, way_out)
