"""The rows of an audit, in one fixed order, and what of them each repetition learns from and tests by."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.arrays import FloatArray, LongArray
from holdfast.comparison.rows import rows_of
from holdfast.data.canonical_order import fixed_order
from holdfast.data.schema import Feature, Schema
from holdfast.data.split.groups import subset_groups
from holdfast.data.split.row_positions import assign_strata, select_below
from holdfast.data.table import Table
from holdfast.errors import DataError
from holdfast.random_streams import Branch, Stream, generator


@dataclass(frozen=True, eq=False)
class AuditRows:
    """All rows whose weight is above 0, in an order that does not depend on how they came."""

    X: Any  # as the methods get it
    y: Any
    table: Table  # the same rows: it says how they can be divided, and on which schema trees are measured
    numbers: LongArray  # the place of each row in the data as given
    n_given: int  # number of rows in it
    groups: LongArray | None  # the key of each group, which methods get as its label; never divided
    stage: LongArray | None

    @classmethod
    def of(
        cls, X: Any, y: Any, table: Table, *, groups: LongArray | None, stage: LongArray | None
    ) -> "AuditRows":
        """The rows sorted; those without weight are left out."""
        order = fixed_order(table, [mark for mark in (stage, groups) if mark is not None])
        if table.weight is not None:
            order = order[table.weight[order] > 0]
        ordered = table.subset(order)
        own_stage = None if stage is None else np.unique(stage[order], return_inverse=True)[1]
        return cls(
            X=rows_of(X, order),
            y=rows_of(y, order),
            table=ordered,
            numbers=order,
            n_given=table.n_rows,
            groups=subset_groups(groups, order),
            stage=own_stage,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows


@dataclass(frozen=True, eq=False)
class Repetition:
    """One division of the rows: those to test by, and the pool that samples are drawn from."""

    rows: AuditRows
    number: int
    seed: int  # of the whole audit
    test_size: float

    @cached_property
    def test(self) -> LongArray:
        """The rows that no model learns from, classes and stages in equal shares, groups whole."""
        strata = assign_strata(self.rows.table, self.rows.stage)
        stream = (self.seed, Branch.AUDIT_TEST_ROWS, self.number)
        test = np.flatnonzero(select_below(drawn_positions(strata, self.rows.groups, stream), self.test_size))
        if len(test) == self.rows.n_rows:
            raise DataError(
                "There is one row or one group only: an audit keeps some of them untouched and trains on "
                "others."
            )
        return test

    @cached_property
    def pool(self) -> LongArray:
        """All other rows, in a random order, groups whole."""
        is_test = np.zeros(self.rows.n_rows, np.bool_)
        is_test[self.test] = True
        rest = np.flatnonzero(~is_test)
        return rest[np.argsort(self.positions(rest, Branch.AUDIT_SAMPLES), kind="stable")]

    @cached_property
    def schema(self) -> Schema:
        """The reference schema of the repetition: ranges and categories of the pool."""
        table = self.rows.table.subset(self.pool)
        return Schema(tuple(map(_measured, table.schema.features, table.columns)), table.schema.target)

    def positions(self, rows: LongArray, *branch: int) -> FloatArray:
        """A random position between 0 and 1 for each of the rows, the same for the rows of a group."""
        in_order = np.sort(rows)
        groups = subset_groups(self.rows.groups, in_order)
        position = np.empty(self.rows.n_rows)
        position[in_order] = drawn_positions(
            np.zeros(len(rows), np.int64), groups, (self.seed, *branch, self.number)
        )
        return np.asarray(position[rows], np.float64)

    def part(self, low: float, high: float) -> LongArray:
        """The rows of the pool from one fraction of it to another, groups whole."""
        position = self.positions(self.pool, Branch.AUDIT_SAMPLES)
        part: LongArray = self.pool[(position >= low) & (position < high)]
        if len(part) == 0:
            raise DataError(
                f"The {len(self.pool)} rows to train on are too few, or of too few groups, for samples."
            )
        return part


def drawn_positions(strata: LongArray, groups: LongArray | None, stream: Stream) -> FloatArray:
    """A random position from 0 to 1 for every row: those below a fraction are about so many of every stratum.

    Rows of one group have one position; the stratum of a group is the lowest of its rows'. Rows that are
    alike are rows of their own, unlike where a method draws rows by what they hold. A stratum begins anywhere
    on the circle, so that many small ones do not all lose their rows to the same side.

    >>> np.sort(drawn_positions(np.zeros(4, np.int64), None, (0,)) < 0.5).tolist()
    [False, False, True, True]
    """
    chance = generator(*stream)
    unit = np.arange(len(strata)) if groups is None else np.unique(groups, return_inverse=True)[1]
    size = np.bincount(unit)
    stratum = np.full(len(size), strata.max(), np.int64)
    np.minimum.at(stratum, unit, strata)
    order = np.lexsort((chance.permutation(len(size)), stratum))
    rows_of = np.bincount(stratum, size)  # of every stratum
    before = (np.cumsum(rows_of) - rows_of)[stratum[order]]
    inside = (np.cumsum(size[order]) - size[order] / 2 - before) / rows_of[stratum[order]]
    position = np.empty(len(size))
    position[order] = (inside + chance.random(len(rows_of))[stratum[order]]) % 1.0
    return np.asarray(position[unit], np.float64)


def _measured(feature: Feature, values: FloatArray) -> Feature:
    """The feature with the range, or the categories, that are among the values."""
    known = values[~np.isnan(values)]
    if feature.kind == "numeric" and len(known):
        return replace(feature, low=float(known.min()), high=float(known.max()))
    if feature.kind == "nominal":
        present = np.unique(known).astype(np.int64).tolist()
        return replace(feature, categories=tuple(feature.categories[place] for place in present))
    return feature
