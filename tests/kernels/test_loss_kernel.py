"""The kernels of losses: gradients and hessians by small differences, and rounds against the slow twin."""

from typing import Any

import numpy as np
import pytest

from holdfast._arrays import FloatArray
from holdfast.data.table import Table
from holdfast.ensembles.boosting import BoostingSettings, boost
from holdfast.kernels.boosting import losses
from holdfast.kernels.boosting.histogram import N_ROLES, N_SPREAD
from reference.boosting import boosted
from reference.boosting_losses import Setting

NAMES = {
    "squared_error": losses.SQUARED,
    "absolute_error": losses.ABSOLUTE,
    "huber": losses.HUBER,
    "quantile": losses.QUANTILE,
    "poisson": losses.POISSON,
    "log_loss": losses.LOGISTIC,
    "exponential": losses.EXPONENTIAL,
}


def derived(number: int, y: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    gradient, hessian, lost = np.empty_like(score), np.empty_like(score), np.empty(len(y))
    role = (np.arange(len(y)) % N_ROLES).astype(np.uint8)
    weighed = losses.LossRows(y, np.ones(len(y)), np.ones(len(y)), np.ones(len(y), np.int32), role)
    plain = losses.LossRows(y, np.empty(0), np.empty(0), np.empty(0, np.int32), role)
    for rows, own in ((weighed, lost), (plain, np.empty(0))):  # the sums are the same without the losses
        sums, spread = np.empty((1, N_ROLES)), np.empty((1, N_SPREAD))
        losses.compute_derivatives(number, 0.7, 0.7, rows, score, 0, 1, gradient, hessian, own, sums, spread)
        assert sums[0] == pytest.approx([lost[role == each].sum() for each in range(N_ROLES)])
    return lost, gradient, hessian


@pytest.mark.kernel
@pytest.mark.parametrize("name", NAMES)
def test_gradients_and_hessians_are_those_of_the_loss(name: str) -> None:
    generator, step = np.random.default_rng(0), 1e-5
    y = generator.integers(0, 2, 40).astype(float)
    score = generator.normal(size=(1, 40)) * 2
    lost, gradient, hessian = derived(NAMES[name], y, score)
    above, below = (derived(NAMES[name], y, score + side) for side in (step, -step))
    assert gradient[0] == pytest.approx((above[0] - below[0]) / (2 * step), abs=1e-6)
    if name in ("poisson", "log_loss", "exponential", "squared_error"):
        assert hessian[0] == pytest.approx((above[1] - below[1])[0] / (2 * step), abs=1e-6)
    else:
        assert (hessian == 1).all()
    assert np.isfinite(lost).all()


@pytest.mark.kernel
def test_gradients_of_class_fractions_are_those_of_the_loss() -> None:
    generator, step = np.random.default_rng(0), 1e-5
    y, score = generator.integers(0, 3, 40).astype(float), generator.normal(size=(3, 40)) * 2
    _, gradient, hessian = derived(losses.MULTINOMIAL, y, score)
    for label in range(3):
        moved = [score.copy(), score.copy()]
        moved[0][label] += step
        moved[1][label] -= step
        above, below = (derived(losses.MULTINOMIAL, y, each) for each in moved)
        assert gradient[label] == pytest.approx((above[0] - below[0]) / (2 * step), abs=1e-6)
        assert hessian[label] == pytest.approx((above[1] - below[1])[label] / (2 * step), abs=1e-6)


@pytest.mark.kernel
@pytest.mark.parametrize("name", ["poisson", "log_loss", "exponential"])
def test_no_score_is_too_large_for_a_loss(name: str) -> None:
    score = np.array([[-1e4, -800.0, -40.0, 0.0, 40.0, 800.0, 1e4]])
    for y in (0.0, 1.0):
        for numbers in derived(NAMES[name], np.full(7, y), score):
            assert np.isfinite(numbers).all()


@pytest.mark.kernel
@pytest.mark.parametrize("splits", ["exact", "binned"])
@pytest.mark.parametrize("loss", ["poisson", "log_loss", "exponential", "quantile"])
def test_two_rounds_are_those_of_the_slow_twin(loss: Any, splits: Any) -> None:
    generator = np.random.default_rng(3)
    X = generator.normal(size=(40, 2))
    height = X[:, 0] + generator.normal(size=40)
    y = generator.poisson(np.exp(height)) if loss == "poisson" else height
    classes = loss in ("log_loss", "exponential")
    table = Table.from_arrays(
        X,
        np.digitize(height, [-0.2]) if classes else y,
        generator.uniform(0.2, 2.0, 40),
        task="classification" if classes else "regression",
    )
    options: dict[str, Any] = {"n_estimators": 2, "learning_rate": 0.5, "min_samples_leaf": 2}
    run = boost(table, BoostingSettings(loss, splits=splits, **options))
    assert run.ensemble.scores(table) == pytest.approx(boosted(table, Setting(loss, **options)).scores)
