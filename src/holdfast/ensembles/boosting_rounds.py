"""The rounds of a run of boosting: the rows, their scores so far, and one tree more."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from holdfast.arrays import ByteArray, FloatArray, IntArray, LongArray
from holdfast.backends.thread_pool import ThreadPool
from holdfast.data.input.weight import counted_rows
from holdfast.data.split.folds import Fold
from holdfast.data.split.resampling import bootstrap_counts
from holdfast.data.table import Table
from holdfast.ensembles.boosted_tree import Steps, newton_steps, node_parts, summed
from holdfast.ensembles.boosting_rules import BoostingRules
from holdfast.ensembles.losses import Loss, check_size, check_targets, log_shares, loss_of, weighted_quantile
from holdfast.ensembles.newton import BinnedSplits, ExactSplits, Shaped, Slopes, Splits, runs
from holdfast.errors import DataError, RulesError
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import weights_of
from holdfast.growth.thresholds import node_features, thresholds
from holdfast.kernels.boosting import losses as kernels
from holdfast.kernels.boosting.losses import HELD_OUT, LEARNT, LEFT_OUT, UNUSED
from holdfast.kernels.growth.grow import CUT, END, FEATURE, NONE, START

LEAST_HESSIAN = 1e-3  # of a leaf, in rows of the mean weight: without curvature its step would be endless
ROWS_A_SUM = 2**16
_SAMPLES = 52  # the branch of the seed


@dataclass(eq=False)
class Rounds:
    """The rows, their scores so far, and the derivatives of the loss there."""

    table: Table
    rules: BoostingRules
    loss: Loss
    seed: int
    pool: ThreadPool
    groups: LongArray | None
    splits: list[Splits]  # one for each output, which has its own memory
    y: FloatArray  # the number, or the class
    weight: FloatArray  # times 2 ** -weight_exponent
    weight_exponent: int
    importance: FloatArray  # the weight of one repetition, times 2 ** -weight_exponent
    repeats: IntArray
    role: ByteArray
    start: FloatArray  # (outputs,)
    score: FloatArray  # (outputs, rows)
    gradient: FloatArray
    hessian: FloatArray
    lost: FloatArray  # (rows,) weight times loss
    weight_by_role: FloatArray
    lost_by_role: FloatArray
    alpha: float = 0.0  # the quantile, or the residual from which Huber's loss is no longer squared
    first_alpha: float = 0.0  # that of the start: losses of all rounds are measured by it
    trees: list[list[Steps]] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        table: Table,
        rules: BoostingRules,
        groups: LongArray | None,
        fold: Fold,
        seed: int,
        pool: ThreadPool,
    ) -> "Rounds":
        """Where boosting starts."""
        loss = loss_of(rules.loss, table.schema.target)
        n_outputs = len(table.schema.target.classes) if loss.number == kernels.MULTINOMIAL else 1
        _check_steps(rules, n_outputs)
        taken = np.where(fold.held_out, 1, fold.times).astype(np.int32)
        chosen = GrowthRules(class_weight=rules.class_weight)
        repeats, importance, exponent = weights_of(table, chosen, taken)
        rules = _on_scale(rules, exponent)
        role = np.where(fold.held_out, HELD_OUT, LEARNT).astype(np.uint8)
        role[repeats == 0] = UNUSED
        _check_roles(role)
        y, weight = table.target.astype(np.float64), repeats * importance
        learnt = role == LEARNT
        growth = rules.growth(int(repeats[learnt].sum(dtype=np.int64)))
        check_size(table.schema.target, y[role != UNUSED])
        check_targets(rules.loss, table.schema.target, y[learnt])
        start = np.zeros(n_outputs)
        if rules.start == "constant" and loss.start is None:
            start = log_shares(y[learnt], weight[learnt], n_outputs)
        elif rules.start == "constant" and loss.start is not None:
            start[:] = loss.start(y[learnt], weight[learnt], rules.alpha)
        least = LEAST_HESSIAN * float(weight[learnt].sum() / repeats[learnt].sum())
        _ = table.coded
        state = cls(
            table=table,
            rules=rules,
            loss=loss,
            seed=seed,
            pool=pool,
            groups=groups,
            splits=[_splits(table, rules, growth, repeats, least) for _ in range(n_outputs)],
            y=y,
            weight=weight,
            weight_exponent=exponent,
            importance=importance,
            repeats=repeats,
            role=role,
            start=start,
            score=np.repeat(start[:, None], table.n_rows, axis=1),
            gradient=np.empty((n_outputs, table.n_rows)),
            hessian=np.empty((n_outputs, table.n_rows)),
            lost=np.empty(table.n_rows),
            weight_by_role=sums_by_role(role, weight),
            lost_by_role=np.empty(kernels.N_ROLES),
        )
        state.derive()
        return state

    def derive(self) -> None:
        """Work out the loss of every row and its derivatives."""
        self.alpha = self._next_alpha()
        self.first_alpha = self.first_alpha or self.alpha
        parts = runs(self.table.n_rows, ROWS_A_SUM)
        sums = np.empty((len(parts), kernels.N_ROLES))
        self.pool.run(
            lambda part: kernels.derive(
                self.loss.number,
                self.alpha,
                self.first_alpha,
                self.y,
                self.score,
                self.weight,
                *parts[part],
                self.gradient,
                self.hessian,
                self.lost,
                self.role,
                sums[part],
            ),
            range(len(parts)),
        )
        self.lost_by_role = sums.sum(axis=0)  # in the same order for any number of threads

    def _next_alpha(self) -> float:
        if self.loss.number != kernels.HUBER:
            return self.rules.alpha
        learnt = (self.role == LEARNT) | (self.role == LEFT_OUT)
        size = np.abs(self.y[learnt] - self.score[0, learnt])
        return weighted_quantile(size, self.weight[learnt], self.rules.alpha)

    def draw(self, number: int) -> None:
        """Draw the rows that a round learns from."""
        if self.rules.subsample == 1.0:
            return
        known = (self.role == LEARNT) | (self.role == LEFT_OUT)
        n_units = int(known.sum()) if self.groups is None else len(np.unique(self.groups[known]))
        drawn = bootstrap_counts(
            known.astype(np.int32),
            self.seed,
            (_SAMPLES, number),
            self.groups,
            n_draws=max(round(self.rules.subsample * n_units), 1),
            replacement=False,
        )
        self.role[known] = np.where(drawn[known] > 0, LEARNT, LEFT_OUT)
        self.weight_by_role = sums_by_role(self.role, self.weight)
        self.lost_by_role = sums_by_role(self.role, self.lost)

    @cached_property
    def distinct(self) -> list[FloatArray]:
        """The values of each column that are not missing, sorted, each once."""
        return [np.unique(column[~np.isnan(column)]) for column in self.table.columns]

    def mean_losses(self) -> FloatArray:
        """The mean loss of the rows of each role; NaN where there are none."""
        weight, lost = self.weight_by_role, self.lost_by_role
        return np.asarray(np.where(weight > 0, lost / np.where(weight > 0, weight, 1.0), np.nan))

    def round_of_trees(self, number: int) -> list[Steps]:
        """One tree for each output, all from the same scores, to which their steps are added."""
        rows = np.flatnonzero(self.role == LEARNT).astype(np.int32)
        outputs = range(len(self.splits))
        if len(outputs) == 1:
            return [self._tree(0, rows, number, self.pool)]
        alone = ThreadPool(1)  # whole trees are the tasks
        return self.pool.run(lambda output: self._tree(output, rows, number, alone), outputs)

    def _tree(self, output: int, rows: IntArray, number: int, pool: ThreadPool) -> Steps:
        gradient, hessian = self.gradient[output], self.hessian[output]
        by = hessian if self.rules.second_order else np.ones(len(hessian))
        seed = np.random.SeedSequence(self.seed, spawn_key=(_SAMPLES, number, output)).generate_state(1)[0]
        shaped = self.splits[output].tree(
            Slopes(gradient, by, self.importance, self.role, rows), int(seed), pool
        )
        sums = summed(shaped, (gradient, hessian, self.weight, self.repeats), pool)
        value = self._values(shaped, sums, output)
        self._add(shaped, value, output, pool)
        return Steps(shaped.grown, sums, value, self.weight_exponent)

    def _values(self, shaped: Shaped, sums: FloatArray, output: int) -> FloatArray:
        """The step of every leaf."""
        fields, rows, loss = shaped.grown.fields, shaped.rows, self.loss
        is_leaf = fields[:, FEATURE] == NONE
        if loss.leaf_value is None:
            value = np.where(is_leaf, newton_steps(sums, self.rules.l2_regularization), 0.0)
            if loss.number != kernels.SQUARED:
                label = output if loss.number == kernels.MULTINOMIAL else 1
                slopes = self.gradient[output], self.hessian[output], self.weight
                kernels.check_steps(fields, rows, loss.number, float(label), self.y, *slopes, value)
            if self.rules.leaf_steps > 1:
                further = self.rules.leaf_steps - 1, self.rules.l2_regularization
                kernels.refine(
                    fields, rows, loss.number, self.y, self.score[output], self.weight, *further, value
                )
            return value
        value = np.zeros(len(fields))
        for leaf in np.flatnonzero(is_leaf).tolist():
            own = rows[fields[leaf, START] : fields[leaf, END]]
            value[leaf] = loss.leaf_value(self.y[own] - self.score[output, own], self.weight[own], self.alpha)
        return value

    def _add(self, shaped: Shaped, value: FloatArray, output: int, pool: ThreadPool) -> None:
        fields, rows = shaped.grown.fields, shaped.rows
        step, score = self.rules.learning_rate * value, self.score[output]
        pool.run(
            lambda part: kernels.add_values(fields, rows, step, *part, score),
            node_parts(fields, len(rows), pool),
        )
        others = np.flatnonzero((self.role == LEFT_OUT) | (self.role == HELD_OUT)).astype(np.int32)
        if len(others):
            fields = self._with_last_ranks(fields)
            kernels.add_routed(self.table.coded, fields, shaped.grown.in_set, others, step, score)

    def _with_last_ranks(self, fields: LongArray) -> LongArray:
        """The nodes with the last rank that goes left of all rows, not only of those that were learnt from.

        A threshold is half-way between two values of these, and a row that lies between them is on one side.
        """
        threshold, asked = thresholds(self.table, fields), node_features(self.table, fields)
        fields = fields.copy()
        for node in np.flatnonzero(threshold == threshold).tolist():
            values = self.distinct[asked[node]]
            fields[node, CUT] = np.searchsorted(values, threshold[node], side="right") - 1
        return fields


def sums_by_role(role: ByteArray, values: FloatArray) -> FloatArray:
    """What the values of the rows of each role add up to."""
    return np.asarray(np.bincount(role, values, kernels.N_ROLES), np.float64)


def _on_scale(rules: BoostingRules, exponent: int) -> BoostingRules:
    """The rules for weights that are multiplied by 2 ** -exponent: sums over rows are as much smaller."""
    with np.errstate(over="ignore"):
        changed = np.ldexp([rules.l2_regularization, rules.min_impurity_decrease], -exponent)
    l2, gain = np.minimum(changed, np.finfo(np.float64).max).tolist()
    return replace(rules, l2_regularization=l2, min_impurity_decrease=gain)


def _check_steps(rules: BoostingRules, n_outputs: int) -> None:
    if rules.leaf_steps > 1 and n_outputs > 1:
        raise RulesError(
            f"leaf_steps={rules.leaf_steps} is for a single score, and here each class has one, which the "
            "steps of the others move: leave leaf_steps at 1."
        )


def _splits(
    table: Table, rules: BoostingRules, growth: GrowthRules, repeats: IntArray, least: float
) -> Splits:
    rows = counted_rows(table.weight)
    if rules.are_binned(table.n_rows if rows is None else int(np.count_nonzero(rows))):
        return BinnedSplits(table, repeats, growth, least, rules.l2_regularization)
    return ExactSplits(table, repeats, growth, least)


def _check_roles(role: ByteArray) -> None:
    if not (role == LEARNT).any():
        raise DataError("There is nothing to boost trees on: all rows that count are held out.")
