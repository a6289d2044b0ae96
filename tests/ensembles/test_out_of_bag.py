"""Out-of-bag predictions, scores and curves against loops that anyone can read."""

from typing import Any

import numpy as np
import pytest
from bags_by_hand import groupings, people, rules_for, some_tables, tree_by_hand
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, log_loss, make_scorer, r2_score, roc_auc_score

from holdfast._arrays import FloatArray
from holdfast.data.schema import Target
from holdfast.data.table import Table
from holdfast.ensembles.bagging import Bagging, Sampling, grow_bagging
from holdfast.ensembles.out_of_bag import choose_points, out_of_bag
from holdfast.errors import DataError, DataWarning, ParameterError
from holdfast.growth.rules import GrowthRules
from holdfast.scoring.metric import make_metric

FOREST = GrowthRules(max_features=2)
ILL = people()
RISK = people(numbers=True)
BAGGING = grow_bagging(ILL, FOREST, 30, sampling=Sampling(1))
NUMBERS = grow_bagging(RISK, rules_for(RISK, max_features=2), 30, sampling=Sampling(1))


def slow_values(bagging: Bagging, table: Table, rules: GrowthRules, n_estimators: int) -> FloatArray:
    """Row by row and tree by tree: each tree is grown anew on its bag, and asked about the rows outside."""
    trees = [tree_by_hand(bagging, index, table, rules) for index in range(n_estimators)]
    values = np.full((table.n_rows, bagging.ensemble.n_outputs), np.nan)
    for row in range(table.n_rows):
        alone = table.subset(np.array([row]))
        said = [
            tree.value[tree.apply(alone)][0]
            for index, tree in enumerate(trees)
            if bagging.bags[index][row] == 0
        ]
        if said:
            values[row] = np.mean(said, axis=0)
    return values


# -- predictions ------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")
@given(st.data())
def test_a_row_is_predicted_by_the_trees_that_never_saw_it(data: st.DataObject) -> None:
    table = data.draw(some_tables)
    rules = rules_for(table, max_depth=3)
    groups = data.draw(groupings(table.n_rows))
    bagging = grow_bagging(table, rules, 5, sampling=Sampling(data.draw(st.integers(0, 99)), groups=groups))
    values = slow_values(bagging, table, rules, 5)
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    assume((~np.isnan(values[:, 0]) & (weight > 0)).any())
    found = out_of_bag(bagging, table)
    assert found.values == pytest.approx(values, nan_ok=True)
    assert np.array_equal(found.n_trees > 0, ~np.isnan(values[:, 0]))


def test_votes_of_the_trees_outside_the_bag_are_counted() -> None:
    bagging = grow_bagging(ILL, FOREST, 30, votes=True)
    votes = np.zeros((150, 3))
    for index, tree in enumerate(bagging.ensemble):
        rows = bagging.bags.left_out(index)
        for row, vote in zip(rows, tree.outcome[tree.apply(ILL.subset(rows))], strict=True):
            votes[row, vote] += 1
    assert out_of_bag(bagging, ILL).values == pytest.approx(votes / votes.sum(axis=1, keepdims=True))


def test_rows_in_all_bags_are_counted_in_a_warning_and_have_no_prediction() -> None:
    bagging = grow_bagging(ILL, FOREST, 2)
    never = [row for row in range(150) if bagging.bags[0][row] and bagging.bags[1][row]]
    with pytest.warns(DataWarning, match=f"{len(never)} of 150 rows are in the bags of all trees"):
        found = out_of_bag(bagging, ILL)
    assert np.flatnonzero(np.isnan(found.values).all(axis=1)).tolist() == never
    known = np.setdiff1d(np.arange(150), never)
    accuracy = accuracy_score(ILL.target[known], found.values[known].argmax(axis=1))
    assert found.score.value == pytest.approx(accuracy)


