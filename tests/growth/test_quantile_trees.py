"""Trees whose leaves say a quantile: against exact arithmetic, against scikit-learn, and by hand."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeRegressor

from holdfast._arrays import FloatArray
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.grow import grow
from holdfast.growth.holdout_pruning import grow_reduced_error
from holdfast.growth.leaf_values import refit_leaf_values
from holdfast.growth.pruning import pruning_path
from holdfast.growth.rules import GrowthRules
from holdfast.growth.size_search import choose_size
from holdfast.io.model_file import model_from_json, model_to_json
from holdfast.tree.check import check_tree
from holdfast.tree.monotone import count_violations
from holdfast.tree.stats import parse_quantile, weighted_quantile
from holdfast.tree.tree import LEAF, Tree
from reference.disagreement import disagreements
from reference.tables import fractional_weights, number_tables, real_numbers, rules, whole_weights

QUANTILES = ("absolute_error", "quantile 0.9", "quantile 0.25")
whole_tables = number_tables(of_a_row=whole_weights, most_rows=20)
any_tables = whole_tables | number_tables(real_numbers, most_rows=20, of_a_row=fractional_weights)
SHAPE = ("feature", "threshold", "left", "right", "missing_left", "set_start", "in_set")
DATA = ("value", "count", "weight", "impurity")


@pytest.fixture(scope="module")
def skewed() -> tuple[FloatArray, FloatArray]:
    random = np.random.default_rng(3)
    X = random.normal(size=(400, 4))
    return X, np.exp(X[:, 0]) + np.abs(X[:, 1]) + random.standard_t(2, size=400)


def lost(tree: Tree, values: FloatArray, said: float, weight: FloatArray) -> float:
    """The mean loss around a number by its definition."""
    quantile = parse_quantile(tree.criterion)
    assert quantile is not None
    apart = values - said
    costs = np.where(apart > 0, quantile * apart, (quantile - 1.0) * apart)
    return float(np.average(costs, weights=weight)) * (2.0 if tree.criterion == "absolute_error" else 1.0)


def rows_at(tree: Tree, table: Table) -> list[Any]:
    """The rows that reach each node."""
    path = tree.decision_path(table).toarray() > 0
    return [np.flatnonzero(path[:, node]) for node in range(tree.n_nodes)]


# -- what is grown ------------------------------------------------------------------------------------------


@pytest.mark.kernel
@given(any_tables, rules(QUANTILES))
def test_every_split_is_the_best_of_all_in_exact_arithmetic(table: Table, growth: GrowthRules) -> None:
    tree = grow(table, growth)
    check_tree(tree)
    assert disagreements(table, growth, tree) == []


@pytest.mark.kernel
@given(any_tables, st.sampled_from(QUANTILES))
def test_every_node_says_the_quantile_of_its_rows_and_what_they_lose_around_it(
    table: Table, criterion: str
) -> None:
    tree = grow(table, GrowthRules(criterion, max_depth=3))
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    for node, rows in enumerate(rows_at(tree, table)):
        rows = rows[weight[rows] > 0]
        quantile = parse_quantile(criterion)
        assert quantile is not None
        said = weighted_quantile(table.target[rows], weight[rows], quantile)
        assert tree.value[node, 0] == pytest.approx(said, abs=1e-12)
        loss = lost(tree, table.target[rows], said, weight[rows])
        assert tree.impurity[node] == pytest.approx(loss, rel=1e-9, abs=1e-9)


@given(any_tables, rules(QUANTILES), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_no_bit(table: Table, growth: GrowthRules, random: Any) -> None:
    order = np.arange(table.n_rows)
    random.shuffle(order)
    one, other = grow(table, growth), grow(table.subset(order), growth)
    for name in (*SHAPE, *DATA):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@given(whole_tables, rules(QUANTILES))
def test_a_row_of_weight_two_is_two_rows(table: Table, growth: GrowthRules) -> None:
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    rows = np.repeat(np.arange(table.n_rows), weight.astype(int))
    repeated = Table(table.schema, tuple(each[rows] for each in table.columns), table.target[rows], None)
    one, other = grow(table, growth), grow(repeated, growth)
    for name in (*SHAPE, "value", "count", "weight"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    np.testing.assert_allclose(one.impurity, other.impurity, 1e-12)


@pytest.mark.parametrize("depth", [1, 3])
def test_splits_and_errors_are_those_of_scikit_learn(
    skewed: tuple[FloatArray, FloatArray], depth: int
) -> None:
    X, y = skewed
    limits: dict[str, Any] = {"criterion": "absolute_error", "max_depth": depth, "min_samples_leaf": 20}
    ours = grow(Table.from_arrays(X, y), GrowthRules(**limits))
    theirs = DecisionTreeRegressor(**limits, random_state=0).fit(X, y)
    np.testing.assert_array_equal(
        ours.feature, np.where(theirs.tree_.feature < 0, LEAF, theirs.tree_.feature)
    )
    np.testing.assert_allclose(ours.impurity, theirs.tree_.impurity, rtol=1e-9)
    np.testing.assert_allclose(ours.value[:, 0], theirs.tree_.value[:, 0, 0], rtol=1e-12)
    assert np.abs(ours.predict(X) - y).mean() == pytest.approx(
        np.abs(theirs.predict(X) - y).mean(), rel=1e-12
    )


def test_outliers_do_not_choose_the_split() -> None:
    x, y = np.arange(40.0), np.where(np.arange(40) < 20, 1.0, 2.0)
    y[39] = 1e6
    limits: dict[str, Any] = {"max_depth": 1, "min_samples_leaf": 5}
    by_mean, by_median = (
        grow(Table.from_arrays(x[:, None], y, task="regression"), GrowthRules(criterion, **limits))
        for criterion in ("squared_error", "absolute_error")
    )
    assert by_mean.threshold[0] == 34.5
    assert by_median.threshold[0] == 19.5
    assert by_median.predict([[0.0], [39.0]]).tolist() == [1.0, 2.0]


def test_the_fraction_of_rows_at_or_below_is_the_quantile_in_every_leaf(
    skewed: tuple[FloatArray, FloatArray],
) -> None:
    X, y = skewed
    table = Table.from_arrays(X, y)
    tree = grow(table, GrowthRules("quantile", quantile=0.9, min_samples_leaf=50))
    for node, rows in enumerate(rows_at(tree, table)):
        assert 0.9 <= (y[rows] <= tree.value[node, 0]).mean() <= 0.9 + 1 / len(rows)


@pytest.mark.parametrize("n_categories", [12, 300])
def test_many_categories_are_ordered_by_their_own_quantiles(n_categories: int) -> None:
    random = np.random.default_rng(0)
    code = np.repeat(np.arange(n_categories), 4)
    level = random.permutation(n_categories)[code]
    y = np.where(level < n_categories // 3, 0.0, 10.0) + random.uniform(size=len(code))
    frame = np.array([f"c{each:03}" for each in code], object)[:, None]
    table = Table.from_arrays(frame, y)
    tree = grow(table, GrowthRules("absolute_error", max_depth=1))
    assert sorted(set(tree.apply(table)[level < n_categories // 3].tolist())) != sorted(
        set(tree.apply(table)[level >= n_categories // 3].tolist())
    )
    assert tree.predict(table).tolist() == pytest.approx(
        np.where(y < 5, *np.sort(tree.value[1:, 0])).tolist()
    )


def test_wide_weights_and_targets_of_any_size_are_no_trouble() -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=200)
    y, weight = np.where(x > 0, 1.0, 2.0) + random.normal(size=200) / 10, random.uniform(0.1, 5, size=200)
    usual = grow(Table.from_arrays(x[:, None], y, weight), GrowthRules("absolute_error", max_depth=2))
    for scale in (1e-300, 1e300):
        tree = grow(
            Table.from_arrays(x[:, None], y * scale, weight), GrowthRules("absolute_error", max_depth=2)
        )
        np.testing.assert_allclose(tree.value / scale, usual.value, rtol=1e-9)
        np.testing.assert_array_equal(tree.threshold, usual.threshold)


def test_directions_hold(skewed: tuple[FloatArray, FloatArray]) -> None:
    X, y = skewed
    for quantile in (0.5, 0.8):
        growth = GrowthRules("quantile", quantile=quantile, max_depth=5, monotonic_cst={"x0": 1, "x1": -1})
        tree = grow(Table.from_arrays(X, y), growth)
        assert tree.n_leaves > 4
        assert count_violations(tree) == 0
        grid = np.zeros((200, 4))
        grid[:, 0] = np.linspace(-3, 3, 200)
        assert (np.diff(tree.predict(grid)) >= 0).all()


def test_constraints_first_splits_and_drawn_features_are_kept(skewed: tuple[FloatArray, FloatArray]) -> None:
    X, y = skewed
    table = Table.from_arrays(X, y)
    plain = GrowthRules("absolute_error", max_depth=3, min_samples_leaf=10)
    assert "x0" not in grow(table, plain.replace(excluded_features=["x0"])).rules()
    top = {"feature": "x3", "threshold": 0.25}
    prescribed = grow(table, plain.replace(first_splits=top))
    assert (prescribed.feature[0], prescribed.threshold[0]) == (3, 0.25)
    drawn = grow(table, plain.replace(max_features=1), random_state=5)
    assert len(set(drawn.feature[drawn.feature != LEAF].tolist())) > 1
    small = grow(table, GrowthRules("absolute_error", max_leaf_nodes=4))
    assert small.n_leaves == 4


# -- what is made of it -------------------------------------------------------------------------------------


def test_pruning_goes_by_the_loss_of_the_leaves(skewed: tuple[FloatArray, FloatArray]) -> None:
    X, y = skewed
    table = Table.from_arrays(X, y)
    tree = grow(table, GrowthRules("absolute_error", min_samples_leaf=10))
    path = pruning_path(tree)
    assert path.risks[0] == pytest.approx(np.abs(y - tree.predict(X)).mean())
    assert path.risks[-1] == pytest.approx(np.abs(y - np.median(y)).mean())
    assert (np.diff(path.risks) >= -1e-12).all()
    chosen = choose_size(table, GrowthRules("quantile", quantile=0.9, min_samples_leaf=10))
    assert chosen.sizes.metric.name == "quantile 0.9"
    assert chosen.tree.n_leaves < tree.n_leaves
    held_out = grow_reduced_error(table, GrowthRules("absolute_error"))
    assert 1 < held_out.n_leaves < 60
    rows = rows_at(held_out, table)
    assert all(held_out.value[node, 0] == np.median(y[own]) for node, own in enumerate(rows))


def test_other_rows_give_leaves_their_own_quantiles(skewed: tuple[FloatArray, FloatArray]) -> None:
    X, y = skewed
    growth = GrowthRules("quantile", quantile=0.75, max_depth=2, min_samples_leaf=20)
    early, later = Table.from_arrays(X[:200], y[:200]), Table.from_arrays(X[200:], y[200:])
    tree = refit_leaf_values(grow(early, growth), later, growth)
    for node, rows in enumerate(rows_at(tree, later)):
        assert tree.value[node, 0] == weighted_quantile(later.target[rows], np.ones(len(rows)), 0.75)


def test_files_and_words_say_which_quantile(skewed: tuple[FloatArray, FloatArray]) -> None:
    X, y = skewed
    table = Table.from_arrays(X, y)
    trees = [
        grow(table, GrowthRules("absolute_error", max_depth=1)),
        grow(table, GrowthRules("quantile", quantile=0.9, max_depth=1)),
    ]
    for tree, words in zip(trees, ("median", "0.9 quantile"), strict=True):
        again = model_from_json(model_to_json(tree))
        assert again.criterion == tree.criterion
        assert parse_quantile(again.criterion) == parse_quantile(tree.criterion)
        assert f"THEN y = {words} " in tree.rules()
        assert f"{words} of y" in str(tree)
        assert words in tree.to_svg()


def test_names_that_are_no_quantile_are_none() -> None:
    for name in ("quantile", "quantile 0", "quantile 1.0", "quantile nan", "quantile x", "squared_error", ""):
        assert parse_quantile(name) is None


# -- errors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quantile", [0.0, 1.0, -0.5, 2, np.nan, True, "0.9"])
def test_a_quantile_out_of_range_is_refused(quantile: Any) -> None:
    with pytest.raises(
        ParameterError, match=r"quantile=.* is out of range: it must be a fraction between 0 and 1"
    ):
        GrowthRules("quantile", quantile=quantile)


def test_a_quantile_without_its_criterion_and_the_other_way_round_are_refused() -> None:
    with pytest.raises(
        ParameterError, match=r"quantile=0.9 is for criterion='quantile', and the criterion is"
    ):
        GrowthRules("squared_error", quantile=0.9)
    with pytest.raises(
        ParameterError, match=r"criterion='quantile' needs a quantile: give one, as in quantile"
    ):
        GrowthRules("quantile")


def test_classes_and_splits_drawn_at_random_have_none() -> None:
    classes = Table.from_arrays([[1.0], [2.0]], ["a", "b"])
    with pytest.raises(ParameterError, match=r"criterion='absolute_error' is not one for classes"):
        grow(classes, GrowthRules("absolute_error"))
    with pytest.raises(
        ParameterError, match=r"splitter='random' is not available for criterion='absolute_error'"
    ):
        GrowthRules("absolute_error", splitter="random")
