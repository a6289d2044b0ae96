"""Texts of the terminal as values of Python."""

import csv
from collections.abc import Callable
from math import isfinite
from typing import Any

import click


class Text(click.ParamType[Any]):
    """A text that is read by a function, whose ValueError says what is wrong."""

    name = "text"

    def __init__(self, read: Callable[[str], Any]) -> None:
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """What the text means; a usage error says what is wrong with it."""
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except ValueError as error:
            return self.fail(str(error), param, ctx)


def names_in_order(text: str) -> tuple[str, ...]:
    """The names between the commas, without the blanks around them; those with a comma stand in quotes.

    >>> names_in_order('low, middle, "high, or more"')
    ('low', 'middle', 'high, or more')
    """
    names = _parts(text)
    if not all(names) or len(names) < 2:
        raise ValueError(f"{text!r} must be names between commas, such as low,middle,high.")
    return names


def column_in_order(text: str) -> tuple[str, tuple[str, ...]]:
    """A column, and its categories in their order.

    >>> column_in_order("stage=I,II,III")
    ('stage', ('I', 'II', 'III'))
    """
    column, sign, names = text.partition("=")
    if not sign or not column.strip():
        raise ValueError(
            f"{text!r} must be a column and its categories in their order, such as stage=I,II,III,IV."
        )
    return column.strip(), names_in_order(names)


def integer_or_text(text: str) -> int | float | str:
    """The integer or the number that the text writes, or else the text in lower case.

    >>> integer_or_text("8"), integer_or_text("0.2"), integer_or_text("Auto")
    (8, 0.2, 'auto')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip().lower()


def leaf_size(text: str) -> int | float:
    """A number of rows, or a fraction of all.

    >>> leaf_size("5"), leaf_size("0.05")
    (5, 0.05)
    """
    value = integer_or_text(text)
    if isinstance(value, str) or not (value >= 1 if isinstance(value, int) else 0 < value < 1):
        raise ValueError(
            f"{text!r} must be an integer of at least 1, or a fraction of the rows such as 0.05."
        )
    return value


def jobs(text: str) -> int:
    """A number of jobs.

    >>> jobs("2"), jobs("-1")
    (2, -1)
    """
    value = integer_or_text(text)
    if not isinstance(value, int) or value < -1 or value == 0:
        raise ValueError(f"{text!r} must be an integer of at least 1, or -1 for all cores, such as 2.")
    return value


def threshold(text: str) -> float | str:
    """A probability, or the word cost.

    >>> threshold("0.2"), threshold("cost")
    (0.2, 'cost')
    """
    value = integer_or_text(text)
    if value != "cost" and (isinstance(value, str) or not 0 < value < 1):
        raise ValueError(f"{text!r} must be a probability between 0 and 1, such as 0.2, or cost.")
    return value


def class_weights(text: str) -> str | dict[str, float]:
    """The word balanced, or a weight for some of the classes.

    >>> class_weights("died=5,lived=1")
    {'died': 5.0, 'lived': 1.0}
    """
    if text == "balanced":
        return text
    return _numbers(text, "balanced, or weights above 0 of classes, such as died=5,lived=1", least=1e-300)


def losses(text: str) -> dict[str, float]:
    """What it costs to predict one class for a row of another.

    >>> losses("bad:good=5, good:bad=1")
    {'bad:good': 5.0, 'good:bad': 1.0}
    """
    what = "losses of at least 0, such as bad:good=5"
    found = _numbers(text, what)
    if not all(":" in pair for pair in found):
        raise ValueError(f"{text!r} must be {what}.")
    return found


def priors(text: str) -> dict[str, float]:
    """The fractions of the classes.

    >>> priors("bad=0.3,good=0.7")
    {'bad': 0.3, 'good': 0.7}
    """
    what = "fractions above 0 that sum to 1, such as bad=0.3,good=0.7"
    found = _numbers(text, what, least=1e-300)
    if abs(sum(found.values()) - 1.0) > 1e-6:
        raise ValueError(f"{text!r} must be {what}.")
    return found


def directions(text: str) -> dict[str, int]:
    """Columns with a sign between commas: 1 never falls as the column rises, -1 never rises.

    >>> directions("age=+1,dose=-1")
    {'age': 1, 'dose': -1}
    """
    what = "columns with +1 or -1, such as age=+1,dose=-1"
    signs = text.replace("=+,", "=+1,").replace("=-,", "=-1,")
    found = _numbers(signs, what, least=-1.0)
    if any(abs(sign) != 1 for sign in found.values()):
        raise ValueError(f"{text!r} must be {what}.")
    return {name: int(sign) for name, sign in found.items()}


def node_numbers(text: str) -> tuple[int, ...] | str:
    """Numbers of nodes between commas, or the word edited.

    >>> node_numbers("0, 3"), node_numbers("edited")
    ((0, 3), 'edited')
    """
    if text.strip() == "edited":
        return "edited"
    if not all(part.isdigit() for part in _parts(text)):
        raise ValueError(f"{text!r} must be numbers of nodes such as 0,3, or the word edited.")
    return tuple(map(int, _parts(text)))


def _numbers(text: str, what: str, *, least: float = 0.0) -> dict[str, float]:
    """Names, and the numbers after their last sign of equality."""
    pairs = [part.rpartition("=") for part in _parts(text)]
    names = [name.strip() for name, _, _ in pairs]
    try:
        numbers = [float(number) for _, _, number in pairs]
    except ValueError:
        numbers = []
    if not numbers or not all(names) or not all(isfinite(each) and each >= least for each in numbers):
        raise ValueError(f"{text!r} must be {what}.")
    if len(set(names)) < len(names):
        raise ValueError(f"{text!r} has a name twice.")
    return dict(zip(names, numbers, strict=True))


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in next(csv.reader([text], skipinitialspace=True), []))
