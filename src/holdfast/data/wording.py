"""Short lists of names and rows for messages: a few of them, and how many more there are."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from holdfast.arrays import BoolArray


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


def first_rows(wanted: BoolArray, limit: int = 3) -> str:
    """Where the first true rows are.

    >>> first_rows(np.array([False, True, True]))
    'first at rows 1, 2'
    """
    rows = np.flatnonzero(wanted)[:limit]
    return f"first at row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows))}"


def aligned(grid: Sequence[Sequence[str]]) -> str:
    """The first column from the left, the others from the right; a column without a cell is left out."""
    kept = [column for column in zip(*grid, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in kept]
    lines = [
        "  ".join(
            f"{cell:>{width}}" if place else f"{cell:{width}}"
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in zip(*kept, strict=True)
    ]
    return "\n".join(line.rstrip() for line in lines)
