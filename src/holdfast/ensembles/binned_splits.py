"""One tree of a boosted ensemble with splits at the borders of bins: fast for many rows."""

from dataclasses import dataclass, field

import numpy as np

from holdfast.arrays import IntArray, LongArray, SignArray, frozen, without_last_digits
from holdfast.backends.thread_pool import ThreadPool
from holdfast.data.table import Table
from holdfast.ensembles.newton import Derivatives, TreeShape, thread_blocks
from holdfast.growth.criteria import SQUARED_ERROR
from holdfast.growth.guide import guide_for
from holdfast.growth.ready import has_many_categories
from holdfast.growth.rules import GrowthRules, features_drawn
from holdfast.kernels.boosting import advance as kernels
from holdfast.kernels.boosting.histogram import Gradients, count_blocks
from holdfast.kernels.boosting.packing import greatest, pack
from holdfast.kernels.boosting.search import Limits, Scratch
from holdfast.kernels.growth.criteria import Plan
from holdfast.kernels.growth.grow import DEPTH, END, N_COUNTERS, N_FIELDS, N_SET, NONE, SEED, START, Grown
from holdfast.kernels.growth.guide import N_GUIDED, Guide, Paths

CELLS_SHARED = 2**20  # rows times features, to be counted: fewer are counted sooner by one thread
HISTOGRAM_BYTES = 2**27  # memory for histograms that wait for the larger child of their node
_GRADIENT_BITS = 30
_NO_LIMIT = 2**40


