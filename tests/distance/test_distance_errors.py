"""What cannot be compared: each error names the thing and both values."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from holdfast.data.schema import Feature, Schema, Target
from holdfast.distance.distance import distance_matrix, mean_distance, tree_distance
from holdfast.errors import BrokenTreeError, ParameterError, SchemaMismatch
from holdfast.tree.tree import Tree
from reference.trees import NUMERIC, ORDERED, PRICE, SUBSET, leaf, split, tree_of


def as_pair(a: Tree, b: Tree, **options: Any) -> Any:
    return tree_distance(a, b, **options)


def as_mean(a: Tree, b: Tree, **options: Any) -> Any:
    return mean_distance([a], [b], **options)


every_door = pytest.mark.parametrize("measure", [as_pair, as_mean])
Door = Callable[..., Any]


def with_feature(tree: Tree, position: int, **changes: Any) -> Tree:
    """The tree on a schema where one feature is another."""
    features = list(tree.schema.features)
    features[position] = replace(features[position], **changes)
    return tree.replace(schema=Schema(tuple(features), tree.schema.target))


def message_of(measure: Door, a: Tree, b: Tree, **options: Any) -> str:
    with pytest.raises(SchemaMismatch) as caught:
        measure(a, b, **options)
    return str(caught.value)


# -- options ----------------------------------------------------------------------------------------------


@every_door
@pytest.mark.parametrize(
    ("tree", "options", "words"),
    [
        (NUMERIC, {"matching": "optimal"}, ["matching", "'optimal'", "paper", "cover", "metric"]),
        (NUMERIC, {"outcome": "probability"}, ["outcome", "'probability'", "label", "distribution"]),
        (NUMERIC, {"outcome": "value"}, ["'value'", "label"]),
        (PRICE, {"outcome": "label"}, ["'label'", "value"]),
        (PRICE, {"outcome": "distribution"}, ["'distribution'", "value"]),
        *(
            (NUMERIC, {"label_weight": each}, ["label_weight", str(each)])
            for each in (-1.0, 1e7, np.nan, "2")
        ),
        *((NUMERIC, {"depth": each}, ["depth", str(each)]) for each in (0, 2.5, 1001)),
    ],
)
def test_an_option_out_of_range_is_named_with_what_it_may_be(
    measure: Door, tree: Tree, options: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(ParameterError) as caught:
        measure(tree, tree, **options)
    assert all(word in str(caught.value) for word in words)


# -- schemas -----------------------------------------------------------------------------------------------


@every_door
def test_a_class_and_a_number_cannot_be_compared(measure: Door) -> None:
    survived = tree_of(leaf(10, 0.5, 0.5), PRICE.schema.features, NUMERIC.schema.target)
    for pair in ((survived, PRICE), (PRICE, survived)):
        message = message_of(measure, *pair)
        assert "class" in message
        assert "number" in message


@every_door
def test_another_range_is_another_schema(measure: Door) -> None:
    message = message_of(measure, NUMERIC, with_feature(NUMERIC, 0, high=95.0))
    assert all(text in message for text in ("'age'", "90", "95"))


@every_door
def test_other_categories_are_another_schema(measure: Door) -> None:
    message = message_of(measure, SUBSET, with_feature(SUBSET, 1, categories=("f", "m")))
    assert all(text in message for text in ("'sex'", "female", "male", "'f'"))


@every_door
def test_another_order_of_ordered_categories_is_another_schema(measure: Door) -> None:
    turned = with_feature(ORDERED, 0, categories=("flat", "down", "up", "steep"))
    assert "'slope'" in message_of(measure, ORDERED, turned)


@every_door
def test_a_column_that_is_numeric_in_one_tree_only_cannot_be_compared(measure: Door) -> None:
    sex = Feature("sex", low=0.0, high=1.0)
    coded = tree_of(
        split("sex", 0.5, leaf(5, 0.5, 0.5), leaf(5, 0.5, 0.5)),
        (SUBSET.schema.features[0], sex),
        SUBSET.schema.target,
    )
    message = message_of(measure, SUBSET, coded)
    assert all(text in message for text in ("'sex'", "nominal", "numeric"))


def test_a_column_that_one_tree_does_not_ask_about_may_be_anything_there() -> None:
    sex = Feature("sex", low=0.0, high=1.0)
    lone = tree_of(leaf(10, 0.5, 0.5), (SUBSET.schema.features[0], sex), SUBSET.schema.target)
    same = tree_of(leaf(10, 0.5, 0.5), SUBSET.schema.features, SUBSET.schema.target)
    assert tree_distance(SUBSET, lone).total == tree_distance(SUBSET, same).total > 0


def test_a_column_that_one_tree_does_not_know_is_no_obstacle() -> None:
    lone = tree_of(leaf(10, 0.5, 0.5), SUBSET.schema.features[:1], SUBSET.schema.target)
    same = tree_of(leaf(10, 0.5, 0.5), SUBSET.schema.features, SUBSET.schema.target)
    assert tree_distance(SUBSET, lone).total == tree_distance(SUBSET, same).total


def test_all_that_differs_is_told_at_once() -> None:
    features = (Feature("age", low=0.0, high=1.0), Feature("bmi", low=0.0, high=1.0))
    other = tuple(replace(feature, high=2.0) for feature in features)
    stump = split("age", 0.5, leaf(5, 1, 0), split("bmi", 0.5, leaf(5, 1, 0), leaf(5, 0, 1)))
    one, two = (tree_of(stump, each, SUBSET.schema.target) for each in (features, other))
    message = message_of(as_pair, one, two)
    assert "'age'" in message
    assert "'bmi'" in message
    assert "schema=first.schema" in message


@every_door
def test_another_range_of_the_target_is_another_schema(measure: Door) -> None:
    wider = PRICE.replace(schema=Schema(PRICE.schema.features, Target("price", low=5.0, high=80.0)))
    message = message_of(measure, PRICE, wider)
    assert all(text in message for text in ("price", "50", "80"))


def test_the_odd_tree_out_is_found_anywhere_in_a_collection() -> None:
    odd = with_feature(NUMERIC, 0, high=95.0)
    with pytest.raises(SchemaMismatch, match="age"):
        distance_matrix([NUMERIC] * 5 + [odd])
    with pytest.raises(SchemaMismatch, match="age"):
        distance_matrix([NUMERIC] * 5, [NUMERIC, odd])
    with pytest.raises(SchemaMismatch, match="age"):
        mean_distance([NUMERIC, odd], [NUMERIC])


def test_one_schema_for_both_is_the_way_out() -> None:
    wider = with_feature(NUMERIC, 0, high=95.0)
    both = NUMERIC.schema.widen(wider.schema)
    assert tree_distance(NUMERIC.with_schema(both), wider.with_schema(both)).total == 0.0


@every_door
@pytest.mark.parametrize("strange", [np.nan, -np.inf])
def test_numbers_that_are_none_are_refused_before_the_kernel_runs(measure: Door, strange: float) -> None:
    """As costs they would be any integer, and the search for the cheapest matching might never end."""
    value, threshold = PRICE.value.copy(), PRICE.threshold.copy()
    value[-1], threshold[0] = strange, strange
    with pytest.raises(BrokenTreeError, match=rf"tree 1 predicts {strange}"):
        measure(PRICE, PRICE.replace(value=value))
    with pytest.raises(BrokenTreeError, match=rf"a threshold is {strange}"):
        measure(PRICE, PRICE.replace(threshold=threshold))
    endless = with_feature(PRICE, 0, high=strange)
    with pytest.raises(BrokenTreeError, match=rf"'{PRICE.schema.names[0]}' reaches from .* to {strange}"):
        measure(endless, endless.replace(threshold=PRICE.threshold + 1e-9))


@every_door
def test_shares_of_classes_that_are_none_are_refused_before_the_kernel_runs(measure: Door) -> None:
    with pytest.raises(BrokenTreeError, match=r"tree 1 predicts 1e\+300: trees predict fractions"):
        measure(NUMERIC, NUMERIC.replace(value=np.full_like(NUMERIC.value, 1e300)))
