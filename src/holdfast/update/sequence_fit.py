"""Fit a sequence of trees to data that come in stages: update by update, or as a shortest path."""

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
from holdfast.explain.firmness import ReferenceTrees
from holdfast.growth.rounding import round_exactly
from holdfast.parallel.progress import show_progress
from holdfast.scoring.metric import Metric, TrueValues, make_metric, predict_for_metric
from holdfast.stable.consensus.distil import DistillationTask
from holdfast.stable.consensus.prior import Prior
from holdfast.stable.consensus.train import (
    ConsensusTrees,
    chosen_tolerance,
    distance_settings,
    fit_leaf_values,
    make_task,
    predict_teacher,
    search_consensus_trees,
)
from holdfast.stable.selection import SelectionRule, choose
from holdfast.stable.settings import N_STUDENTS, StabilitySettings
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
    choose_step,
    make_update_path,
    raise_limits,
)
from holdfast.update.search import UpdateSearch
from holdfast.update.sequence import (
    FIRST,
    OrderedRows,
    PathPoint,
    Stage,
    StageRows,
    StageSequence,
    StageSettings,
    classify_change,
)
from holdfast.update.settings import UpdateSettings, default_prior_rows


class CurrentTree(NamedTuple):
    """The tree in use at a stage."""

    tree: Tree
    loss: float  # on its training rows
    n_behind: float  # rows that it stands for
    references: ReferenceTrees | None = None  # of the last stage


class SequenceFit(NamedTuple):
    """The result of `fit_sequence`."""

    sequence: StageSequence
    trained: StableTrees  # of the first stage
    n_behind: float  # rows that the last tree stands for
    references: ReferenceTrees | None  # for the firmness of the last tree; None for a shortest path


def fit_sequence(
    rows: StageRows, settings: StabilitySettings, stages: StageSettings, rule: SelectionRule
) -> SequenceFit:
    """Fit one tree for every stage.

    The first is the tree of an ordinary fit to the first stage, chosen by the selection rule, unless the
    shortest path begins with another. The tree of a stage depends on rows of that stage and earlier ones, but
    for the ranges of the columns, which are those of all rows; in hindsight, its splits may come from later
    stages.
    """
    if stages.strict_groups and rows.groups is None:
        raise ParameterError("strict_groups=True needs groups=, the group of every row.")
    first = _train_stage(rows, 0, settings, stages, rule)
    settings = first.trained.settle(settings)
    data: list[StageData] = []
    updated: list[CurrentTree] = []
    suggested: list[list[Tree]] = []
    fresh: list[Tree] = []
    for stage, current, options in _update_stages(first, rows, settings, stages):
        data.append(stage)
        updated.append(current)
        if stages.strategy == SHORTEST_PATH and rows.n_stages > 1:
            suggested.append([*(option.tree for option in options), *suggest_structures(stage)])
        if stages.compare:
            is_first = stage.number == 0
            fresh.append(first.tree if is_first else _retrain(stage, rows, stages, rule))
    sequence = _make_sequence(data, updated, suggested, fresh, rows, stages)
    n_behind = float(rows.table.n_rows) if suggested else updated[-1].n_behind
    references = None if suggested else updated[-1].references
    return SequenceFit(sequence, first.trained, n_behind, references)


def _update_stages(
    first: InitialFit, rows: StageRows, settings: StabilitySettings, stages: StageSettings
) -> Iterator[tuple[StageData, CurrentTree, list[UpdateOption]]]:
    """Yield for every stage its data, its tree, and the options that the tree was chosen from.

    Each tree but the first is the update of the one before, as calls of `update` would give it.
    """
    settings_of_stages = raise_limits(replace(settings, verbose=False), first.tree)
    numbers: Iterable[int] = range(rows.n_stages)
    if settings.verbose:
        numbers = show_progress(numbers, "Stages", rows.n_stages)
    current = CurrentTree(first.tree, first.loss, rows.size(0, stages))
    options = [UpdateOption("first", first.tree, first.loss, 0.0)]
    for number in numbers:
        n_rows = rows.size(number, stages)
        stage = StageData(number, rows.training(number, stages), n_rows, settings_of_stages)
        if number:
            n_again = rows.size(number - 1, stages) if stages.memory == "all" else 0.0
            is_explicit = stages.prior_rows is not None
            update = UpdateSettings(
                tolerance=stages.update_tolerance,
                validation=None,
                prior_rows=float(stages.prior_rows)
                if stages.prior_rows is not None
                else default_prior_rows(current.n_behind, n_again),
                carried=None if is_explicit else max(current.n_behind - n_again, 0.0),
            )
            is_last = number == rows.n_stages - 1 and stages.strategy != SHORTEST_PATH
            n_references = min(settings.n_trees, N_STUDENTS) if is_last else 0
            more = first.references if number == 1 else ()
            current, options = stage.update(current, update, more, n_references)
        yield stage, current, options


