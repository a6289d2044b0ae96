"""One tree of a boosted ensemble with splits at the borders of bins: fast for many rows."""

import numpy as np

from holdfast._arrays import IntArray, LongArray, freeze, round_last_digits
from holdfast.data.table import Table
from holdfast.ensembles.boosted_tree import Derivatives, TreeShape, count_blocks, divide_blocks
from holdfast.growth.constraints import make_guide
from holdfast.growth.grow import has_many_categories
from holdfast.growth.rules import SQUARED_ERROR, GrowthRules, count_drawn_features
from holdfast.kernels.boosting import work as kernels
from holdfast.kernels.boosting.grow import ROOM, advance, finish
from holdfast.kernels.boosting.histogram import N_SPREAD, Gradients, Unpacked, summarize_blocks
from holdfast.kernels.boosting.losses import ROWS_PER_SUM
from holdfast.kernels.boosting.search import BoostingLimits, BoostingScratch
from holdfast.kernels.boosting.work import IS_OVER, MOST_PARTS, N_CELLS, N_NOTES
from holdfast.kernels.growth.constraints import N_BOUNDS, AllowedFeatures
from holdfast.kernels.growth.criteria import Plan
from holdfast.kernels.growth.nodes import (
    DEPTH,
    END,
    N_COUNTERS,
    N_FIELDS,
    N_SET,
    NONE,
    SEED,
    START,
    NodeArrays,
)
from holdfast.parallel.tasks import ThreadPool

# Less is faster with one thread: a cache line takes a tenth of a microsecond to move to another.
ROWS_SHARED = 2_000
CELLS_SHARED = 5_000  # rows times features, and bins
HISTOGRAM_BYTES = 2**27  # memory for histograms of open nodes
_GRADIENT_BITS = 30
_NO_LIMIT = 2**40


