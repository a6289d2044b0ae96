"""The space of two features, cut up by a tree: against the tree itself, asked point by point."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle

import holdfast as hf
from holdfast import errors, plots
from reference.plot_texts import are_all_plain, texts_of


def patients(n=150, n_more=0):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 90, n).astype(float),
            "weight": rng.normal(80.0, 10.0, n).round(1),
            "place": rng.choice(["East", "North", "South", "West"], n),
            **{f"x{number}": rng.normal(size=n) for number in range(n_more)},
        }
    )
    risk = frame["age"] / 40 + 1.5 * frame["place"].isin(["North", "West"]) + frame["weight"] / 40
    frame.loc[::10, "age"] = np.nan
    return frame, np.where(risk + rng.normal(size=n) / 2 > 4.6, "ill", "well"), risk


@pytest.fixture(scope="module")
def model():
    X, y, _ = patients()
    return hf.TreeClassifier(max_leaf_nodes=9, min_samples_leaf=5).fit(X, y)


def region_at(display, x, y):
    found = [
        region
        for region in display.regions
        if region.x[0] < x <= region.x[1] and region.y[0] < y <= region.y[1]
    ]
    assert len(found) == 1
    return found[0]


def test_every_point_lies_in_the_region_of_its_leaf_when_the_others_are_held(model):
    X, y, _ = patients()
    display = plots.PartitionDisplay.from_estimator(model, X, y, features=["age", "place"])
    (held,) = display.held
    assert held.feature.name == "weight"
    assert held.value == np.sort(X["weight"])[(len(X) - 1) // 2]
    moved = X.assign(weight=held.value)
    leaves = model.apply(moved)
    places = display.y.places(display.points[:, 1])
    for x, place, leaf in zip(display.x.places(display.points[:, 0]), places, leaves, strict=True):
        assert region_at(display, x, place).leaf == leaf
    assert display.n_elsewhere == np.count_nonzero(leaves != model.apply(X)) > 0


def test_regions_cover_the_plot_without_overlapping(model):
    X, y, _ = patients()
    display = plots.PartitionDisplay.from_estimator(model, X, y, features=["place", "age"])
    age = display.y
    height = age.high - age.low + age.missing[1] - age.missing[0]
    assert sum(region.area for region in display.regions) == pytest.approx(4 * height)
    rng = np.random.default_rng(0)
    for x, y in zip(rng.uniform(-0.5, 3.5, 50), rng.uniform(age.low, age.high, 50), strict=True):
        region_at(display, x, y)  # just one


def test_the_drawing_has_a_rectangle_for_each_region_and_a_mark_for_each_row(model):
    X, y, _ = patients()
    display = plots.PartitionDisplay.from_estimator(model, X, y).plot()
    assert display.x.feature.name == X.columns[model.tree_.importances.argmax()]
    drawn = [patch for patch in display.ax_.patches if isinstance(patch, Rectangle)]
    corners = sorted((patch.get_x(), patch.get_y(), patch.get_width(), patch.get_height()) for patch in drawn)
    by_hand = sorted(
        (region.x[0], region.y[0], region.x[1] - region.x[0], region.y[1] - region.y[0])
        for region in display.regions
    )
    np.testing.assert_allclose(corners, by_hand)
    marks = [group for group in display.ax_.collections if group.get_gid() == "rows"]
    assert {group.get_label(): len(group.get_offsets()) for group in marks} == {
        "ill": np.count_nonzero(y == "ill"),
        "well": np.count_nonzero(y == "well"),
    }
    texts = " ".join(texts_of(display.figure_))
    assert "Fixed at: " in texts
    assert f"{display.n_elsewhere} of 150 rows" in texts.replace("\n", " ")
    assert "missing" in texts


def test_two_classes_tell_the_probability_of_the_one_that_matters():
    X, y = [[float(age)] for age in range(40)], ["ill"] * 4 + ["well"] * 16 + ["ill"] * 13 + ["well"] * 7
    tree = hf.TreeClassifier(max_leaf_nodes=2, min_samples_leaf=15).fit(X, y)
    display = plots.PartitionDisplay.from_estimator(tree, X, y, positive="ill").plot()
    said = [text for text in texts_of(display.figure_) if text.endswith("%")]
    cut = int(tree.tree_.threshold[0] + 1)
    shares = [y[:cut].count("ill") / cut, y[cut:].count("ill") / (40 - cut)]
    assert said == [f"ill {share:.0%}".replace("%", " %") for share in shares]


def test_given_values_are_held_and_may_be_missing(model):
    X, y, _ = patients()
    for value in ("West", None):
        display = plots.PartitionDisplay.from_estimator(
            model, X, y, features=["age", "weight"], at={"place": value}
        )
        assert display.held[0].label == value
        leaves = model.apply(X.assign(place=pd.Series([value] * len(X), dtype=object)))
        for x, weight, leaf in zip(
            display.x.places(display.points[:, 0]), display.points[:, 1], leaves, strict=True
        ):
            assert region_at(display, x, weight).leaf == leaf
    for wrong, why in (
        ({"age": 3}, "is on an axis"),
        ({"size": 3}, "is no feature"),
        ({"place": "Up"}, "Up"),
    ):
        with pytest.raises(hf.ParameterError, match=why):
            plots.PartitionDisplay.from_estimator(model, X, y, features=["age", "weight"], at=wrong)


def test_ordered_categories_stand_in_their_order():
    levels = ["low", "medium", "high"]
    frame = pd.DataFrame({"dose": pd.Categorical(levels * 10, levels, ordered=True), "age": np.arange(30.0)})
    y = (frame["dose"] == "high").to_numpy()
    tree = hf.TreeClassifier().fit(frame, y)
    display = plots.PartitionDisplay.from_estimator(tree, frame, y, features=["dose", "age"]).plot()
    assert [region.x for region in display.regions] == [(-0.5, 1.5), (1.5, 2.5)]
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == levels


def test_numbers_have_colours_with_a_scale():
    X, _, risk = patients()
    model = hf.TreeRegressor(max_leaf_nodes=4).fit(X, risk)
    display = plots.PartitionDisplay.from_estimator(model, X, risk).plot()
    assert len(display.figure_.axes) == 2  # the plot and its scale
    assert not plots.PartitionDisplay.from_estimator(model, X).plot().figure_.axes[1:]


@pytest.mark.parametrize("n_more", [0, 27, 197])
def test_any_number_of_features_is_held_where_the_tree_asks_about_them(n_more):
    X, y, _ = patients(n_more=n_more)
    tree = hf.TreeClassifier(max_leaf_nodes=12).fit(X, y).tree_
    display = plots.PartitionDisplay.from_estimator(tree, X, y).plot()
    asked = {tree.schema.names[number] for number in tree.feature if number >= 0}
    shown = {display.x.feature.name, display.y.feature.name}
    assert {held.feature.name for held in display.held} == asked - shown


@pytest.mark.filterwarnings("ignore:Glyph")
def test_any_name_is_plain_text_on_the_axes_that_are_given_and_no_setting_changes():
    names = ["<script> $a$", "年龄 $b$"]
    X = pd.DataFrame(np.arange(40.0).reshape(20, 2), columns=names)
    y = pd.Series(["$no$"] * 10 + ["$yes$"] * 10, name="$y$")
    tree = hf.TreeClassifier().fit(X, y)
    before = dict(mpl.rcParams)
    _, ax = plt.subplots()
    display = plots.PartitionDisplay.from_estimator(tree, X, y, features=names).plot(ax=ax)
    assert display.ax_ is ax
    assert dict(mpl.rcParams) == before
    ax.figure.canvas.draw()
    assert are_all_plain(ax.figure)


def test_what_cannot_be_shown_is_refused(model):
    X, y, _ = patients()
    for features in ("age", [], ["age", "age"], ["age", "weight", "place"]):
        with pytest.raises(hf.ParameterError, match="one or two features"):
            plots.PartitionDisplay.from_estimator(model, X, y, features=features)
    with pytest.raises(hf.ParameterError, match="the tree has no 'size'"):
        plots.PartitionDisplay.from_estimator(model, X, y, features=["size"])
    with pytest.raises(hf.ParameterError, match="y has 149 values"):
        plots.PartitionDisplay.from_estimator(model, X, y[1:])
    forest = hf.ForestClassifier(n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(errors.ModelError, match="ForestClassifier holds no single tree"):
        plots.PartitionDisplay.from_estimator(forest, X, y)
