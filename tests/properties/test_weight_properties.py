"""Weights at the edge: rows without weight are no rows, and only the fractions of the weights matter."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold

from holdfast import (
    BaggingRegressor,
    BoostingRegressor,
    DataError,
    DataWarning,
    StableTreeRegressor,
    Table,
    TreeClassifier,
    TreeRegressor,
    compare_models,
    grow,
)
from holdfast._arrays import FloatArray
from holdfast.growth.rules import GrowthRules
from holdfast.io.model_file import model_to_json
from holdfast.scoring import nmi_score, purity_score
from holdfast.tree.check import check_tree
from reference.every_estimator import CLASSIFIERS, REGRESSORS, bytes_of, trees_of

N_ROWS = 60
ALL = [("classes", name) for name in CLASSIFIERS] + [("numbers", name) for name in REGRESSORS]

every_estimator = pytest.mark.parametrize(("kind", "name"), ALL)
seeds = st.integers(0, 10_000)


def made(kind: str, name: str) -> Any:
    factories: dict[str, dict[str, Callable[[], Any]]] = {"classes": CLASSIFIERS, "numbers": REGRESSORS}
    return factories[kind][name]()


def data(kind: str, seed: int) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Rows of numbers, categories and missing values, and a target that they say something about."""
    generator = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": generator.integers(20, 80, N_ROWS).astype(float),
            "ward": generator.choice(["A", "B", "C"], N_ROWS),
            "lactate": np.where(generator.random(N_ROWS) < 0.1, np.nan, generator.normal(2.0, 1.0, N_ROWS)),
        }
    )
    score = X["age"].to_numpy() / 20 + (X["ward"] == "B") + generator.normal(0.0, 0.7, N_ROWS)
    return X, np.digitize(score, [2.5, 3.5]) if kind == "classes" else np.array(score)


