"""How far a leaf of a boosted tree steps: no step raises the loss of the rows that it was learnt from."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, xlogy

from holdfast._arrays import FloatArray
from holdfast.data.table import Table
from holdfast.ensembles.boosting import BoostingSettings, boost
from holdfast.io.model_file import model_to_json
from holdfast.kernels.boosting.leaves import SURE_STEP, shorten_step
from holdfast.kernels.jit import compile_uncached
from holdfast.tree.tree import LEAF

# A kernel for kernels has no door to Python: it is called through a small one that has.


@compile_uncached
def shortened_step(step: float) -> float:
    return shorten_step(step)  # type: ignore[no-any-return]


def rare_classes(seed: int, shares: list[float], n_rows: int = 400) -> Table:
    """Classes, most of them rare, that the columns tell a little of."""
    generator = np.random.default_rng(seed)
    y = generator.choice(len(shares), n_rows, p=shares)
    y[: len(shares)] = np.arange(len(shares))
    X = generator.normal(size=(n_rows, 3)) + y[:, None] * generator.choice([0.0, 0.5, 3.0], 3)
    return Table.from_arrays(X, y, task="classification")


def rare_counts(seed: int, n_rows: int = 400) -> Table:
    """Counts, nearly all of them 0 and a few very large."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 3))
    y = generator.poisson(np.exp(-4 + X[:, 0])).astype(float)
    y[generator.integers(0, n_rows, 4)] = [1.0, 30.0, 900.0, 20_000.0]
    return Table.from_arrays(X, y, task="regression")


SHARES = ([0.97, 0.03], [0.995, 0.005], [0.01, 0.99], [0.5, 0.5])
RATES = (0.1, 0.5, 1.0)


def highest_rise(losses: FloatArray) -> float:
    """The greatest rise from one round to the next; where the loss is above 1, as a fraction of it."""
    return float((np.diff(losses) / np.maximum(np.abs(losses[:-1]), 1)).max())


# -- a single score ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("splits", ["exact", "binned"])
@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
@settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    shares=st.sampled_from(SHARES),
    rate=st.sampled_from(RATES),
    options=st.fixed_dictionaries(
        {"min_samples_leaf": st.sampled_from([1, 5]), "second_order": st.booleans()},
        optional={"start": st.just("zero"), "leaf_steps": st.just(3)},
    ),
)
def test_no_round_raises_the_loss_of_two_classes(
    loss: Any, splits: Any, seed: int, shares: list[float], rate: float, options: dict[str, Any]
) -> None:
    rules = BoostingSettings(loss, 20, rate, splits=splits, **options)
    run = boost(rare_classes(seed, shares), rules)
    assert highest_rise(run.train_loss) <= 1e-12


@pytest.mark.parametrize("splits", ["exact", "binned"])
@settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    rate=st.sampled_from(RATES),
    options=st.fixed_dictionaries(
        {"min_samples_leaf": st.sampled_from([1, 5]), "second_order": st.booleans()},
        optional={"start": st.just("zero"), "leaf_steps": st.just(3)},
    ),
)
def test_no_round_raises_the_loss_of_rare_large_counts(
    splits: Any, seed: int, rate: float, options: dict[str, Any]
) -> None:
    table = rare_counts(seed)
    run = boost(table, BoostingSettings("poisson", 20, rate, splits=splits, **options))
    assert highest_rise(deviance(run.train_loss, table.target)) <= 1e-12
    assert np.isfinite(run.ensemble.predict(table)).all()


def deviance(losses: FloatArray, y: FloatArray) -> FloatArray:
    """What the mean of rate - y score is above the lowest it can be, which is where every rate is its y."""
    return np.asarray(losses + np.mean(xlogy(y, y) - y))


def test_a_long_step_that_pays_is_taken_whole() -> None:
    # From a score of 0, counts of 12 have the gradient 1 - 12 and the hessian 1: a step of 11 goes too far,
    # for e^11 - 12 * 11 is more than 1, and so it is 1 + log(11). Counts of 0 step by -1.
    counts = Table.from_arrays([[0.0]] * 5 + [[1.0]] * 5, [12.0] * 5 + [0.0] * 5, task="regression")
    rules = BoostingSettings("poisson", 1, 1.0, min_samples_leaf=1, start="zero")
    assert leaf_values(counts, rules) == pytest.approx([1 + math.log(11), -1.0])
    # Two no's that a score of log(1 / 3) from 2 yes's and 6 no's holds for 1 : 3 step by -p / (p (1 - p)), or
    # -4/3; the two yes's by 1 / p, or 4, which lowers their loss: it is not shortened.
    classes = Table.from_arrays([[0.0]] * 6 + [[1.0]] * 2, ["no"] * 6 + ["yes"] * 2)
    rules = BoostingSettings("log_loss", 1, 1.0, min_samples_leaf=1)
    assert leaf_values(classes, rules) == pytest.approx([-4 / 3, 4.0])


