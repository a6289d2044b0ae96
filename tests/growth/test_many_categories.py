"""Columns with many categories: sets by shrunk means, against a slow twin, and what chance may not do."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from holdfast import (
    AdaBoostClassifier,
    BoostingClassifier,
    ForestClassifier,
    GrowthRules,
    ParameterError,
    StableTreeClassifier,
    Table,
    TreeClassifier,
    TreeRegressor,
    grow,
)
from holdfast.data.schema import Feature, Schema, Target
from holdfast.ensembles.bagging import grow_bagging
from holdfast.ensembles.boosting import BoostingSettings, boost
from holdfast.tree.rules import tree_rules
from holdfast.tree.tree import LEAF, Tree
from reference.many_categories import LEAST_ROWS, MISSING, Rows, best_set, chance_variance

KINDS = ("two classes", "three classes", "number")
WEIGHTS = ("none", "whole", "fractional")
CRITERION = {"two classes": "gini", "three classes": "gini", "number": "squared_error"}


def made_table(kind: str, weights: str, seed: int = 0, n_rows: int = 400, n_codes: int = 24) -> Table:
    """One nominal column, whose first categories are frequent and last ones rare, some of it missing."""
    generator = np.random.default_rng([seed, KINDS.index(kind), WEIGHTS.index(weights)])
    share = 1.0 / np.arange(1, n_codes + 1)
    code = generator.choice(n_codes, n_rows, p=share / share.sum()).astype(float)
    height = generator.normal(size=n_codes)[code.astype(int)] + 1.5 * generator.normal(size=n_rows)
    code[generator.random(n_rows) < 0.04] = np.nan
    weight = {
        "none": None,
        "whole": generator.integers(0, 4, n_rows).astype(float),
        "fractional": generator.uniform(0.3, 2.0, n_rows),
    }[weights]
    site = Feature("site", "nominal", categories=tuple(f"site {i:02}" for i in range(n_codes)))
    if kind == "number":
        return Table(Schema((site,), Target("y", (), height.min(), height.max())), (code,), height, weight)
    names = ("low", "middle", "high")[: 2 if kind == "two classes" else 3]
    borders = np.quantile(height, [0.6] if len(names) == 2 else [0.4, 0.75])
    label = np.digitize(height, borders).astype(np.int32)
    return Table(Schema((site,), Target("y", names)), (code,), label, weight)


def rows_of(table: Table) -> Rows:
    """The rows as the twin knows them: whole weights are repetitions."""
    weight = np.ones(table.n_rows) if table.weight is None else np.asarray(table.weight)
    times = np.ones(table.n_rows, int)
    if table.weight is not None and (weight == np.floor(weight)).all():
        times, weight = weight.astype(int), np.ones(table.n_rows)
    row = np.repeat(np.arange(table.n_rows), times)
    codes = [MISSING if np.isnan(code) else int(code) for code in table.columns[0][row]]
    n_classes = len(table.schema.target.classes)
    target = np.eye(n_classes)[table.target] if n_classes else np.asarray(table.target)[:, None]
    return Rows(codes, target[row], weight[row])


def set_at_root(tree: Tree, rows: Rows) -> frozenset[int]:
    """The categories of the rows that go left at the root, and MISSING if missing values do."""
    start = int(tree.set_start[0])
    left = {code for code in set(rows.category) - {MISSING} if tree.in_set[start + code]}
    return frozenset(left | ({MISSING} if tree.missing_left[0] and MISSING in rows.category else set()))


def least_weight(rows: Rows) -> float:
    return LEAST_ROWS * float(rows.weight @ rows.weight) / float(rows.weight.sum())


@pytest.mark.kernel
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_set_is_that_of_the_slow_twin(kind: str, weights: str) -> None:
    for seed in range(6):
        table = made_table(kind, weights, seed)
        rows = rows_of(table)
        expected = best_set(rows, least_weight(rows), chance_variance(rows))
        tree = grow(table, GrowthRules(CRITERION[kind], max_depth=1))
        found, there = set_at_root(tree, rows), frozenset(rows.category)
        assert expected is not None
        assert found in (expected, there - expected), (seed, found, expected)


@pytest.mark.kernel
def test_the_set_of_a_boosted_tree_is_that_of_the_slow_twin() -> None:
    for seed in range(4):
        table = made_table("two classes", "none", seed)
        rows = rows_of(table)
        share = float(rows.mean[1])
        hessian = share * (1 - share)
        boosted = Rows(rows.category, (rows.target[:, 1:] - share) / hessian, np.full(table.n_rows, hessian))
        expected = best_set(boosted, LEAST_ROWS * hessian, 1.0, 5 * hessian, l2=2.0)
        settings = BoostingSettings(
            "log_loss",
            n_estimators=1,
            max_depth=1,
            min_samples_leaf=5,
            l2_regularization=2.0,
            splits="binned",
        )
        tree = boost(table, settings).ensemble[0]
        found = set_at_root(tree, rows)
        assert expected is not None
        assert found in (expected, frozenset(rows.category) - expected), (seed, found, expected)


def test_rare_categories_go_where_missing_values_go() -> None:
    table = made_table("two classes", "none")
    rows, tree = rows_of(table), grow(table, GrowthRules(max_depth=1))
    start, left = int(tree.set_start[0]), bool(tree.missing_left[0])
    rare = [code for code in range(24) if rows.category.count(code) < LEAST_ROWS]
    assert len(rare) > 5
    assert all(bool(tree.in_set[start + code]) == left for code in rare)


def clear_table(n_codes: int = 40) -> tuple[pd.DataFrame, Any]:
    """Categories of 7 to 9 rows each, which decide the outcome, beside a column of noise."""
    code = np.repeat(np.arange(n_codes), 7 + np.arange(n_codes) % 3)
    noise = np.random.default_rng(0).normal(size=len(code)).round(2)
    frame = pd.DataFrame({"site": [f"s{i:02}" for i in code], "noise": noise})
    return frame, np.where(code % 2 == 0, "yes", "no")


@pytest.mark.parametrize(
    "model",
    [
        TreeClassifier(max_depth=1),
        BoostingClassifier(n_estimators=1, max_depth=1, splits="binned", min_samples_leaf=2),
        BoostingClassifier(n_estimators=1, max_depth=1, splits="exact", min_samples_leaf=2),
    ],
    ids=["tree", "binned", "exact"],
)
def test_small_categories_that_decide_the_outcome_are_asked_about(model: Any) -> None:
    frame, y = clear_table()
    assert frame["site"].value_counts().max() < LEAST_ROWS
    assert model.fit(frame, y).score(frame, y) == 1.0


def test_a_clear_category_of_few_rows_is_told_from_the_missing_values() -> None:
    generator = np.random.default_rng(0)
    site = np.array([*(f"s{i:02}" for i in generator.integers(0, 12, 300)), *["rare"] * 9], dtype=object)
    site[:60] = None
    y = np.where(site == "rare", 1.0, 0.0) + 0.01 * generator.normal(size=len(site))
    model = TreeRegressor(max_depth=1).fit(pd.DataFrame({"site": site}), y)
    assert sorted(model.tree_.count[model.tree_.feature == LEAF].tolist()) == [9.0, 300.0]


def test_rules_send_rare_and_missing_categories_where_the_tree_does() -> None:
    table = made_table("two classes", "none")
    tree = grow(table, GrowthRules(max_depth=3))
    leaves, names = tree.apply(table), table.schema.features[0].categories
    rules = {rule.leaf: rule.condition("site") for rule in tree_rules(tree)}
    assert len(rules) > 3
    for code, leaf in zip(table.columns[0], leaves, strict=True):
        condition = rules[leaf]
        assert condition is not None
        assert condition.missing if np.isnan(code) else names[int(code)] in condition.categories


def test_an_unseen_category_counts_as_missing() -> None:
    generator = np.random.default_rng(0)
    site = generator.integers(0, 12, 600)
    y = generator.random(600) < np.where(site < 5, 0.2, 0.8)
    X = pd.DataFrame({"site": [f"s{i}" for i in site]})
    model = TreeClassifier(max_depth=1).fit(X, y)
    with pytest.warns(UserWarning, match="s99"):
        unseen = model.predict_proba(pd.DataFrame({"site": ["s99"]}))
    missing = model.predict_proba(pd.DataFrame({"site": [None]}, dtype=object))
    np.testing.assert_array_equal(unseen, missing)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_few_categories_give_the_same_tree_to_the_last_bit(kind: str, weights: str) -> None:
    table = made_table(kind, weights, n_codes=9, n_rows=120)
    shrunk, exact = (grow(table, GrowthRules(CRITERION[kind], categories=how)) for how in ("shrunk", "exact"))
    assert shrunk.n_leaves > 5
    assert as_bytes(shrunk) == as_bytes(exact)


@pytest.mark.parametrize("splits", ["exact", "binned"])
def test_few_categories_give_the_same_ensembles_to_the_last_bit(splits: Any) -> None:
    table = made_table("two classes", "fractional", n_codes=9)
    grown = [
        (
            *boost(
                table, BoostingSettings("log_loss", n_estimators=3, splits=splits, categories=how)
            ).ensemble,
            *grow_bagging(table, GrowthRules(categories=how, max_features=1), 3).ensemble,
        )
        for how in ("shrunk", "exact")
    ]  # type: ignore[arg-type]
    assert [as_bytes(tree) for tree in grown[0]] == [as_bytes(tree) for tree in grown[1]]


def as_bytes(tree: Tree) -> list[bytes]:
    names = ("feature", "threshold", "left", "missing_left", "in_set", "value", "count", "impurity")
    return [getattr(tree, name).tobytes() for name in names]


def test_full_categories_of_clear_means_are_parted_as_by_the_exact_search() -> None:
    generator = np.random.default_rng(3)
    site = np.repeat(np.arange(12.0), 60)
    y = np.where(site % 2 == 0, 0.0, 1.0) + 0.1 * generator.normal(size=len(site))
    feature = Feature("site", "nominal", categories=tuple("abcdefghijkl"))
    table = Table(Schema((feature,), Target("y", (), y.min(), y.max())), (site,), y, None)
    shrunk, exact = (
        grow(table, GrowthRules("squared_error", max_depth=1, categories=how)) for how in ("shrunk", "exact")
    )
    assert shrunk.in_set.tolist() == exact.in_set.tolist() == [True, False] * 6


@pytest.mark.parametrize("n_categories", [1000, 100, 30])
def test_a_column_of_noise_is_rarely_the_root(n_categories: int) -> None:
    """Beside nine columns of noise and one that says a little; the exact search takes it every time."""
    chosen = {"shrunk": 0, "exact": 0}
    for sample in range(20):
        generator = np.random.default_rng([n_categories, sample])
        columns = {"noise": [f"c{i}" for i in generator.integers(0, n_categories, 2000)]}
        columns |= {f"x{i}": generator.normal(size=2000) for i in range(10)}
        p = 1 / (1 + np.exp(-0.25 * np.asarray(columns["x0"])))
        table = Table.from_arrays(pd.DataFrame(columns), generator.random(2000) < p)
        for how in chosen:
            tree = grow(table, GrowthRules(max_depth=1, categories=how))  # type: ignore[arg-type]
            chosen[how] += table.schema.features[tree.feature[0]].name == "noise"
    assert chosen["shrunk"] <= 1
    assert chosen["exact"] == 20 or n_categories == 30


def test_a_drawn_row_counts_as_one_towards_the_smallest_leaf() -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(150, 3))
    y = X[:, 0] + generator.normal(size=150)
    for weight in (None, generator.uniform(0.5, 2.0, 150)):
        table = Table.from_arrays(X, y, sample_weight=weight, task="regression")
        bagging = grow_bagging(table, GrowthRules("squared_error", min_samples_leaf=4), 6)
        for index, tree in enumerate(bagging.ensemble):
            bag = bagging.bags[index]
            in_leaf = np.bincount(tree.apply(table)[bag > 0], minlength=tree.n_nodes)
            assert in_leaf[tree.feature == LEAF].min() >= 4
            assert tree.count[0] == bag.sum()


def mixed_frame(n_rows: int = 500) -> tuple[pd.DataFrame, Any]:
    generator = np.random.default_rng(5)
    code = generator.integers(0, 14, n_rows)
    frame = pd.DataFrame({"code": [f"c{i}" for i in code], "age": generator.normal(size=n_rows).round(1)})
    y = generator.random(n_rows) < 1 / (1 + np.exp(-np.sin(code) - frame["age"]))
    return frame, np.where(y, "yes", "no")


@pytest.mark.parametrize(
    "model",
    [
        TreeClassifier(max_depth=4),
        ForestClassifier(6, min_samples_leaf=3, random_state=0),
        BoostingClassifier(n_estimators=5, splits="binned"),
        BoostingClassifier(n_estimators=5, splits="exact"),
        AdaBoostClassifier(n_estimators=5, max_depth=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_neither_order_nor_jobs_nor_repetition_change_a_bit(model: Any) -> None:
    frame, y = mixed_frame()
    order = np.random.default_rng(1).permutation(len(frame))
    first = model.fit(frame, y).predict_proba(frame)
    again = model.fit(frame.iloc[order, ::-1], y[order]).predict_proba(frame)
    assert first.tobytes() == again.tobytes()
    twice = model.fit(frame, y, np.full(len(y), 2.0)).predict_proba(frame)
    doubled = model.fit(pd.concat([frame, frame]), np.concatenate([y, y])).predict_proba(frame)
    np.testing.assert_allclose(twice, doubled, rtol=1e-12)
    if "n_jobs" in model.get_params():
        assert model.set_params(n_jobs=2).fit(frame, y).predict_proba(frame).tobytes() == first.tobytes()
        model.set_params(n_jobs=None)


def test_every_estimator_takes_the_exact_search() -> None:
    frame, y = mixed_frame(200)
    for model in (
        TreeClassifier(growth_rules=GrowthRules(categories="exact"), max_depth=2),
        ForestClassifier(2, growth_rules=GrowthRules(categories="exact"), random_state=0),
        BoostingClassifier(n_estimators=2, growth_rules=GrowthRules(categories="exact")),
        AdaBoostClassifier(n_estimators=2, growth_rules=GrowthRules(categories="exact")),
    ):
        assert model.fit(frame, y).score(frame, y) > 0.5
    assert StableTreeClassifier(growth_rules=GrowthRules(categories="exact"))._rules().categories == "exact"
    exact = GrowthRules("squared_error", categories="exact", max_depth=3)
    by_rules = TreeRegressor(growth_rules=exact).fit(frame, y == "yes")
    spelt_out = TreeRegressor(growth_rules=GrowthRules(categories="exact"), max_depth=3).fit(
        frame, y == "yes"
    )
    assert by_rules.tree_.in_set.tolist() == spelt_out.tree_.in_set.tolist()


def test_another_word_is_refused() -> None:
    with pytest.raises(ParameterError, match="categories='best' is unknown: choose one of 'shrunk', 'exact'"):
        GrowthRules(categories="best")  # type: ignore[arg-type]
