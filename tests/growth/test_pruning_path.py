"""Paths of subtrees: small ones by hand, cut by depth and by leaves as growth would, and what is refused."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from holdfast.adapters import as_tree
from holdfast.data.schema import Feature, Target
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.estimators.tree import TreeClassifier
from holdfast.growth.grow import grow
from holdfast.growth.pruning import depth_path, leaves_path, node_risk, prune, pruning_path
from holdfast.growth.rules import GrowthRules
from holdfast.io.model_file import model_to_json
from holdfast.tree.tree import LEAF, Tree
from reference.pruning import ends_of
from reference.trees import LONE_LEAF, NUMERIC, PRICE, SPECIES, leaf, split, tree_of

X = Feature("x", low=0.0, high=10.0)
STAY = Target("stay", low=0.0, high=30.0)
SIDES = Target("side", classes=("a", "b"))


def rows(n_rows: int = 160, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns, a number that follows them, and weights that keep splits from being tied."""
    random = np.random.default_rng(seed)
    features = random.normal(size=(n_rows, 4))
    y = features[:, 0] * features[:, 1] + features[:, 2] + random.normal(size=n_rows)
    return features, y, random.uniform(0.5, 2.0, n_rows)


def table_for(criterion: str) -> Table:
    features, y, weight = rows()
    if criterion == "squared_error":
        return Table.from_arrays(features, y, weight, task="regression")
    if criterion == "poisson":
        return Table.from_arrays(features, np.floor(np.exp(y / 2)) + 1, weight, task="regression")
    return Table.from_arrays(features, np.searchsorted([-1.0, 1.0], y), weight)


# -- by hand ----------------------------------------------------------------------------------------------


@pytest.mark.kernel
def test_the_weakest_link_goes_first() -> None:
    # Ten rows in each of four leaves; means 0, 2 | 10, 16, no spread within them.
    low = split("x", 2.0, leaf(10, 0.0, impurity=0.0), leaf(10, 2.0, impurity=0.0))
    high = split("x", 8.0, leaf(10, 10.0, impurity=0.0), leaf(10, 16.0, impurity=0.0))
    path = pruning_path(tree_of(split("x", 5.0, low, high), (X,), STAY))
    # The split on the left saves 20 * 1 of 40 rows, the one on the right 20 * 9. The mean is 7: the root has
    # 10 * (49 + 25 + 9 + 81) / 40 = 41, so that its own split saves 41 - 0.5 - 4.5 = 36.
    assert path.alphas == pytest.approx([0.0, 0.5, 4.5, 36.0])
    assert path.n_leaves.tolist() == [4, 3, 2, 1]
    assert path.risks == pytest.approx([0.0, 0.5, 5.0, 41.0])
    assert path.complexity == pytest.approx([0.0, 0.5 / 41, 4.5 / 41, 36 / 41])
    assert [part.n_leaves for part in path] == [4, 3, 2, 1]
    assert path[1].threshold[[0, 2]].tolist() == [5.0, 8.0]


@pytest.mark.kernel
def test_a_weak_split_above_strong_ones_takes_them_along() -> None:
    # Means 0, 10 | 0, 10: the root split saves nothing, each of the others 25 of the 25.
    halves = [split("x", at, leaf(10, 0.0, impurity=0.0), leaf(10, 10.0, impurity=0.0)) for at in (2.0, 8.0)]
    path = pruning_path(tree_of(split("x", 5.0, *halves), (X,), STAY))
    # Both gone at once: 25 saved by 3 more leaves.
    assert path.alphas == pytest.approx([0.0, 25 / 3])
    assert path.n_leaves.tolist() == [4, 1]


@pytest.mark.kernel
def test_splits_that_save_nothing_are_undone_by_any_alpha_but_not_by_none() -> None:
    low = split("x", 2.0, leaf(10, 3.0, impurity=1.0), leaf(10, 3.0, impurity=1.0))
    tree = tree_of(split("x", 5.0, low, leaf(20, 7.0, impurity=1.0)), (X,), STAY)
    path = pruning_path(tree)
    assert path.alphas == pytest.approx([0.0, 0.0, 4.0])  # means 3 and 7 of 20 rows each: 4 saved
    assert path.n_leaves.tolist() == [3, 2, 1]
    assert [prune(tree, alpha).n_leaves for alpha in (0, 0.0, 1e-300, 3.9, 4.1, math.inf)] == [
        3,
        3,
        2,
        2,
        1,
        1,
    ]


