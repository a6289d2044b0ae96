from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.schema import Feature, Schema, Target
from holdfast.errors import SchemaMismatch
from holdfast.tree.check import check_tree
from holdfast.tree.schema import project_to_schema
from holdfast.tree.tree import KNOWN, LEAF, Tree
from reference.trees import (
    AGE,
    FARE,
    FARE_KNOWN,
    LONE_LEAF,
    PAIN,
    PRICE,
    SEX,
    SLOPE,
    SURVIVED,
    leaf,
    split,
    tree_of,
)

OLD = Feature("age > 60", "question", categories=(False, True))
FEATURES = (AGE, SEX, PAIN, SLOPE, OLD)

# pain in {none, typical} ? (slope at most flat ? no : yes) : (age > 60 ? (sex = male ? no : yes) : no)
TREE = tree_of(
    split(
        "pain",
        ("none", "typical"),
        split("slope", 1.5, leaf(10, 0.9, 0.1), leaf(20, 0.4, 0.6), True),
        split(
            "age > 60",
            (True,),
            split("sex", ("male",), leaf(5, 0.8, 0.2), leaf(5, 0.3, 0.7)),
            leaf(8, 1.0, 0.0),
        ),
        True,
    ),
    FEATURES,
    SURVIVED,
)


def schema_with(*features: Feature, classes: tuple[Any, ...] = SURVIVED.classes) -> Schema:
    """The schema of TREE with some features in another form."""
    others = {feature.name: feature for feature in features}
    return Schema(
        tuple(others.get(feature.name, feature) for feature in FEATURES), Target("survived", classes=classes)
    )


def patients(random: np.random.Generator, size: int = 60) -> pd.DataFrame:
    """Rows with the categories that TREE knows, some of them missing."""
    choices = {each.name: [*each.categories, None] for each in (SEX, PAIN, SLOPE)}
    columns = {name: random.choice(np.array(labels, object), size) for name, labels in choices.items()}
    ages = np.where(random.random(size) < 0.1, np.nan, random.uniform(18, 90, size))
    return pd.DataFrame({"age": ages, **columns})


def wider(labels: tuple[Any, ...], new: list[Any], places: list[float]) -> tuple[Any, ...]:
    """The labels with new ones between them, the old ones in their order."""
    row = list(labels)
    for label, place in zip(new, places, strict=True):
        row.insert(round(place * len(row)), label)
    return tuple(row)


# -- the same tree ------------------------------------------------------------------------------------


def test_the_same_schema_leaves_the_tree_as_it_is() -> None:
    assert project_to_schema(TREE, TREE.schema) is TREE


@given(
    st.permutations(range(4)),
    st.lists(st.floats(0, 1), min_size=2, max_size=2),
    st.permutations(["other", "no", "yes", "unknown"]),
    st.integers(0, 1000),
)
def test_predictions_are_the_same_on_every_wider_schema(
    order: list[int], places: list[float], classes: list[str], seed: int
) -> None:
    columns = (
        replace(AGE, low=0.0, high=120.0),
        replace(SEX, categories=("diverse", "female", "male")),
        replace(PAIN, categories=tuple(reversed(("a new pain", *PAIN.categories, "z")))),
        replace(SLOPE, categories=wider(SLOPE.categories, ["level", "cliff"], places), high=5.0),
    )
    schema = Schema((FARE, *(columns[i] for i in order), OLD), replace(SURVIVED, classes=tuple(classes)))
    moved = project_to_schema(TREE, schema)
    check_tree(moved)
    rows = patients(np.random.default_rng(seed))
    wide_rows = rows.assign(fare=1.0)
    assert moved.apply(wide_rows).tolist() == TREE.apply(rows).tolist()
    assert moved.predict(wide_rows).tolist() == TREE.predict(rows).tolist()
    shares = moved.predict_proba(wide_rows)
    assert np.array_equal(shares[:, [classes.index("no"), classes.index("yes")]], TREE.predict_proba(rows))
    assert not shares[:, [classes.index("other"), classes.index("unknown")]].any()


def test_features_are_found_by_name() -> None:
    moved = TREE.with_schema(Schema((SLOPE, FARE, PAIN, SEX, AGE, OLD), SURVIVED))
    asked = [moved.schema.names[index] for index in moved.feature if index != LEAF]
    assert asked == ["pain", "slope", "age > 60", "sex"]


def test_a_new_category_goes_where_missing_values_go() -> None:
    moved = TREE.with_schema(
        schema_with(
            replace(PAIN, categories=("atypical", "none", "odd", "other", "typical")),
            replace(SEX, categories=("diverse", "female", "male")),
        )
    )
    assert moved.left_categories(0).tolist() == [False, True, True, False, True]  # missing pain goes left
    sex_node = int(np.flatnonzero(moved.feature == 1)[0])
    assert moved.left_categories(sex_node).tolist() == [False, False, True]  # missing sex goes right


def test_a_threshold_on_ordered_categories_follows_the_category_it_stood_behind() -> None:
    between = replace(SLOPE, categories=("cliff", "down", "flat", "level", "up", "steep"), high=5.0)
    moved = TREE.with_schema(schema_with(between))
    assert moved.threshold[1] == 2.5  # still behind "flat"; "level" is beyond it


