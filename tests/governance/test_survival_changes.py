"""Diffs, prices of edits and change policies of trees for times to an event."""

import numpy as np
import pytest

from holdfast import ChangePolicy, SurvivalTree, Table, tree_diff
from holdfast.explain import price_of_edit

TIMES = np.arange(1.0, 61.0)
X = np.column_stack([90 - TIMES, np.arange(60) % 2])
Y = (TIMES, np.arange(60) % 3 > 0)


@pytest.fixture(scope="module")
def trees():
    """A tree of ages, and the same with another threshold."""
    tree = SurvivalTree(max_leaf_nodes=2, horizon=30.0).fit(X, Y).tree_
    return tree, tree.with_threshold(0, float(tree.threshold[0]) + 5)


@pytest.fixture(scope="module")
def change(trees):
    """Predicted survival to the horizon of the rows before and after."""
    hazard = trees[0].schema.target.hazard
    passed = hazard.cumulative[np.searchsorted(hazard.times, hazard.horizon, "right") - 1]
    return [np.exp(-tree.value[tree.apply(X), 0] * passed) for tree in trees]


def test_churn_is_the_mean_change_of_survival_to_the_horizon(trees, change):
    expected = np.abs(change[0] - change[1]).mean()
    diff = tree_diff(*trees, X, Y)
    assert diff.rows.churn == pytest.approx(expected)
    assert diff.rows.metric.name == "concordance"
    assert "The predicted survival to 30 of 60 rows changes" in " ".join(str(diff).split())
    price = price_of_edit(*trees, X, Y, scoring="brier")
    assert price.churn.value == pytest.approx(expected)
    assert price.difference.value == pytest.approx(price.new.value - price.old.value)
    assert "Mean change of the predicted survival to 30" in str(price)


def test_a_policy_judges_scores_subgroups_and_calibration(trees, change):
    table = Table.from_arrays(X, Y, schema=trees[0].schema)
    policy = ChangePolicy(
        max_churn=0.001,
        max_flips=0.1,
        score_margin=0.9,
        scoring="brier",
        subgroups=("x1",),
        min_subgroup_rows=20,
        observed_expected=(0.5, 2.0),
        calibration_intercept=(-0.3, 0.3),
    )
    lines = {line.name: line for line in policy.check(*trees, table).lines}
    assert (lines["max_churn"].status, lines["max_flips"].status) == ("failed", "not judged")
    assert lines["score_margin"].status == lines["subgroups"].status == "passed"
    # Nobody is censored whose time is a multiple of 3 plus 1 or 2: Kaplan and Meier by hand.
    survival = np.prod([1 - 1 / (60 - place) for place in range(30) if place % 3 > 0])
    expected = 1 - change[1].mean()
    events = (
        table.survival.event.sum() / (trees[1].value[trees[1].apply(X), 0] * table.survival.exposure).sum()
    )
    assert lines["observed_expected"].figure == pytest.approx(events)
    assert lines["calibration_intercept"].figure == pytest.approx(1 - survival - expected)


def test_rows_that_are_all_censored_are_not_judged_by_a_concordance(trees):
    table = Table.from_arrays(X, Y, schema=trees[0].schema)
    verdict = ChangePolicy(score_margin=0.1).check(*trees, table.subset(~Y[1]))
    assert [line.status for line in verdict.lines] == ["not judged"]
