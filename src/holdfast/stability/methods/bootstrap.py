"""Candidates on bootstrap samples, with honest scores: cross-fitted, leaves refitted, chance taken out."""

from dataclasses import replace

from holdfast.growth.leaf_values import refit_all_leaf_values
from holdfast.growth.learner import Learner
from holdfast.growth.shrinkage import shrink_tree
from holdfast.scoring.metric import Metric
from holdfast.stability.baseline import baseline_test
from holdfast.stability.collection import Collection, grow_candidates, grow_references
from holdfast.stability.learners import learner_for
from holdfast.stability.methods.method import Grown, Method
from holdfast.stability.rows import PreparedRows
from holdfast.stability.settings import StabilitySettings
from holdfast.stability.validation import Scores, Scoring, score_candidates, strength_of


def bootstrap_candidates(rows: PreparedRows, settings: StabilitySettings, metric: Metric) -> Grown:
    """One candidate for each sample of training rows, scored on the rows that its division holds out."""
    learner = learner_for(rows, settings)
    references = grow_references(learner, rows, settings)
    grown = grow_candidates(learner, rows, settings)
    candidates, scores, strength = _scored(grown, learner, rows, settings, metric)
    baseline = baseline_test(rows, metric, grown.by_division(rows.division))
    return Grown(references, candidates, scores, strength=strength, baseline=baseline)


def _scored(
    grown: Collection, learner: Learner, rows: PreparedRows, settings: StabilitySettings, metric: Metric
) -> tuple[Collection, Scores, float | None]:
    """The candidates as they would be delivered, their scores, and how strongly their leaves are shrunk."""
    samples = [learner.leaf_sample(place) for place in grown.combination.tolist()]
    refit = samples if settings.refit_leaves else ()
    scoring = Scoring(metric, refit, settings.shrink_scores, settings.seed, settings.n_jobs)
    if settings.leaf_values == "shrunk":
        scoring = replace(scoring, strength=strength_of(grown, rows, scoring))
    scores = score_candidates(grown, rows, scoring)
    trees = list(grown.trees)
    if settings.refit_leaves:
        # Before the distances: a leaf that changes its mind is a step away from the reference trees.
        trees = refit_all_leaf_values(trees, rows.table, samples, n_jobs=settings.n_jobs)
    if scoring.strength is not None:
        trees = [shrink_tree(tree, scoring.strength) for tree in trees]
    return replace(grown, trees=tuple(trees)), scores, scoring.strength


BOOTSTRAP = Method(bootstrap_candidates)
