import pickle
from math import exp

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor

from holdfast.adapters import forest_trees
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.errors import BrokenTreeError, DataError, DataWarning, ParameterError, SchemaMismatch
from holdfast.tree.check import Link
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree
from reference.trees import AGE, NUMERIC, PAIN, PRICE, QUESTION, SUBSET, SURVIVED, leaf, split, tree_of

SCORE = Target("score", low=-2.0, high=2.0)


def stump(cut: float, left: float, right: float) -> Tree:
    """age <= cut ? left : right"""
    return tree_of(
        split("age", cut, leaf(5, left, impurity=1.0), leaf(5, right, impurity=1.0)), (AGE,), SCORE
    )


# At age 30, 50 and 80 the two add up to 0.5 + 2 * 0.25 = 1, -1 + 0.5 = -0.5 and -1 - 1 = -2.
STUMPS = (stump(40.0, 0.5, -1.0), stump(60.0, 0.25, -0.5))
AGES = np.array([[30.0], [50.0], [80.0]])


def boosted(link: Link, target: Target, start: float = 0.0) -> Ensemble:
    """The sum of the two stumps, the second one doubled."""
    return Ensemble(Schema((AGE,), target), STUMPS, [1.0, 2.0], [0, 0], [start], link)


def mean_of(*trees: Tree) -> Ensemble:
    """The mean of the trees."""
    n_outputs = trees[0].value.shape[1]
    return Ensemble(
        trees[0].schema, trees, np.ones(len(trees)), np.zeros(len(trees)), np.zeros(n_outputs), "mean"
    )


# -- links ---------------------------------------------------------------------------------------------------


def test_the_mean_of_two_trees_is_half_their_sum() -> None:
    other = tree_of(split("age", 40.0, leaf(10, 0.5, 0.5), leaf(10, 0.0, 1.0)), (AGE,), SURVIVED)
    # At 35: (0.1, 0.9) and (0.5, 0.5); at 45: (0.1, 0.9) and (0, 1); at 55: (1, 0) and (0, 1), a tie.
    ensemble = mean_of(NUMERIC, other)
    rows = [[35.0], [45.0], [55.0]]
    assert ensemble.predict_proba(rows) == pytest.approx(np.array([[0.3, 0.7], [0.05, 0.95], [0.5, 0.5]]))
    assert ensemble.predict(rows).tolist() == ["yes", "yes", "no"]


def test_weights_count_in_the_mean() -> None:
    ensemble = mean_of(*STUMPS).replace(weights=[1.0, 3.0])
    assert ensemble.predict(AGES) == pytest.approx([(0.5 + 0.75) / 4, (-1 + 0.75) / 4, (-1 - 1.5) / 4])


@pytest.mark.parametrize(
    ("link", "target", "expected"),
    [
        ("identity", SCORE, [[1.5], [0.0], [-1.5]]),
        ("exp", SCORE, [[exp(1.5)], [1.0], [exp(-1.5)]]),
        ("logistic", SURVIVED, [[1 / (1 + exp(1.5)), 1 / (1 + exp(-1.5))], [0.5, 0.5]]),
        ("double_logistic", SURVIVED, [[1 / (1 + exp(3)), 1 / (1 + exp(-3))], [0.5, 0.5]]),
    ],
)
def test_the_link_turns_the_sum_into_a_prediction(
    link: Link, target: Target, expected: list[list[float]]
) -> None:
    ensemble = boosted(link, target, start=0.5)
    assert ensemble.scores(AGES)[:, 0].tolist() == [1.5, 0.0, -1.5]
    assert ensemble.values(AGES)[: len(expected)] == pytest.approx(np.array(expected))


def test_softmax_divides_the_classes_by_their_scores() -> None:
    species = Target("species", classes=("a", "b", "c"))
    ensemble = Ensemble(Schema((AGE,), species), STUMPS, [1.0, 2.0], [0, 2], [0.0, 0.5, 0.0], "softmax")
    # At 30 the scores are 0.5, 0.5 and 0.5; at 80 they are -1, 0.5 and -1.
    total = exp(-1) + exp(0.5) + exp(-1)
    expected = [[1 / 3] * 3, [exp(-1) / total, exp(0.5) / total, exp(-1) / total]]
    assert ensemble.predict_proba(AGES[[0, 2]]) == pytest.approx(np.array(expected))
    assert ensemble.predict(AGES[[0, 2]]).tolist() == ["a", "b"]


def test_extreme_scores_give_probabilities_without_a_warning() -> None:
    steep = boosted("logistic", SURVIVED).replace(weights=[1e6, 0.0])
    assert steep.predict_proba(AGES[:2]).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    soft = Ensemble(Schema((AGE,), SURVIVED), STUMPS, [1e6, 1.0], [0, 1], [0.0, 0.0], "softmax")
    assert soft.predict_proba(AGES[:2]).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_votes_count_trees_and_shares_do_not() -> None:
    # Of the three trees two say no by a little, and one says yes by a lot.
    close = tree_of(leaf(10, 0.51, 0.49), (AGE,), SURVIVED)
    sure = tree_of(leaf(10, 0.0, 1.0), (AGE,), SURVIVED)
    ensemble = mean_of(close, close, sure)
    assert ensemble.predict(AGES).tolist() == ["yes"] * 3
    assert ensemble.replace(votes=True).predict(AGES).tolist() == ["no"] * 3
    assert ensemble.replace(votes=True).predict_proba(AGES[:1]) == pytest.approx(np.array([[2 / 3, 1 / 3]]))