def test_the_bits_are_the_same_for_any_number_of_jobs() -> None:
    one, two = (out_of_bag(BAGGING, ILL, "auc", n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.values.tobytes() == two.values.tobytes()
    assert one.curve.scores.tobytes() == two.curve.scores.tobytes()


# -- scores -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scoring", "by_hand"),
    [
        (None, lambda y, p: accuracy_score(y, p.argmax(axis=1))),
        ("auc", lambda y, p: roc_auc_score(y, p, multi_class="ovr")),
        ("neg_log_loss", lambda y, p: -log_loss(y, p)),
        (make_scorer(f1_score, average="macro"), lambda y, p: f1_score(y, p.argmax(axis=1), average="macro")),
    ],
    ids=["accuracy", "AUC", "log loss", "a scorer"],
)
def test_classes_are_scored_as_scikit_learn_scores_them(scoring: Any, by_hand: Any) -> None:
    found = out_of_bag(BAGGING, ILL, scoring)
    assert found.score.value == pytest.approx(by_hand(ILL.target, found.values))
    assert found.curve.scores[-1] == found.score.value


def test_numbers_are_scored_by_the_variance_explained() -> None:
    found = out_of_bag(NUMBERS, RISK)
    assert found.score.value == pytest.approx(r2_score(RISK.target, found.values[:, 0]))


def test_weights_count_in_the_score_and_rows_without_weight_do_not() -> None:
    weight = np.random.default_rng(0).integers(0, 3, 150).astype(float)
    table = Table(ILL.schema, ILL.columns, ILL.target, weight)
    found = out_of_bag(grow_bagging(table, FOREST, 120), table)
    right = found.values.argmax(axis=1) == ILL.target
    assert found.score.value == pytest.approx(np.average(right, weights=weight))
    assert (found.n_trees[weight == 0] == 120).all()


@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")
@pytest.mark.parametrize("scoring", [None, "auc", make_scorer(accuracy_score)])
def test_the_curve_is_the_score_of_the_first_trees_alone(scoring: Any) -> None:
    curve = out_of_bag(BAGGING, ILL, scoring).curve
    assert curve.n_estimators.tolist() == list(range(1, 31))
    for n_estimators in (1, 7, 30):
        first = Bagging(BAGGING.ensemble.first(n_estimators), BAGGING.bags)
        expected = out_of_bag(first, ILL, scoring).score.value
        assert curve.scores[n_estimators - 1] == pytest.approx(expected)


def test_a_long_curve_has_points_at_every_order_of_magnitude() -> None:
    accuracy = make_metric("accuracy", Target(classes=("no", "yes")))
    points = choose_points(5000, 100_000, accuracy)
    assert (points[0], points[-1]) == (1, 5000)
    assert 20 < len(points) <= 100
    assert np.diff(np.log(points)).max() < 0.75
    assert len(choose_points(500, 400_000, accuracy)) <= 12
    assert len(choose_points(1000, 1000, accuracy)) == 1000


def test_a_score_that_the_first_trees_cannot_have_is_missing_from_the_curve() -> None:
    # Of six rows the first tree leaves a few out, all of them of one class, of which there is no recall.
    table = Table.from_arrays([[float(row)] for row in range(6)], ["no", "yes"] * 3)

    def both_classes(model: Any, X: Any, y: Any) -> float:
        if len(set(y)) < 2:
            raise ValueError("one class only")
        return 1.0

    for seed in range(20):
        bagging = grow_bagging(table, n_estimators=30, sampling=Sampling(seed))
        if len(set(table.target[bagging.bags.left_out(0)])) == 1:
            break
    curve = out_of_bag(bagging, table, both_classes).curve
    assert np.isnan(curve.scores[0])
    assert curve.scores[-1] == 1.0


def test_the_curve_is_a_frame_with_a_row_for_every_point() -> None:
    frame = out_of_bag(BAGGING, ILL).curve.to_frame("pandas")
    assert frame.columns.tolist() == ["n_estimators", "score"]
    assert len(frame) == 30


# -- refusals ---------------------------------------------------------------------------------------------


def test_bags_of_all_rows_leave_nothing_to_score_on() -> None:
    bagging = grow_bagging(ILL, n_estimators=2, sampling=Sampling(bootstrap=False))
    with pytest.raises(ParameterError, match="Every bag holds all rows"):
        out_of_bag(bagging, ILL)


def test_a_single_row_is_never_out_of_the_bag() -> None:
    with pytest.warns(DataWarning):
        table = Table.from_arrays([[1.0]], ["no"])
    with pytest.raises(DataError, match="The one sample is in the bags of all trees"):
        out_of_bag(grow_bagging(table, n_estimators=3), table)


def test_another_table_than_the_one_grown_on_is_refused() -> None:
    with pytest.raises(DataError, match="drawn from 150 rows, and the table has 10"):
        out_of_bag(BAGGING, people(10))
