"""UnlabelledRows rows in standard units, in one order, some of them held out."""

from dataclasses import dataclass

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, IntArray, LongArray, frozen
from holdfast.data.canonical_order import MOST_ROWS, fixed_order
from holdfast.data.coding import write_dense_ranks
from holdfast.data.input.weight import are_repetitions
from holdfast.data.schema import Schema
from holdfast.data.split.row_keys import copies_as_groups, unit_keys
from holdfast.data.split.row_positions import random_positions, select_below
from holdfast.data.table import Table
from holdfast.growth.sample import relative, split_weight
from holdfast.kernels.growth.density import DensityRows

LEAST_VARIANCE = 1e-6  # fraction of a column's variance that every group keeps: a spike is not a point
LEAST_STEP = 1e-9  # fraction of a column's range; values nearer than this differ by rounding
FINE = 10  # steps for every value that occurs: then equal values are no accident


@dataclass(frozen=True, eq=False)
class StandardUnits:
    """Units of the columns: numbers by mean and deviation, categories by place in one list.

    A number recorded in steps stands for all within a step: their variance is the measurement variance.
    """

    numeric: LongArray  # features that are numbers and have two values at least
    categorical: LongArray  # features that are categories, in order or not; the user's questions are none
    centre: FloatArray  # (numeric,)
    scale: FloatArray  # (numeric,)
    measurement_variance: FloatArray  # (numeric,) variance within one step, in standard units
    start: LongArray  # (categorical + 1,) where the categories of each begin

    def numbers(self, columns: tuple[FloatArray, ...]) -> FloatArray:
        """Numeric columns in standard units; NaN where missing."""
        numbers = np.empty((len(columns[0]), len(self.numeric)))
        for k, feature in enumerate(self.numeric.tolist()):
            # Halves, lest the difference of two huge numbers be infinite.
            numbers[:, k] = (columns[feature] / 2 - self.centre[k] / 2) / self.scale[k] * 2
        return numbers

    def codes(self, columns: tuple[FloatArray, ...]) -> IntArray:
        """Categorical columns as positions among all their categories; -1 where missing."""
        codes = np.empty((len(columns[0]), len(self.categorical)), np.int32)
        for k, feature in enumerate(self.categorical.tolist()):
            column = columns[feature]
            codes[:, k] = np.where(np.isnan(column), -1, column + self.start[k])
        return codes


def fit_units(table: Table, weight: FloatArray) -> StandardUnits:
    """Fit the units to all rows of a table."""
    features = table.schema.features
    of_numbers = [index for index, feature in enumerate(features) if feature.kind == "numeric"]
    found = {index: _column_units(table.columns[index], weight) for index in of_numbers}
    numeric = [index for index in of_numbers if found[index] is not None]
    centre, scale, within = np.array([found[index] for index in numeric], np.float64).reshape(-1, 3).T
    categorical = [index for index, feature in enumerate(features) if feature.kind in ("nominal", "ordered")]
    sizes = [len(features[index].categories) for index in categorical]
    start = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    return StandardUnits(
        numeric=np.array(numeric, np.int64),
        categorical=np.array(categorical, np.int64),
        centre=centre,
        scale=scale,
        measurement_variance=within,
        start=start.astype(np.int64),
    )


def _column_units(column: FloatArray, weight: FloatArray) -> tuple[float, float, float] | None:
    """Return mean, deviation and the share of variance within a step; None without two values."""
    known = ~np.isnan(column)
    values, steps = np.unique(column[known], return_inverse=True)
    if len(values) < 2:
        return None
    exponent = int(np.frexp(np.abs(values).max())[1])
    values = np.ldexp(values, -exponent)
    of_value = np.bincount(steps, weight[known])
    mean = float(np.average(values, weights=of_value))
    deviation = float(np.sqrt(np.average((values - mean) ** 2, weights=of_value)))
    if deviation == 0.0:  # two values that only the last digit tells apart
        return None
    gaps = np.diff(values)
    step = float(gaps[gaps > LEAST_STEP * (values[-1] - values[0])].min()) / deviation
    # Numbers spread evenly over a step have 1/12 of its square as their variance.
    return (
        float(np.ldexp(mean, exponent)),
        float(np.ldexp(deviation, exponent)),
        max(step * step / 12, LEAST_VARIANCE),
    )


