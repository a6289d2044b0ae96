"""Grow trees on a table."""

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from holdfast._arrays import ByteArray, FloatArray, IntArray, LongArray, freeze
from holdfast.data.binning import code_columns
from holdfast.data.resampling import Draws
from holdfast.data.schema import Feature
from holdfast.data.table import Table
from holdfast.errors import DataError, GrowthWarning, ParameterError
from holdfast.growth.constraints import make_guide, make_monotone
from holdfast.growth.leaf_values import compute_node_values, quantile_costs, set_decisions, set_observed
from holdfast.growth.pruning import prune_by_rules
from holdfast.growth.rules import CART, GrowthRules, count_drawn_features, is_guided, resolve_min_rows
from holdfast.growth.sample import FixedPointSample, first_sample, fixed_point_sample, row_weight
from holdfast.kernels.growth import nodes as kernels
from holdfast.kernels.growth.categories import MOST_LISTED
from holdfast.kernels.growth.constraints import N_BOUNDS, Constraints
from holdfast.kernels.growth.criteria import Plan
from holdfast.kernels.growth.grow import grow as grow_kernel
from holdfast.kernels.growth.histogram import Coded, Sample, Samples
from holdfast.kernels.growth.nodes import N_FIELDS, Limits
from holdfast.kernels.growth.random_splits import RankValues, redraw_thresholds
from holdfast.kernels.growth.search import FEW_ROWS, FULL_ROWS
from holdfast.kernels.growth.small_nodes import CompactRows, SortedRows
from holdfast.kernels.quantile import Pinball, grow_quantiles
from holdfast.parallel.interruption import call_kernel, stop_flag
from holdfast.tree.monotone import enforce_monotonicity
from holdfast.tree.recorded import set_recorded
from holdfast.tree.tree import KNOWN, LEAF, Tree


def grow(table: Table, rules: GrowthRules = CART, *, random_state: int = 0) -> Tree:
    """Grow and prune a tree by the rules.

    Parameters
    ----------
    table : Table
    rules : GrowthRules
    random_state : int
        Used only where features or splits are drawn.

    Returns
    -------
    Tree

    Examples
    --------
    >>> table = Table.from_arrays([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"])
    >>> grow(table).threshold[0]
    np.float64(40.0)
    """
    fixed = fixed_point_sample(table, rules)
    tree = grow_samples(table, rules, fixed, [fixed.repeats], [random_state])[0]
    tree = set_recorded(set_observed(tree, table, fixed), table)
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
    """Grow trees on samples of the rows, each row repeated as often as its sample counts it.

    With the draws behind the samples, a row that is drawn twice is one row of twice the weight.

    Trees with the same limits are prepared together, grown by one call of the kernel, which releases the
    interpreter lock, and built together, so that threads hardly wait for each other.
    """
    coded = select_coded(table, rules)
    grown = []
    for task in prepare_tasks(table, rules, fixed, samples, seeds, draws):
        grown += build_trees(table, rules, fixed, task, grow_nodes(coded, rules, task))
    trees = []
    for tree, counts in zip(grown, samples, strict=True):
        tree = set_decisions(enforce_monotonicity(tree), table, fixed, counts)
        trees.append(enforce_monotonicity(prune_by_rules(tree, rules, table, fixed.value_sample, counts)))
    return trees


# -- Prepare growth tasks ------------------------------------------------------------------------------------

NO_LIMIT = 2**40


class Task(NamedTuple):
    """Input of a kernel for one tree, or for several that differ in rows and seeds only."""

    plan: Plan
    limits: Limits
    counts: IntArray  # (trees, rows) how often each tree has each row of the table
    samples: Samples
    rows: IntArray  # row numbers of the first tree, then of the second, and so on
    leaves_in_memory: int  # that fit in the memory limit
    values: RankValues  # empty unless splits are drawn at random
    guide: Constraints
    pinball: Pinball | None  # where nodes predict a quantile; the rows are then sorted by target


