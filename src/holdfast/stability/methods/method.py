"""What a method is: how it divides the rows, and what it grows on them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from holdfast.arrays import BoolArray, LongArray
from holdfast.data.table import Table
from holdfast.errors import RulesError
from holdfast.scoring.metric import Metric
from holdfast.stability.collection import Collection
from holdfast.stability.division import Division, divide
from holdfast.stability.rows import PreparedRows
from holdfast.stability.settings import Settings
from holdfast.stability.validation import Scores


class Grown(NamedTuple):
    """The candidates with their scores, and the reference trees that their distances are measured to."""

    references: Collection
    candidates: Collection
    scores: Scores


class RowInfo(NamedTuple):
    """What is known of every row besides its columns. What is not known is None."""

    stage: LongArray | None = None
    groups: LongArray | None = None
    holdout: BoolArray | None = None  # True for the rows that the user holds out to score on


def divide_by_settings(table: Table, settings: Settings, info: RowInfo) -> Division:
    """The roles of the rows as the settings say: rows are held out at random."""
    if info.holdout is not None:
        raise RulesError(
            f"X_holdout is for method='paper', and method={settings.method!r} holds rows out by itself, as "
            "validation says: leave it out, and test the chosen tree on these rows."
        )
    return divide(
        table,
        stage=info.stage,
        groups=info.groups,
        early_fraction=settings.early_fraction,
        validation=settings.validation,
        seed=settings.seed,
    )


@dataclass(frozen=True)
class Method:
    """One way to make candidates."""

    grow: Callable[[PreparedRows, Settings, Metric], Grown]
    divide: Callable[[Table, Settings, RowInfo], Division] = divide_by_settings
    reports_on_holdout: bool = False  # replications report the rows that a tree was chosen by
