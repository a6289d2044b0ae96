"""The rows of a run in their roles: to test by, to train on, to hold out, early, or late."""

import warnings
from dataclasses import dataclass, replace

import numpy as np

from holdfast.arrays import BoolArray, LongArray
from holdfast.data.input.frame import Frame
from holdfast.data.split.groups import find_known_groups, renumber_groups
from holdfast.data.table import Table
from holdfast.errors import DataWarning
from holdfast.governance.model_card import model_card_of
from holdfast.runs.estimator import make_run_estimator
from holdfast.runs.held_out import choose_test_rows
from holdfast.runs.rows import Rows
from holdfast.runs.settings import RunSettings
from holdfast.scoring.enough import describe_too_few
from holdfast.scoring.metric import Metric, Score, TrueValues
from holdfast.scoring.predictions import predict_for_metric
from holdfast.stability.rows import PreparedRows
from holdfast.stability.training import prepare
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class TestRows:
    """Rows that nothing sees that grows or chooses a tree."""

    frame: Frame
    true_values: TrueValues

    @property
    def too_few(self) -> str:
        """How many rows and cases there are, if too few to judge a model by; else empty."""
        return describe_too_few(self.true_values)

    def score(self, model: Tree | Ensemble, metric: Metric) -> Score:
        """How good the model is on them."""
        return metric.score(predict_for_metric(metric, model, self.frame), self.true_values)


@dataclass(frozen=True, eq=False)
class RowRoles:
    """The rows of a run in their roles."""

    source: str
    whole: Table  # all rows
    rows: Rows  # those to train on
    training: Table  # those to train on, as they stand in the data, on a schema of their own
    stage: LongArray | None  # of each of these; None if none of them are earlier than others
    prepared: PreparedRows | None  # the same, sorted and divided, for a stable tree; None for other models
    test: TestRows | None  # later than all that is learnt from, if there are test stages
    earlier_test: TestRows | None = None  # random rows of the stages before those of `test`
    test_stages: tuple[str, ...] = ()  # held out as a whole; empty if test rows are drawn at random
    training_stages: tuple[str, ...] = ()
    early_stages: tuple[str, ...] = ()  # as the data calls them; empty if no stage tells the early rows
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

    def test_scores(self, model: Tree | Ensemble, metric: Metric) -> tuple[Score | None, Score | None]:
        """How good the model is on the test rows, and on those of earlier stages; None without enough."""
        test, earlier = (
            None if rows is None or rows.too_few else rows.score(model, metric)
            for rows in (self.test, self.earlier_test)
        )
        return test, earlier

    @property
    def divided(self) -> PreparedRows:
        """The training rows, sorted and divided, of a stable tree."""
        if self.prepared is None:
            raise ValueError("Only the rows of a stable tree are divided into early and late ones.")
        return self.prepared

    @property
    def has_early(self) -> bool:
        """True if some of the training rows are early and others late: of a centred tree all are alike."""
        return not self.divided.division.early.all()

    @property
    def n_early(self) -> int:
        """Number of training rows that are early."""
        return self._n_rows(self.divided.division.early)

    @property
    def n_held_out(self) -> int:
        """Number of them that are held out to score a candidate; the mean, if there are several ways."""
        return round(float(np.mean([self._n_rows(rows) for rows in self.divided.division.validation])))

    @property
    def held_out_too_few(self) -> str:
        """The rows that candidates are scored by, if they are too few to judge a tree; else nothing."""
        rows = self.divided
        held_out = np.any(rows.division.validation, axis=0)
        return describe_too_few(TrueValues.of(rows.table, rows.groups).subset(held_out))

    def _n_rows(self, rows: BoolArray) -> int:
        """How many rows of the data these stand for, by their fraction of the weight."""
        table = self.divided.table
        weight = np.ones(table.n_rows) if table.weight is None else table.weight
        return round(self.n_training * float(weight[rows].sum() / weight.sum()))


def assign_roles(rows: Rows, settings: RunSettings) -> RowRoles:
    """The rows in their roles, as the settings want them."""
    positive = settings.parameters.get("positive")
    rows = replace(
        rows, positive=model_card_of(settings.model_card).positive if positive is None else positive
    )
    with warnings.catch_warnings():
        if settings.test > 0:
            warnings.simplefilter("ignore", DataWarning)  # the training rows will raise those that matter
        whole = rows.table(settings.data.task)
    held_out = choose_test_rows(whole, rows, settings.test, settings.test_rows, settings.random_state)
    is_training = ~(held_out.test | held_out.earlier)
    training, table = rows, whole
    if not is_training.all():
        training = rows.subset(is_training)
        # A schema of their own: not even the range of a column comes from the test rows.
        table = training.table("classification" if whole.schema.target.is_classes else "regression")
    estimator = make_run_estimator(settings, table.schema.target)  # refuses what is out of range
    # Where the test takes all stages but one, none of the rows left are earlier than others; nor are they in
    # a consensus tree, whose rows are only divided evenly by stage.
    is_consensus = settings.is_stable and estimator.method == "centred"
    needless = bool(held_out.stages) or is_consensus
    stage = None if needless and len(training.stages) == 1 else training.stage
    prepared, early = None, []
    if settings.is_stable:
        prepared = prepare(table, estimator._settings(), stage=stage, groups=training.groups)
        if prepared.stage is not None and not is_consensus:
            early = np.unique(prepared.stage[prepared.division.early]).tolist()
    groups = rows.groups
    return RowRoles(
        source=rows.source,
        whole=whole,
        rows=training,
        training=table,
        stage=stage,
        prepared=prepared,
        test=_test_rows(rows, whole, table, held_out.test),
        earlier_test=_test_rows(rows, whole, table, held_out.earlier),
        test_stages=held_out.stages,
        training_stages=training.stages,
        early_stages=tuple(training.stages[number] for number in early),
        n_known=0 if groups is None else int(find_known_groups(groups, is_training, held_out.test).sum()),
    )


def _test_rows(rows: Rows, whole: Table, training: Table, is_test: BoolArray) -> TestRows | None:
    if not is_test.any():
        return None
    groups = renumber_groups(rows.groups, is_test)
    # The training rows have every class, so that each has the same number in both tables.
    true_values = TrueValues(
        training.schema.target,
        whole.target[is_test],
        None if whole.weight is None else whole.weight[is_test],
        None if groups is None else groups.astype(np.int32),
    )
    return TestRows(rows.features.subset(is_test), true_values)
