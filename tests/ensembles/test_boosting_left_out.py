"""The rows that a round of boosting leaves out: what they lose and gain, recounted, and stopping by them."""

from typing import Any

import numpy as np
import pytest
from boosting_tables import GREEDY, KINDS, LOSSES, noisy, scale_weights, staged_losses
from sklearn.ensemble import GradientBoostingRegressor

from holdfast._arrays import BoolArray, FloatArray
from holdfast.data.row_keys import row_keys, select_lowest
from holdfast.data.table import Table
from holdfast.ensembles.boosting import Boosting, BoostingSettings, boost
from holdfast.errors import DataError, ParameterError
from holdfast.estimators.boosting import BoostingClassifier

SAMPLES = 52  # branch of the seed


def rows_drawn(table: Table, number: int, seed: int, subsample: float) -> BoolArray:
    """The rows that a round learns from."""
    n_draws = round(subsample * table.n_rows)
    drawn = select_lowest(row_keys(table), (seed, SAMPLES, number), n_draws)
    assert drawn.sum() == n_draws
    return drawn


def losses_by_round(run: Boosting, table: Table, kind: str) -> FloatArray:
    """The loss of every row before the first round and after each, (1 + rounds, rows)."""
    nothing = run.ensemble.replace(weights=np.zeros(len(run.ensemble)))
    start = staged_losses(nothing.first(1), table, kind)
    return np.concatenate([start, staged_losses(run.ensemble, table, kind)])


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_round_gains_on_rows_it_left_out_adds_up(kind: str) -> None:
    table, seed, n_rounds = noisy(kind, weighted=True), 8, 6
    rules = BoostingSettings(LOSSES.get(kind, kind), n_rounds, subsample=0.6, **GREEDY)
    run = boost(table, rules, seed=seed)
    losses, weight = losses_by_round(run, table, kind), scale_weights(table)
    for number in range(n_rounds):
        learnt = rows_drawn(table, number, seed, 0.6)
        left_out = weight * ~learnt
        before, after = losses[number : number + 2]
        assert run.train_loss[number] == pytest.approx(np.average(after, weights=weight * learnt), rel=1e-9)
        assert run.oob_scores[number] == pytest.approx(np.average(after, weights=left_out), rel=1e-9)
        gain = np.average(before - after, weights=left_out)
        assert run.oob_improvement[number] == pytest.approx(gain, rel=1e-7, abs=1e-10)


def test_scikit_learn_has_twice_the_loss_of_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    # scikit-learn is made to draw the same rows. It takes the squared error, not half of it; and it compares
    # the rows that a round leaves out with those that the round before left out, which are others.
    generator = np.random.default_rng(0)
    X = generator.normal(size=(120, 3))
    y = X[:, 0] + generator.normal(size=120)
    table = Table.from_arrays(X, y, task="regression")
    masks = iter([rows_drawn(table, number, 3, 0.5) for number in range(8)])
    monkeypatch.setattr("sklearn.ensemble._gb._random_sample_mask", lambda *_: next(masks))
    options = {"learning_rate": GREEDY["learning_rate"], "min_samples_leaf": GREEDY["min_samples_leaf"]}
    theirs = GradientBoostingRegressor(n_estimators=8, subsample=0.5, init="zero", random_state=0, **options)
    own = boost(table, BoostingSettings("squared_error", 8, subsample=0.5, start="zero", **GREEDY), seed=3)
    theirs.fit(X, y)
    assert theirs.train_score_ == pytest.approx(2 * own.train_loss)
    assert theirs.oob_scores_ == pytest.approx(2 * own.oob_scores)
    assert theirs.oob_improvement_[0] == pytest.approx(2 * own.oob_improvement[0])
    assert theirs.oob_improvement_[1:] == pytest.approx(-2 * np.diff(own.oob_scores))


@pytest.mark.parametrize("kind", KINDS)
def test_stopping_keeps_the_rounds_up_to_the_highest_sum_of_gains(kind: str) -> None:
    table, seed = noisy(kind, weighted=True), 5
    rules = BoostingSettings(
        LOSSES.get(kind, kind), 60, subsample=0.5, early_stopping="oob", n_iter_no_change=6, **GREEDY
    )
    run = boost(table, rules, seed=seed)
    n_tried = len(run.oob_improvement)
    everything = BoostingSettings(LOSSES.get(kind, kind), n_tried, subsample=0.5, **GREEDY)
    whole = boost(table, everything, seed=seed)
    losses, weight = losses_by_round(whole, table, kind), scale_weights(table)
    gains = [
        np.average(-np.diff(losses, axis=0)[number], weights=weight * ~rows_drawn(table, number, seed, 0.5))
        for number in range(n_tried)
    ]
    assert run.n_estimators == np.cumsum(gains).argmax() + 1
    assert n_tried == min(run.n_estimators + 6, 60)
    assert n_tried < 60  # so that the test shows something
    assert np.array_equal(run.ensemble.scores(table), whole.ensemble.first(run.n_estimators).scores(table))
    assert len(run.validation_loss) == 0  # all rows are learnt from


def test_the_estimator_stops_by_the_rows_left_out() -> None:
    table = noisy("two classes")
    X, y = table.rows(range(3)), table.target
    options: dict[str, Any] = {"n_estimators": 200, "learning_rate": 0.3, "subsample": 0.5, "random_state": 0}
    model = BoostingClassifier(early_stopping="oob", **options).fit(X, y)
    sums = np.cumsum(model.oob_improvement_)
    assert model.n_estimators_ == sums.argmax() + 1 < 200
    assert len(model.oob_scores_) == len(model.train_loss_) == len(sums)


def test_rows_must_be_left_out() -> None:
    with pytest.raises(ParameterError, match=r"subsample=1\.0 draws all"):
        BoostingSettings("squared_error", early_stopping="oob")
    rules = BoostingSettings("squared_error", early_stopping="oob", subsample=0.99)
    with pytest.raises(DataError, match=r"0\.99 of 20 rows draws all"):
        boost(noisy("squared_error", 20), rules)


@pytest.mark.parametrize("splits", ["exact", "binned"])
def test_groups_are_left_out_of_a_round_as_a_whole(splits: Any) -> None:
    # Rows of a group are alike in X, so that a leaf with a part of a group shows that the group was divided.
    generator = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 4)
    table = Table.from_arrays(
        generator.normal(size=(30, 2))[groups], generator.normal(size=120), task="regression"
    )
    options = {**GREEDY, "splits": splits, "max_depth": 6}
    run = boost(table, BoostingSettings("squared_error", 8, subsample=0.5, **options), groups=groups, seed=1)
    counts = np.concatenate([tree.count for tree in run.ensemble])
    assert [float(tree.count[0]) for tree in run.ensemble] == [60.0] * 8
    assert (counts % 4 == 0).all()


def test_without_a_draw_the_seed_changes_nothing() -> None:
    table = noisy("two classes")
    one, other = (boost(table, BoostingSettings("log_loss", 5), seed=seed) for seed in (0, 1))
    assert np.array_equal(one.ensemble.scores(table), other.ensemble.scores(table))
    assert len(one.validation_loss) == len(one.oob_improvement) == 0
