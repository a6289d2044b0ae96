"""The number of features drawn at every split, chosen by rows that the trees do not know."""

import numpy as np
import pytest
from bags_by_hand import people, rules_for, same_tree
from sklearn.metrics import accuracy_score, r2_score

from holdfast.data.table import Table
from holdfast.ensembles.bagging import Sampling, grow_bagging
from holdfast.ensembles.max_features import (
    MaxFeaturesSearch,
    MaxFeaturesTable,
    choose_max_features,
    list_candidates,
)
from holdfast.ensembles.out_of_bag import out_of_bag
from holdfast.growth.rules import GrowthRules
from holdfast.scoring.metric import make_metric

ILL = people()
RISK = people(numbers=True)
FOREST = GrowthRules(max_features="sqrt")
SMALL = MaxFeaturesSearch(n_estimators=15)


@pytest.mark.parametrize(
    ("n_features", "default", "expected"),
    [
        (1, 1, [1]),
        (2, 1, [1, 2]),
        (16, 4, [1, 2, 4, 8, 16]),
        (100, 33, [1, 3, 10, 31, 33, 100]),
        (4, 0, [1, 2, 4]),
    ],
)
def test_the_numbers_to_try_are_powers_of_all_and_the_default(
    n_features: int, default: int, expected: list[int]
) -> None:
    assert list_candidates(n_features, default).tolist() == expected


@pytest.mark.parametrize("table", [ILL, RISK], ids=["classes", "numbers"])
def test_every_number_has_the_out_of_bag_score_of_its_own_forest(table: Table) -> None:
    rules, sampling = rules_for(table, max_features="sqrt"), Sampling(4)
    bagging, found = choose_max_features(table, rules, search=SMALL, sampling=sampling)
    scores = []
    for number in (1, 2, 4):
        forest = grow_bagging(table, rules.replace(max_features=number), 15, sampling=sampling)
        scores.append(out_of_bag(forest, table).score)
    assert found.max_features.tolist() == [1, 2, 4]
    assert found.score.tolist() == [score.value for score in scores]
    assert found.error.tolist() == [score.error for score in scores]
    chosen = found.max_features[int(np.argmax(found.score))]
    same = grow_bagging(table, rules.replace(max_features=int(chosen)), 15, sampling=sampling)
    assert all(map(same_tree, bagging.ensemble, same.ensemble))


def test_all_features_are_bagging() -> None:
    table = people(60)
    forest, bagging = (grow_bagging(table, GrowthRules(max_features=number), 5) for number in (4, None))
    assert all(map(same_tree, forest.ensemble, bagging.ensemble))


@pytest.mark.parametrize("table", [ILL, RISK], ids=["classes", "numbers"])
def test_scores_of_folds_are_those_of_forests_that_never_saw_them(table: Table) -> None:
    rules = rules_for(table, max_features="sqrt")
    rows = np.arange(150)
    pairs = [(rows[rows % 3 != fold], rows[rows % 3 == fold]) for fold in range(3)]
    search = MaxFeaturesSearch("cv", n_estimators=5, cv=pairs)
    found = choose_max_features(table, rules, search=search, sampling=Sampling(2))[1]
    for line, number in enumerate((1, 2, 4)):
        for place, (learnt, held_out) in enumerate(pairs):
            forest = grow_bagging(
                table.subset(learnt), rules.replace(max_features=number), 5, sampling=Sampling(2)
            )
            values, truth = forest.ensemble.values(table.subset(held_out)), table.target[held_out]
            score = (
                accuracy_score(truth, values.argmax(axis=1))
                if table is ILL
                else r2_score(truth, values[:, 0])
            )
            assert found.scores[line, place] == pytest.approx(score)
    assert found.error == pytest.approx(found.scores.std(axis=1, ddof=1) / np.sqrt(3))


def test_folds_keep_groups_together_and_do_not_depend_on_the_order_of_the_rows() -> None:
    groups = np.arange(150) // 5
    search = MaxFeaturesSearch("cv", n_estimators=4, cv=3)
    one = choose_max_features(ILL, FOREST, search=search, sampling=Sampling(1, groups=groups))[1]
    order = np.random.default_rng(0).permutation(150)
    shuffled = Sampling(1, groups=groups[order])
    other = choose_max_features(ILL.subset(order), FOREST, search=search, sampling=shuffled)[1]
    assert one.scores == pytest.approx(other.scores)
    assert one.scores.shape == (3, 3)


def test_a_number_of_draws_that_a_fold_does_not_have_is_all_of_its_rows() -> None:
    search = MaxFeaturesSearch("cv", n_estimators=2, cv=3)
    found = choose_max_features(ILL, FOREST, search=search, sampling=Sampling(max_samples=150))
    assert found[0].bags.n_draws is None  # all of them


def test_of_numbers_that_score_alike_the_smallest_is_taken() -> None:
    accuracy = make_metric("accuracy", ILL.schema.target)
    scores = np.array([[0.5], [0.7], [0.7]])
    table = MaxFeaturesTable(np.array([1, 3, 9]), scores, np.array([0.1, 0.2, 0.3]), "oob", accuracy)
    assert table.chosen_value == 3
    assert repr(table).splitlines()[2] == "           3        0.7 ± 0.2      chosen"


def test_the_table_is_a_frame_with_a_row_for_every_number() -> None:
    by_folds = choose_max_features(ILL, FOREST, search=MaxFeaturesSearch("cv", n_estimators=2, cv=2))[1]
    frame = by_folds.to_frame("pandas")
    assert frame["max_features"].tolist() == [1, 2, 4]
    assert frame["chosen"].sum() == 1
    assert frame[["fold_1", "fold_2"]].to_numpy() == pytest.approx(by_folds.scores)
    assert "(in 2 folds)" in repr(by_folds)
