"""Subgroups of rows: by the categories of a column, or by bands of its numbers."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from holdfast.arrays import BoolArray, FloatArray
from holdfast.data.input.columns import Column
from holdfast.text.lines import label_text, printable
from holdfast.text.numbers import number_text


@dataclass(frozen=True, eq=False)
class Subgroup:
    """Some of the rows, and what they have in common."""

    name: str  # "sex = f", "40 < age <= 55"
    rows: BoolArray


def subgroups_of(name: str, column: Column, n_bands: int, counted: BoolArray) -> Iterator[Subgroup]:
    """The subgroups of the rows that count: every such row is in exactly one.

    Categories are subgroups, and so are numbers if there are no more of them than bands. Else bands have
    about equally many rows, and equal numbers are in one. Rows without a value come last.

    >>> column = Column("numeric", np.array([1.0, 2.0, 3.0, 4.0, np.nan]))
    >>> [each.name for each in subgroups_of("age", column, 2, np.ones(5, bool))]
    ['age <= 2', 'age > 2', 'age missing']
    """
    title = printable(name)
    values = np.where(counted, column.values, np.nan)
    present = np.unique(values[~np.isnan(values)])
    if column.labels:
        for place in present.astype(int).tolist():
            yield Subgroup(f"{title} = {label_text(column.labels[place])}", values == place)
    elif len(present) <= n_bands:
        for value in present.tolist():
            yield Subgroup(f"{title} = {number_text(value)}", values == value)
    else:
        yield from _bands(title, values, n_bands)
    missing = np.isnan(column.values) & counted
    if missing.any():
        yield Subgroup(f"{title} missing", missing)


def _bands(title: str, values: FloatArray, n_bands: int) -> Iterator[Subgroup]:
    """Numbers between quantiles, which are numbers of the column."""
    known = values[~np.isnan(values)]
    inner = np.quantile(known, np.arange(1, n_bands) / n_bands, method="inverted_cdf")
    ends = [-np.inf, *np.unique(inner[inner < known.max()]).tolist(), np.inf]
    for low, high in itertools.pairwise(ends):
        rows = (values > low) & (values <= high)
        left = "" if low == -np.inf else f"{number_text(low)} < "
        text = f"{title} > {number_text(low)}" if high == np.inf else f"{left}{title} <= {number_text(high)}"
        yield Subgroup(text, rows)
