"""The changes that a procedure is tried by: each is pairs of samples, before and after.

To add one is to add a function of a repetition and its line in CHANGES.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from holdfast.arrays import BoolArray, LongArray
from holdfast.audit.columns import (
    ColumnChange,
    Columns,
    as_given,
    permuted,
    with_last_digits_moved,
    with_noise,
)
from holdfast.audit.rows import AuditRows, Repetition
from holdfast.data.schema import Schema
from holdfast.data.split.row_positions import select_below
from holdfast.data.split.stages import pool_stages
from holdfast.random_streams import Branch, Stream, derived_seed

SAMPLE = 0.75  # of the pool; two samples share twice that less 1
FEWER = 0.02  # of the rows are left out
MOST_STAGES = 5  # more of them are pooled, neighbours with neighbours
ONE, TWO, ANOTHER, STAGES = 0, 1, 2, 3  # numbers of the seeds of a repetition


@dataclass(frozen=True, eq=False)
class Sample:
    """What a model learns from, and with which seed. Of samples with one key one is fitted."""

    key: str
    rows: LongArray  # in the order in which the model gets them
    seed: int
    columns: ColumnChange = as_given


class Pair(NamedTuple):
    """Two samples that a procedure is trained on, and which of the test rows tell how it moved."""

    change: str
    part: int  # which of several pairs of the repetition, as of stages
    before: Sample
    after: Sample
    tested: BoolArray | None = None  # of the test rows; None: all


def seed_of(repetition: Repetition, number: int) -> int:
    """The seed of a model: one number for each use."""
    return derived_seed(repetition.seed, Branch.AUDIT_SEEDS, repetition.number, number)


def first_sample(repetition: Repetition) -> Sample:
    """The sample that small changes begin with, and the first of the two that overlap."""
    return Sample("one", repetition.part(0.0, SAMPLE), seed_of(repetition, ONE))


def overlap(repetition: Repetition) -> list[Pair]:
    """Two samples of three quarters of the pool, which share half of it, and a seed for each."""
    second = Sample("two", repetition.part(1 - SAMPLE, 1.0), seed_of(repetition, TWO))
    return [Pair("overlap", 0, first_sample(repetition), second)]


def staged(repetition: Repetition) -> list[Pair]:
    """Half of the pool, then all of it; or, with stages, all up to one, then all up to the next.

    The later model of stages is tried on test rows of the stages that it has seen.
    """
    stage = repetition.rows.stage
    if stage is None or stage.max() == 0:
        half = Sample("half", repetition.part(0.0, 0.5), seed_of(repetition, STAGES))
        return [Pair("staged", 0, half, Sample("all", repetition.pool, seed_of(repetition, STAGES + 1)))]
    block = pool_stages(stage, MOST_STAGES)
    first = int(block[repetition.pool].min())
    samples = {
        last: Sample(
            f"stage {last}",
            repetition.pool[block[repetition.pool] <= last],
            seed_of(repetition, STAGES + last),
        )
        for last in range(first, int(block.max()) + 1)
    }
    tested = block[repetition.test]
    return [
        Pair("staged", last, samples[last], samples[last + 1], np.asarray(tested <= last + 1, np.bool_))
        for last in range(first, int(block.max()))
    ]


# -- small changes of one sample --------------------------------------------------------------------------


def fewer_rows(repetition: Repetition) -> list[Pair]:
    """The sample without 2 % of its rows, or of its groups."""
    one = first_sample(repetition)
    left_out = select_below(repetition.positions(one.rows, Branch.AUDIT_CHANGES), FEWER)
    kept = one.rows[~left_out] if not left_out.all() else one.rows
    return [Pair("fewer rows", 0, one, Sample("fewer", kept, one.seed))]


def another_seed(repetition: Repetition) -> list[Pair]:
    """The same sample with another seed."""
    one = first_sample(repetition)
    return [Pair("another seed", 0, one, Sample("seed", one.rows, seed_of(repetition, ANOTHER)))]


def _of_columns(
    name: str, number: int, change: Callable[[Stream, AuditRows, Schema], Columns], repetition: Repetition
) -> list[Pair]:
    """The same rows with other columns."""
    one = first_sample(repetition)
    stream = (repetition.seed, Branch.AUDIT_CHANGES, repetition.number, number)
    return [Pair(name, 0, one, Sample(name, one.rows, one.seed, partial(change, stream)))]


CHANGES: dict[str, Callable[[Repetition], list[Pair]]] = {
    "overlap": overlap,
    "staged": staged,
    "fewer rows": fewer_rows,
    "another seed": another_seed,
    "noise column": partial(_of_columns, "noise column", 1, with_noise),
    "columns permuted": partial(_of_columns, "columns permuted", 2, permuted),
    "last digit": partial(_of_columns, "last digit", 3, with_last_digits_moved),
}
