"""A grown tree against the oracle, node by node."""

import numpy as np

from holdfast._arrays import BoolArray
from holdfast.data.table import Table
from holdfast.growth.rules import GrowthRules
from holdfast.tree.tree import LEAF, Tree
from reference.grower import PART, Candidate, Oracle, Rows, best_of


def disagreements(table: Table, rules: GrowthRules, tree: Tree) -> list[str]:
    """Every node of a tree, grown without drawing features, that is not what the rules ask for, in words."""
    oracle, found, waiting = Oracle(table, rules), [], [(0, 0, Oracle(table, rules).root)]
    while waiting:
        node, depth, rows = waiting.pop()
        candidates = oracle.candidates(rows) if oracle.may_split(rows, depth) else []
        if tree.left[node] == LEAF:
            if candidates and oracle.is_enough(rows, best_of(candidates, rules.criterion)[0]):
                found.append(f"node {node} is a leaf, and could be split: {best_of(candidates)[0]}")
            continue
        yes = going_left(tree, node, table)
        left = frozenset(row for row in rows if yes[row])
        found += _faults(oracle, rows, candidates, f"node {node}", int(tree.feature[node]), left)
        waiting.append((int(tree.left[node]), depth + 1, tuple(row for row in rows if row in left)))
        waiting.append((int(tree.right[node]), depth + 1, tuple(row for row in rows if row not in left)))
    return found


def _faults(
    oracle: Oracle, rows: Rows, candidates: list[Candidate], name: str, feature: int, left: frozenset[int]
) -> list[str]:
    """What is wrong with a split of the rows."""
    sides = (left, frozenset(rows) - left)
    own = [each for each in candidates if each.feature == feature and each.left in sides]
    if not own:
        return [f"{name} has a split that is not allowed: feature {feature}, rows {sorted(left)} left"]
    best, tied = best_of(candidates, oracle.rules.criterion)
    if float(own[0].worth) < float(best.worth) - 2 * PART - oracle.rounding:
        return [f"{name} has {own[0]}, worth {float(own[0].worth)}, not {best}, worth {float(best.worth)}"]
    if not oracle.is_enough(rows, own[0]):
        return [f"{name} has {own[0]}, which gains too little"]
    is_subset = oracle.table.schema.features[best.feature].is_subset
    is_first = own[0].feature == best.feature and (is_subset or own[0].rank == best.rank)
    if not is_first and not oracle.rounding and are_equal(tied):
        return [f"{name} has {own[0]}, which is tied with {best}: that one comes first"]
    return []


def are_equal(tied: list[Candidate]) -> bool:
    """True if the splits are tied beyond doubt: their worth is the same, not only within a part."""
    worths = [float(each.worth) for each in tied]
    return max(worths) - min(worths) < 1e-14


def going_left(tree: Tree, node: int, table: Table) -> BoolArray:
    """One flag per row of the table: is its answer at the node yes?"""
    feature = tree.feature[node]
    column = table.columns[feature]
    is_missing = np.isnan(column)
    if table.schema.features[feature].is_subset:
        yes = tree.left_categories(node)[np.where(is_missing, 0, column).astype(int)]
    else:
        yes = column <= tree.threshold[node]
    return np.asarray(np.where(is_missing, tree.missing_left[node], yes), bool)
