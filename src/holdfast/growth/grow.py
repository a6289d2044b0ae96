"""A table and rules become a tree."""

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from holdfast.arrays import ByteArray, FloatArray, IntArray, LongArray, frozen
from holdfast.backends.interruption import call_kernel, stop_flag
from holdfast.data.split.resampling import Draws
from holdfast.data.table import Table
from holdfast.errors import DataError, GrowthWarning, ParameterError
from holdfast.growth.compact_rows import compact_room
from holdfast.growth.constraints import monotone_of
from holdfast.growth.guide import guide_for
from holdfast.growth.memory import leaves_within
from holdfast.growth.pruning.by_rules import pruned
from holdfast.growth.random_splits import thresholds_drawn, values_for
from holdfast.growth.rules import CART, GrowthRules, features_drawn, rows_needed
from holdfast.growth.sample import FixedPointSample, fixed_point_sample, row_weight
from holdfast.growth.thresholds import node_features, thresholds
from holdfast.growth.values import decided_by, node_values, pinball_of, with_observed
from holdfast.kernels.growth import grow as kernels
from holdfast.kernels.growth.criteria import Plan
from holdfast.kernels.growth.guide import N_GUIDED, Guide, Top
from holdfast.kernels.growth.histogram import Coded, Sample
from holdfast.kernels.growth.random_split import RankValues
from holdfast.kernels.growth.search import FULL_ROWS
from holdfast.kernels.growth.shrinkage import MOST_LISTED
from holdfast.kernels.quantiles.grow import grow_quantiles
from holdfast.kernels.quantiles.sides import Pinball
from holdfast.tree.monotone import in_order
from holdfast.tree.tree import Tree

NO_LIMIT = 2**40
LONGEST_TIMER = 1e8  # seconds; more than three years are no limit
HISTOGRAM_BYTES = 2**26  # memory for histograms that wait for the larger child of their node
SET_BYTES = 2**22  # memory for sets of categories at first


def grow(table: Table, rules: GrowthRules = CART, *, random_state: int = 0) -> Tree:
    """The tree that the rules grow on the table, and prune.

    The random state matters only where features or splits are drawn.

    >>> table = Table.from_arrays([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"])
    >>> grow(table).threshold[0]
    np.float64(40.0)
    """
    fixed = fixed_point_sample(table, rules)
    tree = grow_samples(table, rules, fixed, [fixed.repeats], [random_state])[0]
    tree = with_observed(tree, table, fixed)
    for note in tree.notes:
        warnings.warn(note, GrowthWarning, stacklevel=2)
    return tree


def grow_samples(
    table: Table,
    rules: GrowthRules,
    fixed: FixedPointSample,
    samples: Sequence[IntArray],
    seeds: Sequence[int],
    draws: Sequence[Draws] | None = None,
) -> list[Tree]:
    """The trees on samples of the rows, each row repeated as often as its sample says.

    With the draws behind the samples, a row that is drawn twice is one row of twice the weight.

    First everything is made ready, then all trees are grown, then they are finished: so the compiled part,
    which releases the lock of the interpreter, follows on itself, and threads hardly wait for each other.
    """
    behind: Sequence[Draws | None] = draws or [None] * len(samples)
    tasks = [
        ready(table, rules, fixed, counts, seed, own)
        for counts, seed, own in zip(samples, seeds, behind, strict=True)
    ]
    coded = coded_for(table, rules)
    grown = [grown_nodes(coded, rules, task) for task in tasks]
    trees = []
    for counts, task, result in zip(samples, tasks, grown, strict=True):
        tree = _finished(table, rules, fixed, counts, task, result)
        tree = decided_by(tree, table, fixed, counts)
        trees.append(in_order(pruned(tree, rules, table, fixed.of_values, counts)))
    return trees


class Task(NamedTuple):
    """What the kernel needs to grow one tree."""

    plan: Plan
    limits: kernels.Limits
    sample: Sample
    rows: IntArray
    leaves_in_memory: int  # for which the budget has room
    values: RankValues  # empty unless splits are drawn at random
    guide: Guide
    pinball: Pinball | None  # where nodes say a quantile; the rows then stand in the order of their targets


def coded_for(table: Table, rules: GrowthRules) -> Coded:
    """The columns and questions that the rules split by: all of them, or the questions alone."""
    if not rules.questions_only:
        return table.coded
    if not table.schema.questions:
        raise ParameterError(
            "questions_only=True splits by questions alone, and the table has none: give some, such as "
            "questions=['age > 60'], or leave it False."
        )
    return table.coded_questions


