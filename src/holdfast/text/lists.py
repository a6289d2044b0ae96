"""Short lists of names and rows for messages: a few of them, and how many more there are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from holdfast.arrays import BoolArray, LongArray


def listed(things: Iterable[Any], limit: int = 10) -> str:
    """The things in quotes as Python writes them, separated by commas, cut after `limit`.

    >>> listed(["age", "bmi", "sex"], limit=2)
    "'age', 'bmi' and 1 more"
    """
    return joined([repr(thing) for thing in things], limit)


def joined(parts: list[str], limit: int = 10) -> str:
    """The parts separated by commas, cut after `limit`."""
    rest = len(parts) - limit
    return ", ".join(parts[:limit]) + (f" and {rest} more" if rest > 0 else "")


@dataclass(frozen=True, eq=False)
class RowLabels:
    """What rows are called in messages: by their lines in a file, or by the labels of a frame."""

    labels: Any  # an array, or an index of pandas
    noun: str = "row"

    @classmethod
    def of(cls, data: Any) -> "RowLabels | None":
        """The labels of a frame or a series of pandas; None for data whose rows are known by position.

        >>> import pandas
        >>> RowLabels.of(pandas.Series([1, 2], index=["ann", "bob"])).labels[1]
        'bob'
        """
        native = data.to_native() if hasattr(data, "to_native") else data
        labels = getattr(native, "index", None)
        return None if labels is None or callable(labels) else cls(labels)

    def subset(self, rows: BoolArray | LongArray) -> "RowLabels":
        """The names of the rows with a flag, or of these numbers."""
        return RowLabels(self.labels[rows], self.noun)


def row_name(position: int, rows: RowLabels | None = None) -> str:
    """What the row at this position is called: 'row 3', or 'line 5' in a file.

    >>> row_name(3), row_name(3, RowLabels(np.array([2, 3, 4, 5]), "line"))
    ('row 3', 'line 5')
    """
    return f"row {position}" if rows is None else f"{rows.noun} {_label(rows.labels[position])}"


def first_rows(wanted: BoolArray, rows: RowLabels | None = None, limit: int = 3) -> str:
    """Where the first true rows are.

    >>> first_rows(np.array([False, True, True]))
    'first at rows 1, 2'
    """
    places = np.flatnonzero(wanted)[:limit].tolist()
    noun = "row" if rows is None else rows.noun
    labels = [str(place) if rows is None else _label(rows.labels[place]) for place in places]
    return f"first at {noun}{'s' if len(labels) > 1 else ''} {', '.join(labels)}"


def _label(label: Any) -> str:
    return repr(label) if isinstance(label, str) else str(label)


def closest(name: str, known: Iterable[str]) -> str | None:
    """The name that was probably meant: the same but for capitals, or one that is spelt almost alike.

    >>> closest("Severity", ["age", "severity"]), closest("hue", ["age"])
    ('severity', None)
    """
    names = {each.lower(): each for each in reversed(list(known))}
    near = get_close_matches(name.lower(), list(names), 1, 0.6)
    return names[near[0]] if near else None


def columns_text(absent: Iterable[str], known: Sequence[str]) -> str:
    """What was probably meant by a name that is no column, and the columns that there are.

    >>> columns_text(["Age"], ["age", "sex"])
    "Did you mean 'age'? The columns are 'age', 'sex'."
    """
    meant = [near for name in absent if (near := closest(str(name), map(str, known))) is not None]
    question = f"Did you mean {listed(meant)}? " if meant else ""
    return f"{question}The columns are {listed(known, 30)}."
