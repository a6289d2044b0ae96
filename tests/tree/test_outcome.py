"""What a node predicts where classes are tied."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from holdfast import (
    BaggingClassifier,
    StableTreeClassifier,
    Table,
    TreeClassifier,
    as_tree,
    grow,
    load,
    save,
    tree_distance,
)
from holdfast.data.schema import Schema, Target
from holdfast.errors import BrokenTreeError, ModelFileError
from holdfast.exports import to_sklearn
from holdfast.growth import merge_leaves
from holdfast.io.model_file import model_from_json, model_to_json
from holdfast.tree.check import check_tree
from reference.rules import boxes
from reference.trees import AGE, FARE, SURVIVED, leaf, split, tree_of

LETTERS = Target("letter", classes=("a", "b", "c"))
# The left leaf is tied, and so is its parent; at the root "yes" has the majority.
TIED = tree_of(
    split(
        "age",
        50.0,
        split("fare", 10.0, leaf(4, 0.5, 0.5), leaf(4, 0.5, 0.5)),
        leaf(2, 0.0, 1.0),
    ),
    (AGE, FARE),
    SURVIVED,
)


def test_a_tied_leaf_predicts_what_its_nearest_untied_ancestor_does() -> None:
    assert TIED.outcome.tolist() == [1, 1, 1, 1, 1]
    assert TIED.predict(np.array([[20.0, 5.0]])).tolist() == [SURVIVED.classes[1]]
    assert TIED.predict_proba(np.array([[20.0, 5.0]])).tolist() == [[0.5, 0.5]]


def test_of_three_classes_the_tied_ones_are_compared_above() -> None:
    # b and c are tied in the leaf; the parent's majority is a, and of b and c it has more of c.
    inner = split("fare", 10.0, leaf(4, 0.0, 0.5, 0.5), leaf(6, 0.5, 0.0, 0.5))
    tree = tree_of(split("age", 50.0, inner, leaf(9, 1.0, 0.0, 0.0)), (AGE, FARE), LETTERS)
    assert tree.outcome.tolist() == [0, 2, 2, 2, 0]


def test_without_any_majority_it_is_the_first_class_of_the_schema() -> None:
    tree = tree_of(split("age", 50.0, leaf(2, 0.5, 0.5), leaf(2, 0.5, 0.5)), (AGE,), SURVIVED)
    assert tree.outcome.tolist() == [0, 0, 0]


def test_on_another_schema_the_tree_predicts_what_it_did() -> None:
    tree = tree_of(split("age", 50.0, leaf(2, 0.5, 0.5), leaf(2, 0.5, 0.5)), (AGE,), SURVIVED)
    turned = Schema((AGE,), Target("survived", classes=SURVIVED.classes[::-1]))
    moved = tree.with_schema(turned)
    check_tree(moved)
    assert moved.outcome.tolist() == [1, 1, 1]
    assert moved.value.tolist() == tree.value.tolist()  # no bit more for any class
    assert tree_distance(moved, tree.with_schema(turned)).total == 0.0
    assert moved.with_schema(tree.schema).given_outcome is None
    again = model_from_json(model_to_json(moved))
    assert again.outcome.tolist() == [1, 1, 1]


def test_leaves_that_predict_the_same_merge_also_if_one_is_tied() -> None:
    assert merge_leaves(TIED).n_leaves == 1


def test_the_file_says_what_every_node_predicts(tmp_path: Any) -> None:
    save(TIED, tmp_path / "tree.json")
    text = (tmp_path / "tree.json").read_text()
    assert '"outcome": [1, 1, 1, 1, 1]' in text
    assert load(tmp_path / "tree.json").given_outcome is None
    other = text.replace('"outcome": [1, 1, 1, 1, 1]', '"outcome": [1, 1, 0, 1, 1]')
    assert model_from_json(other.encode(), edited=True).outcome.tolist() == [1, 1, 0, 1, 1]
    for broken, problem in (
        ("[1, 1, 1, 1, 0]", r"outcome\[4\] is 0: another class"),
        ("[1, 1, 2, 1, 1]", "outcome.*2 classes"),
    ):
        edited = text.replace('"outcome": [1, 1, 1, 1, 1]', f'"outcome": {broken}').encode()
        with pytest.raises(ModelFileError, match=problem):
            model_from_json(edited, edited=True)


def test_a_class_that_is_not_the_most_frequent_is_no_outcome() -> None:
    with pytest.raises(BrokenTreeError, match=r"outcome\[0\] is 0: another class is more frequent"):
        check_tree(TIED.replace(given_outcome=np.array([0, 0, 0, 0, 1], np.int32)))


# -- other libraries --------------------------------------------------------------------------------------


def tied_rows() -> tuple[np.ndarray, np.ndarray]:
    """Rows of which many have the same columns and different labels."""
    random = np.random.default_rng(0)
    X = random.integers(0, 4, (60, 2)).astype(float)
    return X, random.integers(0, 2, 60)


def test_a_tree_of_scikit_learn_keeps_the_first_class_of_a_tie() -> None:
    X, y = tied_rows()
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    tree = as_tree(model)
    assert tree.given_outcome is not None  # it does have a tie that goes another way here
    assert np.array_equal(tree.predict(X), model.predict(X))
    assert np.array_equal(to_sklearn(tree).predict_proba(X), model.predict_proba(X))


def test_the_exported_tree_predicts_our_class_of_a_tie() -> None:
    X, y = tied_rows()
    tree = grow(Table.from_arrays(X, y))
    assert (tree.outcome != tree.value.argmax(axis=1)).any()
    assert np.array_equal(to_sklearn(tree).predict(X), tree.predict(X))


# -- names of the classes ---------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::holdfast.DataWarning")
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), min_size=4, max_size=30))
def test_other_names_of_the_classes_change_nothing_where_there_is_a_majority_above(
    rows: list[tuple[int, int, int]],
) -> None:
    X = np.array([row[:2] for row in rows], float)
    y = np.array([row[2] for row in rows])
    tree = grow(Table.from_arrays(X, y.astype(str)))
    assert [box.outcome for box in boxes(tree)] == [
        tree.schema.target.classes[place] for place in tree.outcome[tree.feature < 0]
    ]
    names = np.array(["z", "m", "c"])  # in the reverse order
    turned = grow(Table.from_arrays(X, names[y]))
    assert np.array_equal(turned.feature, tree.feature)
    counts = np.bincount(y)
    if (counts == counts.max()).sum() == 1 and len(set(counts)) == len(counts):
        assert turned.predict(X).tolist() == names[tree.predict(X).astype(int)].tolist()


@pytest.mark.parametrize(
    "model",
    [
        TreeClassifier(max_depth=3),
        TreeClassifier(ccp_alpha="cv", scoring="accuracy", random_state=0),
        BaggingClassifier(n_estimators=7, voting="hard", random_state=0),
        StableTreeClassifier(method="bootstrap", n_estimators=10, scoring="accuracy", random_state=0),
    ],
    ids=["tree", "sized", "votes", "stable"],
)
def test_estimators_predict_the_same_by_numbers_and_by_names(model: Any) -> None:
    X, y = tied_rows()
    names = np.array(["no", "yes"])
    by_number, by_name = model.fit(X, y).predict(X), model.fit(X, names[y]).predict(X)
    assert by_name.tolist() == names[by_number].tolist()


def test_an_estimator_predicts_the_outcome_of_the_leaf() -> None:
    X, y = tied_rows()
    model = TreeClassifier().fit(X, y)
    assert model.predict(X).tolist() == model.tree_.predict(X).tolist()
    assert (model.predict(X) != model.predict_proba(X).argmax(axis=1)).any()


def test_the_frontier_is_the_same_if_the_classes_change_their_order() -> None:
    X, y = tied_rows()
    X = np.column_stack([X, np.arange(60.0)])  # all rows differ, so that their order does not need the label
    y[:3] = 1
    assert y.mean() != 0.5
    names = np.array(["yes", "no"])  # 0 is the last of them
    fitted = [
        StableTreeClassifier(method="bootstrap", n_estimators=10, scoring="accuracy", random_state=0).fit(
            X, labels
        )
        for labels in (y, names[y])
    ]
    one, other = (model.frontier_ for model in fitted)
    assert one.instability == pytest.approx(other.instability)
    assert one.score == pytest.approx(other.score)
