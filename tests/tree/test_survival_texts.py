"""Texts of survival trees."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast import Table, load, save
from holdfast._text import rounded_percent
from holdfast.data.survival import name_survival
from holdfast.errors import ParameterError
from holdfast.estimators.survival import SurvivalTree
from holdfast.plots.tree import plot_tree
from holdfast.tree.rules_text import rules_text
from holdfast.tree.survival import node_survival


def made_rows(n_rows: int = 200) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    X = random.uniform(20.0, 80.0, (n_rows, 2))
    time = random.exponential(np.where(X[:, 0] > 50, 200.0, 900.0))
    return X, (np.minimum(time, 700.0).round(), time < 700)


@pytest.mark.parametrize(
    ("horizon", "unit", "name"),
    [
        (365.25, "day", "1-year survival"),
        (1826.0, "days", "5-year survival"),
        (1825.0, "days", "5-year survival"),
        (2500.0, "days", "2,500-day survival"),
        (104.0, "weeks", "2-year survival"),
        (18.0, "months", "18-month survival"),
        (5.0, "years", "5-year survival"),
        (0.5, "years", "0.5-year survival"),
        (12.0, "cycles", "survival to 12 cycles"),
        (2500.0, None, "survival to 2,500"),
    ],
)
def test_the_unit_of_times_is_kept_in_the_file_and_names_survival(
    horizon: float, unit: str | None, name: str, tmp_path: Path
) -> None:
    model = SurvivalTree(max_depth=1, horizon=horizon, time_unit=unit).fit(*made_rows())
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.time_unit == unit
    assert name_survival(again.tree_.schema.target.hazard) == name


@pytest.mark.parametrize("unit", [1.0, 7.3, 0.01])
def test_events_are_at_most_rows_and_depend_on_the_relation_of_weights(unit: float) -> None:
    X, y = made_rows()
    weight = np.where(np.arange(200) % 2, 0.5, 1.75)
    tree = SurvivalTree(max_depth=2).fit(X, y, sample_weight=unit * weight).tree_
    same = SurvivalTree(max_depth=2).fit(X, y, sample_weight=weight).tree_
    found = [node_survival(tree, node) for node in range(tree.n_nodes)]
    assert all(0 < each.n_events <= each.n_rows for each in found)
    assert found[0].n_events == pytest.approx(200 * (weight @ y[1]) / weight.sum(), abs=1e-6)
    for node, each in enumerate(found):
        other = node_survival(same, node)
        assert each.risk == pytest.approx(other.risk)
        assert each.interval == pytest.approx(other.interval)


def test_a_unit_that_is_no_word_is_refused() -> None:
    with pytest.raises(ParameterError, match="time_unit"):
        SurvivalTree(time_unit=365).fit(*made_rows())


def hand_tree(**changes: Any) -> Any:
    """Two leaves of four rows; the hazard of all rows is 0.5 at the horizon."""
    X = np.repeat([[1.0], [2.0]], 4, axis=0)
    time = np.array([2.0, 4.0, 6.0, 8.0, 5.0, 6.0, 7.0, 9.0])
    event = np.array([1, 1, 1, 0, 1, 0, 0, 0], bool)
    model = SurvivalTree(
        max_depth=1, min_samples_leaf=1, horizon=5.0, time_unit="years", leaf_values="labels"
    ).fit(X, (time, event))
    return model.tree_.replace(**changes)


def test_leaves_show_predicted_survival_with_the_interval_of_the_observed_one() -> None:
    tree = hand_tree()
    found = [node_survival(tree, leaf) for leaf in (1, 2)]
    assert [each.observed for each in found] == pytest.approx([0.5, 0.75])
    assert [each.n_events for each in found] == [3.0, 1.0]
    text = str(tree)
    assert "5-year survival" in text
    assert "3 of 4" in text
    assert f"{100 * found[0].survival:.0f} % (6 to 84)" in text  # R: survfit(..., conf.type="log-log")
    assert "4 years" in text  # the median of the first leaf
    assert "THEN 5-year survival" in rules_text(tree)
    assert "3 events in 4 rows" in rules_text(tree)
    assert "y = " not in rules_text(tree)


def test_a_prediction_outside_the_interval_stands_beside_the_observed_survival() -> None:
    tree = hand_tree()
    tree = tree.replace(value=tree.value * [[1.0], [10.0], [1.0]])
    found = node_survival(tree, 1)
    assert found.is_outside
    assert "(observed 50 %, 6 to 84)" in str(tree)
    assert "lies outside its interval" in str(tree)


def test_leaves_without_rows_or_curves_are_shown_without_an_interval() -> None:
    tree = hand_tree()
    survival = rounded_percent(node_survival(tree, 1).survival)
    for changed in (tree.replace(curves=None), tree.replace(count=np.zeros(3))):
        line = next(line for line in str(changed).splitlines() if "<=" in line)
        assert survival in line
        assert "(" not in line
        assert "<svg" in changed.to_svg()


def test_survival_is_unknown_at_a_time_until_which_no_row_was_observed() -> None:
    model = SurvivalTree(max_depth=1, min_samples_leaf=1, horizon=5.0).fit(
        [[1.0], [1.0], [2.0], [2.0]], ([1.0, 3.0, 2.0, 9.0], [True, False, True, True])
    )
    assert node_survival(model.tree_, 1).observed is None
    assert node_survival(model.tree_, 2).observed == 0.5


def test_each_leaf_of_the_picture_has_an_observed_and_a_predicted_curve() -> None:
    tree = hand_tree()
    assert tree.to_svg().count('stroke-width="1.4"') == 2
    assert len(plot_tree(tree).ax_.patches) > 0
    assert 'stroke-width="1.4"' not in tree.replace(curves=None).to_svg()


def test_weighted_events_are_fractions_and_said_to_be_by_weight() -> None:
    X, y = made_rows()
    tree = SurvivalTree(max_depth=1).fit(X, y, sample_weight=np.linspace(0.5, 1.5, len(X))).tree_
    assert "events by weight" in str(tree)
    assert "events by weight in" in rules_text(tree)


def test_an_edit_with_rows_counts_events_and_rows_of_the_same_rows() -> None:
    X, y = made_rows()
    tree = SurvivalTree(max_leaf_nodes=4).fit(X[:100], tuple(each[:100] for each in y)).tree_
    edited = tree.prune_at(1, Table.from_arrays(X, y, schema=tree.schema))
    assert node_survival(edited, 0).n_rows == 200
    assert node_survival(edited, 0).n_events == y[1].sum()