def ready(
    table: Table,
    rules: GrowthRules,
    fixed: FixedPointSample,
    counts: IntArray,
    seed: int,
    draws: Draws | None = None,
) -> Task:
    """Everything that is known before the tree grows."""
    n_rows = int(counts.sum(dtype=np.int64))
    if n_rows == 0:
        raise DataError("There is nothing to grow a tree on: none of the rows counts.")
    weight = n_rows if fixed.weight is None else int(counts @ fixed.weight)
    coded = coded_for(table, rules)
    plan = _plan(rules, fixed, n_rows, weight)
    sample = fixed.sample(counts)
    if draws is not None and asks_for_rows(rules) and (draws.rows != counts).any():
        sample = sample._replace(repeats=frozen(draws.rows))
        plan = plan._replace(n_stats=fixed.n_stats + (not plan.counts_apart), counts_apart=1)
    limits, room = _limits(rules, fixed, n_rows, weight, len(coded.ranks), seed), NO_LIMIT
    if rules.categories == "shrunk" and has_many_categories(coded):
        limits = limits._replace(row_weight=row_weight(fixed, counts, draws))
    if rules.memory_limit is not None:
        room = leaves_within(rules.memory_limit, coded, plan, table.n_rows)
        limits = limits._replace(max_leaves=min(limits.max_leaves, room))
    if (monotone := monotone_of(table.schema, rules)) is not None and monotone.outcome is not None:
        plan = plan._replace(outcome=table.schema.target.classes.index(monotone.outcome))
    rows, pinball = np.flatnonzero(counts).astype(np.int32), None
    if fixed.criterion.quantile is not None:
        rows, pinball = rows[np.argsort(fixed.total[rows], kind="stable")], pinball_of(fixed.criterion)
    return Task(
        plan=plan,
        limits=limits,
        sample=sample,
        rows=rows,
        leaves_in_memory=room,
        values=values_for(table, rules),
        guide=guide_for(table, rules),
        pinball=pinball,
    )


def grown_nodes(coded: Coded, rules: GrowthRules, task: Task) -> kernels.Grown:
    """The nodes of the tree, whose leaves the rows of the task are then in the order of."""
    plan, limits, rows, guide = task.plan, task.limits, task.rows, task.guide
    kernel, given = _kernel(coded, rules, task)
    n_steps = coded.ranks.size
    growing, grown = _rooms(coded, plan, limits, guide, len(rows))
    as_given = rows.copy()
    with stop_flag() as stop, _deadline(rules.max_seconds, stop):
        while True:
            call_kernel(kernel, *given, stop, growing, grown, stop=stop, n_steps=n_steps)
            if grown.counters[kernels.STATE] != kernels.NO_ROOM:
                break
            growing = growing._replace(in_set=np.empty(4 * len(growing.in_set), np.int8))
            grown = grown._replace(in_set=np.empty(len(growing.in_set), np.bool_))
            rows[:] = as_given
    n_nodes, n_set = grown.counters[kernels.N_NODES], grown.counters[kernels.N_SET]
    return kernels.Grown(
        grown.fields[:n_nodes].copy(),
        grown.total[:n_nodes].copy(),
        grown.in_set[:n_set].copy(),
        grown.counters,
    )


def _kernel(coded: Coded, rules: GrowthRules, task: Task) -> tuple[Callable[..., None], tuple[Any, ...]]:
    """What grows the tree, and what it is given first."""
    plan, limits, sample, rows, _, values, guide, pinball = task
    if pinball is not None:
        return grow_quantiles, (plan, pinball, limits, coded, sample, rows, guide)
    histograms = _histograms(coded, rules, plan, limits, len(rows))
    compact = compact_room(coded, limits, len(rows))
    return kernels.grow, (plan, limits, coded, sample, rows, histograms, compact, values, guide)


def _rooms(
    coded: Coded, plan: Plan, limits: kernels.Limits, guide: Guide, n_rows: int
) -> tuple[kernels.Growing, kernels.Grown]:
    """Memory for the nodes: pages that are not written to cost nothing."""
    n_nodes = 2 * min(n_rows, limits.max_leaves)
    if limits.max_depth < 20:
        n_nodes = min(n_nodes, 2 << limits.max_depth)
    widest = int(coded.n_codes[coded.is_subset > 0].max(initial=0))
    n_flags = min(n_nodes * widest, max(SET_BYTES, 4 * widest))
    fields, total = (n_nodes, kernels.N_FIELDS), (n_nodes, plan.n_stats)
    return (
        kernels.Growing(
            np.empty(fields, np.int64),
            np.empty(total, np.int64),
            np.empty(n_flags, np.int8),
            np.empty((n_nodes if guide.is_set else 0, N_GUIDED)),
        ),
        kernels.Grown(
            np.empty(fields, np.int64),
            np.empty(total, np.int64),
            np.empty(n_flags, np.bool_),
            np.zeros(kernels.N_COUNTERS, np.int64),
        ),
    )


