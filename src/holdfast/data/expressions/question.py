"""Questions a user writes, such as `bmi ** 2 < 900`: a small language, read without running any code."""

import ast
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from sys import float_info
from typing import Literal, Never

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.data.expressions.expression import Column, Constant, Expression, Lookup, Operation
from holdfast.data.expressions.question_columns import QuestionColumns
from holdfast.data.expressions.syntax import FUNCTIONS, QuestionText, quote_name, suggest_names
from holdfast.data.schema import Feature, Label
from holdfast.text.lists import joined

_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_MEANT: dict[type, str] = {
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "**",
    ast.Invert: "not",
    ast.Is: "==",
    ast.IsNot: "!=",
}
_KINDS = {"number": "a number", "boolean": "a yes or no", "category": "a category", "text": "text"}
_EXAMPLE = "For example: bmi ** 2 < 900, or sex == 'female' and age > 60."
_HINTS = {
    "boolean": "A yes or no is not compared or counted: join it to others with and, or, not.",
    "category": "Compare the column with its categories, as in sex == 'female'.",
    "text": "Text in quotes is compared with a column of categories, as in sex == 'female'.",
}


@dataclass(frozen=True)
class Question:
    """A yes/no question about the columns, as its author wrote it."""

    text: str
    columns: tuple[int, ...]  # indices of the columns it reads, in the order in which `answers` takes them
    expression: Expression

    def answers(self, columns: Sequence[FloatArray]) -> FloatArray:
        """Evaluate to 1 for yes, 0 for no, NaN where an unknown value leaves the answer open.

        Columns are encoded as in a table: a category is its index in `Feature.categories`.
        """
        with np.errstate(all="ignore"):
            return self.expression.values(columns)


def parse_question(text: str, features: Sequence[Feature]) -> Question:
    """Parse a question about these features.

    >>> question = parse_question("bmi ** 2 < 900", [Feature("age"), Feature("bmi")])
    >>> question.columns
    (1,)
    >>> question.answers([np.array([20.0, 40.0, np.nan])])
    array([ 1.,  0., nan])
    """
    return next(parse_questions([text], features))


def parse_questions(texts: Iterable[str], features: Sequence[Feature]) -> Iterator[Question]:
    """Parse several questions about the same features."""
    if not (texts := list(texts)):
        return
    columns = QuestionColumns(features)
    for text in texts:
        reading = _Reading(text, columns)
        expression = reading.boolean(reading.text.syntax())
        if not reading.positions:
            names = joined([quote_name(name) for name in columns.indices])
            raise reading.text.error("it asks about no column", f"The columns are {names}.")
        yield Question(text, tuple(reading.positions), expression)


@dataclass(frozen=True)
class _Categories:
    """A categorical column read by the question."""

    feature: Feature
    position: int


@dataclass(frozen=True)
class _Term:
    """A parsed piece of a question with its type."""

    node: ast.expr
    kind: Literal["number", "boolean", "category", "text"]
    expression: Expression
    literal: Label | None = None  # the value, if the piece is a constant
    column: _Categories | None = None  # if the piece is one


