"""Importances as bars: which, how long, and in what order."""

from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.container import ErrorbarContainer
from numpy.testing import assert_allclose
from sklearn.ensemble import RandomForestClassifier

import holdfast as hf
from holdfast import errors, growth, plots
from holdfast.explain.feature_use import feature_use
from reference.plot_texts import are_all_plain, texts_of


def rows(n_features, n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_features))
    return X, (X[:, 0] - X[:, -1] > 0).astype(int)


def whiskers(ax):
    (container,) = [each for each in ax.containers if isinstance(each, ErrorbarContainer)]
    return np.array([line[:, 0] for line in container.lines[2][0].get_segments()])


@pytest.mark.parametrize("n_features", [3, 30, 200])
def test_the_most_important_features_stand_first_and_a_note_says_how_many_are_left_out(n_features):
    model = hf.ForestClassifier(n_estimators=5, random_state=0).fit(*rows(n_features))
    display = plots.ImportanceDisplay.from_estimator(model).plot()
    shown = min(n_features, 20)
    frame = model.importances_.to_frame("pandas").head(shown)
    bars = display.ax_.patches
    assert_allclose([bar.get_width() for bar in bars], frame["total_decrease"])
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == list(frame["feature"])
    ends = frame["total_decrease"] + frame["total_decrease_deviation"]
    assert_allclose(whiskers(display.ax_)[:, 1], ends)
    note = f"{shown} of {n_features} shown"
    assert (note in display.ax_.get_xlabel()) == (n_features > 20)


def test_whiskers_of_what_cannot_be_negative_end_at_nothing():
    model = hf.ForestClassifier(n_estimators=5, random_state=0).fit(*rows(30))
    assert whiskers(model.importances_.plot().ax_).min() >= 0.0


def test_permutation_is_shown_where_it_was_measured_and_other_kinds_on_request():
    X, y = rows(3)
    model = hf.ForestClassifier(n_estimators=5, random_state=0, permutation_importance=True).fit(X, y)
    table = model.importances_
    display = table.plot()
    assert "loss of accuracy when the feature is permuted" in display.ax_.get_xlabel()
    assert_allclose([bar.get_width() for bar in display.ax_.patches], np.sort(table.permutation.mean)[::-1])
    display = table.plot(kind="decrease_per_split", max_features=1)
    assert_allclose([bar.get_width() for bar in display.ax_.patches], [table.decrease_per_split.mean.max()])
    with pytest.raises(hf.ParameterError, match="kind='colour' is unknown"):
        table.plot(kind="colour")
    with pytest.raises(hf.ParameterError, match="max_features=0"):
        table.plot(max_features=0)


def test_a_kind_that_was_not_measured_is_refused_with_the_way_out():
    model = hf.ForestClassifier(n_estimators=2, random_state=0).fit(*rows(3))
    with pytest.raises(hf.ParameterError, match="permutation_importance=True"):
        model.importances_.plot(kind="permutation")


def test_the_use_of_features_by_a_collection_has_its_mean_and_spread():
    table = hf.Table.from_arrays(*rows(4))
    trees = growth.grow_bootstraps(table, n_estimators=6)
    display = feature_use(trees).plot()
    each = np.array([tree.importances for tree in trees])
    order = np.argsort(-each.mean(axis=0), kind="stable")
    assert_allclose([bar.get_width() for bar in display.ax_.patches], each.mean(axis=0)[order])
    assert_allclose(whiskers(display.ax_)[:, 1], (each.mean(axis=0) + each.std(axis=0, ddof=1))[order])


def test_a_stable_tree_marks_its_own_importance():
    X, y = rows(4)
    model = hf.StableTreeClassifier(method="bootstrap", n_estimators=4, random_state=0).fit(X, y)
    display = plots.ImportanceDisplay.from_estimator(model).plot()
    (marks,) = [line for line in display.ax_.lines if line.get_label() == "chosen tree"]
    own = dict(zip(model.schema_.names, model.tree_.importances, strict=True))
    ticks = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert_allclose(marks.get_xdata(), [own[name] for name in ticks])


def test_a_tree_and_models_of_others_have_bars_without_whiskers():
    X, y = rows(3)
    ours = hf.TreeClassifier().fit(X, y)
    theirs = RandomForestClassifier(n_estimators=3, random_state=0).fit(X, y)
    for model in (ours, theirs):
        display = plots.ImportanceDisplay.from_estimator(model).plot()
        assert_allclose(
            [bar.get_width() for bar in display.ax_.patches], np.sort(model.feature_importances_)[::-1]
        )
        assert not display.ax_.collections
    with pytest.raises(errors.ModelError, match="has no importances"):
        plots.ImportanceDisplay.from_estimator(object())


@pytest.mark.filterwarnings("ignore:Glyph")
def test_any_name_is_plain_text_on_the_axes_that_are_given_and_no_setting_changes():
    names = ("<script>alert(1)</script>", "cost $a$ and $b", "年龄 عمر", "x" * 300)
    before = dict(mpl.rcParams)
    _, ax = plt.subplots()
    display = plots.ImportanceDisplay(names, np.array([4.0, 3.0, 2.0, 1.0])).plot(ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert dict(mpl.rcParams) == before
    display.figure_.canvas.draw()
    assert {names[0], names[1], names[2]} <= set(texts_of(ax.figure))
    assert are_all_plain(ax.figure)
    assert max(len(tick.get_text()) for tick in ax.get_yticklabels()) <= 32


@pytest.mark.parametrize("ax", [None, "small"])
def test_two_hundred_names_do_not_touch(ax):
    names = tuple(f"measurement number {number}" for number in range(200))
    ax = ax and plt.subplots()[1]
    display = plots.ImportanceDisplay(names, np.arange(200.0), max_features=200).plot(ax=ax)
    display.figure_.draw_without_rendering()
    boxes = [tick.get_window_extent() for tick in display.ax_.get_yticklabels()]
    assert len(boxes) == 200 or (ax and len(boxes) > 30)
    assert all(above.y0 >= below.y1 for above, below in pairwise(boxes))