def fitted(kind: str, name: str, X: Any, y: Any, weight: FloatArray | None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made(kind, name).fit(X, y, sample_weight=weight)


def weights(of: str, seed: int) -> FloatArray:
    generator = np.random.default_rng([seed, 1])
    if of == "repetitions":
        return generator.integers(1, 4, N_ROWS).astype(float)
    return generator.uniform(0.1, 1.0, N_ROWS) * {"importances": 1.0, "tiny": 1e-250, "huge": 1e250}[of]


# -- rows without weight --------------------------------------------------------------------------------


@every_estimator
@settings(max_examples=4)
@given(of=st.sampled_from(["repetitions", "importances", "tiny", "huge"]), seed=seeds)
def test_rows_without_weight_are_no_rows(kind: str, name: str, of: str, seed: int) -> None:
    X, y = data(kind, seed)
    weight, counts = weights(of, seed), np.random.default_rng([seed, 2]).random(N_ROWS) < 0.7
    X.loc[~counts, "age"] *= 1000.0
    X.loc[~counts, "ward"] = "nowhere"
    y[~counts] = 7 if kind == "classes" else -1e200
    with_them = fitted(kind, name, X, y, np.where(counts, weight, 0.0))
    without = fitted(kind, name, X[counts], y[counts], weight[counts])
    assert bytes_of(with_them) == bytes_of(without)
    if hasattr(without, "classes_"):
        np.testing.assert_array_equal(with_them.classes_, without.classes_)
    if hasattr(without, "oob_score_"):
        assert with_them.oob_score_ == without.oob_score_
        np.testing.assert_array_equal(with_them.oob_curve_.scores, without.oob_curve_.scores)
        found, expected = with_them.importances_.permutation, without.importances_.permutation
        np.testing.assert_array_equal(found, expected)


GROUPED = [
    BaggingRegressor(n_estimators=3, random_state=0),
    BoostingRegressor(n_estimators=3, min_samples_leaf=2, subsample=0.5, random_state=0),
    BoostingRegressor(n_estimators=3, min_samples_leaf=2, early_stopping=True, random_state=0),
    BoostingRegressor(n_estimators=3, min_samples_leaf=2, early_stopping="cv", random_state=0),
    TreeRegressor(max_depth="cv", cv=GroupKFold(3)),
    TreeRegressor(ccp_alpha="cv", cv=4),
    StableTreeRegressor(method="bootstrap", n_estimators=3, max_depth=3, random_state=0),
]


@pytest.mark.parametrize("model", GROUPED, ids=lambda model: type(model).__name__)
def test_groups_without_weight_are_no_groups(model: Any) -> None:
    X, y = data("numbers", 5)
    groups = np.arange(N_ROWS) // 4
    counts = (groups % 5 != 2) & (np.arange(N_ROWS) % 7 != 0)
    weight = np.where(counts, weights("importances", 5), 0.0)
    one = clone(model).fit(X, y, sample_weight=weight, groups=groups)
    other = clone(model).fit(X[counts], y[counts], sample_weight=weight[counts], groups=groups[counts])
    assert bytes_of(one) == bytes_of(other)


@pytest.mark.parametrize("cv", [4, 0.3, KFold(4)])
def test_models_are_compared_as_if_rows_without_weight_were_not_there(cv: Any) -> None:
    X, y = data("classes", 6)
    counts = np.arange(N_ROWS) % 4 != 0
    weight = np.where(counts, weights("importances", 6), 0.0)
    models = [TreeClassifier(max_depth=2)]
    one = compare_models(models, X, y, cv=cv, sample_weight=weight)
    other = compare_models(models, X[counts], y[counts], cv=cv, sample_weight=weight[counts])
    np.testing.assert_array_equal(one.scores, other.scores)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_ranges_categories_and_classes_come_from_the_rows_that_count(task: Any) -> None:
    X = pd.DataFrame({"age": [20.0, 90.0, 40.0], "ward": ["A", "Z", "B"], "code": [1, "x", 2]})
    table = Table.from_arrays(X, [0, 5, 1], [1.0, 0.0, 0.5], task=task)
    age, ward, code = table.schema.features
    assert (age.low, age.high) == (20.0, 40.0)
    assert ward.categories == ("A", "B")
    assert code.kind == "numeric"
    target = table.schema.target
    assert target.classes == ((0, 1) if target.is_classes else ())
    assert target.is_classes or (target.low, target.high) == (0.0, 1.0)
    assert table.n_rows == 3
    np.testing.assert_array_equal(table.columns[0], [20.0, 90.0, 40.0])
    np.testing.assert_array_equal(table.columns[1], [0.0, np.nan, 1.0])
    np.testing.assert_array_equal(table.columns[2], [1.0, np.nan, 2.0])


def test_rows_without_weight_need_not_fit_a_schema() -> None:
    schema = Table.from_arrays([["A", 1.0], ["B", 2.0]], ["no", "yes"]).schema
    rows: list[list[Any]] = [["A", 1.0], ["Z", "much"]]
    with pytest.warns(DataWarning, match="one class, 'yes'"):
        table = Table.from_arrays(rows, ["yes", "perhaps"], [1.0, 0.0], schema=schema)
    np.testing.assert_array_equal(table.columns[0], [0.0, np.nan])
    np.testing.assert_array_equal(table.columns[1], [1.0, np.nan])
    assert table.target[0] == 1
    with pytest.raises(DataError, match=r"new categories +column 'x0': 'Z'"):
        Table.from_arrays([["A", 1.0], ["Z", 1.0]], ["yes", "no"], [1.0, 0.5], schema=schema)


@pytest.mark.parametrize("missing", [np.nan, None])
def test_rows_without_weight_are_checked_and_named_like_others(missing: Any) -> None:
    with pytest.raises(DataError, match=r"missing label.*row 2"):
        Table.from_arrays([[1.0], [2.0], [3.0]], np.array([1.5, 2.5, missing], object), [0.0, 1.0, 0.0])


# -- only shares matter ---------------------------------------------------------------------------------


def trees_apart_from_weight(model: Any) -> list[bytes]:
    return [model_to_json(tree.replace(weight=np.zeros(tree.n_nodes))) for tree in trees_of(model)]


@every_estimator
@settings(max_examples=3)
@given(seed=seeds, exponent=st.integers(-950, 950))
def test_all_weights_times_a_power_of_two_give_the_same_trees(
    kind: str, name: str, seed: int, exponent: int
) -> None:
    X, y = data(kind, seed)
    weight = weights("importances", seed)
    model = fitted(kind, name, X, y, weight)
    other = fitted(kind, name, X, y, np.ldexp(weight, exponent))
    assert trees_apart_from_weight(other) == trees_apart_from_weight(model)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert trees_of(other)[0].weight[0] == np.ldexp(trees_of(model)[0].weight[0], exponent)


@every_estimator
@pytest.mark.parametrize("factor", [0.3, 1e300])
def test_all_weights_times_any_number_give_the_same_predictions(kind: str, name: str, factor: float) -> None:
    X, y = data(kind, 0)
    weight = weights("importances", 0)
    model, other = (fitted(kind, name, X, y, each) for each in (weight, weight * factor))
    for predict in ("predict_proba", "score_samples", "predict"):
        if hasattr(model, predict):
            found, expected = (getattr(each, predict)(X) for each in (other, model))
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
            break


@every_estimator
def test_the_least_weights_that_there_are_work(kind: str, name: str) -> None:
    X, y = data(kind, 1)
    least = np.full(N_ROWS, np.finfo(np.float64).smallest_subnormal)
    model, other = (fitted(kind, name, X, y, each) for each in (least, np.full(N_ROWS, 0.25)))
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    for tree in trees_of(model):
        check_tree(tree)


@every_estimator
def test_weights_as_far_apart_as_numbers_go_give_sound_trees(kind: str, name: str) -> None:
    X, y = data(kind, 2)
    weight = np.where(np.arange(N_ROWS) % 3 == 0, 1e-320, 1e300)
    model = fitted(kind, name, X, y, weight)
    for tree in trees_of(model):
        check_tree(tree)
        assert np.isfinite(tree.importances).all()
    assert np.isfinite(model.predict(X)).all()


def test_the_penalty_of_boosting_is_in_units_of_weight() -> None:
    """Half the weight and half the penalty: all sums are halved, and no step changes."""
    X, y = data("numbers", 3)
    weight = weights("importances", 3)
    model, half, plain = (
        BoostingRegressor(l2_regularization=l2, n_estimators=3, min_samples_leaf=2).fit(X, y, each)
        for l2, each in ((3.0, weight), (1.5, weight / 2), (0.0, weight))
    )
    np.testing.assert_array_equal(half.predict(X), model.predict(X))
    assert not np.array_equal(plain.predict(X), model.predict(X))


# -- sums that no number can hold -------------------------------------------------------------------------


@every_estimator
def test_weights_with_an_infinite_sum_are_refused_by_every_estimator(kind: str, name: str) -> None:
    X, y = data(kind, 0)
    with pytest.raises(DataError, match=r"sample_weight adds up to inf, and the greatest weight is 1e\+308"):
        fitted(kind, name, X, y, np.full(N_ROWS, 1e308))


FRAME = pd.DataFrame({"a": [1.0, 2.0], "y": [1.5, 2.5]})


def table_of(weight: FloatArray) -> Table:
    known = Table.from_frame(FRAME, "y")
    return Table(known.schema, known.columns, known.target, weight)


@pytest.mark.parametrize(
    "enter",
    [
        lambda weight: Table.from_arrays([[1.0], [2.0]], [1.5, 2.5], weight),
        lambda weight: Table.from_frame(FRAME, "y", sample_weight=weight),
        table_of,
        lambda weight: purity_score([0, 1], [0, 1], weight),
        lambda weight: nmi_score([0, 1], [0, 1], weight),
        lambda weight: compare_models([TreeRegressor()], FRAME[["a"]], FRAME["y"], sample_weight=weight),
    ],
)
@pytest.mark.parametrize("weight", [[1e308, 1e308], [np.inf, 1.0], [np.nan, 1.0]])
def test_weights_without_a_finite_sum_are_refused_at_every_door(enter: Any, weight: list[float]) -> None:
    with pytest.raises(DataError, match="sample_weight"):
        enter(np.array(weight))


def test_class_weights_that_make_the_sum_infinite_are_refused() -> None:
    table = Table.from_arrays([[1.0], [2.0]], ["no", "yes"], [1e200, 2e200])
    with pytest.raises(DataError, match="times class_weight add up to more than a number can hold"):
        grow(table, GrowthRules(class_weight={"no": 1e200, "yes": 1.0}))
