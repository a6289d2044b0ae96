"""Custom features such as `bmi ** 2 < 900`: a small expression language, parsed without running code."""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, partial, reduce
from keyword import iskeyword
from sys import float_info
from typing import Any, Literal, Never, Protocol

import numpy as np

from holdfast._arrays import FloatArray
from holdfast._text import join_parts, quoted
from holdfast.data.schema import Feature, Label, Schema
from holdfast.errors import CustomFeatureError, DataError, SchemaMismatch

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
_SUGGESTED: dict[type, str] = {
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "**",
    ast.Invert: "not",
    ast.Is: "==",
    ast.IsNot: "!=",
}
_KINDS = {"number": "a number", "boolean": "true or false", "category": "a category", "text": "text"}
_EXAMPLE = "For example: bmi ** 2 < 900, or sex == 'female' and age > 60."
_HINTS = {
    "boolean": "True and false are not compared or added: combine conditions with and, or, not.",
    "category": "Compare the column with its categories, as in sex == 'female'.",
    "text": "Text in quotes is compared with a column of categories, as in sex == 'female'.",
}


@dataclass(frozen=True)
class CustomFeature:
    """A true/false feature computed from other columns, as the user wrote it."""

    text: str
    columns: tuple[int, ...]  # indices of the columns it reads, in the order in which `evaluate` takes them
    expression: Expression

    def evaluate(self, columns: Sequence[FloatArray]) -> FloatArray:
        """Evaluate to 1 for true, 0 for false, NaN where missing values leave it undecided.

        Columns are encoded as in a table: a category is its index in `Feature.categories`.
        """
        with np.errstate(all="ignore"):
            return self.expression.values(columns)


def parse_custom_feature(text: str, features: Sequence[Feature]) -> CustomFeature:
    """Parse a custom feature over these columns.

    >>> obese = parse_custom_feature("bmi ** 2 > 900", [Feature("age"), Feature("bmi")])
    >>> obese.columns
    (1,)
    >>> obese.evaluate([np.array([20.0, 40.0, np.nan])])
    array([ 0.,  1., nan])
    """
    return next(parse_custom_features([text], features))


def parse_custom_features(texts: Iterable[str], features: Sequence[Feature]) -> Iterator[CustomFeature]:
    """Parse several custom features over the same columns."""
    if not (texts := list(texts)):
        return
    parser = _Parser(features)
    for text in texts:
        yield parser.parse(text)


def read_custom_features(custom_features: Any) -> tuple[str, ...]:
    """Return the parameter `custom_features` as a tuple of texts."""
    if isinstance(custom_features, str):
        raise DataError(f"custom_features must be a list of texts: write [{custom_features!r}].")
    if not isinstance(custom_features, Iterable):
        raise TypeError(f"custom_features is {custom_features!r}: it must be a list of texts: ['age > 60'].")
    texts = tuple(custom_features)
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(
                f"custom_features[{position}] is {text!r}: it must be a text, such as 'age > 60'."
            )
    return tuple(map(str, texts))


def check_same_custom_features(texts: Sequence[str], schema: Schema) -> None:
    """Raise a SchemaMismatch unless the custom features are those of the schema."""
    if texts and texts != schema.custom_features:
        raise SchemaMismatch(
            f"The schema has the custom features {list(schema.custom_features)}, got {list(texts)}. "
            "Leave custom_features out: those of the schema are computed anyway."
        )


def make_custom_features(texts: Sequence[str], names: Sequence[str]) -> tuple[Feature, ...]:
    """Make the features of these texts, all different from each other and from the names of the columns."""
    repeated = sorted({text for text in texts if [*names, *texts].count(text) > 1})
    if repeated:
        raise DataError(
            f"Several custom features or columns have the same text: {quoted(repeated)}. Keep one of each."
        )
    return tuple(Feature(text, "question", categories=(False, True)) for text in texts)


def evaluate_custom_features(
    texts: Sequence[str], features: Sequence[Feature], columns: Sequence[FloatArray]
) -> Iterator[FloatArray]:
    """Parse all custom features, then evaluate them one by one on the columns of these features."""
    for feature in list(parse_custom_features(texts, features)):
        yield feature.evaluate([columns[index] for index in feature.columns])


@dataclass(frozen=True)
class _Term:
    """A parsed part of an expression with its type."""

    node: ast.expr
    kind: Literal["number", "boolean", "category", "text"]
    expression: Expression
    literal: Label | None = None  # the value, if the part is a constant
    feature: Feature | None = None  # if the part is a categorical column
    position: int = 0  # of that column among those read


