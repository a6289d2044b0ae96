"""Trees from plain nodes: by hand, against the trees they were written down from, and what is refused."""

from random import Random
from typing import Any

import numpy as np
import pytest

from holdfast import Node, Tree
from holdfast.data.schema import Feature, Schema, Target
from holdfast.errors import BrokenTreeError
from holdfast.tree.tree import KNOWN, LEAF
from reference.random_trees import OUTCOMES, STAY, random_schema, random_tree

AGE = Feature("age", low=18.0, high=90.0)
PAIN = Feature("pain", "nominal", categories=("atypical", "none", "typical"))
SLOPE = Feature("slope", "ordered", low=0.0, high=2.0, categories=("down", "flat", "up"))
OLD = Feature("age > 65", "question", categories=(False, True))
SCHEMA = Schema((AGE, PAIN, SLOPE, OLD), Target("lived", classes=("no", "yes")))
NUMBERS = Schema((AGE, PAIN), Target("days", low=0.0, high=50.0))

NO, YES = {"value": [30, 10], "count": 40}, {"value": "yes", "count": 20}


def split(feature: Any = "age", **fields: Any) -> dict[str, Any]:
    return {"feature": feature, "left": NO, "right": YES, **fields}


# -- forms ------------------------------------------------------------------------------------------------

BY_NUMBER = [
    {"feature": "pain", "categories": ["none", "typical"], "left": 3, "right": 1, "missing_left": True},
    YES,
    {"value": {"yes": 3, "no": 1}, "count": 4, "weight": 8.0},
    {"feature": 0, "threshold": 50, "left": 2, "right": 4},
    NO,
]


def test_nodes_stand_in_any_order_behind_the_root() -> None:
    tree = Tree.from_nodes(SCHEMA, BY_NUMBER)
    assert tree.feature.tolist() == [1, 0, LEAF, LEAF, LEAF]
    assert tree.threshold[1] == 50.0
    assert tree.left_categories(0).tolist() == [False, True, True]
    assert tree.missing_left.tolist() == [True, False, False, False, False]
    assert tree.value[2:].tolist() == [[0.25, 0.75], [0.75, 0.25], [0.0, 1.0]]
    assert tree.count.tolist() == [64, 44, 4, 40, 20]
    assert tree.weight.tolist() == [68, 48, 8, 40, 20]
    rows = [[40.0, "none", "up"], [60.0, "none", "up"], [40.0, "atypical", "up"], [60.0, None, "up"]]
    assert tree.predict(rows).tolist() == ["yes", "no", "yes", "no"]


def test_children_may_stand_inside_their_parent() -> None:
    leaves = Node(value={"no": 1, "yes": 3}, count=4, weight=8.0), Node(**NO)
    inner = Node("age", threshold=50, left=leaves[0], right=leaves[1])
    nested = Node("pain", categories={"none", "typical"}, left=inner, right=YES, missing_left=True)
    assert same(Tree.from_nodes(SCHEMA, nested), Tree.from_nodes(SCHEMA, BY_NUMBER))


def test_a_lone_leaf_is_a_tree() -> None:
    assert Tree.from_nodes(SCHEMA, [NO]).value.tolist() == [[0.75, 0.25]]
    assert Tree.from_nodes(SCHEMA, NO).n_nodes == 1


@pytest.mark.parametrize(
    ("node", "threshold"),
    [
        (split(threshold=np.float32(40.5)), 40.5),
        (split(threshold=float("inf")), KNOWN),
        (split("slope", categories=["flat", "down"]), 1.5),
        (split("slope", threshold=0), 0.5),
        (split(np.int64(2), threshold=1.2), 1.5),
    ],
)
def test_thresholds_are_numbers_or_the_first_of_an_order(node: Any, threshold: float) -> None:
    assert Tree.from_nodes(SCHEMA, node).threshold[0] == threshold


def test_a_question_goes_left_where_it_is_true() -> None:
    tree = Tree.from_nodes(SCHEMA, split("age > 65"))
    assert tree.predict([[70.0, "none", "up"], [60.0, "none", "up"]]).tolist() == ["no", "yes"]


# -- what follows from the leaves -------------------------------------------------------------------------


def test_inner_nodes_hold_the_weighted_mean_of_their_leaves() -> None:
    # 40 rows of 3/4 no and 20 rows of yes: 30 of 60 no. Gini 1 - 1/4 - 1/4.
    tree = Tree.from_nodes(SCHEMA, split(threshold=50))
    assert tree.value[0] == pytest.approx([0.5, 0.5])
    assert tree.impurity == pytest.approx([0.5, 0.375, 0.0])
    assert (tree.count[0], tree.weight[0], tree.criterion) == (60, 60, "gini")


def test_the_variance_of_an_inner_node_is_that_within_and_between_its_leaves() -> None:
    # 1, 3 and 8, 10, 12: means 2 and 10, variances 1 and 8/3; of all five 6.8 and 18.16.
    leaves = {"value": 2, "count": 2, "impurity": 1.0}, {"value": 10, "count": 3, "impurity": 8 / 3}
    tree = Tree.from_nodes(NUMBERS, [{"feature": "age", "threshold": 5, "left": 1, "right": 2}, *leaves])
    everyone = np.array([1.0, 3.0, 8.0, 10.0, 12.0])
    assert tree.value[:, 0] == pytest.approx([everyone.mean(), 2, 10])
    assert tree.impurity == pytest.approx([everyone.var(), 1, 8 / 3])
    assert tree.criterion == "squared_error"


