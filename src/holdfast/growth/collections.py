"""Many trees from one table, each on a bootstrap sample of its rows."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import product
from typing import Any, Protocol

from holdfast._arrays import IntArray, LongArray
from holdfast._check import is_integer, is_number, raise_out_of_range
from holdfast._random import Branch, derive_seeds
from holdfast._text import quoted
from holdfast.data.resampling import Units, draw_all_counts, draw_subsample
from holdfast.data.row_keys import row_keys
from holdfast.data.stored import StoredTable
from holdfast.data.table import Table
from holdfast.errors import GrowthWarning, ParameterError
from holdfast.growth.grow import grow, grow_samples
from holdfast.growth.rules import CART, GrowthRules
from holdfast.growth.sample import FixedPointSample, check_table, fixed_point_sample, fixed_point_samples
from holdfast.parallel.tasks import ROWS_PER_TASK, check_jobs, make_batches, run_all
from holdfast.tree.tree import Tree


def grow_bootstraps(
    table: Table,
    rules: GrowthRules = CART,
    n_estimators: int = 100,
    *,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> list[Tree]:
    """Grow trees on bootstrap samples of the table, whose columns are coded once for all of them.

    Parameters
    ----------
    table : Table
    rules : GrowthRules
    n_estimators : int
        Number of trees.
    random_state : int
        Tree i depends on it and on i, never on the number of jobs.
    n_jobs : int, optional

    Returns
    -------
    list of Tree

    Examples
    --------
    >>> table = Table.from_arrays([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"])
    >>> [tree.n_leaves for tree in grow_bootstraps(table, n_estimators=3)]
    [2, 2, 2]
    """
    check_jobs(n_jobs)
    fixed = fixed_point_sample(table, rules)
    table.code(n_jobs)  # before the threads start
    tasks = make_batches(range(n_estimators), max(1, ROWS_PER_TASK // table.n_rows))
    task = partial(_grow_batch, table, rules, fixed, Units.of(table), random_state)
    parts = run_all(task, tasks, n_jobs, cache_name="Trees")
    grown = [tree for trees in parts for tree in trees]
    for note in dict.fromkeys(note for tree in grown for note in tree.notes):
        warnings.warn(note, GrowthWarning, stacklevel=2)
    return grown


def _grow_batch(
    table: Table,
    rules: GrowthRules,
    fixed: FixedPointSample,
    units: Units,
    seed: int,
    indices: Sequence[int],
) -> list[Tree]:
    samples = draw_all_counts(fixed.repeats, units, [(seed, index) for index in indices])
    return grow_samples(table, rules, fixed, samples, [seed + index for index in indices])


# -- Many trees from one large table, each on a sample that fits in memory -----------------------------------

MOST_TOGETHER = 8  # trees of a task, so that there is a task for every job
BATCH_BYTES = 2**27  # of samples that are read together, since a page of a file holds rows of several


def grow_subsamples(
    table: Table,
    rules: GrowthRules = CART,
    n_estimators: int = 100,
    *,
    max_samples: int | float,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> list[Tree]:
    """Grow trees on samples drawn without replacement.

    Only the samples of one task per job are in memory, never a stored table.

    Parameters
    ----------
    table : Table or StoredTable
    rules : GrowthRules
    n_estimators : int
        Number of trees.
    max_samples : int or float
        Number of rows of each sample, or fraction of the table.
    random_state : int
        Tree i depends on it and on i, not on the number of jobs or the order of the rows.
    n_jobs : int, optional

    Returns
    -------
    list of Tree

    Examples
    --------
    >>> table = Table.from_arrays([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"])
    >>> [tree.count[0] for tree in grow_subsamples(table, n_estimators=2, max_samples=0.75)]
    [np.float64(3.0), np.float64(3.0)]
    """
    check_table(table)
    n_rows = _count_drawn_rows(max_samples, table.n_rows)
    draw = partial(_draw_rows, table, random_state, n_rows)
    size = max(1, min(BATCH_BYTES // (8 * n_rows * table.n_features), MOST_TOGETHER))
    return _run(partial(_grow_samples, table, rules, draw, random_state), n_estimators, size, n_jobs)


def grow_parts(
    table: StoredTable, rules: GrowthRules = CART, *, random_state: int = 0, n_jobs: int | None = None
) -> list[Tree]:
    """Grow a tree for each part of the source data, such as a file of a Parquet folder.

    Parameters
    ----------
    table : StoredTable
    rules : GrowthRules
    random_state : int
    n_jobs : int, optional

    Returns
    -------
    list of Tree
    """
    if not isinstance(table, StoredTable):
        raise TypeError(f"table must be a StoredTable, got a {type(table).__name__}: see store_table.")
    task = partial(_grow_samples, table, rules, table.part_rows, random_state)
    return _run(task, len(table.part_starts), 1, n_jobs)


def _draw_rows(table: Table, seed: int, n_rows: int, index: int) -> LongArray:
    return draw_subsample(row_keys(table), (seed, Branch.SUBSAMPLES, index), n_rows)


def _run(
    task: Callable[[Sequence[int]], list[Tree]], n_trees: int, size: int, n_jobs: int | None
) -> list[Tree]:
    parts = run_all(task, make_batches(range(n_trees), size), n_jobs, cache_name="Trees")
    trees = [tree for part in parts for tree in part]
    for note in dict.fromkeys(note for tree in trees for note in tree.notes):
        warnings.warn(note, GrowthWarning, stacklevel=3)
    return trees


def _grow_samples(
    table: Table, rules: GrowthRules, draw: Callable[[int], LongArray], seed: int, indices: Sequence[int]
) -> list[Tree]:
    samples = _select_samples(table, [draw(index) for index in indices])
    seeds = derive_seeds([(seed, Branch.SUBSAMPLES, index, 0) for index in indices])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GrowthWarning)  # raised once for all trees
        return [grow(sample, rules, random_state=own) for sample, own in zip(samples, seeds, strict=True)]


def _select_samples(table: Table, rows: Sequence[LongArray]) -> list[Table]:
    """Select the rows of several samples in one pass over each column."""
    columns = list(zip(*([column[own] for own in rows] for column in table.columns), strict=True))
    weights = [None if table.weight is None else table.weight[own] for own in rows]
    times = [None if table.survival is None else table.survival.subset(own) for own in rows]
    return [
        Table(table.schema, part, table.target[own], weight, survival=survival)
        for part, own, weight, survival in zip(columns, rows, weights, times, strict=True)
    ]


def _count_drawn_rows(max_samples: Any, n_rows: int) -> int:
    if is_integer(max_samples) and 1 <= max_samples <= n_rows:
        return int(max_samples)
    if is_number(max_samples) and not is_integer(max_samples) and 0.0 < float(max_samples) <= 1.0:
        return max(1, round(float(max_samples) * n_rows))
    words = f"a number of rows, from 1 to {n_rows}, or a fraction above 0 and of at most 1"
    return raise_out_of_range("max_samples", max_samples, words)


# -- Learners, which grow the trees of a collection ----------------------------------------------------------

Combination = Mapping[str, Any]  # one value for each parameter of a grid

SHALLOWEST, DEEPEST = 3, 12
LEAF_SIZES = (3, 5, 10, 30, 50)


class Learner(Protocol):
    """Grows trees on samples of one table for several combinations of parameters."""

    @property
    def combinations(self) -> Sequence[Combination]:
        """Combinations of parameters."""

    @property
    def repeats(self) -> IntArray:
        """Number of rows that each row of the table stands for."""

    def trees(self, combination: int, samples: Sequence[IntArray], seeds: Sequence[int]) -> list[Tree]:
        """Grow trees on samples of the rows."""

    def leaf_sample(self, combination: int) -> FixedPointSample | None:
        """Rows for refitting leaf values; None if they cannot be refitted."""


def paper_grid(max_depth: int | None, n_rows: int, least: int = 1) -> dict[str, list[Any]]:
    """Return the paper's grid up to `max_depth`, as far as the rows allow a split.

    No leaf may have fewer rows than `least`.

    >>> paper_grid(5, 100)
    {'max_depth': [3, 4, 5], 'min_samples_leaf': [3, 5, 10, 30, 50]}
    """
    deepest = DEEPEST if max_depth is None else max_depth
    depths = list(range(SHALLOWEST, deepest + 1)) or [deepest]
    sizes = [size for size in LEAF_SIZES if least <= size and 2 * size <= n_rows] or [least]
    return {"max_depth": depths, "min_samples_leaf": sizes}


def list_combinations(grid: Mapping[str, Iterable[Any]]) -> tuple[Combination, ...]:
    """List all combinations of a grid, the last parameter varying fastest."""
    for name, values in grid.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise ParameterError(f"grid has {values!r} for {name}: it must be a list of values to try.")
    choices = {name: list(values) for name, values in grid.items()}
    for name, values in choices.items():
        if not values:
            raise ParameterError(f"grid has no value for {name}: give at least one, or leave {name} out.")
    return tuple(dict(zip(choices, values, strict=True)) for values in product(*choices.values()))


@dataclass(frozen=True, eq=False)
class RulesLearner:
    """Grows trees by growth rules."""

    table: Table
    rules: tuple[GrowthRules, ...]  # one of each combination
    fixed: tuple[FixedPointSample, ...]  # for each combination
    combinations: tuple[Combination, ...]

    @property
    def repeats(self) -> IntArray:
        """Number of rows that each row of the table stands for."""
        return self.fixed[0].repeats

    def trees(self, combination: int, samples: Sequence[IntArray], seeds: Sequence[int]) -> list[Tree]:
        """Grow the trees of the samples."""
        return grow_samples(self.table, self.rules[combination], self.fixed[combination], samples, seeds)

    def leaf_sample(self, combination: int) -> FixedPointSample:
        """Rows on which the trees are grown."""
        return self.fixed[combination]


def make_learner(table: Table, rules: GrowthRules, combinations: Sequence[Combination]) -> RulesLearner:
    """Make a learner that grows by these rules, with one change per combination."""
    known = {field.name for field in fields(GrowthRules)}
    strange = [name for name in combinations[0] if name not in known]
    if strange:
        raise ParameterError(
            f"grid has {quoted(strange)}, which are no growth rules: choose from {sorted(known)}."
        )
    all_rules = tuple(replace(rules, **combination) for combination in combinations)
    _ = table.coded  # before the threads start
    return RulesLearner(table, all_rules, fixed_point_samples(table, all_rules), tuple(combinations))