class _Parser:
    """Parser of custom features over the same columns."""

    text: FeatureText
    positions: dict[int, int]  # from the index of a column to its position among those read

    def __init__(self, features: Sequence[Feature]) -> None:
        self.features = features
        self.indices = {column.name: i for i, column in enumerate(features) if column.kind != "question"}
        self._codes: dict[str, dict[Label, float]] = {}
        self._pairs: dict[tuple[str, str], tuple[tuple[float, ...], tuple[float, ...], bool]] = {}

    def parse(self, text: str) -> CustomFeature:
        """Parse one custom feature."""
        self.text, self.positions = FeatureText(text), {}
        expression = self.boolean(self.text.syntax())
        if not self.positions:
            names = join_parts([quote_name(name) for name in self.indices])
            raise self.text.error("it uses no column", f"The columns are {names}.")
        return CustomFeature(text, tuple(self.positions), expression)

    def boolean(self, node: ast.expr) -> Expression:
        """Parse a part that must be true or false."""
        term = self.term(node)
        if term.kind == "boolean":
            return term.expression
        if term.feature and all(isinstance(category, bool) for category in term.feature.categories):
            return Lookup(term.position, tuple(map(float, term.feature.categories)))
        raise self.text.error_at(
            node, f"is {_KINDS[term.kind]}, not true or false: compare it with something", _EXAMPLE
        )

    def number(self, node: ast.expr) -> Expression:
        """Parse a part that must be a number."""
        return self._as_number(self.term(node)).expression

    def term(self, node: ast.expr) -> _Term:
        """Parse a part of any type."""
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

    # -- operands --------------------------------------------------------------------------------------------

    def _constant(self, node: ast.Constant) -> _Term:
        value = node.value
        if isinstance(value, bool):
            return _Term(node, "boolean", Constant(float(value)), literal=value)
        if isinstance(value, str):
            return _Term(node, "text", Constant(math.nan), literal=value)
        if not isinstance(value, int | float):
            return self._unsupported(node)
        if abs(value) > float_info.max:
            raise self.text.error_at(node, "is too large a number", f"The largest is {float_info.max:.2g}.")
        return _Term(node, "number", Constant(float(value)), literal=value)

    def _column(self, node: ast.Name) -> _Term:
        name = self.text.piece(node).removeprefix("`").removesuffix("`")
        if name not in self.indices:
            raise self.text.error_at(
                node, "is not a column", suggest_names(name, "columns", self.indices, quote_name)
            )
        index = self.indices[name]
        position = self.positions.setdefault(index, len(self.positions))
        if self.features[index].kind == "numeric":
            return _Term(node, "number", ColumnValue(position))
        feature = self.features[index]
        return _Term(node, "category", ColumnValue(position), feature=feature, position=position)

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
            raise self.text.error_at(node.func, "is not a function of the language")
        if node.keywords:
            raise self.text.error_at(
                node.keywords[0].value, f"is a keyword argument of {name}, which is not allowed"
            )
        if name in ("max", "min") and count < 2:
            raise self.text.error_at(node, f"has {count} argument(s) for {name}", "It takes two or more.")
        if name not in ("max", "min") and count != 1:
            raise self.text.error_at(node, f"has {count} arguments for {name}", "It takes exactly one.")
        return _Term(node, "number", Operation(name, tuple(map(self.number, node.args))))

    # -- comparisons -----------------------------------------------------------------------------------------

    def _comparison(self, node: ast.Compare) -> Expression:
        if any(isinstance(link, ast.In | ast.NotIn) for link in node.ops):
            return self._membership(node)
        names = [_COMPARISONS.get(type(link)) or self._unsupported(node, link) for link in node.ops]
        terms = [self.term(operand) for operand in (node.left, *node.comparators)]
        links = tuple(map(self._compare, terms, names, terms[1:]))
        return links[0] if len(links) == 1 else Operation("and", links)

    def _compare(self, left: _Term, name: str, right: _Term) -> Expression:
        if left.feature and right.feature:
            codes, other_codes, is_ordered = self._pair_codes(left.feature, right.feature)
            if name not in ("==", "!=") and not is_ordered:
                problem = f"and {quote_name(right.feature.name)} have no order in common"
                raise self.text.error_at(left.node, problem, "Compare the two with == or !=.")
            return Operation(name, (Lookup(left.position, codes), Lookup(right.position, other_codes)))
        if left.feature:
            right = self._as_category(right, left.feature, name)
        elif right.feature:
            left = self._as_category(left, right.feature, name)
        else:
            # Never booleans: a chain of chains of them would double the work at every level.
            left, right = self._as_number(left), self._as_number(right)
        return Operation(name, (left.expression, right.expression))

    def _membership(self, node: ast.Compare) -> Expression:
        if len(node.ops) > 1:
            raise self.text.error_at(node, "chains `in` with another comparison", "Join the two with `and`.")
        value, choices = self.term(node.left), node.comparators[0]
        if not isinstance(choices, ast.Tuple | ast.List | ast.Set) or not choices.elts:
            raise self.text.error_at(
                choices, "is not a list of values", "Write one, as in city in ('a', 'b')."
            )
        terms = [self.term(choice) for choice in choices.elts]
        for term in terms:
            if term.literal is None:
                raise self.text.error_at(
                    term.node, "is not a constant", "Only numbers or text can follow `in`."
                )
        if value.feature:
            terms = [self._as_category(term, value.feature, "in") for term in terms]
        else:
            value, *terms = map(self._as_number, (value, *terms))
        is_member = Operation("in", (value.expression, *(term.expression for term in terms)))
        return is_member if isinstance(node.ops[0], ast.In) else Operation("not", (is_member,))

    # -- types -----------------------------------------------------------------------------------------------

    def _as_number(self, term: _Term) -> _Term:
        if term.kind != "number":
            raise self.text.error_at(term.node, f"is {_KINDS[term.kind]}, not a number", _HINTS[term.kind])
        return term

    def _as_category(self, term: _Term, feature: Feature, name: str) -> _Term:
        """Return the index of the category that the constant names."""
        column = quote_name(feature.name)
        if term.literal is None:
            raise self.text.error_at(
                term.node, f"is {_KINDS[term.kind]}, not a category of {column}", _HINTS["category"]
            )
        codes = self._list_codes(feature)
        if term.literal not in codes:
            remedy = suggest_names(term.literal, "categories", feature.categories, repr)
            raise self.text.error_at(term.node, f"is not a category of {column}", remedy)
        if name not in ("==", "!=", "in") and feature.kind != "ordered":
            problem = f"is compared with {name}, but the categories of {column} have no order"
            raise self.text.error_at(term.node, problem, "Use ==, != or in.")
        return _Term(term.node, "category", Constant(codes[term.literal]))

    # -- categories -----------------------------------------------------------------------------------

    def _list_codes(self, feature: Feature) -> Mapping[Label, float]:
        if feature.name not in self._codes:
            self._codes[feature.name] = _positions(feature.categories)
        return self._codes[feature.name]

    def _pair_codes(self, left: Feature, right: Feature) -> tuple[tuple[float, ...], tuple[float, ...], bool]:
        """Number the categories of two columns, equal ones alike; True if both have one order."""
        names = left.name, right.name
        if names not in self._pairs:
            codes = _positions(dict.fromkeys((*left.categories, *right.categories)))
            is_ordered = left.kind == right.kind == "ordered" and left.categories == right.categories
            self._pairs[names] = (
                tuple(codes[label] for label in left.categories),
                tuple(codes[label] for label in right.categories),
                is_ordered,
            )
        return self._pairs[names]

    def _unsupported(self, node: ast.expr, operator: ast.AST | None = None) -> Never:
        piece = self.text.piece(node)
        if type(operator) in _SUGGESTED:
            raise self.text.error_at(
                node, "has an operator that is not allowed", f"Write `{_SUGGESTED[type(operator)]}` instead."
            )
        if piece in self.indices:
            raise self.text.error_at(node, "is not allowed", f"Write the column as {quote_name(piece)}.")
        raise self.text.error_at(node, "is not allowed")


