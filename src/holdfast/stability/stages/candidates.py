"""The trees that a sequence is chosen from: structures that some stage suggests, with values for every stage.

A structure is a tree's questions. It can serve any stage: its leaves then have the values of that stage's
teacher, so that one structure in two stages is hardly any distance apart. Where a stage has no rows, the tree
of the stage before stays: a structure may follow another only if both ask the same there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, LongArray
from holdfast.distance.distances import distances_between
from holdfast.distance.settings import DistanceSettings
from holdfast.growth.rounding import round_exactly
from holdfast.stability.methods.centred import distance_settings
from holdfast.stability.settings import StabilitySettings
from holdfast.stability.stages.lesson import StageLesson
from holdfast.stability.stages.path import shortest_path
from holdfast.stability.stages.sequence import PathPoint
from holdfast.stability.update.path import SLACK
from holdfast.tree.tree import Tree

FIRST_TREE = 0  # the number of its structure: it is the first that is suggested
WEIGHTS = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # of the curve
N_REFERENCES = 3  # of a stage: the bootstrap students that lie nearest to its centred trees


@dataclass(frozen=True, eq=False)
class Candidates:
    """Every structure with the values of every stage, what it loses there, and all distances."""

    trees: tuple[tuple[Tree, ...], ...]  # of each stage, all structures
    origin: LongArray  # of each structure: the stage that first suggested it
    losses: FloatArray  # (stages, structures)
    distances: tuple[FloatArray, ...]  # from the trees of one stage to those of the next
    settings: DistanceSettings
    tolerance: float | None
    regions: LongArray  # (stages, structures): those with one number ask the same where the stage has no rows
    lessons: tuple[StageLesson, ...] = ()

    @classmethod
    def of(
        cls,
        lessons: Sequence[StageLesson],
        suggested: Sequence[Sequence[Tree]],
        tolerance: float | None,
    ) -> "Candidates":
        """The structures that the stages suggest, each once."""
        structures, origin = _distinct(suggested)
        settings = lessons[0].settings
        distances = distance_settings(settings, structures)
        trees = [tuple(lesson.delivered(structures)) for lesson in lessons]
        regions = [[lesson.region_without_rows(tree) for tree in structures] for lesson in lessons]
        return cls(
            tuple(trees),
            np.array(origin, np.int64),
            np.stack([lesson.losses(structures) for lesson in lessons]),
            tuple(_links(_carried(trees, lessons), distances, settings)),
            distances,
            tolerance,
            np.array([[each.index(region) for region in each] for each in regions], np.int64),
            tuple(lessons),
        )

    def known(self, last: int, *, hindsight: bool) -> BoolArray:
        """(stages, structures) what may be used at each stage once the stage `last` is there.

        Structures of that stage or earlier ones; or, in hindsight, of all stages up to the last.
        """
        stage = np.arange(len(self.losses))[:, None]
        latest = np.full_like(stage, last) if hindsight else np.minimum(stage, last)
        allowed = self.origin[None, :] <= latest
        allowed[0] &= self.regions[0] == self.regions[0, FIRST_TREE]
        if self.tolerance is not None:
            # Never less than the least loss of those that may follow each other: something must be allowed.
            losses = np.where(allowed, self.losses, np.inf)
            least = [
                [own[region == each].min() for each in region.tolist()]
                for own, region in zip(losses, self.regions, strict=True)
            ]
            allowed = allowed & (self.losses <= np.maximum(least, self.tolerance) + SLACK)
        return np.asarray(allowed, np.bool_)

    @property
    def _possible(self) -> list[BoolArray]:
        """(structures, structures) of each stage but the first: which structure may follow which."""
        return [np.equal.outer(region, region) for region in self.regions[1:]]

    # -- sequences ------------------------------------------------------------------------------------

    def path(self, weight: float, *, hindsight: bool) -> PathPoint:
        """The sequence that loses and moves least, if movement has this weight."""
        n_stages = len(self.losses)
        known = self.known(n_stages - 1, hindsight=hindsight)
        path = shortest_path(self.losses, self.distances, weight, known, self._possible)
        moves = [float(links[pair]) for links, pair in zip(self.distances, pairwise(path), strict=True)]
        lost = [float(self.losses[stage, structure]) for stage, structure in enumerate(path)]
        return PathPoint(weight, fsum(lost), fsum(moves), tuple(path))

    def curve(self, weight: float, *, hindsight: bool) -> tuple[PathPoint, ...]:
        """The sequences of several weights, this one among them."""
        return tuple(self.path(each, hindsight=hindsight) for each in sorted({*WEIGHTS, weight}))

    def step_by_step(self, weight: float) -> list[int]:
        """Structures, each chosen when its stage came: the one before is in use, and none later is known."""
        chosen = [FIRST_TREE]
        for stage in range(1, len(self.losses)):
            allowed = self.known(stage, hindsight=False)[stage - 1 : stage + 1]
            allowed[0] = np.arange(allowed.shape[1]) == chosen[-1]
            losses, links = self.losses[stage - 1 : stage + 1], self.distances[stage - 1 : stage]
            possible = self._possible[stage - 1 : stage]
            chosen.append(shortest_path(losses, links, weight, allowed, possible)[-1])
        return chosen

    def subset(self, structures: Sequence[int]) -> tuple[list[Tree], list[float]]:
        """The trees of a sequence, and what each of them loses."""
        trees = [self.trees[stage][structure] for stage, structure in enumerate(structures)]
        for stage, lesson in enumerate(self.lessons[1:], 1):
            trees[stage] = lesson.carry_over(trees[stage], trees[stage - 1])
        return trees, [float(self.losses[stage, place]) for stage, place in enumerate(structures)]


def suggestions(lesson: StageLesson) -> list[Tree]:
    """The structures of one stage: the student, the trees amid the references, and the nearest of these."""
    centred = lesson.centred
    middle = centred.trees[-1]
    distances = distance_settings(lesson.settings, [middle, *centred.references])
    away = distances_between(centred.references, [middle], distances)[:, 0]
    nearest = np.argsort(away, kind="stable")[:N_REFERENCES]
    others = [lesson.student, *(centred.references[int(place)] for place in nearest)]
    return [*centred.trees, *(round_exactly(tree, lesson.learnt.table) for tree in others)]


def _carried(trees: Sequence[Sequence[Tree]], lessons: Sequence[StageLesson]) -> Iterator[tuple[Tree, ...]]:
    """The trees of each stage; where it has no rows, with the values of the same structure a stage before."""
    before: tuple[Tree, ...] = ()
    for lesson, own in zip(lessons, trees, strict=True):
        pairs = zip(own, before or own, strict=True)
        before = tuple(lesson.carry_over(tree, old) if before else tree for tree, old in pairs)
        yield before


def _links(
    trees: Iterator[tuple[Tree, ...]], distances: DistanceSettings, settings: StabilitySettings
) -> Iterator[FloatArray]:
    for before, after in pairwise(trees):
        yield distances_between(before, after, distances, n_jobs=settings.n_jobs)


def _distinct(suggested: Sequence[Sequence[Tree]]) -> tuple[list[Tree], list[int]]:
    """The structures, no two of which ask the same, and the stage that each comes from."""
    known: dict[bytes, tuple[Tree, int]] = {}
    for stage, trees in enumerate(suggested):
        for tree in trees:
            parts = (tree.feature, tree.threshold, tree.left, tree.missing_left, tree.set_start, tree.in_set)
            known.setdefault(b"|".join(part.tobytes() for part in parts), (tree, stage))
    return [tree for tree, _ in known.values()], [stage for _, stage in known.values()]
