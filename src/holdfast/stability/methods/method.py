"""What a method is: how it divides the rows, and what it grows on them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from holdfast.arrays import FloatArray
from holdfast.data.table import Table
from holdfast.scoring.metric import Metric
from holdfast.stability.collection import Collection
from holdfast.stability.division import Division, RowInfo, divide
from holdfast.stability.rows import PreparedRows
from holdfast.stability.settings import StabilitySettings
from holdfast.stability.validation import Scores


class Grown(NamedTuple):
    """The candidates with their scores, and the reference trees that their distances are measured to."""

    references: Collection
    candidates: Collection
    scores: Scores
    teacher_loss: FloatArray | None = None  # of each candidate, for "centred": see Frontier


@dataclass(frozen=True)
class Method:
    """One way to make candidates."""

    grow: Callable[[PreparedRows, StabilitySettings, Metric], Grown]
    divide: Callable[[Table, StabilitySettings, RowInfo], Division] = divide
    reports_on_holdout: bool = False  # replications report the rows that a tree was chosen by