def _make_sequence(
    data: list[StageData],
    updated: list[CurrentTree],
    suggested: list[list[Tree]],
    fresh: list[Tree],
    rows: StageRows,
    stages: StageSettings,
) -> StageSequence:
    """Make the sequence of updates or, of the structures that the stages suggest, the shortest path."""
    trees, settings = [current.tree for current in updated], data[0].settings
    candidates = SequenceCandidates.of(data, suggested, stages.tolerance) if suggested else None
    distances = distance_settings(settings, [*trees, *fresh]) if candidates is None else candidates.settings
    scorer = StageScorer(rows, stages, make_metric(settings.scoring, rows.table.schema.target), distances)
    if candidates is None:
        chosen = then = scorer.stages(trees, [updated[0].loss, *_losses(data[1:], trees[1:])])
    else:
        path = candidates.path(stages.weight, hindsight=stages.hindsight)
        chosen = scorer.stages(*candidates.subset(path.structures))
        chosen = tuple(replace(stage, forward_score=nan, forward_error=nan) for stage in chosen)
        then = scorer.stages(*candidates.subset(candidates.step_by_step(stages.weight)))
    return StageSequence(
        stages=chosen,
        then=then,
        retrained=scorer.stages(fresh, _losses(data, fresh)) if fresh else (),
        curve=() if candidates is None else candidates.curve(stages.weight, hindsight=stages.hindsight),
        settings=stages,
        metric=scorer.metric,
        distance_settings=distances,
    )


def _losses(data: list[StageData], trees: list[Tree]) -> list[float]:
    return [float(stage.losses([tree])[0]) for stage, tree in zip(data, trees, strict=True)]


# -- The data of one stage -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StageData:
    """The training rows of a stage; teacher, student and consensus trees are fitted when they are needed."""

    number: int
    rows: OrderedRows
    n_rows: float  # that the training rows are worth
    settings: StabilitySettings

    @cached_property
    def predictions(self) -> FloatArray:
        """The teacher's predictions of the rows."""
        return predict_teacher(self.rows.table, self.rows.groups, self.settings)

    @cached_property
    def task(self) -> DistillationTask:
        """The task of distilling these predictions."""
        return make_task(self.rows.table, self.predictions, self.settings)

    @cached_property
    def student(self) -> Tree:
        """The tree that is freshly distilled."""
        return self.task.grow_student().tree

    @cached_property
    def consensus(self) -> ConsensusTrees:
        """The consensus trees of the stage, one for each tolerance."""
        return search_consensus_trees(self.task, self.rows.groups, self.settings)

    def losses(self, trees: Sequence[Tree]) -> FloatArray:
        """The losses of the trees with new leaf values, relative to the student."""
        distances = distance_settings(self.settings, [self.student])
        search = UpdateSearch(self.task, self.student, self.student, distances)
        losses = [search.loss(tree) for tree in self.task.refit(list(trees))]
        return round_last_digits(np.array(losses))

    def fit_leaf_values(self, trees: Sequence[Tree]) -> list[Tree]:
        """Give the trees the leaf values of this stage."""
        return fit_leaf_values(list(trees), self.task, self.settings)

    def region_without_rows(self, tree: Tree) -> tuple[object, ...]:
        """The leaves of a tree that no row of the stage reaches, with all splits above them."""
        n_rows = np.bincount(tree.apply(self.task.table), self.task.repeats, tree.n_nodes)
        empty = np.flatnonzero((tree.feature == LEAF) & (n_rows == 0)).tolist()
        node_at = number_paths(tree)
        return tuple((path, split_key(tree, node_at[path])) for path in sorted(find_paths_above(tree, empty)))

    def carry_over(self, tree: Tree, before: Tree) -> Tree:
        """Fill leaves that no row of the stage reaches with the values of the tree before."""
        if not self.region_without_rows(tree):
            return tree
        return Prior(before, 0.0, 0.0).add_to(
            tree,
            self.task.table,
            self.task.repeats,
            np.ones(before.n_nodes),
            has_teacher_values=self.settings.has_teacher_values,
        )

    def update(
        self, current: CurrentTree, update: UpdateSettings, more: tuple[Tree, ...], n_references: int
    ) -> tuple[CurrentTree, list[UpdateOption]]:
        """Update the current tree; and the options that the new one was chosen from."""
        distances = distance_settings(self.settings, [current.tree])
        own_loss = allowed_loss(current.loss, self.n_rows, update.prior_rows)
        context = UpdateContext(self.settings, update, distances, more, own_loss, n_references=n_references)
        path = make_update_path(current.tree, self.rows.table, self.rows.groups, self.predictions, context)
        chosen = path.options[choose_step(path, context)]
        n_behind = current.n_behind if chosen.kind == KEEP else path.n_behind
        return CurrentTree(chosen.tree, chosen.loss, n_behind, path.references), path.options


