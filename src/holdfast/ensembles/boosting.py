"""Gradient boosting: small trees in sequence, each a step that lowers the loss of the sum so far."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from holdfast._arrays import ByteArray, FloatArray, IntArray, KeyArray, LongArray, round_last_digits
from holdfast._check import check_choice, check_flag, check_fraction, check_integer, check_number, is_number
from holdfast._random import Branch, derive_seed
from holdfast.data.folds import Fold, draw_stable_folds, read_folds, read_groups
from holdfast.data.row_keys import select_lowest, unit_keys
from holdfast.data.row_order import sort_table
from holdfast.data.schema import Label
from holdfast.data.table import Table
from holdfast.data.target import find_weighted_rows
from holdfast.ensembles.binned_splits import BinnedSplits
from holdfast.ensembles.boosted_tree import (
    Derivatives,
    ExactSplits,
    LeafSteps,
    Splits,
    TreeShape,
    build_boosted_trees,
    count_blocks,
    divide_blocks,
    divide_nodes,
    enforce_monotone_steps,
    newton_steps,
    step_schema,
    sum_leaves,
)
from holdfast.ensembles.losses import Loss, LossName, best_constant, check_magnitude, make_loss
from holdfast.errors import DataError, ParameterError
from holdfast.growth.class_costs import LossMatrix, Priors, parse_loss_matrix, parse_priors, read_loss_matrix
from holdfast.growth.constraints import make_score_monotone, make_score_rules
from holdfast.growth.grow import compute_thresholds, node_features
from holdfast.growth.rules import (
    Categories,
    ClassWeight,
    Column,
    GrowthRules,
    Interactions,
    MaxFeatures,
    resolve_min_rows,
)
from holdfast.growth.sample import check_table, scale_weights
from holdfast.kernels.boosting.histogram import HELD_OUT, N_ROLES, N_SPREAD, OUT_OF_BAG, TRAINING, UNUSED
from holdfast.kernels.boosting.leaves import add_routed, add_values, check_steps, refine
from holdfast.kernels.boosting.losses import LossRows, compute_derivatives
from holdfast.kernels.growth.nodes import CUT, END, FEATURE, NONE, START
from holdfast.parallel.progress import show_progress
from holdfast.parallel.tasks import ThreadPool, check_jobs, make_batches, run_cached
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.monotone import Monotone
from holdfast.tree.stats import QUANTILE, weighted_quantile

__all__ = ["Boosting", "BoostingSettings", "boost"]

TREES_AT_A_TIME = 100  # built together: more would take memory and hardly less time
_NO_LOSSES = np.full(N_ROLES, np.nan)


@dataclass(frozen=True, eq=False)
class Boosting:
    """A boosted ensemble with the mean losses after each round."""

    ensemble: Ensemble
    train_loss: FloatArray  # (rounds,) on the training rows of the round
    validation_loss: FloatArray  # (rounds,) on the held-out rows
    oob_scores: FloatArray  # (rounds,) loss on the rows not drawn in the round
    oob_improvement: FloatArray  # (rounds,) decrease of the loss of these rows in the round

    @property
    def n_estimators(self) -> int:
        """Number of rounds of the ensemble; more may have been tried."""
        return self.ensemble.n_rounds

    def plot(self, ax: Any = None) -> Any:
        """Draw the losses by rounds, as a `BoostingDisplay`."""
        from holdfast.plots.performance import BoostingDisplay

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

    With early stopping it has the number of rounds with the least loss on held-out rows; with "oob" the
    rounds up to the greatest sum of out-of-bag improvements. Rows of one group are held out, and drawn,
    together. The seed matters only if rows or features are drawn.
    """
    check_jobs(n_jobs)
    check_table(table)
    numbers = None if groups is None else read_groups(groups, table.n_rows)
    task = partial(
        _boost, settings=settings, group_numbers=numbers, seed=seed, n_jobs=n_jobs, progress=progress
    )
    return run_cached("Boosting", task, table)


