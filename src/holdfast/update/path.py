"""The path from a deployed tree to a fresh one: what could be deployed next, nearest first."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from holdfast._arrays import FloatArray, IntArray, LongArray, freeze
from holdfast.data.table import Table
from holdfast.distance.costs import DistanceSettings
from holdfast.distance.distance import distances_between
from holdfast.growth.rounding import round_exactly
from holdfast.kernels.consensus.problem import MOST_PATH
from holdfast.parallel.tasks import run_cached
from holdfast.stable.consensus.distil import DistillationTask
from holdfast.stable.consensus.prior import Prior
from holdfast.stable.consensus.train import (
    Taught,
    distance_settings,
    fit_leaf_values,
    make_task,
    most_leaves,
    predict_teacher,
)
from holdfast.stable.selection import SelectionRule, choose
from holdfast.stable.settings import StabilitySettings
from holdfast.stable.train import train
from holdfast.tree.edit import update_edit_notes
from holdfast.tree.monotone import decision_threshold, enforce_monotonicity, set_losses
from holdfast.tree.rules import find_common_leaves, find_paths_above, is_same_split, number_paths
from holdfast.tree.stats import keep_own_counts, set_outcome
from holdfast.tree.tree import LEAF, Tree
from holdfast.update.search import UpdateSearch
from holdfast.update.settings import UpdateSettings

MORE = 1.1  # times its own loss: students of answers that are half the tree's own explain a little more
SLACK = 1e-9  # of a loss: the same tree on the same rows must fit
# What a point of the path is.
KEEP, REFIT, CHANGE, FRESH, RETRAIN, CANDIDATE = "keep", "refit", "change", "fresh", "retrain", "candidate"


class UpdateOption(NamedTuple):
    """A tree that could be deployed next, and how well it fits."""

    kind: str
    tree: Tree
    loss: float
    distance: float


def allowed_loss(own_loss: float, n_rows: float, prior: float) -> float:
    """What a tree that lost so much on its own rows may lose on new ones and keep its questions."""
    # What the tree says itself it fits: of the squares that it lost on its rows, the teacher's share is left.
    return own_loss * MORE * (n_rows / (n_rows + prior)) ** 2


class UpdatePath(NamedTuple):
    """The trees that could be deployed next, nearest first."""

    points: list[UpdateOption]
    found: list[UpdateOption]  # all that were found, those that others beat in both distance and fit included
    has_drift: bool  # rates of leaves have clearly moved
    n_behind: float  # rows that an updated tree stands for


class UpdateContext(NamedTuple):
    """What the path depends on besides the tree and the rows."""

    settings: StabilitySettings
    update: UpdateSettings
    distances: DistanceSettings
    more: tuple[Tree, ...]
    own_loss: float
    rule: SelectionRule = SelectionRule()
    loss_to_reach: float | None = None  # changes are searched up to this one where new leaf values suffice

    def most_loss(self, kind: str) -> float:
        """What a point of this kind may lose."""
        return max(self.update.tolerance, self.own_loss if kind in (KEEP, REFIT) else 0.0)

    def fits(self, point: UpdateOption) -> bool:
        """True if the point fits well enough to be deployed."""
        return point.loss <= self.most_loss(point.kind) + SLACK


def fit_update_path(
    deployed: Tree, table: Table, groups: LongArray | None, context: UpdateContext
) -> UpdatePath:
    """The points of the path, nearest first, without those that others beat in both distance and fit."""
    settings = raise_limits(context.settings, deployed)
    answers = predict_teacher(table, groups, settings)
    return make_update_path(deployed, table, groups, answers, context._replace(settings=settings))


def make_update_path(
    deployed: Tree, table: Table, groups: LongArray | None, answers: FloatArray, context: UpdateContext
) -> UpdatePath:
    """The same, from the predictions of a teacher of the rows."""
    update, settings = context.update, context.settings
    prior = Prior(deployed, update.prior_rows, update.n_carried)
    rows = make_task(table, answers, settings, prior)
    frozen = (*update.frozen, *prior.leaves_to_keep(table, rows.repeats))
    search = UpdateSearch(
        rows,
        deployed,
        rows.lesson.grow(rows.repeats),
        context.distances,
        context.more,
        frozenset(path for path in find_paths_above(deployed, frozen) if path <= MOST_PATH),
        is_least_given=settings.rules.min_samples_leaf != 1,
    )
    leaves = LeafValues(make_task(table, answers, settings), prior, prior.discounts(table, rows.repeats))
    found = run_cached("Update", partial(_points, leaves=leaves, groups=groups, context=context), search)
    has_drift = bool((leaves.discounts < 1).any())
    n_behind = prior.n_behind(table, rows.repeats, leaves.discounts)
    return UpdatePath(_efficient(found, context), found, has_drift, n_behind)


class LeafValues(NamedTuple):
    """What leaf values are made of: the new rows, and the rows behind the deployed tree."""

    rows: Taught  # the teacher's predictions alone
    prior: Prior
    discounts: FloatArray  # what an old row counts for, at every leaf of the deployed tree

    def fit(self, trees: list[Tree], settings: StabilitySettings) -> list[Tree]:
        """The trees with values and counts of new and old rows."""
        table, repeats = self.rows.lesson.table, self.rows.repeats
        by_teacher = settings.is_taught
        return [
            self.prior.add_to(tree, table, repeats, self.discounts, by_teacher=by_teacher)
            for tree in fit_leaf_values(trees, self.rows, settings)
        ]


def _points(
    search: UpdateSearch, *, leaves: LeafValues, groups: LongArray | None, context: UpdateContext
) -> list[UpdateOption]:
    settings, update, rows, deployed = context.settings, context.update, search.rows, search.deployed
    table = rows.lesson.table
    found: list[tuple[str, Tree]] = [(KEEP, deployed), (REFIT, search.refitted)]
    if update.strategy == "nearest":
        found += _changed(search, update.tolerance, context.loss_to_reach)
    elif update.strategy == "retrain":
        found.append((RETRAIN, _retrained(table, groups, settings, context.rule)))
    elif update.strategy == "candidate":
        found.append((CANDIDATE, _candidate(deployed, table, groups, settings, update)))
    kinds = [kind for kind, _ in found]
    # Of the splits: leaf values may follow the new rows faster than these do.
    losses = [search.loss(tree) for _, tree in found]
    trees = _delivered(found, deployed, leaves, settings)
    decided = [_deciding_like(tree, deployed) for tree in trees[1:]]
    trees = [trees[0], *(_kept(tree, deployed, update.frozen) for tree in decided)]
    if settings.is_taught:
        spare = [context.most_loss(kind) - loss for kind, loss in zip(kinds, losses, strict=True)]
        trees = [
            keep_leaf_classes(tree, deployed, rows, room * search.learnt) if kind in (REFIT, CHANGE) else tree
            for kind, tree, room in zip(kinds, trees, spare, strict=True)
        ]
    away = distances_between(trees, [deployed], context.distances)[:, 0].tolist()
    return [UpdateOption(*each) for each in zip(kinds, trees, losses, away, strict=True)]


def _changed(
    search: UpdateSearch, tolerance: float, loss_to_reach: float | None = None
) -> list[tuple[str, Tree]]:
    """The trees after each step, the nearest one within the tolerance, and the fresh one."""
    if loss_to_reach is not None and search.loss(search.refitted) <= tolerance:
        tolerance = min(tolerance, loss_to_reach)
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
        settings, method="bootstrap", tolerance=None, validation=validation, is_size_open=False
    )
    trained = train(table, settings, groups=groups)
    frontier, trees = trained.frontier, trained.candidates.trees
    loss = update.tolerance * (abs(frontier.score.max()) if trained.metric.is_loss else 1.0)
    near = np.flatnonzero(frontier.score >= frontier.score.max() - loss - 1e-12)
    away = distances_between([trees[i] for i in near], [deployed], _distances(deployed, settings))[:, 0]
    return trees[int(near[int(away.argmin())])]


def _efficient(points: list[UpdateOption], context: UpdateContext) -> list[UpdateOption]:
    """The points by distance, without those that another beats in both distance and fit.

    The deployed tree as it is comes first. What was asked for, and the fresh tree, always stay; so does the
    tree with new leaf values where the deployed tree fits, because then nothing else may be taken.
    """
    always = {KEEP, FRESH, context.update.strategy}
    if any(point.kind == KEEP and context.fits(point) for point in points):
        always.add(REFIT)
    kept: list[UpdateOption] = []
    for point in sorted(points, key=lambda point: (point.distance, point.loss, point.kind == CHANGE)):
        is_better = all(point.loss < other.loss for other in kept if other.kind != KEEP)
        if is_better or point.kind in always:
            kept.append(point)
    return sorted(kept, key=lambda point: point.kind != KEEP)


def choose_option(path: UpdatePath, context: UpdateContext, helps: Sequence[bool] | None = None) -> int:
    """The place of the point to take: the nearest that fits, and is no worse than keeping the tree.

    `helps` tells of every point whether it is no worse than the tree as it is on rows held out; None: there
    are none. If the tree fits as it is, it is kept, or gets new leaf values where rates have clearly moved.
    If no point fits, the one that fits best is taken of those that are no worse.
    """
    points = path.points
    kinds = [point.kind for point in points]
    if context.update.strategy != "nearest":
        return kinds.index(context.update.strategy)
    able = [i for i in range(1, len(points)) if helps is None or helps[i]]
    refit = kinds.index(REFIT) if REFIT in kinds else 0  # 0 is never able
    if context.fits(points[0]):
        return refit if path.has_drift and refit in able else 0
    if refit in able and context.fits(points[refit]):
        return refit
    within = [i for i in able if context.fits(points[i])]
    if within:
        return min(within, key=lambda i: (points[i].distance, points[i].loss))
    return min(able, key=lambda i: points[i].loss, default=0)


def raise_limits(settings: StabilitySettings, deployed: Tree) -> StabilitySettings:
    """The settings, with as many leaves and questions on a path as the deployed tree has."""
    rules = settings.rules
    depth = None if rules.max_depth is None else max(rules.max_depth, deployed.depth)
    n_leaves = max(most_leaves(settings), deployed.n_leaves)
    return replace(settings, rules=replace(rules, max_depth=depth, max_leaf_nodes=n_leaves))


def _distances(deployed: Tree, settings: StabilitySettings) -> DistanceSettings:
    return distance_settings(settings, [deployed])


def _delivered(
    found: list[tuple[str, Tree]], deployed: Tree, leaves: LeafValues, settings: StabilitySettings
) -> list[Tree]:
    """The trees as they could be deployed: new thresholds rounded, and leaf values as the settings say.

    The deployed tree, and trees that another method has made, are as they should be.
    """
    moved = [i for i, (kind, _) in enumerate(found) if kind in (REFIT, CHANGE, FRESH)]
    made = leaves.fit([_readable(found[i][1], deployed, leaves.rows.lesson) for i in moved], settings)
    trees = dict(zip(moved, made, strict=True))
    return [trees.get(i, tree) for i, (_, tree) in enumerate(found)]


def _deciding_like(tree: Tree, deployed: Tree) -> Tree:
    """The tree that predicts by the losses, or the threshold, of the deployed one."""
    return tree if deployed.loss_matrix is None else set_losses(tree, deployed.loss_matrix)


def _kept(tree: Tree, deployed: Tree, frozen: tuple[int, ...]) -> Tree:
    """The tree with the record of the edits of the deployed one, and with the values of its frozen leaves."""
    leaves = [node for node in frozen if deployed.feature[node] == LEAF]
    path, there = {node: number for number, node in number_paths(deployed).items()}, number_paths(tree)
    tree = keep_own_counts(tree) if leaves else tree
    value = tree.value.copy()
    for node in leaves:
        if path[node] in there:
            value[there[path[node]]] = deployed.value[node]
    kept = tree.replace(value=value, edits=tuple(replace(edit, stale=False) for edit in deployed.edits))
    return update_edit_notes(enforce_monotonicity(kept, find_common_leaves(kept, deployed)))


def _readable(tree: Tree, deployed: Tree, lesson: DistillationTask) -> Tree:
    """The tree with round thresholds and questions whether values are recorded, but for splits of before."""
    known = set(zip(deployed.feature.tolist(), deployed.threshold.tolist(), strict=True))
    is_known = [each in known for each in zip(tree.feature.tolist(), tree.threshold.tolist(), strict=True)]
    threshold = tree.threshold
    if lesson.has_exact_thresholds:
        rounded = round_exactly(tree, lesson.table)
        threshold = np.where(is_known, threshold, rounded.threshold)
    # What the deployed tree has at the same place stays, and so do sets, whose thresholds are no numbers.
    own = number_paths(deployed)
    keep = [
        node
        for path, node in number_paths(tree).items()
        if tree.set_start[node] >= 0 or (path in own and is_same_split(deployed, own[path], tree, node))
    ]
    return lesson.ask_if_recorded(tree.replace(threshold=threshold), keep)


# -- Leaves keep their class unless the rows speak clearly for another one -----------------------------------

CLEAR = 0.9  # of the rows of a leaf that had one class before: that is the class of the leaf


def keep_leaf_classes(tree: Tree, deployed: Tree, rows: Taught, budget: float) -> Tree:
    """The tree with the classes of the deployed one, in as many leaves as the budget of squared error allows.

    For two classes; the cheapest leaves come first. Of other targets the tree is as it was.
    """
    if len(tree.schema.target.classes) != 2:
        return tree
    before = _classes_before(tree, deployed, rows)
    leaves = np.flatnonzero((tree.feature == LEAF) & (before >= 0) & (before != tree.outcome))
    tied = decision_threshold(tree, 1)
    cost = _weight(tree, rows)[leaves] * (tree.value[leaves, 1] - tied) ** 2
    order = leaves[np.argsort(cost, kind="stable")]
    kept = order[np.cumsum(np.sort(cost, kind="stable")) <= budget]
    if not len(kept):
        return tree
    value, outcome = tree.value.copy(), tree.outcome.copy()
    value[kept], outcome[kept] = (1.0 - tied, tied), before[kept]
    steady = set_outcome(tree.replace(value=freeze(value), given_outcome=None), outcome)
    return enforce_monotonicity(steady, find_common_leaves(steady, deployed))


def _classes_before(tree: Tree, deployed: Tree, rows: Taught) -> IntArray:
    """For every leaf the class that its rows had before, nearly all of them; -1 if there is none."""
    table = rows.lesson.table
    leaf, said = tree.apply(table), deployed.outcome[deployed.apply(table)]
    total = _weight(tree, rows)
    second = np.bincount(leaf, rows.lesson.weight * said, tree.n_nodes)
    share = second / np.maximum(total, np.finfo(np.float64).tiny)
    found = np.where(share >= CLEAR, 1, np.where(share <= 1.0 - CLEAR, 0, -1))
    return np.where(total > 0, found, -1).astype(np.int32)


def _weight(tree: Tree, rows: Taught) -> FloatArray:
    """The weight of the rows of every leaf, as the lesson counts them."""
    return np.bincount(tree.apply(rows.lesson.table), rows.lesson.weight, tree.n_nodes).astype(np.float64)
