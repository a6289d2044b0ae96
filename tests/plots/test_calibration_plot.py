"""What leaves predict and what came true, and the ROC curve, against scikit-learn and figures by hand."""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import roc_auc_score

import holdfast as hf
from holdfast import plots
from reference.plot_texts import are_all_plain


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.where(X[:, 0] + rng.normal(size=400) > 1, "ill", "well")
    return X[:200], y[:200], X[200:], y[200:]


@pytest.fixture(scope="module")
def model(rows):
    return hf.TreeClassifier(max_leaf_nodes=5, min_samples_leaf=10).fit(rows[0], rows[1])


def test_every_leaf_has_a_point_with_wilsons_interval(rows, model):
    _, _, X, y = rows
    display = plots.CalibrationDisplay.from_estimator(model, X, y).plot()
    leaves, said = model.apply(X), model.predict_proba(X)[:, 0]
    assert display.positive == "ill"
    by_hand = sorted(
        (said[leaves == leaf][0], (y[leaves == leaf] == "ill").mean(), np.count_nonzero(leaves == leaf))
        for leaf in np.unique(leaves)
    )
    assert_allclose([(point.predicted, point.observed, point.n_rows) for point in display.points], by_hand)
    for point in display.points:
        # Both ends lie 1.96 standard errors, as they would be there, from what was observed.
        for end in (point.low, point.high):
            away = abs(point.observed - end)
            assert away == pytest.approx(1.959964 * np.sqrt(end * (1 - end) / point.n_rows), abs=1e-6)
    intervals, marks = display.ax_.collections
    assert len(intervals.get_segments()) == len(by_hand) == len(marks.get_offsets())
    assert_allclose(marks.get_offsets()[:, 1], [observed for _, observed, _ in by_hand])
    assert np.argmax(marks.get_sizes()) == np.argmax([point.n_rows for point in display.points])


def test_another_model_has_ten_bins_of_equally_many_rows(rows):
    X, y, X_new, y_new = rows
    forest = hf.ForestClassifier(n_estimators=30, random_state=0).fit(X, y)
    display = plots.CalibrationDisplay.from_estimator(forest, X_new, y_new)
    assert not display.by_leaf
    assert len(display.points) == 10
    assert sum(point.n_rows for point in display.points) == 200
    assert sum(point.observed * point.n_rows for point in display.points) == pytest.approx(
        np.count_nonzero(y_new == "ill")
    )


def test_the_roc_curve_is_of_the_rarer_class_unless_another_is_asked_for(rows, model):
    _, _, X, y = rows
    display = plots.RocDisplay.from_estimator(model, X, y).plot()
    area = roc_auc_score(y == "ill", model.predict_proba(X)[:, 0])
    assert display.roc_auc == pytest.approx(area)
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == [
        f"AUC {area:.3f}",
        "chance",
    ]
    # A point for every different probability, and the origin.
    assert len(display.ax_.lines[0].get_xdata()) == len(np.unique(model.predict_proba(X)[:, 0])) + 1
    other = plots.RocDisplay.from_estimator(model, X, y, positive="well")
    assert other.roc_auc == pytest.approx(area)
    assert other.positive == "well"


def test_a_tree_itself_is_shown_as_its_estimator_is(rows, model):
    _, _, X, y = rows
    points = plots.CalibrationDisplay.from_estimator(model.tree_, X, y).points
    assert points == plots.CalibrationDisplay.from_estimator(model, X, y).points
    assert plots.RocDisplay.from_estimator(model.tree_, X, y).by_leaf


def test_of_three_classes_one_must_be_named(rows):
    X, _, _, _ = rows
    y = np.where(X[:, 1] > 1, "a$b$", np.where(X[:, 1] < -1, "b", "c"))
    tree = hf.TreeClassifier(max_depth=2).fit(X, y)
    with pytest.raises(hf.ParameterError, match="3 classes: choose with positive="):
        plots.CalibrationDisplay.from_estimator(tree, X, y)
    with pytest.raises(hf.ParameterError, match="positive='d' is no class"):
        plots.RocDisplay.from_estimator(tree, X, y, positive="d")
    before = dict(mpl.rcParams)
    display = plots.CalibrationDisplay.from_estimator(tree, X, y, positive="a$b$").plot()
    assert dict(mpl.rcParams) == before
    assert are_all_plain(display.figure_)


def test_numbers_have_no_classes_to_calibrate(rows):
    X, _, _, _ = rows
    model = hf.TreeRegressor(max_depth=2).fit(X, X[:, 0])
    with pytest.raises(hf.ParameterError, match="TreeRegressor predicts numbers"):
        plots.RocDisplay.from_estimator(model, X, X[:, 0])


def test_rows_and_classes_must_be_as_many(rows, model):
    _, _, X, y = rows
    with pytest.raises(hf.DataError, match="X has 200 rows and y has 199"):
        plots.CalibrationDisplay.from_estimator(model, X, y[1:])
