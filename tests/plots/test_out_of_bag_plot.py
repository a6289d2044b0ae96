"""The out-of-bag error by the number of trees."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast import errors, plots


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    return X, X[:, 0] + 0.5 * rng.normal(size=80)


def curve(display):
    line = display.ax_.lines[0]
    return line.get_xdata(), line.get_ydata()


def test_the_last_point_is_the_error_of_rows_by_the_trees_that_never_saw_them(rows):
    X, number = rows
    y = number > 0
    model = hf.ForestClassifier(n_estimators=25, oob_score=True, random_state=0).fit(X, y)
    n_trees, error = curve(plots.OutOfBagDisplay.from_estimator(model).plot())
    predicted = model.classes_[model.oob_decision_function_.argmax(axis=1)]
    assert n_trees[-1] == 25
    assert error[-1] == pytest.approx((predicted != y).mean())
    assert_allclose(error, 1.0 - model.oob_curve_.scores)


def test_losses_stand_as_losses_and_other_scores_as_they_are(rows):
    X, number = rows
    by_loss = hf.ForestRegressor(n_estimators=12, oob_score="squared_error", random_state=0).fit(X, number)
    display = plots.OutOfBagDisplay.from_estimator(by_loss).plot()
    assert curve(display)[1][-1] == pytest.approx(np.square(by_loss.oob_prediction_ - number).mean())
    by_score = hf.ForestRegressor(n_estimators=12, oob_score=True, random_state=0).fit(X, number)
    display = plots.OutOfBagDisplay.from_estimator(by_score).plot()
    assert curve(display)[1][-1] == pytest.approx(by_score.oob_score_)
    assert display.ax_.get_ylabel() == "out-of-bag R²"
    assert curve(by_score.oob_curve_.plot())[1][-1] == by_score.oob_score_


def test_two_models_stand_on_one_plot_under_their_names(rows):
    X, number = rows
    _, ax = plt.subplots()
    for name, max_features in (("all", None), ("$one$", 1)):
        model = hf.ForestRegressor(n_estimators=12, max_features=max_features, oob_score=True, random_state=0)
        display = plots.OutOfBagDisplay.from_estimator(model.fit(X, number), name=name).plot(ax=ax)
    assert display.ax_ is ax
    texts = ax.get_legend().get_texts()
    assert [text.get_text().split(":")[0] for text in texts] == ["all", "$one$"]
    assert not any(text.get_parse_math() for text in texts)


def test_a_forest_without_a_curve_says_how_to_get_one(rows):
    X, number = rows
    model = hf.ForestRegressor(n_estimators=2, random_state=0).fit(X, number)
    with pytest.raises(errors.ModelError, match="oob_score=True"):
        plots.OutOfBagDisplay.from_estimator(model)