class BinnedSplits:
    """Splits at the borders of at most 240 bins per column, for many rows; all trees share its memory."""

    def __init__(
        self, table: Table, repeats: IntArray, rules: GrowthRules, least_hessian: float, l2: float
    ) -> None:
        self.table, self.repeats, self.rules = table, repeats, rules
        self.least_hessian, self.l2 = least_hessian, l2
        self.any_repeated = bool((repeats > 1).any())  # some row represents several
        self.packed = np.zeros(table.n_rows, np.int64)
        constraints = make_guide(table, rules)
        coded, n_rows, n_repeats = table.coded, table.n_rows, int(repeats.sum(dtype=np.int64))
        most = min(n_rows, max(n_repeats // int(rules.min_samples_leaf), 1))
        n_leaves = min(rules.max_leaf_nodes or most, most)
        if rules.max_depth is not None and rules.max_depth < 40:
            n_leaves = min(n_leaves, 2**rules.max_depth)
        widest, length = _widest(table), 2 * int(coded.start[-1])
        n_slots = int(np.clip(HISTOGRAM_BYTES // (8 * length), 2, n_leaves + 2))
        capacity = 2 * n_leaves + 2
        self.buffers = kernels.BoostingBuffers(
            unpacked=Unpacked(np.empty(0), np.empty(0), np.empty(0), 1.0, 1.0),
            rows=np.empty(0, np.int32),
            ordered=np.empty(n_rows, np.int64),
            fields=np.empty((capacity, N_FIELDS), np.int64),
            total=np.empty((capacity, 2), np.int64),
            gain=np.empty(capacity),
            heap=np.empty(capacity, np.int64),
            counters=np.zeros(kernels.N_COUNTERS, np.int64),
            free=np.empty(n_slots, np.int64),
            histograms=np.empty((n_slots, length), np.int64),
            buffer=np.empty((2, n_rows), np.int32),
            sides=np.empty(widest + 1, np.int8),
            notes=np.empty((MOST_PARTS, N_NOTES), np.int64),
            found=np.empty((2, len(coded.codes), kernels.N_FOUND)),
            queue=np.empty(0, np.int64),
            scratch=_scratch(table),
            constraints=constraints,
            bounds=np.empty((capacity if constraints.is_set else 0, N_BOUNDS)),
            allowed=AllowedFeatures(
                constraints.direction,
                np.zeros(table.n_features, np.uint8),
                np.zeros(table.n_features, np.uint8),
                np.ones(table.n_features),
                np.full(1, constraints.is_set, np.uint8),
            ),
        )
        self.in_set = np.empty(8 * widest, np.int8)

    def tree(self, derivatives: Derivatives, seed: int, pool: ThreadPool) -> TreeShape:
        """Grow the tree whose splits lower the loss most."""
        coded, in_set = self.table.coded, self.in_set
        unpacked, gradients, limits = self._units(derivatives, pool)
        # A queue for each tree: a late thread finds nothing to do in the old one.
        buffers = self.buffers._replace(
            unpacked=unpacked, rows=derivatives.rows.copy(), queue=np.zeros(N_CELLS, np.int64)
        )
        _start(buffers, seed)

        def help_out() -> None:
            own = buffers._replace(scratch=_scratch(self.table))
            advance(limits, coded, gradients, own, self.in_set, True)

        def end() -> None:
            buffers.queue[IS_OVER] = 1

        with pool.run_with_helpers(help_out, end):
            while advance(limits, coded, gradients, buffers, in_set, False) == ROOM:
                in_set = np.concatenate([in_set, np.empty_like(in_set)])
        nodes = _room(buffers.counters)
        finish(_PLAN, coded, buffers, in_set, nodes)
        nodes = nodes._replace(in_set=nodes.in_set[: nodes.counters[N_SET]].copy())
        return TreeShape(nodes, buffers.rows)

    def _units(
        self, derivatives: Derivatives, pool: ThreadPool
    ) -> tuple[Unpacked, Gradients, BoostingLimits]:
        """Choose the integer units of gradients and hessians so that no sum overflows; and the limits."""
        rows = derivatives.rows
        most_gradient, most_hessian, dispersion = self._spread(derivatives, pool)
        n_rows, is_repeated = len(rows), False
        if self.any_repeated:
            repeats = self.repeats[rows]
            n_rows, is_repeated = int(repeats.sum(dtype=np.int64)), bool((repeats != 1).any())
        count_bits = n_rows.bit_length()
        hessian_bits = min(62 - 2 * count_bits, _GRADIENT_BITS)
        units = _units_per_one(most_gradient, _GRADIENT_BITS), _units_per_one(most_hessian, hessian_bits)
        repeats = freeze(self.repeats if is_repeated else _ONCE)
        gradients = Gradients(self.packed, repeats, count_bits)
        return Unpacked(*derivatives[:3], *units), gradients, self._limits(units, dispersion, pool)

    def _spread(self, derivatives: Derivatives, pool: ThreadPool) -> tuple[float, float, float]:
        """Return the greatest gradient and hessian, and the variance of gradients per hessian.

        The variance is 0 if no means of categories are shrunk.
        """
        spread = derivatives.spread
        if spread is None:
            spread = np.empty((count_blocks(self.table.n_rows), N_SPREAD))
            lines = (*derivatives[:3], self.repeats, derivatives.role)
            pool.run(
                lambda part: summarize_blocks(*lines, ROWS_PER_SUM, *part, spread),
                divide_blocks(self.table.n_rows, pool),
            )
        most_gradient, most_hessian = spread[:, :2].max(axis=0).tolist()
        is_shrunk = self.rules.categories != "exact" and has_many_categories(self.table.coded)
        squares, hessians = spread[:, 2:].sum(axis=0).tolist() if is_shrunk else (0.0, 0.0)
        # Two rows and one of weight 2 have equal sums up to rounding.
        dispersion = float(round_last_digits(np.array([squares / hessians]))[0]) if hessians > 0.0 else 0.0
        return most_gradient, most_hessian, dispersion

    def _limits(self, units: tuple[float, float], dispersion: float, pool: ThreadPool) -> BoostingLimits:
        gradient_units, hessian_units = units
        rules = self.rules
        return BoostingLimits(
            max_depth=min(rules.max_depth or _NO_LIMIT, _NO_LIMIT),
            max_leaves=min(rules.max_leaf_nodes or _NO_LIMIT, _NO_LIMIT),
            min_rows=min(int(rules.min_samples_leaf), _NO_LIMIT),
            min_hessian=self.least_hessian * hessian_units,
            l2=self.l2 * hessian_units,
            min_impurity_decrease=rules.min_impurity_decrease
            * gradient_units
            / hessian_units
            * gradient_units
            if rules.min_impurity_decrease
            else 0.0,
            n_drawn=count_drawn_features(rules.max_features, self.table.n_features),
            best_first=int(rules.max_leaf_nodes is not None),
            n_threads=pool.size,
            rows_to_share=ROWS_SHARED,
            cells_to_share=CELLS_SHARED,
            dispersion=dispersion * gradient_units / hessian_units * gradient_units,
        )


_ONCE = np.empty(0, np.int32)
_PLAN = Plan(
    formula=SQUARED_ERROR.formula,
    shift_factor=SQUARED_ERROR.shift_factor,
    by_ratio=0,
    is_normalised=0,
    is_rate=0,
    threshold_cost=0,
    n_classes=0,
    n_stats=2,
    label_bits=0,
    counts_apart=0,
    min_rows=1,
    min_weight=0.0,
    square_unit=1.0,
    outcome=0,
)


def _units_per_one(greatest: float, bits: int) -> float:
    """Return units per 1 such that the greatest number has this many bits."""
    if greatest <= 0.0:
        return 1.0
    return float(np.ldexp(1.0, min(bits - int(np.frexp(greatest)[1]), 1000)))


def _widest(table: Table) -> int:
    """Return the greatest number of categories of a column."""
    coded = table.coded
    return int(coded.n_ranks[coded.is_subset > 0].max(initial=1))


def _scratch(table: Table) -> BoostingScratch:
    """Allocate the scratch memory of one thread."""
    widest = _widest(table)
    return BoostingScratch(
        order=np.empty(widest + 1, np.int64),
        place=np.empty(widest + 1),
        queue=np.empty(table.n_features, np.int64),
        waiting=np.empty(128, np.int64),
    )


def _room(counters: LongArray) -> NodeArrays:
    """Allocate the finished nodes."""
    n_nodes, n_set = counters[kernels.N_NODES], counters[kernels.N_SET]
    return NodeArrays(
        np.empty((n_nodes, N_FIELDS), np.int64),
        np.empty((n_nodes, _PLAN.n_stats), np.int64),
        np.empty(n_set, np.bool_),
        np.zeros(N_COUNTERS, np.int64),
    )


def _start(buffers: kernels.BoostingBuffers, seed: int) -> None:
    """Create the root, to be counted first."""
    fields, counters = buffers.fields, buffers.counters
    fields[0] = NONE
    fields[0, START], fields[0, END], fields[0, DEPTH] = 0, len(buffers.rows), 0
    fields[0, SEED] = seed & 0xFFFFFFFF
    if buffers.constraints.is_set:
        buffers.bounds[0] = -np.inf, np.inf, NONE, NONE
    counters[:] = 0
    counters[kernels.N_NODES] = counters[kernels.N_LEAVES] = counters[kernels.FRESH] = 1
    n_slots = len(buffers.histograms)
    buffers.free[: n_slots - 1] = np.arange(n_slots - 1, 0, -1)
    counters[kernels.N_FREE] = n_slots - 1