def _boost(
    table: Table,
    *,
    settings: BoostingSettings,
    group_numbers: LongArray | None,
    seed: int,
    n_jobs: int | None,
    progress: str,
) -> Boosting:
    folds = _make_folds(table, settings, group_numbers, seed)
    # Sums of floats depend on the order of rows: it is the same for any order of the input.
    table, order = sort_table(table, [] if group_numbers is None else [group_numbers], n_jobs)
    group_numbers = None if group_numbers is None else group_numbers[order]
    folds = [fold.subset(order) for fold in folds]
    with ThreadPool(n_jobs) as pool:
        if settings.early_stopping != "cv":
            (fold,) = folds
            rounds = Rounds.of(table, settings, group_numbers, fold, seed, pool)
            return _run_rounds(rounds, progress).result(rounds)
        by_round = []
        for number, fold in enumerate(folds):
            rounds = Rounds.of(table, settings, group_numbers, fold, seed, pool)
            bar = f"{progress} fold {number + 1}" if progress else ""
            by_round.append(_run_rounds(rounds, bar).validation)
        mean = np.mean(by_round, axis=0)
        n_estimators = int(round_last_digits(mean).argmin()) + 1  # the first of several
        best = replace(settings, n_estimators=n_estimators, early_stopping=False)
        rounds = Rounds.of(table, best, group_numbers, _all_rows(table), seed, pool)
        return replace(_run_rounds(rounds, progress).result(rounds), validation_loss=mean)


def _run_rounds(rounds: Rounds, progress: str) -> _History:
    """Boost round by round until the stopping rule is met."""
    history = _History(rounds.settings)
    for number in _round_numbers(rounds.settings.n_estimators, progress):
        rounds.draw(number)
        before = rounds.mean_losses() if rounds.settings.subsample < 1.0 else _NO_LOSSES
        rounds.trees.append(rounds.round_of_trees(number))
        rounds.compute_derivatives()
        if history.is_over(before, rounds.mean_losses()):
            break
    return history


def _round_numbers(n_estimators: int, progress: str) -> Iterable[int]:
    if not progress:
        return range(n_estimators)
    return show_progress(range(n_estimators), progress, n_estimators)


def _all_rows(table: Table) -> Fold:
    return Fold(np.ones(table.n_rows, np.int32), np.zeros(table.n_rows, np.bool_))


def _make_folds(table: Table, settings: BoostingSettings, groups: LongArray | None, seed: int) -> list[Fold]:
    """Return training and validation rows; several pairs if folds choose the number of rounds."""
    if settings.early_stopping != "cv":
        return [_hold_out(table, settings, groups, seed)]
    if is_number(settings.cv):
        return draw_stable_folds(table, groups, settings.cv, (seed, Branch.BOOSTING_VALIDATION))
    return read_folds(table, groups, settings.cv)


def _hold_out(table: Table, settings: BoostingSettings, groups: LongArray | None, seed: int) -> Fold:
    """Return training rows and those held out for early stopping, if it is on."""
    if settings.early_stopping in (False, "oob"):
        return _all_rows(table)
    fold = draw_stable_folds(table, groups, settings.validation_fraction, (seed, Branch.BOOSTING_VALIDATION))[
        0
    ]
    if not fold.held_out.any() or fold.held_out.all():
        raise ParameterError(
            f"validation_fraction={settings.validation_fraction:g} of {table.n_rows} rows leaves none to "
            "hold out, or none to train on: give another fraction, or leave early_stopping out."
        )
    return fold


