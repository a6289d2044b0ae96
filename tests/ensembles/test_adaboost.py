"""AdaBoost by hand, against a slow twin, against scikit-learn, and by what theory promises."""

import math
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast._arrays import FloatArray
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.ensembles.adaboost import AdaBoost, grow_adaboost
from holdfast.errors import GrowthWarning, ParameterError
from holdfast.growth.rules import GrowthRules
from holdfast.tree.ensemble import Ensemble
from reference.adaboost import Row, Stump, adaboost, probabilities


def rounds_of(boosted: AdaBoost) -> list[tuple[Any, ...]]:
    """Everything that could differ between two runs."""
    return [
        (tree.feature.tolist(), tree.threshold[0], tree.missing_left.tolist(), tree.in_set.tolist())
        for tree in boosted.ensemble
    ]


def is_same(first: AdaBoost, second: AdaBoost) -> bool:
    """True if two runs are equal to the last bit."""
    return (
        repr(rounds_of(first)) == repr(rounds_of(second))
        and first.errors.tolist() == second.errors.tolist()
        and first.ensemble.weights.tolist() == second.ensemble.weights.tolist()
    )


# -- by hand --------------------------------------------------------------------------------------------

FIVE = [[1.0], [2.0], [3.0], [4.0], [5.0]]
MIDDLE = ["no", "yes", "yes", "no", "no"]


def test_three_stumps_tell_the_middle_of_a_line_from_its_ends() -> None:
    boosted = grow_adaboost(Table.from_arrays(FIVE, MIDDLE), n_estimators=3)
    # 1. x <= 3.5 yes: row 1 is wrong, 1/5, alpha = log 4; now it weighs 4/8, the others 1/8 each.
    # 2. x <= 1.5 no, and no above it too: 2/8 wrong, alpha = log 3; weights 4, 3, 3, 1, 1.
    # 3. x <= 1.5 no, else yes: the last two are wrong, 2/12, alpha = log 5.
    assert boosted.errors == pytest.approx([1 / 5, 2 / 8, 2 / 12])
    assert boosted.ensemble.weights == pytest.approx(np.log([4, 3, 5]))
    assert [tree.threshold[0] for tree in boosted.ensemble] == [3.5, 1.5, 1.5]
    votes = boosted.ensemble.scores(FIVE)
    assert np.exp(votes[0]) == pytest.approx([3 * 5, 4])  # no, yes
    assert np.exp(votes[1]) == pytest.approx([3, 4 * 5])
    assert np.exp(votes[4]) == pytest.approx([4 * 3, 5])
    assert boosted.ensemble.predict_proba(FIVE)[1, 1] == pytest.approx(20 / 23)


def test_a_tree_knows_rows_by_the_weight_that_they_have_in_its_round() -> None:
    boosted = grow_adaboost(Table.from_arrays(FIVE, MIDDLE), n_estimators=2)
    second = boosted.ensemble[1]
    assert second.weight == pytest.approx([5.0, 2.5, 2.5])  # a row weighs 1 on average; the first half of it
    assert second.count.tolist() == [5.0, 1.0, 4.0]


def test_boosting_ends_at_a_tree_that_makes_no_mistake() -> None:
    boosted = grow_adaboost(Table.from_arrays([[1.0], [2.0]] * 4, ["no", "yes"] * 4), n_estimators=10)
    assert boosted.errors.tolist() == [0.0]
    # As if half a row of eight were wrong: odds of 7.5 to 0.5.
    assert boosted.ensemble.weights == pytest.approx([math.log(15)])


def test_boosting_ends_before_a_tree_that_is_no_better_than_guessing() -> None:
    same = Table(Schema((Feature("x"),), Target("y", ("no", "yes"))), (np.ones(4),), np.array([0, 0, 0, 1]))
    boosted = grow_adaboost(same, n_estimators=10)
    assert boosted.errors.tolist() == [0.25]  # with its weights, "no" and "yes" weigh the same
    assert boosted.ensemble.predict_proba([[1.0]])[0] == pytest.approx([0.75, 0.25])


def test_classes_that_no_split_separates_are_equally_likely() -> None:
    table = Table.from_arrays([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ["a", "b", "b", "a"])
    with pytest.warns(GrowthWarning, match="No tree is better than guessing"):
        boosted = grow_adaboost(table)
    assert boosted.ensemble.predict_proba([[0.0, 0.0]]).tolist() == [[0.5, 0.5]]
    deeper = grow_adaboost(table, GrowthRules(max_depth=2))
    assert deeper.errors.tolist() == [0.0]


def test_a_single_class_is_certain() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = Table.from_arrays(FIVE, ["no"] * 5, task="classification")
    boosted = grow_adaboost(table)
    assert len(boosted.ensemble) == 1
    assert boosted.ensemble.predict_proba([[3.0]]).tolist() == [[1.0]]


def test_a_great_learning_rate_overflows_nothing() -> None:
    boosted = grow_adaboost(Table.from_arrays(FIVE, MIDDLE), learning_rate=1e6, n_estimators=20)
    assert np.isfinite(boosted.ensemble.predict_proba(FIVE)).all()


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf, "fast", True])
def test_a_learning_rate_out_of_range_is_refused(rate: Any) -> None:
    with pytest.raises(ParameterError, match="learning_rate"):
        grow_adaboost(Table.from_arrays(FIVE, MIDDLE), learning_rate=rate)


