"""A tree carried through stages: update by update, or the whole sequence as a shortest path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import ceil, fsum, log2, nan
from typing import NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, LongArray, round_last_digits
from holdfast._choices import SHORTEST_PATH
from holdfast.data.table import Table
from holdfast.distance.costs import DistanceSettings
from holdfast.distance.diff_rows import Crossings
from holdfast.distance.distance import distances_between
from holdfast.errors import ParameterError
from holdfast.growth.rounding import round_exactly
from holdfast.parallel.progress import show_progress
from holdfast.scoring.metric import Metric, TrueValues, make_metric, predict_for_metric
from holdfast.stable.consensus.prior import Prior
from holdfast.stable.consensus.train import (
    ConsensusTrees,
    Taught,
    chosen_tolerance,
    distance_settings,
    fit_leaf_values,
    make_task,
    predict_teacher,
    search_consensus_trees,
)
from holdfast.stable.selection import SelectionRule, choose
from holdfast.stable.settings import StabilitySettings
from holdfast.stable.train import StableTrees, train
from holdfast.tree.recorded import set_recorded
from holdfast.tree.rules import find_paths_above, number_paths, split_key
from holdfast.tree.tree import LEAF, Tree
from holdfast.update.path import (
    KEEP,
    SLACK,
    UpdateContext,
    UpdateOption,
    allowed_loss,
    choose_option,
    make_update_path,
    raise_limits,
)
from holdfast.update.search import UpdateSearch
from holdfast.update.sequence import (
    FIRST,
    PathPoint,
    RowsLearnt,
    Stage,
    StageRows,
    StageSequence,
    StageSettings,
    classify_change,
)
from holdfast.update.settings import UpdateSettings, default_prior_rows


class SequenceFit(NamedTuple):
    """A sequence, what the fit of the first stage has left, and the rows that the last tree stands for."""

    sequence: StageSequence
    trained: StableTrees
    n_behind: float


class Step(NamedTuple):
    """One stage of a sequence of updates."""

    lesson: StageData
    used: CurrentTree  # once it is updated
    path: list[UpdateOption]  # the points that could have been taken


def fit_sequence(
    rows: StageRows, settings: StabilitySettings, stages: StageSettings, rule: SelectionRule
) -> SequenceFit:
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
            suggested.append([*(point.tree for point in step.path), *suggest_structures(step.lesson)])
        if stages.compare:
            is_first = step.lesson.number == 0
            fresh.append(first.tree if is_first else retrained(step.lesson, rows, stages, rule))
    sequence = _sequence(steps, suggested, fresh, rows, stages)
    n_behind = float(rows.table.n_rows) if suggested else steps[-1].used.n_behind
    return SequenceFit(sequence, first.trained, n_behind)


def _updates(
    first: InitialFit, rows: StageRows, settings: StabilitySettings, stages: StageSettings
) -> Iterator[Step]:
    """The first tree, and at each stage the update of the one before, as calls of `update` would give it."""
    room = raise_limits(replace(settings, verbose=False), first.tree)
    numbers: Iterable[int] = range(rows.n_stages)
    if settings.verbose:
        numbers = show_progress(numbers, "Stages", rows.n_stages)
    used = CurrentTree(first.tree, first.loss, rows.size(0, stages))
    for number in numbers:
        lesson = StageData(number, rows.learnt(number, stages), rows.size(number, stages), room)
        path = [UpdateOption("first", first.tree, first.loss, 0.0)]
        if number:
            n_again = rows.size(number - 1, stages) if stages.memory == "all" else 0.0
            prior = (
                default_prior_rows(used.n_behind, n_again)
                if stages.prior_rows is None
                else float(stages.prior_rows)
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
    found = SequenceCandidates.of(lessons, suggested, stages.tolerance) if suggested else None
    distances = distance_settings(settings, [*trees, *fresh]) if found is None else found.settings
    record = StageScorer(rows, stages, make_metric(settings.scoring, rows.table.schema.target), distances)
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


def _losses(lessons: list[StageData], trees: list[Tree]) -> list[float]:
    return [float(lesson.losses([tree])[0]) for lesson, tree in zip(lessons, trees, strict=True)]


# -- What one stage teaches ----------------------------------------------------------------------------------


class CurrentTree(NamedTuple):
    """A tree in use."""

    tree: Tree
    loss: float  # on the rows that it learnt from
    n_behind: float  # rows that it stands for


@dataclass(frozen=True, eq=False)
class StageData:
    """The rows that a stage learns from, and what their teacher has to say, once it is asked."""

    number: int
    learnt: RowsLearnt
    n_rows: float  # that those learnt from are worth
    settings: StabilitySettings

    @cached_property
    def answers(self) -> FloatArray:
        """What the teacher says of the rows."""
        return predict_teacher(self.learnt.table, self.learnt.groups, self.settings)

    @cached_property
    def rows(self) -> Taught:
        """What is to be learnt from that."""
        return make_task(self.learnt.table, self.answers, self.settings)

    @cached_property
    def student(self) -> Tree:
        """The tree that is freshly grown on what the teacher says."""
        return self.rows.lesson.grow(self.rows.repeats)

    @cached_property
    def consensus(self) -> ConsensusTrees:
        """The trees amid the bootstrap students, one for each tolerance."""
        return search_consensus_trees(self.rows, self.learnt.groups, self.settings)

    def losses(self, trees: Sequence[Tree]) -> FloatArray:
        """What the trees lose of the teacher's variance that the student explains, with new leaf values."""
        distances = distance_settings(self.settings, [self.student])
        search = UpdateSearch(self.rows, self.student, self.student, distances)
        losses = [search.loss(tree) for tree in self.rows.lesson.refit(list(trees))]
        return round_last_digits(np.array(losses))

    def fit_leaf_values(self, trees: Sequence[Tree]) -> list[Tree]:
        """The trees with the leaf values of this stage."""
        return fit_leaf_values(list(trees), self.rows, self.settings)

    def region_without_rows(self, tree: Tree) -> tuple[object, ...]:
        """The leaves of a tree that no row of the stage reaches, with all questions above them."""
        n_rows = np.bincount(tree.apply(self.rows.lesson.table), self.rows.repeats, tree.n_nodes)
        empty = np.flatnonzero((tree.feature == LEAF) & (n_rows == 0)).tolist()
        node_at = number_paths(tree)
        return tuple((path, split_key(tree, node_at[path])) for path in sorted(find_paths_above(tree, empty)))

    def carry_over(self, tree: Tree, before: Tree) -> Tree:
        """A tree with the leaf values of this stage, and those of the tree before where there are no rows."""
        if not self.region_without_rows(tree):
            return tree
        table, by_teacher = self.rows.lesson.table, self.settings.is_taught
        unchanged = np.ones(before.n_nodes)
        return Prior(before, 0.0, 0.0).add_to(
            tree, table, self.rows.repeats, unchanged, by_teacher=by_teacher
        )

    def update(
        self, used: CurrentTree, update: UpdateSettings, more: tuple[Tree, ...]
    ) -> tuple[CurrentTree, list[UpdateOption]]:
        """The tree that an update of the one in use takes, and all points of the path to it."""
        distances = distance_settings(self.settings, [used.tree])
        own_loss = allowed_loss(used.loss, self.n_rows, update.prior_rows)
        context = UpdateContext(self.settings, update, distances, more, own_loss)
        path = make_update_path(used.tree, self.learnt.table, self.learnt.groups, self.answers, context)
        taken = path.points[choose_option(path, context)]
        is_kept = taken.kind == KEEP
        return CurrentTree(taken.tree, taken.loss, used.n_behind if is_kept else path.n_behind), path.points