@dataclass(eq=False)
class _History:
    """Mean losses by round, and the early-stopping rule."""

    settings: BoostingSettings
    train: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    oob_scores: list[float] = field(default_factory=list)
    oob_improvement: list[float] = field(default_factory=list)
    best: int = 0  # number of rounds with the least loss; 0: all
    lowest: float = np.inf  # their loss

    def is_over(self, before: FloatArray, after: FloatArray) -> bool:
        """Record a round; return True if losses have not improved for long enough."""
        self.train.append(float(after[TRAINING]))
        if self.settings.subsample < 1.0:
            self.oob_scores.append(float(after[OUT_OF_BAG]))
            self.oob_improvement.append(float(before[OUT_OF_BAG] - after[OUT_OF_BAG]))
        if not self.settings.early_stopping:
            return False
        if self.settings.early_stopping == "oob":
            loss = -math.fsum(self.oob_improvement)
        else:
            loss = float(after[HELD_OUT])
            self.validation.append(loss)
        if self.best == 0 or loss < self.lowest - self.settings.tol:
            self.best, self.lowest = len(self.train), loss
        if self.settings.early_stopping == "cv":  # decided by the mean over all folds
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
            loss_matrix=read_loss_matrix(state.settings.loss_matrix, table.schema.target.classes),
        )
        lines = (self.train, self.validation, self.oob_scores, self.oob_improvement)
        return Boosting(ensemble, *(np.array(line) for line in lines))


# -- Rounds --------------------------------------------------------------------------------------------------

LEAST_HESSIAN = 1e-3  # of a leaf, in rows of mean weight: without curvature its step would be infinite