def prepare_tasks(
    table: Table,
    rules: GrowthRules,
    fixed: FixedPointSample,
    samples: Sequence[IntArray],
    seeds: Sequence[int],
    draws: Sequence[Draws] | None = None,
) -> list[Task]:
    """Prepare growth tasks in tree order: a single one if limits do not depend on a tree's rows."""
    if not samples:
        return []
    if len(samples) == 1 or _has_common_limits(table, rules, fixed):
        return [prepare_task(table, rules, fixed, samples, seeds, draws)]
    every = zip(samples, seeds, [None] * len(samples) if draws is None else draws, strict=True)
    return [
        prepare_task(table, rules, fixed, [counts], [seed], None if own is None else [own])
        for counts, seed, own in every
    ]


def _has_common_limits(table: Table, rules: GrowthRules, fixed: FixedPointSample) -> bool:
    """Return True if the limits of a tree do not depend on its rows."""
    fractions = not all(isinstance(n, Integral) for n in (rules.min_samples_leaf, rules.min_samples_split))
    depends = rules.min_weight_fraction_leaf or rules.min_impurity_decrease or _shrinks(table, rules)
    budgets = rules.max_seconds is not None or rules.memory_limit is not None
    return not (depends or fixed.criterion.quantile is not None or budgets or fractions)


def prepare_task(
    table: Table,
    rules: GrowthRules,
    fixed: FixedPointSample,
    samples: Sequence[IntArray],
    seeds: Sequence[int],
    draws: Sequence[Draws] | None = None,
) -> Task:
    """Prepare one task for trees with the same limits."""
    counts = _stack(samples)
    n_rows = counts.sum(axis=1, dtype=np.int64)
    if not n_rows.all():
        raise DataError("There is nothing to grow a tree on: none of the rows counts.")
    # Of several trees the least: it matters only for splits that pruning would remove from all of them.
    least_rows = int(n_rows.min())
    weight = least_rows if fixed.weight is None else int((counts @ fixed.weight).min())
    coded = select_coded(table, rules)
    plan, repeats = _plan(rules, fixed, least_rows, weight), counts
    if draws is not None and has_row_limits(rules):
        drawn = _stack([own.rows for own in draws])
        if (drawn != counts).any():
            plan = plan._replace(n_stats=fixed.n_stats + (not plan.counts_apart), counts_apart=1)
            repeats = drawn
    if plan.is_rate and table.survival is not None:  # leaves without events are informative
        plan = plan._replace(is_rate=2)
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
        samples=fixed.samples(counts, repeats, start, np.array(seeds, np.int64) & 0xFFFFFFFF),
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
    """Select the coded columns that the rules split on: all, or the custom features alone."""
    if not rules.custom_features_only:
        return table.coded
    if not table.schema.custom_features:
        raise ParameterError(
            "custom_features_only=True splits by custom features alone, and the table has none: give "
            "some, such as custom_features=['age > 60'], or leave it False."
        )
    return table.coded_custom_features


def has_row_limits(rules: GrowthRules) -> bool:
    """Return True if leaves or splits need more than the minimum of rows."""
    return rules.min_samples_leaf != 1 or rules.min_samples_split != 2


def has_many_categories(coded: Coded) -> bool:
    """Return True if a column has enough categories for their means to be shrunk."""
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
        min_rows=min(resolve_min_rows(rules.min_samples_leaf, n_rows), NO_LIMIT),
        min_weight=rules.min_weight_fraction_leaf * weight,
        square_unit=fixed.square_unit / fixed.total_unit * (fixed.weight_unit / fixed.total_unit),
        outcome=0,
    )


def _limits(rules: GrowthRules, fixed: FixedPointSample, n_rows: int, weight: int, n_features: int) -> Limits:
    # Gains are in units of weight times a power of the units of the target.
    gain_unit = (fixed.total_unit / fixed.weight_unit) ** fixed.criterion.target_power
    max_leaves = min(
        rules.max_leaf_nodes or NO_LIMIT,
        NO_LIMIT,
        (rules.max_nodes + 1) // 2 if rules.max_nodes else NO_LIMIT,
    )
    return Limits(
        max_depth=min(rules.max_depth or NO_LIMIT, NO_LIMIT),
        max_leaves=max_leaves,
        min_rows_to_split=min(max(2, resolve_min_rows(rules.min_samples_split, n_rows)), NO_LIMIT),
        min_impurity_decrease=_scale_gain(rules.min_impurity_decrease, fixed) * (weight / gain_unit),
        min_relative_gain=float(rules.min_relative_gain),
        min_impurity=_scale_gain(_least_risk(rules, fixed), fixed) * (weight / gain_unit),
        n_drawn=count_drawn_features(rules.max_features, n_features),
        best_first=int(rules.is_best_first),
        row_weight=0.0,
    )