# -- Trees without regard to other stages --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class InitialFit:
    """An ordinary fit to one stage."""

    trained: StableTrees
    candidate: int

    @property
    def tree(self) -> Tree:
        """The chosen tree."""
        return self.trained.candidates.trees[self.candidate]

    @property
    def loss(self) -> float:
        """The loss of the tree on its training rows."""
        losses = self.trained.frontier.teacher_loss
        return 0.0 if losses is None else float(losses[self.candidate])

    @property
    def references(self) -> tuple[Tree, ...]:
        """The reference trees of its size."""
        return self.trained.references_of(self.candidate).trees


def _train_stage(
    rows: StageRows, number: int, settings: StabilitySettings, stages: StageSettings, rule: SelectionRule
) -> InitialFit:
    table, groups = rows.select_training(number, stages)
    trained = train(table, settings, groups=groups)
    return InitialFit(trained, choose(trained.frontier, trained.metric, rule).candidate)


def _retrain(stage: StageData, rows: StageRows, stages: StageSettings, rule: SelectionRule) -> Tree:
    """Train the stable tree of a stage without regard to the trees before it."""
    settings = stage.settings
    is_default = rule.selection_rule == "within-tolerance" and rule.tolerance_unit in (None, "teacher")
    if settings.method == "consensus" and is_default:  # the trees are there already
        return stage.consensus.trees[stage.consensus.tolerances.index(chosen_tolerance(settings))]
    return _train_stage(rows, stage.number, settings, stages, rule).tree


# -- The candidates of a sequence ----------------------------------------------------------------------------

FIRST_TREE = 0  # the structure of the first tree: the first that is suggested
WEIGHTS = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # of the curve
N_REFERENCES = 3  # of a stage: the bootstrap students that lie nearest to its consensus trees


