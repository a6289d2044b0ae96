"""Bagging: its trees one by one, its bags, and how much its mean varies."""

from dataclasses import replace

import numpy as np
import pytest
from bags_by_hand import groupings, people, rules_for, same_tree, some_tables, tree_by_hand
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

from holdfast.data.folds import read_groups
from holdfast.data.resampling import Units
from holdfast.data.table import Table
from holdfast.ensembles import bagging as bagging_module
from holdfast.ensembles.bagging import Bags, Sampling, grow_bagging, predict_bagged
from holdfast.errors import DataError, GrowthWarning, ParameterError
from holdfast.growth.grow import grow
from holdfast.growth.rules import GrowthRules
from reference.resampling import draw_counts

BREAST = Table.from_arrays(*load_breast_cancer(return_X_y=True))
FOREST = GrowthRules(max_features="sqrt")


def bags_of(n_rows: int, sampling: Sampling) -> Bags:
    table = Table.from_arrays(np.arange(float(n_rows))[:, None], np.arange(n_rows) % 2)
    return Bags.of(table, np.ones(n_rows, np.int32), sampling)


# -- trees ------------------------------------------------------------------------------------------------


@given(st.data())
def test_every_tree_is_the_one_that_its_bag_alone_grows(data: st.DataObject) -> None:
    table = data.draw(some_tables)
    drawn = data.draw(st.sampled_from((None, 1)))
    rules = rules_for(table, max_depth=3, max_features=drawn)
    sampling = Sampling(
        data.draw(st.integers(0, 99)),
        bootstrap=data.draw(st.booleans()),
        max_samples=data.draw(st.sampled_from((None, 0.5, 1))),
        groups=data.draw(groupings(table.n_rows)),
    )
    bagging = grow_bagging(table, rules, 4, sampling=sampling)
    for index, tree in enumerate(bagging.ensemble):
        assert same_tree(tree, tree_by_hand(bagging, index, table, rules))


@pytest.mark.parametrize("numbers", [False, True])
def test_a_forest_predicts_the_mean_of_trees_grown_by_hand(numbers: bool) -> None:
    table, new = people(numbers=numbers), people(seed=1, numbers=numbers)
    rules = rules_for(table, max_features=2)
    bagging = grow_bagging(table, rules, 12, sampling=Sampling(3))
    by_hand = [tree_by_hand(bagging, index, table, rules) for index in range(12)]
    mean = np.mean([tree.value[tree.apply(new)] for tree in by_hand], axis=0)
    assert bagging.ensemble.values(new) == pytest.approx(mean)


@pytest.mark.parametrize("numbers", [False, True])
def test_trees_that_are_asked_and_forgotten_say_the_same_to_the_last_bit(
    numbers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bagging_module, "ROWS_PER_TASK", 1)
    monkeypatch.setattr(bagging_module, "LEAST_AT_A_TIME", 3)
    monkeypatch.setattr(bagging_module, "ROWS_OF_TREES", 1)
    table = people(numbers=numbers)
    rules, sampling = rules_for(table, max_features=2), Sampling(3)
    kept = grow_bagging(table, rules, 8, sampling=sampling).ensemble.values(table)
    assert (predict_bagged(table, rules, 8, sampling=sampling) == kept).all()


def test_with_votes_the_values_are_the_shares_of_trees_that_vote_for_each_class() -> None:
    table, new = people(), people(seed=1)
    ensemble = grow_bagging(table, GrowthRules(max_depth=2), 9, votes=True).ensemble
    votes = np.array([tree.outcome[tree.apply(new)] for tree in ensemble])
    shares = np.stack([(votes == number).mean(axis=0) for number in range(3)], axis=1)
    assert ensemble.values(new) == pytest.approx(shares)


def test_a_bag_of_all_rows_grows_the_tree_of_the_table() -> None:
    bagging = grow_bagging(people(), n_estimators=3, sampling=Sampling(bootstrap=False))
    assert all(same_tree(tree, grow(people())) for tree in bagging.ensemble)


def test_the_bits_are_the_same_for_any_number_of_jobs() -> None:
    one, two = (grow_bagging(BREAST, FOREST, 40, n_jobs=n_jobs).ensemble for n_jobs in (1, 2))
    for left, right in zip(one, two, strict=True):
        assert left.threshold.tobytes() == right.threshold.tobytes()
        assert left.value.tobytes() == right.value.tobytes()


@pytest.mark.parametrize("numbers", [False, True])
def test_rows_repeated_are_whole_weights_in_whatever_order_they_come(numbers: bool) -> None:
    table = people(40, numbers=numbers)
    random = np.random.default_rng(2)
    weight = random.integers(0, 4, 40).astype(float)
    rules = rules_for(table, max_features=2)
    weighted = grow_bagging(Table(table.schema, table.columns, table.target, weight), rules, 10)
    rows = random.permutation(np.repeat(np.arange(40), weight.astype(int)))
    repeated = grow_bagging(table.subset(rows), rules, 10)
    for one, other in zip(weighted.ensemble, repeated.ensemble, strict=True):
        assert same_tree(one, other)


