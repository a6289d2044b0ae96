"""Loss matrices and priors: how trees grow, decide and are pruned by them, and what is refused."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import GrowthRules, Table, grow, load, save
from holdfast.errors import BrokenTreeError, ExportError, ParameterError
from holdfast.exports.sklearn import to_sklearn
from holdfast.growth import merge_leaves
from holdfast.growth.holdout_pruning import prune_reduced_error
from holdfast.growth.leaf_values import refit_leaf_values
from holdfast.tree.check import check_tree
from holdfast.tree.stats import expected_losses

LOSSES = [[0.0, 1.0], [5.0, 0.0]]


def drawn(n_rows: int = 120, n_classes: int = 2, seed: int = 0, weight: Any = None) -> Table:
    random = np.random.default_rng(seed)
    X = np.round(random.normal(size=(n_rows, 2)), 1)
    scores = X @ random.normal(size=(2, n_classes)) + random.normal(size=(n_rows, n_classes))
    return Table.from_arrays(X, np.array(list("abcde"))[scores.argmax(axis=1)], weight)


TABLE = drawn()


# -- decisions --------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(2, 4))
def test_no_other_class_costs_less_at_any_node(seed: int, n_classes: int) -> None:
    table = drawn(60, n_classes, seed)
    n = len(table.schema.target.classes)
    losses = np.random.default_rng(seed).integers(1, 9, (n, n)) * (1.0 - np.eye(n))
    tree = grow(table, GrowthRules(loss_matrix=losses, min_samples_leaf=4))
    check_tree(tree)
    for fractions, told in zip(tree.value, tree.outcome, strict=True):
        costs = [sum(fractions[i] * losses[i][j] for i in range(n)) for j in range(n)]
        assert costs[told] == pytest.approx(min(costs))


def test_fractions_counts_and_weights_are_those_of_the_rows() -> None:
    tree = grow(TABLE, GrowthRules(loss_matrix=LOSSES, max_depth=2))
    leaves = tree.apply(TABLE)
    for leaf in np.unique(leaves):
        own = TABLE.target[leaves == leaf]
        assert tree.value[leaf].tolist() == pytest.approx([(own == 0).mean(), (own == 1).mean()])
        assert tree.count[leaf] == tree.weight[leaf] == len(own)


def test_of_classes_that_cost_the_same_the_one_of_the_nodes_above_is_predicted() -> None:
    # In the left leaf "a" and "b" cost 1/6 * 5 and 5/6 * 1; at the root "b" costs less.
    X = [[1.0]] * 6 + [[2.0]] * 3
    table = Table.from_arrays(X, ["a"] + ["b"] * 5 + ["b"] * 3)
    tree = grow(table, GrowthRules(loss_matrix=[[0, 5], [1, 0]]))
    assert tree.outcome.tolist() == [1, 1, 1]


def test_a_tree_says_from_which_probability_on_it_predicts_a_class() -> None:
    table = Table.from_arrays([[1.0]] * 4 + [[2.0]] * 4, list("bbbaaaaa"))
    small = grow(table, GrowthRules(loss_matrix={("b", "a"): 4}, min_samples_leaf=5))
    assert "y = b   (p(b) = 0.38; 8 rows)" in small.rules()
    note = "b is predicted where its probability is at least 0.20."
    assert all(note in text for text in (small.rules(), str(small), small.numbered()))
    assert "at least 0.20." in small.to_svg()


def test_of_three_classes_the_probability_is_that_of_the_class_that_is_predicted() -> None:
    table = Table.from_arrays([[1.0]] * 9 + [[2.0]], list("aaaaaabbbc"))
    tree = grow(table, GrowthRules(loss_matrix={("b", "a"): 9}, max_leaf_nodes=2, min_samples_leaf=6))
    assert "y = b   (p = 0.30; 10 rows)" in tree.rules()
    assert "b  0.30" in str(tree)
    assert "p = 0.30" in tree.numbered()
    assert "30 %" in tree.to_svg()


# -- growth -----------------------------------------------------------------------------------------------


def test_growth_is_that_of_altered_priors() -> None:
    by_loss = grow(TABLE, GrowthRules(loss_matrix=[[0, 1], [5, 0]]))
    by_weight = grow(TABLE, GrowthRules(class_weight={"a": 1.0, "b": 5.0}))
    assert by_loss.feature.tolist() == by_weight.feature.tolist()
    assert by_loss.threshold[by_loss.feature >= 0].tolist() == pytest.approx(
        by_weight.threshold[by_weight.feature >= 0].tolist()
    )


def test_misclassification_with_losses_of_two_classes_gains_what_decisions_save() -> None:
    rules = GrowthRules("misclassification", loss_matrix=LOSSES, max_depth=1, min_samples_leaf=5)
    tree = grow(TABLE, rules)
    costs = []
    for column in range(2):
        values = TABLE.columns[column]
        for cut in np.unique(values)[:-1]:
            sides = values <= cut, values > cut
            if min(side.sum() for side in sides) >= 5:
                costs.append(sum(_least_cost(TABLE.target[side]) for side in sides))
    ours = sum(_least_cost(TABLE.target[tree.apply(TABLE) == leaf]) for leaf in (1, 2))
    assert ours == pytest.approx(min(costs))


def _least_cost(target: np.ndarray) -> float:
    counts = np.bincount(target, minlength=2)
    return float(min(counts[1] * LOSSES[1][0], counts[0] * LOSSES[0][1]))


def test_priors_are_the_fractions_at_the_root_whatever_the_weights() -> None:
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 120)
    for table in (TABLE, drawn(weight=weight)):
        tree = grow(table, GrowthRules(priors={"a": 0.9, "b": 0.1}))
        assert tree.value[0].tolist() == pytest.approx([0.9, 0.1])
        assert tree.count[0] == 120


def test_equal_priors_are_balanced_weights() -> None:
    equal, balanced = (
        grow(TABLE, rules) for rules in (GrowthRules(priors=[0.5, 0.5]), GrowthRules(class_weight="balanced"))
    )
    assert str(equal) == str(balanced)


def test_rows_in_another_order_or_repeated_give_the_same_tree() -> None:
    rules = GrowthRules(loss_matrix=LOSSES, priors=[0.3, 0.7], min_samples_leaf=6)
    order = np.random.default_rng(3).permutation(120)
    twice = TABLE.subset(np.repeat(np.arange(120), 2))
    trees = [grow(TABLE, rules), grow(TABLE.subset(order), rules)]
    assert trees[0].value.tolist() == trees[1].value.tolist()
    doubled = grow(twice, rules.replace(min_samples_leaf=12))
    assert doubled.value.tolist() == trees[0].value.tolist()


# -- pruning and refitting --------------------------------------------------------------------------------


def test_reduced_error_pruning_keeps_the_subtree_that_costs_least_on_new_rows() -> None:
    new = drawn(seed=0)
    tree = grow(TABLE, GrowthRules(loss_matrix=LOSSES))
    small = prune_reduced_error(tree, new)
    told = small.outcome[small.apply(new)]
    cost = np.array(LOSSES)[new.target, told].sum()
    assert cost <= np.array(LOSSES)[new.target, tree.outcome[tree.apply(new)]].sum()


def test_merged_leaves_and_refitted_values_go_on_deciding_by_losses() -> None:
    tree = grow(TABLE, GrowthRules(loss_matrix=LOSSES, max_depth=3))
    merged = merge_leaves(tree)
    assert merged.n_leaves <= tree.n_leaves
    assert (merged.outcome[merged.apply(TABLE)] == tree.outcome[tree.apply(TABLE)]).all()
    for rules in (GrowthRules(), GrowthRules(loss_matrix=LOSSES)):
        again = refit_leaf_values(tree, TABLE, rules)
        assert again.value.tolist() == tree.value.tolist()
        assert again.outcome.tolist() == tree.outcome.tolist()


def test_an_edited_tree_goes_on_deciding_by_losses() -> None:
    tree = grow(TABLE, GrowthRules(loss_matrix=LOSSES, max_depth=2))
    leaf = int(np.flatnonzero(tree.feature < 0)[0])
    edited = tree.with_leaf_value(leaf, {"a": 0.8, "b": 0.2})
    assert edited.outcome[leaf] == 1  # 0.2 * 5 is more than 0.8 * 1
    pruned = edited.prune_at(0)
    assert pruned.loss_matrix is not None
    assert pruned.outcome.tolist() == [1]


def test_another_schema_keeps_the_losses_of_the_classes_by_name() -> None:
    tree = grow(TABLE, GrowthRules(loss_matrix=LOSSES, max_depth=2))
    wide = Table.from_arrays([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]], ["b", "a", "0"]).schema  # "0" comes first
    moved = tree.with_schema(wide.widen(tree.schema))
    classes = moved.schema.target.classes
    assert moved.loss_matrix is not None
    assert moved.loss_matrix[classes.index("b"), classes.index("a")] == 5.0
    X = np.random.default_rng(5).normal(size=(50, 2))
    assert moved.predict(X).tolist() == tree.predict(X).tolist()


def test_a_file_holds_the_losses(tmp_path: Any) -> None:
    tree = grow(TABLE, GrowthRules(loss_matrix=LOSSES, max_depth=3))
    save(tree, tmp_path / "tree.json")
    again = load(tmp_path / "tree.json")
    assert again.loss_matrix.tolist() == LOSSES
    assert again.outcome.tolist() == tree.outcome.tolist()
    plain = grow(TABLE)
    save(plain, tmp_path / "plain.json")
    assert b"loss_matrix" not in (tmp_path / "plain.json").read_bytes()


def test_scikit_learn_is_not_handed_a_tree_that_decides_otherwise() -> None:
    tree = grow(TABLE, GrowthRules(loss_matrix=LOSSES))
    with pytest.raises(ExportError, match="replace\\(loss_matrix=None\\)"):
        to_sklearn(tree)


@pytest.mark.parametrize("losses", [[[0.0, 1.0]], [[0.0, -1.0], [1.0, 0.0]], [[1.0, 1.0], [1.0, 0.0]]])
def test_a_tree_with_losses_of_another_kind_is_broken(losses: Any) -> None:
    tree = grow(TABLE).replace(loss_matrix=np.array(losses))
    with pytest.raises(BrokenTreeError, match="loss_matrix"):
        check_tree(tree)


def test_expected_losses_by_hand() -> None:
    found = expected_losses(np.array([[0.2, 0.3, 0.5]]), np.array([[0, 1, 2], [3, 0, 4], [5, 6, 0]], float))
    assert found.tolist() == [pytest.approx([3.4, 3.2, 1.6])]


# -- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"loss_matrix": [[0, 1, 1], [1, 0, 1]]}, "the shape 2 rows of 3 numbers: give a square one"),
        ({"loss_matrix": [0, 1]}, "has the shape none: give a square one"),
        ({"loss_matrix": [[0, -1], [1, 0]]}, r"at \(0, 1\) is -1: a loss is a number of at least 0"),
        ({"loss_matrix": [[0, float("nan")], [1, 0]]}, r"at \(0, 1\) is nan"),
        ({"loss_matrix": {("a", "b"): -2}}, r"of \('a', 'b'\) is -2"),
        ({"loss_matrix": [[1, 1], [1, 0]]}, r"at \(0, 0\) is 1.0: the right class costs nothing"),
        ({"loss_matrix": [[0, 0], [1, 0]]}, "only zeros in row 0"),
        ({"loss_matrix": {"a": 2}}, "has the key 'a': write the true class and the predicted one"),
        ({"priors": [0.5, 0.4]}, "sum to 0.9: they must sum to 1"),
        ({"priors": {"a": 1.0, "b": 0.0}}, "hold 0.0: each must be above 0"),
        ({"priors": "balanced"}, "priors='balanced' must be"),
        ({"priors": [0.5, 0.5], "class_weight": "balanced"}, "both weigh the classes"),
    ],
)
def test_rules_that_cannot_be_are_refused_when_they_are_made(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        GrowthRules(**rules)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"loss_matrix": [[0, 1, 1], [1, 0, 1], [1, 1, 0]]}, "is for 3 classes, and y has 2, 'a', 'b'"),
        ({"loss_matrix": {("a", "z"): 2}}, "names 'z', but the classes of y are 'a', 'b'"),
        ({"loss_matrix": {("a", "a"): 2}}, "the diagonal must be 0"),
        ({"priors": {"a": 0.5, "z": 0.5}}, "names 'z', but the classes of y are 'a', 'b'"),
        ({"priors": {"a": 1.0}}, "lack 'b'"),
        ({"priors": [0.2, 0.3, 0.5]}, "are 3 numbers, and y has 2 classes"),
        ({"loss_matrix": LOSSES, "pruning_confidence": 0.25}, "counts errors and ignores the loss_matrix"),
    ],
)
def test_rules_that_do_not_fit_the_classes_are_refused_before_growth(
    rules: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        grow(TABLE, GrowthRules(**rules))


@pytest.mark.parametrize("rules", [{"loss_matrix": LOSSES}, {"priors": [0.5, 0.5]}])
def test_numbers_have_neither_losses_nor_priors(rules: dict[str, Any]) -> None:
    table = Table.from_arrays([[1.0], [2.0], [3.0]], [1.5, 2.5, 3.5], task="regression")
    with pytest.raises(ParameterError, match="is for classes, and the target is a number: leave it None"):
        grow(table, GrowthRules("squared_error", **rules))
