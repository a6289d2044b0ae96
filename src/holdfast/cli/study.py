"""The rows of a file in their roles: to test by, to hold out, early, or late."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from holdfast.arrays import BoolArray, LongArray
from holdfast.cli.held_out import rows_to_test_by
from holdfast.cli.model_options import ClassWeights
from holdfast.cli.source import Rows
from holdfast.data.input.frame import Frame
from holdfast.data.input.target import Task
from holdfast.data.split.fractions import known_rows
from holdfast.data.table import Table
from holdfast.errors import DataWarning
from holdfast.scoring.metric import Metric, Score, TrueValues
from holdfast.scoring.predictions import predictions_for
from holdfast.stability.choice import SelectionRule
from holdfast.stability.division import Division
from holdfast.stability.settings import Settings
from holdfast.stability.training import prepare
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree

LEAST_TOLD = 10  # rows or groups; the standard error of fewer says too little


@dataclass(frozen=True)
class Job:
    """What the user asks for, but for the data."""

    settings: Settings
    selection_rule: SelectionRule
    test: float = 0.25  # fraction of the rows; 0 for none
    task: Task | None = None
    test_rows: Literal["forward", "random"] | None = None  # by default forward if there are stages
    model: str = "stable"
    said: Mapping[str, Any] = field(default_factory=dict)  # the growth rules that the user spelt out
    class_weight: ClassWeights = None


@dataclass(frozen=True, eq=False)
class TestRows:
    """Rows that nothing sees that grows or chooses a tree."""

    frame: Frame
    true_values: TrueValues

    def can_tell(self, metric: Metric) -> bool:
        """True if so many rows, or groups, are known to have a score: the AUC of one class says nothing."""
        units = (
            self.true_values.values if self.true_values.groups is None else np.unique(self.true_values.groups)
        )
        return len(units) >= LEAST_TOLD and len(np.unique(self.true_values.values)) >= metric.least_values

    def score(self, model: Tree | Ensemble, metric: Metric) -> Score:
        """How good the model is on them."""
        return metric.score(predictions_for(metric, model, self.frame), self.true_values)


@dataclass(frozen=True, eq=False)
class Study:
    """The rows of a file in their roles."""

    source: str
    whole: Table  # all rows
    test: TestRows | None  # later than all that is learnt from, if there are test stages
    table: Table  # those to train on, in one fixed order, as often as whole weights say
    groups: LongArray | None  # of the rows of this table
    division: Division  # of the rows of this table
    own: Table  # the same rows as they stand in the file
    own_groups: LongArray | None  # of these; None if no column tells them
    early_stages: tuple[str, ...] = ()  # as the file calls them; empty if early rows are drawn at random
    earlier_test: TestRows | None = None  # random rows of the stages before those of `test`
    test_stages: tuple[str, ...] = ()  # held out as a whole; empty if test rows are drawn at random
    training_stages: tuple[str, ...] = ()
    n_known: int = 0  # test rows whose group is learnt from too

    @property
    def n_test(self) -> int:
        """Number of rows to test by."""
        return 0 if self.test is None else self.test.frame.n_rows

    @property
    def n_earlier_test(self) -> int:
        """Number of random rows of earlier stages to test by, besides."""
        return 0 if self.earlier_test is None else self.earlier_test.frame.n_rows

    @property
    def n_training(self) -> int:
        """Number of rows to grow trees on and to choose one by."""
        return self.whole.n_rows - self.n_test - self.n_earlier_test

    @property
    def n_early(self) -> int:
        """Number of them that are early."""
        return self._n_rows(self.division.early)

    @property
    def n_held_out(self) -> int:
        """Number of them that are held out to score a candidate; the mean, if there are several ways."""
        return round(float(np.mean([self._n_rows(rows) for rows in self.division.validation])))

    def _n_rows(self, rows: BoolArray) -> int:
        """How many rows of the file these stand for, by their fraction of the weight."""
        weight = np.ones(self.table.n_rows) if self.table.weight is None else self.table.weight
        return round(self.n_training * float(weight[rows].sum() / weight.sum()))


def divided(rows: Rows, job: Job) -> Study:
    """The rows in their roles, as the job wants them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the training rows will raise those that matter
        whole = rows.table(job.task)
    held_out = rows_to_test_by(whole, rows, job.test, job.test_rows, job.settings.seed)
    is_training = ~(held_out.test | held_out.earlier)
    training = rows.taken(is_training)
    # A schema of their own: not even the range of a column comes from the test rows.
    own = training.table("classification" if whole.schema.target.is_classes else "regression")
    # Where the test takes all stages but one, none of the rows left are earlier than others; and other models
    # know no early rows.
    has_early = job.model == "stable" and not (held_out.stages and len(training.stages) == 1)
    stage = training.stage if has_early else None
    ready = prepare(own, job.settings, stage=stage, groups=training.groups)
    early = [] if ready.stage is None else np.unique(ready.stage[ready.division.early]).tolist()
    return Study(
        source=rows.source,
        whole=whole,
        test=_test_rows(rows, whole, own, held_out.test),
        earlier_test=_test_rows(rows, whole, own, held_out.earlier),
        test_stages=held_out.stages,
        training_stages=training.stages,
        n_known=0 if rows.groups is None else int(known_rows(rows.groups, is_training, held_out.test).sum()),
        table=ready.table,
        groups=ready.groups,
        division=ready.division,
        own=own,
        own_groups=training.groups,
        early_stages=tuple(training.stages[number] for number in early),
    )


def _test_rows(rows: Rows, whole: Table, training: Table, is_test: BoolArray) -> TestRows | None:
    if not is_test.any():
        return None
    # The training rows have every class, so that each has the same number in both tables.
    true_values = TrueValues(
        training.schema.target,
        whole.target[is_test],
        None if whole.weight is None else whole.weight[is_test],
        None if rows.groups is None else rows.groups[is_test].astype(np.int32),
    )
    return TestRows(rows.features.taken(is_test), true_values)