# -- against scikit-learn ------------------------------------------------------------------------------------


def with_gaps(X: np.ndarray) -> np.ndarray:
    """The data with every fifth value missing."""
    return np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_a_forest_of_scikit_learn_predicts_the_same_here(load: object) -> None:
    X, y = load(return_X_y=True)  # type: ignore[operator]
    X = with_gaps(X)
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    ensemble = mean_of(*forest_trees(forest))
    assert np.array_equal(ensemble.predict_proba(X), forest.predict_proba(X))
    assert ensemble.predict(X).tolist() == forest.predict(X).tolist()
    assert ensemble.importances == pytest.approx(forest.feature_importances_)
    assert np.array_equal(ensemble.leaves(X)[:, 3], ensemble[3].apply(X))


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_a_forest_of_numbers_predicts_the_same_here(kind: type) -> None:
    X, y = load_diabetes(return_X_y=True)
    forest = kind(15, random_state=0, min_samples_leaf=3).fit(X, y)
    assert mean_of(*forest_trees(forest)).predict(X) == pytest.approx(forest.predict(X), rel=1e-14)


# -- rows ----------------------------------------------------------------------------------------------------


def test_an_unknown_category_counts_as_missing_or_is_refused() -> None:
    ensemble = mean_of(SUBSET, SUBSET)
    rows = pd.DataFrame({"pain": ["none", "strange"], "sex": ["male", "male"]})
    with pytest.warns(DataWarning, match="'strange'"):
        # Missing goes left at the root and right below it: to the same leaf as "none".
        assert ensemble.predict_proba(rows) == pytest.approx(np.array([[0.9, 0.1], [0.9, 0.1]]))
    with pytest.raises(SchemaMismatch, match="strange"):
        ensemble.predict(rows, handle_unknown="error")


def test_missing_values_are_refused_on_request_in_the_columns_that_are_asked_about() -> None:
    ensemble = mean_of(PRICE)
    with pytest.raises(DataError, match="'age' has 1 missing"):
        ensemble.predict([[5.0, np.nan]], handle_missing="error")
    table = Table(PRICE.schema, (np.array([5.0]), np.array([np.nan])), np.zeros(1))
    with pytest.raises(DataError, match="'age' has missing"):
        ensemble.predict(table, handle_missing="error")
    only_age = tree_of(leaf(3, 1.0, impurity=0.0), PRICE.schema.features, PRICE.schema.target)
    assert mean_of(only_age).predict([[np.nan, np.nan]], handle_missing="error").tolist() == [1.0]


def test_questions_are_answered_from_their_columns() -> None:
    bmi = Feature("bmi", low=15.0, high=50.0)
    tree = QUESTION.replace(
        schema=Schema((bmi, QUESTION.schema.features[1]), SURVIVED),
    )
    values = mean_of(tree, tree).predict_proba(pd.DataFrame({"bmi": [20.0, 40.0]}))
    assert values == pytest.approx(np.array([[0.9, 0.1], [0.25, 0.75]]))


def test_a_table_with_other_columns_is_refused() -> None:
    table = Table(Schema((PAIN,), SURVIVED), (np.zeros(2),), np.zeros(2, np.int32))
    with pytest.raises(SchemaMismatch, match="numeric feature 'age' at position 0"):
        mean_of(NUMERIC).predict(table)


def test_processes_give_what_threads_give() -> None:
    rows = np.random.default_rng(0).uniform(18, 90, (20_000, 1))
    expected = boosted("identity", SCORE).scores(rows)
    with parallel_config(backend="multiprocessing"):
        assert np.array_equal(boosted("identity", SCORE).scores(rows, n_jobs=2), expected)


# -- rounds --------------------------------------------------------------------------------------------------


def test_staged_values_are_those_of_the_first_rounds() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    ensemble = mean_of(*forest_trees(RandomForestClassifier(7, random_state=0, max_depth=3).fit(X, y)))
    staged = list(ensemble.staged_values(X, step=2))
    assert len(staged) == 3
    for n_rounds, values in zip((2, 4, 6), staged, strict=True):
        assert np.array_equal(values, ensemble.first(n_rounds).values(X))
    assert np.array_equal(list(ensemble.staged_values(X))[-1], ensemble.values(X))


def test_a_round_has_a_tree_for_every_output() -> None:
    schema = Schema((AGE,), SURVIVED)
    ensemble = Ensemble(schema, STUMPS * 3, np.ones(6), [0, 1] * 3, [0.0, 0.0], "softmax")
    assert (ensemble.n_rounds, len(ensemble), len(ensemble.first(2))) == (3, 6, 4)
    assert len(list(ensemble.staged_values(AGES))) == 3