def test_trees_made_together_are_those_made_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for table in (rare_classes(0, [0.5, 0.3, 0.2]), rare_counts(1)):
        settings = BoostingSettings("log_loss" if table.schema.target.classes else "poisson", n_estimators=7)
        monkeypatch.setattr("holdfast.ensembles.boosting.TREES_AT_A_TIME", 100)
        together = [model_to_json(tree) for tree in boost(table, settings).ensemble]
        monkeypatch.setattr("holdfast.ensembles.boosting.TREES_AT_A_TIME", 1)
        assert [model_to_json(tree) for tree in boost(table, settings).ensemble] == together


def test_no_step_is_longer_than_thirty() -> None:
    # One yes in 100: p = 0.01, and a step of 1 / p = 100 would be as sure as e^100 to one.
    classes = Table.from_arrays([[0.0]] * 99 + [[1.0]], ["no"] * 99 + ["yes"])
    rules = BoostingSettings("log_loss", 1, 1.0, min_samples_leaf=1, splits="binned")
    assert leaf_values(classes, rules) == pytest.approx([-1 / 0.99, 30.0])


def leaf_values(table: Table, rules: BoostingSettings) -> list[float]:
    tree = boost(table, rules).ensemble[0]
    values: list[float] = tree.value[tree.feature == LEAF, 0].tolist()
    return values


@pytest.mark.parametrize(("splits", "l2"), [("exact", 0.0), ("binned", 0.0), ("binned", 3.0)])
@pytest.mark.parametrize("loss", ["log_loss", "exponential", "poisson"])
def test_many_steps_of_a_leaf_end_where_it_loses_least(loss: Any, l2: float, splits: Any) -> None:
    table = rare_counts(3) if loss == "poisson" else rare_classes(3, [0.8, 0.2])
    rules = BoostingSettings(
        loss, 1, 1.0, max_depth=2, leaf_steps=60, min_samples_leaf=30, l2_regularization=l2, splits=splits
    )
    run = boost(table, rules)
    (tree,) = run.ensemble
    start, leaves = float(run.ensemble.start[0]), tree.apply(table)
    for leaf in np.unique(leaves).tolist():
        y = table.target[leaves == leaf].astype(float)
        if len(np.unique(y)) == 1 and l2 == 0:
            continue  # it would step for ever
        best = minimize_scalar(
            lambda step, y=y: np.sum(summed_loss(loss, y, start + step)) + l2 * step**2 / 2,
            bounds=(-15, 15),
            method="bounded",
            options={"xatol": 1e-9},
        ).x
        assert tree.value[leaf, 0] == pytest.approx(best, abs=1e-5)


def summed_loss(loss: str, y: FloatArray, score: FloatArray | float) -> FloatArray:
    """The loss of each row by its formula."""
    if loss == "poisson":
        return np.asarray(np.exp(score) - y * score)
    if loss == "exponential":
        return np.asarray(np.exp(-(2 * y - 1) * score))
    return np.asarray(np.logaddexp(0, score) - y * score)


# -- several scores ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("splits", ["exact", "binned"])
@pytest.mark.parametrize("seed", range(3))
def test_no_round_raises_the_loss_of_several_classes_at_a_low_rate(seed: int, splits: Any) -> None:
    # As of a rare illness: 1,850 well, 98 and 50 ill in two ways, and 2 in a third.
    generator = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2, 3], [1850, 98, 50, 2])
    X = generator.normal(size=(2000, 5))
    X[:, 0] += 3.0 * (y == 1)
    X[:, 1] += 2.0 * (y == 2)
    X[:, 2] += 1.0 * (y == 3)
    table = Table.from_arrays(X, y, task="classification")
    run = boost(table, BoostingSettings("log_loss", 60, 0.1, splits=splits))
    assert highest_rise(run.train_loss) <= 0
    shares = run.ensemble.predict_proba(table)
    assert np.isfinite(shares).all()
    assert run.train_loss[-1] == pytest.approx(-np.log(shares[np.arange(2000), y]).mean())