def test_numbers_are_no_target_for_adaboost() -> None:
    with pytest.raises(ParameterError, match="gini"):
        grow_adaboost(Table.from_arrays(FIVE, [0.5, 1.5, 2.5, 3.5, 4.5]))


# -- a slow twin ----------------------------------------------------------------------------------------


def made_rows(seed: int, n_rows: int, n_classes: int) -> tuple[list[Row], list[str], FloatArray]:
    """Numbers, one column with gaps, categories with gaps; labels that follow them with noise."""
    generator = np.random.default_rng(seed)
    rows: list[Row] = []
    labels = []
    for _ in range(n_rows):
        x, z = generator.normal(size=2).round(2).tolist()
        site = str(generator.choice(["a", "b", "c", "d"]))
        row: Row = (x, None if generator.random() < 0.2 else z, None if generator.random() < 0.1 else site)
        place = x + (z > 0) + (site in "bd") + (row[1] is None) + generator.normal() / 2
        labels.append("uvw"[int(np.digitize(place, [0.8, 2.0][: n_classes - 1]))])
        rows.append(row)
    return rows, labels, generator.uniform(0.2, 3.0, n_rows)


def table_of(rows: list[Row], labels: list[str], weights: FloatArray | None) -> Table:
    sites = ("a", "b", "c", "d")
    features = (Feature("x"), Feature("z"), Feature("site", "nominal", categories=sites))
    columns = [
        np.array(
            [math.nan if row[j] is None else row[j] if j < 2 else sites.index(str(row[j])) for row in rows]
        )
        for j in range(3)
    ]
    classes = tuple(sorted(set(labels)))
    target = np.array([classes.index(label) for label in labels], np.int32)
    return Table(Schema(features, Target("y", classes)), tuple(map(np.float64, columns)), target, weights)


def assert_same_stump(ensemble: Ensemble, position: int, stump: Stump, rows: list[Row], table: Table) -> None:
    tree = ensemble[position]
    question = stump.question
    assert question is not None
    assert tree.n_leaves == 2
    assert tree.feature[0] == question.feature
    if question.threshold is not None and math.isfinite(question.threshold):
        assert tree.threshold[0] == question.threshold
    assert (tree.apply(table) == 1).tolist() == [question.is_yes(row) for row in rows]
    classes = table.schema.target.classes
    assert [classes[k] for k in tree.outcome[1:]] == [stump.left, stump.right]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_round_is_that_of_the_slow_twin(seed: int, is_weighted: bool, n_classes: int) -> None:
    rows, labels, weights = made_rows(seed, 50, n_classes)
    table = table_of(rows, labels, weights if is_weighted else None)
    boosted = grow_adaboost(table, n_estimators=12)
    stumps = adaboost(rows, labels, weights.tolist() if is_weighted else [1.0] * 50, 12)
    assert len(stumps) == len(boosted.ensemble)
    assert boosted.errors == pytest.approx([stump.error for stump in stumps], rel=1e-9)
    assert boosted.ensemble.weights == pytest.approx([stump.alpha for stump in stumps], rel=1e-9)
    for position, stump in enumerate(stumps):
        assert_same_stump(boosted.ensemble, position, stump, rows, table)
    classes = [str(label) for label in table.schema.target.classes]
    expected = [probabilities(stumps, row, classes) for row in rows]
    assert boosted.ensemble.predict_proba(table) == pytest.approx(np.array(expected), rel=1e-9)


# -- rows and their weights -----------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [GrowthRules(max_depth=1), GrowthRules(max_depth=3, min_samples_leaf=2)])
def test_the_order_of_the_rows_changes_no_bit(rules: GrowthRules) -> None:
    rows, labels, weights = made_rows(5, 80, 3)
    table = table_of(rows, labels, weights)
    mixed = table.subset(np.random.default_rng(0).permutation(80))
    assert is_same(grow_adaboost(table, rules, 15), grow_adaboost(mixed, rules, 15))


def test_a_whole_weight_is_as_many_rows_to_the_last_bit() -> None:
    rows, labels, _ = made_rows(6, 60, 3)
    repeats = np.random.default_rng(1).integers(0, 4, 60)
    weighted = table_of(rows, labels, repeats.astype(float))
    repeated = table_of(rows, labels, None).subset(np.repeat(np.arange(60), repeats))
    rules = GrowthRules(max_depth=2, min_samples_leaf=5)
    first, second = grow_adaboost(weighted, rules, 15), grow_adaboost(repeated, rules, 15)
    assert len(first.ensemble) == 15
    assert is_same(first, second)


