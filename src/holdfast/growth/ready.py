"""Prepare growth tasks: all that kernels need to know about rows and limits."""

from collections.abc import Sequence
from numbers import Integral
from typing import NamedTuple

import numpy as np

from holdfast.arrays import IntArray
from holdfast.data.split.resampling import Draws
from holdfast.data.table import Table
from holdfast.errors import DataError, ParameterError
from holdfast.growth.constraint_forms import is_guided
from holdfast.growth.constraints import make_monotone
from holdfast.growth.guide import make_guide
from holdfast.growth.memory import count_leaves_in_memory
from holdfast.growth.random_splits import get_rank_values
from holdfast.growth.rules import GrowthRules, features_drawn, rows_needed
from holdfast.growth.sample import FixedPointSample, row_weight
from holdfast.growth.values import quantile_costs
from holdfast.kernels.growth.criteria import Plan
from holdfast.kernels.growth.guide import Guide
from holdfast.kernels.growth.histogram import Coded, Samples
from holdfast.kernels.growth.nodes import Limits
from holdfast.kernels.growth.random_split import RankValues
from holdfast.kernels.growth.shrinkage import MOST_LISTED
from holdfast.kernels.quantiles.sides import Pinball

NO_LIMIT = 2**40


class Task(NamedTuple):
    """Input of a kernel for one tree, or for several that differ in rows and seeds only."""

    plan: Plan
    limits: Limits
    counts: IntArray  # (trees, rows) how often each tree has each row of the table
    samples: Samples
    rows: IntArray  # those of the first tree, then those of the second: those that it has
    leaves_in_memory: int  # for which the budget has room
    values: RankValues  # empty unless splits are drawn at random
    guide: Guide
    pinball: Pinball | None  # where nodes say a quantile; the rows then stand in the order of their targets


class SampledRows(NamedTuple):
    """Samples of the rows, one entry per tree."""

    counts: Sequence[IntArray]  # how often it has each row of the table
    seeds: Sequence[int]
    draws: Sequence[Draws] | None = None  # behind the counts

    def one_by_one(self) -> "list[SampledRows]":
        """Return a sample object for each tree."""
        draws = [None] * len(self.counts) if self.draws is None else [[own] for own in self.draws]
        every = zip(self.counts, self.seeds, draws, strict=True)
        return [SampledRows([counts], [seed], own) for counts, seed, own in every]


def prepare_tasks(table: Table, rules: GrowthRules, fixed: FixedPointSample, rows: SampledRows) -> list[Task]:
    """Prepare growth tasks in tree order: a single one if limits do not depend on a tree's rows."""
    if not rows.counts:
        return []
    if len(rows.counts) > 1 and not _are_alike(table, rules, fixed):
        return [prepare_task(table, rules, fixed, own) for own in rows.one_by_one()]
    return [prepare_task(table, rules, fixed, rows)]


def _are_alike(table: Table, rules: GrowthRules, fixed: FixedPointSample) -> bool:
    """Return True if trees have the same limits whatever their rows."""
    fractions = not all(isinstance(n, Integral) for n in (rules.min_samples_leaf, rules.min_samples_split))
    depends = rules.min_weight_fraction_leaf or rules.min_impurity_decrease or _shrinks(table, rules)
    own = depends or fixed.criterion.quantile is not None
    budgets = rules.max_seconds is not None or rules.memory_limit is not None
    return not (own or budgets or fractions)


def prepare_task(table: Table, rules: GrowthRules, fixed: FixedPointSample, sampled: SampledRows) -> Task:
    """Prepare one task for trees with the same limits."""
    counts, draws = _stack(sampled.counts), sampled.draws
    n_rows = counts.sum(axis=1, dtype=np.int64)
    if not n_rows.all():
        raise DataError("There is nothing to grow a tree on: none of the rows counts.")
    # Of several trees, the least: nothing depends on it but what pruning would cut from all of them.
    least_rows = int(n_rows.min())
    weight = least_rows if fixed.weight is None else int((counts @ fixed.weight).min())
    coded = select_coded(table, rules)
    plan, repeats = _plan(rules, fixed, least_rows, weight), counts
    if draws is not None and has_row_limits(rules):
        drawn = _stack([own.rows for own in draws])
        if (drawn != counts).any():
            plan = plan._replace(n_stats=fixed.n_stats + (not plan.counts_apart), counts_apart=1)
            repeats = drawn
    limits, room = _limits(rules, fixed, least_rows, weight, len(coded.ranks)), NO_LIMIT
    if _shrinks(table, rules):
        own = None if draws is None else draws[0]
        limits = limits._replace(row_weight=row_weight(fixed, counts[0], own))
    if rules.memory_limit is not None:
        room = count_leaves_in_memory(rules.memory_limit, coded, plan, table.n_rows)
        limits = limits._replace(max_leaves=min(limits.max_leaves, room))
    if (monotone := make_monotone(table.schema, rules)) is not None and monotone.outcome is not None:
        plan = plan._replace(outcome=table.schema.target.classes.index(monotone.outcome))
    start = np.concatenate(([0], np.cumsum(np.count_nonzero(counts, axis=1))))
    rows, pinball = _numbers(counts), None
    if fixed.criterion.quantile is not None:
        rows, pinball = rows[np.argsort(fixed.total[rows], kind="stable")], quantile_costs(fixed.criterion)
    return Task(
        plan=plan,
        limits=limits,
        counts=counts,
        samples=fixed.samples(counts, repeats, start, np.array(sampled.seeds, np.int64) & 0xFFFFFFFF),
        rows=rows,
        leaves_in_memory=room,
        values=get_rank_values(table, rules),
        guide=make_guide(table, rules),
        pinball=pinball,
    )


