"""Splits on whether a value is recorded take the place of those that hardly do more."""

import numpy as np
import pandas as pd
import pytest

from holdfast import GrowthRules, StableTreeClassifier, Table, Tree, grow
from holdfast.growth.leaf_values import refit_values
from holdfast.growth.recorded_splits import add_recorded_splits
from holdfast.growth.sample import fixed_point_sample
from holdfast.tree.tree import KNOWN, LEAF
from reference.trees import leaf, split, tree_of

nan = float("nan")


def rows(*groups: tuple[object, str, int]) -> Table:
    """A column x and a target y, from values, classes and numbers of rows."""
    x, y = zip(*[(value, label) for value, label, n in groups for _ in range(n)], strict=True)
    return Table.from_frame(pd.DataFrame({"x": x, "y": y}), target="y")


def read(table: Table, rules: GrowthRules) -> Tree:
    """The tree that the rules grow, as it is handed to a reader."""
    fixed = fixed_point_sample(table, rules)
    tree = refit_values(grow(table, rules), table, fixed, fixed.repeats)
    return add_recorded_splits(tree, table, rules, fixed, fixed.repeats)


def asks_if_recorded(tree: Tree, node: int = 0) -> bool:
    return bool(tree.threshold[node] == KNOWN)


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["with the largest", "with the smallest"])
def test_few_known_values_on_the_side_of_the_missing_ones_give_way(sign: float) -> None:
    # Of the best split, x > 8.5 or missing, 2 of 102 rows have a value: yes, as 90 of the missing ones.
    table = rows(
        *((sign * x, "no", 10) for x in range(1, 9)),
        (sign * 9.0, "yes", 2),
        (nan, "yes", 90),
        (nan, "no", 10),
    )
    tree = read(table, GrowthRules(max_leaf_nodes=2))
    assert asks_if_recorded(tree)
    assert tree.count.tolist() == [182, 82, 100]
    assert tree.value[:, 1] == pytest.approx([92 / 182, 2 / 82, 0.9])
    assert tree.predict(pd.DataFrame({"x": [sign * 9.0, nan]})).tolist() == ["no", "yes"]


def test_known_values_that_matter_keep_their_threshold() -> None:
    # 20 rows above 8 are all yes, and make up a sixth of their side.
    table = rows(
        *((float(x), "no", 10) for x in range(1, 9)), (9.0, "yes", 20), (nan, "yes", 90), (nan, "no", 10)
    )
    assert read(table, GrowthRules(max_leaf_nodes=2)).threshold[0] == 8.5
    # 4 of 104 rows are few, but all that the split gains is theirs.
    table = rows(*((float(x), "no", 10) for x in range(1, 9)), (9.0, "yes", 4), (nan, "no", 100))
    assert read(table, GrowthRules(max_leaf_nodes=2)).threshold[0] == 8.5


def test_a_rare_category_leaves_the_side_of_the_missing_values() -> None:
    table = rows(
        ("flat", "no", 50), ("up", "no", 30), ("down", "yes", 2), (None, "yes", 90), (None, "no", 10)
    )
    tree = read(table, GrowthRules(max_leaf_nodes=2))
    assert sorted(tree.count.tolist()) == [82, 100, 182]
    assert {
        str(line).split("─ ")[1].split(" ·")[0].split("  ")[0] for line in str(tree).splitlines()[1:]
    } == {
        "x is recorded",
        "x is not recorded",
    }


def test_rules_for_the_rows_of_a_node_are_kept() -> None:
    # Without the 2 known rows, the side of the missing ones would have 100 rows instead of 102.
    table = rows(
        *((float(x), "no", 20) for x in range(1, 9)), (9.0, "yes", 2), (nan, "yes", 90), (nan, "no", 10)
    )
    assert asks_if_recorded(read(table, GrowthRules(max_leaf_nodes=2, min_samples_leaf=100)))
    assert read(table, GrowthRules(max_leaf_nodes=2, min_samples_leaf=101)).threshold[0] == 8.5


def test_a_prescribed_threshold_stays() -> None:
    table = rows(
        *((float(x), "no", 10) for x in range(1, 9)), (9.0, "yes", 2), (nan, "yes", 90), (nan, "no", 10)
    )
    first = [{"feature": "x", "threshold": 8.5, "missing_left": False}]
    assert read(table, GrowthRules(max_leaf_nodes=2, first_splits=first)).threshold[0] == 8.5


def test_no_stable_tree_hides_missing_values_behind_a_threshold() -> None:
    generator = np.random.default_rng(3)
    n = 600
    level = np.where(generator.random(n) < 0.5, nan, generator.gamma(3, 2, n).round(1))
    age = generator.integers(30, 80, n)
    y = generator.random(n) < 0.15 + 0.5 * np.isnan(level) + 0.3 * (age > 60)
    X = pd.DataFrame({"age": age, "level": level})
    model = StableTreeClassifier(max_leaf_nodes=5, n_estimators=10, teacher="linear", random_state=0).fit(
        X, y
    )
    tree = model.tree_
    place = tree.schema.names.index("level")
    assert place in tree.feature
    assert all(asks_if_recorded(tree, node) for node in np.flatnonzero(tree.feature == place))
    assert tree.count[tree.feature == LEAF].sum() == tree.count[0]


def test_a_split_on_the_feature_among_the_missing_ones_goes() -> None:
    # x > 8.5 or missing, and below it x <= 9.5 for 2 known rows: nothing is left to split on there.
    table = rows(
        *((float(x), "no", 10) for x in range(1, 9)),
        (9.0, "yes", 2),
        (10.0, "no", 2),
        (nan, "yes", 190),
        (nan, "no", 10),
    )
    below = split("x", 9.5, leaf(2, 0.0, 1.0), leaf(202, 0.06, 0.94))
    root = tree_of(split("x", 8.5, leaf(80, 1.0, 0.0), below), table.schema.features, table.schema.target)
    rules = GrowthRules()
    fixed = fixed_point_sample(table, rules)
    tree = add_recorded_splits(root, table, rules, fixed, fixed.repeats)
    assert asks_if_recorded(tree)
    assert tree.count.tolist() == [284, 84, 200]
    assert tree.predict(pd.DataFrame({"x": [9.0, 10.0, nan]})).tolist() == ["no", "no", "yes"]
    kept = add_recorded_splits(root, table, rules, fixed, fixed.repeats, keep=[2])
    assert kept.threshold[:3].tolist()[::2] == [8.5, 9.5]
