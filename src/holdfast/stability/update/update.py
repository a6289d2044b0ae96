"""The update of a deployed tree: the path from it to a fresh tree, and the point of it that is taken."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from holdfast.arrays import BoolArray, LongArray
from holdfast.data.canonical_order import canonical, fixed_order
from holdfast.data.input.weight import effective_rows
from holdfast.data.split.groups import of_rows
from holdfast.data.split.row_keys import copies_as_groups, unit_keys
from holdfast.data.split.row_positions import below, random_positions, strata_of
from holdfast.data.table import Table
from holdfast.distance.distances import distances_between
from holdfast.distance.settings import DistanceSettings
from holdfast.errors import ParameterError
from holdfast.growth.rounding import with_round_thresholds
from holdfast.random_streams import Branch
from holdfast.scoring.differences import score_difference
from holdfast.scoring.metric import Metric, TrueValues, metric_of
from holdfast.scoring.predictions import predictions_for
from holdfast.shown import shown
from holdfast.stability.choice import SelectionRule, choose
from holdfast.stability.methods.centred import (
    Prior,
    Taught,
    delivered,
    distance_settings,
    most_leaves,
    taught_by,
)
from holdfast.stability.policy.policy import ChangePolicy
from holdfast.stability.policy.verdict import PolicyVerdict
from holdfast.stability.settings import StabilitySettings
from holdfast.stability.training import train
from holdfast.stability.update.classes import steadied
from holdfast.stability.update.judged import JudgedRows
from holdfast.stability.update.search import UpdateSearch, paths_above, paths_of
from holdfast.stability.update.settings import UpdateSettings
from holdfast.tree.edit import with_notes
from holdfast.tree.tree import LEAF, Tree

MORE = 1.1  # times its own loss: students of answers that are half the tree's own explain a little more
SLACK = 1e-9  # of a loss: the same tree on the same rows must fit
# What a point of the path is.
KEEP, REFIT, CHANGE, FRESH, RETRAIN, CANDIDATE = "keep", "refit", "change", "fresh", "retrain", "candidate"


@dataclass(frozen=True, eq=False)
class UpdateStep:
    """One point of the path: a tree that could be deployed next."""

    kind: str  # "keep", "refit", "change", "fresh", "retrain" or "candidate"
    tree: Tree
    distance: float  # to the deployed tree
    loss: float  # what it loses of the teacher's variance that a fresh student explains, as a fraction
    score: float  # of a tree made alike, on rows that it did not learn from; losses are negated
    difference: float  # of that score to the one of the deployed tree as it is
    error: float  # standard error of the difference
    alike: Tree  # the tree made the same way without the rows that are scored on


@dataclass(frozen=True, eq=False, repr=False)
class TreeUpdate:
    """What could become of a deployed tree: the path from keeping it to growing it anew, nearest first.

    `str()` tells it in words, then step by step.
    """

    deployed: Tree
    steps: tuple[UpdateStep, ...]
    taken: int  # the step that is taken
    settings: UpdateSettings
    metric: Metric
    distances: DistanceSettings
    own_loss: float  # what the deployed tree lost on the rows that it was trained on
    n_rows: int  # learnt from
    n_scored: int  # held out to score by; 0: the scores are those on the rows that were learnt from
    rows: JudgedRows | None  # None in another process, or after it was pickled
    verdict: PolicyVerdict | None = None  # on the step that is taken, if there is a policy
    is_forced: bool = False  # it is taken although the policy forbids it

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "rows": None}  # a model on disk holds no rows

    @property
    def tree(self) -> Tree:
        """The tree of the step that is taken."""
        return self.steps[self.taken].tree

    @property
    def is_taken(self) -> bool:
        """False if the policy forbids the step, so that the deployed tree stays in use."""
        return self.verdict is None or self.verdict.passed or self.is_forced

    def judged(self, policy: ChangePolicy | None, *, force: bool = False) -> "TreeUpdate":
        """The same update with the verdict of a policy on the step that is taken."""
        if policy is None:
            return replace(self, verdict=None, is_forced=False)
        if self.rows is None:
            raise ParameterError("The rows that the update was judged by are gone: update the model again.")
        step = self.steps[self.taken]
        verdict = self.rows.verdict(policy, self.deployed, step.tree, step.alike)
        return replace(self, verdict=verdict, is_forced=force and not verdict.passed)

    def take(self, step: int, *, force: bool = False) -> "TreeUpdate":
        """The same path with another step taken, and judged if there is a policy."""
        if not isinstance(step, Integral) or not 0 <= step < len(self.steps):
            raise ParameterError(
                f"step={step!r} is out of range: the path has the steps 0 to {len(self.steps) - 1}."
            )
        policy = None if self.verdict is None else self.verdict.policy
        return replace(self, taken=int(step)).judged(policy, force=force)

    def __repr__(self) -> str:
        return shown("update_text", self)

    def _repr_html_(self) -> str:
        return shown("update_html", self)


class NewRows(NamedTuple):
    """The rows that an update learns from: the new ones, and perhaps old ones."""

    table: Table
    groups: LongArray | None
    is_new: BoolArray  # scores are of new rows


class Point(NamedTuple):
    """A tree that could be deployed next, and how well it fits."""

    kind: str
    tree: Tree
    loss: float
    distance: float


def update_tree(
    deployed: Tree,
    rows: NewRows,
    settings: StabilitySettings,
    update: UpdateSettings,
    *,
    own_loss: float = 0.0,
    more: Sequence[Tree] = (),
    rule: SelectionRule | None = None,
) -> TreeUpdate:
    """The path from a deployed tree, on the schema of the rows, and the step that the settings take.

    `own_loss` is what the tree lost on the rows that it was trained on: with new leaf values it need not fit
    the new rows better than it fitted those. `more` are further trees whose questions may be asked, such as
    the references of the last training. `rule` chooses where a tree is trained anew.
    """
    update.check_frozen(deployed)
    if settings.matching == "cover":
        raise ParameterError(
            "matching='cover' is not for updates, which look for near trees by the matching 'paper' or "
            "'metric'."
        )
    metric = metric_of(settings.scoring, rows.table.schema.target)
    given, rows = rows, _in_order(rows)
    distances = _distances(deployed, settings)
    own_loss = allowed_loss(own_loss, effective_rows(given.table.weight, given.table.n_rows), update.prior)
    context = Context(settings, update, distances, tuple(more), own_loss, rule or SelectionRule())
    path = _path(deployed, rows.table, rows.groups, context)
    held_out = _held_out(rows, settings, update)
    like = path
    if held_out.any():
        learnt = ~held_out
        like = _path(deployed, rows.table.taken(learnt), of_rows(rows.groups, learnt), context)
    scored_rows = held_out if held_out.any() else rows.is_new
    scores = _scores(path, like, rows, scored_rows, metric)
    steps = tuple(
        UpdateStep(point.kind, point.tree, point.distance, point.loss, *score)
        for point, score in zip(path, scores, strict=True)
    )
    return TreeUpdate(
        deployed,
        steps,
        taken_point(path, context),
        update,
        metric,
        distances,
        own_loss,
        n_rows=given.table.n_rows,
        n_scored=_n_scored(rows.table.taken(held_out)),
        rows=JudgedRows(_new_rows(given), rows.table.taken(scored_rows)),
    )


def allowed_loss(own_loss: float, n_rows: float, prior: float) -> float:
    """What a tree that lost so much on its own rows may lose on new ones and keep its questions."""
    # What the tree says itself it fits: of the squares that it lost on its rows, the teacher's share is left.
    return own_loss * MORE * (n_rows / (n_rows + prior)) ** 2


# -- the path -------------------------------------------------------------------------------------------


class Context(NamedTuple):
    """What the path depends on besides the tree and the rows."""

    settings: StabilitySettings
    update: UpdateSettings
    distances: DistanceSettings
    more: tuple[Tree, ...]
    own_loss: float
    rule: SelectionRule = SelectionRule()

    def most_loss(self, kind: str) -> float:
        """What a point of this kind may lose."""
        return max(self.update.tolerance, self.own_loss if kind == REFIT else 0.0)

    def fits(self, point: Point) -> bool:
        """True if the point fits well enough to be deployed."""
        return point.loss <= self.most_loss(point.kind) + SLACK


def _path(deployed: Tree, table: Table, groups: LongArray | None, context: Context) -> list[Point]:
    """The points of the path, nearest first, without those that others beat in both distance and fit."""
    prior = Prior(deployed, context.update.prior)
    rows = taught_by(table, groups, with_room(context.settings, deployed), prior)
    search = UpdateSearch(
        rows,
        deployed,
        rows.lesson.grow(rows.repeats),
        context.distances,
        context.more,
        paths_above(deployed, context.update.frozen),
        is_least_given=context.settings.rules.min_samples_leaf != 1,
    )
    return path_by(search, groups, context)


def path_by(search: UpdateSearch, groups: LongArray | None, context: Context) -> list[Point]:
    """The points of the path of a search."""
    settings, update, rows, deployed = context.settings, context.update, search.rows, search.deployed
    table = rows.lesson.table
    found: list[tuple[str, Tree]] = [(KEEP, deployed), (REFIT, search.refitted)]
    if update.how == "nearest":
        found += _changed(search, update.tolerance)
    elif update.how == "retrain":
        found.append((RETRAIN, _retrained(table, groups, settings, context.rule)))
    elif update.how == "candidate":
        found.append((CANDIDATE, _candidate(deployed, table, groups, settings, update)))
    kinds = [kind for kind, _ in found]
    losses = [search.loss(tree) for _, tree in found]
    trees = _delivered(found, deployed, rows, settings)
    trees = [trees[0], *(_kept(tree, deployed, update.frozen) for tree in trees[1:])]
    if settings.leaf_values == "teacher":
        spare = [context.most_loss(kind) - loss for kind, loss in zip(kinds, losses, strict=True)]
        trees = [
            steadied(tree, deployed, rows, room * search.learnt) if kind in (REFIT, CHANGE) else tree
            for kind, tree, room in zip(kinds, trees, spare, strict=True)
        ]
        losses = [search.loss(tree) for tree in trees]
    away = distances_between(trees, [deployed], context.distances)[:, 0].tolist()
    points = [Point(*each) for each in zip(kinds, trees, losses, away, strict=True)]
    return _efficient(points, context.update.how)


def _changed(search: UpdateSearch, tolerance: float) -> list[tuple[str, Tree]]:
    """The trees after each step, the nearest one within the tolerance, and the fresh one."""
    steps = search.steps(tolerance)
    fresh = [] if search.held else [search.student]
    nearest = None
    if search.loss(search.refitted) > tolerance:
        nearest = search.nearest(tolerance, [steps[-1], *fresh])
    changed = [*steps[1:], *([] if nearest is None else [nearest])]
    return [(CHANGE, tree) for tree in changed] + [(FRESH, tree) for tree in fresh]


def _retrained(
    table: Table, groups: LongArray | None, settings: StabilitySettings, rule: SelectionRule
) -> Tree:
    """A stable tree that knows nothing of the deployed one."""
    trained = train(table, settings, groups=groups)
    choice = choose(trained.frontier, trained.metric, rule)
    return trained.candidates.trees[choice.candidate]


def _candidate(
    deployed: Tree,
    table: Table,
    groups: LongArray | None,
    settings: StabilitySettings,
    update: UpdateSettings,
) -> Tree:
    """Of bootstrap trees whose score is within the tolerance of the best, the nearest to the deployed one."""
    validation = "auto" if settings.validation is None else settings.validation
    settings = replace(
        settings, method="bootstrap", tolerance=None, validation=validation, size_by_folds=False
    )
    trained = train(table, settings, groups=groups)
    frontier, trees = trained.frontier, trained.candidates.trees
    loss = update.tolerance * (abs(frontier.score.max()) if trained.metric.is_loss else 1.0)
    near = np.flatnonzero(frontier.score >= frontier.score.max() - loss - 1e-12)
    away = distances_between([trees[i] for i in near], [deployed], _distances(deployed, settings))[:, 0]
    return trees[int(near[int(away.argmin())])]


def _efficient(points: list[Point], how: str) -> list[Point]:
    """The points by distance, without those that another beats in both distance and fit.

    The deployed tree as it is comes first. What was asked for, and the fresh tree, always stay.
    """
    kept: list[Point] = []
    for point in sorted(points, key=lambda point: (point.distance, point.loss, point.kind == CHANGE)):
        is_better = all(point.loss < other.loss for other in kept if other.kind != KEEP)
        if is_better or point.kind in (KEEP, FRESH, how):
            kept.append(point)
    return sorted(kept, key=lambda point: point.kind != KEEP)


def taken_point(path: list[Point], context: Context) -> int:
    """The place of the refitted tree if it fits; else of the nearest that does; else of the best fit."""
    kinds = [point.kind for point in path]
    if context.update.how != "nearest":
        return kinds.index(context.update.how)
    if REFIT in kinds and context.fits(path[kinds.index(REFIT)]):
        return kinds.index(REFIT)
    changed = range(1, len(path))
    within = [i for i in changed if context.fits(path[i])]
    if within:
        return min(within, key=lambda i: (path[i].distance, path[i].loss))
    return min(changed, key=lambda i: path[i].loss)


def with_room(settings: StabilitySettings, deployed: Tree) -> StabilitySettings:
    """The settings, with as many leaves and questions on a path as the deployed tree has."""
    rules = settings.rules
    depth = None if rules.max_depth is None else max(rules.max_depth, deployed.depth)
    n_leaves = max(most_leaves(settings), deployed.n_leaves)
    return replace(settings, rules=replace(rules, max_depth=depth, max_leaf_nodes=n_leaves))


def _distances(deployed: Tree, settings: StabilitySettings) -> DistanceSettings:
    return distance_settings(settings, [deployed])


def _delivered(
    found: list[tuple[str, Tree]], deployed: Tree, rows: Taught, settings: StabilitySettings
) -> list[Tree]:
    """The trees as they could be deployed: new thresholds rounded, and leaf values as the settings say.

    The deployed tree, and trees that another method has made, are as they should be.
    """
    moved = [i for i, (kind, _) in enumerate(found) if kind in (REFIT, CHANGE, FRESH)]
    made = delivered([_rounded(found[i][1], deployed, rows.lesson.table) for i in moved], rows, settings)
    trees = dict(zip(moved, made, strict=True))
    return [trees.get(i, tree) for i, (_, tree) in enumerate(found)]


def _kept(tree: Tree, deployed: Tree, frozen: tuple[int, ...]) -> Tree:
    """The tree with the record of the edits of the deployed one, and with the values of its frozen leaves."""
    leaves = [node for node in frozen if deployed.feature[node] == LEAF]
    path, there = {node: number for number, node in paths_of(deployed).items()}, paths_of(tree)
    value = tree.value.copy()
    for node in leaves:
        if path[node] in there:
            value[there[path[node]]] = deployed.value[node]
    return with_notes(
        tree.replace(value=value, edits=tuple(replace(edit, stale=False) for edit in deployed.edits))
    )


def _rounded(tree: Tree, deployed: Tree, table: Table) -> Tree:
    """The tree with round thresholds, but for those that the deployed tree has."""
    known = set(zip(deployed.feature.tolist(), deployed.threshold.tolist(), strict=True))
    is_known = [each in known for each in zip(tree.feature.tolist(), tree.threshold.tolist(), strict=True)]
    rounded = with_round_thresholds(tree, table)
    return tree.replace(threshold=np.where(is_known, tree.threshold, rounded.threshold))


# -- scores ---------------------------------------------------------------------------------------------


def _in_order(rows: NewRows) -> NewRows:
    """The rows in one order, whatever order they came in; copies of a row as one group."""
    given = [rows.is_new.astype(np.int64), *([] if rows.groups is None else [rows.groups])]
    table, in_order, copies = canonical(rows.table, given)
    groups = in_order[1] if rows.groups is not None else copies_as_groups(table, copies)
    return NewRows(table, groups, in_order[0] == 1)


def _new_rows(rows: NewRows) -> Table:
    new = rows.table.taken(rows.is_new)
    return new.taken(fixed_order(new))


def _n_scored(held_out: Table) -> int:
    """How many rows are held out, copies counted."""
    return round(effective_rows(held_out.weight, held_out.n_rows)) if held_out.n_rows else 0


def _held_out(rows: NewRows, settings: StabilitySettings, update: UpdateSettings) -> BoolArray:
    """The new rows that scores are measured on; none if there are too few to hold out."""
    if update.validation is None:
        return np.zeros(rows.table.n_rows, np.bool_)
    keys = unit_keys(rows.table, rows.groups)
    position = random_positions(strata_of(rows.table), keys, (settings.seed, Branch.UPDATE_VALIDATION))
    held_out = below(position, float(update.validation)) & rows.is_new
    return held_out if not held_out.all() else np.zeros_like(held_out)


def _scores(
    path: list[Point], like: list[Point], rows: NewRows, scored: BoolArray, metric: Metric
) -> list[tuple[float, float, float, Tree]]:
    """Of each point: the score of the tree made alike, the difference to keeping, its error, the tree."""
    part = rows.table.taken(scored)
    true_values = TrueValues.of(part, of_rows(rows.groups, scored))
    said = [predictions_for(metric, point.tree, part) for point in like]
    is_known = len(np.unique(part.target)) >= metric.least_values  # an AUC of one class is none
    found = []
    for point in path:
        place = like.index(_alike(point, like))
        if not is_known:
            found.append((nan, nan, nan, like[place].tree))
            continue
        difference = score_difference(metric, said[0], said[place], true_values)
        value = metric.value(said[place], true_values)
        found.append((value, difference.value, difference.error, like[place].tree))
    return found


def _alike(point: Point, like: list[Point]) -> Point:
    """The point of another path that was made the same way, or else that fits about as well."""
    same = [each for each in like if each.kind == point.kind]
    if same and point.kind != CHANGE:
        return same[0]
    others = same or [each for each in like if each.kind != KEEP] or like
    fit = [each for each in others if each.loss <= point.loss] or others
    return min(fit, key=lambda each: abs(each.loss - point.loss))
