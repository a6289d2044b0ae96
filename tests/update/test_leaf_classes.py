"""Leaves keep their class unless the new rows clearly support another one."""

import numpy as np
import pytest

from holdfast import Table, Tree
from holdfast.data.schema import Feature, Schema, Target
from holdfast.growth.rules import GrowthRules
from holdfast.stable.consensus.distil import DistillationTask, quantize_predictions
from holdfast.update.path import keep_leaf_classes

SCHEMA = Schema((Feature("x", low=0.0, high=3.0),), Target("y", classes=("no", "yes")))


def tree_of(*chances: float) -> Tree:
    """x <= 1, x <= 2, or more; each with the chance of "yes"."""
    leaves = [{"value": [1 - chance, chance], "count": 10} for chance in chances]
    upper = {"feature": "x", "threshold": 2.0, "left": 3, "right": 4}
    return Tree.from_nodes(
        SCHEMA, [{"feature": "x", "threshold": 1.0, "left": 1, "right": 2}, leaves[0], upper, *leaves[1:]]
    )


def rows_of(*chances: float) -> DistillationTask:
    """Ten rows in each of the three parts, with these predictions of the teacher."""
    x = np.repeat([0.5, 1.5, 2.5], 10)
    table = Table(SCHEMA, (x,), (np.arange(30) % 2).astype(np.int32))
    second = np.repeat(chances, 10)
    predictions = quantize_predictions(np.stack([1 - second, second], axis=1))
    return DistillationTask.of(
        table, predictions, np.ones(30, np.int32), np.ones(30), GrowthRules(min_samples_leaf=1)
    )


DEPLOYED = tree_of(0.2, 0.45, 0.8)
UPDATED = tree_of(0.2, 0.55, 0.4)
ROWS = rows_of(0.2, 0.55, 0.4)


def classes(tree: Tree) -> list[str]:
    return tree.predict([[0.5], [1.5], [2.5]]).tolist()


def test_the_cheapest_leaves_keep_their_class_as_far_as_the_budget_goes() -> None:
    assert classes(DEPLOYED) == ["no", "no", "yes"]
    assert classes(UPDATED) == ["no", "yes", "no"]
    # Ten rows times 0.05 squared are 0.025, and times 0.1 squared 0.1.
    assert classes(keep_leaf_classes(UPDATED, DEPLOYED, ROWS, 0.024)) == ["no", "yes", "no"]
    assert classes(keep_leaf_classes(UPDATED, DEPLOYED, ROWS, 0.026)) == ["no", "no", "no"]
    assert classes(keep_leaf_classes(UPDATED, DEPLOYED, ROWS, 0.126)) == ["no", "no", "yes"]


def test_a_leaf_that_keeps_its_class_predicts_one_half() -> None:
    kept = keep_leaf_classes(UPDATED, DEPLOYED, ROWS, 1.0)
    assert kept.predict_proba([[0.5], [1.5], [2.5]])[:, 1].tolist() == pytest.approx([0.2, 0.5, 0.5])


def test_a_leaf_whose_rows_had_both_classes_has_none_to_keep() -> None:
    merged = Tree.from_nodes(
        SCHEMA,
        [
            {"feature": "x", "threshold": 1.0, "left": 1, "right": 2},
            {"value": [0.8, 0.2], "count": 10},
            {"value": [0.52, 0.48], "count": 20},
        ],
    )
    assert classes(keep_leaf_classes(merged, DEPLOYED, ROWS, 1.0)) == ["no", "no", "no"]


def test_nothing_changes_where_no_class_does_or_nothing_may_be_spent() -> None:
    assert keep_leaf_classes(DEPLOYED, DEPLOYED, ROWS, 1.0) is DEPLOYED
    assert keep_leaf_classes(UPDATED, DEPLOYED, ROWS, -0.1) is UPDATED