def test_misclassified_rows_can_be_what_a_subtree_costs() -> None:
    # Of 100 rows 10, 2 and 0 are errors in the leaves, 28 of the 60 up to 50 years, and 28 at the root.
    path = pruning_path(NUMERIC, risk="misclassification")
    # The upper split saves nothing, and so goes with the lower one: 16 errors saved by 2 more leaves.
    assert path.risks == pytest.approx([0.12, 0.28])
    assert path.alphas == pytest.approx([0.0, 0.08])
    assert path.n_leaves.tolist() == [3, 1]


def test_a_lone_leaf_is_a_path_of_one() -> None:
    for path in (pruning_path(LONE_LEAF), depth_path(LONE_LEAF), leaves_path(LONE_LEAF)):
        assert len(path) == 1
        assert path.n_leaves.tolist() == [1]
        assert path[0].n_nodes == 1
        assert [path.place_of(value) for value in (0, 1, 5, math.inf)] == [0, 0, 0, 0]
        assert path.risks == pytest.approx([2 * 0.677 * 0.323])
    assert prune(LONE_LEAF, 3.0).n_nodes == 1


def test_a_tree_without_any_risk_is_pruned_to_its_root_by_any_alpha() -> None:
    tree = tree_of(split("x", 5.0, leaf(10, 1.0, 0.0), leaf(10, 1.0, 0.0)), (X,), SIDES)
    path = pruning_path(tree)
    assert (path.n_leaves.tolist(), path.alphas.tolist()) == (
        [2, 1],
        [0.0, 5e-324],
    )  # the least number above 0
    assert path.complexity.tolist() == [0.0, 5e-324]
    assert prune(tree, 1e-12).n_leaves == 1


def test_every_criterion_has_its_risk() -> None:
    shares = [0.0, 0.02, 0.98]
    bits = -sum(share * math.log2(share) for share in shares if share)
    expected = {"gini": 1 - 0.02**2 - 0.98**2, "entropy": bits, "log_loss": bits, "gain_ratio": bits}
    expected |= {"misclassification": 0.02, "purity": 0.02, "mutual_information": bits}
    for name, impurity in expected.items():
        assert node_risk(SPECIES, name)[4] == pytest.approx(impurity * 46 / 150)
    assert node_risk(PRICE)[1] == pytest.approx(PRICE.impurity[1] * 80 / 100)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "poisson", "gain_ratio"])
def test_the_risk_is_what_the_leaves_lose_per_row(criterion: str) -> None:
    tree = grow(table_for(criterion), GrowthRules(criterion, max_depth=4))
    leaves = tree.feature == LEAF
    lost = (tree.impurity * tree.weight)[leaves].sum() / tree.weight[0]
    assert pruning_path(tree).risks[0] == pytest.approx(lost)
    assert pruning_path(tree).risks[-1] == pytest.approx(tree.impurity[0])


# -- as growth would have ended ---------------------------------------------------------------------------

CRITERIA = ["gini", "entropy", "misclassification", "squared_error", "poisson"]


def assert_same_tree(one: Tree, other: Tree) -> None:
    """All but the last digits: weighted sums may be taken in another order."""
    assert ends_of(one, other, 1e-12) == ends_of(other, other)


@pytest.mark.parametrize("criterion", [*CRITERIA, "gain_ratio", "mutual_information"])
def test_cut_at_a_depth_the_tree_is_the_one_grown_to_it(criterion: str) -> None:
    table, growth = table_for(criterion), GrowthRules(criterion, min_samples_leaf=3)
    whole = grow(table, growth)
    path = depth_path(whole)
    assert path.values.tolist() == list(range(whole.depth, -1, -1))
    for depth in range(1, whole.depth + 3):
        assert_same_tree(path.tree_at(depth), grow(table, replace(growth, max_depth=depth)))
    assert path.tree_at(0).n_nodes == 1