def _positions(labels: Iterable[Label]) -> dict[Label, float]:
    return {label: float(position) for position, label in enumerate(labels)}


# -- Expressions ---------------------------------------------------------------------------------------------


class Expression(Protocol):
    """An expression with one number per row; 1 and 0 stand for true and false."""

    def values(self, columns: Sequence[FloatArray]) -> FloatArray:
        """Evaluate to one number per row, or a scalar if no column is involved; NaN if unknown."""


@dataclass(frozen=True)
class ColumnValue:
    """A column, by its position among the columns read."""

    position: int

    def values(self, columns: Sequence[FloatArray]) -> FloatArray:
        """Return the column."""
        return columns[self.position]


@dataclass(frozen=True)
class Constant:
    """A number literal, stored as a float so that `9**9**9` overflows at once."""

    value: float

    def values(self, columns: Sequence[FloatArray]) -> FloatArray:
        """Return the number as a zero-dimensional array."""
        return np.array(self.value, np.float64)


@dataclass(frozen=True)
class Lookup:
    """A number for every category of the column at a position."""

    position: int
    table: tuple[float, ...]

    def values(self, columns: Sequence[FloatArray]) -> FloatArray:
        """Map the category of each row to its number; NaN for an unknown category."""
        codes = columns[self.position]
        known = (codes >= 0) & (codes < len(self.table))
        table = np.array([*self.table, np.nan])
        return table[np.where(known, codes, len(self.table)).astype(np.intp)]