def _least_risk(rules: GrowthRules, fixed: FixedPointSample) -> float:
    """Return the risk below which a node becomes a leaf, since pruning would cut all below it; else 0.

    Two leaves cost twice ccp_alpha and save at most the risk of the node, and the fraction of errors is at
    most the impurity. With other criteria, limits or constraints, and for regression, it is left to pruning.
    """
    is_simple = fixed.criterion.name == "gini" and fixed.losses is None
    by_alpha = rules.pruning_confidence is None and rules.ccp_risk in (None, "misclassification")
    if is_simple and by_alpha and not rules.is_best_first and not is_guided(rules):
        return rules.ccp_alpha * (1.0 - 1e-9)  # a margin for rounding
    return 0.0


def _scale_gain(gain: float, fixed: FixedPointSample) -> float:
    """Convert a gain to the scale of the targets in the kernels."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(gain, -fixed.criterion.target_power * fixed.exponent))


# -- Call the growth kernels ---------------------------------------------------------------------------------

LONGEST_TIMER = 1e8  # seconds; more than three years are no limit
HISTOGRAM_BYTES = 2**26  # memory for histograms that wait for the larger child of their node
SET_BYTES = 2**22  # memory for sets of categories at first


def grow_nodes(coded: Coded, rules: GrowthRules, task: Task) -> kernels.NodeArrays:
    """Grow the nodes of the trees; the rows of the task are left in the order of their leaves."""
    rows, n_trees = task.rows, len(task.samples.seed)
    kernel, inputs = _choose_kernel(coded, rules, task)
    growing, grown = _allocate(coded, task)
    original = rows.copy()
    with stop_flag() as stop, _deadline(rules.max_seconds, stop):
        while True:
            n_steps = coded.ranks.size * n_trees
            call_kernel(kernel, *inputs, stop, growing, grown, stop=stop, n_steps=n_steps)
            if not (grown.counters[:, kernels.STATE] == kernels.NO_ROOM).any():
                break
            growing = growing._replace(in_set=np.empty(4 * len(growing.in_set), np.int8))
            grown = grown._replace(in_set=np.empty(n_trees * len(growing.in_set), np.bool_))
            grown.counters[:] = 0
            rows[:] = original
    n_nodes, n_set = grown.counters[:, [kernels.N_NODES, kernels.N_SET]].sum(axis=0)
    return kernels.NodeArrays(
        grown.fields[:n_nodes].copy(),
        grown.total[:n_nodes].copy(),
        grown.in_set[:n_set].copy(),
        grown.counters,
    )


def _choose_kernel(
    coded: Coded, rules: GrowthRules, task: Task
) -> tuple[Callable[..., None], tuple[Any, ...]]:
    """Choose the kernel and its first arguments."""
    plan, limits, samples, rows, guide = task.plan, task.limits, task.samples, task.rows, task.guide
    if task.pinball is not None:
        seed = int(samples.seed[0])
        inputs = (plan, task.pinball, limits, coded, first_sample(samples), rows, seed, guide)
        return _one_tree(grow_quantiles), inputs
    most_rows = _most_rows(task)
    histograms = _histograms(coded, rules, plan, limits, most_rows)
    compact = make_compact_rows(coded, limits, most_rows)
    in_order = make_sorted_rows(rules, plan, coded, limits, compact, most_rows)
    room = (histograms, compact, in_order)
    return grow_kernel, (plan, limits, coded, samples, rows, *room, task.values, guide)


def _one_tree(kernel: Callable[..., None]) -> Callable[..., None]:
    """Wrap a kernel for a single tree as one for several."""

    def call(*given: Any) -> None:
        *first, grown = given
        kernel(*first, grown._replace(counters=grown.counters[0]))

    return call


def _most_rows(task: Task) -> int:
    return int(np.diff(task.samples.start).max())


def _allocate(coded: Coded, task: Task) -> tuple[kernels.TreeBuffers, kernels.NodeArrays]:
    """Allocate memory for nodes; untouched pages cost nothing."""
    limits, n_trees = task.limits, len(task.samples.seed)
    n_nodes = 2 * min(_most_rows(task), limits.max_leaves)
    if limits.max_depth < 20:
        n_nodes = min(n_nodes, 2 << limits.max_depth)
    widest = _widest(coded)
    n_flags = min(n_nodes * widest, max(SET_BYTES, 4 * widest))
    return (
        kernels.TreeBuffers(
            np.empty((n_nodes, kernels.N_FIELDS), np.int64),
            np.empty((n_nodes, task.plan.n_stats), np.int64),
            np.empty(n_flags, np.int8),
            np.empty((n_nodes if task.guide.is_set else 0, N_BOUNDS)),
        ),
        kernels.NodeArrays(
            np.empty((n_trees * n_nodes, kernels.N_FIELDS), np.int64),
            np.empty((n_trees * n_nodes, task.plan.n_stats), np.int64),
            np.empty(n_trees * n_flags, np.bool_),
            np.zeros((n_trees, kernels.N_COUNTERS), np.int64),
        ),
    )


def _histograms(
    coded: Coded, rules: GrowthRules, plan: Plan, limits: kernels.Limits, n_rows: int
) -> LongArray:
    """Allocate histograms: one, or several to save time where nodes wait for their larger child."""
    n_slots, length = 1, int(coded.start[-1]) * plan.n_stats
    if rules.splitter == "random":
        return np.empty((1, 1), np.int64)
    if n_rows >= FULL_ROWS and not limits.n_drawn and rules.memory_limit is None:
        n_slots = int(np.clip(HISTOGRAM_BYTES // (8 * length), 2, 64))
    return np.empty((n_slots, length), np.int64)


@contextmanager
def _deadline(seconds: float | None, stop: ByteArray) -> Iterator[None]:
    """Raise the flag after this many seconds."""
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


# -- Build trees from the nodes that the kernels leave, all trees of one task together -----------------------


def build_trees(
    table: Table, rules: GrowthRules, fixed: FixedPointSample, task: Task, grown: kernels.NodeArrays
) -> list[Tree]:
    """Build the trees of the task, before pruning and monotone constraints."""
    fields = grown.fields
    if len(grown.counters) > 1:  # number the rows among those of all trees
        first = np.repeat(task.samples.start[:-1], grown.counters[:, kernels.N_NODES])
        fields[:, kernels.START] += first
        fields[:, kernels.END] += first
    drawn = read_drawn_thresholds(fields, task.rows, select_coded(table, rules), task.values)
    if rules.custom_features_only:  # they come after the columns
        fields[fields[:, kernels.FEATURE] >= 0, kernels.FEATURE] += len(table.schema.columns)
    value, weight, impurity = _values(fixed, task, fields, grown)
    threshold, prescribed = compute_thresholds(table, fields, drawn), task.guide.first_splits.threshold
    if len(prescribed):  # exactly the numbers that the user wrote
        places = np.flatnonzero((fields[:, kernels.SLOT] >= 0) & (fields[:, kernels.LEFT] >= 0))
        threshold[places] = prescribed[fields[places, kernels.SLOT]]
    parts = {
        "feature": node_features(table, fields),
        "threshold": threshold,
        "left": fields[:, kernels.LEFT].astype(np.int32),
        "right": fields[:, kernels.RIGHT].astype(np.int32),
        "missing_left": fields[:, kernels.MISSING_LEFT] == 1,
        "set_start": np.where(fields[:, kernels.LEFT] < 0, -1, fields[:, kernels.SET_START]),
        "value": value,
        "count": _count_rows(task, fields),
        "weight": weight,
        "impurity": impurity,
    }
    parts = {name: freeze(part) for name, part in parts.items()}
    in_set, monotone = freeze(grown.in_set), make_monotone(table.schema, rules)
    trees, sets = [], _offsets(grown, kernels.N_SET)
    for index, nodes in enumerate(_nodes(grown)):
        tree = Tree(
            schema=table.schema,
            **{name: part[nodes] for name, part in parts.items()},
            in_set=in_set[sets[index] : sets[index + 1]],
            criterion=fixed.criterion.name,
            notes=_notes(rules, grown.counters[index], task.leaves_in_memory),
            monotone=monotone,
        )
        trees.append(tree)
    return trees


def _offsets(grown: kernels.NodeArrays, counter: int) -> list[int]:
    """Return where the entries of each tree begin among those of all trees, and the end."""
    return [0, *np.cumsum(grown.counters[:, counter]).tolist()]


def _nodes(grown: kernels.NodeArrays) -> list[slice]:
    return [slice(first, last) for first, last in pairwise(_offsets(grown, kernels.N_NODES))]


def _count_rows(task: Task, fields: LongArray) -> FloatArray:
    """Count the rows that reached every node."""
    counts, rows, start = task.counts, task.rows, task.samples.start
    own = (
        counts[0].take(rows)
        if len(counts) == 1
        else counts[np.repeat(range(len(counts)), np.diff(start)), rows]
    )
    until = np.concatenate([[0], np.cumsum(own, dtype=np.int64)])
    at_node: LongArray = until[fields[:, kernels.END]] - until[fields[:, kernels.START]]
    return at_node.astype(np.float64)


def _values(
    fixed: FixedPointSample, task: Task, fields: LongArray, grown: kernels.NodeArrays
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute value, weight and impurity of every node."""
    if fixed.n_classes or len(task.counts) == 1:
        return compute_node_values(fixed, task.counts[0], task.rows, fields, grown.total)
    of_trees = [
        compute_node_values(fixed, counts, task.rows, fields[nodes], grown.total[nodes])
        for counts, nodes in zip(task.counts, _nodes(grown), strict=True)
    ]
    value, weight, impurity = (np.concatenate(part) for part in zip(*of_trees, strict=True))
    return value, weight, impurity