def test_the_order_of_the_rows_changes_no_tree_and_no_bag() -> None:
    table, order = people(), np.random.default_rng(0).permutation(150)
    one, other = grow_bagging(table, FOREST, 8), grow_bagging(table.subset(order), FOREST, 8)
    for index in range(8):
        assert same_tree(one.ensemble[index], other.ensemble[index])
        assert np.array_equal(one.bags[index][order], other.bags[index])


def test_a_budget_that_ran_out_is_told_once() -> None:
    with pytest.warns(GrowthWarning, match="max_nodes") as told:
        grow_bagging(people(), GrowthRules(max_nodes=3), 5)
    assert len({str(warning.message) for warning in told}) == len(told)


# -- bags -------------------------------------------------------------------------------------------------


@given(st.data())
def test_rows_out_of_the_bag_are_never_in_it_and_groups_stay_whole(data: st.DataObject) -> None:
    table = data.draw(some_tables)
    groups = data.draw(groupings(table.n_rows))
    sampling = Sampling(data.draw(st.integers(0, 99)), groups=groups)
    bagging = grow_bagging(table, rules_for(table, max_depth=1), 3, sampling=sampling)
    for index in range(3):
        inside, outside = np.flatnonzero(bagging.bags[index]), bagging.bags.left_out(index)
        assert sorted([*inside, *outside]) == list(range(table.n_rows))
        counted = outside[bagging.bags.repeats[outside] > 0]
        if groups is not None:
            assert not set(groups[inside]) & set(groups[counted])


def test_the_share_of_rows_left_out_tends_to_one_over_e() -> None:
    # A row is left out with the chance 1/e, of few rows as of many. The mean over the bags has a standard
    # error of 0.0024 and 0.0008; it may lie four of them away.
    for n_rows, n_bags, near in ((10, 4000, 0.01), (1000, 400, 0.0032)):
        bags = bags_of(n_rows, Sampling(1))
        shares = [len(bags.left_out(index)) / n_rows for index in range(n_bags)]
        assert np.mean(shares) == pytest.approx(np.exp(-1), abs=near)


def test_a_bag_holds_as_many_draws_as_max_samples_says() -> None:
    # With replacement on average, with the variance of a Poisson distribution; without it exactly.
    for max_samples, n_draws in ((0.25, 10), (7, 7), (None, 40)):
        bags = bags_of(40, Sampling(max_samples=max_samples))
        sizes = np.array([bags[index].sum() for index in range(400)])
        assert sizes.mean() == pytest.approx(n_draws, abs=4 * np.sqrt(n_draws / 400))
        assert sizes.var() == pytest.approx(n_draws, rel=0.35)
    once = bags_of(40, Sampling(max_samples=0.5, bootstrap=False))[0]
    assert (once.sum(), once.max()) == (20, 1)


def test_without_replacement_no_row_is_drawn_more_often_than_it_is_there() -> None:
    repeats = np.array([5, 1, 0, 2], np.int32)
    units = Units(np.arange(4, dtype=np.uint64))
    for index in range(50):
        counts = draw_counts(repeats, units, (0, index), n_draws=6, replacement=False)
        assert counts.sum() == 6
        assert (counts <= repeats).all()
    many = np.array([500, 100, 0], np.int32)  # too many to write out
    units = Units(np.arange(3, dtype=np.uint64))
    for replacement in (True, False):
        counts = np.array(
            [
                draw_counts(many, units, (0, index), n_draws=60, replacement=replacement)
                for index in range(300)
            ]
        )
        assert counts.mean(axis=0) == pytest.approx([50, 10, 0], abs=2)
        assert counts[:, 0].var() == pytest.approx(50 if replacement else 45, rel=0.35)


def test_a_row_with_a_whole_weight_is_drawn_as_often_as_its_copies_together() -> None:
    y = np.array(["no", "yes"] * 10)
    X = np.arange(20.0)[:, None]
    weight = np.arange(20) % 3
    rows = np.repeat(np.arange(20), weight)
    one = Bags.of(Table.from_arrays(X, y, weight), weight.astype(np.int32), Sampling(5))
    other = Bags.of(Table.from_arrays(X[rows], y[rows]), np.ones(len(rows), np.int32), Sampling(5))
    for index in range(10):
        assert one[index].tolist() == np.bincount(rows, other[index], minlength=20).tolist()


def test_rows_that_stay_are_drawn_as_before_and_so_are_groups() -> None:
    table = people()
    stay = np.arange(150) % 10 != 3
    ones = np.ones(150, np.int32)
    patient = np.array([f"p{number // 3}" for number in range(150)])
    for groups in (None, read_groups(patient, 150)):
        whole = Bags.of(table, ones, Sampling(2, groups=groups))
        own = None if groups is None else read_groups(patient[stay], int(stay.sum()))
        part = Bags.of(table.subset(stay), ones[stay], Sampling(2, groups=own))
        for index in range(5):
            assert part[index].tolist() == whole[index][stay].tolist()


