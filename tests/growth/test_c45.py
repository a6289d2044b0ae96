"""C4.5's growth: gain ratio, its guard and the cost of thresholds, and whole trees worked by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.data.resampling import Units
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.collections import grow_bootstraps, make_learner
from holdfast.growth.grow import grow
from holdfast.growth.rules import C45, GrowthRules
from holdfast.io.model_file import model_from_json, model_to_json
from holdfast.stable.candidates import grow_collection
from holdfast.tree.check import check_tree
from holdfast.tree.tree import Tree
from reference.disagreement import disagreements
from reference.resampling import draw_counts
from reference.tables import class_tables, fractional_weights, rules, whole_weights

UNPRUNED = replace(C45, pruning_confidence=None)
PLAIN = GrowthRules("gain_ratio")
COSTLY = GrowthRules("gain_ratio", threshold_cost=True)


def numbers(*columns: list[float], y: Any, weight: Any = None) -> Table:
    """A table of numeric columns and the classes 'no' and 'yes'."""
    features = tuple(Feature(f"x{position}", high=100.0) for position in range(len(columns)))
    labels = np.array([int(label in ("y", 1)) for label in y], np.int32)
    values = tuple(np.array(column, float) for column in columns)
    weights = None if weight is None else np.array(weight, float)
    return Table(Schema(features, Target("y", ("no", "yes"))), values, labels, weights)


def mixed(*columns: list[Any], y: str) -> Table:
    """A table whose columns of text are nominal."""
    features, values = [], []
    for position, column in enumerate(columns):
        labels: tuple[Any, ...] = ()
        if isinstance(column[0], str | bool):
            labels = tuple(sorted(set(column)))
        features.append(Feature(f"x{position}", "nominal" if labels else "numeric", categories=labels))
        values.append(np.array([labels.index(value) if labels else value for value in column], float))
    target = np.array([label == "y" for label in y], np.int32)
    return Table(Schema(tuple(features), Target("y", ("no", "yes"))), tuple(values), target)


def shape(tree: Tree) -> list[tuple[str, tuple[int, ...]]]:
    """Of every node in preorder: the feature it asks about, '-' at a leaf, and the rows of each class."""
    names = [*tree.schema.names, "-"]
    rows = np.rint(tree.value * tree.weight[:, None]).astype(int)
    return [(names[feature], tuple(own)) for feature, own in zip(tree.feature, rows.tolist(), strict=True)]


# -- the gain ratio, its guard, the cost ----------------------------------------------------------------


@pytest.mark.kernel
def test_a_threshold_pays_for_being_one_of_many_and_a_set_of_categories_does_not() -> None:
    # 8 rows, 4 of each class: 8 bits. Both columns part the same 3 rows, all "no", from 1 no and 4 yes. Gain
    # 8 - 5 H(1/5) = 8 - 3.610 = 4.390, the sides 8 H(3/8) = 7.635, the ratio 0.575: tied, and the first
    # column wins. (<= 5.5 gains the same 4.390 bits as <= 3.5: the lower threshold is offered.)
    table = mixed([1, 2, 3, 4, 5, 6, 7, 8], list("aaabbbbb"), y="nnnynyyy")
    tree = grow(table, replace(PLAIN, max_depth=1))
    assert (tree.feature[0], tree.threshold[0]) == (0, 3.5)
    # One of 7 thresholds costs log2 7 = 2.807 bits: 1.583 are left, below the average of 1.583 and 4.390.
    assert grow(table, replace(COSTLY, max_depth=1)).feature[0] == 1


@pytest.mark.kernel
def test_the_cost_counts_the_values_in_the_node_not_its_rows() -> None:
    # The same split, of 3 rows from 5, but only two values: one threshold, log2 1 = 0 bits.
    table = mixed([1, 1, 1, 2, 2, 2, 2, 2], list("aaabbbbb"), y="nnnynyyy")
    assert grow(table, replace(COSTLY, max_depth=1)).feature[0] == 0


@pytest.mark.kernel
def test_a_gain_that_does_not_pay_for_its_threshold_makes_no_split() -> None:
    # 4 yes, then 4 times no, yes: the best of 11 thresholds is <= 4.5, gain 12 H(1/3) - 8 = 3.02 bits, cost
    # log2 11 = 3.46.
    table = numbers(list(range(1, 13)), y="yyyynynynyny")
    assert grow(table, PLAIN).threshold[0] == 4.5
    assert grow(table, COSTLY).n_nodes == 1
    # Two rows more at the beginning: gain 14 H(4/14) - 8 = 4.08 bits, cost log2 13 = 3.70.
    table = numbers(list(range(1, 15)), y="yyyyyynynynyny")
    assert grow(table, replace(COSTLY, max_depth=1)).threshold[0] == 6.5


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("left", "right"), [((1, 2), (2, 4)), ((1, 1), (4, 4)), ((2, 3), (4, 6)), ((1, 3), (2, 6))]
)
def test_a_threshold_that_gains_nothing_is_not_offered_whatever_the_rounding(
    left: tuple[int, int], right: tuple[int, int]
) -> None:
    # The classes stand in the same proportion on both sides: the gain is 0, the cost of the only threshold
    # is 0, and what is left is not above 0.
    y = "n" * left[0] + "y" * left[1] + "n" * right[0] + "y" * right[1]
    table = numbers([0.0] * sum(left) + [1.0] * sum(right), y=y)
    assert grow(table, COSTLY).n_nodes == 1


@pytest.mark.kernel
def test_known_against_missing_is_one_question_and_costs_nothing() -> None:
    table = numbers([5, 5, 5, np.nan, np.nan, np.nan], y="nnnyyy")
    assert grow(table, COSTLY).n_leaves == 2


@pytest.mark.kernel
def test_missing_values_are_no_value_of_their_own() -> None:
    # Two values and missing ones: one threshold, no cost, whichever side the missing values take.
    table = numbers([1, 1, 1, 2, 2, 2, np.nan, np.nan], y="nnnyyyyy")
    assert grow(table, COSTLY).n_leaves == 2
    # Three values, 8 rows of which 2 are no: 6.49 bits all gained, and 1 bit to pay.
    table = numbers([1, 1, 2, 2, 2, 3, np.nan, np.nan], y="nnyyyyyy")
    tree = grow(table, COSTLY)
    assert (tree.threshold[0], tree.missing_left[0], tree.n_leaves) == (1.5, False, 2)


@pytest.mark.kernel
def test_drawn_rows_are_rows_and_their_repetitions_pay_no_more() -> None:
    # Each of 12 rows three times: the gain is 9.06 bits, the 11 thresholds still cost 3.46.
    table = numbers(list(range(1, 13)), y="yyyynynynyny", weight=[3.0] * 12)
    assert grow(table, replace(COSTLY, max_depth=1)).threshold[0] == 4.5


# -- golf -----------------------------------------------------------------------------------------------

# Quinlan's Saturday mornings: outlook, temperature, humidity, windy, play.
GOLF = (
    ("sunny", 75, 70, True, "yes"),
    ("sunny", 80, 90, True, "no"),
    ("sunny", 85, 85, False, "no"),
    ("sunny", 72, 95, False, "no"),
    ("sunny", 69, 70, False, "yes"),
    ("overcast", 72, 90, True, "yes"),
    ("overcast", 83, 78, False, "yes"),
    ("overcast", 64, 65, True, "yes"),
    ("overcast", 81, 75, False, "yes"),
    ("rain", 71, 80, True, "no"),
    ("rain", 65, 70, True, "no"),
    ("rain", 75, 80, False, "yes"),
    ("rain", 68, 80, False, "yes"),
    ("rain", 70, 96, False, "yes"),
)
NOMINAL_GOLF = (
    ("sunny", "hot", "high", False, "no"),
    ("sunny", "hot", "high", True, "no"),
    ("overcast", "hot", "high", False, "yes"),
    ("rain", "mild", "high", False, "yes"),
    ("rain", "cool", "normal", False, "yes"),
    ("rain", "cool", "normal", True, "no"),
    ("overcast", "cool", "normal", True, "yes"),
    ("sunny", "mild", "high", False, "no"),
    ("sunny", "cool", "normal", False, "yes"),
    ("rain", "mild", "normal", False, "yes"),
    ("sunny", "mild", "normal", True, "yes"),
    ("overcast", "mild", "high", True, "yes"),
    ("overcast", "hot", "normal", False, "yes"),
    ("rain", "mild", "high", True, "no"),
)


def golf(rows: tuple[tuple[Any, ...], ...]) -> Table:
    """The table of either version."""
    table = mixed(*(list(column) for column in list(zip(*rows, strict=True))[:-1]), y="n" * len(rows))
    names = ("outlook", "temperature", "humidity", "windy")
    features = tuple(
        replace(feature, name=name) for feature, name in zip(table.schema.features, names, strict=True)
    )
    play = np.array([row[-1] == "yes" for row in rows], np.int32)
    return Table(Schema(features, Target("play", ("no", "yes"))), table.columns, play)


@pytest.mark.kernel
def test_golf_without_costs_asks_for_the_highest_ratio_of_at_least_average_gain() -> None:
    # Root, 5 no and 9 yes, 13.164 bits. What each feature offers, the gain, the entropy of the sides, ratio:
    #   outlook      {overcast}: 0+4 | 5+5   3.164   12.084   0.262
    #   temperature  <= 84: 4+9 | 1+0        1.588    5.197   0.305   one row apart: a lopsided split
    #   humidity     <= 82.5: 2+7 | 3+2      1.431   13.164   0.109
    #   windy        {no}: 2+6 | 3+3         0.674   13.793   0.049
    # Temperature has the highest ratio, but its gain is below the average, 1.714: outlook.
    # Right node, 5 and 5, 10 bits: outlook {rain} 0.290, temperature <= 77.5 (3+5 | 2+0) 2.365 for 7.219,
    # ratio 0.328; humidity <= 82.5 and windy both 2+4 | 3+1, 1.245; average 1.286: temperature.
    tree = grow(golf(GOLF), replace(PLAIN, max_depth=2))
    assert shape(tree) == [
        ("outlook", (5, 9)),
        ("-", (0, 4)),
        ("temperature", (5, 5)),
        ("-", (3, 5)),
        ("-", (2, 0)),
    ]
    assert tree.left_categories(0).tolist() == [True, False, False]
    assert tree.threshold[2] == 77.5


@pytest.mark.kernel
def test_golf_by_c45_worked_by_hand() -> None:
    # At least 2 rows on either side, and thresholds pay.
    # Root, 13.164 bits: outlook {overcast} 3.164, ratio 0.262; windy 0.674. Temperature <= 70.5 gains 0.635
    # and pays log2 11 = 3.459 for its 12 values; humidity <= 82.5 gains 1.431 and pays log2 8 = 3: neither
    # is an offer. The average of the other two is 1.919: outlook.
    # 5 and 5, 10 bits: outlook {rain} 2+3 | 3+2 gains 0.290; windy {no} 2+4 | 3+1 gains 1.245, ratio 0.128.
    # Temperature <= 77.5 gains 2.365 and would pay log2 8 = 3; humidity <= 82.5 gains 1.245, pays log2 5 =
    # 2.322. Average 0.768: windy.
    # Not windy, 2 and 4, 5.510 bits: outlook {rain} 0+3 | 2+1 gains 2.755. The same gain by temperature
    # <= 71 less log2 5 = 2.322 is 0.433, by humidity <= 82.5 less log2 4 = 2 is 0.755. Average 1.314:
    # outlook.
    # Windy, 3 and 1, 3.245 bits: outlook {rain} 2+0 | 1+1 gains 1.245; so does humidity <= 75, less
    # log2 2 = 1; temperature <= 73 would pay log2 3 = 1.585. Average 0.745: outlook.
    # What is left, 2+1 and 1+1 rows, has no split with 2 rows on either side.
    tree = grow(golf(GOLF), UNPRUNED)
    assert shape(tree) == [
        ("outlook", (5, 9)),
        ("-", (0, 4)),
        ("windy", (5, 5)),
        ("outlook", (2, 4)),
        ("-", (0, 3)),
        ("-", (2, 1)),
        ("outlook", (3, 1)),
        ("-", (2, 0)),
        ("-", (1, 1)),
    ]
    # Not J48's tree: that divides outlook three ways and each part by itself (sunny by humidity <= 75, rain
    # by windy), knows no sets of categories, and puts thresholds at values that are in the data.


@pytest.mark.kernel
def test_golf_pruned_by_hand() -> None:
    # Errors to be expected, N U(E, N), at confidence 0.25.
    # Windy, 3 and 1: as a leaf 4 U(1, 4) = 2.175; as it is 2 U(0, 2) + 2 U(1, 2) = 1.000 + 1.732: a leaf.
    # Not windy, 2 and 4: as a leaf 6 U(2, 6) = 3.319; as it is 3 U(0, 3) + 3 U(1, 3) = 1.110 + 2.021 = 3.131:
    # it stays.
    # 5 and 5: as a leaf 10 U(5, 10) = 6.493; as it is 3.131 + 2.175 = 5.306; as its larger branch, all by
    # outlook, 5 U(2, 5) + 5 U(2, 5) = 6.406: it stays.
    # Root: as a leaf 14 U(5, 14) = 6.769; as it is 4 U(0, 4) + 5.306 = 6.477. As its larger branch: windy
    # first, 6 U(3, 6) = 4.218; not windy, overcast rows with those of rain or with those of sunny,
    # 5 U(0, 5) + 3 U(1, 3) = 3.232 or 3 U(0, 3) + 5 U(2, 5) = 4.313. Both are more: it stays.
    expected = [
        ("outlook", (5, 9)),
        ("-", (0, 4)),
        ("windy", (5, 5)),
        ("outlook", (2, 4)),
        ("-", (0, 3)),
        ("-", (2, 1)),
        ("-", (3, 1)),
    ]
    assert shape(grow(golf(GOLF), C45)) == expected
    assert shape(grow(golf(GOLF), replace(C45, subtree_raising=False))) == expected


@pytest.mark.kernel
def test_golf_in_categories_grown_and_pruned_by_hand() -> None:
    # Root: outlook {overcast} gains 3.164, ratio 0.262; temperature {cool, mild} 0.351; humidity 2.126, ratio
    # 0.152; windy 0.674; average 1.579: outlook.
    # 5 and 5: outlook 0.290; temperature {cool, mild} 3+5 | 2+0 gains 2.365, ratio 0.328; humidity 4+1 | 1+4
    # gains 2.781, ratio 0.278; windy 1.245; average 1.670: temperature.
    # 3 and 5, 7.635 bits: outlook and temperature 0.026; humidity 2+1 | 1+4 and windy 1+4 | 2+1 gain 1.271,
    # both with ratio 0.166; average 0.648: humidity, which comes first.
    # 2 and 1: no split with 2 rows on either side. 1 and 4: outlook and temperature 0.855, windy 0+3 | 1+1
    # gains 1.610; average 1.106: windy.
    grown = [
        ("outlook", (5, 9)),
        ("-", (0, 4)),
        ("temperature", (5, 5)),
        ("humidity", (3, 5)),
        ("-", (2, 1)),
        ("windy", (1, 4)),
        ("-", (0, 3)),
        ("-", (1, 1)),
        ("-", (2, 0)),
    ]
    table = golf(NOMINAL_GOLF)
    assert shape(grow(table, UNPRUNED)) == grown
    # 1 and 4: as a leaf 5 U(1, 5) = 2.271, by windy 1.110 + 1.732: a leaf.
    # 3 and 5: as a leaf 8 U(3, 8) = 4.444, by humidity 3 U(1, 3) + 2.271 = 4.292: it stays.
    # 5 and 5: as a leaf 6.493, by temperature 4.292 + 2 U(0, 2) = 5.292. All 10 rows by humidity, 4+1 | 1+4:
    # 2.271 + 2.271 = 4.542. The branch is raised.
    # Root: as a leaf 6.769; as it is 1.172 + 4.542 = 5.713; all 14 rows by humidity, 4+3 | 1+6: 7 U(3, 7) +
    # 7 U(1, 7) = 4.348 + 2.385: it stays. J48's tree would part the two humidities of sunny, and rain by
    # wind.
    assert shape(grow(table, C45)) == [
        ("outlook", (5, 9)),
        ("-", (0, 4)),
        ("humidity", (5, 5)),
        ("-", (4, 1)),
        ("-", (1, 4)),
    ]
    # Without raising temperature stays: 5.292 is less than 6.493, and 1.172 + 5.292 less than 6.769.
    assert shape(grow(table, replace(C45, subtree_raising=False))) == [*grown[:5], ("-", (1, 4)), grown[-1]]


# -- against the oracle ---------------------------------------------------------------------------------


any_weights = st.sampled_from((None, whole_weights, fractional_weights))
costly = rules(("gain_ratio",), threshold_cost=True, min_weight_fraction_leaf=0.0)


@given(any_weights.flatmap(lambda weights: class_tables(of_a_row=weights)), costly)
def test_the_highest_ratio_of_what_is_left_after_costs_is_taken(table: Table, growth: GrowthRules) -> None:
    tree = grow(table, growth)
    check_tree(tree)
    assert disagreements(table, growth, tree) == []


@given(class_tables(of_a_row=whole_weights), costly)
def test_balanced_classes_pay_by_the_row(table: Table, growth: GrowthRules) -> None:
    growth = replace(growth, class_weight="balanced")
    assert disagreements(table, growth, grow(table, growth)) == []


@pytest.mark.kernel
@settings(max_examples=12)
@given(class_tables(most_rows=12), costly)
def test_the_highest_ratio_in_a_handful_of_rows_is_taken(table: Table, growth: GrowthRules) -> None:
    assert disagreements(table, growth, grow(table, growth)) == []


# -- in use ---------------------------------------------------------------------------------------------


def patients(n_rows: int = 300, seed: int = 0) -> Table:
    """Numbers, categories and gaps, and three classes that depend on some of them."""
    rng = np.random.default_rng(seed)
    age, dose = rng.integers(20, 90, n_rows).astype(float), rng.normal(size=n_rows).round(1)
    site = rng.integers(0, 4, n_rows).astype(float)
    score = (age > 60) + (site == 1) * 1.0 + (dose > 0.5) * (site == 2) + rng.normal(size=n_rows) * 0.4
    age[rng.random(n_rows) < 0.1] = np.nan
    site[rng.random(n_rows) < 0.1] = np.nan
    features = (
        Feature("age", low=20.0, high=90.0),
        Feature("dose", low=-3.5, high=3.5),
        Feature("site", "nominal", categories=("colon", "liver", "lung", "skin")),
    )
    target = np.clip(np.rint(score), 0, 2).astype(np.int32)
    return Table(Schema(features, Target("grade", (1, 2, 3))), (age, dose, site), target)


def test_c45_holds_what_its_name_promises() -> None:
    assert (
        GrowthRules(
            "gain_ratio",
            min_samples_leaf=2,
            threshold_cost=True,
            pruning_confidence=0.25,
            subtree_raising=True,
        )
        == C45
    )


def test_c45_is_smaller_than_what_it_was_grown_to_and_says_the_same_of_its_rows() -> None:
    table = patients()
    bare, tree = grow(table, UNPRUNED), grow(table, C45)
    check_tree(tree)
    assert 3 <= tree.n_leaves < bare.n_leaves
    assert tree.count[0] == table.n_rows
    assert model_to_json(model_from_json(model_to_json(tree))) == model_to_json(tree)


def test_any_number_of_jobs_grows_the_same_c45_trees() -> None:
    table = patients()
    one, two = (grow_bootstraps(table, C45, 6, random_state=3, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert [model_to_json(tree) for tree in one] == [model_to_json(tree) for tree in two]
    assert len({model_to_json(tree) for tree in one}) == 6
    for index, tree in enumerate(one):
        check_tree(tree)
        counts = draw_counts(np.ones(table.n_rows, np.int32), Units.of(table), (3, index))
        assert tree.count[0] == counts.sum()
        assert tree.count[tree.left < 0].min() >= 2


def test_collections_are_grown_by_c45_and_by_what_a_grid_makes_of_it() -> None:
    table = patients()
    learner = make_learner(table, C45, [{"pruning_confidence": each} for each in (0.01, 0.25, None)])
    every = [np.ones(table.n_rows, bool)]
    one, two = (
        grow_collection(learner, every, 9, units=Units.of(table), seed=(1, 0), n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    assert [model_to_json(tree) for tree in one.trees] == [model_to_json(tree) for tree in two.trees]
    leaves = np.array([tree.n_leaves for tree in one.trees])
    mean = [leaves[one.combination == place].mean() for place in range(3)]
    assert mean[0] <= mean[1] < mean[2]


@pytest.mark.parametrize("raising", [True, False])
@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 3.0, 2: 0.5}])
def test_weights_of_a_thousand_times_the_size_grow_the_same_c45_tree(
    class_weight: Any, raising: bool
) -> None:
    table, growth = patients(), replace(C45, class_weight=class_weight, subtree_raising=raising)
    weight = np.random.default_rng(1).random(table.n_rows) + 0.1  # no integers, however scaled
    one, other = (grow(replace(table, weight=weight * factor), growth) for factor in (1.0, 1000.0))
    for name in ("feature", "threshold", "left", "in_set", "count"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_allclose(one.weight * 1000.0, other.weight)
    assert one.n_leaves > 1


def test_equal_weights_are_no_weights() -> None:
    table = patients()
    one, other = grow(table, C45), grow(replace(table, weight=np.full(table.n_rows, 0.7)), C45)
    assert shape(one) == shape(other.replace(weight=other.weight / 0.7))
    np.testing.assert_array_equal(one.threshold, other.threshold)


@pytest.mark.parametrize(
    ("rules_of_c45", "said"),
    [(C45, "gain_ratio"), (GrowthRules("squared_error", pruning_confidence=0.25), "pruning_confidence")],
)
def test_numbers_as_target_are_refused(rules_of_c45: GrowthRules, said: str) -> None:
    table = Table.from_arrays([[1.0], [2.0], [3.0], [4.0]], [0.5, 1.5, 2.5, 9.5], task="regression")
    with pytest.raises(ParameterError, match=rf"{said}.*(number|numeric)"):
        grow(table, rules_of_c45)


def test_threshold_costs_are_for_the_gain_ratio() -> None:
    with pytest.raises(ParameterError, match=r"threshold_cost.*gain_ratio.*'entropy'"):
        GrowthRules("entropy", threshold_cost=True)


@pytest.mark.parametrize("confidence", [-0.1, 0.0, 1.0, 1.1, float("nan"), "high", True])
def test_a_confidence_that_is_no_probability_is_refused(confidence: Any) -> None:
    with pytest.raises(ParameterError, match=f"pruning_confidence={confidence!r}"):
        GrowthRules("gini", pruning_confidence=confidence)
