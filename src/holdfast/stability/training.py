"""Stable trees, step by step: two collections, their distances, the scores, and the frontier."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from holdfast.arrays import LongArray
from holdfast.data.canonical_order import canonical
from holdfast.data.table import Table
from holdfast.distance.distances import distance_matrix
from holdfast.distance.settings import DistanceSettings, checked_outcome, settings_for
from holdfast.growth.leaf_values import refit_all_leaf_values
from holdfast.growth.learner import Learner, combinations_of, other_learner, own_learner, paper_grid
from holdfast.growth.rules import rows_needed
from holdfast.growth.sample import split_weight
from holdfast.scoring.metric import Metric, metric_of
from holdfast.stability.collection import Collection, grow_collection
from holdfast.stability.division import Division, divide
from holdfast.stability.frontier import Frontier, frontier_of
from holdfast.stability.methods.pruned import pruned_candidates
from holdfast.stability.settings import Settings
from holdfast.stability.validation import Scores, Scoring, score_candidates
from holdfast.tree.tree import Tree

# Branches of the seed. Others divide the rows.
REFERENCES, CANDIDATES = 10, 11


@dataclass(frozen=True, eq=False, repr=False)
class StableTrees:
    """Both collections, and what is known of every candidate.

    The candidates are as they would be delivered: with leaf values from all rows, if the settings say so.
    """

    references: Collection
    candidates: Collection
    frontier: Frontier
    metric: Metric
    distance_settings: DistanceSettings
    reliability: float  # of differences in score between candidates grown alike; 1 if none of them is chance

    def __repr__(self) -> str:
        trees = f"{len(self.references)} reference trees, {len(self.candidates)} candidates"
        return f"<StableTrees: {trees}, {self.frontier.efficient.sum()} efficient, {self.metric.title}>"


def train(
    table: Table,
    settings: Settings,
    *,
    stage: LongArray | None = None,
    groups: LongArray | None = None,
) -> StableTrees:
    """Reference trees on the early rows, candidate trees on all, and the frontier of the candidates.

    The order of the rows does not matter, a row with the weight 2 is the same as two rows, and copies of a
    row are never divided.
    """
    ready = prepare(table, settings, stage=stage, groups=groups)
    return train_divided(ready.table, ready.division, settings, groups=ready.groups)


class Prepared(NamedTuple):
    """Rows in one fixed order, and their roles."""

    table: Table
    stage: LongArray | None
    groups: LongArray | None  # as given, or else the copies of one row
    division: Division


def prepare(
    table: Table, settings: Settings, *, stage: LongArray | None = None, groups: LongArray | None = None
) -> Prepared:
    """The rows in one order, copies of a row as one, and divided as the settings say."""
    table, marks, units = canonical(table, [mark for mark in (stage, groups) if mark is not None])
    stage = None if stage is None else marks[0]
    groups = units if groups is None else marks[-1]
    division = divide(
        table,
        stage=stage,
        groups=groups,
        early_fraction=settings.early_fraction,
        validation=settings.validation,
        seed=settings.seed,
    )
    return Prepared(table, stage, groups, division)


def train_divided(
    table: Table, division: Division, settings: Settings, *, groups: LongArray | None = None
) -> StableTrees:
    """Stable trees on rows whose roles are given."""
    target = table.schema.target
    metric = metric_of(settings.scoring, target)
    checked_outcome(target, settings.matching, settings.label_weight, settings.outcome)
    learner = _learner(table, division, settings)
    grow = partial(
        grow_collection, learner, n_estimators=settings.n_estimators, groups=groups, n_jobs=settings.n_jobs
    )
    texts = ("Reference trees", "Candidate trees") if settings.progress else ("", "")
    references = grow(division.early_training, seed=(settings.seed, REFERENCES), progress=texts[0])
    if settings.candidates == "pruned":
        candidates, scores = pruned_candidates(table, division, settings, metric, groups)
    else:
        grown = grow(division.training, seed=(settings.seed, CANDIDATES), progress=texts[1])
        candidates, scores = _scored(grown, learner, table, division, settings, metric, groups)
    distance_settings = _distance_settings([*references.trees, *candidates.trees], learner, settings)
    distances = distance_matrix(
        candidates.trees,
        references.trees,
        **distance_settings.options,
        n_jobs=settings.n_jobs,
        progress=settings.progress,
    )
    frontier = replace(
        frontier_of(candidates, references, distances, scores, distance_settings), metric=metric
    )
    return StableTrees(references, candidates, frontier, metric, distance_settings, scores.reliability)


def _scored(
    grown: Collection,
    learner: Learner,
    table: Table,
    division: Division,
    settings: Settings,
    metric: Metric,
    groups: LongArray | None,
) -> tuple[Collection, Scores]:
    """The candidates as they would be delivered, and their scores."""
    samples = [learner.leaf_sample(place) for place in grown.combination.tolist()]
    refit = samples if settings.refit_leaves else ()
    scoring = Scoring(metric, refit, settings.shrink_scores, settings.seed, settings.n_jobs)
    scores = score_candidates(grown, table, division, groups, scoring)
    if not settings.refit_leaves:
        return grown, scores
    # Before the distances: a leaf that changes its mind is a step away from the reference trees.
    trees = refit_all_leaf_values(grown.trees, table, samples, n_jobs=settings.n_jobs)
    return replace(grown, trees=tuple(trees)), scores


def _learner(table: Table, division: Division, settings: Settings) -> Learner:
    grid = settings.grid
    if grid is None and (settings.learner is None or hasattr(settings.learner, "get_params")):
        repeats, _ = split_weight(table.weight, table.n_rows)
        n_early = min(int(repeats[rows].sum()) for rows in division.early_training)
        grid = paper_grid(
            settings.rules.max_depth, n_early, rows_needed(settings.rules.min_samples_leaf, n_early)
        )
        if settings.learner is not None:
            known = settings.learner.get_params(deep=False)
            grid = {name: values for name, values in grid.items() if name in known}
    combinations = combinations_of(grid or {})
    if settings.learner is None:
        return own_learner(table, settings.rules, combinations)
    return other_learner(table, settings.learner, combinations)


def _distance_settings(trees: Sequence[Tree], learner: Learner, settings: Settings) -> DistanceSettings:
    """The distance_settings of all distances, their depth the greatest that the grid allows, if it says."""
    allowed = [combination.get("max_depth") for combination in learner.combinations]
    deepest = max(tree.depth for tree in trees)
    depth = max([deepest, 1, *(depth for depth in allowed if depth is not None)])
    return settings_for(
        trees, settings.matching, settings.label_weight, settings.outcome, normalised=False, depth=depth
    )
