from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from holdfast.data.schema import Feature, Schema, Target
from holdfast.errors import BrokenTreeError
from holdfast.tree.build import Nodes, build_preorder
from holdfast.tree.tree import LEAF

AGE = Feature("age", low=18.0, high=90.0)
PAIN = Feature("pain", "nominal", categories=("atypical", "none", "typical"))
SCHEMA = Schema((AGE, PAIN), Target("survived", classes=("no", "yes")))

# pain in {none, typical} ? (age <= 30 ? no : yes) : (age <= 60 ? yes : no), nodes level by level
LEVELS = Nodes(
    feature=np.array([1, 0, 0, LEAF, LEAF, LEAF, LEAF], np.int32),
    threshold=np.array([5.0, 30.0, 60.0, -2.0, -2.0, -2.0, -2.0]),
    left=np.array([1, 3, 5, -1, -1, -1, -1]),
    right=np.array([2, 4, 6, -1, -1, -1, -1]),
    missing_left=np.array([False, True, False, True, False, False, False]),
    value=np.array([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [1, 0], [0, 1], [0, 1], [1, 0]], float),
    count=np.array([20, 12, 8, 6, 6, 4, 4], float),
    weight=np.array([20, 12, 8, 6, 6, 4, 4], float),
    impurity=np.array([0.5, 0.5, 0.5, 0, 0, 0, 0]),
    sets={0: np.array([False, True, True])},
)


def test_nodes_in_any_order_become_a_tree_in_preorder() -> None:
    tree = build_preorder(LEVELS, SCHEMA, "entropy", ("as told",))
    assert tree.feature.tolist() == [1, 0, LEAF, LEAF, 0, LEAF, LEAF]
    assert tree.left.tolist() == [1, 2, LEAF, LEAF, 5, LEAF, LEAF]
    assert tree.right.tolist() == [4, 3, LEAF, LEAF, 6, LEAF, LEAF]
    assert tree.count.tolist() == [20, 12, 6, 6, 8, 4, 4]
    assert tree.left_categories(0).tolist() == [False, True, True]
    assert (tree.criterion, tree.notes) == ("entropy", ("as told",))
    rows = [[20.0, "none"], [40.0, "typical"], [40.0, "atypical"], [70.0, "atypical"]]
    assert tree.predict(rows).tolist() == ["no", "yes", "yes", "no"]


def test_what_a_leaf_does_not_ask_is_forgotten() -> None:
    tree = build_preorder(LEVELS, SCHEMA)
    leaves = tree.feature == LEAF
    assert np.isnan(tree.threshold[leaves]).all()
    assert np.isnan(tree.threshold[0])  # nor does a split on categories have a threshold
    assert not tree.missing_left[leaves].any()


def test_a_lone_leaf_is_a_tree() -> None:
    alone = Nodes(
        **{name: array[3:4] for name, array in vars(LEVELS).items() if array is not None and name != "sets"}
    )
    assert build_preorder(alone, SCHEMA).n_nodes == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"left": np.array([1, 3, 1, -1, -1, -1, -1])}, "node 1 is the child of two nodes"),
        ({"right": np.array([0, 4, 6, -1, -1, -1, -1])}, "the root is a child"),
        ({"right": np.array([7, 4, 6, -1, -1, -1, -1])}, "a child is node 7: the nodes are 0 to 6"),
        ({"left": np.array([-1, 3, 5, -1, -1, -1, -1])}, "a child is node -1"),
        (
            {"feature": np.array([1, LEAF, 0, LEAF, LEAF, LEAF, LEAF], np.int32)},
            "node 3 is not reachable: the root leads to 5 nodes of 7",
        ),
        ({"feature": np.array([1, 2, 0, LEAF, LEAF, LEAF, LEAF], np.int32)}, r"feature\[1\] is 2"),
        ({"sets": {}}, r"threshold\[0\] is 5.0: it must be NaN at .* a split on categories"),
    ],
)
def test_nodes_that_make_no_tree_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BrokenTreeError, match=message):
        build_preorder(replace(LEVELS, **change), SCHEMA)