@pytest.mark.parametrize("n_rounds", [0, 3, -1])
def test_rounds_that_are_not_there_are_refused(n_rounds: int) -> None:
    with pytest.raises(ParameterError, match="from 1 to 2"):
        boosted("identity", SCORE).first(n_rounds)
    with pytest.raises(ParameterError, match="at least 1"):
        next(boosted("identity", SCORE).staged_values(AGES, step=0))


# -- the type ------------------------------------------------------------------------------------------------


def test_it_holds_its_trees_in_order() -> None:
    ensemble = boosted("identity", SCORE)
    assert len(ensemble) == 2
    assert list(ensemble) == list(STUMPS)
    assert ensemble[1] is STUMPS[1]
    assert ensemble[:1] == (STUMPS[0],)
    assert repr(ensemble) == "<Ensemble: 2 trees, identity, 'score'>"


def test_it_travels_and_cannot_be_written_to() -> None:
    ensemble = boosted("identity", SCORE)
    before = ensemble.scores(AGES)
    copy = pickle.loads(pickle.dumps(ensemble))
    assert np.array_equal(copy.scores(AGES), before)
    for each in (ensemble, copy):
        with pytest.raises(ValueError, match="read-only"):
            each.weights[0] = 5.0
    weights = np.ones(2)
    held = ensemble.replace(weights=weights)
    weights[0] = 100.0
    assert held.weights[0] == 1.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trees": ()}, "trees is empty"),
        ({"link": "probit"}, "link is 'probit'"),
        ({"weights": [1.0]}, "weights has 1 numbers: there are 2 trees"),
        ({"weights": [1.0, np.nan]}, "weights holds nan"),
        ({"weights": [[1.0], [1.0]]}, "weights has 2 dimensions"),
        ({"outputs": [0, 1]}, r"outputs\[1\] is 1"),
        ({"outputs": [-1, 0]}, r"outputs\[0\] is -1"),
        ({"start": [0.0, 0.0]}, "from 2 scores"),
        ({"link": "logistic"}, "'logistic' cannot make a prediction of 0 classes"),
        ({"link": "softmax"}, "'softmax' cannot"),
        ({"weights": [1.0, -1.0]}, "weights holds -1.0: a weight is not negative"),
        ({"link": "mean", "weights": [1.0, 0.0]}, "weights holds 0.0: the link .mean. divides by their sum"),
        ({"link": "mean", "weights": [1.0, 5e-324]}, "weights holds 5e-324: .* from 1e-200 to 1e.200"),
        ({"link": "mean", "weights": [1.0, 1e300]}, "weights holds 1e.300"),
        ({"link": "mean", "start": [0.5]}, "start holds 0.5: under the link .mean. it is 0"),
        ({"weights": [1e308, 1e308]}, r"could reach 1.5e\+308"),
        ({"start": [-1e308]}, r"could reach 1e\+308"),
        ({"votes": True}, "votes are for classes"),
        ({"trees": (STUMPS[0], PRICE)}, r"trees\[1\] has other features"),
        ({"notes": (3,)}, r"notes\[0\] is 3"),
        ({"notes": ("\ud800",)}, "surrogate"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(BrokenTreeError, match=message):
        boosted("identity", SCORE).replace(**changes)


def test_trees_of_other_classes_are_refused() -> None:
    swapped = NUMERIC.replace(schema=Schema((AGE,), Target("survived", classes=("yes", "no"))))
    with pytest.raises(BrokenTreeError, match="predicts the classes"):
        mean_of(NUMERIC, swapped)


def test_numbers_have_no_probabilities() -> None:
    with pytest.raises(SchemaMismatch, match="'score' is a number"):
        boosted("identity", SCORE).predict_proba(AGES)


def test_importances_are_weighted_by_the_size_of_the_weights() -> None:
    # PRICE asks about rooms and age, the stump about age alone, at weights 1 and 3.
    on_age = tree_of(
        split("age", 50.0, leaf(10, 1.0, impurity=0.0), leaf(10, 3.0, impurity=0.0)),
        PRICE.schema.features,
        PRICE.schema.target,
    )
    ensemble = Ensemble(PRICE.schema, (PRICE, on_age), [1.0, 3.0], [0, 0], [0.0], "mean")
    assert ensemble.importances == pytest.approx((PRICE.importances + 3 * np.array([0.0, 1.0])) / 4)


def test_importances_of_trees_that_add_up_are_shares_of_what_all_their_splits_gain() -> None:
    # A tree that gains a hundred times as much counts a hundred times as much, whatever its weight.
    small = PRICE.replace(impurity=PRICE.impurity / 100)
    on_age = tree_of(
        split("age", 50.0, leaf(10, 1.0, impurity=0.0), leaf(10, 3.0, impurity=0.0)),
        PRICE.schema.features,
        PRICE.schema.target,
    )
    ensemble = Ensemble(PRICE.schema, (small, on_age), [1.0, 3.0], [0, 0], [0.0], "identity")
    total = PRICE.decreases / 100 + on_age.decreases
    assert ensemble.importances == pytest.approx(total / total.sum())