@pytest.mark.parametrize("criterion", [*CRITERIA[:2], *CRITERIA[3:]])
@pytest.mark.parametrize("max_depth", [None, 5])
def test_cut_to_so_many_leaves_the_tree_is_the_one_grown_to_them(
    criterion: str, max_depth: int | None
) -> None:
    table, growth = table_for(criterion), GrowthRules(criterion, max_depth, min_samples_leaf=3)
    whole = grow(table, growth)
    path = leaves_path(whole)
    assert path.n_leaves.tolist() == path.values.tolist() == list(range(whole.n_leaves, 0, -1))
    for n_leaves in [2, 3, 5, 8, 13, whole.n_leaves - 1, whole.n_leaves, whole.n_leaves + 5]:
        assert_same_tree(path.tree_at(n_leaves), grow(table, replace(growth, max_leaf_nodes=n_leaves)))
    assert path.tree_at(1).n_nodes == 1


@pytest.mark.parametrize("criterion", ["gain_ratio", "misclassification", "mutual_information"])
def test_cut_to_so_many_leaves_saves_as_much_as_growth_to_them(criterion: str) -> None:
    table, growth = table_for(criterion), GrowthRules(criterion, min_samples_leaf=3)
    path = leaves_path(grow(table, growth))
    for n_leaves in (2, 3, 5, 8, 13):
        other = grow(table, replace(growth, max_leaf_nodes=n_leaves))
        cost = (other.impurity * other.weight)[other.feature == LEAF].sum() / other.weight[0]
        assert path.risks[path.place_of(n_leaves)] == pytest.approx(cost)


# -- the path as a value ----------------------------------------------------------------------------------


def test_a_path_is_a_sequence_of_trees_and_a_table() -> None:
    path = pruning_path(grow(table_for("gini")))
    assert model_to_json(path[-1]) == model_to_json(path[len(path) - 1])
    assert path[-1].n_nodes == 1
    with pytest.raises(IndexError):
        path[len(path)]
    columns = path.columns()
    assert list(columns) == ["ccp_alpha", "n_leaves", "risk", "relative_error"]
    assert columns["relative_error"][-1] == 1.0
    frame = path.to_frame("pandas")
    assert frame["n_leaves"].tolist() == path.n_leaves.tolist()
    assert frame["ccp_alpha"].tolist() == path.alphas.tolist()
    assert repr(path) == f"<PruningPath: {len(path)} subtrees, {path.n_leaves[0]} leaves to 1, by ccp_alpha>"
    with pytest.raises(ValueError, match="read-only"):
        path.alphas[0] = 1.0
    assert next(iter(depth_path(path.tree).columns())) == "max_depth"
    assert next(iter(leaves_path(path.tree).columns())) == "max_leaf_nodes"


def test_an_alpha_belongs_to_the_subtree_from_whose_alpha_on_it_is_the_best() -> None:
    path = pruning_path(grow(table_for("squared_error"), GrowthRules("squared_error", max_depth=5)))
    for place, (low, high) in enumerate(zip(path.alphas, [*path.alphas[1:], math.inf], strict=True)):
        between = (low + high) / 2 if high < math.inf else 2 * low
        if between > 0:
            assert path.place_of(low or between) == path.place_of(between) == place
            assert path.place_of(np.nextafter(high, 0.0)) == place if high < math.inf else True


def test_rows_in_another_order_give_the_same_path_of_classes() -> None:
    table = table_for("gini")
    order = np.random.default_rng(1).permutation(table.n_rows)
    one, other = (pruning_path(grow(each)) for each in (table, table.subset(order)))
    assert one.alphas.tolist() == other.alphas.tolist()
    assert one.n_leaves.tolist() == other.n_leaves.tolist()


