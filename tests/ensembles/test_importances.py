"""Importances: by hand on a small tree, and against loops that anyone can read."""

from dataclasses import replace

import numpy as np
import pytest
from bags_by_hand import people, rules_for
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score, log_loss

from holdfast._arrays import FloatArray
from holdfast.data.row_keys import draw_uniforms, row_keys
from holdfast.data.table import Table
from holdfast.ensembles.bagging import Bagging, Sampling, grow_bagging
from holdfast.ensembles.importances import compute_importances, find_path_features, permutation_importance
from holdfast.errors import DataError
from holdfast.growth.grow import grow
from holdfast.growth.rules import GrowthRules
from holdfast.tree.predict import find_passed_nodes
from reference.names import by_name

ILL = people()
RISK = people(numbers=True)
FOREST = GrowthRules(max_features=2)
BAGGING = grow_bagging(ILL, FOREST, 12, sampling=Sampling(5))
NUMBERS = grow_bagging(RISK, rules_for(RISK, max_features=2, min_samples_leaf=5), 12, sampling=Sampling(5))


# -- the decrease of impurity -----------------------------------------------------------------------------


def test_the_decreases_of_a_small_tree_are_those_worked_out_by_hand() -> None:
    # Root: 4 rows of each class, Gini 1/2. x0 <= 2.5: 3 a on the left, pure; (b b b b a) on the right, Gini
    # 8/25: a decrease of 1/2 - 5/8 * 8/25 = 3/10, times 8 rows is 12/5. There x0 <= 6.5 leaves two pure
    # sides: a decrease of 8/25, times 5 rows is 8/5.
    table = Table.from_arrays(np.arange(8.0)[:, None], list("aaabbbba"))
    found = compute_importances([grow(table)])
    assert found.total_decrease.mean == pytest.approx([12 / 5 + 8 / 5])
    assert found.decrease_per_split.mean == pytest.approx([(3 / 10 + 8 / 25) / 2])
    assert found.n_splits.tolist() == [2]
    assert found.total_decrease.error.tolist() == [0.0]


def decreases(bagging: Bagging) -> list[list[list[tuple[float, float]]]]:
    """Tree by tree, feature by feature: weight and decrease of impurity of every split."""
    found = []
    for tree in bagging.ensemble:
        of_feature: list[list[tuple[float, float]]] = [[] for _ in tree.schema.features]
        for node in range(tree.n_nodes):
            if tree.feature[node] >= 0:
                left, right = tree.left[node], tree.right[node]
                weight = tree.weight[node]
                below = tree.weight[left] * tree.impurity[left] + tree.weight[right] * tree.impurity[right]
                of_feature[tree.feature[node]].append((weight, tree.impurity[node] - below / weight))
        found.append(of_feature)
    return found


@pytest.mark.parametrize("bagging", [BAGGING, NUMBERS], ids=["classes", "numbers"])
def test_decreases_are_added_up_over_splits_and_averaged_over_trees(bagging: Bagging) -> None:
    found, by_hand = compute_importances(bagging.ensemble.trees), decreases(bagging)
    for feature in range(4):
        totals = [sum(weight * drop for weight, drop in tree[feature]) for tree in by_hand]
        drops = [drop for tree in by_hand for _, drop in tree[feature]]
        assert found.total_decrease.mean[feature] == pytest.approx(np.mean(totals))
        assert found.total_decrease.deviation[feature] == pytest.approx(np.std(totals, ddof=1))
        assert found.total_decrease.error[feature] == pytest.approx(np.std(totals, ddof=1) / np.sqrt(12))
        assert found.decrease_per_split.mean[feature] == pytest.approx(np.mean(drops))
        means = [np.mean([drop for _, drop in tree[feature]]) for tree in by_hand if tree[feature]]
        assert found.decrease_per_split.deviation[feature] == pytest.approx(np.std(means, ddof=1))
        assert found.n_splits[feature] == len(drops)


def test_the_error_of_the_decrease_per_split_is_that_of_the_jackknife() -> None:
    bagging = grow_bagging(ILL, FOREST, 60)
    found, by_hand = compute_importances(bagging.ensemble.trees), decreases(bagging)
    for feature in range(4):
        without = [
            np.mean([d for place, tree in enumerate(by_hand) if place != left for _, d in tree[feature]])
            for left in range(60)
        ]
        jackknife = np.sqrt(59 / 60 * np.square(without - np.mean(without)).sum())
        assert found.decrease_per_split.error[feature] == pytest.approx(jackknife, rel=0.05)


def test_a_feature_that_no_tree_asks_about_has_no_importance() -> None:
    table = Table.from_arrays([[float(age), float(age % 2)] for age in range(40)], ["no"] * 20 + ["yes"] * 20)
    found = compute_importances(grow_bagging(table, n_estimators=5).ensemble.trees)
    for spread in (found.total_decrease, found.decrease_per_split):
        assert [figures[1] for figures in spread] == [0.0, 0.0, 0.0]


# -- permutation ------------------------------------------------------------------------------------------


