"""The roles of the rows: learnt from, held out to choose by, and early."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from holdfast._check import check_fraction, is_integer
from holdfast.arrays import BoolArray, KeyArray, LongArray
from holdfast.data.split.folds import warn_fewer_folds
from holdfast.data.split.row_keys import unit_keys
from holdfast.data.split.row_positions import assign_folds, assign_strata, random_positions, select_below
from holdfast.data.split.stages import early_stages
from holdfast.data.table import Table
from holdfast.errors import DataError, ParameterError
from holdfast.random_streams import Branch
from holdfast.stability.settings import StabilitySettings

MOST_CROSS_FITTED = 5_000  # rows; with more of them, one part held out serves as well
FRACTION_HELD_OUT = 1 / 3
FOLDS, REPEATS = 5, 3


@dataclass(frozen=True, eq=False)
class Division:
    """Which rows are early, and one or several ways to hold rows out.

    A candidate is grown on the training rows of one of them and scored on its validation rows; with several
    of them, all rows serve both ends, but never for the same tree.
    """

    early: BoolArray
    validation: tuple[BoolArray, ...]

    @property
    def training(self) -> tuple[BoolArray, ...]:
        """The rows that candidates are grown on. A table of a single row has nothing to hold out."""
        return tuple(held_out if held_out.all() else ~held_out for held_out in self.validation)

    @property
    def early_training(self) -> tuple[BoolArray, ...]:
        """The rows that reference trees are grown on."""
        # Where all early rows happen to be held out, they serve all the same: no score depends on them.
        both = [rows & self.early for rows in self.training]
        return tuple(rows if rows.any() else self.early for rows in both)

    @property
    def is_cross_fitted(self) -> bool:
        """True if every row is held out in turn."""
        return len(self.validation) > 1


class RowInfo(NamedTuple):
    """What is known of every row besides its columns. What is not known is None."""

    stage: LongArray | None = None
    groups: LongArray | None = None
    holdout: BoolArray | None = None  # True for the rows that the user holds out to score on


NOTHING_KNOWN = RowInfo()


def divide(table: Table, settings: StabilitySettings, info: RowInfo = NOTHING_KNOWN) -> Division:
    """The roles of the rows of a table. Groups stay together; classes and stages are divided evenly.

    `settings.validation` is the fraction of rows held out, or a number of folds, each of them held out in
    turn, with new folds three times; "auto" takes five folds for up to 5,000 rows, else a third of them.
    """
    if info.holdout is not None:
        raise ParameterError(
            f"X_holdout is for method='paper', and method={settings.method!r} holds rows out by itself, as "
            "validation says: leave it out, and test the chosen tree on these rows."
        )
    strata, keys = assign_strata(table, info.stage), unit_keys(table, info.groups)
    early = _early(strata, keys, settings, info.stage)
    groups = info.groups
    n_units = table.n_rows if groups is None else len(np.unique(groups))
    n_folds, fraction = _validation(settings.validation, table.n_rows, n_units)
    if n_units < 2 <= table.n_rows:
        raise DataError(
            "The rows to learn from are all of one group: there is nothing to hold out. Give the group of "
            "each row, such as the patient, leave groups out, or keep no rows back to test by (test=0)."
        )
    if n_units < 2:
        return Division(early, (np.ones(table.n_rows, np.bool_),))
    if not n_folds:
        return Division(
            early,
            (
                select_below(
                    random_positions(strata, keys, (settings.seed, Branch.VALIDATION_ROWS)), fraction
                ),
            ),
        )
    flags, n_made = _folds_in_turn(strata, keys, n_folds, settings.seed)
    asked = settings.validation
    if groups is not None and isinstance(asked, Integral) and min(n_made) < int(asked):
        warn_fewer_folds(int(asked), n_made, groups)
    return Division(early, flags)


def _early(
    strata: LongArray, keys: KeyArray, settings: StabilitySettings, stage: LongArray | None
) -> BoolArray:
    check_fraction("early_fraction", settings.early_fraction)
    if stage is not None:
        return early_stages(stage, settings.early_fraction)
    return select_below(
        random_positions(strata, keys, (settings.seed, Branch.EARLY_ROWS)), settings.early_fraction
    )


def _folds_in_turn(
    strata: LongArray, keys: KeyArray, n_folds: int, seed: int
) -> tuple[tuple[BoolArray, ...], list[int]]:
    """The rows of each fold, for new folds several times over, and how many could be made each time."""
    flags: list[BoolArray] = []
    n_made: list[int] = []
    for repeat in range(REPEATS):
        fold = assign_folds(random_positions(strata, keys, (seed, Branch.VALIDATION_ROWS, repeat)), n_folds)
        flags += [fold == number for number in np.unique(fold)]
        n_made.append(len(np.unique(fold)))
    return tuple(flags), n_made


def hold_out(
    table: Table, fraction: float, *, stage: LongArray | None, groups: LongArray | None, seed: int
) -> BoolArray:
    """The rows to test by: nothing that chooses a tree may see them."""
    check_fraction("test", fraction)
    keys = unit_keys(table, groups)
    return select_below(
        random_positions(assign_strata(table, stage), keys, (seed, Branch.TEST_ROWS)), fraction
    )


def _validation(validation: Any, n_rows: int, n_units: int) -> tuple[int, float]:
    """Number of folds and fraction held out, one of them 0."""
    if isinstance(validation, str) and validation == "auto":
        return (min(FOLDS, n_units), 0.0) if n_rows <= MOST_CROSS_FITTED else (0, FRACTION_HELD_OUT)
    if is_integer(validation) and int(validation) >= 2:
        return min(int(validation), n_units), 0.0
    if isinstance(validation, Real) and not isinstance(validation, Integral) and 0 < float(validation) < 1:
        return 0, float(validation)
    raise ParameterError(
        f"validation={validation!r} is out of range: it must be a fraction between 0 and 1, a number of "
        "folds from 2, or 'auto'."
    )
