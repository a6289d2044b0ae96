"""All trees at once give what the trees give one by one."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest

from holdfast._arrays import FloatArray
from holdfast.data.schema import Schema, Target
from holdfast.data.table import Table
from holdfast.tree.ensemble import Ensemble
from reference.random_trees import OUTCOMES, STAY, random_schema, random_tree


def random_rows(random: Random, schema: Schema, n_rows: int) -> Table:
    """Rows with every category, numbers within and beyond the range, and a missing value in five."""
    generator = np.random.default_rng(random.getrandbits(32))
    columns = []
    for feature in schema.features:
        if feature.categories:
            values = generator.integers(len(feature.categories), size=n_rows).astype(float)
        else:
            values = generator.uniform(2 * feature.low - feature.high, 2 * feature.high - feature.low, n_rows)
        columns.append(np.where(generator.random(n_rows) < 0.2, np.nan, values))
    return Table(schema, tuple(columns), np.zeros(n_rows))


def random_ensemble(random: Random, target: Target, n_estimators: int, votes: bool = False) -> Ensemble:
    """Trees of one to twenty leaves with any weights."""
    schema = random_schema(random, target)
    trees = [random_tree(random, schema, random.choice([1, 2, 5, 20])) for _ in range(n_estimators)]
    weights = [random.uniform(0.1, 3) for _ in trees]
    start = np.zeros(max(len(target.classes), 1))
    return Ensemble(schema, tuple(trees), weights, np.zeros(n_estimators), start, "mean", votes)


def added_one_by_one(ensemble: Ensemble, table: Table) -> FloatArray:
    """The scores as the definition has them, tree after tree."""
    scores = np.tile(ensemble.start, (table.n_rows, 1))
    for tree, weight, output in zip(ensemble.trees, ensemble.weights, ensemble.outputs, strict=True):
        values = np.eye(tree.value.shape[1])[tree.outcome] if ensemble.votes else tree.value
        scores[:, output : output + values.shape[1]] += weight * values[tree.apply(table)]
    return scores


@pytest.mark.kernel
@pytest.mark.parametrize("n_rows", [0, 1, 7, 8, 9, 30])  # eight rows go side by side, the rest one by one
@pytest.mark.parametrize("target", [OUTCOMES, STAY], ids=["classes", "numbers"])
@pytest.mark.parametrize("seed", range(4))
def test_sums_and_leaves_are_those_of_the_single_trees(seed: int, target: Target, n_rows: int) -> None:
    random = Random(seed)
    ensemble = random_ensemble(random, target, 6)
    table = random_rows(random, ensemble.schema, n_rows)
    assert np.array_equal(ensemble.scores(table), added_one_by_one(ensemble, table))
    leaves = np.stack([tree.apply(table) for tree in ensemble], axis=1)
    assert np.array_equal(ensemble.leaves(table), leaves)


@pytest.mark.kernel
def test_votes_go_to_the_most_frequent_class() -> None:
    random = Random(5)
    ensemble = random_ensemble(random, OUTCOMES, 5, votes=True)
    table = random_rows(random, ensemble.schema, 20)
    assert np.array_equal(ensemble.scores(table), added_one_by_one(ensemble, table))


@pytest.mark.kernel
def test_trees_add_to_their_own_columns() -> None:
    random = Random(6)
    schema = random_schema(random, STAY)
    trees = tuple(random_tree(random, schema, 6) for _ in range(6))
    prediction = Schema(schema.features, OUTCOMES)
    ensemble = Ensemble(prediction, trees, np.ones(6), [0, 1, 2, 0, 1, 2], np.zeros(3), "softmax")
    table = random_rows(random, schema, 12)
    expected = np.zeros((12, 3))
    for position, tree in enumerate(trees):
        expected[:, position % 3] += tree.predict(table)
    assert np.array_equal(ensemble.scores(table), expected)


@pytest.mark.parametrize("target", [OUTCOMES, STAY], ids=["classes", "numbers"])
def test_the_bits_depend_neither_on_threads_nor_on_the_cut_of_the_rows(target: Target) -> None:
    random = Random(7)
    ensemble = random_ensemble(random, target, 4)
    table = random_rows(random, ensemble.schema, 25_000)
    scores = ensemble.scores(table)
    assert np.array_equal(scores, added_one_by_one(ensemble, table))
    for n_jobs in (1, 2):
        assert np.array_equal(ensemble.scores(table, n_jobs=n_jobs), scores)
    assert np.array_equal(ensemble.leaves(table, n_jobs=2), ensemble.leaves(table))
    cuts = [0, 1, 10, 2049, 9000, 25_000]
    parts = [table.subset(np.arange(*ends)) for ends in pairwise(cuts)]
    assert np.array_equal(np.concatenate([ensemble.scores(part) for part in parts]), scores)