# -- trees that know nothing of other stages ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class InitialFit:
    """The tree of the first stage, as an ordinary fit gives it."""

    trained: StableTrees
    tree: Tree
    loss: float  # on its own rows
    references: tuple[Tree, ...]


def first_tree(
    rows: StageRows, settings: StabilitySettings, stages: StageSettings, rule: SelectionRule
) -> InitialFit:
    """The stable tree of the first stage."""
    trained, candidate = _trained(rows, 0, settings, stages, rule)
    losses, references = trained.frontier.teacher_loss, trained.references_of(candidate)
    loss = 0.0 if losses is None else float(losses[candidate])
    return InitialFit(trained, trained.candidates.trees[candidate], loss, references.trees)


def retrained(lesson: StageData, rows: StageRows, stages: StageSettings, rule: SelectionRule) -> Tree:
    """The stable tree of a stage that knows nothing of the trees before it."""
    settings = lesson.settings
    is_usual = rule.selection_rule == "within-tolerance" and rule.tolerance_unit in (None, "teacher")
    if settings.method == "consensus" and is_usual:  # the trees are known already
        place = lesson.consensus.tolerances.index(chosen_tolerance(settings))
        return lesson.consensus.trees[place]
    trained, candidate = _trained(rows, lesson.number, settings, stages, rule)
    return trained.candidates.trees[candidate]