def _notes(rules: GrowthRules, counters: LongArray, leaves_in_memory: int) -> tuple[str, ...]:
    n_open, state = counters[kernels.N_OPEN], counters[kernels.STATE]
    if n_open == 0:
        return ()
    left = f"the tree is the best so far, and {n_open} of its leaves could still be split"
    if state == kernels.STOPPED:
        return (f"Growth ended after {rules.max_seconds:g} seconds (max_seconds): {left}.",)
    if rules.max_nodes is not None and counters[kernels.N_NODES] + 2 > rules.max_nodes:
        return (f"Growth ended at {rules.max_nodes} nodes (max_nodes): {left}.",)
    if counters[kernels.N_NODES] + 1 >= 2 * leaves_in_memory:
        return (f"Growth ended at {rules.memory_limit} bytes (memory_limit): {left}.",)
    return ()


# -- Features and thresholds of grown nodes ------------------------------------------------------------------


def node_features(table: Table, fields: LongArray) -> IntArray:
    """Return the feature of each node, LEAF at leaves; kernels number columns by name."""
    order = np.array([*table.schema.name_order, LEAF], np.int32)
    return order[fields[:, kernels.FEATURE]]  # that of a leaf is -1: the last


def compute_thresholds(table: Table, fields: LongArray, drawn: FloatArray | None = None) -> FloatArray:
    """Return the midpoint between the values on either side of each split, or the number drawn.

    Between two ordered categories it is half a position above the lower one.
    """
    threshold, features = np.full(len(fields), np.nan), node_features(table, fields)
    below, above = fields[:, kernels.LAST_LEFT], fields[:, kernels.FIRST_RIGHT]
    is_threshold = (features != LEAF) & (below >= 0)
    threshold[is_threshold & (above < 0)] = KNOWN
    between = np.flatnonzero(is_threshold & (above >= 0))
    split_on = features[between].astype(np.int64)
    middle = _midpoints(table, split_on, below[between], above[between]) if drawn is None else drawn[between]
    is_ordered = np.array([feature.kind == "ordered" for feature in table.schema.features])[split_on]
    threshold[between] = np.where(is_ordered, np.floor(middle) + 0.5, middle)
    return threshold


