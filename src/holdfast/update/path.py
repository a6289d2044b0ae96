"""The path from a deployed tree to a fresh one: the trees that could be deployed next, nearest first.

`fit_update_path` fits a teacher to the new rows, searches for trees between the deployed tree and a fresh
student (`search`), gives them leaf values from new and old rows, and keeps those that no other beats in both
distance and fit. `choose_step` decides which of them is taken.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from holdfast._arrays import FloatArray, IntArray, LongArray, freeze
from holdfast._random import Branch
from holdfast.data.resampling import Units
from holdfast.data.table import Table
from holdfast.distance.costs import DistanceSettings
from holdfast.distance.distance import distances_between
from holdfast.explain.firmness import ReferenceTrees
from holdfast.growth.rounding import round_exactly
from holdfast.kernels.consensus.problem import MOST_PATH
from holdfast.parallel.tasks import run_cached
from holdfast.stable.consensus.distil import DistillationTask
from holdfast.stable.consensus.prior import Prior
from holdfast.stable.consensus.teacher import SEED
from holdfast.stable.consensus.train import (
    distance_settings,
    estimate_sample_values,
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

MARGIN = (
    1.1  # times its own loss: a student of predictions averaged with the tree's own explains a little more
)
SLACK = 1e-9  # of a loss: the same tree on the same rows must fit
# The kinds of options.
KEEP, REFIT, CHANGE, FRESH, RETRAIN, CANDIDATE = "keep", "refit", "change", "fresh", "retrain", "candidate"


class UpdateOption(NamedTuple):
    """A tree that could be deployed next, and how well it fits."""

    kind: str
    tree: Tree
    loss: float
    distance: float


class UpdatePath(NamedTuple):
    """The trees that could be deployed next, nearest first."""

    options: list[UpdateOption]
    all_options: list[UpdateOption]  # with those that others beat in both distance and fit
    has_drift: bool  # rates of leaves have clearly changed
    n_behind: float  # rows that an updated tree stands for
    references: ReferenceTrees | None = None  # what resampled new rows would have given


class UpdateContext(NamedTuple):
    """Settings and limits of an update."""

    settings: StabilitySettings
    update: UpdateSettings
    distances: DistanceSettings
    more: tuple[Tree, ...]  # trees whose splits may be used as well
    own_loss: float  # that the deployed tree may have without changing a split
    rule: SelectionRule = SelectionRule()
    loss_to_reach: float | None = None  # changes are searched up to this one where new leaf values suffice
    n_references: int = 0  # trees to grow on resampled new rows, for the firmness of an updated tree

    def max_loss(self, kind: str) -> float:
        """The greatest loss of an option of this kind."""
        return max(self.update.tolerance, self.own_loss if kind in (KEEP, REFIT) else 0.0)

    def fits(self, option: UpdateOption) -> bool:
        """True if the option fits well enough to be deployed."""
        return option.loss <= self.max_loss(option.kind) + SLACK


def fit_update_path(
    deployed: Tree, table: Table, groups: LongArray | None, context: UpdateContext
) -> UpdatePath:
    """Fit a teacher to the rows, and make the path from the deployed tree."""
    settings = raise_limits(context.settings, deployed)
    predictions = predict_teacher(table, groups, settings)
    return make_update_path(deployed, table, groups, predictions, context._replace(settings=settings))


def make_update_path(
    deployed: Tree, table: Table, groups: LongArray | None, predictions: FloatArray, context: UpdateContext
) -> UpdatePath:
    """Make the path from the deployed tree, given the predictions of a teacher of the rows."""
    update, settings = context.update, context.settings
    prior = Prior(deployed, update.prior_rows, update.n_carried)
    task = make_task(table, predictions, settings, prior)
    fixed = (*update.frozen, *prior.leaves_to_keep(table, task.repeats))
    search = UpdateSearch(
        task,
        deployed,
        task.grow_student().tree,
        context.distances,
        context.more,
        frozenset(path for path in find_paths_above(deployed, fixed) if path <= MOST_PATH),
        has_explicit_min=settings.rules.min_samples_leaf != 1,
    )
    discounts = prior.discounts(table, task.repeats)
    find = partial(
        _find_options,
        new_task=make_task(table, predictions, settings),
        prior=prior,
        discounts=discounts,
        groups=groups,
        context=context,
    )
    options = run_cached("Update", find, search)
    n_behind = prior.n_behind(table, task.repeats, discounts)
    references = None
    if context.n_references and update.strategy in ("nearest", REFIT):
        new_task = find.keywords["new_task"]
        references = _grow_references(task, new_task, prior, discounts, groups, context)
    has_drift = bool((discounts < 1).any())
    return UpdatePath(_select_efficient(options, context), options, has_drift, n_behind, references)


def choose_step(path: UpdatePath, context: UpdateContext, is_no_worse: Sequence[bool] | None = None) -> int:
    """Choose the nearest option that fits, and is no worse than keeping the tree.

    `is_no_worse` holds for every option the comparison with the deployed tree on held-out rows; None: there
    are none. A tree that fits is kept, or gets new leaf values where rates have clearly changed. If no option
    fits, the one that fits best is chosen among those that are no worse.
    """
    options = path.options
    kinds = [option.kind for option in options]
    if context.update.strategy != "nearest":
        return kinds.index(context.update.strategy)
    able = [i for i in range(1, len(options)) if is_no_worse is None or is_no_worse[i]]
    refit = kinds.index(REFIT) if REFIT in kinds else 0  # 0 is never able
    if context.fits(options[0]):
        return refit if path.has_drift and refit in able else 0
    if refit in able and context.fits(options[refit]):
        return refit
    within = [i for i in able if context.fits(options[i])]
    if within:
        return min(within, key=lambda i: (options[i].distance, options[i].loss))
    return min(able, key=lambda i: options[i].loss, default=0)


def allowed_loss(own_loss: float, n_rows: float, prior: float) -> float:
    """The loss on new rows at which a tree keeps its splits, given its loss on its own rows."""
    # The tree fits its own share of the averaged predictions: of its loss, the teacher's share is left.
    return own_loss * MARGIN * (n_rows / (n_rows + prior)) ** 2


def raise_limits(settings: StabilitySettings, deployed: Tree) -> StabilitySettings:
    """Allow at least the leaves and the depth of the deployed tree."""
    rules = settings.rules
    depth = None if rules.max_depth is None else max(rules.max_depth, deployed.depth)
    n_leaves = max(most_leaves(settings), deployed.n_leaves)
    return replace(settings, rules=replace(rules, max_depth=depth, max_leaf_nodes=n_leaves))


# -- The options ---------------------------------------------------------------------------------------------


def _find_options(
    search: UpdateSearch,
    *,
    new_task: DistillationTask,
    prior: Prior,
    discounts: FloatArray,
    groups: LongArray | None,
    context: UpdateContext,
) -> list[UpdateOption]:
    """Find the trees that the strategy allows, with leaf values, losses and distances.

    `new_task` holds the teacher's predictions alone, `discounts` what an old row counts for in every leaf of
    the deployed tree.
    """
    settings, update, deployed = context.settings, context.update, search.deployed
    kinds, trees = [KEEP, REFIT], [deployed, search.refitted]
    if update.strategy == "nearest":
        changed, fresh = _find_changes(search, update.tolerance, context.loss_to_reach)
        kinds += [CHANGE] * len(changed) + [FRESH] * len(fresh)
        trees += [*changed, *fresh]
    elif update.strategy == "retrain":
        kinds, trees = [*kinds, RETRAIN], [*trees, _retrain(search.task.table, groups, context)]
    elif update.strategy == "candidate":
        kinds, trees = (
            [*kinds, CANDIDATE],
            [*trees, _find_candidate(deployed, search.task.table, groups, context)],
        )
    # Losses are those of the splits: leaf values may follow the new rows faster.
    losses = [search.loss(tree) for tree in trees]
    # The deployed tree, and trees of another method, have their leaf values.
    places = [i for i, kind in enumerate(kinds) if kind in (REFIT, CHANGE, FRESH)]
    readable = [_make_readable(trees[i], deployed, new_task) for i in places]
    for i, tree in zip(places, fit_leaf_values(readable, new_task, settings), strict=True):
        trees[i] = prior.add_to(
            tree,
            new_task.table,
            new_task.repeats,
            discounts,
            has_teacher_values=settings.has_teacher_values,
        )
    for i in range(1, len(trees)):
        tree = trees[i]
        if deployed.loss_matrix is not None:
            tree = set_losses(tree, deployed.loss_matrix)
        trees[i] = _keep_frozen_leaves(tree, deployed, update.frozen)
    if settings.has_teacher_values:
        for i, (kind, loss) in enumerate(zip(kinds, losses, strict=True)):
            if kind in (REFIT, CHANGE):
                budget = (context.max_loss(kind) - loss) * search.explained
                trees[i] = keep_leaf_classes(trees[i], deployed, search.task, budget)
    distances = distances_between(trees, [deployed], context.distances)[:, 0].tolist()
    return [UpdateOption(*each) for each in zip(kinds, trees, losses, distances, strict=True)]


def _find_changes(
    search: UpdateSearch, tolerance: float, loss_to_reach: float | None
) -> tuple[list[Tree], list[Tree]]:
    """Find the trees after each step, the nearest within the tolerance, and the fresh tree."""
    if loss_to_reach is not None and search.loss(search.refitted) <= tolerance:
        tolerance = min(tolerance, loss_to_reach)
    steps = search.steps(tolerance)
    fresh = [] if search.fixed_paths else [search.student]
    nearest = None
    if search.loss(search.refitted) > tolerance:
        nearest = search.find_nearest(tolerance, [steps[-1], *fresh])
    return [*steps[1:], *([] if nearest is None else [nearest])], fresh


def _retrain(table: Table, groups: LongArray | None, context: UpdateContext) -> Tree:
    """Train a stable tree without regard to the deployed one."""
    trained = train(table, context.settings, groups=groups)
    choice = choose(trained.frontier, trained.metric, context.rule)
    return trained.candidates.trees[choice.candidate]


def _find_candidate(deployed: Tree, table: Table, groups: LongArray | None, context: UpdateContext) -> Tree:
    """Find the bootstrap tree nearest to the deployed one whose score is within the tolerance of the best."""
    settings = context.settings
    validation = "auto" if settings.validation is None else settings.validation
    settings = replace(
        settings, method="bootstrap", tolerance=None, validation=validation, is_size_open=False
    )
    trained = train(table, settings, groups=groups)
    frontier, trees = trained.frontier, trained.candidates.trees
    loss = context.update.tolerance * (abs(frontier.score.max()) if trained.metric.is_loss else 1.0)
    near = np.flatnonzero(frontier.score >= frontier.score.max() - loss - 1e-12)
    distances = distances_between(
        [trees[i] for i in near], [deployed], distance_settings(settings, [deployed])
    )[:, 0]
    return trees[int(near[int(distances.argmin())])]


def _select_efficient(options: list[UpdateOption], context: UpdateContext) -> list[UpdateOption]:
    """Order the options by distance, without those that another beats in both distance and fit.

    The deployed tree as it is comes first. The option of the strategy and the fresh tree always stay; so does
    the tree with new leaf values where the deployed tree fits, because then nothing else may be taken.
    """
    always = {KEEP, FRESH, context.update.strategy}
    if any(option.kind == KEEP and context.fits(option) for option in options):
        always.add(REFIT)
    kept: list[UpdateOption] = []
    for option in sorted(options, key=lambda each: (each.distance, each.loss, each.kind == CHANGE)):
        is_better = all(option.loss < other.loss for other in kept if other.kind != KEEP)
        if is_better or option.kind in always:
            kept.append(option)
    return sorted(kept, key=lambda option: option.kind != KEEP)


def _keep_frozen_leaves(tree: Tree, deployed: Tree, frozen: tuple[int, ...]) -> Tree:
    """Keep the values of the frozen leaves, and the record of the edits of the deployed tree."""
    leaves = [node for node in frozen if deployed.feature[node] == LEAF]
    path, node_at = {node: number for number, node in number_paths(deployed).items()}, number_paths(tree)
    tree = keep_own_counts(tree) if leaves else tree
    value = tree.value.copy()
    for node in leaves:
        if path[node] in node_at:
            value[node_at[path[node]]] = deployed.value[node]
    kept = tree.replace(value=value, edits=tuple(replace(edit, stale=False) for edit in deployed.edits))
    return update_edit_notes(enforce_monotonicity(kept, find_common_leaves(kept, deployed)))


def _make_readable(tree: Tree, deployed: Tree, task: DistillationTask) -> Tree:
    """Round new thresholds, and add splits on recorded values; those of the deployed tree stay."""
    old = set(zip(deployed.feature.tolist(), deployed.threshold.tolist(), strict=True))
    is_old = [each in old for each in zip(tree.feature.tolist(), tree.threshold.tolist(), strict=True)]
    threshold = tree.threshold
    if task.has_exact_thresholds:
        rounded = round_exactly(tree, task.table)
        threshold = np.where(is_old, threshold, rounded.threshold)
    # Splits of the deployed tree at the same place stay, and so do sets, which have no thresholds.
    own = number_paths(deployed)
    keep = [
        node
        for path, node in number_paths(tree).items()
        if tree.set_start[node] >= 0 or (path in own and is_same_split(deployed, own[path], tree, node))
    ]
    return task.add_recorded_splits(tree.replace(threshold=threshold), keep)


def _grow_references(
    task: DistillationTask,
    new_task: DistillationTask,
    prior: Prior,
    discounts: FloatArray,
    groups: LongArray | None,
    context: UpdateContext,
) -> ReferenceTrees:
    """Distil reference trees from bootstrap samples of the new rows, with the rows behind the deployed tree.

    The old rows are not stored, and so are the same for all samples.
    """
    settings, table = context.settings, task.table
    sampled = replace(task, coarse=replace(task.coarse)).grow_students(
        Units.of(table, groups), (SEED, Branch.STUDENTS), context.n_references, settings.n_jobs, ""
    )
    trees = [each.prune_to_leaves(most_leaves(settings)) for each in sampled]
    values = estimate_sample_values(new_task.refit(trees), new_task, groups, settings, settings.shrinkage)
    trees = fit_leaf_values(trees, new_task, settings)
    known = [
        prior.add_to(
            tree.replace(value=value),
            table,
            task.repeats,
            discounts,
            has_teacher_values=settings.has_teacher_values,
        ).value
        for tree, value in zip(trees, values, strict=True)
    ]
    return ReferenceTrees.of(trees, known)


# -- Leaves keep their class unless the new rows clearly support another one ---------------------------------

CLEAR = (
    0.9  # of the rows of a leaf with one class in the deployed tree: that class is the leaf's former class
)


def keep_leaf_classes(tree: Tree, deployed: Tree, task: DistillationTask, budget: float) -> Tree:
    """Keep the classes of the deployed tree in as many leaves as a budget of squared error allows.

    For two classes; the leaves that cost least come first. Trees of other targets do not change.
    """
    if len(tree.schema.target.classes) != 2:
        return tree
    leaf = tree.apply(task.table)
    weight = np.bincount(leaf, task.weight, tree.n_nodes).astype(np.float64)
    before = _find_former_classes(deployed, leaf, weight, task)
    leaves = np.flatnonzero((tree.feature == LEAF) & (before >= 0) & (before != tree.outcome))
    threshold = decision_threshold(tree, 1)
    cost = weight[leaves] * (tree.value[leaves, 1] - threshold) ** 2
    order = leaves[np.argsort(cost, kind="stable")]
    kept = order[np.cumsum(np.sort(cost, kind="stable")) <= budget]
    if not len(kept):
        return tree
    value, outcome = tree.value.copy(), tree.outcome.copy()
    value[kept], outcome[kept] = (1.0 - threshold, threshold), before[kept]
    steady = set_outcome(tree.replace(value=freeze(value), given_outcome=None), outcome)
    return enforce_monotonicity(steady, find_common_leaves(steady, deployed))


def _find_former_classes(
    deployed: Tree, leaf: IntArray, weight: FloatArray, task: DistillationTask
) -> IntArray:
    """Find for every leaf the class that nearly all of its rows have in the deployed tree; -1 if none."""
    outcome = deployed.outcome[deployed.apply(task.table)]
    second = np.bincount(leaf, task.weight * outcome, len(weight))
    share = second / np.maximum(weight, np.finfo(np.float64).tiny)
    classes = np.where(share >= CLEAR, 1, np.where(share <= 1.0 - CLEAR, 0, -1))
    return np.where(weight > 0, classes, -1).astype(np.int32)
