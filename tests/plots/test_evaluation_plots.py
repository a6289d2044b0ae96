"""Split support, audits, comparisons, replications and distances as pictures."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt

import holdfast as hf
from holdfast import plots
from reference.plot_results import LOG_LOSS, audit, comparison, replications, support


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def legend(display: Any) -> list[str]:
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def row_names(display: Any) -> list[str]:
    return [text.get_text() for text in display.ax_.get_yticklabels()]


def words(display: Any) -> list[str]:
    return [text.get_text() for text in display.ax_.texts]


# -- split support ----------------------------------------------------------------------------------------


def test_thresholds_stand_on_the_range_of_their_feature() -> None:
    display = plots.SplitSupportDisplay.from_result([support("age <= 30")]).plot()
    lines = {str(line.get_label()): np.array(line.get_xdata()) for line in display.ax_.lines}
    strokes = lines["thresholds of other trees (longer: more trees)"]
    assert strokes[~np.isnan(strokes)].tolist() == [0.2, 0.2, 0.3, 0.3, 0.4, 0.4]
    assert lines["threshold of this tree"].tolist() == [0.3]
    assert {"age <= 30", "75 %"} <= set(words(display))


def test_a_set_of_categories_has_words_and_no_thresholds() -> None:
    categories = (("A", 1.0), ("B", 0.5))
    display = plots.SplitSupportDisplay.from_result(
        [support("ward = A", categories=categories, threshold=None, tree_thresholds=(), candidates=None)]
    ).plot()
    assert "75 % of the categories go the same way" in words(display)
    assert legend(display) == ["reference trees that split on it there"]


@pytest.mark.parametrize("n_splits", [3, 30, 200])
def test_of_many_splits_those_nearest_to_the_root_are_shown(n_splits: int) -> None:
    supports = [support(f"x{number} <= 30", depth=number % 7) for number in range(n_splits)]
    display = plots.SplitSupportDisplay.from_result(supports).plot()
    questions = [word for word in words(display) if "<=" in word]
    assert len(questions) == min(n_splits, 20)
    note = display.ax_.get_xlabel()
    assert note == ("" if n_splits == 3 else f"20 of {n_splits} splits shown")


def test_a_fitted_tree_tells_the_thresholds_of_its_references() -> None:
    X = np.random.default_rng(0).normal(size=(80, 3))
    model = hf.StableTreeClassifier(method="bootstrap", n_estimators=5).fit(X, X[:, 0] > 0)
    found = model.split_support()
    first = found[0]
    asking = [*model.reference_trees_, *model.trained_.sampled_candidates]
    at_root = sorted(float(tree.threshold[0]) for tree in asking if tree.feature[0] == 0)
    assert list(first.tree_thresholds) == at_root
    assert first.range == (X[:, 0].min(), X[:, 0].max())
    assert first.threshold == model.tree_.threshold[0]
    assert isinstance(found.plot(), plots.SplitSupportDisplay)
    assert isinstance(plots.DistanceDisplay.from_estimator(model).plot(), plots.DistanceDisplay)
    assert isinstance(plots.FrontierDisplay.from_estimator(model).plot(), plots.FrontierDisplay)


# -- audits -----------------------------------------------------------------------------------------------

METHODS = {"tree": (0.8, 0.1, 5.0), "forest": (0.9, 0.05, np.nan)}


def test_every_method_stands_at_its_means_with_bars_of_its_errors() -> None:
    found = audit(METHODS)
    display = plots.AuditDisplay.from_result(found).plot()
    points = [np.array(each.lines[0].get_xydata())[0] for each in display.ax_.containers]
    for method, point in zip(METHODS, points, strict=True):
        assert point == pytest.approx([found.mean(method, "churn"), found.mean(method, "auc")])
    # Two repetitions, 0.8 and 0.88: the standard error is half of what they are apart.
    assert display.y_error[0] == pytest.approx(0.04)
    assert len({each.lines[0].get_marker() for each in display.ax_.containers}) == 2


def test_a_method_without_the_measure_is_named_in_a_note() -> None:
    display = audit(METHODS).plot(against="distance")
    assert len(display.ax_.containers) == 1
    assert display.ax_.get_xlabel().endswith("no distance: forest")


# -- comparisons ------------------------------------------------------------------------------------------


def test_models_stand_one_below_the_other_the_best_first() -> None:
    display = comparison({"tree": [0.7, 0.8, 0.75], "forest": [0.9, 0.92, 0.94]}).plot()
    assert row_names(display) == ["forest", "tree"]
    means = sorted(float(each.lines[0].get_xdata()[0]) for each in display.ax_.containers)
    assert means == pytest.approx([0.75, 0.92])


def test_a_model_that_failed_says_so_and_losses_are_shown_as_people_say_them() -> None:
    display = comparison({"tree": [-0.5, -0.7], "odd": [-0.4, np.nan]}, LOG_LOSS).plot()
    assert display.mean[0] == pytest.approx(0.6)
    assert words(display) == ["failed"]
    assert display.ax_.get_xlabel() == "log loss, lower is better"


def test_of_many_models_the_best_are_shown() -> None:
    display = comparison({f"model {n}": [0.5 + n / 1000, 0.52 + n / 1000] for n in range(30)}).plot()
    assert row_names(display)[0] == "model 29"
    assert len(row_names(display)) == 20
    assert "20 of 30 models shown" in display.ax_.get_xlabel()


# -- replications -----------------------------------------------------------------------------------------


def test_replications_show_each_and_their_mean() -> None:
    found = replications(3)
    display = found.plot()
    told = legend(display)
    assert "chosen: AUC 0.881, instability 8.1" in told
    assert "random forest: AUC 0.861" in told
    small = [line for line in display.ax_.lines if len(line.get_xdata()) == 3]
    assert len(small) == 4


# -- distances --------------------------------------------------------------------------------------------


def test_points_of_the_plane_keep_the_distances_of_a_triangle() -> None:
    sides = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    display = plots.DistanceDisplay(sides, kind="map").plot()
    points = display.points
    apart = np.sqrt(((points[:, np.newaxis] - points) ** 2).sum(axis=2))
    assert apart == pytest.approx(sides, abs=1e-9)
    assert "100 % of the squared distances" in display.ax_.get_xlabel()


def test_the_matrix_puts_like_beside_like() -> None:
    # 0 and 2 are near each other, and so are 1 and 3.
    far = np.array([[0, 9, 1, 9], [9, 0, 9, 1], [1, 9, 0, 9], [9, 1, 9, 0]], float)
    display = plots.DistanceDisplay(far, names=("a", "b", "c", "d")).plot()
    order = display.order.tolist()
    assert {frozenset(order[:2]), frozenset(order[2:])} == {frozenset({0, 2}), frozenset({1, 3})}
    shown = display.ax_.images[0].get_array()
    assert np.asarray(shown).tolist() == far[np.ix_(order, order)].tolist()
    assert row_names(display) == ["abcd"[place] for place in order]


def test_a_collection_of_one_or_alike_trees_is_drawn_too() -> None:
    for kind in ("matrix", "map"):
        for n_trees in (1, 60):
            assert plots.DistanceDisplay(np.zeros((n_trees, n_trees)), kind=kind).plot()


def test_what_is_no_square_matrix_is_refused() -> None:
    with pytest.raises(hf.DataError, match="square matrix"):
        plots.DistanceDisplay(np.zeros((2, 3)))
    with pytest.raises(hf.DataError, match="names must be one for each of 2 trees: 1"):
        plots.DistanceDisplay(np.zeros((2, 2)), names=("a",))
    with pytest.raises(hf.ParameterError, match="choose 'matrix' or 'map'"):
        plots.DistanceDisplay(np.zeros((2, 2)), kind="plane")  # type: ignore[arg-type]
