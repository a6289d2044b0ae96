"""A collection: every tree on its own sample of its own rows, for any number of jobs."""

from typing import Any

import numpy as np
import pytest
from sklearn.tree import (
    ExtraTreeClassifier,
)

from holdfast.data.resampling import Units
from holdfast.data.table import Table
from holdfast.growth.collections import list_combinations, make_learner
from holdfast.growth.grow import grow
from holdfast.growth.rules import CART, GrowthRules
from holdfast.stable.candidates import grow_collection, make_foreign_learner
from holdfast.tree.tree import Tree
from reference.resampling import draw_counts

ONE = ({},)
random = np.random.default_rng(3)
X = random.integers(0, 12, (80, 3)).astype(float)  # small integers: exact in float32 too
LABELS = np.array(["low", "mid", "top"])[np.clip((X[:, 0] + X[:, 1]) // 8, 0, 2).astype(int)]
NUMBERS = X[:, 0] * 2 + X[:, 1] + random.normal(size=80)
WEIGHT = random.random(80) * 3 + 0.01
TABLE = Table.from_arrays(X, LABELS)
UNITS = Units.of(TABLE)
NUMBER_TABLE = Table.from_arrays(X, NUMBERS)


def samples_of(learner: Any, n_samples: int) -> list[Any]:
    return [draw_counts(learner.repeats, UNITS, (5, number)) for number in range(n_samples)]


def drawing(tree: Tree) -> tuple[Any, ...]:
    """Everything that decides about predictions."""
    return tuple(
        getattr(tree, name).tobytes() for name in ("feature", "threshold", "left", "right", "in_set", "value")
    )


@pytest.mark.parametrize("n_jobs", [2, 4])
@pytest.mark.parametrize("estimator", [None, ExtraTreeClassifier()], ids=["own", "other"])
def test_the_number_of_jobs_changes_no_bit_of_a_collection(estimator: Any, n_jobs: int):
    combinations = list_combinations({"max_depth": [2, 4], "max_features": [1]})
    learner = (
        make_learner(TABLE, CART, combinations)
        if estimator is None
        else make_foreign_learner(TABLE, estimator, combinations)
    )
    rows = [np.arange(80) % 3 != part for part in range(3)]
    alone, together = (
        grow_collection(learner, rows, 13, units=UNITS, seed=(1, 2), n_jobs=jobs) for jobs in (1, n_jobs)
    )
    assert list(map(drawing, alone.trees)) == list(map(drawing, together.trees))
    assert len({drawing(tree) for tree in alone.trees}) > 8
    assert alone.combination.tolist() == [0, 1] * 6 + [0]


def test_the_first_trees_of_a_larger_collection_are_those_of_a_smaller():
    learner = make_learner(TABLE, CART, list_combinations({"max_depth": [2, 4]}))
    rows = [np.ones(80, np.bool_)]
    few, many = (
        grow_collection(learner, rows, n_estimators, units=UNITS, seed=(1, 2)) for n_estimators in (5, 12)
    )
    assert list(map(drawing, many.trees[:5])) == list(map(drawing, few.trees))


def test_trees_see_the_rows_of_their_division_alone():
    learner = make_learner(TABLE, GrowthRules(max_depth=2), ONE)
    rows = [np.arange(80) < 40, np.arange(80) >= 40]
    grown = grow_collection(learner, rows, 8, units=UNITS, seed=(3, 4))
    for place, tree in enumerate(grown.trees):
        counts = draw_counts(rows[grown.division[place]].astype(np.int32), UNITS, (3, 4, place))
        repeated = TABLE.subset(np.repeat(np.arange(80), counts))
        assert drawing(tree) == drawing(grow(repeated, GrowthRules(max_depth=2)))