def _trained(
    rows: StageRows, number: int, settings: StabilitySettings, stages: StageSettings, rule: SelectionRule
) -> tuple[StableTrees, int]:
    table, groups = rows.raw(number, stages)
    trained = train(table, settings, groups=groups)
    return trained, choose(trained.frontier, trained.metric, rule).candidate


# -- The trees that a sequence is chosen from ----------------------------------------------------------------

FIRST_TREE = 0  # the number of its structure: it is the first that is suggested
WEIGHTS = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # of the curve
N_REFERENCES = 3  # of a stage: the bootstrap students that lie nearest to its consensus trees


@dataclass(frozen=True, eq=False)
class SequenceCandidates:
    """Every structure with the values of every stage, what it loses there, and all distances."""

    trees: tuple[tuple[Tree, ...], ...]  # of each stage, all structures
    origin: LongArray  # of each structure: the stage that first suggested it
    losses: FloatArray  # (stages, structures)
    distances: tuple[FloatArray, ...]  # from the trees of one stage to those of the next
    settings: DistanceSettings
    tolerance: float | None
    regions: LongArray  # (stages, structures): those with one number ask the same where the stage has no rows
    lessons: tuple[StageData, ...] = ()

    @classmethod
    def of(
        cls,
        lessons: Sequence[StageData],
        suggested: Sequence[Sequence[Tree]],
        tolerance: float | None,
    ) -> SequenceCandidates:
        """The structures that the stages suggest, each once."""
        structures, origin = _distinct(suggested)
        settings = lessons[0].settings
        distances = distance_settings(settings, structures)
        trees = [tuple(lesson.fit_leaf_values(structures)) for lesson in lessons]
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


def suggest_structures(lesson: StageData) -> list[Tree]:
    """The structures of one stage: the student, the trees amid the references, and the nearest of these."""
    consensus = lesson.consensus
    middle = consensus.trees[-1]
    distances = distance_settings(lesson.settings, [middle, *consensus.references])
    away = distances_between(consensus.references, [middle], distances)[:, 0]
    nearest = np.argsort(away, kind="stable")[:N_REFERENCES]
    others = [lesson.student, *(consensus.references[int(place)] for place in nearest)]
    return [*consensus.trees, *(round_exactly(tree, lesson.learnt.table) for tree in others)]


def _carried(trees: Sequence[Sequence[Tree]], lessons: Sequence[StageData]) -> Iterator[tuple[Tree, ...]]:
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


# -- The sequence of candidates, one for each stage, that loses and moves least ------------------------------

DIGITS = 52  # binary ones of the greatest total: sums of whole numbers are exact, so that ties are ties
NEVER = 2**60  # longer than any path


