"""The same questions, with leaf values from other rows than those that the tree was grown on."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from holdfast.arrays import BoolArray
from holdfast.backends.tasks import LEAST_SHARED, check_jobs, run_all
from holdfast.data.table import Table
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import FixedPointSample, fixed_point_sample
from holdfast.growth.values import refit_values
from holdfast.tree.tree import Tree


def refit_leaf_values(tree: Tree, table: Table, rules: GrowthRules) -> Tree:
    """Refit values, counts and impurities of all nodes to the rows of the table.

    No question changes. A node that no row reaches keeps its value, without weight. The rules say how
    impurity is measured and how classes are weighted.

    >>> from holdfast import CART, grow
    >>> early = Table.from_arrays([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"])
    >>> later = Table.from_arrays([[20.0], [30.0], [55.0], [70.0]], ["no", "yes", "yes", "yes"])
    >>> refit_leaf_values(grow(early), later, CART).value[1]
    array([0.5, 0.5])
    """
    return refit_all_leaf_values([tree], table, [fixed_point_sample(table, rules)])[0]


def refit_all_leaf_values(
    trees: Sequence[Tree],
    table: Table,
    samples: Sequence[FixedPointSample | None],
    *,
    rows: BoolArray | None = None,
    n_jobs: int | None = None,
) -> list[Tree]:
    """Refit several trees to the rows of the table, or to flagged rows of each.

    Each has a sample of the table, which weighs the rows and says how impurity is measured; a tree with None
    stays as it is.
    """
    check_jobs(n_jobs)
    known = {id(sample): sample for sample in samples}
    place = {own: number for number, own in enumerate(known)}  # trees travel, and the samples stay
    tasks = [(tree, place[id(sample)]) for tree, sample in zip(trees, samples, strict=True)]
    taken = np.ones(table.n_rows, np.bool_) if rows is None else rows
    task = partial(_refitted, table, taken, tuple(known.values()))
    return run_all(task, tasks, n_jobs if table.n_rows >= LEAST_SHARED else 1)


def _refitted(
    table: Table, taken: BoolArray, samples: Sequence[FixedPointSample | None], task: tuple[Tree, int]
) -> Tree:
    tree, fixed = task[0], samples[task[1]]
    if fixed is None:
        return tree
    return refit_values(tree, table, fixed.of_values, (fixed.repeats * taken).astype(np.int32))