@dataclass(frozen=True)
class Operation:
    """An operation, by name, and its operands."""

    name: str
    operands: tuple[Expression, ...]

    def values(self, columns: Sequence[FloatArray]) -> FloatArray:
        """Evaluate; NaN where the result is not finite or, except in `and` and `or`, an operand is NaN."""
        operands = [operand.values(columns) for operand in self.operands]
        result = _OPERATIONS[self.name](*operands)
        if self.name in ("and", "or"):
            return np.asarray(result, np.float64)
        # Operands are checked too: in numpy 1 ** NaN and NaN ** 0 are 1.
        known = reduce(np.logical_and, [~np.isnan(operand) for operand in operands], np.isfinite(result))
        return np.where(known, result, np.nan)


def _fold(operation: np.ufunc, *values: FloatArray) -> Any:
    return reduce(operation, values)


def _fold_truths(operation: np.ufunc, *truths: FloatArray) -> Any:
    """Combine truth values in Kleene's logic, where false < unknown < true."""
    result = reduce(operation, [np.where(np.isnan(truth), 0.5, truth) for truth in truths])
    return np.where(result == 0.5, np.nan, result)


def _is_one_of(value: FloatArray, *choices: FloatArray) -> Any:
    return reduce(np.logical_or, [value == choice for choice in choices])


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "//": np.floor_divide,
    "%": np.remainder,
    "**": np.power,
    "negative": np.negative,
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "and": partial(_fold_truths, np.minimum),
    "or": partial(_fold_truths, np.maximum),
    "in": _is_one_of,
    "not": np.logical_not,
    "abs": np.abs,
    "ceil": np.ceil,
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
    "log10": np.log10,
    "log2": np.log2,
    "max": partial(_fold, np.maximum),
    "min": partial(_fold, np.minimum),
    "round": np.rint,
    "sqrt": np.sqrt,
}

# -- The text of a custom feature ----------------------------------------------------------------------------

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
class FeatureText:
    """The text of a custom feature and its syntax tree."""

    text: str

    def syntax(self) -> ast.expr:
        """Parse the text to a syntax tree, which is never executed."""
        if len(self.text) > LONGEST_TEXT:
            raise self.error(
                f"it has {len(self.text):,} characters, more than {LONGEST_TEXT:,}",
                "Divide it into several custom features.",
            )
        source = self._source.lstrip()
        if not source:
            raise self.error("it is empty")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about escapes and the like
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

    def error(self, problem: str, remedy: str = ALLOWED) -> CustomFeatureError:
        """Make an error about the whole text."""
        text = clip_text(self.text)
        return CustomFeatureError(f"Cannot use the custom feature {text!r}: {problem}. {remedy}")

    def error_at(self, node: ast.expr, problem: str, remedy: str = ALLOWED) -> CustomFeatureError:
        """Make an error about one part of the text, with its position."""
        return self._error_from(self._character(node.col_offset), self.piece(node), problem, remedy)

    def _error_from(self, begin: int, piece: str, problem: str, remedy: str = ALLOWED) -> CustomFeatureError:
        return self.error(f"{clip_text(piece)!r} at character {begin + 1} {problem}", remedy)

    def _syntax_error(self, error: SyntaxError) -> CustomFeatureError:
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
                f"it is nested more than {DEEPEST_NESTING} levels deep",
                "Divide it into several custom features.",
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
            raise self._error_from(match.start(), piece, "starts a comment, which is not allowed")
        if piece.startswith("`"):
            return "_" * len(piece)
        return " " if piece.isspace() else piece


def clip_text(text: str) -> str:
    """Clip a long text."""
    return text if len(text) <= 60 else text[:57] + "..."


def quote_name(name: str) -> str:
    """Quote the name of a column as custom features must write it."""
    return name if name.isidentifier() and not iskeyword(name) else f"`{name}`"


def suggest_names(wrong: Label, kind: str, names: Collection[Label], spelling: Callable[[Any], str]) -> str:
    """Suggest the names closest to a wrong one, or list all if none is close."""
    spelt = {str(name).lower(): spelling(name) for name in names}
    close = get_close_matches(str(wrong).lower(), spelt, n=3)
    if close:
        return f"Did you mean {' or '.join(spelt[name] for name in close)}?"
    return f"The {kind} are {join_parts([spelling(name) for name in names])}."