def shortest_path(
    losses: FloatArray,
    distances: Sequence[FloatArray],
    weight: float,
    allowed: BoolArray,
    possible: Sequence[BoolArray] | None = None,
) -> list[int]:
    """The candidate of every stage.

    `losses` and `allowed` are (stages, candidates), `distances[s]` is from the candidates of stage s to those
    of the next, and `possible[s]` tells which of these links may be used; None: all. Of sequences equally
    long that which moves less comes first, then that with the lowest numbers, from the last stage back.

    >>> losses, near = np.array([[0.0, 0.1], [0.3, 0.0]]), np.array([[0.0, 5.0], [5.0, 0.0]])
    >>> shortest_path(losses, [near], 0.01, np.ones((2, 2), bool))
    [0, 1]
    >>> shortest_path(losses, [near], 0.03, np.ones((2, 2), bool))
    [1, 1]
    """
    n_stages = len(losses)
    greatest = n_stages * float(np.abs(losses[allowed]).max(initial=0.0))
    farthest = sum(float(each.max(initial=0.0)) for each in distances)
    unit, step_unit = _unit(greatest + weight * farthest), _unit(farthest)
    length = np.where(allowed[0], _whole(losses[0], unit), NEVER)
    moved = np.zeros(len(length), np.int64)
    before: list[LongArray] = []
    for stage in range(1, n_stages):
        links = distances[stage - 1]
        lengths = length[:, None] + _whole(weight * links, unit)
        if possible is not None:
            lengths = np.where(possible[stage - 1], lengths, NEVER)
        moves = moved[:, None] + _whole(links, step_unit)
        is_best = lengths == lengths.min(axis=0)
        first = np.where(is_best, moves, NEVER).argmin(axis=0)
        before.append(first)
        every = np.arange(len(first))
        moved = moves[first, every]
        length = np.where(allowed[stage], lengths[first, every] + _whole(losses[stage], unit), NEVER)
    last = int(np.lexsort((moved, length))[0])
    path = [last]
    for first in reversed(before):
        path.append(int(first[path[-1]]))
    return path[::-1]


def _unit(greatest: float) -> float:
    """A power of two of which the greatest number has so many."""
    return float(2.0 ** max(ceil(log2(greatest)) - DIGITS, -1000)) if greatest > 0 else 1.0


def _whole(values: FloatArray, unit: float) -> LongArray:
    return np.rint(values / unit).astype(np.int64)


# -- What happened in a sequence of trees, stage by stage ----------------------------------------------------


@dataclass(frozen=True, eq=False)
class StageScorer:
    """The rows that the trees of a sequence are tried on, and how."""

    rows: StageRows
    settings: StageSettings
    metric: Metric
    distances: DistanceSettings

    def stages(self, trees: Sequence[Tree], losses: Sequence[float]) -> tuple[Stage, ...]:
        """The stages of a sequence, one tree for each."""
        told = self._with_recorded(trees)
        return tuple(self._stage(number, told, losses[number]) for number in range(len(told)))

    def _with_recorded(self, trees: Sequence[Tree]) -> list[Tree]:
        """The trees with what the rows of their stage and before recorded; one that stays keeps its own."""
        told: list[Tree] = []
        for number, tree in enumerate(trees):
            if number and tree is trees[number - 1]:
                told.append(told[-1])
            else:
                table = self.rows.learnt(number, self.settings).table
                told.append(set_recorded(tree, table, told[-1] if told else None))
        return told

    def _stage(self, number: int, trees: Sequence[Tree], loss: float) -> Stage:
        tree = trees[number]
        kind, away, churn, flips = FIRST, nan, nan, nan
        if number:
            before = trees[number - 1]
            kind = classify_change(before, tree)
            away = float(distances_between([before], [tree], self.distances)[0, 0])
            churn, flips = measure_change(before, tree, self.rows.own(number).table)
        score, error, n_forward = self._forward(number, tree)
        return Stage(
            label=self.rows.labels[number],
            n_rows=int((self.rows.stage == number).sum()),
            n_learnt=self.rows.n_learnt(number, self.settings),
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
        score = self.metric.score(predict_for_metric(self.metric, tree, found.table), true_values)
        return score.value, score.error, found.table.n_rows


def measure_change(before: Tree, after: Tree, table: Table) -> tuple[float, float]:
    """The mean change of the answers, of numbers in standard deviations of the target, and the flips."""
    crossings = Crossings.from_table(before, after, table)
    if before.schema.target.is_classes:
        return crossings.mean(crossings.moved), crossings.mean(crossings.flipped)
    mean = np.average(table.target, weights=crossings.row_weight)
    spread = float(np.sqrt(np.average((table.target - mean) ** 2, weights=crossings.row_weight)))
    return crossings.mean(crossings.moved) / (spread or 1.0), nan