@dataclass(frozen=True, eq=False)
class SequenceCandidates:
    """Every structure with the leaf values and the loss of every stage, and all distances between stages."""

    trees: tuple[tuple[Tree, ...], ...]  # of each stage, all structures
    origin: LongArray  # of each structure: the stage that first suggested it
    losses: FloatArray  # (stages, structures)
    distances: tuple[FloatArray, ...]  # from the trees of one stage to those of the next
    settings: DistanceSettings
    tolerance: float | None
    regions: LongArray  # (stages, structures): equal where the splits above leaves without rows are equal
    data: tuple[StageData, ...] = ()

    @classmethod
    def of(
        cls,
        data: Sequence[StageData],
        suggested: Sequence[Sequence[Tree]],
        tolerance: float | None,
    ) -> SequenceCandidates:
        """Collect the structures that the stages suggest, each once."""
        structures, origin = _find_distinct(suggested)
        settings = data[0].settings
        distances = distance_settings(settings, structures)
        trees = [tuple(stage.fit_leaf_values(structures)) for stage in data]
        regions = [[stage.region_without_rows(tree) for tree in structures] for stage in data]
        return cls(
            tuple(trees),
            np.array(origin, np.int64),
            np.stack([stage.losses(structures) for stage in data]),
            tuple(
                distances_between(before, after, distances, n_jobs=settings.n_jobs)
                for before, after in pairwise(_carry_over(trees, data))
            ),
            distances,
            tolerance,
            np.array([[each.index(region) for region in each] for each in regions], np.int64),
            tuple(data),
        )

    def allowed(self, last: int, *, hindsight: bool) -> BoolArray:
        """The structures that may be used at each stage once the stage `last` is there, (stages, structures).

        They come from that stage or earlier ones; in hindsight, from all stages up to the last.
        """
        stage = np.arange(len(self.losses))[:, None]
        latest = np.full_like(stage, last) if hindsight else np.minimum(stage, last)
        allowed = self.origin[None, :] <= latest
        allowed[0] &= self.regions[0] == self.regions[0, FIRST_TREE]
        if self.tolerance is not None:
            # At least the least loss of those that may follow each other, so that one of them is allowed.
            losses = np.where(allowed, self.losses, np.inf)
            least = [
                [own[region == each].min() for each in region.tolist()]
                for own, region in zip(losses, self.regions, strict=True)
            ]
            allowed = allowed & (self.losses <= np.maximum(least, self.tolerance) + SLACK)
        return np.asarray(allowed, np.bool_)

    @property
    def _possible(self) -> list[BoolArray]:
        """Which structure may follow which, (structures, structures), for each stage but the first."""
        return [np.equal.outer(region, region) for region in self.regions[1:]]

    # -- sequences ------------------------------------------------------------------------------------

    def path(self, weight: float, *, hindsight: bool) -> PathPoint:
        """Find the sequence of least loss plus weighted distance."""
        n_stages = len(self.losses)
        allowed = self.allowed(n_stages - 1, hindsight=hindsight)
        path = shortest_path(self.losses, self.distances, weight, allowed, self._possible)
        moves = [float(links[pair]) for links, pair in zip(self.distances, pairwise(path), strict=True)]
        losses = [float(self.losses[stage, structure]) for stage, structure in enumerate(path)]
        return PathPoint(weight, fsum(losses), fsum(moves), tuple(path))

    def curve(self, weight: float, *, hindsight: bool) -> tuple[PathPoint, ...]:
        """Find the sequences of several weights, this one among them."""
        return tuple(self.path(each, hindsight=hindsight) for each in sorted({*WEIGHTS, weight}))

    def step_by_step(self, weight: float) -> list[int]:
        """Choose the structures stage by stage, with the one before in use and without later ones."""
        chosen = [FIRST_TREE]
        for stage in range(1, len(self.losses)):
            allowed = self.allowed(stage, hindsight=False)[stage - 1 : stage + 1]
            allowed[0] = np.arange(allowed.shape[1]) == chosen[-1]
            losses, links = self.losses[stage - 1 : stage + 1], self.distances[stage - 1 : stage]
            possible = self._possible[stage - 1 : stage]
            chosen.append(shortest_path(losses, links, weight, allowed, possible)[-1])
        return chosen

    def subset(self, structures: Sequence[int]) -> tuple[list[Tree], list[float]]:
        """The trees of a sequence, and their losses."""
        trees = [self.trees[stage][structure] for stage, structure in enumerate(structures)]
        for stage, data in enumerate(self.data[1:], 1):
            trees[stage] = data.carry_over(trees[stage], trees[stage - 1])
        return trees, [float(self.losses[stage, place]) for stage, place in enumerate(structures)]


def suggest_structures(stage: StageData) -> list[Tree]:
    """Suggest the structures of one stage: student, consensus trees, and the references nearest to these."""
    consensus = stage.consensus
    middle = consensus.trees[-1]
    distances = distance_settings(stage.settings, [middle, *consensus.references])
    away = distances_between(consensus.references, [middle], distances)[:, 0]
    nearest = np.argsort(away, kind="stable")[:N_REFERENCES]
    others = [stage.student, *(consensus.references[int(place)] for place in nearest)]
    return [*consensus.trees, *(round_exactly(tree, stage.rows.table) for tree in others)]


def _carry_over(trees: Sequence[Sequence[Tree]], data: Sequence[StageData]) -> Iterator[tuple[Tree, ...]]:
    """Yield the trees of each stage, with the values of the stage before in leaves without rows."""
    before: tuple[Tree, ...] = ()
    for stage, own in zip(data, trees, strict=True):
        pairs = zip(own, before or own, strict=True)
        before = tuple(stage.carry_over(tree, old) if before else tree for tree, old in pairs)
        yield before


