"""Random trees for the tests of everything that compares trees: some grown, some that no data would grow."""

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from holdfast._arrays import FloatArray
from holdfast.data.schema import Feature, Label, Schema, Target
from holdfast.data.table import Table
from holdfast.growth.collections import grow_bootstraps
from holdfast.growth.rules import GrowthRules
from holdfast.tree.check import check_tree
from holdfast.tree.tree import KNOWN, Tree
from reference.trees import Node, leaf, split, tree_of

FEATURES = (
    Feature("age", low=18.0, high=90.0),
    Feature("dose", low=-2.5, high=0.75),
    Feature("count", low=1e6, high=1e6 + 3.0),
    Feature("always 7", low=7.0, high=7.0),
    Feature("slope", "ordered", low=0.0, high=3.0, categories=("down", "flat", "up", "steep")),
    Feature("one grade", "ordered", low=0.0, high=0.0, categories=("only",)),
    Feature("pain", "nominal", categories=("atypical", "none", "other", "typical")),
    Feature("one name", "nominal", categories=("only",)),
    Feature("smoker", "nominal", categories=(False, True)),
    Feature("ward", "nominal", categories=tuple(f"ward {number:02d}" for number in range(11))),
    Feature("postcode", "nominal", categories=tuple(range(10_000, 10_130))),
)
QUESTION = Feature("age > 40", "custom", categories=(False, True))
OUTCOMES = Target("outcome", classes=("died", "lived", "moved"))
STAY = Target("length of stay", low=0.0, high=30.0)


# -- trees that no data would grow ------------------------------------------------------------------------


def random_schema(random: Random, target: Target = OUTCOMES) -> Schema:
    """A few of the features in any order, age and the question about it in every other schema."""
    features = random.sample(FEATURES[1:], random.randint(1, 4))
    if random.random() < 0.5:
        features.insert(random.randrange(len(features) + 1), FEATURES[0])
        features.append(QUESTION)
    return Schema(tuple(features), target)


def random_tree(random: Random, schema: Schema, n_leaves: int) -> Tree:
    """A tree of any questions in any order, redundant ones and thresholds out of range among them."""
    tree = tree_of(_random_node(random, schema, n_leaves), schema.features, schema.target)
    check_tree(tree)
    return tree


def _random_node(random: Random, schema: Schema, n_leaves: int) -> Node:
    if n_leaves == 1:
        return _random_leaf(random, schema.target)
    feature = random.choice(schema.features)
    on_the_left = random.randint(1, n_leaves - 1)
    branches = [_random_node(random, schema, size) for size in (on_the_left, n_leaves - on_the_left)]
    return split(feature.name, _random_answer(random, feature), *branches, random.random() < 0.5)


def _random_leaf(random: Random, target: Target) -> Node:
    count = random.randint(1, 40)
    if not target.is_classes:
        width = target.high - target.low
        return leaf(count, random.uniform(target.low - width / 5, target.high + width / 5), impurity=1.0)
    # Small integers: pure leaves and leaves with two most frequent classes come up often.
    rows = [random.randint(0, 3) for _ in target.classes]
    rows[random.randrange(len(rows))] += 1
    return leaf(count, *(number / sum(rows) for number in rows))


def _random_answer(random: Random, feature: Feature) -> float | tuple[Label, ...]:
    if feature.is_subset:
        return tuple(label for label in feature.categories if random.random() < 0.5)
    if random.random() < 0.1:
        return KNOWN
    if feature.kind == "ordered":
        return random.randint(-1, len(feature.categories)) + 0.5
    width = feature.high - feature.low
    if random.random() < 0.3:
        return feature.low + width * random.choice((-1.5, 0.0, 0.25, 0.5, 0.75, 1.0, 3.0))
    return random.uniform(feature.low, feature.high)


# -- grown trees ------------------------------------------------------------------------------------------


def random_table(random: Random, target: Target = OUTCOMES, n_rows: int = 60) -> Table:
    """A table of every kind of feature, some values missing, whose target follows some of them loosely."""
    generator = np.random.default_rng(random.getrandbits(32))
    features = random.sample(FEATURES, random.randint(2, len(FEATURES)))
    columns = [_random_column(random, generator, feature, n_rows) for feature in features]
    if any(feature.name == "age" for feature in features):
        ages = columns[[feature.name for feature in features].index("age")]
        features.append(QUESTION)
        columns.append(np.where(np.isnan(ages), np.nan, ages > 40))
    signal = sum(np.nan_to_num(_standing(column)) for column in columns[:2]) + generator.normal(
        0, 0.3, n_rows
    )
    return Table(Schema(tuple(features), target), tuple(columns), _targets(signal, target))


def _random_column(random: Random, generator: Any, feature: Feature, n_rows: int) -> FloatArray:
    if feature.kind == "numeric":
        values = feature.low + (feature.high - feature.low) * generator.random(n_rows)
    else:
        values = generator.integers(0, len(feature.categories), n_rows).astype(float)
    is_missing = generator.random(n_rows) < random.choice((0.0, 0.0, 0.1, 0.4))
    return np.where(is_missing, np.nan, values)


def _standing(column: FloatArray) -> FloatArray:
    """The values from 0 to 1 by rank."""
    return column.argsort(kind="stable").argsort(kind="stable") / len(column)


def _targets(signal: FloatArray, target: Target) -> Any:
    standing = _standing(signal)
    if not target.is_classes:
        return target.low + (target.high - target.low) * standing
    return np.floor(standing * len(target.classes)).astype(np.int32)


def grown_trees(
    random: Random, target: Target = OUTCOMES, n_estimators: int = 2, max_depth: int = 4
) -> list[Tree]:
    """Trees of different sizes, grown on bootstrap samples of one random table."""
    table = random_table(random, target)
    criterion = "gini" if target.is_classes else "squared_error"
    trees: list[Tree] = []
    while len(trees) < n_estimators:
        leaves = random.randint(2, 2**max_depth)
        rules = GrowthRules(criterion, random.randint(1, max_depth), leaves, max_features=0.5)
        trees += grow_bootstraps(table, rules, 1, random_state=random.getrandbits(20))
    return trees


# -- the same trees, told otherwise -----------------------------------------------------------------------


def reorder(tree: Tree, random: Random) -> Tree:
    """The same tree with its features in another order, and with a class more that no leaf has."""
    columns = random.sample(tree.schema.columns, len(tree.schema.columns))
    asked = [feature for feature in tree.schema.features if feature.kind == "custom"]
    target = tree.schema.target
    if target.is_classes:
        # The known classes keep their order: the first of the most frequent ones is the outcome.
        place = random.randint(0, len(target.classes))
        target = replace(target, classes=(*target.classes[:place], "never seen", *target.classes[place:]))
    return tree.with_schema(Schema((*columns, *asked), target))
