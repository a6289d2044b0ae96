"""Rows that are ready for a method: in one fixed order, and each with its roles."""

from dataclasses import dataclass

from holdfast.arrays import LongArray
from holdfast.data.table import Table
from holdfast.stability.division import Division


@dataclass(frozen=True, eq=False)
class PreparedRows:
    """Rows in one fixed order, what is known of them besides, and their roles."""

    table: Table
    division: Division
    groups: LongArray | None = None  # as given, or else the copies of one row
    stage: LongArray | None = None
