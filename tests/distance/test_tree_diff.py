"""The diff of two models: which can be compared, and on which schema."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from holdfast import Feature, SchemaMismatch, Target, TreeClassifier, tree_diff
from holdfast.tree.tree import Tree
from reference.trees import PAIN, SURVIVED, leaf, split, tree_of

AGE = Feature("age", low=0.0, high=100.0)


def at(threshold: float, feature: Feature = AGE, target: Target = SURVIVED) -> Tree:
    leaves = leaf(10, 1.0, 0.0), leaf(10, 0.0, 1.0)
    if not target.is_classes:
        leaves = leaf(10, 1.0, impurity=1.0), leaf(10, 2.0, impurity=1.0)
    return tree_of(split(feature.name, threshold, *leaves), (feature,), target)


def test_ranges_that_differ_are_joined() -> None:
    older = replace(AGE, low=20.0, high=80.0)
    diff = tree_diff(at(50.0, older), at(60.0))
    assert diff.old.schema == diff.new.schema
    assert diff.old.schema.features[0] == AGE
    assert diff.moved_thresholds[0].share == pytest.approx(0.10)


def test_a_column_or_a_class_that_only_one_tree_knows() -> None:
    moved = Target("survived", classes=("moved", "no", "yes"))
    leaves = leaf(10, 0.0, 1.0, 0.0), leaf(10, 0.0, 0.0, 1.0)
    new = tree_of(split("pain", ("none",), *leaves), (PAIN, AGE), moved)
    diff = tree_diff(at(50.0), new)
    assert diff.new.schema.names == ("age", "pain")
    assert diff.new.schema.target.classes == ("moved", "no", "yes")
    assert not diff.same_root


def test_a_column_of_two_kinds_matters_only_if_both_ask_about_it() -> None:
    nominal = Feature("age", "nominal", categories=("old", "young"))
    leaves = leaf(10, 1.0, 0.0), leaf(10, 0.0, 1.0)
    by_pain = tree_of(split("pain", ("none",), *leaves), (PAIN, nominal), SURVIVED)
    assert not tree_diff(at(50.0), by_pain).same_root
    by_age = tree_of(split("age", ("old",), *leaves), (nominal,), SURVIVED)
    with pytest.raises(SchemaMismatch, match="column 'age' is numeric in one and nominal in the other"):
        tree_diff(at(50.0), by_age)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (Target("stay", low=0.0, high=9.0), "'survived' is a class in the old one, and 'stay' is a number"),
        (Target("readmitted", ("no", "yes")), "it is 'survived' in the old one and 'readmitted' in the new"),
        (Target("survived", (0, 1)), "the classes of 'survived' are 'no', 'yes' in the old one and 0, 1 in"),
    ],
)
def test_trees_of_other_targets_are_refused_in_one_line(target: Target, message: str) -> None:
    with pytest.raises(SchemaMismatch, match="which predict different targets") as refused:
        tree_diff(at(50.0), at(50.0, target=target))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_models_of_several_libraries() -> None:
    X, y = load_iris(return_X_y=True)
    theirs = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X, y)
    ours = TreeClassifier(max_leaf_nodes=3).fit(X, y)
    diff = tree_diff(theirs, ours)
    assert np.isclose(sum(change.cost for change in diff.changes), diff.distance.total)
    assert tree_diff(ours, ours).is_empty