def test_without_counts_no_rows_were_seen_and_means_are_plain() -> None:
    tree = Tree.from_nodes(SCHEMA, split(threshold=50, left={"value": "no"}, right={"value": "yes"}))
    assert tree.count.tolist() == [0, 0, 0]
    assert tree.value[0].tolist() == [0.5, 0.5]
    assert tree.rules().startswith("IF   age <= 50")


def same(one: Tree, other: Tree) -> bool:
    arrays = ("feature", "left", "right", "missing_left", "set_start", "in_set", "value", "count", "weight")
    alike = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays)
    return alike and np.array_equal(one.threshold, other.threshold, equal_nan=True)


@pytest.mark.parametrize("target", [OUTCOMES, STAY], ids=["classes", "numbers"])
def test_a_tree_that_is_written_down_comes_back(target: Target) -> None:
    for seed in range(60):
        random = Random(seed)
        tree = random_tree(random, random_schema(random, target), random.randint(1, 12))
        assert same(Tree.from_nodes(tree.schema, written(tree)), tree)


def written(tree: Tree) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = []
    for node in range(tree.n_nodes):
        value = tree.value[node].tolist() if tree.schema.target.is_classes else tree.value[node, 0]
        nodes.append({"value": value, "count": tree.count[node], "weight": tree.weight[node]})
        if tree.feature[node] != LEAF:
            feature = tree.schema.features[tree.feature[node]]
            flags = tree.left_categories(node) if feature.is_subset else ()
            sides = {"left": int(tree.left[node]), "right": int(tree.right[node])}
            nodes[-1] |= {"feature": feature.name, "missing_left": tree.missing_left[node], **sides}
            if feature.is_subset:
                nodes[-1]["categories"] = [
                    label for label, is_in in zip(feature.categories, flags, strict=True) if is_in
                ]
            else:
                nodes[-1]["threshold"] = tree.threshold[node]
    return nodes


# -- errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([], "there are no nodes"),
        ([3], "node 0 is 3: a node is a Node or a dictionary"),
        ([{"valeu": 1}], "node 0 has 'valeu': the keys of a node are feature, threshold"),
        ([split(threshold=1, left=1, right=2), NO], "node 0: right is node 2, and the nodes are 0 to 1"),
        ([split(threshold=1, left=1, right="x"), NO], "node 0: right is 'x': a child is the number"),
        ([split(threshold=1, left=1, right=1), NO], "node 1 is the child of two nodes"),
        ([split(threshold=1, left=0, right=1), NO], "the root is a child"),
        ([NO, YES], "node 1 is not reachable"),
        (split(threshold=1, left=None), "root has no child on the left"),
        ({**NO, "threshold": 3}, "root has no feature, so it is a leaf, but it has 'threshold'"),
        (split("bmi", threshold=1), "root: the schema has no 'bmi'; it has 'age', 'pain'"),
        (split(9, threshold=1), "root: feature is 9, and those of the schema are 0 to 3"),
        (split(1.5, threshold=1), "root: feature is 1.5: it is a name or a number"),
        (split(), "root: the threshold on 'age' is None: it is a number"),
        (split(threshold=float("nan")), "root: the threshold on 'age' is nan"),
        (split(threshold=3, categories=["none"]), "root has a threshold and categories"),
        (split(categories=["none"]), "root: 'age' is numeric: give a threshold"),
        (split("pain", threshold=3), "root: 'pain' is nominal: give the categories that go left"),
        (split("pain", categories="none"), "root: categories is 'none': it is a list"),
        (split("pain", categories=["strong"]), "root: 'pain' has no categories 'strong'; it has 'atypical'"),
        (split("slope", categories=["up"]), "root: the categories 'up' of the ordered feature 'slope' are"),
        (split(threshold=3, left={"count": 3}), "root.left has no value: a leaf needs one"),
        (split(threshold=3, left={"value": "maybe"}), "root.left: 'lived' has no classes 'maybe'"),
        (split(threshold=3, left={"value": [1, 2, 3]}), "root.left: value is .*each of the 2 classes"),
        (split(threshold=3, left={"value": [1, -2]}), "root.left: value is .*at least 0"),
        (split(threshold=3, left={"value": [0, 0]}), "root.left: value is .*more than 0"),
        (split(threshold=3, left={"value": "no", "count": -1}), "root.left: count is -1: it is a number"),
        (split(threshold=3, weight=7), "root: its weight is 7, and its children's are 60 together"),
    ],
)
def test_what_is_wrong_is_named_with_its_node(nodes: Any, message: str) -> None:
    with pytest.raises(BrokenTreeError, match=message):
        Tree.from_nodes(SCHEMA, nodes)


def test_a_number_is_needed_where_the_target_is_one() -> None:
    with pytest.raises(BrokenTreeError, match="root: value is 'yes': 'days' is a number"):
        Tree.from_nodes(NUMBERS, {"value": "yes"})


def test_a_node_inside_itself_ends_in_an_error() -> None:
    node = split(threshold=3)
    node["left"] = {"feature": "age", "threshold": 2, "left": node, "right": NO}
    with pytest.raises(BrokenTreeError, match=r"root\.left: left is a node that root\.left itself"):
        Tree.from_nodes(SCHEMA, node)


def test_only_nodes_are_nodes() -> None:
    with pytest.raises(TypeError, match="Nodes are a list"):
        Tree.from_nodes(SCHEMA, 7)
