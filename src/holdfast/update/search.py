"""The way from a deployed tree to one that fits new rows: step by step, and then back as far as it goes.

First come the steps that gain most fit to the teacher of the new rows per unit of distance from the deployed
tree, until the fit is within the tolerance of a freshly grown student's. Then the tree moves back towards the
deployed one, as far as it stays within that bound.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holdfast._arrays import FloatArray
from holdfast.distance.costs import DistanceSettings, fraction_of_range
from holdfast.kernels.consensus.problem import MOST_PATH
from holdfast.stable.consensus.prior import get_teacher_means
from holdfast.stable.consensus.search import LEAST_SHARE, ConsensusProblem, ConsensusSearch, SearchResult
from holdfast.stable.consensus.train import Taught
from holdfast.tree.rules import is_same_split, number_paths, subtree_sizes
from holdfast.tree.tree import Tree

MOST_STEPS = 24


@dataclass(frozen=True, eq=False)
class UpdateSearch:
    """A deployed tree, and what the teacher of the new rows says."""

    rows: Taught  # the teacher's predictions, weighed against those of the deployed tree
    deployed: Tree  # on the schema of the rows, as it is in use
    student: Tree  # freshly grown on the new rows
    distances: DistanceSettings
    more: tuple[Tree, ...] = ()  # trees whose questions may be asked as well
    held: frozenset[int] = frozenset()  # paths of nodes whose questions stay, and of all nodes above them
    is_least_given: bool = False  # the user has said how many rows a leaf must have

    @cached_property
    def refitted(self) -> Tree:
        """The deployed tree with the teacher's answers in its leaves."""
        return self.rows.lesson.refit([self.deployed])[0]

    # -- fit ------------------------------------------------------------------------------------------

    def loss(self, tree: Tree) -> float:
        """What the values of a tree lose of the teacher's variance that the student explains, as a fraction.

        Below 0 if it explains more than the student.
        """
        lost = self._squared_error(tree) - self._errors[0]
        return lost / self.learnt if self.learnt > 0 else 0.0

    @property
    def learnt(self) -> float:
        """What the student explains of the teacher's variance, as a sum of squares."""
        of_student, of_mean = self._errors
        return of_mean - of_student

    @cached_property
    def _errors(self) -> tuple[float, float]:
        """The squared error of the student, and that of the mean of all rows."""
        answers, weight = self._answers, self.rows.lesson.weight
        mean = np.average(answers, axis=0, weights=weight)
        return self._squared_error(self.student), float((weight[:, None] * (answers - mean) ** 2).sum())

    @cached_property
    def _answers(self) -> FloatArray:
        answers = self.rows.lesson.answers
        return answers[:, -1:] if answers.shape[1] <= 2 else answers

    def _squared_error(self, tree: Tree) -> float:
        lesson, target = self.rows.lesson, tree.schema.target
        said = get_teacher_means(tree)[tree.apply(lesson.table)]
        if not target.is_classes:
            is_spread = target.low < target.high
            said = fraction_of_range(said, target.low, target.low, target.high) if is_spread else 0.0 * said
        said = said[:, -1:] if said.shape[1] <= 2 else said
        return float((lesson.weight[:, None] * (self._answers - said) ** 2).sum())

    # -- the way there --------------------------------------------------------------------------------

    def steps(self, tolerance: float) -> list[Tree]:
        """The refitted tree, and the tree after each step, until one is within the tolerance.

        Each step makes the move that gains most fit per unit of added distance: a node asks another
        question, becomes a leaf, or gets the subtree that grows there on the new rows.
        """
        trees = [self.refitted]
        while self.loss(trees[-1]) > tolerance and len(trees) <= MOST_STEPS:
            grafts = [(self.student, 1), *self._regrown(trees[-1])]
            problem = self._problem([self.student, trees[-1]], grafts)
            search = self._search(problem)
            start = problem.measured(trees[-1])
            found = problem.stepped(start.nodes, search.bounds(tolerance))
            if found.explained <= start.explained:
                break
            trees.append(self._tree(problem, found))
        return trees

    def nearest(self, tolerance: float, starts: Sequence[Tree]) -> Tree | None:
        """The tree nearest to the deployed one that a search from the starts finds within the tolerance."""
        within = [tree for tree in starts if self.loss(tree) <= tolerance and self._has_held(tree)]
        if not within:
            return None
        problem = self._problem([self.student, *starts])
        found = self._search(problem).nearest(tolerance, [problem.measured(tree) for tree in within])
        return self._tree(problem, found)

    def _problem(
        self, trees: Sequence[Tree], grafts: Sequence[tuple[Tree, int]] | None = None
    ) -> ConsensusProblem:
        lesson, repeats = self.rows.lesson, self.rows.repeats
        return ConsensusProblem.of(
            lesson,
            [self.deployed],
            repeats,
            self.distances,
            more=[*trees, *self.more],
            grafts=grafts,
            held=self.held,
        )

    def _search(self, problem: ConsensusProblem) -> ConsensusSearch:
        share = 1.0 if self.is_least_given else LEAST_SHARE
        least_rows = share * self.rows.lesson.least_rows
        return ConsensusSearch(problem, least_rows, problem.measured(self.student), ())

    def _tree(self, problem: ConsensusProblem, found: SearchResult) -> Tree:
        return self.rows.lesson.refit([problem.questions.tree_of(found.nodes, found.n_leaves)])[0]

    def _has_held(self, tree: Tree) -> bool:
        """True if the nodes that are held ask what they asked in the deployed tree."""
        own, other = (number_paths(each) for each in (self.deployed, tree))
        return all(
            path in other and is_same_split(self.deployed, own[path], tree, other[path]) for path in self.held
        )

    def _regrown(self, tree: Tree) -> Iterator[tuple[Tree, int]]:
        """For every node that may change, what grows there: as large as before, by one, or the largest."""
        lesson, most = self.rows.lesson, max(self.student.n_leaves, self.deployed.n_leaves)
        leaf, size = tree.apply(lesson.table), subtree_sizes(tree)
        for path, node in number_paths(tree).items():
            below = (size[node] + 1) // 2
            deepest = (
                None if lesson.rules.max_depth is None else lesson.rules.max_depth - path.bit_length() + 1
            )
            if path in self.held or path > MOST_PATH or (deepest is not None and deepest < 1):
                continue
            sample = self.rows.repeats * ((leaf >= node) & (leaf < node + size[node]))
            for n_leaves in sorted({below, below + 1, most - tree.n_leaves + below}):
                if 2 <= n_leaves <= most - tree.n_leaves + below and sample.any():
                    yield lesson.grow_parts([sample.astype(np.int32)], n_leaves, deepest)[0], path