# -- the bound ----------------------------------------------------------------------------------------------


@st.composite
def leaves(draw: st.DrawFn) -> tuple[str, FloatArray, FloatArray, FloatArray]:
    """A loss, and the targets, scores and weights of some rows."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    loss, n_rows = draw(st.sampled_from(["log_loss", "exponential", "poisson"])), draw(st.integers(1, 12))
    spread, share = draw(st.sampled_from([0.0, 1.0, 4.0])), draw(st.sampled_from([0.0, 0.2, 0.5, 1.0]))
    score = draw(st.floats(-6, 6)) + spread * generator.normal(size=n_rows)
    y = (generator.random(n_rows) < share).astype(float)
    if loss == "poisson":
        y = generator.poisson(draw(st.sampled_from([0.1, 3.0, 500.0])), n_rows).astype(float)
    return loss, y, score, generator.uniform(0.1, 3.0, n_rows)


def derivatives_of(loss: str, y: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray]:
    if loss == "poisson":
        return np.exp(score) - y, np.exp(score)
    if loss == "exponential":
        lost = np.exp(-(2 * y - 1) * score)
        return -(2 * y - 1) * lost, lost
    p = 1 / (1 + np.exp(-score))
    return p - y, p * (1 - p)


@given(leaf=leaves(), t=st.floats(0.001, 20))
def test_a_leaf_never_loses_more_than_the_bound_on_its_third_derivative_allows(
    leaf: tuple[str, FloatArray, FloatArray, FloatArray], t: float
) -> None:
    loss, y, score, weight = leaf
    gradient, hessian = (float(weight @ each) for each in derivatives_of(loss, y, score))
    down = -math.copysign(t, gradient)
    before, after = (weight * summed_loss(loss, y, score + step) for step in (0.0, down))
    bound = hessian * (math.expm1(t) - t) - abs(gradient) * t
    assert float((after - before).sum()) <= bound + 1e-9 * float((np.abs(before) + np.abs(after)).sum())


@given(leaf=leaves())
def test_a_shortened_newton_step_lowers_the_loss(
    leaf: tuple[str, FloatArray, FloatArray, FloatArray],
) -> None:
    loss, y, score, weight = leaf
    gradient, hessian = (float(weight @ each) for each in derivatives_of(loss, y, score))
    if abs(gradient) < 1e-6 * hessian:
        return  # there is nothing to gain
    step = shortened_step(-gradient / hessian)
    before, after = (weight * summed_loss(loss, y, score + each) for each in (0.0, step))
    assert float((after - before).sum()) < 1e-12 * float((np.abs(before) + np.abs(after)).sum())


@given(st.floats(-1e12, 1e12))
def test_steps_are_shortened_to_their_logarithm(step: float) -> None:
    found = shortened_step(step)
    if abs(step) <= SURE_STEP:
        assert found == step
    else:
        assert found == pytest.approx(math.copysign(1 + math.log(abs(step)), step))
        assert abs(found) < abs(step)
        # H (e^t - t - 1) - G t of this t, over H: below 0 by at least G / H - 1.
        t, ratio = abs(found), abs(step)
        assert math.expm1(t) - t - ratio * t < 0


def test_a_newton_step_up_to_the_sure_one_never_loses() -> None:
    lengths = np.linspace(1e-3, SURE_STEP, 1000)
    assert (np.expm1(lengths) - lengths <= lengths**2).all()
    assert math.expm1(1.8) - 1.8 > 1.8**2  # and not much longer


@given(seed=st.integers(0, 10**6), spread=st.sampled_from([0.5, 4.0]), t=st.floats(0.001, 20))
def test_the_bound_holds_for_one_score_of_many(seed: int, spread: float, t: float) -> None:
    generator = np.random.default_rng(seed)
    scores, label = spread * generator.normal(size=(8, 4)), generator.integers(0, 4, 8)
    p = np.exp(log_softmax(scores, axis=1))[:, 0]
    gradient, hessian = float((p - (label == 0)).sum()), float((p * (1 - p)).sum())
    moved = scores.copy()
    moved[:, 0] -= math.copysign(t, gradient)
    before, after = (-log_softmax(each, axis=1)[np.arange(8), label] for each in (scores, moved))
    bound = hessian * (math.expm1(t) - t) - abs(gradient) * t
    assert float((after - before).sum()) <= bound + 1e-9 * float((before + after).sum())
