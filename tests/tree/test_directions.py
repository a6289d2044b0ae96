"""Drawings, rules and pictures say which way a tree's values go where that is promised."""

import numpy as np
import pytest

from holdfast import TreeClassifier, TreeRegressor
from holdfast.growth.rules import GrowthRules
from holdfast.tree.tree import Tree

NAMES = ["age", "dose", "ward"]


def rows() -> np.ndarray:
    return np.random.default_rng(5).normal(size=(300, 3))


@pytest.fixture(scope="module")
def tree() -> Tree:
    import pandas as pd

    X = rows()
    died = np.where(X[:, 0] - X[:, 1] + X[:, 2] > 0.3, "died", "lived")
    model = TreeClassifier(
        max_leaf_nodes=8,
        monotonic_cst={"age": 1, "dose": -1, "ward": 0},
        growth_rules=GrowthRules(monotonic_class="died"),
    )
    return model.fit(pd.DataFrame(X, columns=NAMES), died).tree_


def test_a_drawing_and_rules_state_each_direction(tree: Tree) -> None:
    for text in (str(tree), tree.rules()):
        assert "p(died) never falls as age rises." in text
        assert "p(died) never rises as dose rises." in text
        assert "ward rises" not in text


def test_a_picture_has_a_sign_at_each_such_column_and_says_what_it_means(tree: Tree) -> None:
    picture = tree.to_svg()
    for name, sign in (("age", "↑"), ("dose", "↓")):
        asked = sum(tree.schema.names[feature] == name for feature in tree.feature.tolist() if feature >= 0)
        assert asked
        assert picture.count(f">{name} {sign}<") == asked
    assert "↑ p(died) never falls as age rises." in picture
    assert "↓ p(died) never rises as dose rises." in picture
    assert "ward ↑" not in picture


def test_a_number_is_named_by_the_target_and_columns_that_are_not_asked_are_left_out() -> None:
    X = rows()
    model = TreeRegressor(max_leaf_nodes=3, monotonic_cst=[1, 0, 1]).fit(X, X[:, 0])
    assert "y never falls as x0 rises." in str(model.tree_)


def test_several_columns_share_a_sentence() -> None:
    X = rows()
    model = TreeRegressor(max_leaf_nodes=8, monotonic_cst=[1, 0, 1]).fit(X, X[:, 0] + X[:, 2])
    assert "y never falls as any of x0, x2 rises." in str(model.tree_)


def test_a_tree_without_promises_says_nothing_of_them() -> None:
    X = rows()
    tree = TreeRegressor(max_leaf_nodes=3).fit(X, X[:, 0]).tree_
    assert "never" not in str(tree) + tree.rules() + tree.to_svg()
