"""Extra-random trees: every node takes the best of the splits that chance draws, one of each column."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import ForestClassifier, TreeClassifier, TreeRegressor, load, save
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.estimators.base import build_estimator
from holdfast.growth.grow import grow
from holdfast.growth.rules import C45, CLASS_CRITERIA, GrowthRules
from holdfast.tree.check import check_tree
from holdfast.tree.tree import KNOWN, LEAF, Tree
from reference.disagreement import going_left
from reference.grower import PART, best_of
from reference.random_splits import RandomOracle, drawn_number
from reference.tables import class_tables, fractional_weights, number_tables, rules, whole_weights

FIELDS = ("feature", "threshold", "left", "right", "missing_left", "set_start", "in_set", "value", "weight")
RANDOM = GrowthRules(splitter="random")
few_features = st.none() | st.integers(1, 3)


def assert_as_drawn(tree: Tree, oracle: RandomOracle, *, may_stop: bool = False) -> None:
    """Every node asks the best of its drawn splits, and has drawn its threshold; or it has none."""
    open_nodes = [(0, oracle.root, "")]
    while open_nodes:
        node, rows, path = open_nodes.pop()
        candidates = oracle.drawn(rows, path) if oracle.may_split(rows, len(path)) else []
        best = best_of(candidates, oracle.rules.criterion)[0] if candidates else None
        if tree.left[node] == LEAF:
            assert may_stop or best is None or not oracle.is_enough(rows, best)
            continue
        assert best is not None
        yes = going_left(tree, node, oracle.table)
        left, right = (tuple(row for row in rows if yes[row] == side) for side in (True, False))
        taken = [
            each for each in candidates if each.feature == tree.feature[node] and set(each.left) == set(left)
        ]
        assert taken
        # The kernel's rounding may part what is tied on paper, by one part.
        assert max(float(each.worth) for each in taken) >= float(best.worth) - 2 * PART
        check_threshold(tree, node, oracle, rows, path)
        open_nodes += [(int(tree.left[node]), left, path + "L"), (int(tree.right[node]), right, path + "R")]


def check_threshold(tree: Tree, node: int, oracle: RandomOracle, rows: Any, path: str) -> None:
    feature = oracle.table.schema.features[tree.feature[node]]
    if feature.is_subset:
        return
    column = oracle.table.columns[tree.feature[node]][list(rows)]
    low, high = np.nanmin(column), np.nanmax(column)
    expected = drawn_number(oracle.seed, path, feature.name, float(low), float(high)) if low < high else KNOWN
    if feature.kind == "ordered" and low < high:
        expected = np.floor(expected) + 0.5
    assert tree.threshold[node] == expected


# -- against the reference ------------------------------------------------------------------------------


@pytest.mark.kernel
@given(
    class_tables(of_a_row=whole_weights) | class_tables(of_a_row=fractional_weights),
    rules(tuple(CLASS_CRITERIA), splitter="random"),
    few_features,
    st.integers(0, 2**32 - 1),
)
def test_every_node_takes_the_best_drawn_split(
    table: Table, growth: GrowthRules, max_features: Any, seed: int
) -> None:
    growth = growth.replace(max_features=max_features)
    tree = grow(table, growth, random_state=seed)
    check_tree(tree)
    assert_as_drawn(tree, RandomOracle(table, growth, seed))


@pytest.mark.kernel
@given(
    number_tables(of_a_row=whole_weights) | number_tables(of_a_row=fractional_weights),
    rules(("squared_error", "poisson"), splitter="random"),
    few_features,
    st.integers(0, 2**32 - 1),
)
def test_every_node_of_numbers_takes_the_best_drawn_split(
    table: Table, growth: GrowthRules, max_features: Any, seed: int
) -> None:
    if growth.criterion == "poisson" and not table.target.any():
        return
    growth = growth.replace(max_features=max_features)
    tree = grow(table, growth, random_state=seed)
    check_tree(tree)
    assert_as_drawn(tree, RandomOracle(table, growth, seed))


@pytest.mark.kernel
@given(class_tables(of_a_row=whole_weights), st.integers(2, 8), few_features, st.integers(0, 1000))
def test_best_first_growth_draws_the_same_splits(
    table: Table, n_leaves: int, max_features: Any, seed: int
) -> None:
    growth = RANDOM.replace(max_features=max_features)
    few, all_ = (
        grow(table, growth.replace(max_leaf_nodes=most), random_state=seed) for most in (n_leaves, 1000)
    )
    assert few.n_leaves <= n_leaves
    assert_as_drawn(few, RandomOracle(table, growth, seed), may_stop=True)
    assert_same(all_, grow(table, growth, random_state=seed))


# -- what is drawn --------------------------------------------------------------------------------------


def test_thresholds_are_uniform_between_the_least_and_the_greatest_value():
    values = np.array([10.0, 10.5, 11.0, 30.0])
    table = Table.from_arrays(values[:, None], ["a", "b", "a", "b"])
    drawn = np.array(
        [grow(table, RANDOM.replace(max_depth=1), random_state=seed).threshold[0] for seed in range(2000)]
    )
    assert drawn.min() >= 10.0
    assert drawn.max() < 30.0
    quantiles = np.sort((drawn - 10.0) / 20.0)
    distance = np.abs(quantiles - (np.arange(2000) + 0.5) / 2000).max()  # Kolmogorov's
    assert distance < 1.63 / 2000**0.5  # the one-percent bound


def test_sets_of_categories_are_all_drawn_equally_often():
    schema = Schema((Feature("ward", "nominal", categories=("A", "B", "C", "D")),), Target("y", ("n", "y")))
    table = Table(schema, (np.arange(8.0) % 4,), (np.arange(8) // 4).astype(np.int32))
    counts: dict[tuple[bool, ...], int] = {}
    for seed in range(2100):
        flags = tuple(grow(table, RANDOM.replace(max_depth=1), random_state=seed).in_set.tolist())
        counts[flags] = counts.get(flags, 0) + 1
    assert len(counts) == 7  # ways to part four categories in two
    assert all(flags[0] for flags in counts)  # the first goes left
    assert all(abs(count - 300) < 4.5 * 300**0.5 for count in counts.values())


def test_a_threshold_stays_when_rows_between_the_extremes_leave():
    X = np.random.default_rng(0).random((200, 1))
    X[0], X[1] = 0.0, 1.0
    y = np.where(X[:, 0] + np.random.default_rng(1).normal(0, 0.3, 200) > 0.5, "yes", "no")
    rules = RANDOM.replace(max_depth=1)
    for seed in range(5):
        all_, few = (grow(Table.from_arrays(X[:n], y[:n]), rules, random_state=seed) for n in (200, 50))
        assert all_.threshold[0] == few.threshold[0]


def test_a_category_that_comes_moves_no_other_one():
    def chosen(wards: str, seed: int) -> frozenset[str]:
        rows = np.array(list(wards) * 2)
        table = Table.from_arrays(rows[:, None], np.arange(len(rows)) // len(wards))
        tree = grow(table, RANDOM.replace(max_depth=1), random_state=seed)
        return frozenset(np.array(list(wards))[tree.in_set])

    kept = [chosen("BCDE", seed) == chosen("ABCDE", seed) - {"A"} for seed in range(300)]
    turned = [chosen("BCDE", seed) == set("BCDE") - chosen("ABCDE", seed) for seed in range(300)]
    assert np.mean(np.logical_or(kept, turned)) > 0.75  # else one of the two had to be drawn again


# -- the same bits --------------------------------------------------------------------------------------


def patients(n_rows: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    generator = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": np.where(generator.random(n_rows) < 0.1, np.nan, generator.integers(20, 90, n_rows)),
            "ward": generator.choice(list("ABCDEF"), n_rows),
            "bmi": generator.normal(25, 4, n_rows),
            "stage": pd.Categorical(generator.choice(["I", "II", "III"], n_rows), ordered=True),
        }
    )
    risk = frame["bmi"] + (frame["ward"] > "C") * 4 + frame["age"].fillna(50) / 10
    return frame, np.where(risk + generator.normal(0, 3, n_rows) > 32, "ill", "well")


def assert_same(one: Tree, other: Tree) -> None:
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 9}, {"max_features": 2}])
def test_neither_the_order_of_rows_nor_that_of_columns_matters(limits):
    X, y = patients()
    model = TreeClassifier(splitter="random", random_state=5, **limits)
    order = np.random.default_rng(0).permutation(len(X))
    turned = X.iloc[order][X.columns[::-1]]
    one, other = model.fit(X, y).tree_, TreeClassifier(**model.get_params()).fit(turned, y[order]).tree_
    names = [[tree.schema.names[f] if f >= 0 else "" for f in tree.feature] for tree in (one, other)]
    assert names[0] == names[1]
    for name in set(FIELDS) - {"feature"}:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_forests_are_the_same_for_any_number_of_threads_and_come_back_from_a_file(tmp_path):
    X, y = patients()
    settings_ = {"splitter": "random", "bootstrap": False, "n_estimators": 6, "random_state": 1}
    one, two = (build_estimator(ForestClassifier, **settings_, n_jobs=n).fit(X, y) for n in (1, 2))
    for left, right in zip(one.ensemble_, two.ensemble_, strict=True):
        assert_same(left, right)
    assert len({tree.threshold[0] for tree in one.ensemble_} | {t.n_leaves for t in one.ensemble_}) > 2
    save(one, tmp_path / "forest.json")
    again = load(tmp_path / "forest.json")
    assert again.growth_rules == GrowthRules(splitter="random")
    assert (again.predict_proba(X) == one.predict_proba(X)).all()


def test_a_large_table_is_grown_in_parts_with_the_same_rules():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(10_000, 3)).round(2)
    table = Table.from_arrays(X, X[:, 0] + generator.normal(size=10_000) > 0)
    growth = RANDOM.replace(min_samples_leaf=5)
    tree = grow(table, growth, random_state=2)  # small nodes are copied aside
    assert tree.n_leaves > 10
    assert_same(tree, grow(table, growth.replace(max_leaf_nodes=5000), random_state=2))


# -- settings -------------------------------------------------------------------------------------------


def test_a_seed_is_drawn_where_splits_are():
    X, y = patients()
    model = TreeClassifier(splitter="random", max_depth=1)
    thresholds = {model.fit(X, y).tree_.threshold[0] for _ in range(8)}
    assert len(thresholds) > 1
    values = X["bmi"].to_numpy()
    assert TreeRegressor(splitter="random", random_state=0).fit(values[:, None], values).tree_.n_leaves > 100


def test_strange_settings_are_refused():
    with pytest.raises(ParameterError, match="splitter='worst' is unknown: choose one of 'best', 'random'"):
        GrowthRules(splitter="worst")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="threshold_cost=True is the cost of choosing one among many"):
        C45.replace(splitter="random")
    with pytest.raises(ParameterError, match="splitter=None is unknown"):
        TreeClassifier(splitter=None).fit([[1.0], [2.0]], ["a", "b"])  # type: ignore[arg-type]


def test_extreme_numbers_have_thresholds_between_them():
    for low, high in ((-1.7e308, 1.7e308), (1.0, np.nextafter(1.0, 2.0)), (0.0, 5e-324)):
        table = Table.from_arrays([[low], [high]], ["a", "b"])
        for seed in range(5):
            assert low <= grow(table, RANDOM, random_state=seed).threshold[0] < high
