"""Rows that are ready for a method: in one fixed order, and each with its roles."""

from dataclasses import dataclass
from functools import cached_property

from holdfast.arrays import LongArray
from holdfast.data.split.resampling import Units
from holdfast.data.table import Table
from holdfast.stability.division import Division


@dataclass(frozen=True, eq=False)
class PreparedRows:
    """Rows in one fixed order, what is known of them besides, and their roles."""

    table: Table
    division: Division
    groups: LongArray | None = None  # the key of each group, as given, or else of the copies of one row
    stage: LongArray | None = None

    @cached_property
    def units(self) -> Units:
        """What bootstrap samples draw as one: rows, or groups."""
        return Units.of(self.table, self.groups)
