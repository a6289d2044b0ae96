"""The profile of rows: how many are in each part of each column, so that later rows can be held against it.

It stands in the files of a run, which hold no rows: a later update tells by it what has changed.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from holdfast.data.schema import Label
from holdfast.data.table import Table
from holdfast.errors import DataError
from holdfast.scoring.population import ColumnProfile, column_profile
from holdfast.tree.wording import format_class_names


@dataclass(frozen=True)
class RowsProfile:
    """What is known of the rows of one time."""

    n_rows: int
    target: Mapping[str, Any]  # rows by class, or the mean and the standard deviation
    columns: Mapping[str, ColumnProfile]  # by name; questions follow from these

    def to_dict(self) -> dict[str, Any]:
        """The profile as JSON has it."""
        columns = [
            {key: _plain(value) for key, value in asdict(each).items()} for each in self.columns.values()
        ]
        return {"rows": self.n_rows, "target": dict(self.target), "columns": columns}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "RowsProfile":
        """The profile that a file of a run holds; a DataError if it is none."""
        try:
            columns = {each["name"]: _column(each) for each in content["columns"]}
            return cls(int(content["rows"]), dict(content["target"]), columns)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"The profile of the rows of before cannot be read: {error!r}.") from error


def rows_profile(table: Table) -> RowsProfile:
    """The profile of a table."""
    columns = {
        feature.name: column_profile(feature, values)
        for feature, values in zip(table.schema.features, table.columns, strict=True)
        if feature.kind != "question"
    }
    return RowsProfile(table.n_rows, target_profile(table), columns)


def target_profile(table: Table) -> dict[str, Any]:
    """How many rows are of each class; or the mean and the standard deviation of a number."""
    target = table.schema.target
    if target.is_classes:
        counts = np.bincount(table.target, minlength=len(target.classes)).tolist()
        return {"classes": dict(zip(format_class_names(target), counts, strict=True))}
    return {"mean": float(table.target.mean()), "deviation": float(table.target.std())}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _column(content: Mapping[str, Any]) -> ColumnProfile:
    borders = content["borders"]
    categories: tuple[Label, ...] = tuple(content["categories"])
    counts = tuple(int(count) for count in content["counts"])
    n_parts = len(categories) if borders is None else len(borders) + 1
    if len(counts) != n_parts:
        raise ValueError(f"{content['name']!r} has {len(counts)} counts for {n_parts} parts")
    limits = None if borders is None else tuple(float(border) for border in borders)
    return ColumnProfile(str(content["name"]), limits, categories, counts, int(content["missing"]))
