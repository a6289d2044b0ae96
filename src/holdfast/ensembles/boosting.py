"""Gradient boosting: small trees, one after the other, each a step down the loss of all before it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from holdfast._check import is_number
from holdfast.arrays import FloatArray, LongArray, without_last_digits
from holdfast.backends.progress import show_progress
from holdfast.backends.tasks import check_jobs, make_batches, run_cached
from holdfast.backends.thread_pool import ThreadPool
from holdfast.data.canonical_order import in_fixed_order
from holdfast.data.split.folds import Fold, draw_stable_folds, read_folds
from holdfast.data.split.groups import read_groups
from holdfast.data.table import Table
from holdfast.ensembles.boosted_tree import build_boosted_trees, step_schema
from holdfast.ensembles.boosting_rounds import Rounds
from holdfast.ensembles.boosting_settings import BoostingSettings
from holdfast.errors import ParameterError
from holdfast.growth.class_costs import losses_of
from holdfast.growth.sample import check_table
from holdfast.kernels.boosting.roles import HELD_OUT, LEARNT, LEFT_OUT, N_ROLES
from holdfast.random_streams import Branch
from holdfast.tree.ensemble import Ensemble

__all__ = ["Boosting", "BoostingSettings", "boost"]

TREES_AT_A_TIME = 100  # that are made of steps: more would take memory and hardly less time
_NO_LOSSES = np.full(N_ROLES, np.nan)


@dataclass(frozen=True, eq=False)
class Boosting:
    """A boosted ensemble with the mean losses after each round."""

    ensemble: Ensemble
    train_loss: FloatArray  # (rounds,) on the rows that the round learnt from
    validation_loss: FloatArray  # (rounds,) on the rows held out
    oob_scores: FloatArray  # (rounds,) on the rows that the round left out
    oob_improvement: FloatArray  # (rounds,) by how much the round lowered the loss of these same rows

    @property
    def n_estimators(self) -> int:
        """Number of rounds of the ensemble; more may have been tried."""
        return self.ensemble.n_rounds

    def plot(self, ax: Any = None) -> Any:
        """A `BoostingDisplay`, drawn: the losses by rounds."""
        from holdfast.show.plots.performance import BoostingDisplay

        return BoostingDisplay.from_result(self, ax=ax)


def boost(
    table: Table,
    settings: BoostingSettings,
    *,
    groups: Any = None,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: str = "",
) -> Boosting:
    """Boost an ensemble on the table.

    With early stopping it has the number of rounds that lost least on the rows held out; with "oob" the
    rounds up to the highest sum of what each gained on the rows that it left out. Rows of one group are held
    out, and left out of a round, together. The seed matters only where rows or features are drawn.
    """
    check_jobs(n_jobs)
    check_table(table)
    numbers = None if groups is None else read_groups(groups, table.n_rows)
    task = partial(
        _boosted, settings=settings, group_numbers=numbers, seed=seed, n_jobs=n_jobs, progress=progress
    )
    return run_cached("Boosting", task, table)


def _boosted(
    table: Table,
    *,
    settings: BoostingSettings,
    group_numbers: LongArray | None,
    seed: int,
    n_jobs: int | None,
    progress: str,
) -> Boosting:
    folds = _folds(table, settings, group_numbers, seed)
    # Sums of floats depend on their order: it is the same in whatever order the rows came.
    table, order = in_fixed_order(table, [] if group_numbers is None else [group_numbers], n_jobs)
    group_numbers = None if group_numbers is None else group_numbers[order]
    folds = [fold.subset(order) for fold in folds]
    with ThreadPool(n_jobs) as pool:
        if settings.early_stopping != "cv":
            (fold,) = folds
            rounds = Rounds.of(table, settings, group_numbers, fold, seed, pool)
            return _history(rounds, progress).result(rounds)
        by_round = []
        for number, fold in enumerate(folds):
            rounds = Rounds.of(table, settings, group_numbers, fold, seed, pool)
            bar = f"{progress} fold {number + 1}" if progress else ""
            by_round.append(_history(rounds, bar).validation)
        mean = np.mean(by_round, axis=0)
        n_estimators = int(without_last_digits(mean).argmin()) + 1  # the first of several
        best = replace(settings, n_estimators=n_estimators, early_stopping=False)
        rounds = Rounds.of(table, best, group_numbers, _whole(table), seed, pool)
        return replace(_history(rounds, progress).result(rounds), validation_loss=mean)


def _history(rounds: Rounds, progress: str) -> "_History":
    """Boost round by round until the stopping rule is met."""
    history = _History(rounds.settings)
    for number in _counted(rounds.settings.n_estimators, progress):
        rounds.draw(number)
        before = rounds.mean_losses() if rounds.settings.subsample < 1.0 else _NO_LOSSES
        rounds.trees.append(rounds.round_of_trees(number))
        rounds.derive()
        if history.is_over(before, rounds.mean_losses()):
            break
    return history


def _counted(n_estimators: int, progress: str) -> Iterable[int]:
    if not progress:
        return range(n_estimators)
    return show_progress(range(n_estimators), progress, n_estimators)


# -- rows held out -------------------------------------------------------------------------------------


def _whole(table: Table) -> Fold:
    return Fold(np.ones(table.n_rows, np.int32), np.zeros(table.n_rows, np.bool_))


def _folds(table: Table, settings: BoostingSettings, groups: LongArray | None, seed: int) -> list[Fold]:
    """Return training and validation rows; several pairs if folds choose the number of rounds."""
    if settings.early_stopping != "cv":
        return [_validation(table, settings, groups, seed)]
    if is_number(settings.cv):
        return draw_stable_folds(table, groups, settings.cv, (seed, Branch.BOOSTING_VALIDATION))
    return read_folds(table, groups, settings.cv)


def _validation(table: Table, settings: BoostingSettings, groups: LongArray | None, seed: int) -> Fold:
    """Return training rows and those held out for early stopping, if it is on."""
    if settings.early_stopping in (False, "oob"):
        return _whole(table)
    fold = draw_stable_folds(table, groups, settings.validation_fraction, (seed, Branch.BOOSTING_VALIDATION))[
        0
    ]
    if not fold.held_out.any() or fold.held_out.all():
        raise ParameterError(
            f"validation_fraction={settings.validation_fraction:g} of {table.n_rows} rows leaves none to "
            "hold out, or none to learn from: give another fraction, or leave early_stopping out."
        )
    return fold


# -- what is remembered -------------------------------------------------------------------------------------


@dataclass(eq=False)
class _History:
    """Mean losses by round, and the early-stopping rule."""

    settings: BoostingSettings
    train: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    oob_scores: list[float] = field(default_factory=list)
    oob_improvement: list[float] = field(default_factory=list)
    best: int = 0  # rounds that lost least, by a clear margin; 0: all
    lowest: float = np.inf  # what they lost

    def is_over(self, before: FloatArray, after: FloatArray) -> bool:
        """Record a round; return True if losses have not improved for long enough."""
        self.train.append(float(after[LEARNT]))
        if self.settings.subsample < 1.0:
            self.oob_scores.append(float(after[LEFT_OUT]))
            self.oob_improvement.append(float(before[LEFT_OUT] - after[LEFT_OUT]))
        if not self.settings.early_stopping:
            return False
        if self.settings.early_stopping == "oob":
            lost = -math.fsum(self.oob_improvement)
        else:
            lost = float(after[HELD_OUT])
            self.validation.append(lost)
        if self.best == 0 or lost < self.lowest - self.settings.tol:
            self.best, self.lowest = len(self.train), lost
        if self.settings.early_stopping == "cv":  # the folds decide together, when all rounds are known
            return False
        return len(self.train) - self.best >= self.settings.n_iter_no_change

    def result(self, state: Rounds) -> Boosting:
        """Return the ensemble of the best number of rounds."""
        table, l2 = state.table, state.settings.l2_regularization
        rounds = state.trees[: self.best or None]
        steps = [each for trees in rounds for each in trees]
        schema = step_schema(table, steps)
        parts = make_batches(steps, TREES_AT_A_TIME)
        trees = tuple(tree for part in parts for tree in build_boosted_trees(table, schema, part, l2))
        n_outputs = len(state.start)
        ensemble = Ensemble(
            schema=table.schema,
            trees=trees,
            weights=np.full(len(trees), state.settings.learning_rate),
            outputs=np.tile(np.arange(n_outputs), len(rounds)).astype(np.int32),
            start=state.start,
            link=state.loss.link,
            loss_matrix=losses_of(state.settings.loss_matrix, table.schema.target.classes),
        )
        lines = (self.train, self.validation, self.oob_scores, self.oob_improvement)
        return Boosting(ensemble, *(np.array(line) for line in lines))
