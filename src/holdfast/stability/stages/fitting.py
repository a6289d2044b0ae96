"""A tree carried through stages: update by update, or the whole sequence as a shortest path."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import nan
from typing import NamedTuple

from holdfast.backends.progress import show_progress
from holdfast.errors import ParameterError
from holdfast.scoring.metric import make_metric
from holdfast.stability.choice import SelectionRule
from holdfast.stability.methods.centred import distance_settings
from holdfast.stability.settings import StabilitySettings
from holdfast.stability.stages.candidates import Candidates, suggestions
from holdfast.stability.stages.lesson import First, InUse, StageLesson, first_tree, retrained
from holdfast.stability.stages.names import SHORTEST_PATH
from holdfast.stability.stages.record import Record
from holdfast.stability.stages.rows import StageRows
from holdfast.stability.stages.sequence import StageSequence
from holdfast.stability.stages.settings import StageSettings
from holdfast.stability.training import StableTrees
from holdfast.stability.update.path import Point, with_room
from holdfast.stability.update.settings import UpdateSettings, usual_prior
from holdfast.tree.tree import Tree


class Carried(NamedTuple):
    """A sequence, what the fit of the first stage has left, and the rows that the last tree stands for."""

    sequence: StageSequence
    trained: StableTrees
    n_behind: float


class Step(NamedTuple):
    """One stage of a sequence of updates."""

    lesson: StageLesson
    used: InUse  # once it is updated
    path: list[Point]  # the points that could have been taken


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
    settings = first.trained.settle(settings)
    steps: list[Step] = []
    fresh: list[Tree] = []
    suggested: list[list[Tree]] = []
    for step in _updates(first, rows, settings, stages):
        steps.append(step)
        if stages.strategy == SHORTEST_PATH and rows.n_stages > 1:
            suggested.append([*(point.tree for point in step.path), *suggestions(step.lesson)])
        if stages.compare:
            is_first = step.lesson.number == 0
            fresh.append(first.tree if is_first else retrained(step.lesson, rows, stages, rule))
    sequence = _sequence(steps, suggested, fresh, rows, stages)
    n_behind = float(rows.table.n_rows) if suggested else steps[-1].used.n_behind
    return Carried(sequence, first.trained, n_behind)


def _updates(
    first: First, rows: StageRows, settings: StabilitySettings, stages: StageSettings
) -> Iterator[Step]:
    """The first tree, and at each stage the update of the one before, as calls of `update` would give it."""
    room = with_room(replace(settings, verbose=False), first.tree)
    numbers: Iterable[int] = range(rows.n_stages)
    if settings.verbose:
        numbers = show_progress(numbers, "Stages", rows.n_stages)
    used = InUse(first.tree, first.loss, rows.size(0, stages))
    for number in numbers:
        lesson = StageLesson(number, rows.learnt(number, stages), rows.size(number, stages), room)
        path = [Point("first", first.tree, first.loss, 0.0)]
        if number:
            n_again = rows.size(number - 1, stages) if stages.memory == "all" else 0.0
            prior = (
                usual_prior(used.n_behind, n_again) if stages.prior_rows is None else float(stages.prior_rows)
            )
            more = first.references if number == 1 else ()
            carried = None if stages.prior_rows is not None else max(used.n_behind - n_again, 0.0)
            how = UpdateSettings(
                tolerance=stages.update_tolerance, validation=None, prior_rows=prior, carried=carried
            )
            used, path = lesson.update(used, how, more)
        yield Step(lesson, used, path)


def _sequence(
    steps: list[Step],
    suggested: list[list[Tree]],
    fresh: list[Tree],
    rows: StageRows,
    stages: StageSettings,
) -> StageSequence:
    """The sequence of updates, or, of what the stages suggest, the shortest path."""
    lessons, trees = [step.lesson for step in steps], [step.used.tree for step in steps]
    settings = lessons[0].settings
    found = Candidates.of(lessons, suggested, stages.tolerance) if suggested else None
    distances = distance_settings(settings, [*trees, *fresh]) if found is None else found.settings
    record = Record(rows, stages, make_metric(settings.scoring, rows.table.schema.target), distances)
    if found is None:
        told = then = record.stages(trees, [steps[0].used.loss, *_losses(lessons[1:], trees[1:])])
    else:
        path = found.path(stages.weight, hindsight=stages.hindsight)
        told = record.stages(*found.subset(path.structures))
        told = tuple(replace(stage, forward_score=nan, forward_error=nan) for stage in told)
        then = record.stages(*found.subset(found.step_by_step(stages.weight)))
    return StageSequence(
        stages=told,
        then=then,
        retrained=record.stages(fresh, _losses(lessons, fresh)) if fresh else (),
        curve=() if found is None else found.curve(stages.weight, hindsight=stages.hindsight),
        settings=stages,
        metric=record.metric,
        distance_settings=distances,
    )


def _losses(lessons: list[StageLesson], trees: list[Tree]) -> list[float]:
    return [float(lesson.losses([tree])[0]) for lesson, tree in zip(lessons, trees, strict=True)]
