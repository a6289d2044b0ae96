"""Search for trees between a deployed tree and one that fits new rows.

`steps` makes the changes that gain most fit to the teacher of the new rows per unit of distance from the
deployed tree, until the fit is within the tolerance of a freshly grown student's. `find_nearest` then moves
the tree back towards the deployed one within that bound.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holdfast.distance.costs import DistanceSettings, value_fractions
from holdfast.kernels.consensus.problem import MOST_PATH
from holdfast.stable.consensus.distil import DistillationTask
from holdfast.stable.consensus.prior import get_teacher_means
from holdfast.stable.consensus.search import LEAST_SHARE, ConsensusProblem, ConsensusSearch, SearchResult
from holdfast.tree.rules import is_same_split, number_paths, subtree_sizes
from holdfast.tree.tree import Tree

MAX_STEPS = 24


@dataclass(frozen=True, eq=False)
class UpdateSearch:
    """The search between a deployed tree and a student freshly distilled from the teacher of new rows."""

    task: DistillationTask  # the teacher's predictions, averaged with those of the deployed tree
    deployed: Tree  # on the schema of the rows, as it is in use
    student: Tree  # freshly grown on the new rows
    distances: DistanceSettings
    more: tuple[Tree, ...] = ()  # trees whose splits may be used as well
    fixed_paths: frozenset[int] = frozenset()  # of nodes whose splits stay, and of all nodes above them
    has_explicit_min: bool = False  # the user has set the least rows of a leaf

    @cached_property
    def refitted(self) -> Tree:
        """The deployed tree with the teacher's mean predictions in its leaves."""
        return self.task.refit([self.deployed])[0]

    # -- fit ------------------------------------------------------------------------------------------

    def loss(self, tree: Tree) -> float:
        """The loss of a tree, as a fraction of the teacher's variance that the student explains.

        Below 0 if the tree explains more than the student.
        """
        excess = self._squared_error(tree) - self._student_error
        return excess / self.explained if self.explained > 0 else 0.0

    @cached_property
    def explained(self) -> float:
        """What the student explains of the teacher's variance, as a sum of squares."""
        predictions, weight = self.task.fitted_predictions, self.task.weight
        mean = np.average(predictions, axis=0, weights=weight)
        return float((weight[:, None] * (predictions - mean) ** 2).sum()) - self._student_error

    @cached_property
    def _student_error(self) -> float:
        return self._squared_error(self.student)

    def _squared_error(self, tree: Tree) -> float:
        task, target = self.task, tree.schema.target
        predicted = value_fractions(get_teacher_means(tree), target)[tree.apply(task.table)]
        predicted = predicted[:, -1:] if predicted.shape[1] <= 2 else predicted
        return float((task.weight[:, None] * (task.fitted_predictions - predicted) ** 2).sum())

    # -- search ---------------------------------------------------------------------------------------

    def steps(self, tolerance: float) -> list[Tree]:
        """The refitted tree, and the tree after each step, until one is within the tolerance.

        Each step makes the change that gains most fit per unit of added distance: a node gets another split,
        becomes a leaf, or gets the subtree that grows there on the new rows.
        """
        trees = [self.refitted]
        while self.loss(trees[-1]) > tolerance and len(trees) <= MAX_STEPS:
            grafts = [(self.student, 1), *self._regrow(trees[-1])]
            problem = self._make_problem([self.student, trees[-1]], grafts)
            start = problem.measure(trees[-1])
            result = problem.step(start.nodes, self._make_search(problem).bounds(tolerance))
            if result.explained <= start.explained:
                break
            trees.append(self._build_tree(problem, result))
        return trees

    def find_nearest(self, tolerance: float, starts: Sequence[Tree]) -> Tree | None:
        """Find the tree nearest to the deployed one within the tolerance, by a search from each start."""
        within = [tree for tree in starts if self.loss(tree) <= tolerance and self._keeps_fixed(tree)]
        if not within:
            return None
        problem = self._make_problem([self.student, *starts])
        results = [problem.measure(tree) for tree in within]
        return self._build_tree(problem, self._make_search(problem).find_nearest(tolerance, results))

    def _make_problem(
        self, trees: Sequence[Tree], grafts: Sequence[tuple[Tree, int]] | None = None
    ) -> ConsensusProblem:
        return ConsensusProblem.of(
            self.task,
            [self.deployed],
            self.distances,
            more=[*trees, *self.more],
            grafts=grafts,
            fixed_paths=self.fixed_paths,
        )

    def _make_search(self, problem: ConsensusProblem) -> ConsensusSearch:
        min_rows = (1.0 if self.has_explicit_min else LEAST_SHARE) * self.task.min_rows
        return ConsensusSearch(problem, min_rows, problem.measure(self.student), ())

    def _build_tree(self, problem: ConsensusProblem, result: SearchResult) -> Tree:
        return self.task.refit([problem.splits.build_tree(result.nodes, result.n_leaves)])[0]

    def _keeps_fixed(self, tree: Tree) -> bool:
        """True if the fixed nodes have the splits of the deployed tree."""
        own, other = (number_paths(each) for each in (self.deployed, tree))
        return all(
            path in other and is_same_split(self.deployed, own[path], tree, other[path])
            for path in self.fixed_paths
        )

    def _regrow(self, tree: Tree) -> Iterator[tuple[Tree, int]]:
        """Grow subtrees at every node that may change: as large as before, one leaf larger, the largest."""
        task, max_leaves = self.task, max(self.student.n_leaves, self.deployed.n_leaves)
        max_depth = task.rules.max_depth
        leaf, size = tree.apply(task.table), subtree_sizes(tree)
        for path, node in number_paths(tree).items():
            below = (size[node] + 1) // 2
            depth = None if max_depth is None else max_depth - path.bit_length() + 1
            if path in self.fixed_paths or path > MOST_PATH or (depth is not None and depth < 1):
                continue
            sample = self.task.repeats * ((leaf >= node) & (leaf < node + size[node]))
            for n_leaves in sorted({below, below + 1, max_leaves - tree.n_leaves + below}):
                if 2 <= n_leaves <= max_leaves - tree.n_leaves + below and sample.any():
                    yield task.grow_part(sample.astype(np.int32), n_leaves, depth), path
