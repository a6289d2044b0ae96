"""The text of a question: its syntax tree, and errors that point at a place in it."""

import ast
import re
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from keyword import iskeyword
from typing import Any

from holdfast.data.schema import Label
from holdfast.errors import QuestionError
from holdfast.text.lists import joined

LONGEST_TEXT = 1_000  # characters
DEEPEST_NESTING = 64  # levels of the syntax tree
FUNCTIONS = ("abs", "ceil", "exp", "floor", "log", "log10", "log2", "max", "min", "round", "sqrt")
ALLOWED = (
    "Allowed are columns (in backticks if the name is not an identifier), numbers, text in quotes, "
    "True, False, + - * / // % **, == != < <= > >=, in, not in, and, or, not, and the functions "
    f"{', '.join(FUNCTIONS)}."
)

_PIECES = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`|\s|\#""", re.DOTALL)


@dataclass(frozen=True)
class QuestionText:
    """The text of a question and its syntax tree."""

    text: str

    def syntax(self) -> ast.expr:
        """The syntax tree, which is never executed."""
        if len(self.text) > LONGEST_TEXT:
            raise self.error(
                f"it has {len(self.text):,} characters and at most {LONGEST_TEXT:,} are read",
                "Ask several shorter questions.",
            )
        source = self._source.lstrip()
        if not source:
            raise self.error("it is empty")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python's remarks on escapes and the like
                tree = ast.parse(source, mode="eval").body
        except SyntaxError as error:
            raise self._syntax_error(error) from None
        except (ValueError, MemoryError, RecursionError) as error:
            raise self.error(f"it cannot be read ({error or 'it is nested too deeply'})") from None
        self._check_nesting(tree)
        return tree

    def piece(self, node: ast.expr) -> str:
        """Return the source text of a node; Python would normalise names (micro sign to Greek mu)."""
        return self.text[self._character(node.col_offset) : self._character(node.end_col_offset)]

    def error(self, problem: str, remedy: str = ALLOWED) -> QuestionError:
        """Make an error about the whole text."""
        return QuestionError(f"Cannot ask {clip_text(self.text)!r}: {problem}. {remedy}")

    def error_at(self, node: ast.expr, problem: str, remedy: str = ALLOWED) -> QuestionError:
        """Make an error about one piece of the text, with its place."""
        return self._error_from(self._character(node.col_offset), self.piece(node), problem, remedy)

    def _error_from(self, begin: int, piece: str, problem: str, remedy: str = ALLOWED) -> QuestionError:
        return self.error(f"{clip_text(piece)!r} at character {begin + 1} {problem}", remedy)

    def _syntax_error(self, error: SyntaxError) -> QuestionError:
        begin = min(self._indent + max(error.offset or 1, 1) - 1, len(self.text))
        piece = self.text[begin:]
        reason = "compare with ==, not with =" if re.match(r"=(?!=)", piece) else error.msg
        return self._error_from(begin, piece, f"cannot be read ({reason})")

    def _check_nesting(self, tree: ast.expr) -> None:
        # Level by level: a recursive walk could itself run out of stack.
        level: list[ast.AST] = [tree]
        for _ in range(DEEPEST_NESTING):
            level = [child for node in level for child in ast.iter_child_nodes(node)]
        if level:
            raise self.error(
                f"it is nested more than {DEEPEST_NESTING} levels deep", "Ask several simpler questions."
            )

    @cached_property
    def _source(self) -> str:
        """Make the text parsable by Python without moving any character."""
        return _PIECES.sub(self._parsable, self.text)

    @property
    def _indent(self) -> int:
        return len(self._source) - len(self._source.lstrip())

    def _character(self, byte: int | None) -> int:
        # The syntax tree counts bytes; people count characters.
        return self._indent + len(self._source.lstrip().encode()[:byte].decode())

    def _parsable(self, match: re.Match[str]) -> str:
        piece = match[0]
        if piece == "#":
            raise self._error_from(match.start(), piece, "begins a comment, which is not allowed")
        if piece.startswith("`"):
            return "_" * len(piece)
        return " " if piece.isspace() else piece


def clip_text(text: str) -> str:
    """Clip a long text."""
    return text if len(text) <= 60 else text[:57] + "..."


def quote_name(name: str) -> str:
    """Quote the name of a column as questions must write it."""
    return name if name.isidentifier() and not iskeyword(name) else f"`{name}`"


def suggest_names(wrong: Label, kind: str, names: Collection[Label], spelling: Callable[[Any], str]) -> str:
    """Suggest the names closest to a wrong one, or list all if none is close."""
    spelt = {str(name).lower(): spelling(name) for name in names}
    close = get_close_matches(str(wrong).lower(), spelt, n=3)
    if close:
        return f"Did you mean {' or '.join(spelt[name] for name in close)}?"
    return f"The {kind} are {joined([spelling(name) for name in names])}."
