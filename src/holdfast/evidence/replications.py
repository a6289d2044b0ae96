"""The whole procedure again and again on other rows: what it gives on average, and how much that varies."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from holdfast._check import check_fraction, check_integer
from holdfast.arrays import BoolArray, FloatArray, LongArray
from holdfast.backends.tasks import run_all
from holdfast.data.canonical_order import fixed_order, unit_numbers
from holdfast.data.split.groups import read_groups, renumber_groups, subset_groups
from holdfast.data.split.row_keys import copies_as_groups
from holdfast.data.split.stages import read_stage
from holdfast.data.table import Table
from holdfast.distance.distances import distances_between
from holdfast.distance.settings import DistanceSettings
from holdfast.evidence.baselines import cart_by_cross_validation, grow_forest
from holdfast.evidence.replication_table import MODELS, Replications, Result
from holdfast.random_streams import Branch, derived_seed
from holdfast.scoring.metric import Metric, TrueValues, make_metric
from holdfast.scoring.predictions import predict_for_metric
from holdfast.stability.choice import SelectionRule, choose
from holdfast.stability.division import RowInfo, hold_out
from holdfast.stability.frontier import distance_per_rule
from holdfast.stability.settings import StabilitySettings
from holdfast.stability.training import StableTrees, method_of, train, train_divided
from holdfast.tree.tree import Tree

WITHIN_TOLERANCE = SelectionRule()
BEST_SCORE, MOST_STABLE = SelectionRule("best-score"), SelectionRule("most-stable")


def replicate(
    table: Table,
    settings: StabilitySettings,
    *,
    selection_rule: SelectionRule = WITHIN_TOLERANCE,
    stage: Any = None,
    groups: Any = None,
    n_replications: int = 10,
    test_fraction: float = 1 / 3,
) -> Replications:
    """Stable trees and two baselines, each trained and tested again on other rows every time.

    In every replication some rows are held out to test by: whole groups, and classes and stages in equal
    shares. All the others are trained on as `train` does, which keeps the rows to choose by apart; the
    baselines are CART by cross-validation and a random forest. The trees are scored as they are delivered.

    With `settings.method="paper"` it is the authors' own protocol: the test rows are a plainly random part,
    and they are also the holdout that a tree is chosen by. Such scores are too good: new data will give what
    the other methods report here.

    All distances are measured on the schema of the whole table. The same seed gives the same bits, in
    whatever order the rows come. Without a greatest depth, in a grid of one's own, the label weight is twice
    the depth of the deepest tree of each replication: give one.

    >>> patients = [[float(age)] for age in range(20, 80)]
    >>> table = Table.from_arrays(patients, ["no" if age < 50 else "yes" for (age,) in patients])
    >>> found = replicate(table, StabilitySettings(method="bootstrap", n_estimators=4), n_replications=2)
    >>> [row.n_leaves.mean for row in found.rows if row.n_leaves is not None]
    [2.0, 2.0, 2.0, 2.0]
    """
    _check(n_replications, test_fraction)
    plan = _plan(table, settings, selection_rule, stage, groups, test_fraction)
    text = "Replications" if settings.verbose else ""
    task, numbers = partial(_replication, plan), range(n_replications)
    found = run_all(task, numbers, settings.n_jobs, progress=text, kept="Replications")
    deepest = max((distance_settings for distance_settings, _ in found), key=lambda each: each.depth)
    results = tuple(result for _, results in found for result in results)
    metric = make_metric(settings.scoring, table.schema.target)
    return Replications(results, metric, deepest, _between(results, deepest, settings.n_jobs))


def _check(n_replications: Any, test_fraction: Any) -> None:
    check_integer("n_replications", n_replications)
    check_fraction("test_fraction", test_fraction)


# -- one replication ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Plan:
    """All that the replications share."""

    table: Table  # in one fixed order
    settings: StabilitySettings
    selection_rule: SelectionRule
    stage: LongArray | None
    groups: LongArray | None  # as given, or else the copies of one row
    test_fraction: float


def _plan(
    table: Table,
    settings: StabilitySettings,
    selection_rule: SelectionRule,
    stage: Any,
    groups: Any,
    test_fraction: float,
) -> _Plan:
    stage = None if stage is None else read_stage(stage, table.n_rows)
    groups = None if groups is None else read_groups(groups, table.n_rows)
    order = fixed_order(table, [values for values in (stage, groups) if values is not None])
    table = table.subset(order)
    stage = None if stage is None else stage[order]
    copies = unit_numbers(table, [] if stage is None else [stage]) if groups is None else None
    settings = replace(settings, n_jobs=1, verbose=False)  # the replications themselves share the cores
    known_groups = copies_as_groups(table, copies) if groups is None else groups[order]
    return _Plan(table, settings, selection_rule, stage, known_groups, test_fraction)


def _replication(plan: _Plan, number: int) -> tuple[DistanceSettings, list[Result]]:
    settings = replace(plan.settings, seed=derived_seed(plan.settings.seed, Branch.REPLICATIONS, number))
    is_one_holdout = method_of(settings.method).reports_on_holdout
    trained, test = (_run_on_one_holdout if is_one_holdout else _run_with_test_rows)(plan, settings)
    frontier, candidates = trained.frontier, trained.candidates.trees
    places = [
        choose(frontier, trained.metric, selection_rule).candidate
        for selection_rule in (BEST_SCORE, MOST_STABLE, plan.selection_rule)
    ]

    training, groups = plan.table.subset(~test), subset_groups(plan.groups, ~test)
    cart = cart_by_cross_validation(training, settings, groups=groups)
    forest = grow_forest(training, settings, groups=groups)
    trees = [*(candidates[place] for place in places), cart]
    measured_to = [*(trained.references_of(place).trees for place in places), trained.references.trees]
    figures = [_figures(*each, trained) for each in zip(trees, measured_to, strict=True)]
    for figure, place in zip(figures, places, strict=False):  # CART does not stand on the frontier
        figure["choosing_score"] = float(frontier.score[place])
        figure["measured_score"] = float(frontier.measured_score[place])
        figure["frontier_size"] = len(frontier.efficient_order)

    rows = plan.table.subset(test)
    score = partial(_score, trained.metric, TrueValues.of(rows, subset_groups(plan.groups, test)))
    results = [
        Result(number, model, score(predict_for_metric(trained.metric, tree, rows)), tree=tree, **figure)
        for model, tree, figure in zip(MODELS[:-1], trees, figures, strict=True)
    ]
    last = Result(number, MODELS[-1], score(forest.values(rows)), importances=forest.importances)
    return trained.distance_settings, [*results, last]


def _score(metric: Metric, true_values: TrueValues, values: FloatArray) -> float:
    return metric.value(values, true_values)


def _run_with_test_rows(plan: _Plan, settings: StabilitySettings) -> tuple[StableTrees, BoolArray]:
    """Stable trees that never saw the test rows, and these."""
    test = hold_out(plan.table, plan.test_fraction, stage=plan.stage, groups=plan.groups, seed=settings.seed)
    stage, groups = renumber_groups(plan.stage, ~test), subset_groups(plan.groups, ~test)
    return train(plan.table.subset(~test), settings, stage=stage, groups=groups), test


def _run_on_one_holdout(plan: _Plan, settings: StabilitySettings) -> tuple[StableTrees, BoolArray]:
    """Stable trees that were chosen by the test rows, and these."""
    settings = replace(settings, validation=plan.test_fraction)
    division = method_of(settings.method).divide(plan.table, settings, RowInfo(plan.stage, plan.groups))
    (test,) = division.validation
    return train_divided(plan.table, division, settings, groups=plan.groups), test


def _figures(tree: Tree, references: Sequence[Tree], trained: StableTrees) -> dict[str, Any]:
    """Where a tree stands among reference trees, how large it is, and what it asks about."""
    distances = distances_between([tree], references, trained.distance_settings, n_jobs=1)
    instability = float(distances.mean())
    return {
        "instability": instability,
        "normalised": replace(trained.distance_settings, normalised=True).total(instability),
        "per_rule": float(distance_per_rule(distances, [tree], references)[0]),
        "n_leaves": tree.n_leaves,
        "depth": tree.depth,
        "mean_path_length": tree.mean_path_length,
        "importances": tree.importances,
    }


# -- across replications --------------------------------------------------------------------------------


def _between(
    results: Sequence[Result], distance_settings: DistanceSettings, n_jobs: int | None
) -> dict[str, float]:
    """The mean distance between the trees of two replications, for every model that is a tree."""
    means = {}
    for model in MODELS[:-1]:
        trees = [result.tree for result in results if result.model == model and result.tree is not None]
        if len(trees) > 1:
            pairs = np.triu_indices(len(trees), 1)
            distances = distances_between(trees, None, distance_settings, n_jobs=n_jobs)
            means[model] = float(distances[pairs].mean())
    return means
