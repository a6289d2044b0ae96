"""What must hold for every edit: a sound tree, predictions as the tree reads, and a way back."""

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast.data.schema import Feature
from holdfast.data.table import Table
from holdfast.errors import EditError
from holdfast.growth.grow import grow
from holdfast.growth.rules import GrowthRules
from holdfast.io.model_file import model_from_json, model_to_json
from holdfast.tree.check import check_tree
from holdfast.tree.edit import edited_nodes, find_unreachable
from holdfast.tree.tree import LEAF, Tree
from reference.random_trees import OUTCOMES, STAY, random_schema, random_table, random_tree
from reference.walk import path_of

ARRAYS = ("feature", "threshold", "left", "right", "missing_left", "set_start", "in_set")
NUMBERS = ("value", "count", "weight", "impurity")

seeds = st.integers(0, 100_000)
targets = st.sampled_from((OUTCOMES, STAY))


def inner_nodes(tree: Tree) -> list[int]:
    return np.flatnonzero(tree.feature != LEAF).tolist()


def question_on(random: Random, feature: Feature) -> dict[str, Any]:
    """Any question about the feature, sound or not."""
    if feature.kind == "numeric":
        return {"threshold": random.uniform(feature.low, feature.high)}
    n_left = random.randint(0, len(feature.categories))
    if feature.kind == "ordered":
        return {"categories": list(feature.categories[:n_left])}
    return {"categories": random.sample(feature.categories, n_left)}


def question_at(tree: Tree, node: int) -> dict[str, Any]:
    """The question of a node as one would ask for it again."""
    feature, missing_left = tree.schema.features[tree.feature[node]], bool(tree.missing_left[node])
    asked: dict[str, Any] = {"feature": feature.name, "missing_left": missing_left}
    if not feature.is_subset:
        return asked | {"threshold": float(tree.threshold[node])}
    flags = zip(feature.categories, tree.left_categories(node).tolist(), strict=True)
    return asked | {"categories": [label for label, goes_left in flags if goes_left]}


def any_edit(random: Random, tree: Tree) -> Tree:
    """The tree after one edit of any kind; an EditError if it is not to be."""
    node = random.randrange(tree.n_nodes)
    if tree.feature[node] == LEAF:
        classes = tree.schema.target.classes
        rows = [random.randint(0, 3) for _ in classes]
        value = {label: n / max(sum(rows), 1) for label, n in zip(classes, rows, strict=True)}
        return tree.with_leaf_value(node, value if classes else random.gauss(0, 9), by="Ada")
    if random.random() < 0.2:
        return tree.prune_at(node, why="small")
    feature = random.choice(tree.schema.features)
    missing_left = random.choice((None, True, False))
    return tree.with_split(node, feature.name, **question_on(random, feature), missing_left=missing_left)


def any_rows(random: Random, tree: Tree, n_rows: int) -> list[dict[str, Any]]:
    def cell(feature: Feature) -> Any:
        if random.random() < 0.15:
            return None
        if feature.kind == "numeric":
            return random.uniform(feature.low - 1, feature.high + 1)
        return random.choice(feature.categories)

    rows = [{each.name: cell(each) for each in tree.schema.columns} for _ in range(n_rows)]
    for row in rows:
        if "age" in row:
            row["age > 40"] = None if row["age"] is None else row["age"] > 40
    return rows


@given(seeds, targets, st.integers(1, 8))
def test_edits_leave_a_sound_tree_that_predicts_as_it_reads(seed: int, target: Any, n_leaves: int) -> None:
    random = Random(seed)
    tree = random_tree(random, random_schema(random, target), n_leaves)
    n_done = 0
    for _ in range(4):
        try:
            tree = any_edit(random, tree)
        except EditError:
            continue
        n_done += 1
        check_tree(tree)
    assert len(tree.edits) == n_done
    rows = any_rows(random, tree, 12)
    X = np.array([[row[each.name] for each in tree.schema.columns] for row in rows], object)
    assert tree.apply(X).tolist() == [path_of(tree, row)[-1] for row in rows]
    again = model_from_json(model_to_json(tree))
    assert again.edits == tree.edits
    assert edited_nodes(again) == edited_nodes(tree)
    str(tree), tree.numbered(), tree.to_svg()


@given(seeds, targets, st.integers(2, 8))
def test_an_edit_and_its_inverse_give_the_same_tree(seed: int, target: Any, n_leaves: int) -> None:
    random = Random(seed)
    tree = random_tree(random, random_schema(random, target), n_leaves)
    node = random.choice(inner_nodes(tree))
    feature = random.choice(tree.schema.features)
    try:
        edited = tree.with_split(node, feature.name, **question_on(random, feature))
    except EditError:
        assume(False)
    assume(find_unreachable(tree) <= find_unreachable(edited))  # what no value answers is not asked again
    back = edited.with_split(node, **question_at(tree, node))
    for name in (*ARRAYS, *NUMBERS):
        assert np.array_equal(getattr(back, name), getattr(tree, name), equal_nan=True), name
    assert np.array_equal(back.outcome, tree.outcome)
    assert node in edited_nodes(back)


@given(seeds, st.integers(1, 8))
def test_a_value_and_its_inverse_give_the_same_tree(seed: int, n_leaves: int) -> None:
    random = Random(seed)
    tree = random_tree(random, random_schema(random), n_leaves)
    leaf = random.choice(np.flatnonzero(tree.feature == LEAF).tolist())
    classes = tree.schema.target.classes
    edited = tree.with_leaf_value(leaf, {classes[0]: 0.25, classes[1]: 0.5})
    back = edited.with_leaf_value(leaf, dict(zip(classes, tree.value[leaf].tolist(), strict=True)))
    assert np.array_equal(back.value, tree.value)
    assert np.array_equal(back.outcome, tree.outcome)


@given(seeds, targets)
def test_with_its_rows_a_tree_comes_back_with_all_its_numbers(seed: int, target: Any) -> None:
    random = Random(seed)
    table = random_table(random, target)
    tree = grow(table, GrowthRules("gini" if target.is_classes else "squared_error", max_depth=3))
    assume(tree.n_leaves > 1)
    node = random.choice(inner_nodes(tree))
    feature = random.choice(tree.schema.features)
    try:
        edited = tree.with_split(node, feature.name, **question_on(random, feature), table=table)
        back = edited.with_split(node, **question_at(tree, node), table=table)
    except EditError:
        assume(False)
    check_tree(edited)
    assert_refitted(edited, table)
    assert np.array_equal(back.count, tree.count)
    for name in ("value", "weight", "impurity"):
        assert getattr(back, name) == pytest.approx(getattr(tree, name), abs=1e-9), name


def assert_refitted(tree: Tree, table: Table) -> None:
    """Every leaf that rows reach has their mean."""
    leaves = tree.apply(table)
    for leaf in np.unique(leaves).tolist():
        rows = table.target[leaves == leaf]
        classes = tree.schema.target.classes
        expected = np.bincount(rows, minlength=len(classes)) / len(rows) if classes else [rows.mean()]
        assert tree.value[leaf] == pytest.approx(expected)
        assert tree.count[leaf] == len(rows)
