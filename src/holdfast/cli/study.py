"""The rows of a file in their roles: to test by, to hold out, early, or late."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from holdfast.arrays import BoolArray, LongArray
from holdfast.cli.model_options import ClassWeights
from holdfast.cli.source import Rows
from holdfast.data.canonical import fixed_order, unit_numbers
from holdfast.data.frame import Frame
from holdfast.data.table import Table
from holdfast.data.target import Task
from holdfast.errors import DataError, DataWarning
from holdfast.scoring.metric import Metric, Score, Truth
from holdfast.stability.choice import Wish
from holdfast.stability.division import Division, hold_out
from holdfast.stability.settings import Settings
from holdfast.stability.training import prepare
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree


@dataclass(frozen=True)
class Job:
    """What the user asks for, but for the data."""

    settings: Settings
    wish: Wish
    test: float = 0.25  # share of the rows; 0 for none
    task: Task | None = None
    model: str = "stable"
    said: Mapping[str, Any] = field(default_factory=dict)  # the growth rules that the user spelt out
    class_weight: ClassWeights = None


@dataclass(frozen=True, eq=False)
class TestRows:
    """Rows that nothing sees that grows or chooses a tree."""

    frame: Frame
    truth: Truth

    def score(self, model: Tree | Ensemble, metric: Metric) -> Score:
        """How good the model is on them."""
        return metric.score(model.values(self.frame), self.truth)


@dataclass(frozen=True, eq=False)
class Study:
    """The rows of a file in their roles."""

    source: str
    whole: Table  # all rows
    test: TestRows | None
    table: Table  # those to train on, in one fixed order, as often as whole weights say
    groups: LongArray | None  # of the rows of this table
    division: Division  # of the rows of this table
    own: Table  # the same rows as they stand in the file
    own_groups: LongArray | None  # of these; None if no column tells them
    early_stages: tuple[str, ...] = ()  # as the file calls them; empty if early rows are drawn at random

    @property
    def n_test(self) -> int:
        """Number of rows to test by."""
        return 0 if self.test is None else self.test.frame.n_rows

    @property
    def n_training(self) -> int:
        """Number of rows to grow trees on and to choose one by."""
        return self.whole.n_rows - self.n_test

    @property
    def n_early(self) -> int:
        """Number of them that are early."""
        return self._n_rows(self.division.early)

    @property
    def n_held_out(self) -> int:
        """Number of them that are held out to score a candidate; the mean, if there are several ways."""
        return round(float(np.mean([self._n_rows(rows) for rows in self.division.validation])))

    def _n_rows(self, rows: BoolArray) -> int:
        """How many rows of the file these stand for, by their share of the weight."""
        weight = np.ones(self.table.n_rows) if self.table.weight is None else self.table.weight
        return round(self.n_training * float(weight[rows].sum() / weight.sum()))


def divided(rows: Rows, job: Job) -> Study:
    """The rows in their roles, as the job wants them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the training rows will raise those that matter
        whole = rows.table(job.task)
    is_test = _held_out(whole, rows, job)
    training = rows.taken(~is_test)
    # A schema of their own: not even the range of a column comes from the test rows.
    own = training.table("classification" if whole.schema.target.is_classes else "regression")
    stage = training.stage if job.model == "stable" else None  # other models know no early rows
    ready = prepare(own, job.settings, stage=stage, groups=training.groups)
    early = [] if ready.stage is None else np.unique(ready.stage[ready.division.early]).tolist()
    return Study(
        source=rows.source,
        whole=whole,
        test=_test_rows(rows, whole, own, is_test),
        table=ready.table,
        groups=ready.groups,
        division=ready.division,
        own=own,
        own_groups=training.groups,
        early_stages=tuple(training.stages[number] for number in early),
    )


def _held_out(whole: Table, rows: Rows, job: Job) -> BoolArray:
    """The rows to test by: whole groups, drawn in whatever order the rows stand in the file."""
    if job.test == 0:
        return np.zeros(whole.n_rows, np.bool_)
    marks = [mark for mark in (rows.stage, rows.groups) if mark is not None]
    order = fixed_order(whole, marks)
    ordered, marks = whole.taken(order), [mark[order] for mark in marks]
    flags = hold_out(
        ordered,
        job.test,
        stage=None if rows.stage is None else marks[0],
        groups=unit_numbers(ordered, marks) if rows.groups is None else marks[-1],
        seed=job.settings.seed,
    )
    is_test = np.empty(whole.n_rows, np.bool_)
    is_test[order] = flags
    is_test &= ~_needed(whole, rows, is_test)
    if is_test.all():
        units = f"{whole.n_rows} rows" if rows.groups is None else f"{int(rows.groups.max()) + 1} groups"
        raise DataError(f"With test rows held out, none of the {units} is left to train on: say --test 0.")
    return is_test


def _needed(whole: Table, rows: Rows, is_test: BoolArray) -> BoolArray:
    """The rows of classes that would have no other row to train on, with all of their groups."""
    n_classes = len(whole.schema.target.classes)
    if not n_classes or is_test.all():
        return np.zeros(whole.n_rows, np.bool_)
    known = np.bincount(whole.target[~is_test], minlength=n_classes) > 0
    needed = np.asarray(~known[whole.target], np.bool_)
    return needed if rows.groups is None else np.isin(rows.groups, rows.groups[needed])


def _test_rows(rows: Rows, whole: Table, training: Table, is_test: BoolArray) -> TestRows | None:
    if not is_test.any():
        return None
    # The training rows have every class, so that each has the same number in both tables.
    truth = Truth(
        training.schema.target,
        whole.target[is_test],
        None if whole.weight is None else whole.weight[is_test],
        None if rows.groups is None else rows.groups[is_test].astype(np.int32),
    )
    return TestRows(rows.features.taken(is_test), truth)
