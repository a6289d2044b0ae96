"""Which rows get another answer when a procedure is trained again."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.arrays import FloatArray, LongArray
from holdfast.audit.records import Records
from holdfast.audit.rows import AuditRows
from holdfast.data.table import Table
from holdfast.growth.described import grow_summary_tree
from holdfast.shown import shown
from holdfast.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class RowChanges:
    """What one pair says of the test rows."""

    rows: LongArray  # their numbers, in the order of the audit
    moved: FloatArray
    flipped: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class MovingRows:
    """How much the answers of every row differ between retrainings, the mean over the pairs it was tested in.

    Rows that were never tested have NaN. `str()` describes the rows that move, a few rules for each method.
    """

    change: str  # the pairs that it comes from
    churn: Mapping[str, FloatArray]  # by method: one number per row of the data
    flips: Mapping[str, FloatArray]  # fraction of pairs that gave the row another class; NaN for numbers
    table: Table  # the rows in the order of the data

    @property
    def is_classes(self) -> bool:
        """True if flips tell how a row moved, False if only churn does."""
        return self.table.schema.target.is_classes

    @cached_property
    def trees(self) -> dict[str, Tree]:
        """For each method a small tree of numbers that says which rows move, and how much."""
        figures = self.flips if self.is_classes else self.churn
        return {name: grow_summary_tree(self.table, values) for name, values in figures.items()}

    def records(self) -> Records:
        """One record per method and row that was tested: its number, churn and flips."""
        return Records(
            tuple(
                {
                    "method": name,
                    "row": row,
                    "churn": float(churn[row]),
                    "flips": float(self.flips[name][row]),
                }
                for name, churn in self.churn.items()
                for row in np.flatnonzero(~np.isnan(churn)).tolist()
            )
        )

    def to_frame(self, backend: str | None = None) -> Any:
        """The records as a frame."""
        return self.records().to_frame(backend)

    def __repr__(self) -> str:
        return shown("moving_rows_text", self)


def moving_rows(change: str, changes: Mapping[str, Iterable[RowChanges]], audited: AuditRows) -> MovingRows:
    """The means over the pairs, for the rows as they were given."""
    table, numbers, n_given = audited.table, audited.numbers, audited.n_given
    churn, flips = {}, {}
    for name, pairs in changes.items():
        total, flipped, times = np.zeros((3, n_given))
        for each in pairs:
            rows = numbers[each.rows]
            total[rows] += each.moved
            flipped[rows] += each.flipped
            times[rows] += 1
        tested = np.where(times > 0, times, np.nan)
        churn[name] = total / tested
        flips[name] = flipped / tested if table.schema.target.is_classes else np.full(n_given, np.nan)
    return MovingRows(change, churn, flips, _as_given(table, numbers, n_given))


def _as_given(table: Table, numbers: LongArray, n_given: int) -> Table:
    """The rows where they stood in the data; a row without weight, which took no part, is any other."""
    place = np.zeros(n_given, np.int64)
    place[numbers] = np.arange(len(numbers))
    return table.subset(place)
