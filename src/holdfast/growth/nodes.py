"""Call the growth kernels."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from holdfast.arrays import ByteArray, LongArray
from holdfast.backends.interruption import call_kernel, stop_flag
from holdfast.growth.compact_rows import make_compact_rows
from holdfast.growth.ready import Task
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import first_of
from holdfast.growth.sorted_rows import make_sorted_rows
from holdfast.kernels.growth import nodes as kernels
from holdfast.kernels.growth.criteria import Plan
from holdfast.kernels.growth.grow import grow
from holdfast.kernels.growth.guide import N_GUIDED
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.growth.search import FULL_ROWS
from holdfast.kernels.quantiles.grow import grow_quantiles

LONGEST_TIMER = 1e8  # seconds; more than three years are no limit
HISTOGRAM_BYTES = 2**26  # memory for histograms that wait for the larger child of their node
SET_BYTES = 2**22  # memory for sets of categories at first


def grow_nodes(coded: Coded, rules: GrowthRules, task: Task) -> kernels.Grown:
    """Grow the nodes of the trees; the rows of the task are left in the order of their leaves."""
    rows, n_trees = task.rows, len(task.samples.seed)
    kernel, given = _kernel(coded, rules, task)
    growing, grown = _rooms(coded, task)
    as_given = rows.copy()
    with stop_flag() as stop, _deadline(rules.max_seconds, stop):
        while True:
            n_steps = coded.ranks.size * n_trees
            call_kernel(kernel, *given, stop, growing, grown, stop=stop, n_steps=n_steps)
            if not (grown.counters[:, kernels.STATE] == kernels.NO_ROOM).any():
                break
            growing = growing._replace(in_set=np.empty(4 * len(growing.in_set), np.int8))
            grown = grown._replace(in_set=np.empty(n_trees * len(growing.in_set), np.bool_))
            grown.counters[:] = 0
            rows[:] = as_given
    n_nodes, n_set = grown.counters[:, [kernels.N_NODES, kernels.N_SET]].sum(axis=0)
    return kernels.Grown(
        grown.fields[:n_nodes].copy(),
        grown.total[:n_nodes].copy(),
        grown.in_set[:n_set].copy(),
        grown.counters,
    )


def _kernel(coded: Coded, rules: GrowthRules, task: Task) -> tuple[Callable[..., None], tuple[Any, ...]]:
    """Choose the kernel and its first arguments."""
    plan, limits, samples, rows, guide = task.plan, task.limits, task.samples, task.rows, task.guide
    if task.pinball is not None:
        given = (plan, task.pinball, limits, coded, first_of(samples), rows, int(samples.seed[0]), guide)
        return _one_tree(grow_quantiles), given
    most_rows = _most_rows(task)
    histograms = _histograms(coded, rules, plan, limits, most_rows)
    compact = make_compact_rows(coded, limits, most_rows)
    in_order = make_sorted_rows(rules, plan, coded, limits, compact, most_rows)
    room = (histograms, compact, in_order)
    return grow, (plan, limits, coded, samples, rows, *room, task.values, guide)


def _one_tree(kernel: Callable[..., None]) -> Callable[..., None]:
    """Wrap a kernel for a single tree as one for several."""

    def call(*given: Any) -> None:
        *first, grown = given
        kernel(*first, grown._replace(counters=grown.counters[0]))

    return call


def _most_rows(task: Task) -> int:
    return int(np.diff(task.samples.start).max())


def _rooms(coded: Coded, task: Task) -> tuple[kernels.Growing, kernels.Grown]:
    """Allocate memory for nodes; untouched pages cost nothing."""
    limits, n_trees = task.limits, len(task.samples.seed)
    n_nodes = 2 * min(_most_rows(task), limits.max_leaves)
    if limits.max_depth < 20:
        n_nodes = min(n_nodes, 2 << limits.max_depth)
    widest = int(coded.n_codes[coded.is_subset > 0].max(initial=0))
    n_flags = min(n_nodes * widest, max(SET_BYTES, 4 * widest))
    return (
        kernels.Growing(
            np.empty((n_nodes, kernels.N_FIELDS), np.int64),
            np.empty((n_nodes, task.plan.n_stats), np.int64),
            np.empty(n_flags, np.int8),
            np.empty((n_nodes if task.guide.is_set else 0, N_GUIDED)),
        ),
        kernels.Grown(
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
