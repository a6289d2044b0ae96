"""C4.5's pruning: the bound, subtrees replaced and branches raised by hand, a slow twin for the rest."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holdfast.data.resampling import Units
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.errors import ParameterError, SchemaMismatch
from holdfast.growth.collections import grow_bootstraps
from holdfast.growth.grow import grow
from holdfast.growth.pruning import error_bound, prune_pessimistic
from holdfast.growth.rules import C45, GrowthRules
from holdfast.io.model_file import load, model_to_json, save
from holdfast.tree.build import Nodes, build_preorder
from holdfast.tree.check import check_tree
from holdfast.tree.tree import LEAF, Tree
from reference.grower import Oracle
from reference.pessimistic import Pruning, listed, upper_bound
from reference.resampling import draw_counts
from reference.tables import class_tables, fractional_weights, whole_weights

CONFIDENCES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.95)

# -- the bound ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("errors", "rows", "expected"),
    [(0, 6, 0.2063), (0, 1, 0.75), (1, 9, 0.2723), (1, 16, 0.1596), (0, 9, 0.1428)],
)
def test_the_bound_has_the_values_of_the_literature(errors: int, rows: int, expected: float) -> None:
    assert round(float(error_bound(errors, rows)), 4) == expected


@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_without_errors_the_bound_is_a_root_of_the_confidence(confidence: float) -> None:
    rows = np.array([1, 2, 3, 10, 1000, 0.5, 2.75])
    # So many rows without an error have the probability (1 - p) ** rows.
    np.testing.assert_allclose(error_bound(0, rows, confidence), 1 - confidence ** (1 / rows), rtol=1e-10)


@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_all_but_one_wrong_has_a_bound_in_closed_form_and_all_wrong_has_one(confidence: float) -> None:
    rows = np.arange(1, 30)
    # Not all of the rows are wrong with the probability 1 - p ** rows.
    np.testing.assert_allclose(error_bound(rows - 1, rows, confidence), (1 - confidence) ** (1 / rows))
    assert (error_bound(rows, rows, confidence) == 1.0).all()


@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_the_bound_is_that_of_scipy_and_of_the_binomial_sum(confidence: float) -> None:
    from scipy.stats import beta, binom, binomtest

    for errors, rows in ((0, 3), (1, 4), (2, 6), (7, 9), (3, 100), (250, 1000)):
        bound = float(error_bound(errors, rows, confidence))
        assert bound == pytest.approx(beta.ppf(1 - confidence, errors + 1, rows - errors), rel=1e-10)
        assert binom.cdf(errors, rows, bound) == pytest.approx(confidence, rel=1e-9)
        assert bound == pytest.approx(upper_bound(errors, rows, confidence), rel=1e-9)
        one_sided = binomtest(errors, rows, alternative="less").proportion_ci(1 - confidence, "exact")
        assert bound == pytest.approx(one_sided.high, rel=1e-6)


@given(st.fractions(0, 20, max_denominator=50), st.fractions("1/50", 20, max_denominator=50), st.data())
def test_weights_may_make_errors_and_rows_any_number(
    errors: Fraction, others: Fraction, data: st.DataObject
) -> None:
    confidence = data.draw(st.sampled_from(CONFIDENCES))
    bound = float(error_bound(float(errors), float(errors + others), confidence))
    assert bound == pytest.approx(upper_bound(errors, errors + others, confidence), rel=1e-8)


@given(st.floats(0, 50), st.floats(1, 50), st.floats(0.01, 5), st.sampled_from(CONFIDENCES))
def test_the_bound_grows_with_the_errors_and_falls_with_rows_and_confidence(
    errors: float, others: float, more: float, confidence: float
) -> None:
    rows = errors + others
    bound = error_bound(errors, rows, confidence)
    assert 0.0 < bound < 1.0
    assert error_bound(errors, rows + more, confidence) < bound
    assert error_bound(errors, rows, min(confidence + 0.01 * more, 0.999)) < bound
    if more < others:
        assert error_bound(errors + more, rows, confidence) > bound


def test_one_leaf_is_never_expected_to_err_more_than_two_that_predict_the_same_class() -> None:
    for left, right in product(range(1, 12), repeat=2):
        # Of two classes no more than half of the rows can be wrong.
        wrong_left, wrong_right = np.meshgrid(np.arange(left // 2 + 1), np.arange(right // 2 + 1))
        for confidence in (0.01, 0.1, 0.25, 0.5):
            parts = left * error_bound(wrong_left, left, confidence)
            parts = parts + right * error_bound(wrong_right, right, confidence)
            whole = (left + right) * error_bound(wrong_left + wrong_right, left + right, confidence)
            assert (whole <= parts + 1e-9).all()


# -- by hand --------------------------------------------------------------------------------------------

Question = tuple[int, Any, Any]  # a binary column, and what stands on its two sides; None is a leaf


def binary(*rows: tuple[str, str, int]) -> Table:
    """A table of binary columns: their values, the class, and how many such rows there are."""
    columns = np.array(
        [[float(value) for value in values] for values, _, times in rows for _ in range(times)]
    )
    labels = [int(label == "y") for _, label, times in rows for _ in range(times)]
    features = tuple(Feature(name) for name in "ABC"[: columns.shape[1]])
    return Table(
        Schema(features, Target("y", ("n", "y"))), tuple(columns.T.copy()), np.array(labels, np.int32)
    )


def asking(table: Table, question: Question) -> Tree:
    """The tree that asks these questions of the rows: 0 goes left."""
    nodes: list[tuple[int, int, int, Any]] = []

    def add(question: Any, rows: Any) -> int:
        place = len(nodes)
        nodes.append((LEAF, LEAF, LEAF, rows))
        if question is not None:
            yes = table.columns[question[0]][rows] == 0
            left, right = add(question[1], rows[yes]), add(question[2], rows[~yes])
            nodes[place] = (question[0], left, right, rows)
        return place

    add(question, np.arange(table.n_rows))
    feature, left, right, rows = zip(*nodes, strict=True)
    value = np.array([np.bincount(table.target[own], minlength=2) / len(own) for own in rows])
    count = np.array([float(len(own)) for own in rows])
    return build_preorder(
        Nodes(
            np.array(feature, np.int32),
            np.where(np.array(feature) == LEAF, np.nan, 0.5),
            np.array(left, np.int32),
            np.array(right, np.int32),
            np.zeros(len(nodes), bool),
            value,
            count,
            count,
            1.0 - (value**2).sum(axis=1),
        ),
        table.schema,
    )


def described(tree: Tree) -> list[tuple[str, tuple[int, ...]]]:
    """Of every node in preorder: the feature it asks about, '-' at a leaf, and the rows of each class."""
    names = [*tree.schema.names, "-"]
    rows = np.rint(tree.value * tree.count[:, None]).astype(int).tolist()
    return [(names[feature], tuple(own)) for feature, own in zip(tree.feature, rows, strict=True)]


def test_quinlans_subtree_of_three_leaves_becomes_one() -> None:
    # His votes: 6, 9 and 1 rows without an error. 6 * 0.2063 + 9 * 0.1428 + 1 * 0.75 = 3.273; as one leaf
    # with the last as error, 16 * 0.1596 = 2.554. The inner node of 9 + 1 stays at first: 2.035 < 10 *
    # 0.2474.
    table = binary(("00", "y", 6), ("10", "y", 9), ("11", "n", 1))
    tree = asking(table, (0, None, (1, None, None)))
    assert sum(6 * error_bound(0, 6) + 9 * error_bound(0, [9]) + error_bound(0, 1)) == pytest.approx(
        3.273, abs=1e-3
    )
    assert described(prune_pessimistic(tree)) == [("-", (1, 15))]
    assert described(prune_pessimistic(tree, table=table, subtree_raising=False)) == [("-", (1, 15))]
    # With raising the branch of 9 + 1 may take all rows: 15 U(0, 15) + 0.75 = 1.324 + 0.75 is less still.
    raised = prune_pessimistic(tree, table=table)
    assert described(raised) == [("B", (1, 15)), ("-", (0, 15)), ("-", (1, 0))]


@pytest.mark.kernel
def test_a_branch_is_raised_where_the_question_above_it_only_makes_leaves_small() -> None:
    # A sets 3 rows apart, 2 n and 1 y, that B would tell apart as well.
    table = binary(("00", "n", 6), ("01", "y", 7), ("10", "n", 2), ("11", "y", 1))
    tree = asking(table, (0, (1, None, None), None))
    # As it is 6 U(0, 6) + 7 U(0, 7) + 3 U(1, 3) = 1.238 + 1.258 + 2.021 = 4.517; as a leaf 16 U(8, 16) =
    # 9.797; as its larger branch 8 U(0, 8) + 8 U(0, 8) = 2.546.
    raised = prune_pessimistic(tree, table=table)
    assert described(raised) == [("B", (8, 8)), ("-", (8, 0)), ("-", (0, 8))]
    assert raised.impurity.tolist() == [0.5, 0.0, 0.0]
    # Without its rows, or without raising, the tree stays as it is.
    assert prune_pessimistic(tree) is tree
    assert prune_pessimistic(tree, table=table, subtree_raising=False) is tree


@pytest.mark.kernel
def test_a_raised_branch_is_pruned_again_for_the_rows_that_came_to_it() -> None:
    # A = 0: B parts 3 n from the rest, and C parts 2 y from 1 n. A = 1: 1 n and, where C said n, 1 y.
    table = binary(("000", "n", 3), ("010", "y", 2), ("011", "n", 1), ("100", "n", 1), ("111", "y", 1))
    tree = asking(table, (0, (1, None, (2, None, None)), None))
    # C stays at first: 2 U(0, 2) + U(0, 1) = 1.000 + 0.750 < 3 U(1, 3) = 2.021. So does B: 1.110 + 1.750 =
    # 2.860 < 6 U(2, 6) = 3.319. A: as it is 2.860 + 2 U(1, 2) = 4.592; as a leaf 8 U(3, 8) = 4.444; as
    # branch B 4 U(0, 4) + 2 U(0, 2) + 2 U(1, 2) = 1.172 + 1.000 + 1.732 = 3.904: B is raised. Now C parts 2
    # y from 1 n and 1 y: 2.732 > 4 U(1, 4) = 2.175: a leaf. B stays: 1.172 + 2.175 = 3.346 < 4.444.
    raised = prune_pessimistic(tree, table=table)
    assert described(raised) == [("B", (5, 3)), ("-", (4, 0)), ("-", (1, 3))]
    # Without raising A becomes a leaf: 4.444 < 4.592.
    assert described(prune_pessimistic(tree)) == [("-", (5, 3))]


@pytest.mark.kernel
def test_the_smaller_branch_is_not_raised() -> None:
    # B tells all rows apart, but stands below the smaller side of A; the larger side is a leaf.
    table = binary(("00", "n", 7), ("01", "y", 1), ("10", "n", 2), ("11", "y", 5))
    tree = asking(table, (0, None, (1, None, None)))
    # As it is 8 U(1, 8) + 2 U(0, 2) + 5 U(0, 5) = 2.422 + 1.000 + 1.211 = 4.632; by B alone 2.6.
    assert prune_pessimistic(tree, table=table) is tree


@pytest.mark.kernel
def test_of_branches_of_one_size_the_left_one_may_be_raised() -> None:
    table = binary(("000", "n", 2), ("010", "y", 2), ("100", "n", 2), ("111", "y", 2))
    left_b = asking(table, (0, (1, None, None), (2, None, None)))
    assert described(prune_pessimistic(left_b, table=table))[0] == ("B", (4, 4))
    left_c = asking(table, (0, (1, None, None), (1, None, None)))
    assert described(prune_pessimistic(left_c, table=table)) == [("B", (4, 4)), ("-", (4, 0)), ("-", (0, 4))]


def test_the_smaller_the_confidence_the_surer_a_question_must_be() -> None:
    # 3 n against 1 n and 2 y. At 0.25: as it is 3 U(0, 3) + 3 U(1, 3) = 1.110 + 2.021 = 3.131, as a leaf
    # 6 U(2, 6) = 3.319. At 1e-9 a rate 1 - q near 1 solves q ** 3 = 1e-9, 3 q ** 2 = 1e-9 and 15 q ** 4 =
    # 1e-9: 3 (1 - 0.001) + 3 (1 - 0.00002) = 5.997 as it is, 6 (1 - 0.0029) = 5.983 as a leaf.
    table = binary(("00", "n", 3), ("01", "n", 1), ("01", "y", 2))
    tree = asking(table, (1, None, None))
    assert prune_pessimistic(tree, 0.25).n_leaves == prune_pessimistic(tree, 0.25, table=table).n_leaves == 2
    assert prune_pessimistic(tree, 1e-9).n_leaves == prune_pessimistic(tree, 1e-9, table=table).n_leaves == 1


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.999999])
def test_a_high_confidence_does_not_take_what_parts_the_classes(confidence: float) -> None:
    table = binary(("00", "n", 50), ("01", "y", 50))
    tree = asking(table, (1, None, None))
    assert prune_pessimistic(tree, confidence).n_leaves == 2
    assert prune_pessimistic(tree, confidence, table=table).n_leaves == 2


# -- what is refused ------------------------------------------------------------------------------------


def test_numbers_as_target_are_refused_with_the_way_out() -> None:
    table = Table.from_arrays([[1.0], [2.0], [3.0]], [0.5, 1.5, 9.5], task="regression")
    with pytest.raises(ParameterError, match=r"'y'.*number.*cost"):
        prune_pessimistic(grow(table, GrowthRules("squared_error")))


@pytest.mark.parametrize("confidence", [-0.25, 0.0, 1.0, 1.5, float("nan"), "0.25"])
def test_a_confidence_that_is_no_probability_is_refused(confidence: Any) -> None:
    table = binary(("00", "n", 5), ("01", "y", 5))
    with pytest.raises(ParameterError, match="confidence"):
        prune_pessimistic(asking(table, (1, None, None)), confidence)


# -- against the twin -----------------------------------------------------------------------------------

any_weights = st.sampled_from((None, whole_weights, fractional_weights))
any_table = any_weights.flatmap(lambda weights: class_tables(of_a_row=weights))


@st.composite
def prunings(draw: Any, /, **fixed: Any) -> GrowthRules:
    """Rules that grow to the end and then prune."""
    return GrowthRules(
        draw(st.sampled_from(("gini", "gain_ratio"))),
        min_samples_leaf=draw(st.sampled_from((1, 1, 2))),
        pruning_confidence=draw(st.sampled_from(CONFIDENCES)),
        **{"class_weight": draw(st.sampled_from((None, None, "balanced", {"a": 20.0}))), **fixed},
    )


def twin(table: Table, growth: GrowthRules, raising: bool = True) -> Pruning:
    """The slow twin, with the tree before it was pruned."""
    oracle = Oracle(table, growth)
    each = [Fraction(one) / (times or 1) for one, times in zip(oracle.weights, oracle.repeats, strict=True)]
    bare = grow(table, replace(growth, pruning_confidence=None))
    assert growth.pruning_confidence is not None
    return Pruning(bare, table, oracle.repeats, each, growth.pruning_confidence, raising)


def assert_pruned_alike(tree: Tree, pruning: Pruning) -> None:
    """The tree has the nodes that the twin leaves, in their order, with the questions and rows of each."""
    check_tree(tree)
    bare = pruning.tree
    nodes = listed(pruning, pruning.result(), pruning.all_rows)
    asks = np.array([each for each, _ in nodes])
    inner = asks != LEAF
    assert tree.feature.tolist() == np.where(inner, bare.feature[asks], LEAF).tolist()
    np.testing.assert_array_equal(tree.threshold, np.where(inner, bare.threshold[asks], np.nan))
    for node in np.flatnonzero(inner & (tree.set_start >= 0)):
        assert tree.left_categories(int(node)).tolist() == bare.left_categories(int(asks[node])).tolist()
    assert tree.missing_left.tolist() == (inner & bare.missing_left[asks]).tolist()
    assert tree.count.tolist() == [pruning.count(rows) for _, rows in nodes]
    weight = np.array([float(pruning.weight(rows)) for _, rows in nodes])
    np.testing.assert_allclose(tree.weight, weight)
    of_class = np.array([[float(one) for one in pruning.class_weights(rows)] for _, rows in nodes])
    np.testing.assert_allclose(tree.value, of_class / weight[:, None], atol=1e-9)


@given(any_table, prunings())
def test_subtrees_are_replaced_and_raised_as_by_the_twin(table: Table, growth: GrowthRules) -> None:
    assert_pruned_alike(grow(table, growth), twin(table, growth))


@pytest.mark.kernel
@settings(max_examples=10)
@given(class_tables(most_rows=12), prunings())
def test_a_handful_of_rows_is_pruned_as_by_the_twin(table: Table, growth: GrowthRules) -> None:
    assert_pruned_alike(grow(table, growth), twin(table, growth))


@given(class_tables() | class_tables(of_a_row=whole_weights), prunings(class_weight=None))
def test_without_raising_subtrees_are_replaced_as_by_the_twin(table: Table, growth: GrowthRules) -> None:
    tree = grow(table, replace(growth, subtree_raising=False))
    assert_pruned_alike(tree, twin(table, growth, raising=False))


@given(any_table, prunings())
def test_weighted_rows_are_replaced_as_by_the_twin(table: Table, growth: GrowthRules) -> None:
    tree = grow(table, replace(growth, subtree_raising=False))
    assert_pruned_alike(tree, twin(table, growth, raising=False))


@given(any_table, prunings())
def test_without_raising_no_data_are_needed(table: Table, growth: GrowthRules) -> None:
    bare = grow(table, replace(growth, pruning_confidence=None))
    confidence = growth.pruning_confidence or 0.0
    tree = grow(table, replace(growth, subtree_raising=False))
    assert model_to_json(prune_pessimistic(bare, confidence)) == model_to_json(tree)
    alone = prune_pessimistic(bare, confidence, table=table, subtree_raising=False)
    assert model_to_json(alone) == model_to_json(tree)


@given(any_table, prunings(class_weight=None))
def test_pruning_a_grown_tree_is_growing_a_pruned_one(table: Table, growth: GrowthRules) -> None:
    bare = grow(table, replace(growth, pruning_confidence=None))
    pruned = prune_pessimistic(bare, growth.pruning_confidence or 0.0, table=table)
    assert model_to_json(pruned) == model_to_json(grow(table, growth))


@given(any_table, prunings(max_depth=1))
def test_raising_makes_no_difference_to_a_tree_of_one_question(table: Table, growth: GrowthRules) -> None:
    one, other = (grow(table, replace(growth, subtree_raising=raising)) for raising in (True, False))
    assert model_to_json(one) == model_to_json(other)


def test_a_weighted_leaf_counts_for_its_weight_with_and_without_raising() -> None:
    # One n of weight 20 against two y of weight 1: 3 rows of 22 units, 2.727 for the n and 0.136 for each y.
    # As it is 2.727 U(0, 2.727) + 0.273 U(0, 0.273) = 1.087 + 0.271 = 1.358; as a leaf 3 U(0.273, 3) = 1.380.
    table = binary(("00", "n", 1), ("01", "y", 2))
    growth = GrowthRules("gini", class_weight={"n": 20.0}, pruning_confidence=0.25)
    assert grow(table, growth).n_leaves == 2
    assert grow(table, replace(growth, subtree_raising=False)).n_leaves == 2


def test_balanced_classes_are_pruned_alike_with_and_without_raising() -> None:
    # 1 n and 4 y against 2 n and 4 y. Balanced, an n weighs 11/6 and a y 11/16. As a leaf 11 U(5.5, 11) =
    # 7.050; as it is 4.583 U(1.833, 4.583) + 6.417 U(2.75, 6.417) = 7.051: one leaf, and no branch to be
    # raised.
    table = binary(("00", "n", 1), ("00", "y", 4), ("01", "n", 2), ("01", "y", 4))
    growth = GrowthRules("gini", class_weight="balanced", pruning_confidence=0.25)
    assert grow(table, growth).n_leaves == 1
    assert grow(table, replace(growth, subtree_raising=False)).n_leaves == 1


@given(class_tables(of_a_row=whole_weights, most_classes=2), prunings(class_weight=None))
def test_siblings_that_predict_the_same_class_become_one(table: Table, growth: GrowthRules) -> None:
    # One leaf of both is never expected to err more, up to a confidence of one half.
    confidence = growth.pruning_confidence or 0.0
    assume(confidence <= 0.5)
    tree = grow(table, growth)
    for node in np.flatnonzero(tree.left != LEAF):
        left, right = tree.left[node], tree.right[node]
        if tree.left[left] == tree.left[right] == LEAF:
            assert tree.outcome[left] != tree.outcome[right] or is_drawn(tree, left) or is_drawn(tree, right)


def is_drawn(tree: Tree, node: int) -> bool:
    """True if several classes are as frequent as any."""
    shares = np.sort(tree.value[node])
    return len(shares) > 1 and bool(np.isclose(shares[-1], shares[-2]))


# -- rows -----------------------------------------------------------------------------------------------


def shuffled(table: Table, order: Any) -> Table:
    """The rows in another order."""
    columns = tuple(column[order] for column in table.columns)
    weight = None if table.weight is None else table.weight[order]
    return Table(table.schema, columns, table.target[order], weight)


@given(any_table, prunings(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(table: Table, growth: GrowthRules, random: Any) -> None:
    order = list(range(table.n_rows))
    random.shuffle(order)
    assert model_to_json(grow(table, growth)) == model_to_json(grow(shuffled(table, order), growth))


def test_rounding_of_weights_does_not_choose_the_branch_that_is_raised() -> None:
    # The branches weigh the same but for the order in which 0.1, 0.3, 0.7 ... are added up.
    codes = ("100100011001", "101001101000", "010111110100")
    columns = tuple(np.array([float(one) for one in code]) for code in codes)
    y = np.array([0, 0, 1, 1, 0, 1, 1, 1, 0, 1, 0, 1], np.int32)
    weight = np.array([0.3, 0.6, 0.3, 0.2, 0.2, 0.1, 0.3, 0.1, 0.7, 0.7, 0.7, 0.2])
    schema = Schema(tuple(Feature(f"x{position}") for position in range(3)), Target("y", ("a", "b")))
    table = Table(schema, columns, y, weight)
    growth = GrowthRules("gini", pruning_confidence=0.75)
    order = [2, 4, 5, 8, 6, 3, 7, 9, 1, 0, 11, 10]
    one, other = grow(table, growth), grow(shuffled(table, order), growth)
    assert model_to_json(one) == model_to_json(other)


@given(class_tables(of_a_row=whole_weights), prunings(), st.integers(0, 2**20))
def test_bootstrap_samples_are_pruned_on_the_rows_they_drew(
    table: Table, growth: GrowthRules, seed: int
) -> None:
    growth = replace(growth, class_weight=None)
    repeats = np.array(Oracle(table, growth).repeats, np.int32)
    trees = grow_bootstraps(table, growth, 2, random_state=seed)
    bare = grow_bootstraps(table, replace(growth, pruning_confidence=None), 2, random_state=seed)
    for index, tree in enumerate(trees):
        counts = draw_counts(repeats, Units.of(table), (seed, index))
        confidence = growth.pruning_confidence or 0.0
        pruning = Pruning(bare[index], table, counts.tolist(), [1] * table.n_rows, confidence)
        assert_pruned_alike(tree, pruning)


@given(any_table, prunings())
def test_every_row_is_in_one_leaf_that_says_what_its_rows_are(table: Table, growth: GrowthRules) -> None:
    tree, oracle = grow(table, growth), Oracle(table, growth)
    leaves = tree.apply(table)
    assert (tree.left[leaves] == LEAF).all()
    for leaf in np.flatnonzero(tree.left == LEAF):
        rows = tuple(row for row in oracle.root if leaves[row] == leaf)
        assert rows
        assert tree.count[leaf] == oracle.count(rows)
        weight = float(oracle.weight(rows))
        shares = [float(one) / weight for one in oracle.class_weights(rows)]
        assert tree.value[leaf].tolist() == pytest.approx(shares, abs=1e-9)


# -- size, files ----------------------------------------------------------------------------------------


def noisy(seed: int, n_rows: int = 200) -> Table:
    """Binary columns and numbers; a class that depends on three of them, wrong in one row of six."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 2, n_rows).astype(float) for _ in range(4)]
    columns += [rng.normal(size=n_rows).round(1) for _ in range(2)]
    y = (columns[0] + columns[1] * columns[2] + (columns[4] > 0) >= 2) ^ (rng.random(n_rows) < 1 / 6)
    features = tuple(Feature(f"x{position}", low=-4.0, high=4.0) for position in range(6))
    return Table(Schema(features, Target("y", ("a", "b"))), tuple(columns), y.astype(np.int32))


