"""From a deployed tree to one that fits new rows."""

import numpy as np
import pytest

from holdfast import Table, tree_distance
from holdfast.stable.consensus.train import (
    distance_settings,
    make_task,
    predict_teacher,
    search_consensus_trees,
)
from holdfast.stable.settings import StabilitySettings
from holdfast.tree.check import check_tree
from holdfast.tree.rules import find_paths_above, is_same_split, number_paths, subtree_sizes
from holdfast.tree.tree import LEAF, Tree
from holdfast.update.search import UpdateSearch

SETTINGS = StabilitySettings(teacher="linear", n_estimators=10, validation=None)


def rows(seed: int, n_rows: int = 240, shift: float = 0.0, task: str = "classification") -> Table:
    """Two columns that determine the outcome, and noise; `shift` moves a threshold."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    x, z, noise = rng.normal(size=(3, n_rows)).round(2)
    kind = np.array(["a", "b", "c"])[rng.integers(0, 3, n_rows)]
    score = 2 * (x > shift) + z * (x <= shift) + (kind == "b") - 1 + rng.normal(size=n_rows)
    x[::17] = np.nan
    frame = pd.DataFrame({"x": x, "z": z, "noise": noise, "kind": pd.Categorical(kind, ["a", "b", "c"])})
    y = score if task == "regression" else np.where(score > 0.2, "yes", "no")
    return Table.from_frame(frame.assign(y=y), target="y", task=task)


def make_search(
    seed: int = 0, shift: float = 0.7, frozen: tuple[int, ...] = (), task: str = "classification"
) -> UpdateSearch:
    before, after = rows(seed, task=task), rows(seed + 100, shift=shift, task=task)
    schema = before.schema.widen(after.schema)
    task = make_task(before, predict_teacher(before, None, SETTINGS), SETTINGS)
    old = search_consensus_trees(task, None, SETTINGS).trees[-1].with_schema(schema)
    after = Table(schema, after.columns, after.target)
    task = make_task(after, predict_teacher(after, None, SETTINGS), SETTINGS)
    student = task.grow_student().tree
    fixed_paths = find_paths_above(old, frozen)
    return UpdateSearch(task, old, student, distance_settings(SETTINGS, [old]), fixed_paths=fixed_paths)


def squared_error(search: UpdateSearch, tree: Tree) -> float:
    """The slow obvious way: of the second class, or of the number as a fraction of the range."""
    target = tree.schema.target
    predicted = tree.value[tree.apply(search.task.table)][:, -1]
    if not target.is_classes:
        predicted = (predicted - target.low) / (target.high - target.low)
    return float(np.sum((search.task.predictions[:, -1] - predicted) ** 2))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_loss_is_a_fraction_of_what_the_student_explains(task: str) -> None:
    search = make_search(task=task)
    predictions = search.task.predictions[:, -1]
    student, mean = (
        squared_error(search, search.student),
        float(((predictions - predictions.mean()) ** 2).sum()),
    )
    by_hand = (squared_error(search, search.refitted) - student) / (mean - student)
    assert search.loss(search.refitted) == pytest.approx(by_hand)
    assert search.loss(search.student) == 0.0


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("seed", [0, 1])
def test_every_step_is_a_tree_that_fits_better_until_one_fits_well_enough(seed: int, task: str) -> None:
    search = make_search(seed, task=task)
    steps = search.steps(0.02)
    losses = [search.loss(tree) for tree in steps]
    assert len(steps) > 1
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] <= 0.02 < losses[-2]
    for tree in steps:
        check_tree(tree)
        assert tree.n_leaves <= max(12, search.deployed.n_leaves)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_nearest_tree_is_no_farther_than_the_starts_and_fits(seed: int) -> None:
    search = make_search(seed)
    starts = [search.steps(0.02)[-1], search.student]
    nearest = search.find_nearest(0.02, starts)
    assert nearest is not None
    away = [tree_distance(tree, search.deployed, label_weight=10.0).total for tree in (nearest, *starts)]
    assert away[0] <= min(away[1:]) + 1e-6
    assert search.loss(nearest) <= 0.02 + 1e-9


def test_frozen_nodes_keep_their_splits_at_every_step() -> None:
    free = make_search(shift=1.5)
    frozen = make_search(shift=1.5, frozen=(0,))
    assert any(not is_same_split(free.deployed, 0, tree, 0) for tree in free.steps(0.0))
    steps = frozen.steps(0.0)
    for tree in steps:
        assert is_same_split(frozen.deployed, 0, tree, 0)
    nearest = frozen.find_nearest(10.0, steps)
    assert nearest is None or is_same_split(frozen.deployed, 0, nearest, 0)


def test_paths_number_the_nodes_from_the_root() -> None:
    tree = make_search().deployed
    path = number_paths(tree)
    assert path[1] == 0
    for number, node in path.items():
        if tree.feature[node] != LEAF:
            assert path[2 * number] == tree.left[node]
            assert path[2 * number + 1] == tree.right[node]
    deepest = int(np.argmax(tree.node_depth))
    assert len(find_paths_above(tree, [deepest])) == tree.depth + 1
    assert subtree_sizes(tree)[0] == tree.n_nodes