@dataclass(frozen=True, eq=False)
class BinnedSplits:
    """Splits at the borders of at most 240 bins of each column: fast, and as good where rows are many."""

    table: Table
    repeats: IntArray
    rules: GrowthRules
    least_hessian: float
    l2: float
    memory: "_Memory" = field(init=False)

    def __post_init__(self) -> None:
        n_rows = int(self.repeats.sum(dtype=np.int64))
        guide = guide_for(self.table, self.rules)
        object.__setattr__(self, "memory", _Memory.of(self.table, self.rules, guide, n_rows))

    def tree(self, derivatives: Derivatives, seed: int, pool: ThreadPool) -> TreeShape:
        """The tree that lowers the loss most, split by split."""
        gradients, limits = self._packed(derivatives, pool)
        memory, coded = self.memory, self.table.coded
        growing = memory.growing._replace(rows=derivatives.rows.copy())
        _start(growing, gradients, memory.n_slots, seed)
        in_set = memory.in_set
        while True:
            self._count(gradients, growing, pool)
            while True:
                state = kernels.advance(limits, coded, gradients, growing, in_set, memory.histograms)
                if state != kernels.ROOM:
                    break
                in_set = np.concatenate([in_set, np.empty_like(in_set)])
            if state == kernels.DONE:
                break
        grown = _room(growing.counters)
        kernels.finish(_PLAN, coded, growing, in_set, grown)
        grown = grown._replace(in_set=grown.in_set[: grown.counters[N_SET]].copy())
        return TreeShape(grown, growing.rows)

    def _packed(self, derivatives: Derivatives, pool: ThreadPool) -> tuple[Gradients, Limits]:
        """Gradients and hessians as integers, as fine as the sums over all rows allow, and the limits."""
        lines, rows = derivatives[:4], derivatives.rows
        parts = thread_blocks(self.table.n_rows, pool)
        most = np.zeros((len(parts), 2))
        pool.run(lambda part: greatest(*lines, *parts[part], most[part]), range(len(parts)))
        most_gradient, most_hessian = most.max(axis=0).tolist()
        is_repeated = bool((self.repeats[rows] != 1).any())
        n_rows = int(self.repeats[rows].sum(dtype=np.int64)) if is_repeated else len(rows)
        count_bits = n_rows.bit_length()
        hessian_bits = min(62 - 2 * count_bits, _GRADIENT_BITS)
        units = _unit(most_gradient, _GRADIENT_BITS), _unit(most_hessian, hessian_bits)
        packed = self.memory.packed
        pool.run(lambda part: pack(*lines, *part, units, packed), parts)
        repeats = self.repeats if is_repeated else _ONCE
        gradients = Gradients(packed, frozen(repeats), count_bits)
        return gradients, self._limits(units, self._dispersion(derivatives), pool)

    def _dispersion(self, derivatives: Derivatives) -> float:
        """The variance of a row's gradient, by its hessian; 0 where no means of categories are shrunk."""
        if self.rules.categories == "exact" or not has_many_categories(self.table.coded):
            return 0.0
        gradient, hessian, importance, _, rows = derivatives
        repeats, weight = self.repeats[rows], importance[rows]
        squares = float((repeats * (gradient[rows] * weight) ** 2).sum())
        below = float((repeats * hessian[rows] * weight).sum())
        # Two rows and one of weight 2 add up to the same but for rounding.
        return float(without_last_digits(np.array([squares / below]))[0]) if below > 0.0 else 0.0

    def _limits(self, units: tuple[float, float], dispersion: float, pool: ThreadPool) -> Limits:
        of_gradient, of_hessian = units
        rules = self.rules
        return Limits(
            max_depth=min(rules.max_depth or _NO_LIMIT, _NO_LIMIT),
            max_leaves=min(rules.max_leaf_nodes or _NO_LIMIT, _NO_LIMIT),
            min_rows=min(int(rules.min_samples_leaf), _NO_LIMIT),
            min_hessian=self.least_hessian * of_hessian,
            l2=self.l2 * of_hessian,
            min_impurity_decrease=rules.min_impurity_decrease * of_gradient / of_hessian * of_gradient
            if rules.min_impurity_decrease
            else 0.0,
            n_drawn=features_drawn(rules.max_features, self.table.n_features),
            best_first=int(rules.max_leaf_nodes is not None),
            rows_to_share=CELLS_SHARED // self.table.n_features + 1 if pool.size > 1 else _NO_LIMIT,
            dispersion=dispersion * of_gradient / of_hessian * of_gradient,
        )

    def _count(self, gradients: Gradients, growing: kernels.Growing, pool: ThreadPool) -> None:
        """Count the node that is due, blocks of features side by side."""
        fields, counters, coded = growing.fields, growing.counters, self.table.coded
        node = counters[kernels.TO_COUNT]
        rows = growing.rows[fields[node, START] : fields[node, END]]
        histogram = self.memory.histograms[counters[kernels.SLOT_TO_COUNT]]
        n_blocks = len(coded.codes)
        n_parts = min(pool.size, n_blocks) if len(rows) * self.table.n_features >= CELLS_SHARED else 1
        ends = [n_blocks * part // n_parts for part in range(n_parts + 1)]
        pool.run(
            lambda part: count_blocks(coded, gradients, rows, ends[part], ends[part + 1], histogram),
            range(n_parts),
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


def _unit(greatest: float, bits: int) -> float:
    """How many units make one, so that the greatest number has that many bits."""
    if greatest <= 0.0:
        return 1.0
    return float(np.ldexp(1.0, min(bits - int(np.frexp(greatest)[1]), 1000)))


@dataclass(frozen=True, eq=False)
class _Memory:
    """What every tree of a run uses again."""

    growing: kernels.Growing
    histograms: LongArray
    in_set: SignArray
    packed: LongArray

    @property
    def n_slots(self) -> int:
        return len(self.histograms)

    @classmethod
    def of(cls, table: Table, rules: GrowthRules, guide: Guide, n_repeats: int) -> "_Memory":
        coded, n_rows = table.coded, table.n_rows
        most = min(n_rows, max(n_repeats // int(rules.min_samples_leaf), 1))
        n_leaves = min(rules.max_leaf_nodes or most, most)
        if rules.max_depth is not None and rules.max_depth < 40:
            n_leaves = min(n_leaves, 2**rules.max_depth)
        widest = max([1, *coded.n_ranks[coded.is_subset > 0].tolist()])
        length = 2 * int(coded.start[-1])
        n_slots = int(np.clip(HISTOGRAM_BYTES // (8 * length), 2, n_leaves + 2))
        capacity = 2 * n_leaves + 2
        growing = kernels.Growing(
            rows=np.empty(0, np.int32),
            fields=np.empty((capacity, N_FIELDS), np.int64),
            total=np.empty((capacity, 2), np.int64),
            gain=np.empty(capacity),
            heap=np.empty(capacity, np.int64),
            counters=np.zeros(kernels.N_COUNTERS, np.int64),
            free=np.empty(n_slots, np.int64),
            buffer=np.empty(n_rows, np.int32),
            scratch=Scratch(
                order=np.empty(widest + 1, np.int64),
                place=np.empty(widest + 1),
                queue=np.empty(table.n_features, np.int64),
                waiting=np.empty(128, np.int64),
            ),
            guide=guide,
            guided=np.empty((capacity if guide.is_set else 0, N_GUIDED)),
            paths=Paths(
                guide.direction,
                np.zeros(table.n_features, np.uint8),
                np.zeros(table.n_features, np.uint8),
                np.ones(table.n_features),
                np.full(1, guide.is_set, np.uint8),
            ),
        )
        in_set = np.empty(8 * widest, np.int8)
        return cls(growing, np.empty((n_slots, length), np.int64), in_set, np.zeros(n_rows, np.int64))


def _room(counters: LongArray) -> Grown:
    """Memory for the finished nodes."""
    n_nodes, n_set = counters[kernels.N_NODES], counters[kernels.N_SET]
    return Grown(
        np.empty((n_nodes, N_FIELDS), np.int64),
        np.empty((n_nodes, _PLAN.n_stats), np.int64),
        np.empty(n_set, np.bool_),
        np.zeros(N_COUNTERS, np.int64),
    )


def _start(growing: kernels.Growing, gradients: Gradients, n_slots: int, seed: int) -> None:
    """Make the root, whose histogram is to be counted first."""
    fields, counters, rows = growing.fields, growing.counters, growing.rows
    fields[0] = NONE
    fields[0, START], fields[0, END], fields[0, DEPTH] = 0, len(rows), 0
    fields[0, SEED] = seed & 0xFFFFFFFF
    if growing.guide.is_set:
        growing.guided[0] = -np.inf, np.inf, NONE, NONE
    kernels.sum_node(gradients, rows, growing.total[0])
    counters[:] = 0
    counters[kernels.N_NODES] = counters[kernels.N_LEAVES] = counters[kernels.FRESH] = 1
    counters[kernels.PARENT] = NONE
    growing.free[: n_slots - 1] = np.arange(n_slots - 1, 0, -1)
    # The root keeps its histogram, if there is room for one.
    counters[kernels.N_FREE] = n_slots - 2
    counters[kernels.SLOT_TO_COUNT] = growing.free[n_slots - 2]
