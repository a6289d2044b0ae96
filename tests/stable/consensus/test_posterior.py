"""Leaf values of the rows and the teacher together, against sums by hand; intervals about them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from holdfast import StableTreeClassifier, StableTreeRegressor, Table, grow, load, save
from holdfast._arrays import FloatArray
from holdfast.growth.rules import GrowthRules
from holdfast.scoring.intervals import wilson_interval
from holdfast.stable.consensus.distil import set_posterior_values
from holdfast.tree.leaf_evidence import node_interval
from holdfast.tree.monotone import make_threshold_losses, set_losses
from holdfast.tree.tree import LEAF, Tree

RNG = np.random.default_rng(5)
SMALL: dict[str, Any] = {"teacher": "linear", "max_leaf_nodes": 5, "n_estimators": 8, "validation": None}


def stump(target: Any, teacher: list[list[float]]) -> tuple[Tree, Table]:
    """A tree of two leaves, 60 rows on the left and 10 on the right, with predictions of a teacher."""
    task = "classification" if isinstance(target[0], str) else "regression"
    table = Table.from_arrays([[0.0]] * 60 + [[1.0]] * 10, target, task=task)
    criterion = "gini" if task == "classification" else "squared_error"
    tree = grow(table, GrowthRules(max_depth=1, criterion=criterion))
    return tree.replace(value=np.array([teacher[0], *teacher]), given_outcome=None, observed=None), table


def leaves_of(tree: Tree, table: Table, repeats: Any = None, weight: Any = None) -> FloatArray:
    repeats = np.ones(70, np.int32) if repeats is None else repeats
    weight = repeats.astype(float) if weight is None else weight
    return set_posterior_values(tree, table, repeats, weight).value[1:]


def labels(*counts: tuple[str, int]) -> list[str]:
    return [name for name, count in counts for _ in range(count)]


# -- values -----------------------------------------------------------------------------------------------


def test_the_teacher_counts_as_forty_rows():
    tree, table = stump(labels(("no", 45), ("yes", 15), ("no", 7), ("yes", 3)), [[0.5, 0.5], [0.8, 0.2]])
    assert leaves_of(tree, table)[:, 1] == pytest.approx([(15 + 20) / 100, (3 + 8) / 50])
    numbers, rows = stump([1.0] * 60 + [6.0] * 10, [[2.0], [4.0]])
    assert leaves_of(numbers, rows)[:, 0] == pytest.approx([(60 + 80) / 100, (60 + 160) / 50])


def test_repeated_rows_are_rows_and_unequal_weights_count_by_kish():
    y = labels(("no", 45), ("yes", 15), ("no", 7), ("yes", 3))
    tree, table = stump(y, [[0.5, 0.5], [0.8, 0.2]])
    twice = leaves_of(tree, table, np.full(70, 2, np.int32))
    assert twice[:, 1] == pytest.approx([(30 + 20) / 160, (6 + 8) / 60])
    weight = np.where(np.array(y) == "yes", 3.0, 1.0)
    weighted = leaves_of(tree, table, weight=1e200 * weight)
    rate, n_rows = 45 / 90, 90**2 / (45 + 15 * 9)
    assert weighted[0, 1] == pytest.approx((n_rows * rate + 20) / (n_rows + 40))


def test_the_class_is_the_teachers_unless_the_rows_are_clear():
    y = labels(("no", 25), ("yes", 35), ("no", 1), ("yes", 9))
    probabilities = leaves_of(*stump(y, [[0.54, 0.46], [0.7, 0.3]]))[:, 1]
    # Left, 35 of 60 leave the class open, and (35 + 18.4) / 100 would change it; right, 9 of 10 are clear.
    assert wilson_interval(35, 60)[0] < 0.5 < wilson_interval(9, 10)[0]
    assert probabilities == pytest.approx([0.495, 0.505])
    tree, table = stump(labels(("no", 66), ("yes", 4)), [[0.9, 0.1], [0.84, 0.16]])
    with_threshold = set_losses(tree, make_threshold_losses(0.2, positive=1))
    # (4 + 6.4) / 50 = .208 would reach the threshold, and 4 of 10 leave it open.
    assert leaves_of(with_threshold, table)[1, 1] == pytest.approx(0.195, abs=1e-6)


def test_of_three_classes_a_clear_majority_of_the_rows_leads():
    y = labels(("a", 60), ("b", 1), ("c", 9))
    tree, table = stump(y, [[0.8, 0.1, 0.1], [0.6, 0.1, 0.3]])
    right = leaves_of(tree, table)[1]
    assert right[2] == pytest.approx(0.505)  # (9 + 12) / 50 = .42, below (0 + 24) / 50 = .48
    assert right[0] / right[1] == pytest.approx(24 / 5)
    assert right.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["two", "three", "numbers"])
def test_trees_have_the_shape_of_those_of_the_teacher_and_the_mean_of_both(kind: str):
    X = RNG.normal(size=(300, 3))
    number = X[:, 0] + RNG.normal(size=300)
    y = (
        number
        if kind == "numbers"
        else np.digitize(number, [0.0] if kind == "two" else [-0.7, 0.7]).astype(str)
    )
    made = StableTreeRegressor if kind == "numbers" else StableTreeClassifier
    by_teacher = made(**SMALL, leaf_values="teacher").fit(X, y).tree_
    tree = made(**SMALL).fit(X, y).tree_
    assert np.array_equal(tree.feature, by_teacher.feature)
    assert np.array_equal(tree.count, by_teacher.count)
    expected = (tree.count[:, None] * tree.observed_mean + 40 * by_teacher.value) / (tree.count[:, None] + 40)
    same = (
        np.ones(tree.n_nodes, bool) if kind == "numbers" else expected.argmax(1) == by_teacher.value.argmax(1)
    )
    assert same.sum() > 2
    assert tree.value[same] == pytest.approx(expected[same], abs=1e-6)


def test_other_methods_have_no_teacher():
    X = RNG.normal(size=(200, 2))
    y = np.where(X[:, 0] + RNG.normal(size=200) > 0, "yes", "no")
    tree = StableTreeClassifier(method="bootstrap", n_estimators=6, max_depth=3).fit(X, y).tree_
    assert not tree.is_posterior
    assert tree.value == pytest.approx(tree.observed_mean)


# -- intervals --------------------------------------------------------------------------------------------


def fitted(kind: str) -> tuple[Any, FloatArray, FloatArray]:
    """A model of random rows, its predictions, and the rows."""
    X = RNG.normal(size=(260, 3)).round(1)
    X[RNG.random(X.shape) < 0.05] = np.nan
    number = np.nan_to_num(X[:, 0]) + RNG.normal(size=260)
    weight = RNG.random(260) * 3 if kind == "weighted" else None
    if kind == "numbers":
        model = StableTreeRegressor(**SMALL).fit(X, 1e6 * number, weight)
        return model, model.predict(X), X
    y = np.digitize(number, [-1.0, 1.0] if kind == "three" else [0.9]).astype(str)
    rules = {"monotonic_cst": [1, 0, 0]} if kind == "monotone" else {}
    model = StableTreeClassifier(**SMALL, **rules).fit(X, y, weight)
    return model, model.predict_proba(X), X


@pytest.mark.parametrize("kind", ["two", "three", "weighted", "monotone", "numbers"])
def test_every_value_lies_in_its_interval_and_files_keep_both(kind: str, tmp_path: Path):
    model, figure, X = fitted(kind)
    assert model.tree_.is_posterior
    methods = ("t",) if kind == "numbers" else ("wilson", "jeffreys")
    for method in methods:
        low, high = model.predict_interval(X, method=method)
        assert ((low <= figure) & (figure <= high)).all()
        assert (low < high).all()
    save(model, tmp_path / "model.json")
    save(model.tree_, tmp_path / "tree.json")
    again = load(tmp_path / "model.json")
    assert np.array_equal(again.predict_interval(X, method=method), (low, high))
    assert load(tmp_path / "tree.json").is_posterior


def test_the_interval_is_about_the_value_of_four_fifths_of_the_rows():
    model, figure, X = fitted("two")
    leaf = int(model.apply(X[:1])[0])
    n_rows = 0.8 * model.tree_.count[leaf]
    low, high = model.predict_interval(X[:1])
    assert (low[0, 1], high[0, 1]) == pytest.approx(wilson_interval(figure[0, 1] * n_rows, n_rows))
    model, figure, X = fitted("numbers")
    leaf = int(model.apply(X[:1])[0])
    n_rows, error = 0.8 * model.tree_.count[leaf], model.tree_.deviation[leaf]
    expected = stats.t.interval(0.95, n_rows - 1, figure[0], error / np.sqrt(n_rows - 1))
    assert np.ravel(model.predict_interval(X[:1])) == pytest.approx(expected)


def test_a_value_set_by_hand_has_the_interval_of_the_rows():
    model, _, X = fitted("two")
    leaf = int(model.apply(X[:1])[0])
    edited = model.tree_.with_leaf_value(leaf, {"0": 0.01, "1": 0.99})
    rate, n_rows = edited.observed_mean[leaf, 1], edited.count[leaf]
    assert node_interval(edited, leaf, 1) == pytest.approx(wilson_interval(rate * n_rows, n_rows))


# -- updates ----------------------------------------------------------------------------------------------


def test_an_update_keeps_leaves_without_new_rows_to_the_bit():
    X = RNG.normal(size=(400, 2))
    y = np.where(X[:, 0] + X[:, 1] + RNG.normal(size=400) > 0.3, "yes", "no")
    model = StableTreeClassifier(**SMALL).fit(X, y)
    before = model.tree_
    assert before.feature[0] != LEAF
    root = int(before.feature[0])
    new = X[:, root] <= before.threshold[0]
    model.update(X[new][:80], y[new][:80], strategy="refit", validation=None)
    after, kept = model.tree_, X[~new]
    assert after.is_posterior
    assert np.array_equal(after.value[after.apply(kept)], before.value[before.apply(kept)])
    low, high = model.predict_interval(X)
    assert ((low <= model.predict_proba(X)) & (model.predict_proba(X) <= high)).all()
    moved = after.value[after.apply(X[new])] != before.value[before.apply(X[new])]
    assert moved.any()
