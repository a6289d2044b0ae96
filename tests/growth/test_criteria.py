"""Criteria by name, the impurity they give to nodes, and the splits they prefer."""

import numpy as np
import pytest
from hypothesis import given

from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.grow import grow
from holdfast.growth.rules import CLASS_CRITERIA, NUMBER_CRITERIA, GrowthRules, class_impurity, get_criterion
from reference.disagreement import going_left
from reference.grower import Oracle, Rows
from reference.tables import class_tables, fractional_weights, number_tables, rules, whole_weights

SHARES = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gini", [0.0, 0.5, 0.625]),
        ("entropy", [0.0, 1.0, 1.5]),
        ("log_loss", [0.0, 1.0, 1.5]),
        ("gain_ratio", [0.0, 1.0, 1.5]),
        ("mutual_information", [0.0, 1.0, 1.5]),
        ("misclassification", [0.0, 0.5, 0.5]),
        ("purity", [0.0, 0.5, 0.5]),
    ],
)
def test_impurity_follows_from_the_shares_of_the_classes(name: str, expected: list[float]) -> None:
    assert class_impurity(get_criterion(name, is_classes=True), SHARES).tolist() == expected


def test_every_criterion_is_for_classes_or_for_numbers() -> None:
    assert not CLASS_CRITERIA.keys() & NUMBER_CRITERIA.keys()
    for name in CLASS_CRITERIA:
        with pytest.raises(ParameterError, match="a number"):
            get_criterion(name, is_classes=False)
    for name in NUMBER_CRITERIA:
        with pytest.raises(ParameterError, match="classes"):
            get_criterion(name, is_classes=True)


def test_an_unknown_criterion_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ParameterError, match=r"'ginny'.*'gini'"):
        get_criterion("ginny", is_classes=True)


@pytest.mark.parametrize(("name", "other"), [("log_loss", "entropy"), ("purity", "misclassification")])
def test_other_names_of_a_criterion_grow_the_same_tree(name: str, other: str) -> None:
    random = np.random.default_rng(0)
    table = Table.from_arrays(random.normal(size=(60, 3)), random.integers(0, 3, 60))
    one, two = (grow(table, GrowthRules(each)) for each in (name, other))
    assert np.array_equal(one.threshold, two.threshold, equal_nan=True)
    assert one.impurity.tolist() == two.impurity.tolist()


@pytest.mark.kernel
def test_gain_ratio_prefers_the_split_that_says_more_per_bit_of_its_own() -> None:
    halves, one_apart, noise = [0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1, 1, 1], [0, 1, 1, 0, 1, 0, 1, 0]
    # Of 6.49 bits, halves gain 2.49 for 8 bits of their own, and one row apart gains 2.35 for 4.35 bits. Both
    # are above the average with noise, which gains nothing.
    table = Table.from_arrays(np.array([halves, one_apart, noise], float).T, list("aabbbbbb"))
    assert grow(table, GrowthRules("entropy", max_depth=1)).feature[0] == 0
    assert grow(table, GrowthRules("gain_ratio", max_depth=1)).feature[0] == 1
    assert grow(table, GrowthRules("mutual_information", max_depth=1)).feature[0] == 1


@pytest.mark.kernel
def test_a_split_of_less_than_average_gain_cannot_win_by_its_ratio() -> None:
    halves, one_apart = [0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1, 1, 1]
    table = Table.from_arrays(np.array([halves, one_apart], float).T, list("aabbbbbb"))
    # The average of 2.49 and 2.35 bits is above 2.35.
    assert grow(table, GrowthRules("gain_ratio", max_depth=1)).feature[0] == 0


@pytest.mark.kernel
def test_poisson_leaves_no_side_without_an_event() -> None:
    table = Table.from_arrays([[1.0], [2.0], [3.0], [4.0]], [0.0, 0.0, 1.0, 5.0], task="regression")
    tree = grow(table, GrowthRules("poisson"))
    assert tree.threshold[0] == 3.5
    assert tree.value[tree.left < 0, 0].min() > 0


@given(class_tables(of_a_row=fractional_weights), rules())
def test_nodes_of_classes_carry_their_shares_weight_rows_and_impurity(
    table: Table, growth: GrowthRules
) -> None:
    assert_described(table, growth)


@given(number_tables(of_a_row=whole_weights), rules(("squared_error",)))
def test_nodes_of_numbers_carry_their_mean_weight_rows_and_impurity(
    table: Table, growth: GrowthRules
) -> None:
    assert_described(table, growth)


def assert_described(table: Table, growth: GrowthRules) -> None:
    """Every node says of its rows what the definitions say."""
    tree, oracle = grow(table, growth), Oracle(table, growth)
    waiting: list[tuple[int, Rows]] = [(0, oracle.root)]
    while waiting:
        node, rows = waiting.pop()
        weight = float(oracle.weight(rows))
        assert tree.count[node] == oracle.count(rows)
        assert tree.weight[node] == pytest.approx(weight)
        assert tree.impurity[node] == pytest.approx(float(oracle.impurity(rows)) / weight, abs=1e-9)
        if table.schema.target.is_classes:
            shares = [float(one) / weight for one in oracle.class_weights(rows)]
        else:
            shares = [float(oracle.total(rows)) / weight]
        assert tree.value[node].tolist() == pytest.approx(shares)
        if tree.left[node] >= 0:
            yes = going_left(tree, node, table)
            waiting.append((int(tree.left[node]), tuple(row for row in rows if yes[row])))
            waiting.append((int(tree.right[node]), tuple(row for row in rows if not yes[row])))
