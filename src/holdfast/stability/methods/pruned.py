"""Candidates from one pruning path: the tree of all rows at every size, each size scored on rows held out."""

from dataclasses import replace

import numpy as np

from holdfast.arrays import LongArray, without_last_digits
from holdfast.data.table import Table
from holdfast.errors import RulesError
from holdfast.growth.grow import grow_samples
from holdfast.growth.pruning.path import pruning_path
from holdfast.growth.sample import fixed_point_sample
from holdfast.growth.size.folds import Folds
from holdfast.growth.size.search import SizeSearch, path_scores, sizes_to_score, values_between
from holdfast.scoring.metric import Metric
from holdfast.stability.collection import Collection
from holdfast.stability.division import Division
from holdfast.stability.settings import Settings
from holdfast.stability.validation import Scores


def pruned_candidates(
    table: Table, division: Division, settings: Settings, metric: Metric, groups: LongArray | None
) -> tuple[Collection, Scores]:
    """The subtrees of the tree that is grown on all rows, and the scores of their sizes on rows held out.

    A size is scored by trees grown without the rows that they are scored on, each cut back at the same alpha;
    the trees that are handed out have seen all rows. `settings.n_estimators` is the most that there will be.
    """
    if settings.learner is not None:
        raise RulesError("candidates='pruned' prunes a tree of our own: leave learner=None.")
    rules = replace(settings.rules, ccp_alpha=0.0)
    fixed = fixed_point_sample(table, rules)
    whole = grow_samples(table, rules, fixed, [fixed.repeats], [settings.seed])[0]
    path = pruning_path(whole, rules.ccp_risk)
    places = sizes_to_score(path, settings.n_estimators)
    values = values_between(path)[places]
    times = tuple(rows.astype(np.int32) for rows in division.training)
    folds = Folds(table, groups, division.validation, times)
    search = SizeSearch(seed=settings.seed, n_jobs=settings.n_jobs)
    scores, error = path_scores(folds, rules, values, "ccp_alpha", metric, search)
    if division.is_cross_fitted:
        # The same rows are held out several times over: only folds of one division are independent.
        n_folds = 1 / float(np.mean([held_out.mean() for held_out in division.validation]))
        error = scores.std(axis=1, ddof=1) / np.sqrt(n_folds)
    collection = Collection(
        trees=tuple(path[int(place)] for place in places),
        combinations=tuple({"ccp_alpha": float(path.alphas[place])} for place in places),
        combination=np.arange(len(places)),
        division=np.zeros(len(places), np.int64),
    )
    mean = without_last_digits(scores.mean(axis=1))
    return collection, Scores(mean, error, mean, error, reliability=1.0)
