"""Candidates on bootstrap samples with cross-fitted scores, and candidates from one pruning path."""

from dataclasses import replace

import numpy as np

from holdfast._arrays import FloatArray, round_last_digits
from holdfast.errors import ParameterError
from holdfast.growth.grow import grow_samples
from holdfast.growth.leaf_values import refit_all_leaf_values
from holdfast.growth.pruning import pruning_path
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import fixed_point_sample
from holdfast.growth.shrinkage import shrink_tree
from holdfast.growth.size_search import Folds, SizeSearch, path_scores, sizes_to_score, values_between
from holdfast.scoring.metric import Metric
from holdfast.stable.candidates import (
    Method,
    Scores,
    Scoring,
    TrainedCandidates,
    TreeCollection,
    choose_learner,
    choose_shrinkage,
    grow_candidates,
    grow_references,
    score_candidates,
)
from holdfast.stable.rows import TrainingSet, baseline_test
from holdfast.stable.settings import StabilitySettings


def train_bootstrap_candidates(
    rows: TrainingSet, settings: StabilitySettings, metric: Metric
) -> TrainedCandidates:
    """Grow one candidate on each sample of training rows, and score it on its held-out rows."""
    learner = choose_learner(rows, settings)
    references = grow_references(learner, rows, settings)
    grown = grow_candidates(learner, rows, settings)
    samples = [learner.leaf_sample(place) for place in grown.combination.tolist()]
    refit = samples if settings.refit_leaves else ()
    scoring = Scoring(metric, refit, settings.shrink_scores, settings.seed, settings.n_jobs)
    if settings.leaf_values == "shrunk":
        scoring = replace(scoring, shrinkage=choose_shrinkage(grown, rows, scoring))
    scores = score_candidates(grown, rows, scoring)
    trees = list(grown.trees)
    if settings.refit_leaves:
        # Before the distances are measured, which depend on the classes of the leaves.
        trees = refit_all_leaf_values(trees, rows.table, samples, n_jobs=settings.n_jobs)
    if scoring.shrinkage is not None:
        trees = [shrink_tree(tree, scoring.shrinkage) for tree in trees]
    baseline = baseline_test(rows, metric, grown.by_division(rows.division))
    candidates = replace(grown, trees=tuple(trees))
    return TrainedCandidates(references, candidates, scores, baseline, scoring.shrinkage)


BOOTSTRAP = Method(train_bootstrap_candidates)

# -- Candidates from one pruning path ------------------------------------------------------------------------


def train_pruned_candidates(
    rows: TrainingSet, settings: StabilitySettings, metric: Metric
) -> TrainedCandidates:
    """Grow a tree on all rows, take the subtrees of its pruning path, and score them on held-out rows.

    A size is scored by trees grown without the rows that they are scored on, each pruned at the same alpha;
    the candidates are grown on all rows. There are at most `settings.n_trees` of them.
    """
    if settings.learner is not None:
        raise ParameterError("method='pruned' prunes a tree of our own: leave learner=None.")
    references = grow_references(choose_learner(rows, settings), rows, settings)
    rules = replace(settings.rules, ccp_alpha=0.0)
    sample = fixed_point_sample(rows.table, rules)
    whole = grow_samples(rows.table, rules, sample, [sample.repeats], [settings.seed])[0]
    path = pruning_path(whole, rules.ccp_risk)
    sizes = sizes_to_score(path, settings.n_trees)
    candidates = TreeCollection(
        trees=tuple(path[size] for size in sizes.tolist()),
        combinations=tuple({"ccp_alpha": float(path.alphas[size])} for size in sizes),
        combination=np.arange(len(sizes)),
        division=np.zeros(len(sizes), np.int64),
    )
    alphas = values_between(path)[sizes]
    scores = _scores(alphas, rules, rows, settings, metric)
    samples = [sample.repeats * training for training in rows.division.training]
    grown = grow_samples(rows.table, rules, sample, samples, [settings.seed] * len(samples))
    paths = [pruning_path(tree, rules.ccp_risk) for tree in grown]
    trees = [[each[size] for size in sizes_to_score(each, settings.n_trees).tolist()] for each in paths]
    baseline = baseline_test(rows, metric, zip(rows.division.validation, trees, strict=True))
    return TrainedCandidates(references, candidates, scores, baseline=baseline)


def _scores(
    alphas: FloatArray, rules: GrowthRules, rows: TrainingSet, settings: StabilitySettings, metric: Metric
) -> Scores:
    """Score each alpha by trees grown without the rows that they are scored on."""
    division = rows.division
    times = tuple(training.astype(np.int32) for training in division.training)
    folds = Folds(rows.table, rows.groups, division.validation, times)
    search = SizeSearch(random_state=settings.seed, n_jobs=settings.n_jobs)
    scores, error = path_scores(folds, rules, alphas, "ccp_alpha", metric, search)
    if division.is_cross_fitted:
        # Only folds of one division are independent.
        error = scores.std(axis=1, ddof=1) / np.sqrt(division.n_folds)
    mean = round_last_digits(scores.mean(axis=1))
    return Scores(mean, error, mean, error, reliability=1.0)


PRUNED = Method(train_pruned_candidates)