def test_drawn_features_depend_on_the_seed_alone() -> None:
    rows, labels, _ = made_rows(8, 60, 2)
    table = table_of(rows, labels, None)
    rules = GrowthRules(max_depth=1, max_features=1)
    assert is_same(grow_adaboost(table, rules, 10, seed=3), grow_adaboost(table, rules, 10, seed=3))
    assert not is_same(grow_adaboost(table, rules, 10, seed=3), grow_adaboost(table, rules, 10, seed=4))


# -- theory ---------------------------------------------------------------------------------------------


def test_the_training_error_stays_below_the_product_of_the_rounds() -> None:
    rows, labels, _ = made_rows(9, 150, 2)
    table = table_of(rows, labels, None)
    boosted = grow_adaboost(table, n_estimators=60)
    bound = np.cumprod(2 * np.sqrt(boosted.errors * (1 - boosted.errors)))
    wrong = [
        np.mean(values.argmax(axis=1) != table.target) for values in boosted.ensemble.staged_values(table)
    ]
    assert len(wrong) == 60
    assert np.all(np.array(wrong) <= bound + 1e-12)
    # For two classes the bound is the mean exponential loss itself: exp(-y f), f half the log odds.
    votes = boosted.ensemble.scores(table)
    margin = np.where(table.target == 1, 0.5, -0.5) * (votes[:, 1] - votes[:, 0])
    assert np.exp(-margin).mean() == pytest.approx(bound[-1])


def test_new_weights_make_the_last_tree_as_bad_as_guessing() -> None:
    rows, labels, _ = made_rows(10, 100, 3)
    table = table_of(rows, labels, None)
    boosted = grow_adaboost(table, n_estimators=8)
    weight = np.ones(100)
    for tree, error, alpha in zip(boosted.ensemble, boosted.errors, boosted.ensemble.weights, strict=True):
        is_wrong = tree.outcome[tree.apply(table)] != table.target
        assert weight[is_wrong].sum() / weight.sum() == pytest.approx(error)
        weight = weight * np.exp(alpha * is_wrong)
        assert weight[is_wrong].sum() / weight.sum() == pytest.approx(1 - 1 / 3)


def test_the_softmax_of_the_votes_recovers_probabilities() -> None:
    # Rows of four kinds, each with its own fractions of the classes, and trees that tell the kinds apart: the
    # votes can add up to anything for each kind, and small steps lead to the least exponential loss.
    shares = np.array([[8, 1, 1], [1, 8, 1], [3, 3, 4], [2, 2, 6]])
    y = np.concatenate([np.repeat([0, 1, 2], row) for row in shares])
    table = Table.from_arrays(np.repeat(np.arange(4.0), 10)[:, None], y, task="classification")
    boosted = grow_adaboost(table, GrowthRules(max_depth=3), 300, learning_rate=0.1)
    found = boosted.ensemble.predict_proba(np.arange(4.0)[:, None])
    assert found == pytest.approx(shares / 10, abs=1e-4)


# -- scikit-learn ---------------------------------------------------------------------------------------


def data_sets() -> dict[str, tuple[FloatArray, NDArray[Any]]]:
    from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification

    made = make_classification(300, 6, n_informative=4, n_classes=3, flip_y=0.1, random_state=0)
    return {
        "iris": load_iris(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "breast_cancer": load_breast_cancer(return_X_y=True),
        "made": made,
    }


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "made"])
@pytest.mark.parametrize("depth", [1, 2])
def test_the_first_rounds_are_those_of_scikit_learn(name: str, depth: int) -> None:
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    X, y = data_sets()[name]
    # Weights without a pattern, so that no tie decides.
    weight = np.random.default_rng(4).uniform(0.5, 2.0, len(y))
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=depth), n_estimators=10, random_state=0)
    model.fit(X, y, weight)
    table = Table.from_arrays(X, y, weight, task="classification")
    boosted = grow_adaboost(table, GrowthRules(max_depth=depth), 10)
    assert boosted.errors == pytest.approx(model.estimator_errors_[: len(boosted.errors)], rel=1e-6)
    assert boosted.ensemble.weights == pytest.approx(model.estimator_weights_, rel=1e-6)
    assert np.mean(boosted.ensemble.predict(X) == model.predict(X)) == 1.0


def test_probabilities_are_less_timid_than_those_of_scikit_learn_and_closer() -> None:
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.metrics import log_loss

    X, y = data_sets()["breast_cancer"]
    is_test = np.random.default_rng(3).random(len(y)) < 0.4
    model = AdaBoostClassifier(n_estimators=20, random_state=0).fit(X[~is_test], y[~is_test])
    table = Table.from_arrays(X[~is_test], y[~is_test], task="classification")
    own = grow_adaboost(table, n_estimators=20).ensemble.predict_proba(X[is_test])
    assert log_loss(y[is_test], own) < 0.5 * log_loss(y[is_test], model.predict_proba(X[is_test]))
