"""The optimal tree is the best of all that there are."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from all_small_trees import n_leaves, objective, trees

from holdfast import retrain_audit
from holdfast.audit.binary_splits import BinarySplits
from holdfast.audit.optimal import OptimalTreeClassifier, OptimalTreeRegressor
from holdfast.data.table import Table
from holdfast.errors import ParameterError

pytest.importorskip("pystreed")


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


def same_trees(one: Any, other: Any) -> bool:
    return str(one.tree_) == str(other.tree_)


@pytest.mark.parametrize("seed", range(2))
def test_no_tree_of_depth_2_is_better(seed: int) -> None:
    X, y = patients(seed=seed)
    model = OptimalTreeClassifier(max_depth=2, n_thresholds=2, ccp_alpha=0.03).fit(X, y)
    splits = BinarySplits.of(Table.from_arrays(X, y), 2)
    cost = round(0.03 * len(y))
    best = min(
        objective(tree, splits.answers, splits.table.target, cost) for tree in trees(splits.answers, 2, 2)
    )
    assert int((model.predict(X) != y).sum()) + cost * model.get_n_leaves() == best


def test_two_questions_that_only_help_together_are_found() -> None:
    chance = np.random.default_rng(0)
    X = pd.DataFrame(chance.integers(0, 2, (200, 4)), columns=list("abcd"))
    y = np.where(X["b"] == X["d"], "same", "other")
    model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.get_n_leaves() == 4


def test_the_order_of_rows_and_columns_changes_nothing() -> None:
    X, y = patients()
    order = np.random.default_rng(5).permutation(len(y))
    one = OptimalTreeClassifier().fit(X, y)
    other = OptimalTreeClassifier().fit(X.iloc[order, ::-1], y[order])
    assert same_trees(one, other)
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_leaves_hold_the_fractions_of_their_rows() -> None:
    X, y = patients()
    model = OptimalTreeClassifier().fit(X, y)
    leaves, died = model.apply(X), y == "died"
    for leaf in np.unique(leaves):
        assert model.tree_.value[leaf, 0] == pytest.approx(died[leaves == leaf].mean())
        assert model.tree_.count[leaf] == (leaves == leaf).sum()
    assert model.classes_.tolist() == ["died", "lived"]


def test_questions_of_the_user_can_be_asked() -> None:
    X = pd.DataFrame({"a": np.arange(60.0), "b": np.arange(60.0)[::-1] % 7})
    y = np.where(X["a"] % 20 < X["b"], "yes", "no")
    X["rest"] = X["a"] % 20
    model = OptimalTreeClassifier(custom_features=["rest < b"]).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.get_n_leaves() == 2
    assert "rest < b" in model.rules()


def test_several_classes_of_numbers() -> None:
    X = np.arange(90.0)[:, None]
    y = np.repeat([10, 20, 30], 30)
    model = OptimalTreeClassifier(n_thresholds=20).fit(X, y)
    assert model.predict([[5.0], [45.0], [80.0]]).tolist() == [10, 20, 30]
    assert model.get_n_leaves() == 3


@pytest.mark.filterwarnings("ignore:no question can be asked", "ignore:the target has one class")
def test_where_nothing_can_be_asked_the_root_stands_alone() -> None:
    model = OptimalTreeClassifier().fit([[1.0], [1.0], [1.0]], ["a", "a", "b"])
    assert model.predict_proba([[1.0]]) == pytest.approx(np.array([[2 / 3, 1 / 3]]))
    assert OptimalTreeClassifier().fit([[1.0], [2.0]], ["a", "a"]).get_n_leaves() == 1
    assert OptimalTreeRegressor().fit([[1.0], [1.0]], [1.0, 2.0]).predict([[7.0]]).tolist() == [1.5]
    assert OptimalTreeRegressor().fit([[1.0], [2.0]], [3.0, 3.0]).predict([[7.0]]).tolist() == [3.0]


# -- numbers ----------------------------------------------------------------------------------------------


def test_no_stump_has_a_smaller_squared_error() -> None:
    chance = np.random.default_rng(2)
    X = chance.normal(size=(80, 3))
    y = 1000 * (X[:, 1] > 0.3) + chance.normal(size=80) * 300
    model = OptimalTreeRegressor(max_depth=1).fit(X, y)
    answers = BinarySplits.of(Table.from_arrays(X, y), 7)
    target = answers.table.target
    errors = [
        sum(target[side].var() * side.sum() for side in (column, ~column)) for column in answers.answers.T
    ]
    assert ((model.predict(X) - y) ** 2).sum() == pytest.approx(min(errors))


@pytest.mark.parametrize("ccp_alpha", [0.005, 0.02, 0.05, 0.2])
def test_no_tree_of_numbers_of_depth_2_is_better(ccp_alpha: float) -> None:
    chance = np.random.default_rng(3)
    X = chance.normal(size=(60, 2))
    y = X[:, 0] * (X[:, 1] > 0) + chance.normal(size=60) * 0.5
    model = OptimalTreeRegressor(max_depth=2, n_thresholds=3, ccp_alpha=ccp_alpha).fit(X, y)
    splits = BinarySplits.of(Table.from_arrays(X, y), 3)
    target = splits.table.target
    best = min(
        _squared_error(tree, splits.answers, target) / (target.var() * 60) + ccp_alpha * n_leaves(tree)
        for tree in trees(splits.answers, 1, 2)
    )
    found = 1 - model.score(X, y) + ccp_alpha * model.get_n_leaves()
    assert found == pytest.approx(best, abs=1e-3)  # pystreed counts in steps


def _squared_error(tree: Any, answers: np.ndarray, target: np.ndarray) -> float:
    """With the mean of its rows in every leaf."""
    if isinstance(tree, int):
        return float(((target - target.mean()) ** 2).sum())
    column, yes, no = tree
    is_one = answers[:, column]
    return sum(
        _squared_error(branch, answers[side], target[side]) for branch, side in ((yes, is_one), (no, ~is_one))
    )


def test_a_leaf_of_numbers_costs_a_fraction_of_the_variance() -> None:
    X = np.column_stack([np.repeat([0.0, 1.0], 20), np.tile([0.0, 0.0, 1.0, 1.0], 10)])
    y = 1000.0 * X[:, 0] + np.tile([-1500.0, 1500.0], 20)  # the split explains a tenth of the variance
    assert y.var() == pytest.approx(10 * 500**2)
    assert OptimalTreeRegressor(ccp_alpha=0.09).fit(X, y).get_n_leaves() == 2
    assert OptimalTreeRegressor(ccp_alpha=0.11).fit(X, y).get_n_leaves() == 1


# -- audits -----------------------------------------------------------------------------------------------


def test_an_audit_of_classes_and_of_numbers() -> None:
    X, y = patients()
    audit = retrain_audit(["optimal"], X, y, changes=["another seed", "columns permuted"], n_repeats=2)
    assert audit.mean("optimal", "distance", "columns permuted") == 0.0
    assert audit.mean("optimal", "identical", "another seed") == 1.0
    assert 1 <= audit.mean("optimal", "leaves") <= 8
    assert "Trained again, optimal gives 0.0 ± 0.0 %" in audit.summary
    numbers = retrain_audit(["optimal"], X, X["age"] + (y == "died"), changes="overlap", n_repeats=1)
    assert numbers.mean("optimal", "r2") > 0.5


def test_weights_are_refused() -> None:
    X, y = patients()
    with pytest.raises(ParameterError, match="'optimal' cannot take weights"):
        retrain_audit(["optimal"], X, y, sample_weight=np.arange(1, len(y) + 1) / 2, n_repeats=1)


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("max_depth", 0, "max_depth=0 is out of range: it must be an integer of at least 1"),
        ("n_thresholds", 1.5, "n_thresholds=1.5 is out of range"),
        ("ccp_alpha", -0.1, "ccp_alpha=-0.1 is out of range: it must be a number of at least 0"),
        ("ccp_alpha", np.nan, "ccp_alpha=nan is out of range"),
    ],
)
def test_parameters_out_of_range_are_refused(parameter: str, value: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        OptimalTreeClassifier(**{parameter: value}).fit([[1.0], [2.0]], ["a", "b"])
