"""The step that gains most fit per unit of distance, against all steps made one by one."""

import numpy as np
import pytest

from holdfast import tree_distance
from holdfast.distance.costs import DistanceSettings
from holdfast.kernels.consensus.problem import Bounds
from holdfast.kernels.consensus.search import FLOOR
from holdfast.stable.consensus.distil import UNIT
from holdfast.stable.consensus.search import ConsensusProblem
from holdfast.tree.tree import Tree
from reference.consensus_search import Shape, SmallSearch, n_leaves_of, nodes_of, paths_of, shape_of

pytestmark = pytest.mark.kernel


class SmallPath:
    """A deployed tree, and the trees one step away from another."""

    def __init__(self, seed: int, fixed_paths: tuple[int, ...] = (), **kind: object) -> None:
        self.small = SmallSearch(seed, **kind)
        small = self.small
        self.deployed = small.references[0]
        outcome = small.options.get("outcome", "value")
        settings = DistanceSettings.of_depth(3, str(small.options["matching"]), str(outcome), 3.0)
        self.problem = ConsensusProblem.of(
            small.task,
            [self.deployed],
            settings,
            more=[small.student],
            grafts=[(tree, 1) for tree in small.references],
            fixed_paths=fixed_paths,
        )
        self.bounds = Bounds(4, small.search.min_rows, np.inf, self.problem.square_sum, UNIT)

    def tree(self, shape: Shape) -> Tree:
        return self.small.tree(shape)

    def shape(self, tree: Tree) -> Shape:
        return shape_of(self.problem.splits.pack_tree(tree, tree.n_nodes))

    def step(self, shape: Shape) -> Shape:
        nodes = nodes_of(shape)
        room = self.problem.n_nodes - len(nodes.split)
        padded = [np.concatenate([each, np.full(room, -1)]) for each in nodes]
        return shape_of(self.problem.step(type(nodes)(*padded), self.bounds).nodes)

    def ratio(self, start: Shape, end: Shape) -> float:
        """Gain per unit of added distance; 0 for a step that is not allowed."""
        one, other = self.tree(start), self.tree(end)
        counts = np.bincount(self.small.tree_leaves(other), minlength=other.n_leaves)
        gain = self.small.squared_loss(one) - self.small.squared_loss(other)
        if counts.min() < self.small.search.min_rows or gain <= 1e-9 * self.problem.square_sum:
            return 0.0
        away = [tree_distance(each, self.deployed, **self.small.options).total for each in (one, other)]
        return gain / max(away[1] - away[0], FLOOR)


@pytest.mark.parametrize("kind", [{}, {"n_classes": 0}, {"n_classes": 3, "matching": "metric"}])
@pytest.mark.parametrize("seed", range(3))
def test_the_step_is_the_best_of_all_steps(seed: int, kind: dict) -> None:
    path = SmallPath(seed, **kind)
    start = path.shape(path.small.references[-1])
    made = path.step(start)
    others = [each for each in path.small.moves(start) if n_leaves_of(each) <= 4]
    best = max(path.ratio(start, each) for each in others)
    assert path.ratio(start, made) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_fixed_nodes_keep_their_splits(seed: int) -> None:
    start = SmallPath(seed).shape(SmallPath(seed).small.references[-1])
    if len(list(paths_of(start))) < 4:
        pytest.skip("a tree of one split")
    held = SmallPath(seed, fixed_paths=(1,))
    assert held.step(start)[0] == start[0]


def test_where_no_step_gains_the_tree_stays() -> None:
    path = SmallPath(0)
    path.bounds = path.bounds._replace(least_rows=1000.0)
    start = path.shape(path.small.student)
    assert path.step(start) == start
