"""A threshold for the votes of trees, by hand: each tree votes by its own leaf, and the majority decides."""

from typing import Any

import numpy as np
import pytest

from holdfast.errors import ParameterError
from holdfast.estimators.forest import BaggingClassifier, ForestClassifier

generator = np.random.default_rng(0)
X = generator.normal(size=(200, 3))
Y = np.where(X[:, 0] + generator.normal(size=200) > 0.8, "yes", "no")
OPTIONS: dict[str, Any] = {"n_estimators": 15, "max_depth": 3, "voting": "hard", "random_state": 0}


def votes_by_hand(model: Any, threshold: float) -> Any:
    """How many trees, one after the other, say that "yes" has that fraction in the leaf of each row."""
    leaves = model.apply(X)
    columns = [tree.value[leaves[:, i], 1] >= threshold for i, tree in enumerate(model.estimators_)]
    return np.cumsum(columns, axis=0)


@pytest.mark.parametrize("kind", [BaggingClassifier, ForestClassifier])
@pytest.mark.parametrize("threshold", [0.15, 0.4, 0.7, 1.0])
def test_a_tree_votes_by_the_threshold_and_most_votes_win(kind: Any, threshold: float) -> None:
    model = kind(vote_threshold=threshold, **OPTIONS).fit(X, Y)
    votes = votes_by_hand(model, threshold)
    assert model.predict(X).tolist() == np.where(votes[-1] > 15 / 2, "yes", "no").tolist()
    for number, predicted in enumerate(model.staged_predict(X), start=1):
        assert predicted.tolist() == np.where(votes[number - 1] > number / 2, "yes", "no").tolist()


def test_a_lower_threshold_finds_more_of_the_second_class() -> None:
    found = [
        (BaggingClassifier(vote_threshold=t, **OPTIONS).fit(X, Y).predict(X) == "yes").sum()
        for t in (0.1, 0.3, 0.5, 0.7, 0.9)
    ]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[2] > found[-1]


def test_probabilities_stay_and_the_threshold_can_move_after_the_fit() -> None:
    plain = BaggingClassifier(**OPTIONS).fit(X, Y)
    model = BaggingClassifier(vote_threshold=0.2, **OPTIONS).fit(X, Y)
    assert np.array_equal(model.predict_proba(X), plain.predict_proba(X))
    moved = plain.set_params(vote_threshold=0.2).predict(X)
    assert np.array_equal(moved, model.predict(X))


@pytest.mark.parametrize("bad", [0.0, -0.1, 1.1, float("nan"), "half", True])
def test_a_threshold_out_of_range_is_named(bad: Any) -> None:
    with pytest.raises(ParameterError, match=f"^vote_threshold={bad!r} is out of range"):
        ForestClassifier(**{**OPTIONS, "vote_threshold": bad}).fit(X, Y)


def test_it_is_for_two_classes_that_are_voted_for() -> None:
    with pytest.raises(ParameterError, match="set voting='hard'"):
        BaggingClassifier(vote_threshold=0.3).fit(X, Y)
    with pytest.raises(ParameterError, match="for two classes, and the target has 3"):
        BaggingClassifier(vote_threshold=0.3, **OPTIONS).fit(X, np.arange(200) % 3)
