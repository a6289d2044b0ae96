"""Rows of each class at every node: counted, whatever the leaves say and whatever rows weigh."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from holdfast import GrowthRules, StableTreeClassifier, Table, grow, load, save
from holdfast.data.schema import Schema, Target
from holdfast.errors import BrokenTreeError
from holdfast.growth.leaf_values import refit_leaf_values
from holdfast.tree.check import check_tree
from holdfast.tree.prune import prune_at
from holdfast.tree.stats import class_counts
from holdfast.tree.tree import Tree
from reference.trees import NUMERIC, PRICE

GENERATOR = np.random.default_rng(3)
ROWS = GENERATOR.normal(size=(300, 3))
LABELS = np.where(ROWS[:, 0] + GENERATOR.normal(size=300) > 0.8, "died", "lived")
SEEN = np.array([[72.0, 28.0], [32.0, 28.0], [30.0, 10.0], [2.0, 18.0], [40.0, 0.0]])


def by_hand(tree: Tree, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The rows that pass each node, class by class."""
    passed = tree.decision_path(rows).toarray()
    return np.array([[(labels[at > 0] == c).sum() for c in tree.schema.target.classes] for at in passed.T])


@pytest.fixture(scope="module")
def model() -> StableTreeClassifier:
    return StableTreeClassifier(teacher="linear", n_estimators=5, max_leaf_nodes=4).fit(ROWS, LABELS)


def test_values_tell_them_where_they_are_fractions_of_rows() -> None:
    tree = grow(Table.from_arrays(ROWS, LABELS), GrowthRules(max_depth=3))
    assert tree.observed is None
    assert class_counts(tree) == pytest.approx(by_hand(tree, ROWS, LABELS))


def test_a_consensus_tree_says_what_its_teacher_says_and_counts_what_was_seen(model) -> None:
    tree = model.tree_
    assert tree.observed is not None
    assert (class_counts(tree) == by_hand(tree, ROWS, LABELS)).all()
    assert np.abs(class_counts(tree) / tree.count[:, None] - tree.value).max() > 1e-3
    assert class_counts(tree).sum(axis=1) == pytest.approx(tree.count)


def test_after_an_update_they_are_of_the_rows_before_and_of_the_new_ones(model) -> None:
    rows = ROWS[:150] + 0.01
    new = StableTreeClassifier(**model.get_params()).from_tree(model.tree_)
    new.update(rows, LABELS[:150], strategy="refit")
    assert (
        class_counts(new.tree_) == class_counts(model.tree_) + by_hand(new.tree_, rows, LABELS[:150])
    ).all()


def test_weights_and_class_weights_do_not_count() -> None:
    weight = 0.5 + GENERATOR.random(300)
    weight[:30] = 0.0  # no rows at all
    counted = weight > 0
    for rules in (GrowthRules(max_depth=3), GrowthRules(max_depth=3, class_weight="balanced")):
        tree = grow(Table.from_arrays(ROWS, LABELS, weight), rules)
        assert (class_counts(tree) == by_hand(tree, ROWS[counted], LABELS[counted])).all()
        again = refit_leaf_values(tree, Table.from_arrays(ROWS, LABELS, weight), rules)
        assert (class_counts(again) == class_counts(tree)).all()


def test_weights_that_are_numbers_of_rows_are_rows() -> None:
    repeats = GENERATOR.integers(0, 4, 300)
    tree = grow(Table.from_arrays(ROWS, LABELS, repeats), GrowthRules(max_depth=3))
    whole = by_hand(tree, np.repeat(ROWS, repeats, axis=0), np.repeat(LABELS, repeats))
    assert class_counts(tree) == pytest.approx(whole)


def test_a_value_that_a_person_gives_does_not_change_what_was_seen() -> None:
    edited = NUMERIC.with_leaf_value(4, {"no": 0.5, "yes": 0.5})
    assert class_counts(edited) == pytest.approx(SEEN)
    assert edited.value[4] == pytest.approx([0.5, 0.5])


def test_they_move_with_their_nodes_and_classes() -> None:
    tree = NUMERIC.replace(observed=SEEN)
    assert class_counts(prune_at(tree, np.arange(5) == 1)).tolist() == SEEN[[0, 1, 4]].tolist()
    wider = Schema(tree.schema.features, Target("survived", ("no", "unknown", "yes")))
    assert class_counts(tree.with_schema(wider))[:, [0, 2]].tolist() == SEEN.tolist()


@pytest.mark.parametrize(
    ("observed", "message"),
    [
        (SEEN[:, :1].copy(), "must be float64 \\(5, 2\\)"),
        (SEEN.astype(np.float32), "float32"),
        (np.where(SEEN == 2.0, np.nan, SEEN), "rows are finite"),
        (np.where(SEEN == 2.0, -2.0, SEEN), "at least 0"),
        (SEEN + np.array([[0.0], [0.0], [1.0], [0.0], [0.0]]), "those of its children"),
        (SEEN * 2, "add up to its count"),
    ],
)
def test_counts_that_cannot_be_are_refused(observed: np.ndarray, message: str) -> None:
    check_tree(NUMERIC.replace(observed=SEEN))
    with pytest.raises(BrokenTreeError, match=message):
        check_tree(NUMERIC.replace(observed=observed))


def test_a_number_has_no_classes_to_count() -> None:
    with pytest.raises(BrokenTreeError, match="the target is a number"):
        check_tree(PRICE.replace(observed=np.zeros((PRICE.n_nodes, 1))))


def test_of_three_classes_copies_of_a_row_count_as_often_as_they_are_there(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)  # two flowers are alike
    tree = StableTreeClassifier(teacher="linear", n_estimators=3, max_depth=2, n_jobs=1).fit(X, y).tree_
    assert tree.count[0] == 150
    assert class_counts(tree)[0].tolist() == [50, 50, 50]
    save(tree, tmp_path / "tree.json")
    assert class_counts(load(tmp_path / "tree.json"))[0].tolist() == [50, 50, 50]
