"""Targets at the edge: as large and as small as numbers get."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import DataError
from holdfast._arrays import FloatArray
from holdfast.tree.check import check_tree
from reference.every_estimator import AVERAGES, BOOSTED, trees_of

GREATEST = float(np.finfo(np.float64).max)
N_ROWS = 60


def data(seed: int) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(N_ROWS, 3))
    return X, np.asarray(X[:, 0] + np.sign(X[:, 1]) + generator.normal(0.0, 0.3, N_ROWS))


@pytest.mark.parametrize("name", AVERAGES)
@settings(max_examples=3)
@given(seed=st.integers(0, 10_000), exponent=st.integers(-950, 950))
def test_a_target_times_a_power_of_two_gives_predictions_times_it(
    name: str, seed: int, exponent: int
) -> None:
    if name == "pruned tree" and exponent:
        exponent = 0  # what a leaf costs is in units of the squared target
    X, y = data(seed)
    model = AVERAGES[name]().fit(X, y)
    other = AVERAGES[name]().fit(X, np.ldexp(y, exponent))
    np.testing.assert_array_equal(other.predict(X), np.ldexp(model.predict(X), exponent))


@pytest.mark.parametrize("name", BOOSTED)
@settings(max_examples=3)
@given(seed=st.integers(0, 10_000), exponent=st.integers(-200, 200))
def test_boosting_scales_with_the_target_as_long_as_squares_are_numbers(
    name: str, seed: int, exponent: int
) -> None:
    X, y = data(seed)
    model = BOOSTED[name]().set_params(tol=0.0).fit(X, y)
    other = BOOSTED[name]().set_params(tol=0.0).fit(X, np.ldexp(y, exponent))
    np.testing.assert_array_equal(other.predict(X), np.ldexp(model.predict(X), exponent))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", AVERAGES)
def test_targets_whose_range_no_number_can_hold_are_learnt(name: str, weighted: bool) -> None:
    X, y = data(0)
    y = np.where(y > 0, 1.0, -1.0) * np.linspace(0.9, 1.0, N_ROWS) * GREATEST
    weight = np.linspace(0.1, 1.0, N_ROWS) if weighted else None
    model = AVERAGES[name]().fit(X, y, sample_weight=weight)
    predicted = model.predict(X)
    assert np.isfinite(predicted).all()
    assert (np.abs(predicted) <= GREATEST).all()
    assert np.isfinite(model.feature_importances_).all()
    for tree in trees_of(model):
        check_tree(tree)
    if hasattr(model, "oob_prediction_"):
        assert np.isfinite(model.oob_prediction_).all()
        assert np.isfinite(model.oob_score_)
        for values in model.staged_predict(X):
            assert np.isfinite(values).all()


@pytest.mark.parametrize("name", AVERAGES)
def test_a_constant_target_is_predicted_exactly_however_large(name: str) -> None:
    X, _ = data(0)
    for constant in (GREATEST, -GREATEST, 5e-324):
        np.testing.assert_array_equal(AVERAGES[name]().fit(X, np.full(N_ROWS, constant)).predict(X), constant)


@pytest.mark.parametrize("name", BOOSTED)
def test_a_target_that_cannot_be_squared_is_refused(name: str) -> None:
    X, given = data(0)
    large, small = np.append(given[1:], -1e308), np.clip(given, 0.0, 1.0) * 1e-310
    for y, size in ((large, r"1e\+308"), (small, "1e-310")):
        with pytest.raises(
            DataError, match=f"'y' has absolute values up to {size}.* between 1e-150 and 1e\\+150"
        ):
            BOOSTED[name]().fit(X, y)


@pytest.mark.parametrize("name", AVERAGES)
def test_subnormal_targets_give_predictions_between_them(name: str) -> None:
    if name == "pruned tree":
        pytest.skip("what a leaf costs is in units of the squared target, which is nothing here")
    X, y = data(0)
    y = y * 1e-310
    predicted = AVERAGES[name]().fit(X, y).predict(X)
    assert y.min() <= predicted.min()
    assert predicted.max() <= y.max()
    assert predicted.min() < predicted.max()