def test_the_question_whether_a_value_is_known_stays_that_question() -> None:
    by_slope = tree_of(split("slope", KNOWN, leaf(5, 0.9, 0.1), leaf(5, 0.2, 0.8)), (SLOPE,), SURVIVED)
    longer = replace(SLOPE, categories=(*SLOPE.categories, "cliff"), high=4.0)
    assert by_slope.with_schema(Schema((longer,), SURVIVED)).threshold[0] == KNOWN
    assert FARE_KNOWN.with_schema(Schema((AGE, FARE), SURVIVED)).threshold[0] == KNOWN


def test_thresholds_between_other_points_keep_the_same_categories_on_the_left() -> None:
    off_centre = TREE.replace(threshold=np.where(TREE.threshold == 1.5, 1.0, TREE.threshold))
    first = replace(SLOPE, categories=("cliff", *SLOPE.categories), high=4.0)
    assert off_centre.with_schema(schema_with(first)).threshold[1] == 2.5


def test_a_new_class_has_no_share_and_the_old_ones_keep_theirs() -> None:
    moved = TREE.with_schema(schema_with(classes=("yes", "maybe", "no")))
    assert moved.value[2].tolist() == [0.1, 0.0, 0.9]
    assert moved.value.sum(axis=1) == pytest.approx(1)


def test_a_number_is_predicted_as_before_on_a_wider_range() -> None:
    schema = Schema((AGE, *PRICE.schema.features[:1]), Target("price", low=0.0, high=99.0))
    rows = pd.DataFrame({"rooms": [5.0, 5.0, 8.0], "age": [40.0, 60.0, 1.0]})
    assert PRICE.with_schema(schema).predict(rows).tolist() == PRICE.predict(rows).tolist()


def test_a_lone_leaf_has_nothing_to_move_but_its_shares() -> None:
    moved = LONE_LEAF.with_schema(Schema((FARE, AGE), Target("survived", classes=("maybe", "no", "yes"))))
    assert moved.value.tolist() == [[0.0, 0.677, 0.323]]
    assert moved.feature.tolist() == [LEAF]


# -- what does not fit --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            Schema((AGE, SEX, PAIN, OLD), SURVIVED),
            r"column 'slope' is in the tree's schema and not in the new one",
        ),
        (
            Schema(FEATURES[:4], SURVIVED),
            r"custom feature 'age > 60' is in the tree's schema and not in the new one",
        ),
        (
            schema_with(Feature("sex")),
            r"column 'sex' is nominal in the tree's schema, numeric in the new one",
        ),
        (
            schema_with(replace(PAIN, categories=("atypical", "odd", "other"))),
            r"(?s)'pain' has no categories 'none', 'typical'.*with_schema\(schema.widened\(tree.schema\)\)",
        ),
        (
            schema_with(replace(SLOPE, categories=("up", "flat", "down", "steep"))),
            r"column 'slope' is ordered 'down', 'flat', 'up', 'steep' .* 'up', 'flat', 'down', 'steep'",
        ),
        (schema_with(classes=("maybe", "no")), r"(?s)'survived' has no classes 'yes'.*schema.widened"),
        (
            Schema(FEATURES, Target("survived")),
            r"'survived' is a class in the tree's schema, a number in the new",
        ),
    ],
)
def test_a_schema_that_cannot_hold_the_tree_is_refused_with_what_it_lacks(
    schema: Schema, message: str
) -> None:
    with pytest.raises(SchemaMismatch, match=message):
        TREE.with_schema(schema)


def test_all_that_is_lacking_is_named_at_once() -> None:
    with pytest.raises(
        SchemaMismatch, match=r"(?s)'sex' has no categories 'male'.*'slope' is in .*classes 'yes'"
    ):
        TREE.with_schema(
            Schema(
                (AGE, PAIN, replace(SEX, categories=("female",)), OLD),
                Target("survived", classes=("no", "perhaps")),
            )
        )


def test_the_way_out_works() -> None:
    narrow = schema_with(replace(PAIN, categories=("none", "odd")), classes=("no", "perhaps"))
    moved = TREE.with_schema(narrow.widened(TREE.schema))
    rows = patients(np.random.default_rng(0))
    assert moved.predict(rows).tolist() == TREE.predict(rows).tolist()


def test_a_column_that_is_not_asked_about_may_become_of_another_kind() -> None:
    classes = Target("y", classes=("no", "yes"))
    age = Feature("age", low=0.0, high=90.0)
    leaves = {"value": [9, 1], "count": 10}, {"value": [1, 9], "count": 10}
    split = {"feature": "age", "threshold": 40, "left": 1, "right": 2}
    tree = Tree.from_nodes(Schema((age, Feature("ward")), classes), [split, *leaves])
    later = Schema((age, Feature("ward", "nominal", categories=("east", "west"))), classes)
    assert tree.with_schema(later).schema == later
    with pytest.raises(SchemaMismatch, match="'age' is numeric in the tree's schema, nominal in the new one"):
        tree.with_schema(Schema((Feature("age", "nominal", categories=("old",)), Feature("ward")), classes))