def _finished(
    table: Table,
    rules: GrowthRules,
    fixed: FixedPointSample,
    counts: IntArray,
    task: Task,
    grown: kernels.Grown,
) -> Tree:
    fields = grown.fields
    drawn = thresholds_drawn(fields, task.rows, coded_for(table, rules), task.values)
    if rules.questions_only:  # which stand after the columns
        fields[fields[:, kernels.FEATURE] >= 0, kernels.FEATURE] += len(table.schema.columns)
    value, node_weight, impurity = node_values(fixed, counts, task.rows, fields, grown.total)
    until = np.concatenate([[0], np.cumsum(counts[task.rows], dtype=np.int64)])
    count = (until[fields[:, kernels.END]] - until[fields[:, kernels.START]]).astype(np.float64)
    tree = Tree(
        schema=table.schema,
        feature=node_features(table, fields),
        threshold=_with_prescribed(thresholds(table, fields, drawn), fields, task.guide.top),
        left=fields[:, kernels.LEFT].astype(np.int32),
        right=fields[:, kernels.RIGHT].astype(np.int32),
        missing_left=fields[:, kernels.MISSING_LEFT] == 1,
        set_start=np.where(fields[:, kernels.LEFT] < 0, -1, fields[:, kernels.SET_START]),
        in_set=grown.in_set,
        value=value,
        count=count,
        weight=node_weight,
        impurity=impurity,
        criterion=fixed.criterion.name,
        notes=_notes(rules, grown, task.leaves_in_memory),
        monotone=monotone_of(table.schema, rules),
    )
    return in_order(tree)


def _with_prescribed(threshold: FloatArray, fields: LongArray, top: Top) -> FloatArray:
    """The thresholds with those that are prescribed as they were written."""
    nodes = np.flatnonzero((fields[:, kernels.SLOT] >= 0) & (fields[:, kernels.LEFT] >= 0))
    if len(top.threshold):
        threshold[nodes] = top.threshold[fields[nodes, kernels.SLOT]]
    return threshold


def asks_for_rows(rules: GrowthRules) -> bool:
    """True if a node or a leaf must hold more rows than any does."""
    return rules.min_samples_leaf != 1 or rules.min_samples_split != 2


def has_many_categories(coded: Coded) -> bool:
    """True if a column has so many categories that their means are shrunk."""
    return bool(((coded.is_subset > 0) & (coded.n_codes > MOST_LISTED)).any())


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


def _limits(
    rules: GrowthRules, fixed: FixedPointSample, n_rows: int, weight: int, n_features: int, seed: int
) -> kernels.Limits:
    # A gain is counted in units of weight, times those of the target as often as impurity has them.
    gain_unit = (fixed.total_unit / fixed.weight_unit) ** fixed.criterion.target_power
    max_leaves = min(
        rules.max_leaf_nodes or NO_LIMIT,
        NO_LIMIT,
        (rules.max_nodes + 1) // 2 if rules.max_nodes else NO_LIMIT,
    )
    return kernels.Limits(
        max_depth=min(rules.max_depth or NO_LIMIT, NO_LIMIT),
        max_leaves=max_leaves,
        min_rows_to_split=min(max(2, rows_needed(rules.min_samples_split, n_rows)), NO_LIMIT),
        min_impurity_decrease=_scaled(rules.min_impurity_decrease, fixed) * (weight / gain_unit),
        min_relative_gain=float(rules.min_relative_gain),
        n_drawn=features_drawn(rules.max_features, n_features),
        best_first=int(rules.is_best_first),
        seed=seed & 0xFFFFFFFF,
        row_weight=0.0,
    )


def _scaled(gain: float, fixed: FixedPointSample) -> float:
    """A gain on the scale of the targets that the kernels see."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(gain, -fixed.criterion.target_power * fixed.exponent))


def _histograms(
    coded: Coded, rules: GrowthRules, plan: Plan, limits: kernels.Limits, n_rows: int
) -> LongArray:
    """Memory for histograms: one, or, if they may wait for a child, several; more of them save time only."""
    n_slots, length = 1, int(coded.start[-1]) * plan.n_stats
    if rules.splitter == "random":
        return np.empty((1, 1), np.int64)
    if n_rows >= FULL_ROWS and not limits.n_drawn and rules.memory_limit is None:
        n_slots = int(np.clip(HISTOGRAM_BYTES // (8 * length), 2, 64))
    return np.empty((n_slots, length), np.int64)


@contextmanager
def _deadline(seconds: float | None, stop: ByteArray) -> Iterator[None]:
    """Raise the flag when the time is up."""
    if seconds is None or seconds > LONGEST_TIMER:
        yield
        return
    timer = threading.Timer(seconds, stop.fill, args=(1,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _notes(rules: GrowthRules, grown: kernels.Grown, leaves_in_memory: int) -> tuple[str, ...]:
    n_open, state = grown.counters[kernels.N_OPEN], grown.counters[kernels.STATE]
    if n_open == 0:
        return ()
    left = f"the tree is the best so far, and {n_open} of its leaves could still be split"
    if state == kernels.STOPPED:
        return (f"Growth ended after {rules.max_seconds:g} seconds (max_seconds): {left}.",)
    if rules.max_nodes is not None and len(grown.fields) + 2 > rules.max_nodes:
        return (f"Growth ended at {rules.max_nodes} nodes (max_nodes): {left}.",)
    if len(grown.fields) + 1 >= 2 * leaves_in_memory:
        return (f"Growth ended at {rules.memory_limit} bytes (memory_limit): {left}.",)
    return ()