def test_less_confidence_prunes_more_on_the_whole() -> None:
    # Not of every tree: with the confidence all bounds change, those of small leaves most. On the whole,
    # though.
    tables = [noisy(seed) for seed in range(6)]
    leaves = [
        sum(grow(table, GrowthRules("gini", pruning_confidence=each)).n_leaves for table in tables)
        for each in (1e-6, 0.01, 0.1, 0.25, 0.5)
    ]
    assert leaves == sorted(leaves)
    assert leaves[0] < leaves[2] < leaves[-1]


def test_a_tree_of_many_leaves_is_raised_as_by_the_twin() -> None:
    table, growth = noisy(1, 150), GrowthRules("gini", pruning_confidence=0.25)
    pruning = twin(table, growth)
    tree, replaced = grow(table, growth), grow(table, replace(growth, subtree_raising=False))
    assert pruning.tree.n_leaves > 40
    assert model_to_json(tree) != model_to_json(replaced)
    assert_pruned_alike(tree, pruning)


def test_a_raised_tree_is_saved_and_loaded(tmp_path: Any) -> None:
    tree = grow(noisy(0), C45)
    save(tree, tmp_path / "tree.json")
    again = load(tmp_path / "tree.json")
    assert model_to_json(again) == model_to_json(tree)
    assert again.apply(noisy(0)).tolist() == tree.apply(noisy(0)).tolist()


def test_rows_that_the_tree_was_not_grown_on_are_refused() -> None:
    X, y = np.arange(12.0)[:, None], list("aabbabababab")
    table = Table.from_arrays(X, y)
    tree = grow(table)
    with pytest.raises(ParameterError, match="not grown on these rows, or with another class_weight"):
        prune_pessimistic(grow(table, GrowthRules(class_weight={"a": 5.0})), table=table)
    with pytest.raises(SchemaMismatch, match="other classes than the tree"):
        prune_pessimistic(tree, table=Table.from_arrays(X, ["c" if one == "a" else one for one in y]))
    with pytest.raises(SchemaMismatch, match="other columns than the tree"):
        prune_pessimistic(tree, table=Table.from_arrays(np.hstack([X, X]), y))
    with pytest.raises(TypeError, match="make a table of them"):
        prune_pessimistic(tree, table=X)
