"""Rows of a survival tree count by the events that are expected for them, wherever rows are compared."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.tree import DecisionTreeRegressor

from holdfast import (
    GrowthRules,
    ParameterError,
    StableSurvivalTree,
    SurvivalTree,
    Table,
    TreeRegressor,
    grow,
    tree_distance,
)
from holdfast.errors import BrokenTreeError, DataError, EditError, SchemaMismatch
from holdfast.governance.register import data_fingerprint
from holdfast.growth import grow_subsamples, prune_reduced_error
from holdfast.growth.holdout_pruning import compute_p_value
from holdfast.growth.pruning import pruning_path
from holdfast.scoring.metric import TrueValues, make_metric
from holdfast.stable.candidates import make_foreign_learner
from holdfast.tree.check import check_tree

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3))
TIME = RNG.exponential(np.exp(-0.7 * X[:, 0]))
END = RNG.uniform(0.0, 3.0, 600)
EVENT = TIME <= END
TABLE = Table.from_arrays(X, (np.minimum(TIME, END), EVENT), task="survival")
EXPECTED = float(EVENT.sum())
RULES = GrowthRules("poisson", max_depth=4, min_samples_leaf=10)


def risk(table: Table) -> float:
    assert table.survival is not None
    return float(table.survival.event.sum() / table.survival.exposure.sum())


def test_a_tree_on_a_subsample_has_the_risks_of_its_rows() -> None:
    for tree in grow_subsamples(TABLE, RULES, 3, max_samples=0.5):
        assert tree.weight[0] == pytest.approx(
            EXPECTED / 2, rel=0.2
        )  # of the half of the rows that was drawn
        assert tree.value[0, 0] == pytest.approx(1.0, abs=0.2)


def test_held_out_rows_prune_to_the_least_deviance() -> None:
    odd = np.arange(600) % 2 == 1
    tree = grow(TABLE.subset(~odd), RULES)
    held_out = TABLE.subset(odd)
    metric, truth = make_metric("deviance", held_out.schema.target), TrueValues.of(held_out)
    best = prune_reduced_error(tree, held_out)
    scores = [metric.score(each.value[each.apply(held_out)], truth).value for each in pruning_path(tree)]
    assert metric.score(best.value[best.apply(held_out)], truth).value >= max(scores) - 1e-12


def test_siblings_are_told_apart_by_their_risks() -> None:
    left = X[:, 1] > 0.3
    parts = [TABLE.subset(side) for side in (left, ~left)]
    risks = [risk(each) for each in parts]
    variances = [
        np.square(each.survival.event - own * each.survival.exposure).sum()
        / each.survival.exposure.sum() ** 2
        for each, own in zip(parts, risks, strict=True)
        if each.survival is not None
    ]
    expected = 2 * stats.norm.sf(abs(risks[0] - risks[1]) / np.sqrt(sum(variances)))
    assert compute_p_value(TABLE, None, left, ~left) == pytest.approx(expected, rel=0.02)


def test_another_library_learns_risks_with_the_expected_events_as_weights() -> None:
    learner = make_foreign_learner(TABLE, DecisionTreeRegressor(max_depth=1), [{}])
    assert TABLE.survival is not None
    assert learner.importance == pytest.approx(TABLE.survival.exposure)


def test_the_time_of_a_censored_row_changes_the_fingerprint() -> None:
    time, event = [2.0, 3.0, 9.0, 9.5], [True, False, True, False]
    one, other = (Table.from_arrays(X[:4], ([*time[:3], end], event), task="survival") for end in (9.5, 9.7))
    assert (one.target == other.target).all()
    assert data_fingerprint(one) != data_fingerprint(other)


def test_what_predicts_numbers_is_no_survival_tree_and_the_reverse() -> None:
    numbers = Table.from_arrays(X, TIME)
    with pytest.raises(DataError, match="has numbers"):
        SurvivalTree().fit(numbers)
    with pytest.raises(DataError, match="times to an event"):
        TreeRegressor().fit(TABLE)
    with pytest.raises(ParameterError, match="times to an event"):
        StableSurvivalTree().from_tree(grow(numbers, GrowthRules("squared_error", max_depth=2)))


def test_a_negative_risk_is_no_sound_tree() -> None:
    tree = grow(TABLE, RULES)
    with pytest.raises(BrokenTreeError, match="not negative"):
        check_tree(tree.replace(value=-tree.value))


def test_an_edited_tree_has_the_curves_of_its_rows_and_takes_no_others() -> None:
    tree = grow(TABLE, RULES)
    lower = float(tree.threshold[0]) - 0.05
    edited = tree.edit(TABLE).with_threshold(0, lower).tree
    assert edited.curves is not None
    events = [curve.events.sum() for curve in edited.curves]
    assert events == pytest.approx(edited.weight * edited.observed_mean[:, 0])
    own_hazard = Table.from_arrays(X[::2], (np.minimum(TIME, END)[::2], EVENT[::2]), task="survival")
    for others in (own_hazard, Table.from_arrays(X, TIME)):
        with pytest.raises(SchemaMismatch, match=r"The rows have numbers|another hazard"):
            tree.edit(others)
        with pytest.raises(SchemaMismatch, match=r"The rows have numbers|another hazard"):
            prune_reduced_error(tree, others)
    with pytest.raises(EditError, match="at least 0"):
        tree.edit(TABLE).with_leaf_value(int(np.flatnonzero(tree.feature < 0)[0]), -1.0)


def test_risks_of_two_hazards_are_compared_by_the_survival_that_follows() -> None:
    tree = grow(TABLE, RULES)
    target = tree.schema.target
    assert target.hazard is not None
    twice = replace(target.hazard, cumulative=tuple(2 * each for each in target.hazard.cumulative))
    schema = replace(tree.schema, target=replace(target, hazard=twice))
    assert tree_distance(tree, tree.replace(schema=schema, value=tree.value / 2)).total == pytest.approx(
        0.0, abs=1e-9
    )
    assert tree_distance(tree, tree.replace(schema=schema)).total > 0.1