def slow_permutation(bagging: Bagging, table: Table, score: object) -> FloatArray:
    """(trees, features) what the score loses: every row is routed from the root, in a table of its own."""
    lost, keys = np.zeros((len(bagging), table.n_features)), row_keys(table)
    for index, tree in enumerate(bagging.ensemble):
        rows = bagging.bags.left_out(index)
        outside = table.subset(rows)
        before = score(outside.target, tree.value[tree.apply(outside)])  # type: ignore[operator]
        for place, feature in enumerate(by_name(table.schema)):
            drawn = draw_uniforms(keys[rows], (bagging.bags.sampling.seed, 51, index, place)).tolist()
            order = sorted(range(len(rows)), key=drawn.__getitem__)
            columns = [column.copy() for column in outside.columns]
            for here, there in zip(order, [order[-1], *order[:-1]], strict=True):
                columns[feature][here] = outside.columns[feature][there]
            permuted = Table(table.schema, tuple(columns), outside.target)
            after = score(permuted.target, tree.value[tree.apply(permuted)])  # type: ignore[operator]
            lost[index, feature] = before - after
    return lost


@pytest.mark.parametrize(
    ("bagging", "table", "scoring", "score"),
    [
        (BAGGING, ILL, None, lambda y, p: accuracy_score(y, p.argmax(axis=1))),
        (BAGGING, ILL, "log_loss", lambda y, p: -log_loss(y, p, labels=[0, 1, 2])),
        (NUMBERS, RISK, None, lambda y, p: -np.mean((y - p[:, 0]) ** 2)),
    ],
    ids=["accuracy", "log loss", "squared error"],
)
def test_permutation_is_what_a_slow_loop_finds(
    bagging: Bagging, table: Table, scoring: str | None, score: object
) -> None:
    found, metric = permutation_importance(bagging, table, scoring)
    lost = slow_permutation(bagging, table, score)
    assert found.mean == pytest.approx(lost.mean(axis=0))
    assert found.deviation == pytest.approx(lost.std(axis=0, ddof=1))
    assert found.error == pytest.approx(lost.std(axis=0, ddof=1) / np.sqrt(12))
    assert metric.is_loss == (scoring == "log_loss" or table is RISK)


def test_permuting_noise_costs_nothing_and_the_strongest_features_most() -> None:
    bagging = grow_bagging(ILL, FOREST, 100)
    found, _ = permutation_importance(bagging, ILL)
    names = ILL.schema.names
    assert {names[place] for place in np.argsort(found.mean, kind="stable")[-2:]} == {
        "age",
        "dose",
    }  # equally strong
    # Not by its standard error, which knows the trees and not that all of them have seen the same rows.
    assert abs(found.mean[names.index("noise")]) < found.mean[names.index("age")] / 4
    assert found.mean[names.index("age")] > 10 * found.error[names.index("age")]


def test_rows_without_weight_are_not_permuted() -> None:
    weight = np.random.default_rng(0).integers(0, 2, 150).astype(float)
    weighted = Table(ILL.schema, ILL.columns, ILL.target, weight)
    one, _ = permutation_importance(grow_bagging(weighted, FOREST, 5), weighted)
    kept = ILL.subset(weight > 0)
    other, _ = permutation_importance(grow_bagging(kept, FOREST, 5), kept)
    assert one.mean == pytest.approx(other.mean)


def test_the_bits_are_the_same_for_any_number_of_jobs_and_any_order_of_the_rows() -> None:
    table = Table.from_arrays(*load_breast_cancer(return_X_y=True))
    bagging = grow_bagging(table, n_estimators=40)
    one, two = (permutation_importance(bagging, table, n_jobs=n_jobs)[0] for n_jobs in (1, 2))
    assert one.mean.tobytes() == two.mean.tobytes()
    shuffled = table.subset(np.random.default_rng(0).permutation(table.n_rows))
    other, _ = permutation_importance(grow_bagging(shuffled, n_estimators=40), shuffled)
    assert other.mean == pytest.approx(one.mean)


def test_the_features_of_a_path_are_those_of_the_nodes_above() -> None:
    tree = BAGGING.ensemble[0]
    paths = find_passed_nodes(tree, np.arange(tree.n_nodes)).toarray()
    for node, asked in enumerate(find_path_features(tree)):
        above = [other for other in np.flatnonzero(paths[node]) if other != node]
        assert set(np.flatnonzero(asked)) == {int(tree.feature[other]) for other in above}


# -- the table --------------------------------------------------------------------------------------------


def test_the_table_has_a_line_for_every_feature_the_most_important_first() -> None:
    found = compute_importances(BAGGING.ensemble.trees)
    assert (np.diff(found.total_decrease.mean[found.order]) <= 0).all()
    assert [line.split()[0] for line in str(found).splitlines()] == _lines(found.order)
    lost, metric = permutation_importance(BAGGING, ILL)
    both = replace(found, permutation=lost, metric=metric)
    assert "loss of accuracy" in str(both)
    assert "over 12 trees" in str(both)
    frame = both.to_frame("pandas")
    assert frame["feature"].tolist() == [
        ILL.schema.names[place] for place in np.argsort(-lost.mean, kind="stable")
    ]
    assert frame["permutation_error"].to_numpy() == pytest.approx(lost.error[both.order])


def _lines(order: FloatArray) -> list[str]:
    return ["feature", *(ILL.schema.names[int(place)] for place in order), "±"]


def test_a_long_table_is_cut_with_a_note() -> None:
    table = Table.from_arrays(*load_breast_cancer(return_X_y=True))
    text = str(compute_importances(grow_bagging(table, n_estimators=3).ensemble.trees))
    assert "(20 of 30 features; to_frame() has them all)" in text
    assert max(map(len, text.splitlines())) < 110


# -- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")
def test_a_single_row_cannot_be_permuted() -> None:
    table = Table.from_arrays([[1.0]], ["no"])
    with pytest.raises(DataError, match="No tree has out-of-bag rows"):
        permutation_importance(grow_bagging(table, n_estimators=3), table)