def _find_distinct(suggested: Sequence[Sequence[Tree]]) -> tuple[list[Tree], list[int]]:
    """Find the structures with distinct splits, and the stage that first suggests each."""
    known: dict[bytes, tuple[Tree, int]] = {}
    for stage, trees in enumerate(suggested):
        for tree in trees:
            parts = (tree.feature, tree.threshold, tree.left, tree.missing_left, tree.set_start, tree.in_set)
            known.setdefault(b"|".join(part.tobytes() for part in parts), (tree, stage))
    return [tree for tree, _ in known.values()], [stage for _, stage in known.values()]


# -- The shortest path through the candidates of all stages --------------------------------------------------

DIGITS = 52  # binary digits of the greatest total: sums of whole numbers are exact, and so are ties
NEVER = 2**60  # longer than any path


def shortest_path(
    losses: FloatArray,
    distances: Sequence[FloatArray],
    weight: float,
    allowed: BoolArray,
    possible: Sequence[BoolArray] | None = None,
) -> list[int]:
    """Find the candidate of every stage on the path of least loss plus weighted distance.

    `losses` and `allowed` are (stages, candidates), `distances[s]` is from the candidates of stage s to those
    of the next, and `possible[s]` flags the links that may be used; None: all. Ties go to the path of less
    total distance, then to that with the lowest numbers, from the last stage back.

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
    """A power of two of which the greatest number is about 2 ** DIGITS."""
    return float(2.0 ** max(ceil(log2(greatest)) - DIGITS, -1000)) if greatest > 0 else 1.0


def _whole(values: FloatArray, unit: float) -> LongArray:
    return np.rint(values / unit).astype(np.int64)


# -- The figures of the stages -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StageScorer:
    """Scores and compares the trees of a sequence, stage by stage."""

    rows: StageRows
    settings: StageSettings
    metric: Metric
    distances: DistanceSettings

    def stages(self, trees: Sequence[Tree], losses: Sequence[float]) -> tuple[Stage, ...]:
        """The figures of a sequence of trees, one for each stage."""
        noted: list[Tree] = []  # with the missing values that the rows of the stage and before recorded
        for number, tree in enumerate(trees):
            if number and tree is trees[number - 1]:
                noted.append(noted[-1])
            else:
                table = self.rows.training(number, self.settings).table
                noted.append(set_recorded(tree, table, noted[-1] if noted else None))
        return tuple(self._stage(number, noted, losses[number]) for number in range(len(noted)))

    def _stage(self, number: int, trees: Sequence[Tree], loss: float) -> Stage:
        tree = trees[number]
        kind, distance, churn, flips = FIRST, nan, nan, nan
        if number:
            before = trees[number - 1]
            kind = classify_change(before, tree)
            distance = float(distances_between([before], [tree], self.distances)[0, 0])
            churn, flips = measure_change(before, tree, self.rows.own(number).table)
        score, error, n_forward = self._forward(number, tree)
        return Stage(
            label=self.rows.labels[number],
            n_rows=int((self.rows.stage == number).sum()),
            n_training_rows=self.rows.n_training(number, self.settings),
            tree=tree,
            kind=kind,
            distance=distance,
            loss=loss,
            churn=churn,
            flips=flips,
            forward_score=score,
            forward_error=error,
            n_forward=n_forward,
        )

    def _forward(self, number: int, tree: Tree) -> tuple[float, float, int]:
        """The score on the next stage, its error, and the number of rows; NaN where it is undefined."""
        rows = self.rows.next(number, self.settings)
        if rows is None or len(np.unique(rows.table.target)) < self.metric.least_values:
            return nan, nan, 0
        true_values = TrueValues.of(rows.table, rows.groups)
        score = self.metric.score(predict_for_metric(self.metric, tree, rows.table), true_values)
        return score.value, score.error, rows.table.n_rows


def measure_change(before: Tree, after: Tree, table: Table) -> tuple[float, float]:
    """Measure churn (for numbers in standard deviations of the target) and the fraction of flips.

    Of times to an event, churn is the mean change of survival to the horizon.
    """
    crossings = Crossings.from_table(before, after, table)
    if before.schema.target.is_classes:
        return crossings.mean(crossings.moved), crossings.mean(crossings.flipped)
    if before.schema.target.is_survival:
        return crossings.mean(crossings.moved), nan
    mean = np.average(table.target, weights=crossings.row_weight)
    spread = float(np.sqrt(np.average((table.target - mean) ** 2, weights=crossings.row_weight)))
    return crossings.mean(crossings.moved) / (spread or 1.0), nan
