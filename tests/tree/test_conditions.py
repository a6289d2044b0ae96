"""What can reach a node, followed down the tree, is what the way to the node says."""

import numpy as np
import pytest

from holdfast.data.schema import Feature, Schema
from holdfast.tree.check import check_tree
from holdfast.tree.frame import node_columns
from holdfast.tree.rules import find_known_values, iterate_conditions, list_conditions, tree_rules
from holdfast.tree.rules_text import branch_text
from holdfast.tree.text import draw_tree
from holdfast.tree.tree import LEAF, Tree
from reference.trees import NUMERIC, ORDERED, QUESTION, SUBSET, SURVIVED


def chain(n_questions: int, n_features: int) -> Tree:
    """The first question leads to the second, and so on: every no is a leaf."""
    n_nodes = 2 * n_questions + 1
    inner = np.arange(n_nodes) < n_questions
    places = np.arange(n_nodes)
    tree = Tree(
        schema=Schema(tuple(Feature(f"f{i}") for i in range(n_features)), SURVIVED),
        feature=np.where(inner, places % n_features, LEAF).astype(np.int32),
        threshold=np.where(inner, 2.0 * n_questions - places, np.nan),
        left=np.where(inner, places + 1, LEAF).astype(np.int32),
        right=np.where(inner, n_nodes - 1 - places, LEAF).astype(np.int32),
        missing_left=inner,
        set_start=np.full(n_nodes, -1),
        in_set=np.zeros(0, bool),
        value=np.full((n_nodes, 2), 0.5),
        count=np.ones(n_nodes),
        weight=np.zeros(n_nodes),
        impurity=np.zeros(n_nodes),
    )
    check_tree(tree)
    return tree


@pytest.mark.parametrize("tree", [NUMERIC, SUBSET, ORDERED, QUESTION, chain(12, 3)])
def test_every_node_has_the_conditions_of_its_own_way(tree: Tree) -> None:
    for node, conditions in enumerate(iterate_conditions(tree)):
        assert list(conditions.items()) == list(list_conditions(tree, node).items())
    for rule in tree_rules(tree):
        on_the_way = list_conditions(tree, rule.leaf).values()
        assert rule.conditions == tuple(each for each in on_the_way if not (each.missing and each.is_whole))
    known = find_known_values(tree)
    for node in np.flatnonzero(tree.feature != LEAF).tolist():
        for side in (True, False):
            assert branch_text(tree, node, side, known=known) == branch_text(tree, node, side)


def test_a_chain_of_800_questions_is_drawn_in_every_form() -> None:
    tree = chain(800, 800)
    assert len(draw_tree(tree).splitlines()) == 1601
    assert max(map(len, draw_tree(tree).splitlines())) <= 100
    assert tree.rules().count("THEN") == 801
    assert tree.rules().count("AND ") == sum(max(n - 1, 0) for n in range(1, 801)) + 799
    assert len(node_columns(tree)["split"]) == 1601
    svg = tree.to_svg()
    assert svg.count('data-kind="leaf"') == 801
    assert "… and more" in svg
    assert "rules()" in svg


def test_the_indents_of_a_deep_tree_are_cut() -> None:
    lines = draw_tree(chain(100, 1)).splitlines()
    assert sum(line.startswith("…") for line in lines) > 50