@dataclass(eq=False)
class Rounds:
    """Rows with their scores, and the derivatives of the loss at these scores."""

    table: Table
    settings: BoostingSettings
    loss: Loss
    seed: int
    pool: ThreadPool
    groups: LongArray | None
    splits: list[Splits]  # one per output, with its own memory
    monotone: list[Monotone | None]  # constraints on the score of each output
    data: BoostingRows
    start: FloatArray  # (outputs,)
    score: FloatArray  # (outputs, rows)
    gradient: FloatArray
    hessian: FloatArray
    lost: FloatArray  # (rows,) weight times loss; empty unless rows are drawn
    weight_by_role: FloatArray
    lost_by_role: FloatArray
    alpha: float = 0.0  # the quantile, or the residual above which Huber's loss is linear
    first_alpha: float = 0.0  # alpha of the start, by which the losses of all rounds are measured
    spread: FloatArray | None = None  # of the derivatives, for packing; None: to be computed
    training: IntArray | None = None  # training rows of the round; None: to be computed
    trees: list[list[LeafSteps]] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        table: Table,
        settings: BoostingSettings,
        groups: LongArray | None,
        fold: Fold,
        seed: int,
        pool: ThreadPool,
    ) -> Rounds:
        """Initialise scores."""
        target = table.schema.target
        loss = make_loss(settings.loss, target)
        n_outputs = len(target.classes) if loss.is_per_class else 1
        _check_steps(settings, n_outputs)
        _check_honest(settings, loss)
        data = BoostingRows.of(table, settings.class_rules, fold)
        settings = _on_scale(settings, data.weight_exponent)
        rows = data.role == TRAINING
        y, weight, n_rows = data.y[rows], data.weight[rows], data.repeats[rows].sum(dtype=np.int64)
        check_magnitude(target, data.y[data.role != UNUSED])
        if loss.check is not None:
            loss.check(target, y)
        start = np.zeros(n_outputs)
        if settings.start == "constant":
            start[:] = best_constant(loss, y, weight, settings.level, n_outputs)
        growth, least = settings.growth(int(n_rows)), LEAST_HESSIAN * float(weight.sum() / n_rows)
        output_rules = [
            make_score_rules(table.schema, growth, output, n_outputs) for output in range(n_outputs)
        ]
        table.code(pool.size)
        state = cls(
            table=table,
            settings=settings,
            loss=loss,
            seed=seed,
            pool=pool,
            groups=groups,
            splits=[_splits(table, settings, own, data.repeats, least) for own in output_rules],
            monotone=[make_score_monotone(table.schema, own) for own in output_rules],
            data=data,
            start=start,
            score=np.repeat(start[:, None], table.n_rows, axis=1),
            gradient=np.empty((n_outputs, table.n_rows)),
            hessian=np.empty((n_outputs, table.n_rows)),
            lost=np.empty(table.n_rows if settings.subsample < 1.0 else 0),
            weight_by_role=sum_by_role(data.role, data.weight),
            lost_by_role=np.empty(N_ROLES),
        )
        state.compute_derivatives()
        return state

    def compute_derivatives(self) -> None:
        """Compute the loss of every row and its derivatives."""
        self.alpha = self._next_alpha()
        self.first_alpha = self.first_alpha or self.alpha
        n_rows = self.table.n_rows
        sums, spread = np.empty((count_blocks(n_rows), N_ROLES)), np.empty((count_blocks(n_rows), N_SPREAD))
        loss = self.loss.number, self.alpha, self.first_alpha
        outputs = self.gradient, self.hessian, self.lost, sums, spread
        self.pool.run(
            lambda part: compute_derivatives(*loss, self.data.lines, self.score, *part, *outputs),
            divide_blocks(n_rows, self.pool),
        )
        self.lost_by_role = sums.sum(axis=0)  # in the same order for any number of threads
        self.spread = spread if len(self.score) == 1 else None

    def _next_alpha(self) -> float:
        if not self.loss.alpha_of_residuals:
            return self.settings.level
        rows = (self.data.role == TRAINING) | (self.data.role == OUT_OF_BAG)
        size = np.abs(self.data.y[rows] - self.score[0, rows])
        return weighted_quantile(size, self.data.weight[rows], self.settings.level)

    def draw(self, number: int) -> None:
        """Draw the training rows of a round."""
        if self.settings.subsample == 1.0:
            return
        rows = (self.data.role == TRAINING) | (self.data.role == OUT_OF_BAG)
        n_units = int(rows.sum()) if self.groups is None else len(np.unique(self.groups[rows]))
        n_drawn = max(round(self.settings.subsample * n_units), 1)
        drawn = select_lowest(self.keys[rows], (self.seed, Branch.BOOSTING_SAMPLES, number), n_drawn)
        self.data.role[rows] = np.where(drawn, TRAINING, OUT_OF_BAG)
        self.training = self.spread = None
        if self.settings.early_stopping == "oob" and not (self.data.role == OUT_OF_BAG).any():
            units = "rows" if self.groups is None else "groups"
            raise DataError(
                "early_stopping='oob' needs rows that a round does not draw, and "
                f"subsample={self.settings.subsample:g} of {n_units} {units} draws all: set it lower."
            )
        self.weight_by_role = sum_by_role(self.data.role, self.data.weight)
        self.lost_by_role = sum_by_role(self.data.role, self.lost)

    @cached_property
    def keys(self) -> KeyArray:
        """Random keys of rows, or of their groups, that decide which rows a round uses."""
        return unit_keys(self.table, self.groups)

    @cached_property
    def n_used(self) -> int:
        """Number of rows used for training, left out and held out."""
        return int(np.count_nonzero(self.data.role != UNUSED))

    @cached_property
    def distinct(self) -> list[FloatArray]:
        """Sorted distinct values of each column, without missing values."""
        return [np.unique(column[~np.isnan(column)]) for column in self.table.columns]

    def mean_losses(self) -> FloatArray:
        """Mean loss of the rows of each role; NaN where there are none."""
        weight, lost = self.weight_by_role, self.lost_by_role
        return np.asarray(np.where(weight > 0, lost / np.where(weight > 0, weight, 1.0), np.nan))

    def round_of_trees(self, number: int) -> list[LeafSteps]:
        """Grow one tree per output from the same scores, and add their steps."""
        rows = self.training
        if rows is None:
            rows = self.training = np.flatnonzero(self.data.role == TRAINING).astype(np.int32)
        outputs = range(len(self.splits))
        if len(outputs) == 1:
            return [self._tree(0, rows, number, self.pool)]
        alone = ThreadPool(1)  # whole trees are the tasks
        return self.pool.run(lambda output: self._tree(output, rows, number, alone), outputs)

    def _tree(self, output: int, rows: IntArray, number: int, pool: ThreadPool) -> LeafSteps:
        gradient, hessian = self.gradient[output], self.hessian[output]
        curvature, spread = hessian, self.spread
        if not self.settings.second_order:
            curvature, spread = np.ones(len(hessian)), None
        seed = 0
        if self.splits[output].rules.draws:  # deriving a seed takes longer than a small node
            seed = derive_seed(self.seed, Branch.BOOSTING_SAMPLES, number, output)
        role, splitting = self.data.role, rows
        if self.settings.leaf_values == "honest":
            splitting = self._draw_splitting_rows(rows, number)
            role = np.where(role == TRAINING, np.uint8(OUT_OF_BAG), role)
            role[splitting], spread = TRAINING, None
        lines = self.data.lines
        shape = self.splits[output].tree(
            Derivatives(gradient, curvature, lines.importance, role, splitting, spread), seed, pool
        )
        sums = sum_leaves(shape, (gradient, hessian, lines.weight, lines.repeats), pool)
        value = self._leaf_values(shape, sums, output)
        if len(splitting) < len(rows):
            self._set_honest_values(shape, np.setdiff1d(rows, splitting), output, value)
        if (monotone := self.monotone[output]) is not None:
            value = enforce_monotone_steps(self.table, LeafSteps(shape.nodes, sums, value), monotone)
        self._add(shape, value, output, pool)
        return LeafSteps(shape.nodes, sums, value, self.data.weight_exponent, self.monotone[output])

    def _leaf_values(self, shape: TreeShape, sums: FloatArray, output: int) -> FloatArray:
        """Compute the step of every leaf."""
        fields, rows, loss = shape.nodes.fields, shape.rows, self.loss
        is_leaf = fields[:, FEATURE] == NONE
        if loss.leaf_value is None:
            value = np.where(is_leaf, newton_steps(sums, self.settings.l2_regularization), 0.0)
            score, gradient = self.score[output], self.gradient[output]
            if not loss.is_quadratic:
                measured = self.data.y, score, gradient, self.data.weight
                check_steps(fields, rows, loss.number, float(output), *measured, value)
            if self.settings.leaf_steps > 1:
                kind, further = (loss.number, loss.is_quadratic), self.settings.leaf_steps - 1
                l2 = self.settings.l2_regularization
                refine(fields, rows, *kind, self.data.y, score, self.data.weight, further, l2, value)
            return value
        value = np.zeros(len(fields))
        for leaf in np.flatnonzero(is_leaf).tolist():
            own = rows[fields[leaf, START] : fields[leaf, END]]
            value[leaf] = loss.leaf_value(
                self.data.y[own] - self.score[output, own], self.data.weight[own], self.alpha
            )
        return value

    def _draw_splitting_rows(self, rows: IntArray, number: int) -> IntArray:
        """Draw the half of a round's rows, or groups, that chooses splits; the rest sets leaf values."""
        keys = self.keys[rows]
        n_units = len(rows) if self.groups is None else len(np.unique(self.groups[rows]))
        stream = self.seed, Branch.BOOSTING_HONEST_ROWS, number
        return rows[select_lowest(keys, stream, max(n_units // 2, 1))]

    def _set_honest_values(self, shape: TreeShape, rows: IntArray, output: int, value: FloatArray) -> None:
        """Set leaf values by rows that did not choose the splits; leaves without any keep their value."""
        nodes = np.zeros(self.table.n_rows)
        own_number = np.arange(len(value), dtype=np.float64)
        fields = self._with_last_ranks(shape.nodes.fields)
        add_routed(self.table.coded, fields, shape.nodes.in_set, rows, own_number, nodes)
        order = np.argsort(nodes[rows], kind="stable")
        leaves, starts = np.unique(nodes[rows][order].astype(np.int64), return_index=True)
        assert self.loss.leaf_value is not None
        for leaf, own in zip(leaves.tolist(), np.split(rows[order], starts[1:]), strict=True):
            residuals = self.data.y[own] - self.score[output, own]
            value[leaf] = self.loss.leaf_value(residuals, self.data.weight[own], self.alpha)

    def _add(self, shape: TreeShape, value: FloatArray, output: int, pool: ThreadPool) -> None:
        fields, rows = shape.nodes.fields, shape.rows
        step, score = self.settings.learning_rate * value, self.score[output]
        pool.run(
            lambda part: add_values(fields, rows, step, *part, score), divide_nodes(fields, len(rows), pool)
        )
        if len(rows) == self.n_used:
            return
        is_other = self.data.role != UNUSED
        is_other[rows] = False
        others = np.flatnonzero(is_other).astype(np.int32)
        fields = self._with_last_ranks(fields)
        add_routed(self.table.coded, fields, shape.nodes.in_set, others, step, score)

    def _with_last_ranks(self, fields: LongArray) -> LongArray:
        """Set the last rank that goes left among all rows, not only the training rows.

        A threshold is half-way between two values of these; other rows may have a value in between.
        """
        threshold, feature = compute_thresholds(self.table, fields), node_features(self.table, fields)
        fields = fields.copy()
        for node in np.flatnonzero(threshold == threshold).tolist():
            values = self.distinct[feature[node]]
            fields[node, CUT] = np.searchsorted(values, threshold[node], side="right") - 1
        return fields


def _on_scale(settings: BoostingSettings, exponent: int) -> BoostingSettings:
    """Adapt settings to weights multiplied by 2 ** -exponent."""
    with np.errstate(over="ignore"):
        changed = np.ldexp([settings.l2_regularization, settings.min_impurity_decrease], -exponent)
    l2, gain = np.minimum(changed, np.finfo(np.float64).max).tolist()
    return replace(settings, l2_regularization=l2, min_impurity_decrease=gain)


def _check_steps(settings: BoostingSettings, n_outputs: int) -> None:
    if settings.leaf_steps > 1 and n_outputs > 1:
        raise ParameterError(
            f"leaf_steps={settings.leaf_steps} is for a single score, and here each class has one, which "
            "depends on the steps of the others: leave leaf_steps at 1."
        )


def _check_honest(settings: BoostingSettings, loss: Loss) -> None:
    if settings.leaf_values == "honest" and loss.leaf_value is None:
        raise ParameterError(
            f"leaf_values='honest' is for losses with a median or a quantile as leaf value, and the loss is "
            f"{settings.loss!r}: use 'absolute_error', 'huber' or 'quantile', or leave it at 'labels'."
        )


def _splits(
    table: Table, settings: BoostingSettings, growth: GrowthRules, repeats: IntArray, least: float
) -> Splits:
    rows = find_weighted_rows(table.weight)
    if settings.are_binned(table.n_rows if rows is None else int(np.count_nonzero(rows))):
        return BinnedSplits(table, repeats, growth, least, settings.l2_regularization)
    return ExactSplits(table, repeats, growth, least)


# -- Rows ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BoostingRows:
    """One entry per row; weights are multiplied by 2 ** -weight_exponent."""

    y: FloatArray  # the number, or the class
    weight: FloatArray
    weight_exponent: int
    importance: FloatArray  # the weight of one repetition
    repeats: IntArray
    role: ByteArray  # rewritten by every round that draws rows

    @classmethod
    def of(cls, table: Table, rules: GrowthRules, fold: Fold) -> BoostingRows:
        """Make the rows of a table, some held out; the rules set class weights."""
        times = np.where(fold.held_out, 1, fold.times).astype(np.int32)
        repeats, importance, exponent = scale_weights(table, rules, times)
        role = np.where(fold.held_out, HELD_OUT, TRAINING).astype(np.uint8)
        role[repeats == 0] = UNUSED
        if not (role == TRAINING).any():
            raise DataError("There are no training rows: all rows with weight are held out.")
        y, weight = table.target.astype(np.float64), repeats * importance
        return cls(y, weight, exponent, importance, repeats, role)

    @cached_property
    def lines(self) -> LossRows:
        """The rows for kernels, without weights if all are 1."""
        used = self.role != UNUSED
        if (self.weight[used] == 1.0).all() and (self.repeats[used] == 1).all():
            return LossRows(self.y, np.empty(0), np.empty(0), np.empty(0, np.int32), self.role)
        return LossRows(self.y, self.weight, self.importance, self.repeats, self.role)


def sum_by_role(role: ByteArray, values: FloatArray) -> FloatArray:
    """Sum the values of the rows of each role."""
    return np.asarray(np.bincount(role, values, N_ROLES), np.float64)


# -- Settings ------------------------------------------------------------------------------------------------

EarlyStopping = bool | Literal["cv", "oob"]
MOST_STEPS = 100  # of a leaf: Newton's method needs a handful
MOST_EXACT_ROWS = 10_000  # with more rows, splits="auto" searches between bins only


@dataclass(frozen=True)
class BoostingSettings:
    """Settings of gradient boosting.

    >>> BoostingSettings("poisson", n_estimators=0)
    Traceback (most recent call last):
    holdfast.errors.ParameterError: n_estimators=0 is out of range: it must be an integer of at least 1.
    """

    loss: LossName
    n_estimators: int = 100
    learning_rate: float = 0.1
    max_depth: int | None = 3  # the interaction depth: most features that interact
    max_leaf_nodes: int | None = None  # best-first
    min_samples_leaf: int | float = 10  # rows; a float is a fraction of all rows
    min_impurity_decrease: float = 0.0  # least gain of a split: twice the decrease of the summed loss
    l2_regularization: float = 0.0  # added to the hessian of a leaf: small leaves take smaller steps
    categories: Categories = (
        "shrunk"  # means of columns with more than 9; "exact": the best set of these rows
    )
    max_features: MaxFeatures = None  # drawn at every split
    subsample: float = 1.0  # fraction of the rows drawn by each round
    second_order: bool = True  # False: splits by gradients alone, a regression tree on pseudo-residuals
    leaf_steps: int = 1  # Newton steps of a leaf
    splits: Literal["auto", "exact", "binned"] = "auto"
    start: Literal["constant", "zero"] = "constant"
    alpha: float = 0.9  # the quantile of "quantile"; of "huber", the fraction of residuals with squared loss
    quantile: float | None = None  # another name of alpha, for "quantile" only
    leaf_values: str = "labels"  # of quantile losses; "honest": half of the rows choose the splits
    class_weight: ClassWeight = None
    priors: Priors = None  # class fractions that set row weights
    loss_matrix: LossMatrix = None  # costs of errors, which decide the predicted class, not growth
    monotonic_cst: Mapping[Column, int] | Sequence[int] | None = None  # as in GrowthRules, of the score
    monotonic_class: Label | None = None
    interaction_cst: Interactions = None
    excluded_features: Mapping[Column, int | None] | Sequence[Column] | None = None
    feature_costs: Mapping[Column, float] | None = None
    early_stopping: EarlyStopping = False  # by held-out rows, by folds, or by out-of-bag rows
    cv: Any = 5  # number of folds, a splitter of scikit-learn, or pairs of row numbers
    validation_fraction: float = 0.1  # of the rows, held out
    n_iter_no_change: int = 10  # rounds without improvement before stopping
    tol: float = 1e-7  # least improvement of the mean loss

    def __post_init__(self) -> None:
        for each in fields(self):
            if isinstance(value := getattr(self, each.name), np.generic):
                object.__setattr__(self, each.name, value.item())
        check_integer("n_estimators", self.n_estimators)
        check_integer("leaf_steps", self.leaf_steps, 1, MOST_STEPS)
        check_integer("n_iter_no_change", self.n_iter_no_change)
        check_number("learning_rate", self.learning_rate, 0.0, 1.0, is_open="low")
        check_number("subsample", self.subsample, 0.0, 1.0, is_open="low")
        _check_quantile(self.loss, self.quantile)
        check_choice("leaf_values", self.leaf_values, ("labels", "honest"))
        check_fraction("alpha", self.alpha)
        check_fraction("validation_fraction", self.validation_fraction)
        check_number("l2_regularization", self.l2_regularization)
        check_number("tol", self.tol)
        check_choice("splits", self.splits, ("auto", "exact", "binned"))
        check_choice("start", self.start, ("constant", "zero"))
        check_flag("second_order", self.second_order)
        _check_stopping(self.early_stopping, self.subsample)
        if self.splits == "exact" and self.l2_regularization > 0:
            raise ParameterError(
                f"splits='exact' does not support l2_regularization, which is {self.l2_regularization!r}: "
                "set it to 0, or use splits='binned'."
            )
        object.__setattr__(self, "priors", parse_priors(self.priors))
        object.__setattr__(self, "loss_matrix", parse_loss_matrix(self.loss_matrix))
        self.growth(1)  # checks the rest

    @property
    def level(self) -> float:
        """Quantile of the "quantile" loss; for "huber", the fraction of residuals with squared loss."""
        return self.alpha if self.quantile is None else float(self.quantile)

    def growth(self, n_rows: int) -> GrowthRules:
        """Return the growth rules of one tree on this number of rows."""
        rules = GrowthRules(
            criterion="squared_error",
            max_depth=self.max_depth,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf,
            min_impurity_decrease=self.min_impurity_decrease,
            categories=self.categories,
            max_features=self.max_features,
            class_weight=self.class_weight,
            priors=self.priors,
            loss_matrix=self.loss_matrix,
            monotonic_cst=self.monotonic_cst,
            monotonic_class=self.monotonic_class,
            interaction_cst=self.interaction_cst,
            excluded_features=self.excluded_features,
            feature_costs=self.feature_costs,
        )
        least = resolve_min_rows(rules.min_samples_leaf, n_rows)
        return replace(rules, min_samples_leaf=least, class_weight=None, priors=None, loss_matrix=None)

    @property
    def class_rules(self) -> GrowthRules:
        """Class weights."""
        return GrowthRules(class_weight=self.class_weight, priors=self.priors)

    def are_binned(self, n_rows: int) -> bool:
        """True if splits are searched between bins only."""
        if self.splits == "auto":
            return n_rows > MOST_EXACT_ROWS or self.l2_regularization > 0
        return self.splits == "binned"


def _check_quantile(loss: Any, quantile: Any) -> None:
    if quantile is None:
        return
    if loss != QUANTILE:
        raise ParameterError(
            f"quantile={quantile!r} is for loss='quantile', and the loss is {loss!r}: leave one of "
            "the two out."
        )
    check_fraction("quantile", quantile)


def _check_stopping(early_stopping: Any, subsample: float) -> None:
    if not isinstance(early_stopping, bool) and early_stopping not in ("cv", "oob"):
        raise ParameterError(
            f"early_stopping={early_stopping!r} is unknown: give True, False, 'cv' or 'oob'."
        )
    if early_stopping == "oob" and subsample == 1.0:
        raise ParameterError(
            "early_stopping='oob' needs rows that a round does not draw, and subsample=1.0 draws all: "
            "set subsample below 1, such as 0.5."
        )
