"""The rounds of a run of boosting: the rows, their scores so far, and one tree more."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from holdfast.arrays import FloatArray, IntArray, KeyArray, LongArray
from holdfast.backends.thread_pool import ThreadPool
from holdfast.data.input.weight import find_weighted_rows
from holdfast.data.split.folds import Fold
from holdfast.data.split.row_keys import lowest, unit_keys
from holdfast.data.table import Table
from holdfast.ensembles.binned_splits import BinnedSplits
from holdfast.ensembles.boosted_tree import (
    LeafSteps,
    divide_nodes,
    enforce_monotone_steps,
    newton_steps,
    sum_leaves,
)
from holdfast.ensembles.boosting_rows import BoostingRows, sum_by_role
from holdfast.ensembles.boosting_settings import BoostingSettings
from holdfast.ensembles.losses import Loss, best_constant, check_magnitude, make_loss
from holdfast.ensembles.newton import Derivatives, ExactSplits, Splits, TreeShape, block_parts, n_blocks_of
from holdfast.errors import DataError, ParameterError
from holdfast.growth.constraints import promise_of_score, score_rules
from holdfast.growth.rules import GrowthRules
from holdfast.growth.thresholds import compute_thresholds, node_features
from holdfast.kernels.boosting.leaves import add_routed, add_values, check_steps, refine
from holdfast.kernels.boosting.losses import derive
from holdfast.kernels.boosting.packing import N_SPREAD
from holdfast.kernels.boosting.roles import LEARNT, LEFT_OUT, N_ROLES, UNUSED
from holdfast.kernels.growth.nodes import CUT, END, FEATURE, NONE, START
from holdfast.random_streams import Branch, derived_seed
from holdfast.tree.monotone import Monotone
from holdfast.tree.quantile import weighted_quantile

LEAST_HESSIAN = 1e-3  # of a leaf, in rows of the mean weight: without curvature its step would be endless


@dataclass(eq=False)
class Rounds:
    """Rows with their scores, and the derivatives of the loss at these scores."""

    table: Table
    settings: BoostingSettings
    loss: Loss
    seed: int
    pool: ThreadPool
    groups: LongArray | None
    splits: list[Splits]  # one for each output, which has its own memory
    promises: list[Monotone | None]  # which way the score of each output goes along features
    data: BoostingRows
    start: FloatArray  # (outputs,)
    score: FloatArray  # (outputs, rows)
    gradient: FloatArray
    hessian: FloatArray
    lost: FloatArray  # (rows,) weight times loss; empty unless rows are drawn
    weight_by_role: FloatArray
    lost_by_role: FloatArray
    alpha: float = 0.0  # the quantile, or the residual from which Huber's loss is no longer squared
    first_alpha: float = 0.0  # that of the start: losses of all rounds are measured by it
    spread: FloatArray | None = None  # of the derivatives, for packing; None: to be looked up
    learnt: IntArray | None = None  # the rows that a round learns from; None: to be looked up
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
    ) -> "Rounds":
        """Initialise scores."""
        target = table.schema.target
        loss = make_loss(settings.loss, target)
        n_outputs = len(target.classes) if loss.is_per_class else 1
        _check_steps(settings, n_outputs)
        _check_honest(settings, loss)
        data = BoostingRows.of(table, settings.class_rules, fold)
        settings = _on_scale(settings, data.weight_exponent)
        learnt = data.role == LEARNT
        y, weight, n_learnt = data.y[learnt], data.weight[learnt], data.repeats[learnt].sum(dtype=np.int64)
        check_magnitude(target, data.y[data.role != UNUSED])
        if loss.check is not None:
            loss.check(target, y)
        start = np.zeros(n_outputs)
        if settings.start == "constant":
            start[:] = best_constant(loss, y, weight, settings.level, n_outputs)
        growth, least = settings.growth(int(n_learnt)), LEAST_HESSIAN * float(weight.sum() / n_learnt)
        of_outputs = [score_rules(table.schema, growth, output, n_outputs) for output in range(n_outputs)]
        table.code(pool.size)
        state = cls(
            table=table,
            settings=settings,
            loss=loss,
            seed=seed,
            pool=pool,
            groups=groups,
            splits=[_splits(table, settings, own, data.repeats, least) for own in of_outputs],
            promises=[promise_of_score(table.schema, own) for own in of_outputs],
            data=data,
            start=start,
            score=np.repeat(start[:, None], table.n_rows, axis=1),
            gradient=np.empty((n_outputs, table.n_rows)),
            hessian=np.empty((n_outputs, table.n_rows)),
            lost=np.empty(table.n_rows if settings.subsample < 1.0 else 0),
            weight_by_role=sum_by_role(data.role, data.weight),
            lost_by_role=np.empty(N_ROLES),
        )
        state.derive()
        return state

    def derive(self) -> None:
        """Compute the loss of every row and its derivatives."""
        self.alpha = self._next_alpha()
        self.first_alpha = self.first_alpha or self.alpha
        n_rows = self.table.n_rows
        sums, spread = np.empty((n_blocks_of(n_rows), N_ROLES)), np.empty((n_blocks_of(n_rows), N_SPREAD))
        how = self.loss.number, self.alpha, self.first_alpha
        written = self.gradient, self.hessian, self.lost, sums, spread
        self.pool.run(
            lambda part: derive(*how, self.data.lines, self.score, *part, *written),
            block_parts(n_rows, self.pool),
        )
        self.lost_by_role = sums.sum(axis=0)  # in the same order for any number of threads
        self.spread = spread if len(self.score) == 1 else None

    def _next_alpha(self) -> float:
        if not self.loss.alpha_of_residuals:
            return self.settings.level
        learnt = (self.data.role == LEARNT) | (self.data.role == LEFT_OUT)
        size = np.abs(self.data.y[learnt] - self.score[0, learnt])
        return weighted_quantile(size, self.data.weight[learnt], self.settings.level)

    def draw(self, number: int) -> None:
        """Draw the training rows of a round."""
        if self.settings.subsample == 1.0:
            return
        known = (self.data.role == LEARNT) | (self.data.role == LEFT_OUT)
        n_units = int(known.sum()) if self.groups is None else len(np.unique(self.groups[known]))
        n_drawn = max(round(self.settings.subsample * n_units), 1)
        drawn = lowest(self.keys[known], (self.seed, Branch.BOOSTING_SAMPLES, number), n_drawn)
        self.data.role[known] = np.where(drawn, LEARNT, LEFT_OUT)
        self.learnt = self.spread = None
        if self.settings.early_stopping == "oob" and not (self.data.role == LEFT_OUT).any():
            units = "rows" if self.groups is None else "groups"
            raise DataError(
                "early_stopping='oob' needs rows that a round leaves out, and "
                f"subsample={self.settings.subsample:g} of {n_units} {units} leaves none out: set it lower."
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
        rows = self.learnt
        if rows is None:
            rows = self.learnt = np.flatnonzero(self.data.role == LEARNT).astype(np.int32)
        outputs = range(len(self.splits))
        if len(outputs) == 1:
            return [self._tree(0, rows, number, self.pool)]
        alone = ThreadPool(1)  # whole trees are the tasks
        return self.pool.run(lambda output: self._tree(output, rows, number, alone), outputs)

    def _tree(self, output: int, rows: IntArray, number: int, pool: ThreadPool) -> LeafSteps:
        gradient, hessian = self.gradient[output], self.hessian[output]
        by, spread = hessian, self.spread
        if not self.settings.second_order:
            by, spread = np.ones(len(hessian)), None
        seed = 0
        if self.splits[output].rules.draws:  # a seed takes longer than a small node
            seed = derived_seed(self.seed, Branch.BOOSTING_SAMPLES, number, output)
        role, asking = self.data.role, rows
        if self.settings.leaf_values == "honest":
            asking = self._asking(rows, number)
            role = np.where(role == LEARNT, np.uint8(LEFT_OUT), role)
            role[asking], spread = LEARNT, None
        lines = self.data.lines
        shape = self.splits[output].tree(
            Derivatives(gradient, by, lines.importance, role, asking, spread), seed, pool
        )
        sums = sum_leaves(shape, (gradient, hessian, lines.weight, lines.repeats), pool)
        value = self._values(shape, sums, output)
        if len(asking) < len(rows):
            self._answer(shape, np.setdiff1d(rows, asking), output, value)
        if (promise := self.promises[output]) is not None:
            value = enforce_monotone_steps(self.table, LeafSteps(shape.grown, sums, value), promise)
        self._add(shape, value, output, pool)
        return LeafSteps(shape.grown, sums, value, self.data.weight_exponent, self.promises[output])

    def _values(self, shape: TreeShape, sums: FloatArray, output: int) -> FloatArray:
        """Compute the step of every leaf."""
        fields, rows, loss = shape.grown.fields, shape.rows, self.loss
        is_leaf = fields[:, FEATURE] == NONE
        if loss.leaf_value is None:
            value = np.where(is_leaf, newton_steps(sums, self.settings.l2_regularization), 0.0)
            score, gradient = self.score[output], self.gradient[output]
            if not loss.is_quadratic:
                measured = self.data.y, score, gradient, self.data.weight
                check_steps(fields, rows, loss.number, float(output), *measured, value)
            if self.settings.leaf_steps > 1:
                how, further = (loss.number, loss.is_quadratic), self.settings.leaf_steps - 1
                l2 = self.settings.l2_regularization
                refine(fields, rows, *how, self.data.y, score, self.data.weight, further, l2, value)
            return value
        value = np.zeros(len(fields))
        for leaf in np.flatnonzero(is_leaf).tolist():
            own = rows[fields[leaf, START] : fields[leaf, END]]
            value[leaf] = loss.leaf_value(
                self.data.y[own] - self.score[output, own], self.data.weight[own], self.alpha
            )
        return value

    def _asking(self, rows: IntArray, number: int) -> IntArray:
        """Select the half of a round's rows, or groups, that chooses splits; the rest gives leaf values."""
        keys = self.keys[rows]
        n_units = len(rows) if self.groups is None else len(np.unique(self.groups[rows]))
        stream = self.seed, Branch.BOOSTING_HONEST_ROWS, number
        return rows[lowest(keys, stream, max(n_units // 2, 1))]

    def _answer(self, shape: TreeShape, rows: IntArray, output: int, value: FloatArray) -> None:
        """Set leaf values by rows that did not choose the splits; a leaf without any keeps its value."""
        nodes = np.zeros(self.table.n_rows)
        own_number = np.arange(len(value), dtype=np.float64)
        fields = self._with_last_ranks(shape.grown.fields)
        add_routed(self.table.coded, fields, shape.grown.in_set, rows, own_number, nodes)
        order = np.argsort(nodes[rows], kind="stable")
        leaves, starts = np.unique(nodes[rows][order].astype(np.int64), return_index=True)
        assert self.loss.leaf_value is not None
        for leaf, own in zip(leaves.tolist(), np.split(rows[order], starts[1:]), strict=True):
            residuals = self.data.y[own] - self.score[output, own]
            value[leaf] = self.loss.leaf_value(residuals, self.data.weight[own], self.alpha)

    def _add(self, shape: TreeShape, value: FloatArray, output: int, pool: ThreadPool) -> None:
        fields, rows = shape.grown.fields, shape.rows
        step, score = self.settings.learning_rate * value, self.score[output]
        pool.run(
            lambda part: add_values(fields, rows, step, *part, score),
            divide_nodes(fields, len(rows), pool),
        )
        if len(rows) == self.n_used:
            return
        is_other = self.data.role != UNUSED
        is_other[rows] = False
        others = np.flatnonzero(is_other).astype(np.int32)
        fields = self._with_last_ranks(fields)
        add_routed(self.table.coded, fields, shape.grown.in_set, others, step, score)

    def _with_last_ranks(self, fields: LongArray) -> LongArray:
        """Set the last rank that goes left by all rows, not only the training rows.

        A threshold is half-way between two values of these, and a row that lies between them is on one side.
        """
        threshold, asked = compute_thresholds(self.table, fields), node_features(self.table, fields)
        fields = fields.copy()
        for node in np.flatnonzero(threshold == threshold).tolist():
            values = self.distinct[asked[node]]
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
            f"leaf_steps={settings.leaf_steps} is for a single score, and here each class has one, which the "
            "steps of the others move: leave leaf_steps at 1."
        )


def _check_honest(settings: BoostingSettings, loss: Loss) -> None:
    if settings.leaf_values == "honest" and loss.leaf_value is None:
        raise ParameterError(
            f"leaf_values='honest' is for losses around a middle or a quantile, and the loss is "
            f"{settings.loss!r}: use 'absolute_error', 'huber' or 'quantile', or leave it at 'labels'."
        )


def _splits(
    table: Table, settings: BoostingSettings, growth: GrowthRules, repeats: IntArray, least: float
) -> Splits:
    rows = find_weighted_rows(table.weight)
    if settings.are_binned(table.n_rows if rows is None else int(np.count_nonzero(rows))):
        return BinnedSplits(table, repeats, growth, least, settings.l2_regularization)
    return ExactSplits(table, repeats, growth, least)