def _midpoints(table: Table, features: LongArray, below: LongArray, above: LongArray) -> FloatArray:
    """Compute midpoints of each feature between two rows, column by column if they are many."""
    columns = table.columns
    if len(features) < 4 * len(columns):
        sides = [
            np.array([columns[feature][row] for feature, row in zip(features.tolist(), rows, strict=True)])
            for rows in (below.tolist(), above.tolist())
        ]
        return midpoint(sides[0], sides[1])
    middle = np.empty(len(features))
    for feature in set(features.tolist()):
        places, values = np.flatnonzero(features == feature), columns[feature]
        middle[places] = midpoint(values[below[places]], values[above[places]])
    return middle


def midpoint(below: FloatArray, above: FloatArray) -> FloatArray:
    """Return numbers t with below <= t < above, half-way if floats allow.

    >>> midpoint(np.array([1e308]), np.array([1.5e308]))
    array([1.25e+308])
    """
    middle = below / 2 + above / 2
    return np.asarray(np.where((below <= middle) & (middle < above), middle, below), np.float64)


# -- Random splits (`splitter="random"`) ---------------------------------------------------------------------

NO_VALUES = RankValues(freeze(np.empty(0, np.int64)), freeze(np.empty(0)))


def get_rank_values(table: Table, rules: GrowthRules) -> RankValues:
    """Return the values of the ranks; empty where the best split is searched for."""
    if rules.splitter == "best":
        return NO_VALUES
    return table.custom_feature_values if rules.custom_features_only else table.rank_values


