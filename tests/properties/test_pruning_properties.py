"""What must hold for every tree that is pruned: nested subtrees, each the best of all that there are."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.table import Table
from holdfast.growth.grow import grow
from holdfast.growth.pruning import depth_path, leaves_path, prune, pruning_path
from holdfast.growth.rules import GrowthRules
from holdfast.io.model_file import model_from_json, model_to_json
from holdfast.kernels.growth.leaf_values import weakest_links
from holdfast.tree.check import check_tree
from holdfast.tree.tree import LEAF, Tree
from reference import pruning as twin
from reference.random_trees import OUTCOMES, STAY, random_schema, random_tree
from reference.tables import class_tables, fractional_weights, number_tables, rules, whole_weights

DEPTH = 4  # at most 677 subtrees
SMALL: dict[str, Any] = {"max_depth": DEPTH, "min_samples_leaf": 1, "min_weight_fraction_leaf": 0.0}
RISKS = {"gini": twin.gini, "misclassification": twin.misclassification}


# -- the kernel -------------------------------------------------------------------------------------------


@st.composite
def shapes(draw: Any, most_leaves: int = 7) -> tuple[list[int], list[int]]:
    """The children of the nodes of any tree, in preorder."""
    left: list[int] = []
    right: list[int] = []

    def grown(n_leaves: int) -> int:
        node = len(left)
        left.append(LEAF)
        right.append(LEAF)
        if n_leaves > 1:
            on_the_left = draw(st.integers(1, n_leaves - 1))
            left[node] = grown(on_the_left)
            right[node] = grown(n_leaves - on_the_left)
        return node

    grown(draw(st.integers(1, most_leaves)))
    return left, right


def alphas_of(left: list[int], right: list[int], risk: list[int]) -> list[float]:
    children = (np.array(side, np.int32) for side in (left, right))
    arrays = [*children, np.array(risk, float)]
    for array in arrays:
        array.flags.writeable = False
    alphas = np.empty(len(left))
    weakest_links(*arrays, alphas)
    return alphas.tolist()


@pytest.mark.kernel
@given(shapes(), st.data())
def test_a_split_is_undone_when_the_weakest_links_above_or_at_it_are_cut(
    shape: tuple[list[int], list[int]], data: st.DataObject
) -> None:
    left, right = shape
    risk = [0] * len(left)
    for node in reversed(range(len(left))):  # a split saves nothing or something
        below = 0 if left[node] == LEAF else risk[left[node]] + risk[right[node]]
        risk[node] = below + data.draw(st.integers(0, 6))
    assert_undone_in_time(left, right, risk)


@pytest.mark.kernel
@given(shapes(), st.data())
def test_splits_that_do_harm_are_undone_at_alpha_zero(
    shape: tuple[list[int], list[int]], data: st.DataObject
) -> None:
    left, right = shape
    risk = data.draw(st.lists(st.integers(0, 12), min_size=len(left), max_size=len(left)))
    assert_undone_in_time(left, right, risk)


def assert_undone_in_time(left: list[int], right: list[int], risk: list[int]) -> None:
    """Every split stands in the best subtrees below its alpha, and in none from it on."""
    steps = twin.weakest_link_steps(left, right, [Fraction(each) for each in risk])
    for node, alpha in enumerate(alphas_of(left, right, risk)):
        if left[node] == LEAF:
            assert alpha == np.inf
            continue
        undone = next(step.alpha for step in steps if not stands(left, right, node, step.ends))
        assert alpha == pytest.approx(float(undone), rel=1e-12, abs=1e-12)


def stands(left: list[int], right: list[int], node: int, ends: twin.Ends) -> bool:
    """True if the subtree splits the node."""
    waiting = [0]
    while waiting:
        place = waiting.pop()
        if place not in ends:
            if place == node:
                return True
            waiting += [left[place], right[place]]
    return False


# -- the path of minimal cost and complexity --------------------------------------------------------------


def assert_path_is(tree: Tree, risk: str | None, cost: list[Fraction]) -> None:
    """The path is that of the definition, in exact fractions: alphas, subtrees, risks and leaves."""
    path = pruning_path(tree, risk)
    root = float(cost[0])
    whole = twin.Step(Fraction(0), twin.ends_of(tree, tree))
    steps = twin.weakest_link_steps(tree.left.tolist(), tree.right.tolist(), cost)
    expected = [whole] + [step for step in steps if step.ends != whole.ends]
    alphas = [float(step.alpha) for step in expected]
    assert path.alphas.tolist() == pytest.approx(alphas, rel=1e-9, abs=1e-12 * root)
    assert [twin.ends_of(part, tree) for part in path] == [step.ends for step in expected]
    assert path.n_leaves.tolist() == [len(step.ends) for step in expected]
    risks = [float(twin.total(cost, step.ends)) for step in expected]
    assert path.risks.tolist() == pytest.approx(risks, rel=1e-9, abs=1e-12 * (root or 1.0))


def assert_best_of_all(tree: Tree, risk: str | None, cost: list[Fraction], alphas: list[Fraction]) -> None:
    """At every alpha the pruned tree is the smallest of the best of all subtrees."""
    choices = twin.all_subtrees(tree)
    for alpha in alphas:
        part = prune(tree, float(alpha), risk)
        assert twin.ends_of(part, tree) == twin.cheapest(choices, cost, alpha)


def between(tree: Tree, cost: list[Fraction]) -> list[Fraction]:
    """An alpha between any two neighbours, and one beyond them: far from rounding."""
    steps = twin.weakest_link_steps(tree.left.tolist(), tree.right.tolist(), cost)
    known = sorted({Fraction(0), *(step.alpha for step in steps)})
    return [(one + other) / 2 for one, other in pairwise(known)] + [known[-1] + 1]


@given(class_tables(of_a_row=whole_weights), rules(**SMALL), st.sampled_from(sorted(RISKS)))
def test_classes_are_pruned_by_the_weakest_link_and_to_the_best_of_all_subtrees(
    table: Table, growth: GrowthRules, risk: str
) -> None:
    tree = grow(table, growth)
    cost = twin.class_costs(tree, table, RISKS[risk])
    assert_path_is(tree, risk, cost)
    assert_best_of_all(tree, risk, cost, between(tree, cost))


@given(number_tables(of_a_row=whole_weights, most_rows=25), rules(("squared_error",), **SMALL))
def test_numbers_are_pruned_by_the_weakest_link_and_to_the_best_of_all_subtrees(
    table: Table, growth: GrowthRules
) -> None:
    tree = grow(table, growth)
    cost = twin.squared_costs(tree, table)
    assert_path_is(tree, None, cost)
    assert_best_of_all(tree, None, cost, between(tree, cost))


@given(st.integers(0, 10**6), st.sampled_from([OUTCOMES, STAY]))
def test_trees_that_no_data_would_grow_are_pruned_by_the_same_definition(seed: int, target: Any) -> None:
    random = Random(seed)
    tree = random_tree(random, random_schema(random, target), random.randint(1, 9))
    if target is STAY:
        impurity = [Fraction(each) for each in tree.impurity.tolist()]
    else:
        impurity = [twin.gini([Fraction(share) for share in line]) for line in tree.value.tolist()]
    weight = [Fraction(each) for each in tree.weight.tolist()]
    cost = [one * other / weight[0] for one, other in zip(impurity, weight, strict=True)]
    choices = twin.all_subtrees(tree)
    for alpha in between(tree, cost):
        if alpha > 1e-9:  # below it, rounding tells alphas apart
            found = twin.ends_of(prune(tree, float(alpha)), tree), twin.cheapest(choices, cost, alpha)
            own, least = (float(twin.total(cost, ends) + alpha * len(ends)) for ends in found)
            assert own == pytest.approx(least, rel=1e-12)


# -- every path -------------------------------------------------------------------------------------------

any_table = class_tables(of_a_row=fractional_weights) | class_tables(of_a_row=whole_weights)
any_numbers = number_tables(of_a_row=fractional_weights) | number_tables(of_a_row=whole_weights)
grown = st.builds(grow, any_table, rules()) | st.builds(grow, any_numbers, rules(("squared_error",)))


@given(grown, st.sampled_from([pruning_path, depth_path, leaves_path]))
def test_every_subtree_is_a_part_of_the_one_before_and_the_path_tells_its_size_and_risk(
    tree: Tree, make_path: Any
) -> None:
    path = make_path(tree)
    trees = list(path)
    assert twin.ends_of(trees[0], tree) == twin.ends_of(tree, tree)
    assert trees[-1].n_nodes == 1
    for one, other in pairwise(trees):
        twin.ends_of(other, one)  # fails if it is no part
        assert other.n_leaves < one.n_leaves
    assert [part.n_leaves for part in trees] == path.n_leaves.tolist()
    share = tree.weight[0]
    risks = [((part.weight * part.impurity)[part.feature == LEAF]).sum() / share for part in trees]
    assert path.risks.tolist() == pytest.approx(risks, rel=1e-9, abs=1e-12 * (tree.impurity[0] or 1.0))
    descends = np.diff(path.values) < 0
    ascends = np.diff(path.values) > 0
    if path.parameter == "ccp_alpha":
        assert ascends[1:].all()
        assert (path.alphas >= 0).all()
    else:
        assert descends.all()


@given(grown)
def test_each_alpha_asks_for_its_own_subtree_and_pruning_again_changes_nothing(tree: Tree) -> None:
    path = pruning_path(tree)
    for place, alpha in enumerate(path.alphas.tolist()):
        if place and alpha > 0:
            once = prune(tree, alpha)
            assert model_to_json(once) == model_to_json(path[place]) == model_to_json(path.tree_at(alpha))
            between = np.nextafter(alpha, np.inf) * 1.0000001
            assert model_to_json(prune(once, between)) == model_to_json(prune(tree, between))
            assert model_to_json(prune(prune(tree, between), between)) == model_to_json(prune(tree, between))
    assert model_to_json(prune(tree, 0.0)) == model_to_json(tree)


@given(any_table, rules(), st.floats(0.0, 0.3))
def test_a_pruned_tree_predicts_what_the_node_says_at_which_it_now_ends(
    table: Table, growth: GrowthRules, alpha: float
) -> None:
    tree = grow(table, growth)
    part = prune(tree, alpha)
    check_tree(part)
    assert model_to_json(model_from_json(model_to_json(part))) == model_to_json(part)
    ends = twin.ends_of(part, tree)
    expected = np.full((table.n_rows, tree.value.shape[1]), np.nan)
    for node, rows in enumerate(twin.rows_at_nodes(tree, table)):
        if node in ends:
            expected[rows] = tree.value[node]
    assert np.array_equal(part.value[part.apply(table)], expected)


@given(any_table, rules(), st.floats(0.0, 0.3))
def test_growing_by_rules_with_an_alpha_is_growing_and_then_pruning(
    table: Table, growth: GrowthRules, alpha: float
) -> None:
    one, other = prune(grow(table, growth), alpha), grow(table, replace(growth, ccp_alpha=alpha))
    assert model_to_json(one) == model_to_json(other)
