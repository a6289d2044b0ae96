"""Grow trees on a table."""

import warnings
from collections.abc import Sequence

from holdfast.arrays import IntArray
from holdfast.data.split.resampling import Draws
from holdfast.data.table import Table
from holdfast.errors import GrowthWarning
from holdfast.growth.finished import build_trees
from holdfast.growth.nodes import grow_nodes
from holdfast.growth.pruning.by_rules import prune_by_rules
from holdfast.growth.ready import SampledRows, prepare_tasks, select_coded
from holdfast.growth.rules import CART, GrowthRules
from holdfast.growth.sample import FixedPointSample, fixed_point_sample
from holdfast.growth.values import set_decisions, set_observed
from holdfast.tree.monotone import enforce_monotonicity
from holdfast.tree.recorded import set_recorded
from holdfast.tree.tree import Tree


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

    Trees that are alike are made ready together, grown by one call of the compiled part, which releases the
    lock of the interpreter, and finished together: so threads hardly wait for each other.
    """
    coded = select_coded(table, rules)
    trees = []
    for task in prepare_tasks(table, rules, fixed, SampledRows(samples, seeds, draws)):
        trees += build_trees(table, rules, fixed, task, grow_nodes(coded, rules, task))
    return [
        _postprocess(tree, table, rules, fixed, counts) for tree, counts in zip(trees, samples, strict=True)
    ]


def _postprocess(
    tree: Tree, table: Table, rules: GrowthRules, fixed: FixedPointSample, counts: IntArray
) -> Tree:
    """Prune the tree, and make its values follow losses and monotone constraints."""
    tree = set_decisions(enforce_monotonicity(tree), table, fixed, counts)
    return enforce_monotonicity(prune_by_rules(tree, rules, table, fixed.of_values, counts))