class _Reading:
    """Parser of one question; collects the columns it reads."""

    def __init__(self, text: str, columns: QuestionColumns) -> None:
        self.text = QuestionText(text)
        self.error_at = self.text.error_at
        self.columns = columns
        self.features, self.indices = columns.features, columns.indices
        self.positions: dict[int, int] = {}  # from the index of a column to its place among those met

    # -- what is asked for ----------------------------------------------------------------------------

    def boolean(self, node: ast.expr) -> Expression:
        """Parse a piece that must be true or false."""
        term = self.term(node)
        if term.kind == "boolean":
            return term.expression
        if term.column and all(isinstance(category, bool) for category in term.column.feature.categories):
            booleans = (float(category) for category in term.column.feature.categories)
            return Lookup(term.column.position, tuple(booleans))
        raise self.error_at(
            node, f"is {_KINDS[term.kind]}, not a yes/no question: compare it with something", _EXAMPLE
        )

    def number(self, node: ast.expr) -> Expression:
        """Parse a piece that must be a number."""
        return self._as_number(self.term(node)).expression

    def term(self, node: ast.expr) -> _Term:
        """Parse a piece of any type."""
        match node:
            case ast.Constant():
                return self._constant(node)
            case ast.Name():
                return self._column(node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BinOp():
                name = _ARITHMETIC.get(type(node.op)) or self._unsupported(node, node.op)
                operands = self.number(node.left), self.number(node.right)
                return _Term(node, "number", Operation(name, operands))
            case ast.Call():
                return self._function(node)
            case ast.Compare():
                return _Term(node, "boolean", self._comparison(node))
            case ast.BoolOp():
                name = "and" if isinstance(node.op, ast.And) else "or"
                return _Term(node, "boolean", Operation(name, tuple(map(self.boolean, node.values))))
        return self._unsupported(node)

    # -- single pieces --------------------------------------------------------------------------------

    def _constant(self, node: ast.Constant) -> _Term:
        value = node.value
        if isinstance(value, bool):
            return _Term(node, "boolean", Constant(float(value)), literal=value)
        if isinstance(value, str):
            return _Term(node, "text", Constant(math.nan), literal=value)
        if not isinstance(value, int | float):
            return self._unsupported(node)
        if abs(value) > float_info.max:
            raise self.error_at(node, "is too large a number", f"The largest is {float_info.max:.2g}.")
        return _Term(node, "number", Constant(float(value)), literal=value)

    def _column(self, node: ast.Name) -> _Term:
        name = self.text.piece(node).removeprefix("`").removesuffix("`")
        if name not in self.indices:
            raise self.error_at(
                node, "is not a column", suggest_names(name, "columns", self.indices, quote_name)
            )
        index = self.indices[name]
        position = self.positions.setdefault(index, len(self.positions))
        if self.features[index].kind == "numeric":
            return _Term(node, "number", Column(position))
        return _Term(node, "category", Column(position), column=_Categories(self.features[index], position))

    def _unary(self, node: ast.UnaryOp) -> _Term:
        if isinstance(node.op, ast.Not):
            return _Term(node, "boolean", Operation("not", (self.boolean(node.operand),)))
        if isinstance(node.op, ast.Invert):
            return self._unsupported(node, node.op)
        operand = self._as_number(self.term(node.operand))
        if isinstance(node.op, ast.UAdd):
            return operand
        # A category may be a negative number, so -1 is a constant like 1.
        literal = -operand.literal if isinstance(operand.literal, int | float) else None
        return _Term(node, "number", Operation("negative", (operand.expression,)), literal)

    def _function(self, node: ast.Call) -> _Term:
        name, count = self.text.piece(node.func), len(node.args)
        if name not in FUNCTIONS:
            raise self.error_at(node.func, "is not a function of the language")
        if node.keywords:
            raise self.error_at(
                node.keywords[0].value, f"is given to {name} by keyword, which is not allowed"
            )
        if name in ("max", "min") and count < 2:
            raise self.error_at(node, f"gives {count} value(s) to {name}", "It takes two or more.")
        if name not in ("max", "min") and count != 1:
            raise self.error_at(node, f"gives {count} values to {name}", "It takes exactly one.")
        return _Term(node, "number", Operation(name, tuple(map(self.number, node.args))))

    # -- comparisons ----------------------------------------------------------------------------------

    def _comparison(self, node: ast.Compare) -> Expression:
        if any(isinstance(link, ast.In | ast.NotIn) for link in node.ops):
            return self._membership(node)
        names = [_COMPARISONS.get(type(link)) or self._unsupported(node, link) for link in node.ops]
        terms = [self.term(operand) for operand in (node.left, *node.comparators)]
        links = tuple(map(self._link, terms, names, terms[1:]))
        return links[0] if len(links) == 1 else Operation("and", links)

    def _link(self, left: _Term, name: str, right: _Term) -> Expression:
        if left.column and right.column:
            pair = self.columns.pair(left.column.feature, right.column.feature)
            if name not in ("==", "!=") and not pair.is_ordered:
                problem = f"and {quote_name(right.column.feature.name)} have no order in common"
                raise self.error_at(left.node, problem, "Compare the two with == or !=.")
            return Operation(
                name, (Lookup(left.column.position, pair.left), Lookup(right.column.position, pair.right))
            )
        if left.column:
            right = self._as_category(right, left.column.feature, name)
        elif right.column:
            left = self._as_category(left, right.column.feature, name)
        else:
            # Never booleans: a chain of chains of them would double the work at every level.
            left, right = self._as_number(left), self._as_number(right)
        return Operation(name, (left.expression, right.expression))

    def _membership(self, node: ast.Compare) -> Expression:
        if len(node.ops) > 1:
            raise self.error_at(node, "chains `in` with another comparison", "Join the two with `and`.")
        value, choices = self.term(node.left), node.comparators[0]
        if not isinstance(choices, ast.Tuple | ast.List | ast.Set) or not choices.elts:
            raise self.error_at(choices, "is not a list of values", "Write one, as in city in ('a', 'b').")
        terms = [self.term(choice) for choice in choices.elts]
        for term in terms:
            if term.literal is None:
                raise self.error_at(term.node, "is not a constant", "After `in` stand numbers or text.")
        if value.column:
            terms = [self._as_category(term, value.column.feature, "in") for term in terms]
        else:
            value, *terms = map(self._as_number, (value, *terms))
        found = Operation("in", (value.expression, *(term.expression for term in terms)))
        return found if isinstance(node.ops[0], ast.In) else Operation("not", (found,))

    # -- sorts ----------------------------------------------------------------------------------------

    def _as_number(self, term: _Term) -> _Term:
        if term.kind != "number":
            raise self.error_at(term.node, f"is {_KINDS[term.kind]}, not a number", _HINTS[term.kind])
        return term

    def _as_category(self, term: _Term, feature: Feature, name: str) -> _Term:
        """Return the index of the category that the constant names."""
        column = quote_name(feature.name)
        if term.literal is None:
            raise self.error_at(
                term.node, f"is {_KINDS[term.kind]}, not a category of {column}", _HINTS["category"]
            )
        codes = self.columns.codes(feature)
        if term.literal not in codes:
            remedy = suggest_names(term.literal, "categories", feature.categories, repr)
            raise self.error_at(term.node, f"is not a category of {column}", remedy)
        if name not in ("==", "!=", "in") and feature.kind != "ordered":
            problem = f"is compared by {name}, and the categories of {column} have no order"
            raise self.error_at(term.node, problem, "Use ==, != or in.")
        return _Term(term.node, "category", Constant(codes[term.literal]))

    def _unsupported(self, node: ast.expr, sign: ast.AST | None = None) -> Never:
        piece = self.text.piece(node)
        if type(sign) in _MEANT:
            raise self.error_at(
                node, "has a sign that is not allowed", f"Write `{_MEANT[type(sign)]}` instead."
            )
        if piece in self.indices:
            raise self.error_at(node, "is not allowed", f"Write the column as {quote_name(piece)}.")
        raise self.error_at(node, "is not allowed")
