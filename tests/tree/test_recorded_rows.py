"""What trees tell of missing values and of categories, against a count row by row."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from holdfast import Feature, GrowthRules, StableTreeClassifier, StableTreeRegressor, Table, Tree, grow
from holdfast.io.model_file import model_from_json, model_to_json
from holdfast.tree.prune import prune_at
from holdfast.tree.recorded import set_recorded
from holdfast.tree.rules import split_condition, tree_rules
from holdfast.tree.rules_text import branch_text
from holdfast.tree.tree import LEAF
from reference.trees import SURVIVED, leaf, split, tree_of

CLASSES = ("no", "yes", "perhaps")


def random_rows(seed: int, n_rows: int, n_classes: int) -> pd.DataFrame:
    """Numbers and categories, many of them missing; y depends on both, and on what is missing."""
    generator = np.random.default_rng(seed)
    level = np.where(generator.random(n_rows) < 0.4, np.nan, generator.integers(0, 30, n_rows))
    kind = generator.choice(["a", "b", "c", "d"], n_rows, p=[0.5, 0.3, 0.18, 0.02]).astype(object)
    kind[generator.random(n_rows) < 0.3] = None
    age = generator.integers(20, 90, n_rows).astype(float)
    age[generator.random(n_rows) < 0.05] = np.nan
    score = np.nan_to_num(level, nan=20.0) / 15 + (kind == "b") + np.nan_to_num(age, nan=70.0) / 50
    score += generator.normal(0, 0.6, n_rows)
    y: Any = (
        score
        if n_classes == 0
        else np.array(CLASSES[:n_classes])[np.digitize(score, [2.5, 3.3][: n_classes - 1])]
    )
    return pd.DataFrame({"level": level, "kind": kind, "age": age, "y": y})


def nodes_of_row(tree: Tree, row: dict[str, Any]) -> Iterator[int]:
    """The nodes that a row passes, by the meaning of the arrays."""
    node = 0
    while True:
        yield node
        if tree.feature[node] == LEAF:
            return
        feature = tree.schema.features[tree.feature[node]]
        value = row[feature.name]
        if value is None or value != value:
            goes_left = bool(tree.missing_left[node])
        elif feature.is_subset:
            goes_left = bool(tree.left_categories(node)[feature.categories.index(value)])
        else:
            goes_left = value <= tree.threshold[node]
        node = int((tree.left if goes_left else tree.right)[node])


def check_told(tree: Tree, frame: pd.DataFrame) -> None:
    """Compare every condition of the tree with a count of the rows, one by one."""
    missing: dict[tuple[int, str], int] = {}
    rows = np.zeros(tree.n_nodes)
    seen: dict[int, set[Any]] = {}
    for row in frame.to_dict("records"):
        for node in nodes_of_row(tree, row):
            rows[node] += 1
            for name in tree.schema.names:
                is_missing = row[name] is None or row[name] != row[name]
                missing[node, name] = missing.get((node, name), 0) + is_missing
            if tree.set_start[node] >= 0:
                value = row[tree.schema.names[tree.feature[node]]]
                seen.setdefault(node, set()).update([] if value is None or value != value else [value])
    for node in np.flatnonzero(tree.feature != LEAF).tolist():
        for side, children in ((True, tree.left), (False, tree.right)):
            told, child = split_condition(tree, node, side), int(children[node])
            n_missing = missing[child, told.name] if told.missing else 0
            assert (told.n_missing or 0) == n_missing
            text = branch_text(tree, node, side, counts=True)
            if n_missing and told.n_known != 0 and "recorded or not" not in text and " is " not in text:
                assert f"({int(rows[child]) - n_missing:,}) or not recorded ({n_missing:,})" in text
            if not n_missing:
                assert "or not recorded" not in text
            if told.seen is not None:
                assert set(told.seen) == seen[node]
    for rule in tree_rules(tree):
        for condition in rule.conditions:
            expected = missing[rule.leaf, condition.name] if condition.missing else 0
            assert (condition.n_missing or 0) == expected
            if condition.n_missing:
                assert condition.n_known == rows[rule.leaf] - expected


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_counts_are_those_of_the_rows_when_grown_saved_and_pruned(seed: int, n_classes: int) -> None:
    frame = random_rows(seed, 150, n_classes)
    tree = grow(
        Table.from_frame(frame, target="y"),
        GrowthRules("gini" if n_classes else "squared_error", max_leaf_nodes=8, min_samples_leaf=3),
    )
    check_told(tree, frame)
    check_told(model_from_json(model_to_json(tree)), frame)
    generator = np.random.default_rng(seed)
    for _ in range(3):
        check_told(prune_at(tree, generator.random(tree.n_nodes) < 0.3), frame)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_counts_of_a_stable_tree_are_those_of_its_rows(n_classes: int) -> None:
    frame = random_rows(7, 200, n_classes)
    estimator = StableTreeClassifier if n_classes else StableTreeRegressor
    model = estimator(n_estimators=5, teacher="linear", max_leaf_nodes=6).fit(
        frame.drop(columns="y"), frame["y"]
    )
    check_told(model.tree_, frame)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_after_an_update_counts_add_up_to_the_rows_of_a_leaf_and_hold_the_new_ones(n_classes: int) -> None:
    old, new = random_rows(1, 200, n_classes), random_rows(2, 150, n_classes)
    estimator = StableTreeClassifier if n_classes else StableTreeRegressor
    model = estimator(n_estimators=5, teacher="linear", max_leaf_nodes=6).fit(old.drop(columns="y"), old["y"])
    model.update(new.drop(columns="y"), new["y"])
    for number, step in enumerate(model.update_.steps):
        tree = step.tree
        leaves = tree.apply(new.drop(columns="y"))
        for rule in tree_rules(tree):
            own = new[leaves == rule.leaf]
            for condition in rule.conditions:
                n_new = int(own[condition.name].isna().sum()) if condition.missing else 0
                if condition.n_missing is None or np.isnan(condition.n_missing):
                    continue
                if number:  # the first step keeps the tree
                    assert condition.n_missing >= n_new * (tree.count[rule.leaf] >= len(own))
                assert condition.n_known + condition.n_missing == pytest.approx(rule.count)
                assert 0 <= condition.n_missing <= rule.count


def test_leaves_that_mix_earlier_and_new_rows_count_both() -> None:
    level = Feature("level", low=0.0, high=100.0)
    before = tree_of(split("level", 50.0, leaf(100, 0.8, 0.2), leaf(40, 0.1, 0.9), True), (level,), SURVIVED)
    before = before.replace(not_recorded=np.array([[1.0, 0.0, 60.0]]))
    frame = pd.DataFrame({"level": [10.0] * 10 + [40.0] * 10 + [80.0] * 10 + [np.nan] * 20})
    rows = Table.from_arrays(frame, ["no", "yes"] * 25, schema=before.schema)
    # 10 of 40 new rows of the first leaf are at most 20: they stand for 25 of its 100 earlier rows.
    updated = tree_of(split("level", 20.0, leaf(35, 0.8, 0.2), leaf(155, 0.1, 0.9)), (level,), SURVIVED)
    told = split_condition(set_recorded(updated, rows, before), 0, False)
    assert (told.n_known, told.n_missing) == (75, 80)  # all 60 earlier rows without a level, and 20 new ones
    discounted = updated.replace(count=np.array([100.0, 10.0 + 12.5, 40.0 + 57.5]))
    assert split_condition(set_recorded(discounted, rows, before), 0, False).n_missing == 50  # half of the 60
