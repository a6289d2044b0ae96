"""A tree carried through stages: update by update, or the whole sequence as a shortest path."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import NamedTuple

import numpy as np

from holdfast.backends.progress import with_bar
from holdfast.data.table import Table
from holdfast.distance.diff.crossings import Crossings
from holdfast.distance.distances import distances_between
from holdfast.distance.settings import DistanceSettings
from holdfast.errors import ParameterError
from holdfast.scoring.metric import Metric, TrueValues, metric_of
from holdfast.scoring.predictions import predictions_for
from holdfast.stability.choice import SelectionRule
from holdfast.stability.methods.centred import distance_settings
from holdfast.stability.settings import StabilitySettings
from holdfast.stability.stages.candidates import Candidates, suggestions
from holdfast.stability.stages.lesson import First, StageLesson, first_tree, retrained
from holdfast.stability.stages.names import SHORTEST_PATH
from holdfast.stability.stages.path import shortest_path
from holdfast.stability.stages.rows import StageRows
from holdfast.stability.stages.sequence import FIRST, PathPoint, Stage, StageSequence, kind_of
from holdfast.stability.stages.settings import StageSettings
from holdfast.tree.tree import Tree

FIRST_TREE = 0  # the number of its structure: it is the first that is suggested
WEIGHTS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # of the curve


class Carried(NamedTuple):
    """A sequence, and what the fit of the first stage has left."""

    sequence: StageSequence
    first: First


def carry_through(
    rows: StageRows, settings: StabilitySettings, stages: StageSettings, rule: SelectionRule
) -> Carried:
    """One tree for every stage.

    The first is the one that an ordinary fit to the first stage gives, by the selection rule, unless the
    shortest path begins with another. What a stage's tree asks and says comes from rows of that stage and
    before, but for the ranges of the columns, which are those of all rows; in hindsight, what it asks may
    come from later ones.
    """
    if stages.strict_groups and rows.groups is None:
        raise ParameterError("strict_groups=True needs groups=, which say what rows belong together.")
    first = first_tree(rows, settings, stages, rule)
    quiet = replace(settings, verbose=False)
    lessons = _lessons(rows, quiet, stages, settings.verbose)
    updates = _Updates(first, stages.update_tolerance)
    fresh: list[Tree] = []
    suggested: list[list[Tree]] = []
    kept: list[StageLesson] = []
    for lesson in lessons:
        points = updates.add(lesson)
        kept.append(lesson)
        if stages.how == SHORTEST_PATH and rows.n_stages > 1:
            suggested.append([*points, *suggestions(lesson)])
        if stages.compare:
            fresh.append(first.tree if lesson.number == 0 else retrained(lesson, rows, stages, rule))
    record = _Record(rows, kept, stages, metric_of(settings.scoring, rows.table.schema.target))
    if suggested:
        found = Candidates.of(kept, suggested, stages.tolerance)
        return Carried(_chosen(found, record, fresh), first)
    distances = distance_settings(settings, [*updates.trees, *fresh])
    told = record.stages(updates.trees, updates.losses, distances)
    return Carried(record.sequence(told, told, fresh, (), distances), first)


def _lessons(
    rows: StageRows, settings: StabilitySettings, stages: StageSettings, verbose: bool
) -> Iterable[StageLesson]:
    numbers = range(rows.n_stages)
    found = (StageLesson(number, rows.learnt(number, stages), settings) for number in numbers)
    return with_bar(found, "Stages", rows.n_stages) if verbose else found


class _Updates:
    """The first tree, and at each stage the update of the tree before."""

    def __init__(self, first: First, tolerance: float) -> None:
        self.trees, self.losses = [first.tree], [first.loss]
        self._tolerance = tolerance

    def add(self, lesson: StageLesson) -> list[Tree]:
        """Go on by a stage; what comes back are all trees that were on the way."""
        if lesson.number == 0:
            return [self.trees[0]]
        taken, path = lesson.update(self.trees[-1], self.losses[-1], self._tolerance)
        self.trees.append(taken.tree)
        self.losses.append(taken.loss)
        return [point.tree for point in path]


# -- the shortest path --------------------------------------------------------------------------------------


def _chosen(found: Candidates, record: "_Record", fresh: list[Tree]) -> StageSequence:
    """The shortest path over all stages, that of other weights, and what is decided without later stages."""
    stages = record.settings
    curve = tuple(_point(found, weight, stages.hindsight) for weight in sorted({*WEIGHTS, stages.weight}))
    path = next(point.structures for point in curve if point.movement_weight == stages.weight)
    decided = _step_by_step(found, stages.weight)
    told = record.stages(*_taken(found, path), found.settings)
    then = record.stages(*_taken(found, decided), found.settings)
    told = [replace(stage, forward_score=nan, forward_error=nan) for stage in told]
    return record.sequence(told, then, fresh, curve, found.settings)


def _step_by_step(found: Candidates, weight: float) -> list[int]:
    """The structures, each chosen when its stage came: the one before is in use, and none later is known."""
    chosen = [FIRST_TREE]
    for stage in range(1, len(found.losses)):
        allowed = found.known(stage, hindsight=False)[stage - 1 : stage + 1]
        allowed[0] = np.arange(allowed.shape[1]) == chosen[-1]
        losses, links = found.losses[stage - 1 : stage + 1], found.distances[stage - 1 : stage]
        chosen.append(shortest_path(losses, links, weight, allowed)[-1])
    return chosen


def _point(found: Candidates, weight: float, hindsight: bool) -> PathPoint:
    n_stages = len(found.losses)
    known = found.known(n_stages - 1, hindsight=hindsight)
    path = shortest_path(found.losses, found.distances, weight, known)
    moves = (each[one, other] for each, one, other in zip(found.distances, path[:-1], path[1:], strict=True))
    return PathPoint(
        weight, float(found.losses[np.arange(n_stages), path].sum()), float(sum(moves)), tuple(path)
    )


def _taken(found: Candidates, path: Sequence[int]) -> tuple[list[Tree], list[float]]:
    trees = [found.trees[stage][structure] for stage, structure in enumerate(path)]
    return trees, [float(found.losses[stage, structure]) for stage, structure in enumerate(path)]


# -- what is known of a sequence ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Record:
    """What the trees of a sequence are tried on."""

    rows: StageRows
    lessons: Sequence[StageLesson]
    settings: StageSettings
    metric: Metric

    def sequence(
        self,
        told: list[Stage],
        then: list[Stage],
        fresh: list[Tree],
        curve: tuple[PathPoint, ...],
        distances: DistanceSettings,
    ) -> StageSequence:
        """The sequence, with that of the trees that were trained anew."""
        losses = [float(lesson.losses([tree])[0]) for lesson, tree in zip(self.lessons, fresh, strict=False)]
        stages = tuple(told)
        return StageSequence(
            stages=stages,
            then=stages if then is told else tuple(then),
            retrained=tuple(self.stages(fresh, losses, distances)) if fresh else (),
            curve=curve,
            settings=self.settings,
            metric=self.metric,
            distance_settings=distances,
        )

    def stages(
        self, trees: Sequence[Tree], losses: Sequence[float], distances: DistanceSettings
    ) -> list[Stage]:
        """The stages of a sequence of trees, one for each."""
        return [self._stage(number, trees, losses[number], distances) for number in range(len(trees))]

    def _stage(self, number: int, trees: Sequence[Tree], loss: float, distances: DistanceSettings) -> Stage:
        own, tree = self.rows.own(number).table, trees[number]
        kind, away, churn, flips = FIRST, nan, nan, nan
        if number:
            before = trees[number - 1]
            kind = kind_of(before, tree)
            churn, flips = _changed_answers(before, tree, own)
            away = float(distances_between([before], [tree], distances)[0, 0])
        score, error, n_forward = self._forward(number, tree)
        return Stage(
            label=self.rows.labels[number],
            n_rows=int((self.rows.stage == number).sum()),
            n_learnt=int(self.rows.is_learnt(number, self.settings).sum()),
            tree=tree,
            kind=kind,
            distance=away,
            loss=loss,
            churn=churn,
            flips=flips,
            forward_score=score,
            forward_error=error,
            n_forward=n_forward,
        )

    def _forward(self, number: int, tree: Tree) -> tuple[float, float, int]:
        """The score on the next stage, its error, and the rows; NaN where there are none that can tell."""
        found = self.rows.next(number, self.settings)
        if found is None or len(np.unique(found.table.target)) < self.metric.least_values:
            return nan, nan, 0
        true_values = TrueValues.of(found.table, found.groups)
        score = self.metric.score(predictions_for(self.metric, tree, found.table), true_values)
        return score.value, score.error, found.table.n_rows


def _changed_answers(before: Tree, after: Tree, table: Table) -> tuple[float, float]:
    """The mean change of the answers, of numbers in standard deviations of the target, and the flips."""
    crossings = Crossings.of(before, after, table)
    if before.schema.target.is_classes:
        return crossings.mean(crossings.moved), crossings.mean(crossings.flipped)
    mean = np.average(table.target, weights=crossings.row_weight)
    spread = float(np.sqrt(np.average((table.target - mean) ** 2, weights=crossings.row_weight)))
    return crossings.mean(crossings.moved) / (spread or 1.0), nan