def test_of_groups_max_samples_is_a_share_of_the_groups() -> None:
    groups = np.arange(40) // 4
    bags = bags_of(40, Sampling(max_samples=0.5, bootstrap=False, groups=groups))
    assert sorted(np.unique(bags[0], return_counts=True)[1]) == [20, 20]
    assert len(set(groups[bags[0] > 0])) == 5


def test_trees_that_did_not_draw_the_rows_that_leave_stay_as_they_were() -> None:
    table = people()
    stay = np.arange(150) != 17
    whole = grow_bagging(table, FOREST, 40, sampling=Sampling(6))
    part = grow_bagging(table.subset(stay), FOREST, 40, sampling=Sampling(6))
    untouched = [index for index in range(40) if whole.bags[index][~stay].sum() == 0]
    assert len(untouched) > 8  # of 40, about one in e
    for index in untouched:
        assert same_tree(whole.ensemble[index], part.ensemble[index])


# -- the seed's formula -----------------------------------------------------------------------------------


def test_the_variance_of_bagging_is_that_of_correlated_trees() -> None:
    """Var = delta s² + (1 - delta) s² / B: both from pairs of some trees, then held against others."""
    n_sets, points = 120, np.linspace(-1.5, 1.5, 7)[:, None]
    random = np.random.default_rng(0)
    said = np.empty((n_sets, 35, len(points)))
    for place in range(n_sets):
        x = random.normal(size=(60, 1))
        table = Table.from_arrays(x, np.sin(2 * x[:, 0]) + random.normal(0, 0.5, 60), task="regression")
        rules = GrowthRules("squared_error", min_samples_leaf=3)
        bagging = grow_bagging(table, rules, 35, sampling=Sampling(place))
        said[place] = [tree.predict(points) for tree in bagging.ensemble]
    known, others = said[:, :10] - said.mean(axis=0)[:10], said[:, 10:]
    variance = (known**2).mean(axis=(0, 1))
    together = (known.sum(axis=1) ** 2).mean(axis=0)  # of all pairs, each tree with itself among them
    delta = (together - 10 * variance) / (90 * variance)
    assert ((delta > 0.1) & (delta < 0.9)).all()
    for n_estimators in (1, 5, 25):
        expected = delta * variance + (1 - delta) * variance / n_estimators
        measured = others[:, :n_estimators].mean(axis=1).var(axis=0)
        assert measured.mean() == pytest.approx(expected.mean(), rel=0.1)


# -- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [0, -1, 0.0, 1.5, "half", True, float("nan")])
def test_a_strange_max_samples_is_named(most: object) -> None:
    with pytest.raises(ParameterError, match=r"max_samples=.* is out of range"):
        Sampling(max_samples=most)  # type: ignore[arg-type]


def test_more_draws_than_rows_are_refused_with_both_numbers() -> None:
    with pytest.raises(ParameterError, match="max_samples=41 is out of range: there are 40 rows"):
        bags_of(40, Sampling(max_samples=41))


@pytest.mark.parametrize("n_estimators", [0, -3, 2.5, True, "ten"])
def test_a_strange_number_of_trees_is_named(n_estimators: object) -> None:
    with pytest.raises(ParameterError, match=r"n_estimators=.* is out of range"):
        grow_bagging(people(), n_estimators=n_estimators)  # type: ignore[arg-type]


def test_votes_are_for_classes() -> None:
    table = people(numbers=True)
    with pytest.raises(ParameterError, match="votes are for classes, and the target 'y' is a number"):
        grow_bagging(table, rules_for(table), votes=True)


def test_groups_must_be_as_long_as_the_rows() -> None:
    with pytest.raises(DataError, match="groups has 3 values, and the data has 150 rows"):
        grow_bagging(people(), sampling=replace(Sampling(), groups=np.zeros(3, np.int64)))


def test_bootstrap_is_a_flag() -> None:
    with pytest.raises(ParameterError, match="must be True or False"):
        Sampling(bootstrap="yes")  # type: ignore[arg-type]


def test_ties_between_drawn_features_favour_no_column() -> None:
    # Two rows can be parted by any column that tells them apart: without a fair rule the first would win.
    draw = np.random.default_rng(0)
    table = Table.from_arrays(draw.normal(size=(400, 8)), draw.integers(0, 2, 400), task="classification")
    trees = grow_bagging(table, GrowthRules(max_features=3), 100).ensemble
    asked = np.concatenate([tree.feature[(tree.feature >= 0) & (tree.count == 2)] for tree in trees])
    shares = np.bincount(asked, minlength=8) / len(asked)
    error = np.sqrt(1 / 8 * 7 / 8 / len(asked))
    assert np.abs(shares - 1 / 8).max() < 4 * error
