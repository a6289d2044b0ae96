"""Trees that are grown by one call of the kernel are those that are grown one by one."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from holdfast import GrowthRules, Table
from holdfast.data.resampling import Units, draw_samples
from holdfast.growth import grow as nodes
from holdfast.growth.grow import grow_samples, prepare_tasks
from holdfast.growth.sample import fixed_point_sample
from holdfast.tree.tree import Tree

ARRAYS = [
    "feature",
    "threshold",
    "left",
    "right",
    "missing_left",
    "set_start",
    "in_set",
    "value",
    "count",
    "weight",
    "impurity",
]
N_TREES = 5


def towns() -> Table:
    random = np.random.default_rng(0)
    town, age = random.integers(0, 30, 400), random.integers(18, 90, 400).astype(float)
    rows = np.empty((400, 2), object)
    rows[:, 0], rows[:, 1] = [f"town {number}" for number in town], age
    rows[random.random(400) < 0.1, 1] = None
    return Table.from_arrays(
        rows, np.where((town % 3 == 0) ^ (age > 50) ^ (random.random(400) < 0.2), "a", "b")
    )


TABLES = {
    "three classes": Table.from_arrays(*load_iris(return_X_y=True)),
    "numbers": Table.from_arrays(*load_diabetes(return_X_y=True), task="regression"),
    "categories": towns(),
}
RULES = [
    {},
    {"max_depth": 3, "max_features": "sqrt"},
    {"min_samples_leaf": 4},
    {"min_samples_leaf": 0.02},
    {"min_weight_fraction_leaf": 0.03},
    {"max_leaf_nodes": 7},
    {"splitter": "random"},
    {"ccp_alpha": 0.01, "categories": "exact"},
]


def grown(table: Table, rules: GrowthRules, *, together: bool, as_draws: bool) -> list[Tree]:
    fixed, seeds = fixed_point_sample(table, rules), list(range(N_TREES))
    draws = draw_samples(fixed.repeats, Units.of(table), [(0, seed) for seed in seeds])
    blocks = [range(N_TREES)] if together else [[seed] for seed in seeds]
    return [
        tree
        for block in blocks
        for tree in grow_samples(
            table,
            rules,
            fixed,
            [draws[i].counts for i in block],
            list(block),
            [draws[i] for i in block] if as_draws else None,
        )
    ]


def assert_same(some: list[Tree], others: list[Tree]) -> None:
    for one, other in zip(some, others, strict=True):
        for name in ARRAYS:
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name


@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("name", TABLES)
def test_together_they_are_those_grown_one_by_one(name, rules):
    criterion = "squared_error" if name == "numbers" else "gini"
    own = GrowthRules(criterion, **rules)
    for as_draws in (False, True):
        together = grown(TABLES[name], own, together=True, as_draws=as_draws)
        assert_same(together, grown(TABLES[name], own, together=False, as_draws=as_draws))


def test_they_are_grown_by_one_call_unless_limits_depend_on_the_rows():
    table = TABLES["three classes"]
    for rules, n_calls in (({"max_depth": 3}, 1), ({"min_samples_leaf": 0.1}, 3), ({"max_seconds": 60.0}, 3)):
        own = GrowthRules(**rules)
        fixed = fixed_point_sample(table, own)
        assert len(prepare_tasks(table, own, fixed, [fixed.repeats] * 3, [0, 1, 2])) == n_calls


def test_sets_that_find_no_room_change_nothing(monkeypatch):
    rules = GrowthRules(categories="exact")
    with_room = grown(TABLES["categories"], rules, together=True, as_draws=False)
    monkeypatch.setattr(nodes, "SET_BYTES", 1)
    assert_same(grown(TABLES["categories"], rules, together=True, as_draws=False), with_room)