def test_a_large_tree_has_as_many_leaves_at_every_alpha_as_a_slow_descent_says() -> None:
    random = np.random.default_rng(0)
    table = Table.from_arrays(random.normal(size=(2000, 3)), random.integers(0, 2, 2000))
    tree = grow(table)
    path = pruning_path(tree)
    risk = node_risk(tree)
    for alpha in (path.alphas[:-1] + path.alphas[1:])[:: max(1, len(path) // 10)] / 2:
        cost, size = risk + alpha, np.ones(tree.n_nodes, int)
        for node in range(tree.n_nodes - 1, -1, -1):  # the best of the node as a leaf and of its branches
            if tree.left[node] != LEAF:
                below = cost[tree.left[node]] + cost[tree.right[node]]
                if below < cost[node]:
                    cost[node], size[node] = below, size[tree.left[node]] + size[tree.right[node]]
        assert prune(tree, alpha).n_leaves == size[0]


# -- the rule, and what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "poisson"])
def test_growing_with_an_alpha_is_pruning_the_grown_tree(criterion: str) -> None:
    table, growth = table_for(criterion), GrowthRules(criterion)
    path = pruning_path(grow(table, growth))
    for place in (1, len(path) // 2, len(path) - 1):
        alpha = float(path.alphas[place])
        assert model_to_json(grow(table, replace(growth, ccp_alpha=alpha))) == model_to_json(path[place])


@pytest.mark.parametrize("alpha", [-0.1, float("nan"), True, "cv", None, [0.1]])
def test_an_alpha_that_is_no_number_from_zero_is_refused_with_its_value(alpha: Any) -> None:
    with pytest.raises(
        ParameterError, match=r"^alpha=.* is out of range: it must be a number of at least 0\."
    ):
        prune(NUMERIC, alpha)
    with pytest.raises(ParameterError, match=r"^ccp_alpha="):
        GrowthRules(ccp_alpha=alpha)


def test_numbers_of_numpy_and_whole_ones_are_numbers() -> None:
    assert prune(NUMERIC, np.float32(0.5)).n_leaves == prune(NUMERIC, 1).n_leaves == 1
    assert prune(NUMERIC, np.int64(0)).n_leaves == 3


@pytest.mark.parametrize("risk", ["squared_error", "errors", ""])
def test_a_risk_that_is_not_for_classes_is_refused_with_those_that_are(risk: str) -> None:
    with pytest.raises(ParameterError, match=rf"^risk='{risk}' .*'gini'.*'misclassification'"):
        pruning_path(NUMERIC, risk)


def test_a_tree_of_numbers_knows_no_other_risk_than_its_own() -> None:
    assert PRICE.criterion == "gini"  # made by hand, and pruned by the impurity that it has
    assert pruning_path(PRICE).n_leaves.tolist() == [3, 2, 1]
    tree = grow(table_for("poisson"), GrowthRules("poisson", max_depth=3))
    assert len(pruning_path(tree, "poisson")) == len(pruning_path(tree))
    for risk in ("gini", "squared_error"):
        with pytest.raises(
            ParameterError, match=rf"^risk='{risk}' is not available for this regression tree.*'poisson'"
        ):
            pruning_path(tree, risk)


def test_a_tree_that_knows_no_weights_cannot_be_pruned() -> None:
    bare = NUMERIC.replace(weight=np.zeros(5), count=np.zeros(5))
    for ask in (pruning_path, depth_path, leaves_path, lambda tree: prune(tree, 0.1)):
        with pytest.raises(ParameterError, match="does not know how many rows"):
            ask(bare)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
def test_trees_of_scikit_learn_are_pruned_by_their_own_criterion(criterion: str) -> None:
    from sklearn.tree import DecisionTreeClassifier

    features, y, _ = rows(120)
    model = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(features, y > 0)
    assert pruning_path(as_tree(model)).risks[-1] == pytest.approx(model.tree_.impurity[0])


@pytest.mark.filterwarnings("ignore:no tree can split")
def test_heavy_tails_do_not_break_the_nesting() -> None:
    for seed in range(60):
        random = np.random.default_rng(seed)
        X = random.integers(0, 3, (6, 2)).astype(float)
        y = random.choice([0.0, 1.0, -1e7, 1e7], 6)
        if len(set(y)) == 1:
            continue
        path = pruning_path(grow(Table.from_arrays(X, y, task="regression"), GrowthRules("squared_error")))
        assert [tree.n_leaves for tree in path] == path.n_leaves.tolist()
        assert (np.diff(path.n_leaves) < 0).all()


def test_a_slice_of_a_path_is_a_list_of_trees() -> None:
    path = pruning_path(grow(table_for("gini")))
    assert [tree.n_leaves for tree in path[1:3]] == path.n_leaves[1:3].tolist()


def test_an_estimator_is_pruned_as_its_tree() -> None:
    model = TreeClassifier().fit([[1.0], [2.0], [3.0]], ["a", "b", "a"])
    assert pruning_path(model).n_leaves.tolist() == pruning_path(model.tree_).n_leaves.tolist()
    with pytest.raises(TypeError, match="dict"):
        pruning_path({})