def _stack(lines: Sequence[IntArray]) -> IntArray:
    """Stack the lines; a single one is not copied."""
    return lines[0][None] if len(lines) == 1 else np.stack(lines)


def _numbers(counts: IntArray) -> IntArray:
    """List the row numbers with a positive count, tree by tree."""
    places = np.flatnonzero(counts != 0)  # flags are looked through four times as fast
    if len(counts) > 1:
        places %= counts.shape[1]
    return places.astype(np.int32)


def select_coded(table: Table, rules: GrowthRules) -> Coded:
    """Select the coded columns that the rules split on: all, or the questions alone."""
    if not rules.custom_features_only:
        return table.coded
    if not table.schema.questions:
        raise ParameterError(
            "custom_features_only=True splits by custom features alone, and the table has none: give "
            "some, such as custom_features=['age > 60'], or leave it False."
        )
    return table.coded_questions


def has_row_limits(rules: GrowthRules) -> bool:
    """Return True if leaves or splits need more than the minimum of rows."""
    return rules.min_samples_leaf != 1 or rules.min_samples_split != 2


def has_many_categories(coded: Coded) -> bool:
    """Return True if a column has so many categories that their means are shrunk."""
    return bool(((coded.is_subset > 0) & (coded.n_codes > MOST_LISTED)).any())


def _shrinks(table: Table, rules: GrowthRules) -> bool:
    return rules.categories == "shrunk" and has_many_categories(select_coded(table, rules))


def _plan(rules: GrowthRules, fixed: FixedPointSample, n_rows: int, weight: int) -> Plan:
    criterion = fixed.criterion
    return Plan(
        formula=criterion.formula,
        shift_factor=criterion.shift_factor,
        by_ratio=int(criterion.by_ratio),
        is_normalised=int(criterion.is_normalised),
        is_rate=int(criterion.is_rate),
        threshold_cost=int(rules.threshold_cost),
        n_classes=fixed.n_classes,
        n_stats=fixed.n_stats,
        label_bits=fixed.label_bits,
        counts_apart=int(fixed.weight is not None),
        min_rows=min(rows_needed(rules.min_samples_leaf, n_rows), NO_LIMIT),
        min_weight=rules.min_weight_fraction_leaf * weight,
        square_unit=fixed.square_unit / fixed.total_unit * (fixed.weight_unit / fixed.total_unit),
        outcome=0,
    )


def _limits(rules: GrowthRules, fixed: FixedPointSample, n_rows: int, weight: int, n_features: int) -> Limits:
    # A gain is counted in units of weight, times those of the target as often as impurity has them.
    gain_unit = (fixed.total_unit / fixed.weight_unit) ** fixed.criterion.target_power
    max_leaves = min(
        rules.max_leaf_nodes or NO_LIMIT,
        NO_LIMIT,
        (rules.max_nodes + 1) // 2 if rules.max_nodes else NO_LIMIT,
    )
    return Limits(
        max_depth=min(rules.max_depth or NO_LIMIT, NO_LIMIT),
        max_leaves=max_leaves,
        min_rows_to_split=min(max(2, rows_needed(rules.min_samples_split, n_rows)), NO_LIMIT),
        min_impurity_decrease=_scale_gain(rules.min_impurity_decrease, fixed) * (weight / gain_unit),
        min_relative_gain=float(rules.min_relative_gain),
        min_impurity=_scale_gain(_least_risk(rules, fixed), fixed) * (weight / gain_unit),
        n_drawn=features_drawn(rules.max_features, n_features),
        best_first=int(rules.is_best_first),
        row_weight=0.0,
    )


def _least_risk(rules: GrowthRules, fixed: FixedPointSample) -> float:
    """Return the risk below which a node becomes a leaf, since pruning would cut all below it; else 0.

    Two leaves cost twice ccp_alpha, and what they save is at most the risk of the node. The fraction of
    errors is at most the impurity. Left to pruning where anything else than these two has a say, and with
    numbers, the last bits of whose means come from the leaves.
    """
    is_simple = fixed.criterion.name == "gini" and fixed.losses is None
    by_alpha = rules.pruning_confidence is None and rules.ccp_risk in (None, "misclassification")
    if is_simple and by_alpha and not rules.is_best_first and not is_guided(rules):
        return rules.ccp_alpha * (1.0 - 1e-9)  # not where they are equal but for rounding
    return 0.0


def _scale_gain(gain: float, fixed: FixedPointSample) -> float:
    """Convert a gain to the scale of the targets in the kernels."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(gain, -fixed.criterion.target_power * fixed.exponent))
