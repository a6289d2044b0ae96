"""What a model, or its export, says of some rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.arrays import FloatArray
from holdfast.data.schema import Label

Rows = Mapping[str, Sequence[Any]]  # columns by name: numbers and categories as they are, None where missing


@dataclass(frozen=True, eq=False)
class EnginePredictions:
    """Predictions of an engine, one entry per row."""

    values: FloatArray  # (rows, classes) probabilities, or (rows, 1) numbers
    outcomes: Sequence[Label] | None  # the predicted classes; None where the target is a number
    engine: str = "holdfast"  # what computed it, with its version


def count_rows(rows: Rows) -> int:
    """Return the number of rows; 0 without columns."""
    return len(next(iter(rows.values()), ()))
