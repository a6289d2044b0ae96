"""A tree that ends earlier: the same questions above, the values of its nodes at the new leaves."""

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.table import Table
from holdfast.growth.grow import grow
from holdfast.growth.pruning import prune, pruning_path
from holdfast.io.model_file import load, model_to_json, save
from holdfast.tree.check import check_tree
from holdfast.tree.prune import prune_at, rearrange_nodes
from holdfast.tree.tree import LEAF, Tree
from reference.pruning import ends_of
from reference.random_trees import OUTCOMES, STAY, random_schema, random_tree
from reference.trees import (
    FARE_KNOWN,
    LONE_LEAF,
    NUMERIC,
    ORDERED,
    PRICE,
    QUESTION,
    SPECIES,
    SUBSET,
    balanced,
)
from reference.walk import goes_left, path_of

STRUCTURE = ("feature", "threshold", "left", "right", "missing_left", "set_start", "in_set")
ARRAYS = (*STRUCTURE, "value", "count", "weight", "impurity")


def flags(tree: Tree, *nodes: int) -> np.ndarray:
    return np.isin(np.arange(tree.n_nodes), nodes)


# -- by hand ----------------------------------------------------------------------------------------------


@pytest.mark.kernel
def test_a_node_that_is_cut_keeps_its_value_and_loses_its_question() -> None:
    tree = prune_at(NUMERIC, flags(NUMERIC, 1))  # age <= 50 ? (age <= 30 ? no : yes) : no
    assert tree.feature.tolist() == [0, LEAF, LEAF]
    assert tree.threshold[0] == 50.0
    assert np.isnan(tree.threshold[1:]).all()
    assert tree.left.tolist() == [1, LEAF, LEAF]
    assert tree.right.tolist() == [2, LEAF, LEAF]
    assert tree.count.tolist() == [100.0, 60.0, 40.0]
    assert tree.value[1] == pytest.approx([32 / 60, 28 / 60])  # 40 * 0.75 + 20 * 0.1 = 32 of 60 rows
    assert tree.missing_left.tolist() == [False, False, False]
    check_tree(tree)


@pytest.mark.parametrize("tree", [NUMERIC, SUBSET, QUESTION, ORDERED, FARE_KNOWN, SPECIES, PRICE])
def test_cut_at_the_root_it_is_one_leaf_with_the_value_of_all_rows(tree: Tree) -> None:
    root = prune_at(tree, flags(tree, 0))
    assert (root.n_nodes, root.n_leaves, root.depth, len(root.in_set)) == (1, 1, 0, 0)
    assert np.array_equal(root.value, tree.value[:1])
    assert root.weight[0] == tree.weight[0]


def test_of_two_sets_of_categories_the_later_one_moves_up() -> None:
    # pain in {atypical, none} ? (pain = atypical ? yes : no) : (sex = female ? yes : no)
    tree = prune_at(SUBSET, flags(SUBSET, 1))
    assert tree.set_start.tolist() == [0, -1, 4, -1, -1]  # pain has 4 categories
    assert tree.in_set.tolist() == [True, True, False, False, True, False]
    assert tree.left_categories(2).tolist() == [True, False]
    assert tree.missing_left.tolist() == [True, False, False, False, False]
    check_tree(tree)


@pytest.mark.parametrize("tree", [LONE_LEAF, NUMERIC, SUBSET, QUESTION])
def test_flags_at_leaves_alone_or_none_at_all_change_nothing(tree: Tree) -> None:
    for is_leaf in (tree.feature == LEAF, np.zeros(tree.n_nodes, bool)):
        assert is_same(prune_at(tree, is_leaf), tree)


def test_an_end_below_another_end_does_not_matter() -> None:
    tree = balanced(40)
    inner = np.flatnonzero(tree.feature != LEAF)
    top = int(tree.left[0])
    below = [node for node in inner.tolist() if top in path_to(tree, node)]
    assert len(below) > 2
    one, other = prune_at(tree, flags(tree, top)), prune_at(tree, flags(tree, *below))
    assert one.n_leaves < tree.n_leaves
    assert is_same(one, other)


def is_same(one: Tree, other: Tree) -> bool:
    """True if the trees agree in every array."""
    return all(np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True) for name in ARRAYS)


def path_to(tree: Tree, node: int) -> list[int]:
    """The node and all above it."""
    path = [node]
    while path[-1] > 0:
        path.append(int(tree.parent[path[-1]]))
    return path


