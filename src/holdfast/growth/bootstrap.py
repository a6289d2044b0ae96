"""Many trees from one table, each on a bootstrap sample of its rows."""

import warnings
from collections.abc import Sequence
from functools import partial

from holdfast.backends.tasks import ROWS_PER_TASK, check_jobs, make_batches, run_all
from holdfast.data.split.resampling import Units, all_counts
from holdfast.data.table import Table
from holdfast.errors import GrowthWarning
from holdfast.growth.grow import grow_samples
from holdfast.growth.rules import CART, GrowthRules
from holdfast.growth.sample import FixedPointSample, fixed_point_sample
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
    parts = run_all(task, tasks, n_jobs, kept="Trees")
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
    samples = all_counts(fixed.repeats, units, [(seed, index) for index in indices])
    return grow_samples(table, rules, fixed, samples, [seed + index for index in indices])
