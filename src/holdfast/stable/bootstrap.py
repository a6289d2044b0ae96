"""Candidates on bootstrap samples, with honest scores: cross-fitted, leaves refitted, chance taken out."""

from dataclasses import replace

import numpy as np

from holdfast._arrays import FloatArray, round_last_digits
from holdfast.errors import ParameterError
from holdfast.growth.collections import Learner
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


def bootstrap_candidates(rows: TrainingSet, settings: StabilitySettings, metric: Metric) -> TrainedCandidates:
    """One candidate for each sample of training rows, scored on the rows that its division holds out."""
    learner = choose_learner(rows, settings)
    references = grow_references(learner, rows, settings)
    grown = grow_candidates(learner, rows, settings)
    candidates, scores, strength = _scored(grown, learner, rows, settings, metric)
    baseline = baseline_test(rows, metric, grown.by_division(rows.division))
    return TrainedCandidates(references, candidates, scores, strength=strength, baseline=baseline)


def _scored(
    grown: TreeCollection, learner: Learner, rows: TrainingSet, settings: StabilitySettings, metric: Metric
) -> tuple[TreeCollection, Scores, float | None]:
    """The candidates as they would be delivered, their scores, and how strongly their leaves are shrunk."""
    samples = [learner.leaf_sample(place) for place in grown.combination.tolist()]
    refit = samples if settings.refit_leaves else ()
    scoring = Scoring(metric, refit, settings.shrink_scores, settings.seed, settings.n_jobs)
    if settings.leaf_values == "shrunk":
        scoring = replace(scoring, strength=choose_shrinkage(grown, rows, scoring))
    scores = score_candidates(grown, rows, scoring)
    trees = list(grown.trees)
    if settings.refit_leaves:
        # Before the distances: a leaf that changes its mind is a step away from the reference trees.
        trees = refit_all_leaf_values(trees, rows.table, samples, n_jobs=settings.n_jobs)
    if scoring.strength is not None:
        trees = [shrink_tree(tree, scoring.strength) for tree in trees]
    return replace(grown, trees=tuple(trees)), scores, scoring.strength


BOOTSTRAP = Method(bootstrap_candidates)

# -- Candidates from one pruning path ------------------------------------------------------------------------


def pruned_candidates(rows: TrainingSet, settings: StabilitySettings, metric: Metric) -> TrainedCandidates:
    """The subtrees of the tree that is grown on all rows, and the scores of their sizes on rows held out.

    A size is scored by trees grown without the rows that they are scored on, each cut back at the same alpha;
    the trees that are handed out have seen all rows. `settings.n_trees` is the most that there will be.
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
    """The score of each alpha, by trees grown without the rows that they are scored on."""
    division = rows.division
    times = tuple(training.astype(np.int32) for training in division.training)
    folds = Folds(rows.table, rows.groups, division.validation, times)
    search = SizeSearch(random_state=settings.seed, n_jobs=settings.n_jobs)
    scores, error = path_scores(folds, rules, alphas, "ccp_alpha", metric, search)
    if division.is_cross_fitted:
        # The same rows are held out several times over: only folds of one division are independent.
        n_folds = 1 / float(np.mean([held_out.mean() for held_out in division.validation]))
        error = scores.std(axis=1, ddof=1) / np.sqrt(n_folds)
    mean = round_last_digits(scores.mean(axis=1))
    return Scores(mean, error, mean, error, reliability=1.0)


PRUNED = Method(pruned_candidates)
