"""The picture of a tree on matplotlib."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import pyplot as plt

import holdfast as hf
from holdfast import plots

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def model() -> hf.TreeClassifier:
    draw = np.random.default_rng(0)
    X = draw.normal(size=(80, 3))
    return hf.TreeClassifier(max_depth=3, random_state=0).fit(X, X[:, 0] + X[:, 1] ** 2 > 0.5)


def test_it_has_the_texts_of_the_svg_inside_the_axes(model: hf.TreeClassifier) -> None:
    display = plots.plot_tree(model)
    drawn = [each.get_text() for each in display.ax_.texts]
    written = [each.text for each in ElementTree.fromstring(model.tree_.to_svg()).iter(f"{SVG}text")]
    assert drawn == written
    display.figure_.canvas.draw()  # type: ignore[union-attr]
    frame = display.ax_.get_window_extent()
    for each in display.ax_.texts:
        box = each.get_window_extent()
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1
    plt.close("all")


def test_it_is_drawn_smaller_on_smaller_axes(model: hf.TreeClassifier) -> None:
    figure, axes = plt.subplots(1, 2)
    display = plots.plot_tree(model, ax=axes[1], positive=True)
    assert display.figure_ is figure
    assert not axes[0].texts
    whole = plots.plot_tree(model)
    assert display.ax_.texts[0].get_fontsize() < whole.ax_.texts[0].get_fontsize()
    plt.close("all")


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_files_are_the_same_each_time(model: hf.TreeClassifier, tmp_path: Path, ending: str) -> None:
    paths = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for path in paths:
        plots.TreeDisplay(model.tree_).save(path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert not plt.get_fignums()
