"""Many trees from one large table, each on rows of its own that fit in memory."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from holdfast._check import is_integer, is_number, refuse
from holdfast.arrays import LongArray
from holdfast.backends.tasks import make_batches, run_all
from holdfast.data.split.row_keys import row_keys
from holdfast.data.split.subsample import subsample
from holdfast.data.stored.table import StoredTable
from holdfast.data.table import Table
from holdfast.errors import GrowthWarning
from holdfast.growth.grow import grow
from holdfast.growth.rules import CART, GrowthRules
from holdfast.growth.sample import check_table
from holdfast.random_streams import Branch, derived_seeds
from holdfast.tree.tree import Tree

MOST_TOGETHER = 8  # trees of a task, so that there is one for every job
BATCH_BYTES = 2**27  # of samples that are read together: a page of a file holds rows of many


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
    n_rows = _n_drawn(max_samples, table.n_rows)
    draw = partial(_drawn, table, random_state, n_rows)
    return _run(partial(_grown, table, rules, draw, random_state), n_estimators, _size(table, n_rows), n_jobs)


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
        raise TypeError(f"Only a stored table has parts, and this is a {type(table).__name__}: store_table.")
    task = partial(_grown, table, rules, partial(_of_part, table), random_state)
    return _run(task, len(table.part_starts), 1, n_jobs)


def _drawn(table: Table, seed: int, n_rows: int, index: int) -> LongArray:
    return subsample(row_keys(table), (seed, Branch.SUBSAMPLES, index), n_rows)


def _of_part(table: StoredTable, index: int) -> LongArray:
    return table.part_rows(index)


def _size(table: Table, n_rows: int) -> int:
    """Choose how many trees share a task, whose samples are read together."""
    return max(1, min(BATCH_BYTES // (8 * n_rows * table.n_features), MOST_TOGETHER))


def _run(
    task: Callable[[Sequence[int]], list[Tree]], n_trees: int, size: int, n_jobs: int | None
) -> list[Tree]:
    parts = run_all(task, make_batches(range(n_trees), size), n_jobs, kept="Trees")
    trees = [tree for part in parts for tree in part]
    for note in dict.fromkeys(note for tree in trees for note in tree.notes):
        warnings.warn(note, GrowthWarning, stacklevel=3)
    return trees


def _grown(
    table: Table, rules: GrowthRules, draw: Callable[[int], LongArray], seed: int, indices: Sequence[int]
) -> list[Tree]:
    samples = _taken(table, [draw(index) for index in indices])
    seeds = derived_seeds([(seed, Branch.SUBSAMPLES, index, 0) for index in indices])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GrowthWarning)  # said once for all trees
        return [grow(sample, rules, random_state=own) for sample, own in zip(samples, seeds, strict=True)]


def _taken(table: Table, rows: Sequence[LongArray]) -> list[Table]:
    """Select the rows of several samples in one pass over each column."""
    columns = list(zip(*([column[own] for own in rows] for column in table.columns), strict=True))
    weights = [None if table.weight is None else table.weight[own] for own in rows]
    made = zip(columns, rows, weights, strict=True)
    return [Table(table.schema, own, table.target[taken], weight) for own, taken, weight in made]


def _n_drawn(max_samples: Any, n_rows: int) -> int:
    if is_integer(max_samples) and 1 <= max_samples <= n_rows:
        return int(max_samples)
    if is_number(max_samples) and not is_integer(max_samples) and 0.0 < float(max_samples) <= 1.0:
        return max(1, round(float(max_samples) * n_rows))
    words = f"a number of rows, from 1 to {n_rows}, or a fraction above 0 and of at most 1"
    return refuse("max_samples", max_samples, words)
