"""Losses by rounds of boosting, and where it stopped."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose
from sklearn.metrics import log_loss

import holdfast as hf
from holdfast import errors, plots
from holdfast.ensembles.boosting import BoostingSettings, boost
from reference.plot_texts import texts_of


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    return X, X[:, 0] + rng.normal(size=120) > 0


def lines(display):
    return {line.get_label(): line for line in display.ax_.lines if not line.get_label().startswith("_")}


def test_without_early_stopping_there_is_the_loss_of_the_rows_learnt_from(rows):
    X, y = rows
    model = hf.BoostingClassifier(n_estimators=8).fit(X, y)
    display = plots.BoostingDisplay.from_estimator(model).plot()
    (line,) = lines(display).values()
    by_hand = [log_loss(y, said) for said in model.staged_predict_proba(X)]
    assert_allclose(line.get_ydata(), by_hand)
    assert line.get_xdata().tolist() == list(range(1, 9))
    assert display.ax_.get_ylabel() == "mean log loss"
    assert not any("kept" in text for text in texts_of(display.figure_))


def test_with_early_stopping_the_last_round_that_was_kept_is_marked(rows):
    X, y = rows
    model = hf.BoostingClassifier(
        n_estimators=200, early_stopping=True, n_iter_no_change=5, subsample=0.7, random_state=0
    ).fit(X, y)
    display = plots.BoostingDisplay.from_estimator(model).plot()
    drawn, kept = lines(display), model.n_estimators_
    assert list(drawn) == ["training", "validation", "left out of the round"]
    validation = drawn["validation"].get_ydata()
    assert len(validation) == kept + 5
    assert kept == validation.argmin() + 1
    assert f"{kept} rounds kept" in texts_of(display.figure_)
    assert [kept, validation.min()] in [
        [line.get_xdata()[0], line.get_ydata()[0]] for line in display.ax_.lines
    ]


def test_the_result_draws_itself_on_the_axes_that_are_given(rows):
    _, ax = plt.subplots()
    found = boost(hf.Table.from_arrays(*rows), BoostingSettings(loss="log_loss", n_estimators=3))
    display = found.plot(ax=ax)
    assert display.ax_ is ax
    assert_allclose(lines(display)["training"].get_ydata(), found.train_loss)


def test_a_model_that_keeps_no_losses_is_refused(rows):
    with pytest.raises(errors.ModelError, match="AdaBoostClassifier keeps no losses"):
        plots.BoostingDisplay.from_estimator(hf.AdaBoostClassifier(n_estimators=2).fit(*rows))
