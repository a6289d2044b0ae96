"""Every method trains candidates with scores, for classes and for numbers."""

from dataclasses import replace

import numpy as np
import pytest

from holdfast._choices import METHODS
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.rules import GrowthRules
from holdfast.scoring.metric import make_metric
from holdfast.stable.settings import StabilitySettings
from holdfast.stable.train import get_method, prepare_training_set, train

random = np.random.default_rng(2)
X = random.normal(size=(90, 2))
CLASSES = Table.from_arrays(X, np.where(X[:, 0] + random.normal(size=90) > 0, "ill", "well"))
NUMBERS = Table.from_arrays(X, X[:, 0] + random.normal(size=90))
TARGETS = {"classes": (CLASSES, "gini"), "numbers": (NUMBERS, "squared_error")}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", METHODS)
def test_a_method_gives_reference_trees_and_candidates_that_each_have_a_score(name: str, target: str):
    table, criterion = TARGETS[target]
    settings = StabilitySettings(
        GrowthRules(criterion, max_depth=3), method=name, n_estimators=7, teacher="linear"
    )
    rows = prepare_training_set(table, settings)
    trained = get_method(name).train(rows, settings, make_metric(None, table.schema.target))
    assert len(trained.references) == 7
    n_sizes = 1 if trained.max_leaf_nodes is None else len(np.unique(trained.max_leaf_nodes))
    assert 1 <= len(trained.candidates) <= 7 * n_sizes
    for values in (trained.scores.value, trained.scores.error, trained.scores.measured):
        assert len(values) == len(trained.candidates)
        assert np.isfinite(values).all()
    again = train(table, settings)
    assert again.frontier.score.tolist() == trained.scores.value.tolist()


@pytest.mark.parametrize("name", METHODS)
def test_candidates_are_scored_on_rows_that_their_division_holds_out(name: str):
    division = prepare_training_set(CLASSES, StabilitySettings(method=name)).division
    for training, held_out in zip(division.training, division.validation, strict=True):
        assert held_out.any()
        assert not (training & held_out).any()


@pytest.mark.parametrize("name", ["grown", "Paper", ""])
def test_an_unknown_method_is_refused_with_those_there_are(name: str):
    settings = replace(StabilitySettings(method="bootstrap", n_estimators=2), method=name)
    with pytest.raises(ParameterError, match="is unknown: choose one of 'consensus', 'bootstrap', 'pruned'"):
        train(CLASSES, settings)


@pytest.mark.parametrize("name", ["consensus", "bootstrap", "pruned"])
def test_a_holdout_of_one_s_own_is_for_the_paper_s_method(name: str):
    with pytest.raises(ParameterError, match="X_holdout is for method='paper'"):
        train(CLASSES, StabilitySettings(method=name, n_estimators=2), holdout=np.arange(90) < 30)
