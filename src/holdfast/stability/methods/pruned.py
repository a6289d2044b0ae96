"""Candidates from one pruning path: the tree of all rows at every size, each size scored on rows held out."""

from dataclasses import replace

import numpy as np

from holdfast.arrays import FloatArray, without_last_digits
from holdfast.errors import ParameterError
from holdfast.growth.grow import grow_samples
from holdfast.growth.pruning.path import pruning_path
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import fixed_point_sample
from holdfast.growth.size.folds import Folds
from holdfast.growth.size.search import SizeSearch, path_scores, sizes_to_score, values_between
from holdfast.scoring.metric import Metric
from holdfast.stability.baseline import baseline_test
from holdfast.stability.collection import Collection, grow_references
from holdfast.stability.learners import learner_for
from holdfast.stability.methods.method import Grown, Method
from holdfast.stability.rows import PreparedRows
from holdfast.stability.settings import StabilitySettings
from holdfast.stability.validation import Scores


def pruned_candidates(rows: PreparedRows, settings: StabilitySettings, metric: Metric) -> Grown:
    """The subtrees of the tree that is grown on all rows, and the scores of their sizes on rows held out.

    A size is scored by trees grown without the rows that they are scored on, each cut back at the same alpha;
    the trees that are handed out have seen all rows. `settings.n_trees` is the most that there will be.
    """
    if settings.learner is not None:
        raise ParameterError("method='pruned' prunes a tree of our own: leave learner=None.")
    references = grow_references(learner_for(rows, settings), rows, settings)
    rules = replace(settings.rules, ccp_alpha=0.0)
    sample = fixed_point_sample(rows.table, rules)
    whole = grow_samples(rows.table, rules, sample, [sample.repeats], [settings.seed])[0]
    path = pruning_path(whole, rules.ccp_risk)
    sizes = sizes_to_score(path, settings.n_trees)
    candidates = Collection(
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
    return Grown(references, candidates, scores, baseline=baseline)


def _scores(
    alphas: FloatArray, rules: GrowthRules, rows: PreparedRows, settings: StabilitySettings, metric: Metric
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
    mean = without_last_digits(scores.mean(axis=1))
    return Scores(mean, error, mean, error, reliability=1.0)


PRUNED = Method(pruned_candidates)
