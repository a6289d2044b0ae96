"""The features that collections of trees ask about, worked out by hand and by a walk of random trees."""

from random import Random
from statistics import mean, stdev

import pytest

from holdfast.data.schema import Feature, Schema
from holdfast.errors import ParameterError, SchemaMismatch
from holdfast.explain.feature_use import FeatureUse, feature_use, first_features, importance_spread
from holdfast.tree.tree import LEAF, Tree
from reference.random_trees import FEATURES, OUTCOMES, QUESTION, STAY, grown_trees, random_tree
from reference.trees import AGE, FARE, SEX, SURVIVED, leaf, split, tree_of

COLUMNS = (AGE, FARE, SEX)
NO, YES = leaf(25, 1.0, 0.0), leaf(25, 0.0, 1.0)

# Half of the 100 rows lived: rows times gini is 100 * 1/2 at the root. Of the 75 young ones a third lived:
# 75 * 4/9 = 33.3 is left. So age brings 16.7 of the 50, a third, and fare brings the rest.
AGE_THEN_FARE = tree_of(
    split("age", 50.0, split("fare", 10.0, leaf(50, 1.0, 0.0), YES), YES), COLUMNS, SURVIVED
)
FARE_ALONE = tree_of(split("fare", 20.0, NO, YES), COLUMNS, SURVIVED)
NOTHING = tree_of(leaf(10, 0.5, 0.5), COLUMNS, SURVIVED)


def by_name(trees: list[Tree]) -> dict[str, FeatureUse]:
    return {use.name: use for use in feature_use(trees)}


# -- by hand ----------------------------------------------------------------------------------------------


def test_a_feature_counts_from_the_level_where_a_tree_first_asks_about_it() -> None:
    use = by_name([AGE_THEN_FARE, FARE_ALONE, FARE_ALONE, NOTHING])
    assert use["age"].first == (0.25, 0.25, 0.25)
    assert use["fare"].first == (0.5, 0.75, 0.75)
    assert use["fare"].anywhere == 0.75
    assert use["sex"].first == (0, 0, 0)


def test_importance_is_the_mean_over_trees_and_spread_its_standard_deviation() -> None:
    use = by_name([AGE_THEN_FARE, FARE_ALONE])
    assert use["age"].importance == pytest.approx(1 / 6)  # a third in one tree, nothing in the other
    assert use["fare"].importance == pytest.approx(5 / 6)  # two thirds and all
    # Two numbers a third apart: half their difference, times the root of two.
    assert [use[name].spread for name in ("age", "fare")] == pytest.approx([1 / 6 * 2**0.5] * 2)


def test_the_most_important_feature_comes_first_and_the_order_of_the_schema_breaks_ties() -> None:
    assert [use.name for use in feature_use([AGE_THEN_FARE])] == ["fare", "age", "sex"]
    assert [use.name for use in feature_use([NOTHING])] == ["age", "fare", "sex"]


def test_the_spread_of_a_collection_is_averaged_over_the_features_that_it_asks_about() -> None:
    # Age and fare have the same spread; sex, which no tree asks about, does not dilute it.
    assert importance_spread([AGE_THEN_FARE, FARE_ALONE]) == pytest.approx(1 / 6 * 2**0.5)
    assert importance_spread([NOTHING, NOTHING]) == 0


def test_the_first_features_are_those_of_any_tree_in_the_order_of_the_schema() -> None:
    assert first_features([FARE_ALONE, AGE_THEN_FARE]) == ("age", "fare")
    assert first_features([AGE_THEN_FARE]) == ("age",)
    assert first_features([AGE_THEN_FARE], levels=2) == ("age", "fare")
    assert first_features([NOTHING]) == ()


def test_features_of_trees_with_other_columns_are_told_apart_by_name() -> None:
    other = tree_of(split("fare", 20.0, NO, YES), (SEX, FARE), SURVIVED)
    use = by_name([AGE_THEN_FARE, other])
    assert use["fare"].first == (0.5, 1, 1)
    assert use["age"].first == (0.5, 0.5, 0.5)


def test_trees_that_measure_a_column_differently_are_refused() -> None:
    wider = tree_of(split("age", 50.0, NO, YES), (Feature("age", low=0.0, high=120.0),), SURVIVED)
    with pytest.raises(SchemaMismatch, match="column 'age'"):
        feature_use([AGE_THEN_FARE, wider])


@pytest.mark.parametrize("function", [feature_use, first_features, importance_spread])
def test_no_trees_have_no_features(function: object) -> None:
    with pytest.raises(ValueError, match="at least one tree"):
        function([])


def test_the_root_is_the_first_level() -> None:
    with pytest.raises(ParameterError, match="levels=0 is out of range"):
        first_features([FARE_ALONE], levels=0)


# -- against a walk of random trees -------------------------------------------------------------------------


def levels_of(tree: Tree, node: int = 0, level: int = 1) -> list[tuple[str, int]]:
    """Every question of the tree as its feature and its level, by walking down from the root."""
    if tree.feature[node] == LEAF:
        return []
    own = (tree.schema.names[tree.feature[node]], level)
    below = [levels_of(tree, int(child), level + 1) for child in (tree.left[node], tree.right[node])]
    return [own, *below[0], *below[1]]


def assert_uses_are_those_of_a_walk(trees: list[Tree]) -> None:
    walks = [levels_of(tree) for tree in trees]
    names = trees[0].schema.names
    for use in feature_use(trees):
        levels = [[level for name, level in walk if name == use.name] for walk in walks]
        for depth, share in zip((1, 2, 3), use.first, strict=True):
            assert share == pytest.approx(mean(any(at <= depth for at in found) for found in levels))
        assert use.anywhere == pytest.approx(mean(bool(found) for found in levels))
        importances = [float(tree.importances[names.index(use.name)]) for tree in trees]
        assert use.importance == pytest.approx(mean(importances))
        assert use.spread == pytest.approx(stdev(importances), abs=1e-12)
    for depth in (1, 2, 5):
        assert set(first_features(trees, depth)) == {
            name for walk in walks for name, level in walk if level <= depth
        }


@pytest.mark.parametrize("seed", range(5))
def test_uses_of_random_trees_are_those_of_a_walk(seed: int) -> None:
    random = Random(seed)
    schema = Schema((*FEATURES, QUESTION), OUTCOMES)
    trees = [random_tree(random, schema, random.randint(1, 20)) for _ in range(12)]
    assert_uses_are_those_of_a_walk(trees)
    assert_uses_are_those_of_a_walk(grown_trees(random, STAY, n_estimators=6))
