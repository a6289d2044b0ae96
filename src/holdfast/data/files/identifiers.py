"""Detect identifier columns: names, free text, patient numbers."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import BoolArray

NEARLY_ALL = 0.9  # of the rows with a text of their own: it is a name, not a property
LEAST_ROWS = 20  # among fewer, different values are no surprise
LONGEST = 10**15  # integers beyond it are nobody's measurement
# What columns are called that tell rows apart: by a word anywhere, by the last word ("case no", but not
# "number of beds"), or by the first, where pandas or we have made up the name.
_ANYWHERE = frozenset(("id", "ids", "uid", "uuid", "guid", "mrn"))
_AT_THE_END = frozenset(
    (
        "no",
        "nr",
        "number",
        "key",
        "index",
        "row",
        "record",
        "case",
        "patient",
        "person",
        "subject",
        "customer",
    )
)
_MADE_UP = frozenset(("unnamed", "column"))
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


def identifier_reason(name: str, column: Any, n_distinct: int) -> str:
    """Explain why the column is an identifier; an empty text if it is not.

    Text is, if nearly every row has its own. Numbers are measurements, unless they are whole, all different,
    and have more than 15 digits or a name that says so, as "patient_id" and "case no" do.

    >>> identifier_reason("case no", np.arange(1.0, 31.0), 30)
    'every row has a number of its own'
    """
    if not isinstance(column, np.ndarray):
        column = _as_array(column)
    known = int(np.count_nonzero(~_missing(column)))
    if known < LEAST_ROWS:
        return ""
    if column.dtype == object:
        if n_distinct <= NEARLY_ALL * known:
            return ""
        is_text = all(isinstance(value, str) for value in column[~_missing(column)].tolist())
        return "nearly every row has a text of its own" if is_text else ""
    if n_distinct < len(column) or (column != np.floor(column)).any():
        return ""
    if np.abs(column).max() >= LONGEST:
        return "every row has a long number of its own"
    if _is_called_identifier(name):
        return "every row has a number of its own"
    return ""


def _is_called_identifier(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name)] or [""]
    return words[-1] in _AT_THE_END or words[0] in _MADE_UP or not _ANYWHERE.isdisjoint(words)


def _missing(column: NDArray[Any]) -> BoolArray:
    if column.dtype == object:
        return np.array([value is None for value in column.tolist()], np.bool_)
    return np.asarray(np.isnan(column), np.bool_)


def _as_array(series: Any) -> NDArray[Any]:
    """Convert a narwhals Series to numbers, or to objects with None for gaps."""
    if series.dtype.is_numeric():
        return np.asarray(series.to_numpy(), np.float64)
    values = np.empty(len(series), object)
    pairs = zip(series.to_list(), series.is_null().to_list(), strict=True)
    values[:] = [None if is_null else value for value, is_null in pairs]
    return values