# -- in one order -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class UnlabelledRows:
    """Rows in canonical order, copies joined, ready for the search."""

    table: Table
    units: StandardUnits
    rows: DensityRows
    ranks: IntArray  # (features, rows) of the values of each column; -1 where missing
    copy_numbers: LongArray | None  # rows with one number are copies of one; None if no row is a copy

    @property
    def schema(self) -> Schema:
        """The schema of the table."""
        return self.table.schema

    @property
    def n_distinct(self) -> int:
        """Number of distinct rows."""
        return self.table.n_rows if self.copy_numbers is None else int(self.copy_numbers.max()) + 1


def prepare_rows(table: Table) -> UnlabelledRows:
    """Sort the rows of a table and convert them to standard units."""
    table, copies = _in_fixed_order(table)
    repeats, importance = split_weight(table.weight, table.n_rows)
    importance, _ = relative(importance, repeats)
    weight = repeats * (importance / np.average(importance, weights=repeats))
    units = fit_units(table, weight)
    rows = DensityRows(
        numbers=frozen(units.numbers(table.columns)),
        codes=frozen(units.codes(table.columns)),
        n_codes=int(units.start[-1]),
        weight=frozen(weight),
        repeats=frozen(repeats.astype(np.int64)),
        measurement_variance=frozen(units.measurement_variance),
    )
    ranks = np.empty((table.n_features, table.n_rows), np.int32)
    for feature, column in enumerate(table.columns):
        write_dense_ranks(column, ranks[feature])
    return UnlabelledRows(table, units, rows, frozen(ranks), copies)


def draw_holdout(data: UnlabelledRows, fraction: float, seed: int) -> BoolArray:
    """Draw the held-out rows: about this fraction, by the seed."""
    strata = np.zeros(data.table.n_rows, np.int64)
    keys = unit_keys(data.table, copies_as_groups(data.table, data.copy_numbers))
    return select_below(random_positions(strata, keys, (seed,)), fraction)


def _in_fixed_order(table: Table) -> tuple[Table, LongArray | None]:
    """Sort rows; whole weights become copies, other copies are joined into one row."""
    order = fixed_order(table)
    if table.weight is not None:
        order = order[table.weight[order] > 0]
    table = table.subset(order)
    kind, is_copy = _kinds(table)
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    if not are_repetitions(weight) or weight[~is_copy].sum() > max(MOST_ROWS, table.n_rows):
        numbers = np.where(is_copy, kind, kind.max() + 1 + np.arange(len(kind)))
        return table, np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    is_first = np.append(True, kind[1:] != kind[:-1])
    times = np.where(is_copy, is_first, weight).astype(np.int64)
    rows = np.repeat(np.arange(table.n_rows), times)
    joint = np.where(is_copy, np.bincount(kind, weight)[kind], 1.0)[rows]
    columns = tuple(column[rows] for column in table.columns)
    identity = None if table.identity is None else table.identity[rows]
    return Table(table.schema, columns, table.target[rows], joint, identity), None


def _kinds(table: Table) -> tuple[LongArray, BoolArray]:
    """Number equal rows alike, of sorted rows, and tell whether equal rows are copies.

    Rows alike in everything are copies if one of their numbers, of a column measured finely, stands in no
    other kind of row. Others are observations that happen to be alike, as in a table of categories or ages.
    """
    differs = np.zeros(table.n_rows, np.bool_)
    ranks = np.empty((table.n_features, table.n_rows), np.int32)
    for column, rank in zip(table.columns, ranks, strict=True):
        write_dense_ranks(column, rank)
        differs[1:] |= np.diff(rank) != 0
    kind = np.cumsum(differs)
    first = np.append(True, differs[1:])
    is_copy = np.zeros(table.n_rows, np.bool_)
    for feature, column, rank in zip(table.schema.features, table.columns, ranks, strict=True):
        if feature.kind == "numeric" and _is_fine(column):
            n_kinds = np.bincount(rank[first & (rank >= 0)], minlength=int(rank.max()) + 1)
            is_copy |= (rank >= 0) & (np.append(n_kinds, 0)[rank] == 1)
    return kind.astype(np.int64), is_copy


def _is_fine(column: FloatArray) -> bool:
    values = np.unique(column[~np.isnan(column)])
    if len(values) < 2:
        return False
    values = values / np.abs(values).max()
    return float(values[-1] - values[0]) > FINE * len(values) * float(np.diff(values).min())
