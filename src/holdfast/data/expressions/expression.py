"""What a question computes: a small tree of operations on whole columns, in which NaN means unknown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np

from holdfast.arrays import FloatArray


class Expression(Protocol):
    """An expression with one number per row; 1 and 0 stand for true and false."""

    def values(self, columns: Sequence[FloatArray]) -> FloatArray:
        """Evaluate to one number per row, or a scalar if no column is involved; NaN if unknown."""


@dataclass(frozen=True)
class Column:
    """A column, by its position among the columns that the question reads."""

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
        if self.name in _LOGIC:
            return _LOGIC[self.name](operands)
        result = _OPERATIONS[self.name](*operands)
        # Asked of the operands too: numpy's power says that 1 ** NaN and NaN ** 0 are 1.
        known = reduce(np.logical_and, [~np.isnan(operand) for operand in operands], np.isfinite(result))
        return np.where(known, result, np.nan)


def _smallest(*values: FloatArray) -> Any:
    return reduce(np.minimum, values)


def _greatest(*values: FloatArray) -> Any:
    return reduce(np.maximum, values)


def _is_one_of(value: FloatArray, *choices: FloatArray) -> Any:
    return reduce(np.logical_or, [value == choice for choice in choices])


# Kleene's logic is the order false < unknown < true: `and` takes the least, `or` the greatest.
def _all_true(truths: list[FloatArray]) -> FloatArray:
    least = reduce(np.minimum, [np.where(np.isnan(truth), 0.5, truth) for truth in truths])
    return np.where(least == 0.5, np.nan, least)


def _any_true(truths: list[FloatArray]) -> FloatArray:
    greatest = reduce(np.maximum, [np.where(np.isnan(truth), 0.5, truth) for truth in truths])
    return np.where(greatest == 0.5, np.nan, greatest)


_LOGIC: dict[str, Callable[[list[FloatArray]], FloatArray]] = {"and": _all_true, "or": _any_true}

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
    "in": _is_one_of,
    "not": np.logical_not,
    "abs": np.abs,
    "ceil": np.ceil,
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
    "log10": np.log10,
    "log2": np.log2,
    "max": _greatest,
    "min": _smallest,
    "round": np.rint,
    "sqrt": np.sqrt,
}
