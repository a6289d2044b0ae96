"""The schema, and the one way in which it grows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.schema import Feature, Schema, Target, sorted_labels
from holdfast.errors import SchemaMismatch

AGE = Feature("age", low=18.0, high=90.0)
WARD = Feature("ward", "nominal", categories=("er", "icu"))
DOSE = Feature("dose", "ordered", 0.0, 1.0, ("low", "high"))
QUESTION = Feature("age > 50", "question", categories=(False, True))
LIVED = Target("outcome", ("died", "lived"))


def test_custom_features_stand_after_the_columns():
    schema = Schema((AGE, WARD, QUESTION), LIVED)
    assert schema.names == ("age", "ward", "age > 50")
    assert schema.columns == (AGE, WARD)
    assert schema.custom_features == ("age > 50",)


@pytest.mark.parametrize(("feature", "subset"), [(AGE, False), (DOSE, False), (WARD, True), (QUESTION, True)])
def test_only_categories_without_an_order_are_split_by_subsets(feature, subset):
    assert feature.is_subset is subset


def test_a_target_without_classes_is_a_number():
    assert LIVED.is_classes
    assert not Target("cost", low=1.0, high=9.0).is_classes


@given(st.permutations([True, 2, 0, 1.5, "b", "a", ""]))
def test_labels_have_one_order_whatever_their_types(labels):
    assert sorted_labels(set(labels)) == (0, True, 1.5, 2, "", "a", "b")


# -- widening ------------------------------------------------------------------------------------------------


def test_widening_joins_ranges_categories_and_classes():
    old = Schema((AGE, WARD, DOSE, QUESTION), LIVED)
    new = Schema(
        (
            Feature("age", low=10.0, high=50.0),
            Feature("ward", "nominal", categories=("ccu", "er")),
            Feature("dose", "ordered", 0.0, 2.0, ("low", "high", "huge")),
            QUESTION,
        ),
        Target("outcome", ("lived", "moved")),
    )
    assert old.widened(new) == Schema(
        (
            Feature("age", low=10.0, high=90.0),
            Feature("ward", "nominal", categories=("ccu", "er", "icu")),
            Feature("dose", "ordered", 0.0, 2.0, ("low", "high", "huge")),
            QUESTION,
        ),
        Target("outcome", ("died", "lived", "moved")),
    )


def test_widening_joins_the_ranges_of_a_number_to_predict():
    wide = Schema((AGE,), Target("cost", low=1.0, high=9.0)).widened(
        Schema((AGE,), Target("cost", low=5.0, high=20.0))
    )
    assert wide.target == Target("cost", low=1.0, high=20.0)


@pytest.mark.parametrize(
    "schema", [Schema((AGE, WARD, DOSE, QUESTION), LIVED), Schema((AGE,), Target("cost"))]
)
def test_a_schema_widened_by_itself_is_itself(schema):
    assert schema.widened(schema) == schema


def test_an_ordered_feature_known_in_part_keeps_its_order():
    part = Feature("dose", "ordered", 0.0, 0.0, ("high",))
    assert Schema((DOSE,)).widened(Schema((part,))).features == (DOSE,)


@pytest.mark.parametrize("order", [("high", "low"), ("low", "middle", "high")])
def test_an_order_that_contradicts_or_cuts_in_raises_an_error(order):
    other = Feature("dose", "ordered", 0.0, 1.0, order)
    with pytest.raises(SchemaMismatch, match="ordered categories of column 'dose'"):
        Schema((DOSE,)).widened(Schema((other,)))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Schema((WARD,), LIVED), r"its features are \['age'\] and the other's are \['ward'\]"),
        (
            Schema((Feature("age", "nominal"),), LIVED),
            "column 'age' is numeric in one and nominal in the other",
        ),
        (Schema((AGE,), Target("outcome")), "'outcome' is a class in one and a number in the other"),
    ],
)
def test_widening_never_changes_columns_kinds_or_the_task(other, message):
    with pytest.raises(SchemaMismatch, match=message):
        Schema((AGE,), LIVED).widened(other)
