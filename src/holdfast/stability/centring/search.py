"""The tree that is nearest to the references among those that fit the teacher well enough."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

from holdfast.arrays import IntArray
from holdfast.backends.tasks import run_all
from holdfast.distance.settings import DistanceSettings
from holdfast.growth.first_splits import place_first_splits, read_first_splits
from holdfast.kernels.centring.problem import Bounds
from holdfast.stability.centring.problem import CentreProblem, Found
from holdfast.stability.centring.students import UNIT, Lesson
from holdfast.tree.tree import Tree

STARTS = 4  # the student, and the references of the lowest mean distance
LEAST_SHARE = 0.7  # of the rows in a leaf of a student: those of the central tree may have fewer


class TeacherFit(NamedTuple):
    """What trees explain of the teacher's squared answers: all that tells how much another one loses."""

    by_student: float
    by_mean: float  # a tree of a single leaf

    @property
    def gain(self) -> float:
        """What the student explains of the teacher's variance."""
        return self.by_student - self.by_mean

    def loss(self, explained: float) -> float:
        """The fraction of the gain that a tree loses which explains `explained` of the squared answers."""
        return (self.by_student - explained) / self.gain if self.gain > 0 else 0.0


@dataclass(frozen=True, eq=False)
class CentreSearch:
    """A student among its references, and the way to the tree in their midst."""

    problem: CentreProblem
    least_rows: float  # in a leaf
    student: Found
    references: tuple[Found, ...]
    prescribed: tuple[tuple[str, float], ...] = ()  # features and thresholds that stay as they are

    @classmethod
    def of(
        cls,
        lesson: Lesson,
        student: Tree,
        references: Sequence[Tree],
        repeats: IntArray,
        settings: DistanceSettings,
    ) -> "CentreSearch":
        """The search among the questions of the student and the references."""
        top = (
            []
            if lesson.rules.first_splits is None
            else read_first_splits(lesson.table.schema, lesson.rules.first_splits)
        )
        held = place_first_splits(top).values() if top else ()
        problem = CentreProblem.of(lesson, references, repeats, settings, more=[student], held=held)
        least_rows = LEAST_SHARE * lesson.rules.min_samples_leaf / lesson.n_copies
        first, *others = [problem.measured(tree) for tree in (student, *references)]
        as_written = tuple((split.feature.name, split.threshold) for split in top)
        return cls(problem, least_rows, first, tuple(others), as_written)

    def starts(self, tolerance: float, n_starts: int = STARTS) -> list[Found]:
        """The student, and the nearest references within the tolerance."""
        bounds = self.bounds(tolerance)
        within = [each for each in self.references if self._keeps_to(bounds, each)]
        return [self.student, *sorted(within, key=lambda each: each.distance)[: n_starts - 1]]

    def nearest(self, tolerance: float, starts: Sequence[Found], n_jobs: int | None = None) -> Found:
        """The nearest tree that a search from the starts finds, within the tolerance of the student's fit.

        The tolerance is a fraction of what the student explains of the teacher's variance. Of trees as near
        as each other the one that explains more is taken, then the one that was found first.
        """
        bounds = self.bounds(tolerance)
        found = run_all(partial(_searched, self.problem, bounds), starts, n_jobs, kept="Central trees")
        return min(found, key=lambda each: (each.distance, -each.explained))

    def loss(self, found: Found) -> float:
        """What a tree loses of the teacher's variance that the student explains, as a fraction."""
        return self.fit.loss(found.explained)

    @cached_property
    def fit(self) -> TeacherFit:
        """What the student explains of the teacher's answers, and what their mean does."""
        sums = self.problem.rows.answer.sum(axis=0)
        by_mean = float((sums**2).sum() * UNIT**2 / self.problem.rows.weight.sum())
        return TeacherFit(self.student.explained, by_mean)

    def bounds(self, tolerance: float) -> Bounds:
        """What a tree must keep to that may lose such a fraction of what the student explains."""
        square_sum = self.problem.square_sum
        allowed = tolerance * max(self.fit.gain, 0.0)
        # Rounding must not shut out the student itself.
        most_loss = square_sum - self.student.explained + allowed + 1e-12 * square_sum
        return Bounds(self.problem.most_leaves, self.least_rows, most_loss, square_sum, UNIT)

    def _keeps_to(self, bounds: Bounds, found: Found) -> bool:
        return (
            bounds.square_sum - found.explained <= bounds.most_loss and found.least_rows >= bounds.least_rows
        )


def _searched(problem: CentreProblem, bounds: Bounds, start: Found) -> Found:
    return problem.searched(start.nodes, bounds)