def read_drawn_thresholds(
    fields: LongArray, rows: IntArray, coded: Coded, values: RankValues
) -> FloatArray | None:
    """Return the threshold that each node drew, NaN elsewhere; None if none are drawn."""
    if len(values.start) == 0:
        return None
    drawn = np.full(len(fields), np.nan)
    redraw_thresholds(fields, rows, coded, values, drawn)
    return drawn


# -- Memory that growing a tree needs ------------------------------------------------------------------------

NUMBER = 8  # bytes of one number
FINISHED = 80  # bytes of a node in a tree, without its values


def bytes_of_rows(coded: Coded, plan: Plan, n_rows: int) -> int:
    """Memory for the rows, one histogram, and the search for one split."""
    n_numbers = 1 if plan.n_classes else 3  # weight, and the sums of the target and its square
    of_row = NUMBER * n_numbers + 4 + 4 * 3 + NUMBER  # repetitions; row numbers, twice, and sides; sort keys
    n_features = len(coded.ranks)
    search = n_features * (256 + 9) * NUMBER + 17 * _widest(coded)
    return n_rows * of_row + search + bytes_of_histogram(coded, plan)


def bytes_of_histogram(coded: Coded, plan: Plan) -> int:
    """Memory for the statistics of every bin of every feature."""
    return int(coded.start[-1]) * plan.n_stats * NUMBER


def bytes_of_leaf(coded: Coded, plan: Plan) -> int:
    """Memory for one more leaf and inner node, while growing and in the tree."""
    of_node = 2 * (N_FIELDS + plan.n_stats + 1) * NUMBER + FINISHED + plan.n_stats * NUMBER
    return 2 * of_node + 2 * _widest(coded)


def count_leaves_in_memory(memory_limit: int, coded: Coded, plan: Plan, n_rows: int) -> int:
    """Count the leaves that fit in this many bytes; a ParameterError if too few do."""
    needed = bytes_of_rows(coded, plan, n_rows)
    n_leaves = (memory_limit - needed) // bytes_of_leaf(coded, plan)
    if n_leaves < 2:
        least = needed + 2 * bytes_of_leaf(coded, plan)
        raise ParameterError(
            f"memory_limit={memory_limit} is too small: {n_rows} rows of {len(coded.ranks)} features need "
            f"{least} bytes to be split once. Raise it, or grow on fewer rows or columns."
        )
    return n_leaves


