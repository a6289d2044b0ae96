"""The bags: which rows each tree of an ensemble is grown on, drawn anew whenever they are asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from holdfast._check import check_flag, is_integer, is_number, refuse
from holdfast.arrays import IntArray, LongArray, frozen
from holdfast.data.canonical_order import fixed_order
from holdfast.data.split.resampling import Draws, Units, all_draws, count_groups
from holdfast.data.table import Table
from holdfast.errors import DataError, ParameterError
from holdfast.random_streams import Branch, derived_seeds


@dataclass(frozen=True, eq=False)
class Sampling:
    """How bags are drawn; by default a bootstrap with one draw per row on average."""

    seed: int = 0
    bootstrap: bool = True  # with replacement
    max_samples: int | float | None = None  # draws; a float is a fraction of all rows, or of all groups
    groups: LongArray | None = None  # of every row; whole groups are drawn
    branch: Branch = Branch.BAGS  # of the seed

    def __post_init__(self) -> None:
        check_flag("bootstrap", self.bootstrap)
        most = self.max_samples
        if most is None:
            return
        if not is_number(most) or not (most >= 1 if is_integer(most) else 0.0 < most <= 1.0):
            words = "an integer of at least 1, a fraction above 0.0 and up to 1.0"
            refuse("max_samples", most, words, none_ok=True)

    @property
    def leaves_rows_out(self) -> bool:
        """False if every bag holds all rows."""
        return self.bootstrap or self.max_samples not in (None, 1.0)


@dataclass(frozen=True, eq=False)
class Bags:
    """Bags of one table: bag i depends on the seed and i, not on the row order."""

    sampling: Sampling
    repeats: IntArray  # how many rows each row stands for
    units: Units  # rows or groups
    order: LongArray  # the rows in one fixed order
    n_draws: int | None  # None: as many as there are rows, or groups

    @classmethod
    def of(cls, table: Table, repeats: IntArray, sampling: Sampling) -> "Bags":
        """Make bags of a table whose rows may stand for several each."""
        groups = sampling.groups
        if groups is not None and len(groups) != table.n_rows:
            raise DataError(
                f"groups has {len(groups)} values, and the data has {table.n_rows} rows: give one per row."
            )
        n_all = int(repeats.sum(dtype=np.int64)) if groups is None else count_groups(repeats, groups)
        n_draws = _n_draws(sampling, n_all, "rows" if groups is None else "groups")
        order = frozen(fixed_order(table))
        most = None if n_draws == n_all else n_draws
        return cls(sampling, repeats, Units.of(table, groups), order, most)

    def __getitem__(self, index: int) -> IntArray:
        """How often each row is in the bag."""
        return self.draws([index])[0].counts

    def draws(self, indices: Sequence[int]) -> list[Draws]:
        """Draw the rows of these bags with their counts."""
        sampling = self.sampling
        return all_draws(
            self.repeats,
            self.units,
            [(sampling.seed, sampling.branch, index) for index in indices],
            n_draws=self.n_draws,
            replacement=bool(sampling.bootstrap),
        )

    def left_out(self, index: int) -> LongArray:
        """Return the rows outside the bag, in canonical order."""
        rows: LongArray = self.order[self[index][self.order] == 0]
        return rows

    def tree_seeds(self, indices: Sequence[int]) -> list[int]:
        """Return the seeds for the features drawn by these trees."""
        # One step further down the same branch of the seed: not the numbers that drew the bag.
        return derived_seeds([(self.sampling.seed, self.sampling.branch, index, 0) for index in indices])


def _n_draws(sampling: Sampling, n_all: int, what: str) -> int:
    most = sampling.max_samples
    if most is None:
        return n_all
    if not isinstance(most, Integral):
        return max(1, round(most * n_all))
    if most > n_all:
        raise ParameterError(
            f"max_samples={most} is out of range: there are {n_all} {what}. Give fewer, or a fraction."
        )
    return int(most)
