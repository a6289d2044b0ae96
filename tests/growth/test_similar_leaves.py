"""Siblings that rows held out cannot tell apart are joined."""

import numpy as np
import pytest
from scipy import stats

from holdfast import ParameterError, Table, TreeClassifier, TreeRegressor, grow
from holdfast.growth.holdout_pruning import compute_p_value, merge_similar_leaves

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3))
RISK = np.where(X[:, 0] > 0, 0.9, 0.2)
Y = np.where(RNG.random(600) < RISK, "yes", "no")


def test_the_chance_is_that_of_chi_squared_and_of_welch() -> None:
    left = X[:, 1] > 0.3
    table = Table.from_arrays(X, Y)
    counts = [[np.sum(table.target[side] == code) for code in (0, 1)] for side in (left, ~left)]
    expected = stats.chi2_contingency(counts, correction=False).pvalue
    assert compute_p_value(table, None, left, ~left) == pytest.approx(expected)
    numbers = Table.from_arrays(X, X[:, 1] + RNG.normal(size=600))
    expected = stats.ttest_ind(numbers.target[left], numbers.target[~left], equal_var=False).pvalue
    assert compute_p_value(numbers, None, left, ~left) == pytest.approx(expected)


def test_what_no_row_reaches_cannot_be_told_apart() -> None:
    nobody = np.zeros(600, bool)
    assert compute_p_value(Table.from_arrays(X, Y), None, nobody, ~nobody) == 1.0


def test_leaves_of_one_risk_are_joined_and_those_of_two_are_not() -> None:
    table = Table.from_arrays(X, Y)
    learnt = np.arange(600) < 300
    tree = grow(table.subset(learnt))
    joined = merge_similar_leaves(tree, table.subset(~learnt), level=0.01)
    assert joined.n_leaves < tree.n_leaves / 5
    assert joined.feature[0] == 0


def test_an_estimator_joins_them_by_a_third_of_its_rows() -> None:
    plain = TreeClassifier(min_samples_leaf=20).fit(X, Y).tree_
    model = TreeClassifier(min_samples_leaf=20, merge_leaves="similar").fit(X, Y)
    assert model.tree_.n_leaves < plain.n_leaves
    assert model.tree_.count[0] == 600
    numbers = TreeRegressor(min_samples_leaf=20, merge_leaves="similar").fit(X, RISK + RNG.normal(size=600))
    assert numbers.tree_.n_leaves < TreeRegressor(min_samples_leaf=20).fit(X, RISK).tree_.count[0]
    with pytest.raises(ParameterError, match="merge_leaves=True is for classification"):
        TreeRegressor(merge_leaves=True).fit(X, RISK)


def test_the_order_of_the_rows_does_not_matter() -> None:
    order = RNG.permutation(600)
    one, other = (
        TreeClassifier(min_samples_leaf=10, merge_leaves="similar").fit(X[rows], Y[rows]).tree_
        for rows in (np.arange(600), order)
    )
    assert np.array_equal(one.threshold, other.threshold, equal_nan=True)


def test_a_level_out_of_range_is_refused() -> None:
    table = Table.from_arrays(X, Y)
    with pytest.raises(ParameterError, match=r"level=2 is out of range"):
        merge_similar_leaves(grow(table), table, level=2)
