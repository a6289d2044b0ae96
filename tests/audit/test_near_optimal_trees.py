"""The near-optimal set is what a search of all trees finds, and the tree taken lies where it should."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from all_small_trees import objective, trees

from holdfast import retrain_audit, tree_distance
from holdfast.audit.binary_splits import BinarySplits
from holdfast.audit.near_optimal import (
    NearestTreeClassifier,
    NearOptimalTreeClassifier,
    _medoid,
    _near_optimal_trees,
    best_trees,
)
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.tree.tree import LEAF, Tree

pytest.importorskip("arborenum")

SMALL: dict[str, Any] = {"max_depth": 2, "ccp_alpha": 0.03, "n_thresholds": 2}


def patients(n_rows: int = 120, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    chance = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": chance.integers(20, 90, n_rows).astype(float),
            "lab": chance.normal(5, 2, n_rows).round(1),
            "ward": chance.choice(["A", "B", "C"], n_rows),
        }
    )
    risk = (frame["age"] > 60).astype(int) + (frame["ward"] == "B") + (chance.random(n_rows) < 0.2)
    frame.loc[chance.random(n_rows) < 0.1, "lab"] = np.nan
    return frame, np.where(risk >= 2, "died", "lived")


def splits_of(X: pd.DataFrame, y: np.ndarray) -> BinarySplits:
    return BinarySplits.of(Table.from_arrays(X, y), SMALL["n_thresholds"])


def small(tree: Tree, splits: BinarySplits, node: int = 0) -> Any:
    """The tree as the slow search writes it."""
    if tree.feature[node] == LEAF:
        return int(tree.outcome[node])
    start = tree.set_start[node]
    for column, split in enumerate(splits.splits):
        if split.feature == tree.feature[node] and (
            split.threshold == tree.threshold[node]
            if split.goes_left is None
            else np.array_equal(split.goes_left, tree.in_set[start : start + len(split.goes_left)])
        ):
            return column, small(tree, splits, tree.left[node]), small(tree, splits, tree.right[node])
    raise AssertionError("the tree asks what was not to be asked")


# -- the set ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("tolerance", [0.0, 0.05, 0.2])
def test_the_set_has_all_trees_of_depth_2_within_the_tolerance_and_no_other(
    seed: int, tolerance: float
) -> None:
    splits = splits_of(*patients(seed=seed))
    answers, target, cost = splits.answers, splits.table.target, round(0.03 * 120)
    every = {tree: objective(tree, answers, target, cost) for tree in trees(answers, 2, 2)}
    near = {tree for tree, each in every.items() if each <= (1 + tolerance) * min(every.values())}
    found = [small(tree, splits) for tree in _near_optimal_trees(splits, 2, 0.03, tolerance)]
    assert len(found) == len(near)
    assert set(found) == near
    assert [every[tree] for tree in found] == sorted(every[tree] for tree in found)


def test_of_too_many_trees_the_best_are_taken_and_none_without_its_equals() -> None:
    assert best_trees([(30, 2), (31, 3), (33, 9)], 14) == list(range(14))
    assert best_trees([(30, 2), (31, 3), (33, 9)], 13) == list(range(5))
    assert best_trees([(30, 1000)], 3) == [0, 500, 999]


# -- the tree that is taken -------------------------------------------------------------------------------


def test_the_medoid_is_nearest_to_all_others() -> None:
    X, y = patients(seed=1)
    found = _near_optimal_trees(splits_of(X, y), 2, 0.03, 0.12)
    assert len(found) > 2
    depth = max(tree.depth for tree in found)
    means = [
        np.mean([tree_distance(tree, other, depth=depth, label_weight=2 * depth).total for other in found])
        for tree in found
    ]
    assert means[_medoid(found)] == pytest.approx(min(means))
    model = NearOptimalTreeClassifier(**SMALL, tolerance=0.12).fit(X, y)
    assert tree_distance(model.tree_, found[_medoid(found)]).total == 0.0


def test_leaves_hold_the_fractions_of_their_rows() -> None:
    X, y = patients()
    model = NearOptimalTreeClassifier(**SMALL).fit(X, y)
    leaves, died = model.apply(X), y == "died"
    for leaf in np.unique(leaves):
        assert model.tree_.value[leaf, 0] == pytest.approx(died[leaves == leaf].mean())
    assert model.tree_.count[0] == len(y)


def test_without_tolerance_it_is_as_good_as_the_optimal_tree() -> None:
    optimal = pytest.importorskip("holdfast.audit.optimal")
    pytest.importorskip("pystreed")
    X, y = patients(seed=1)
    one, other = (
        model.fit(X, y)
        for model in (NearOptimalTreeClassifier(tolerance=0.0), optimal.OptimalTreeClassifier())
    )
    cost = round(0.01 * len(y))
    first, second = (int((each.predict(X) != y).sum()) + cost * each.get_n_leaves() for each in (one, other))
    assert first == second


def test_trained_again_on_the_same_rows_the_tree_stays() -> None:
    X, y = patients()
    before = NearestTreeClassifier(**SMALL, tolerance=0.2).fit(X, y)
    after = NearestTreeClassifier(**SMALL, tolerance=0.2).fit_again(before, X, y)
    assert str(after.tree_) == str(before.tree_)


def test_trained_again_it_is_the_nearest_of_the_new_set_whatever_columns_there_are() -> None:
    X, y = patients()
    before = NearestTreeClassifier(**SMALL).fit(X, y)
    new, classes = X.iloc[:90].assign(noise=np.arange(90.0)), y[:90]
    after = NearestTreeClassifier(**SMALL, tolerance=0.2).fit_again(before, new, classes)
    found = _near_optimal_trees(splits_of(new, classes), 2, 0.03, 0.2)
    assert len(found) > 1
    wide = Table.from_arrays(X.assign(noise=np.arange(120.0) % 90), y).schema
    depth = max(before.get_depth(), *(tree.depth for tree in found))
    distances = [
        tree_distance(
            before.tree_.with_schema(wide), tree.with_schema(wide), depth=depth, label_weight=2 * depth
        ).total
        for tree in (*found, after.tree_)
    ]
    assert distances[-1] == pytest.approx(min(distances))


def test_the_order_of_rows_and_columns_changes_nothing() -> None:
    X, y = patients()
    order = np.random.default_rng(5).permutation(len(y))
    one = NearOptimalTreeClassifier().fit(X, y)
    other = NearOptimalTreeClassifier().fit(X.iloc[order, ::-1], y[order])
    assert str(one.tree_) == str(other.tree_)


@pytest.mark.filterwarnings("ignore:no question can be asked", "ignore:the target has one class")
def test_where_nothing_can_be_asked_the_root_stands_alone() -> None:
    model = NearOptimalTreeClassifier().fit([[1.0], [1.0], [1.0]], ["a", "a", "b"])
    assert model.predict_proba([[1.0]]) == pytest.approx(np.array([[2 / 3, 1 / 3]]))
    assert NearOptimalTreeClassifier().fit([[1.0], [2.0]], ["a", "a"]).get_n_leaves() == 1


def test_a_tolerance_below_0_is_refused() -> None:
    with pytest.raises(ParameterError, match="tolerance=-1 is out of range"):
        NearOptimalTreeClassifier(tolerance=-1).fit([[1.0], [2.0]], ["a", "b"])


# -- audits -----------------------------------------------------------------------------------------------


def test_an_audit_prints_nothing_of_the_solver_and_the_nearest_tree_moves_less(
    capfd: pytest.CaptureFixture[str],
) -> None:
    X, y = patients()
    names = ["near-optimal", "near-optimal-nearest"]
    audit = retrain_audit(names, X, y, changes=["overlap", "another seed"], n_repeats=2, n_jobs=2)
    assert capfd.readouterr().out == ""
    assert audit.mean(names[1], "distance") < audit.mean(names[0], "distance")
    assert audit.mean(names[1], "identical", "another seed") == 1.0
    alone = retrain_audit(names, X, y, changes=["overlap", "another seed"], n_repeats=2)
    assert alone.mean(names[0], "distance") == audit.mean(names[0], "distance")


def test_a_target_of_numbers_is_refused() -> None:
    X, _ = patients()
    with pytest.raises(ParameterError, match="'near-optimal' is for classes, and the target '"):
        retrain_audit(["near-optimal"], X[["age"]], X["age"], n_repeats=1)