def test_notes_criterion_and_schema_stay_and_the_tree_itself_is_untouched() -> None:
    tree = NUMERIC.replace(notes=("Growth ended at 5 nodes.",), criterion="entropy")
    before = model_to_json(tree)
    part = prune_at(tree, flags(tree, 1))
    assert (part.notes, part.criterion, part.schema) == (tree.notes, "entropy", tree.schema)
    assert model_to_json(tree) == before
    with pytest.raises(ValueError, match="read-only"):
        part.value[0, 0] = 0.5


def test_a_chain_of_three_thousand_questions_is_cut_as_well() -> None:
    X = np.arange(3_000.0)[:, None]
    tree = grow(Table.from_arrays(X, np.arange(3_000) % 2))
    half = prune_at(tree, tree.node_depth == tree.depth // 2)
    assert half.depth == tree.depth // 2
    check_tree(half)


def test_a_branch_can_take_the_place_of_its_parent() -> None:
    # The question of node 1 and the leaves below it, with the value of the root: age <= 30 ? no : yes
    values, asks = np.array([0, 2, 3]), np.array([1, LEAF, LEAF])
    tree = rearrange_nodes(NUMERIC, values, asks, np.array([1, LEAF, LEAF]), np.array([2, LEAF, LEAF]))
    assert tree.threshold[0] == 30.0
    assert tree.missing_left.tolist() == [True, False, False]
    assert np.array_equal(tree.value, NUMERIC.value[[0, 2, 3]])
    assert tree.predict([[29.0], [31.0]]).tolist() == ["no", "yes"]


# -- any tree, any nodes ----------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.sampled_from([OUTCOMES, STAY]))
def test_every_cut_is_a_sound_tree_that_sends_rows_to_where_they_were_on_the_way(
    seed: int, target: Any
) -> None:
    random = Random(seed)
    tree = random_tree(random, random_schema(random, target), random.randint(1, 25))
    is_leaf = np.array([random.random() < 0.2 for _ in range(tree.n_nodes)])
    part = prune_at(tree, is_leaf)
    check_tree(part)
    ends_of(part, tree)  # node by node: questions, sets, missing sides, values
    for _ in range(20):
        row = {feature.name: _value(random, feature) for feature in tree.schema.features}
        on_the_way = path_of(tree, row)
        end = next(node for node in on_the_way if is_leaf[node] or tree.feature[node] == LEAF)
        assert np.array_equal(part.value[path_of(part, row)[-1]], tree.value[end])


def _value(random: Random, feature: Any) -> Any:
    if random.random() < 0.2:
        return None
    if feature.kind == "numeric":
        return random.uniform(feature.low - 1, feature.high + 1)
    return random.choice([*feature.categories, "never seen"])


@given(seed=st.integers(0, 10**6))
def test_a_cut_tree_survives_its_file(tmp_path_factory: Any, seed: int) -> None:
    random = Random(seed)
    tree = random_tree(random, random_schema(random), random.randint(2, 25))
    part = prune_at(tree, np.array([random.random() < 0.3 for _ in range(tree.n_nodes)]))
    file = tmp_path_factory.mktemp("cut") / "tree.json"
    save(part, file)
    assert model_to_json(load(file)) == model_to_json(part)


def test_a_pruned_tree_still_asks_the_users_question_and_knows_sets_and_missing_sides() -> None:
    random = np.random.default_rng(0)
    n = 400
    bmi = random.normal(27, 5, n).round(1)
    site = random.choice(["colon", "lung", "skin"], n)
    bmi[random.random(n) < 0.1] = np.nan
    ill = ((np.nan_to_num(bmi, nan=40.0) - 27) ** 2 < 16) & (site != "skin")
    y = np.where(ill ^ (random.random(n) < 0.2), "ill", "well")
    frame = np.column_stack([bmi.astype(object), site])
    table = Table.from_arrays(frame, y, custom_features=["(x0 - 27) ** 2 < 16"])
    tree = grow(table)
    path = pruning_path(tree)
    part = prune(tree, float(path.alphas[path.n_leaves <= 6][0]))
    kinds = {table.schema.features[feature].kind for feature in part.feature[part.feature != LEAF]}
    assert {"custom", "nominal"} <= kinds
    assert 1 < part.n_leaves <= 6
    check_tree(part)
    for row in range(0, n, 7):
        known = float(bmi[row])
        answer = None if np.isnan(known) else (known - 27) ** 2 < 16
        values = {"x0": known, "x1": str(site[row]), "(x0 - 27) ** 2 < 16": answer}
        leaf = path_of(part, values)[-1]
        assert part.apply(frame[row : row + 1])[0] == leaf
    assert goes_left(part, 0, {"x0": np.nan, "x1": None, "(x0 - 27) ** 2 < 16": None}) == part.missing_left[0]