def _widest(coded: Coded) -> int:
    """Return the greatest number of categories of a feature."""
    return int(coded.n_codes[coded.is_subset > 0].max(initial=0))


# -- Buffers for the rows of one small node, which fit into a processor cache --------------------------------

COMPACT_ROWS = 2048  # greatest number of rows of such a node


def make_compact_rows(coded: Coded, limits: Limits, n_rows: int) -> CompactRows:
    """Allocate compact rows for small nodes; empty where they would not help."""
    n_features, n_drawn = len(coded.ranks), limits.n_drawn
    # Only depth-first growth finishes one subtree before the next. All features are copied, drawn or not.
    is_worth_it = n_rows >= 4 * COMPACT_ROWS and n_features <= 16 * (n_drawn or n_features)
    return (
        _allocate_compact_rows(coded, COMPACT_ROWS)
        if is_worth_it and not limits.best_first
        else _no_compact_rows()
    )


def _allocate_compact_rows(coded: Coded, n_rows: int) -> CompactRows:
    codes = np.empty((len(coded.codes), n_rows), np.uint32)
    ranks = np.empty((len(coded.ranks), n_rows), np.int32)
    weight, total, square = (np.empty(n_rows, np.int64) for _ in range(3))
    target, repeats = np.empty(n_rows), np.empty(n_rows, np.int32)
    return CompactRows(
        Coded(freeze(codes), freeze(ranks), *coded[2:]),
        Sample(freeze(weight), freeze(total), freeze(square), freeze(target), freeze(repeats)),
        codes,
        ranks,
        weight,
        total,
        square,
        target,
        repeats,
        np.empty(n_rows, np.int32),
    )


@cache
def _no_compact_rows() -> CompactRows:
    return _allocate_compact_rows(code_columns([Feature("none")], [np.zeros(1)]), 0)


# -- Buffers for the rows of small nodes in the order of every feature ---------------------------------------

# Nodes of up to MANY_ROWS rows are sorted where the bounds on the gain of a bin are loose: in regression, and
# for three or more classes with the Gini impurity. For two classes the bounds are close and few features are
# searched, so rows are sorted only with at most FEW_COLUMNS columns. With other criteria only nodes of up to
# FEW_ROWS rows are sorted.
MANY_ROWS = 1024
FEW_COLUMNS = 16
LEAST_LEAVES = 16  # of a tree for which sorting many rows pays off
LEAST_CODES = FEW_ROWS // 4 + 1  # columns of fewer values are counted, as in `search`
MOST_SORTED = 2**22  # row numbers, of four bytes


def make_sorted_rows(
    rules: GrowthRules, plan: Plan, coded: Coded, limits: Limits, compact: CompactRows, n_rows: int
) -> SortedRows:
    """Allocate sorted rows of a compact node or small table; empty where they would not help."""
    n_features, n_table = coded.ranks.shape
    n_places = len(compact.origin) or (n_rows if n_rows < 4 * COMPACT_ROWS else 0)
    # With drawn features, most of the sorted columns would never be searched.
    is_of_use = not limits.n_drawn and rules.splitter != "random" and rules.memory_limit is None
    if not is_of_use or n_features * n_places > MOST_SORTED:
        n_places = 0
    is_kept = (coded.is_subset == 0) & (coded.n_codes >= LEAST_CODES)
    n_kept = int(is_kept.sum())
    by_gini = plan.n_classes > 0 and plan.shift_factor > 0.0
    is_loose = plan.n_classes == 0 or (by_gini and (plan.n_classes > 2 or n_kept <= FEW_COLUMNS))
    may_grow = limits.max_leaves >= LEAST_LEAVES and limits.min_impurity_decrease == 0.0
    is_worth_it = is_loose and may_grow and 2 * n_kept >= n_features
    return SortedRows(
        np.empty((n_features, n_places), np.int32),
        is_kept.astype(np.uint8),
        np.empty((len(compact.origin) or n_table) if n_places else 0, np.uint8),
        np.zeros(2, np.int64),
        np.empty(FEW_ROWS, np.int32),
        MANY_ROWS if is_worth_it else FEW_ROWS,
    )
