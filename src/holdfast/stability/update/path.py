"""The path from a deployed tree to a fresh one: what could be deployed next, nearest first."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from holdfast.arrays import LongArray
from holdfast.backends.tasks import run_kept
from holdfast.data.table import Table
from holdfast.distance.distances import distances_between
from holdfast.distance.settings import DistanceSettings
from holdfast.growth.rounding import with_round_thresholds
from holdfast.stability.choice import SelectionRule, choose
from holdfast.stability.methods.centred import (
    Prior,
    Taught,
    delivered,
    distance_settings,
    most_leaves,
    taught_by,
)
from holdfast.stability.settings import StabilitySettings
from holdfast.stability.training import train
from holdfast.stability.update.classes import steadied
from holdfast.stability.update.search import UpdateSearch, paths_above, paths_of
from holdfast.stability.update.settings import UpdateSettings
from holdfast.tree.class_counts import with_own_counts
from holdfast.tree.edit import with_notes
from holdfast.tree.monotone import in_order
from holdfast.tree.threshold import with_losses
from holdfast.tree.tree import LEAF, Tree

MORE = 1.1  # times its own loss: students of answers that are half the tree's own explain a little more
SLACK = 1e-9  # of a loss: the same tree on the same rows must fit
# What a point of the path is.
KEEP, REFIT, CHANGE, FRESH, RETRAIN, CANDIDATE = "keep", "refit", "change", "fresh", "retrain", "candidate"


class Point(NamedTuple):
    """A tree that could be deployed next, and how well it fits."""

    kind: str
    tree: Tree
    loss: float
    distance: float


def allowed_loss(own_loss: float, n_rows: float, prior: float) -> float:
    """What a tree that lost so much on its own rows may lose on new ones and keep its questions."""
    # What the tree says itself it fits: of the squares that it lost on its rows, the teacher's share is left.
    return own_loss * MORE * (n_rows / (n_rows + prior)) ** 2


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


def update_path(deployed: Tree, table: Table, groups: LongArray | None, context: Context) -> list[Point]:
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
    return run_kept("Update", partial(_points, groups=groups, context=context), search)


def _points(search: UpdateSearch, *, groups: LongArray | None, context: Context) -> list[Point]:
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
    decided = [_deciding_like(tree, deployed) for tree in trees[1:]]
    trees = [trees[0], *(_kept(tree, deployed, update.frozen) for tree in decided)]
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


def _deciding_like(tree: Tree, deployed: Tree) -> Tree:
    """The tree that predicts by the losses, or the threshold, of the deployed one."""
    return tree if deployed.loss_matrix is None else with_losses(tree, deployed.loss_matrix)


def _kept(tree: Tree, deployed: Tree, frozen: tuple[int, ...]) -> Tree:
    """The tree with the record of the edits of the deployed one, and with the values of its frozen leaves."""
    leaves = [node for node in frozen if deployed.feature[node] == LEAF]
    path, there = {node: number for number, node in paths_of(deployed).items()}, paths_of(tree)
    tree = with_own_counts(tree) if leaves else tree
    value = tree.value.copy()
    for node in leaves:
        if path[node] in there:
            value[there[path[node]]] = deployed.value[node]
    kept = tree.replace(value=value, edits=tuple(replace(edit, stale=False) for edit in deployed.edits))
    return with_notes(in_order(kept))


def _rounded(tree: Tree, deployed: Tree, table: Table) -> Tree:
    """The tree with round thresholds, but for those that the deployed tree has."""
    known = set(zip(deployed.feature.tolist(), deployed.threshold.tolist(), strict=True))
    is_known = [each in known for each in zip(tree.feature.tolist(), tree.threshold.tolist(), strict=True)]
    rounded = with_round_thresholds(tree, table)
    return tree.replace(threshold=np.where(is_known, tree.threshold, rounded.threshold))
