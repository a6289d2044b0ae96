"""What the growth rules say of pruning, done to a grown tree."""

from holdfast.arrays import IntArray
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.pruning.merging import merge_leaves
from holdfast.growth.pruning.path import prune
from holdfast.growth.pruning.pessimistic import prune_grown_pessimistically
from holdfast.growth.pruning.risk import node_risk
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import FixedPointSample
from holdfast.tree.tree import Tree


def prune_by_rules(
    tree: Tree, rules: GrowthRules, table: Table, fixed: FixedPointSample, counts: IntArray
) -> Tree:
    """Prune the tree as the rules require, by the rows that it was grown on."""
    if not fixed.n_classes:
        for name, unsaid in (("pruning_confidence", None), ("merge_leaves", False)):
            if (value := getattr(rules, name)) is not unsaid:
                raise ParameterError(
                    f"{name}={value!r} is for classification; {table.schema.target.name!r} is numeric: "
                    "use ccp_alpha."
                )
    if rules.ccp_risk is not None:
        node_risk(tree, rules.ccp_risk)  # a name that is none is refused, whatever the alpha
    if rules.pruning_confidence is not None and rules.loss_matrix is not None:
        raise ParameterError(
            f"pruning_confidence={rules.pruning_confidence!r} counts errors, whatever they cost, and there "
            "is a loss_matrix: prune by ccp_alpha."
        )
    tree = prune_grown_pessimistically(tree, rules, table, fixed, counts)
    if rules.ccp_alpha > 0:
        tree = prune(tree, rules.ccp_alpha, rules.ccp_risk)
    return merge_leaves(tree) if rules.merge_leaves else tree
