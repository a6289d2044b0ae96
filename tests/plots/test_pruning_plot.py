"""The sizes of a tree as a picture."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import pyplot as plt

from holdfast import ModelError, ParameterError, PruningDisplay, Table, TreeClassifier, grow, pruning_path
from holdfast.scoring.metric import Metric
from reference.plot_results import LOG_LOSS, sizes

# 0.85 with 2 leaves is within 0.06 of 0.9 with 3.
FOUR = sizes([4, 3, 2, 1], [0.78, 0.9, 0.85, 0.5], [0.05, 0.06, 0.04, 0.0])


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def legend(display: Any) -> list[str]:
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def curve(display: Any) -> Any:
    return np.array(display.ax_.lines[0].get_xydata())


def limit(display: Any) -> float:
    return float(next(line for line in display.ax_.lines if line.get_linestyle() == "--").get_ydata()[0])


def bars(display: Any) -> list[list[list[float]]]:
    return [np.round(each, 9).tolist() for each in display.ax_.collections[0].get_segments()]


def test_every_size_stands_at_its_leaves_and_its_mean_with_a_bar_of_one_standard_error() -> None:
    display = PruningDisplay.from_result(FOUR).plot()
    assert curve(display).tolist() == [[4, 0.78], [3, 0.9], [2, 0.85], [1, 0.5]]
    assert [[3.0, 0.84], [3.0, 0.96]] in bars(display)
    assert limit(display) == pytest.approx(0.84)


def test_the_best_and_the_chosen_size_are_named() -> None:
    told = legend(PruningDisplay.from_result(FOUR).plot())
    assert told == [
        "mean of 2 folds, ± one standard error",
        "one standard error below the best",
        "best: 3 leaves, 0.9, ccp_alpha 0.1",
        "chosen: 2 leaves, 0.85, ccp_alpha 0.2",
    ]
    alone = legend(PruningDisplay.from_result(sizes([1], [0.5])).plot())
    assert "best and chosen: 1 leaf, 0.5, ccp_alpha 0" in alone


def test_of_a_loss_the_line_stands_above_the_best() -> None:
    table = sizes([9, 3, 1], [-6.0, -0.4, -0.69], [1.0, 0.05, 0.0], metric=LOG_LOSS)
    display = PruningDisplay.from_result(table).plot()
    assert limit(display) == pytest.approx(0.45)
    assert display.heading == "log loss by the size of the tree, lower is better"
    assert "one standard error above the best" in legend(display)


def test_many_sizes_have_bars_at_some_and_always_at_those_that_are_named() -> None:
    n_leaves = np.arange(400, 0, -1)
    scores = 0.9 - 0.02 * (np.log10(n_leaves) - 2) ** 2
    table = sizes(n_leaves, scores, np.full(400, 0.004))
    display = PruningDisplay.from_result(table).plot()
    assert len(curve(display)) == 400
    at = {round(segment[0][0]) for segment in bars(display)}
    assert 20 < len(at) < 60
    assert {int(n_leaves[table.best]), int(n_leaves[table.chosen])} <= at
    assert "mean of 2 folds, ± one standard error (at some sizes)" in legend(display)
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_xlabel() == "number of leaves, logarithmic scale"


@pytest.mark.parametrize(
    "table",
    [
        sizes([2, 1], [0.7, 0.5], [0.02, 0.0]),
        sizes([25, 7, 1], [0.8, 0.8, 0.8]),
        sizes([7, 3, 1], [-1e300, -3e200, -1e299], [np.inf] * 3, metric=LOG_LOSS),
        sizes([31, 8, 1], [0.8, 0.9, 0.5], [0.01] * 3, parameter="max_leaf_nodes"),
        sizes([3, 1], [0.8, 0.5], metric=Metric("odd", "<script> & $x$ " * 30, False)),
    ],
)
def test_odd_tables_are_drawn_too(table: Any) -> None:
    root = ElementTree.fromstring(table._repr_html_())
    assert "nan" not in "".join(each.text or "" for each in root.iter())
    assert isinstance(table.plot(by="parameter"), PruningDisplay)


def test_the_parameter_is_an_axis_too() -> None:
    display = FOUR.plot(by="parameter")
    assert curve(display)[:, 0].tolist() == FOUR.values.tolist()
    assert display.ax_.get_xlabel() == "ccp_alpha"
    with pytest.raises(ParameterError, match="by='depth' is unknown"):
        FOUR.plot(by="depth")


def test_a_path_shows_the_risks_of_its_subtrees() -> None:
    path = pruning_path(grow(Table.from_arrays([[1.0], [2.0], [3.0], [4.0]], ["a", "b", "a", "a"])))
    display = path.plot()
    assert curve(display)[:, 1].tolist() == path.risks.tolist()
    assert legend(display) == ["on the training rows"]


def test_a_model_of_one_size_has_nothing_to_draw() -> None:
    model = TreeClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ModelError, match='ccp_alpha="cv"'):
        PruningDisplay.from_estimator(model)


def test_the_picture_in_the_documentation_is_one_of_these() -> None:
    picture = Path(__file__).parents[2] / "docs" / "images" / "sizes.svg"
    root = ElementTree.parse(picture).getroot()
    assert root[0].text == "accuracy by the size of the tree"
