"""Reference trees and candidate trees on bootstrap samples, and the scores of the candidates."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import nan
from typing import Any, NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray, freeze, round_last_digits
from holdfast._random import Branch, derive_seeds
from holdfast._text import quoted
from holdfast.adapters import as_tree, needs_integer_classes
from holdfast.data.folds import assign_strata, draw_positions, select_below, subset_groups
from holdfast.data.resampling import Units, draw_all_counts
from holdfast.data.table import Table
from holdfast.errors import DataWarning, GrowthWarning, ParameterError
from holdfast.growth.collections import Combination, Learner, list_combinations, make_learner, paper_grid
from holdfast.growth.leaf_values import refit_all_leaf_values
from holdfast.growth.rules import (
    CLASS_CRITERIA,
    GrowthRules,
    default_criterion,
    is_for_numbers,
    resolve_min_rows,
)
from holdfast.growth.sample import FixedPointSample, fixed_point_samples, split_weight
from holdfast.growth.shrinkage import shared_strength, shrink_tree
from holdfast.parallel.tasks import LEAST_SHARED, ROWS_PER_TASK, check_jobs, make_batches, run_all
from holdfast.scoring.metric import Metric, Score, TrueValues, predict_for_metric
from holdfast.stable.consensus.size import SizeChoice
from holdfast.stable.rows import BaselineTest, RowMetadata, RowSplit, TrainingSet, split_rows
from holdfast.stable.settings import StabilitySettings
from holdfast.tree.tree import Tree, label_array


@dataclass(frozen=True, eq=False, repr=False)
class TreeCollection:
    """Trees grown by every combination of a grid, each on a bootstrap sample of its own."""

    trees: tuple[Tree, ...]
    combinations: tuple[Combination, ...]
    combination: LongArray  # which of them each tree was grown with
    division: LongArray  # which division of the rows its sample was drawn from

    def __len__(self) -> int:
        return len(self.trees)

    def by_division(self, division: RowSplit) -> list[tuple[BoolArray, list[Tree]]]:
        """Pair the rows that each division holds out with the trees grown without them."""
        return [
            (held_out, [self.trees[place] for place in np.flatnonzero(self.division == number).tolist()])
            for number, held_out in enumerate(division.validation)
        ]

    def __repr__(self) -> str:
        return f"<TreeCollection: {len(self)} trees, {len(self.combinations)} combinations>"


def grow_references(learner: Learner, rows: TrainingSet, settings: StabilitySettings) -> TreeCollection:
    """Grow the reference trees, on bootstrap samples of the early training rows."""
    branch, progress = Branch.REFERENCE_TREES, "Reference trees" if settings.verbose else ""
    return grow_collection(
        learner,
        rows.division.early_training,
        settings.n_trees,
        units=rows.units,
        seed=(settings.seed, branch),
        n_jobs=settings.n_jobs,
        progress=progress,
    )


def grow_candidates(learner: Learner, rows: TrainingSet, settings: StabilitySettings) -> TreeCollection:
    """Grow the candidate trees, on bootstrap samples of all training rows."""
    branch, progress = Branch.CANDIDATE_TREES, "Candidate trees" if settings.verbose else ""
    return grow_collection(
        learner,
        rows.division.training,
        settings.n_trees,
        units=rows.units,
        seed=(settings.seed, branch),
        n_jobs=settings.n_jobs,
        progress=progress,
    )


def grow_collection(
    learner: Learner,
    rows: Sequence[BoolArray],
    n_estimators: int,
    *,
    units: Units,
    seed: tuple[int, int] = (0, 0),
    n_jobs: int | None = None,
    progress: str = "",
) -> TreeCollection:
    """Grow trees on bootstrap samples of the rows of each division.

    Combinations and divisions take turns, so that all of them serve about equally often. Tree i depends on
    `seed` (random state and branch) and on i, never on the number of jobs.
    """
    check_jobs(n_jobs)
    n_combinations = len(learner.combinations)
    number = np.arange(n_estimators)
    combination = number % n_combinations
    division = (combination + number // n_combinations) % len(rows)  # each combination meets them all in turn
    counts = [freeze((learner.repeats * flags).astype(np.int32)) for flags in rows]
    task = partial(_grow, learner, counts, division, units, seed)
    size = max(1, ROWS_PER_TASK // len(learner.repeats))
    tasks = [
        (place, run)
        for place in range(n_combinations)
        for run in make_batches(number[combination == place].tolist(), size)
    ]
    parts = run_all(task, tasks, n_jobs, progress=progress, cache_name="Trees")
    grown = {
        index: tree
        for (_, run), trees in zip(tasks, parts, strict=True)
        for index, tree in zip(run, trees, strict=True)
    }
    trees = tuple(grown[index] for index in range(n_estimators))
    for note in dict.fromkeys(note for tree in trees for note in tree.notes):
        warnings.warn(note, GrowthWarning, stacklevel=2)
    return TreeCollection(trees, tuple(learner.combinations), combination, division)


def _grow(
    learner: Learner,
    counts: Sequence[IntArray],
    division: LongArray,
    units: Units,
    seed: tuple[int, int],
    task: tuple[int, Sequence[int]],
) -> list[Tree]:
    combination, run = task
    drawn: dict[int, IntArray] = {}
    for place in np.unique(division[run]).tolist():
        own = [index for index in run if division[index] == place]
        drawn |= zip(
            own, draw_all_counts(counts[place], units, [(*seed, index) for index in own]), strict=True
        )
    samples = [drawn[index] for index in run]
    # One step further down the same branch of the seed: not the numbers that drew the sample.
    seeds = derive_seeds([(*seed, index, 0) for index in run])
    return learner.trees(combination, samples, seeds)


# -- Learners ----------------------------------------------------------------------------------------------


def choose_learner(rows: TrainingSet, settings: StabilitySettings) -> Learner:
    """Make the learner of the settings, with all combinations of the grid."""
    grid, learner = settings.grid, settings.learner
    if grid is None and (learner is None or hasattr(learner, "get_params")):
        grid = _default_grid(rows, settings)
        if learner is not None:
            known = learner.get_params(deep=False)
            grid = {name: values for name, values in grid.items() if name in known}
    if learner is not None and (settings.rules.loss_matrix, settings.rules.priors) != (None, None):
        raise ParameterError(
            "loss_matrix and priors are for trees of our own rules, and a learner is given: leave them "
            "None, or learner=None."
        )
    combinations = list_combinations(grid or {})
    if learner is None:
        rows.table.code(settings.n_jobs)
        return make_learner(rows.table, settings.rules, combinations)
    return make_foreign_learner(rows.table, learner, combinations)


def _default_grid(rows: TrainingSet, settings: StabilitySettings) -> dict[str, list[Any]]:
    """The paper's grid, restricted to leaf sizes that the smallest division of early rows allows."""
    repeats, _ = split_weight(rows.table.weight, rows.table.n_rows)
    n_early = min(int(repeats[early].sum()) for early in rows.division.early_training)
    rules = settings.rules
    return paper_grid(rules.max_depth, n_early, resolve_min_rows(rules.min_samples_leaf, n_early))


@dataclass(frozen=True, eq=False)
class ForeignLearner:
    """Grows trees with a function of rows, labels and a seed that fits a model."""

    table: Table
    matrix: FloatArray
    repeats: IntArray
    importance: FloatArray | None
    fit: Callable[..., Any]
    parameters: Mapping[str, Any]  # of the learner, before a combination changes some
    combinations: tuple[Combination, ...]
    takes_class_numbers: bool = False  # instead of labels

    def trees(self, combination: int, samples: Sequence[IntArray], seeds: Sequence[int]) -> list[Tree]:
        """The trees of the samples."""
        return [
            self._tree(self.combinations[combination], counts, seed)
            for counts, seed in zip(samples, seeds, strict=True)
        ]

    def leaf_sample(self, combination: int) -> FixedPointSample | None:
        """The rows with the weights of the learner; None if its leaf values are not means of the rows."""
        return self._leaf_samples[combination]

    @cached_property
    def _leaf_samples(self) -> list[FixedPointSample | None]:
        rules = [self._leaf_rules(combination) for combination in self.combinations]
        samples = iter(fixed_point_samples(self.table, [each for each in rules if each is not None]))
        return [None if each is None else next(samples) for each in rules]

    def _leaf_rules(self, combination: Combination) -> GrowthRules | None:
        parameters = {**self.parameters, **combination}
        is_classes = self.table.schema.target.is_classes
        criterion = parameters.get("criterion") or default_criterion(self.table.schema.target)
        if criterion not in CLASS_CRITERIA if is_classes else not is_for_numbers(criterion):
            return None
        return GrowthRules(criterion=criterion, class_weight=parameters.get("class_weight"))

    def _tree(self, combination: Combination, counts: IntArray, seed: int) -> Tree:
        rows = np.repeat(np.arange(len(counts)), counts)
        target = self.table.schema.target
        has_labels = target.is_classes and not self.takes_class_numbers
        y = label_array(target.classes)[self.table.target] if has_labels else self.table.target
        weight = {} if self.importance is None else {"sample_weight": self.importance[rows]}
        model = self.fit(self.matrix[rows], y[rows], seed=seed, **weight, **combination)
        classes = target.classes if target.is_classes and self.takes_class_numbers else None
        return as_tree(model, schema=self.table.schema, classes=classes)


def make_foreign_learner(table: Table, learner: Any, combinations: Sequence[Combination]) -> ForeignLearner:
    """Make a learner that fits clones of an estimator, or calls `learner(X, y, seed, **combination)`.

    X is a matrix of the columns, drawn rows repeated, with categories as their numbers in the schema; y are
    the labels or numbers. If the rows have weights that are not whole, `sample_weight` is passed as well; of
    times to an event, y are events divided by those expected, which are the weights. The function returns a
    Tree, or a model that `as_tree` reads.
    """
    if isinstance(learner, type):
        raise TypeError(f"learner is the class {learner.__name__}: give an instance, {learner.__name__}().")
    is_estimator = hasattr(learner, "fit") and hasattr(learner, "get_params")
    if not is_estimator and not callable(learner):
        raise TypeError(
            f"learner is a {type(learner).__name__}: it must be an estimator with fit, or a function "
            "learner(X, y, seed, **parameters) that returns a tree."
        )
    names = [feature.name for feature in table.schema.columns if feature.is_subset]
    if is_estimator and names:
        raise ParameterError(
            f"The learner {type(learner).__name__} would take the categories of {quoted(names)} for numbers. "
            "Leave learner=None, which splits them as sets, or give a function that encodes them."
        )
    repeats, importance = split_weight(table.weight, table.n_rows)
    if table.survival is not None:
        importance = importance * table.survival.exposure
    return ForeignLearner(
        table=table,
        matrix=table.rows(range(len(table.schema.columns))),
        repeats=repeats,
        importance=None if (importance == 1.0).all() else importance,
        fit=partial(_fit_clone, learner) if is_estimator else learner,
        parameters=learner.get_params(deep=False) if is_estimator else {},
        combinations=tuple(combinations),
        takes_class_numbers=is_estimator and needs_integer_classes(learner),
    )


def _fit_clone(
    estimator: Any, X: FloatArray, y: Any, *, seed: int, sample_weight: Any = None, **parameters: Any
) -> Any:
    from sklearn.base import clone

    model = clone(estimator).set_params(**parameters)
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=seed % 2**31)
    return model.fit(X, y) if sample_weight is None else model.fit(X, y, sample_weight=sample_weight)


# -- Scores of the candidates on held-out rows, made comparable ----------------------------------------------

ROUNDS = 50  # far more than needed where every combination occurs in every division


@dataclass(frozen=True)
class Scoring:
    """How candidates are scored."""

    metric: Metric
    refit: Sequence[FixedPointSample | None] = ()  # for every tree: rows that leaf values are refitted on
    shrink: bool = True
    seed: int = 0
    n_jobs: int | None = None
    shrinkage: float | None = None  # of leaf values towards the parent nodes, in rows


@dataclass(frozen=True, eq=False)
class Scores:
    """One entry for every candidate; greater is better."""

    value: FloatArray  # estimate of the score on new rows
    error: FloatArray  # its standard error
    measured: FloatArray  # on the validation rows of the candidate
    measured_error: FloatArray  # its standard error
    reliability: (
        float  # fraction of the variance among candidates with the same parameters that is not chance
    )


def score_candidates(candidates: TreeCollection, rows: TrainingSet, scoring: Scoring) -> Scores:
    """Score every candidate on its validation rows, and estimate from all scores that on new rows.

    With several divisions, the effects of their rows are removed. Then each score is shrunk towards the mean
    of the candidates with the same parameters, as far as the differences between them are chance.
    """
    _warn_of_one_class(rows.table, rows.division, scoring.metric)
    scores, halves = _measure(candidates, rows, scoring)
    measured, error = np.array(scores).T
    measured = round_last_digits(measured)
    value = remove_division_effects(measured, candidates.combination, candidates.division)
    reliability = 1.0
    if scoring.shrink:
        reliability = estimate_reliability(value, halves, candidates.combination, candidates.division)
    deviation = _deviations(value, candidates.combination)
    # An estimate is never beyond the best and the worst score measured.
    estimate = np.clip(value - (1 - reliability) * deviation, measured.min(), measured.max())
    return Scores(
        value=round_last_digits(np.asarray(estimate, np.float64)),
        error=_estimate_error(error, deviation, reliability, candidates, rows.division),
        measured=measured,
        measured_error=error,
        reliability=reliability,
    )


def _warn_of_one_class(table: Table, division: RowSplit, metric: Metric) -> None:
    is_one = [len(np.unique(table.target[rows])) < 2 for rows in division.validation]
    if metric.name == "auc" and any(is_one) and len(np.unique(table.target)) > 1:
        warnings.warn(
            f"In {sum(is_one)} of {len(is_one)} parts held out all rows have one class, where the AUC is "
            "undefined and counts as 0.5. Hold out more rows at a time, or score by another metric.",
            DataWarning,
            stacklevel=2,
        )


# -- measuring ------------------------------------------------------------------------------------------


def _measure(
    candidates: TreeCollection, rows: TrainingSet, scoring: Scoring
) -> tuple[list[Score], FloatArray]:
    """Score each candidate on the rows that its division holds out, and on either half of them."""
    measured: dict[int, tuple[Score, tuple[float, float]]] = {}
    for number, own, trees in _refit_by_division(candidates, rows, scoring):
        if scoring.shrinkage is not None:
            trees = [shrink_tree(tree, scoring.shrinkage) for tree in trees]
        held_out = rows.division.validation[number]
        table, groups = rows.table.subset(held_out), subset_groups(rows.groups, held_out)
        stream = (scoring.seed, Branch.VALIDATION_HALVES, number)
        half = select_below(draw_positions(assign_strata(table), rows.units.keys[held_out], stream), 0.5)
        true_values = TrueValues.of(table, groups)
        halves = None if half.all() else (true_values.subset(half), true_values.subset(~half))
        measure = partial(_measure_tree, scoring.metric, table, true_values, half, halves)
        n_jobs = scoring.n_jobs if table.n_rows >= LEAST_SHARED else 1
        measured |= zip(own, run_all(measure, trees, n_jobs), strict=True)
    in_order = [measured[place] for place in range(len(candidates))]
    return [score for score, _ in in_order], np.array([halves for _, halves in in_order])


def _refit_by_division(
    candidates: TreeCollection, rows: TrainingSet, scoring: Scoring
) -> Iterator[tuple[int, list[int], list[Tree]]]:
    """Yield for every division its number, and the places and trees of its candidates, leaves refitted."""
    for number in range(len(rows.division.validation)):
        own = np.flatnonzero(candidates.division == number).tolist()
        if not own:  # fewer trees than divisions
            continue
        trees = [candidates.trees[place] for place in own]
        if scoring.refit:
            samples = [scoring.refit[place] for place in own]
            training = rows.division.training[number]
            trees = refit_all_leaf_values(trees, rows.table, samples, rows=training, n_jobs=scoring.n_jobs)
        yield number, own, trees


def _measure_tree(
    metric: Metric,
    table: Table,
    true_values: TrueValues,
    half: BoolArray,
    halves: tuple[TrueValues, TrueValues] | None,
    tree: Tree,
) -> tuple[Score, tuple[float, float]]:
    """Score a tree on all rows and on either half of them; NaN where the halves cannot be scored."""
    predicted = predict_for_metric(metric, tree, table)
    whole = metric.score(predicted, true_values)
    if halves is None or metric.formula is None:  # a scorer of another library may need all the rows
        return whole, (nan, nan)
    return whole, (metric.value(predicted[half], halves[0]), metric.value(predicted[~half], halves[1]))


def choose_shrinkage(candidates: TreeCollection, rows: TrainingSet, scoring: Scoring) -> float:
    """Choose the strength of shrinkage on the rows held out, for all candidates together."""
    pairs = [
        (tree, rows.division.validation[number])
        for number, _, trees in _refit_by_division(candidates, rows, scoring)
        for tree in trees
    ]
    return shared_strength(rows.table, pairs)


# -- comparing ------------------------------------------------------------------------------------------


def _estimate_error(
    error: FloatArray,
    deviation: FloatArray,
    reliability: float,
    candidates: TreeCollection,
    division: RowSplit,
) -> FloatArray:
    """The standard error of the estimated scores.

    The mean of a combination rests on all folds together, and the deviation of a tree from it has the
    variance that partial reliability leaves. Scores without shrinkage keep their measured error.
    """
    if reliability == 1.0:
        return error
    n_folds = round(division.n_folds) if division.is_cross_fitted else 1
    mean_variance = _means(error**2, candidates.combination)[candidates.combination] / n_folds
    spread = float(np.mean(deviation**2))
    return np.asarray(np.sqrt(mean_variance + reliability * (1 - reliability) * spread), np.float64)


def remove_division_effects(score: FloatArray, combination: LongArray, division: LongArray) -> FloatArray:
    """Remove from scores the effects of the rows of each division.

    Trees that were scored on different rows are comparable only without the difficulty of these rows. Each
    score is modelled as the sum of effects of its combination and its division, and a rest; the effect of the
    division is replaced by the mean effect. With few trees a combination occurs in few divisions, the two
    effects are not separable, and the scores are optimistic.

    >>> combination, division = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    >>> remove_division_effects(np.array([0.8, 0.9, 0.6, 0.7]), combination, division)
    array([0.7, 0.8, 0.7, 0.8])
    """
    if not division.any():
        return score
    combination_effect = np.zeros(int(combination.max()) + 1)
    for _ in range(ROUNDS):  # least squares by alternating over the two kinds of effects
        division_effect = _means(score - combination_effect[combination], division)
        combination_effect = _means(score - division_effect[division], combination)
    effects = division_effect[division]
    return np.asarray(score - effects + effects.mean(), np.float64)


def estimate_reliability(
    value: FloatArray, halves: FloatArray, combination: LongArray, division: LongArray
) -> float:
    """Estimate the fraction of the variance among candidates with the same parameters that is not chance.

    It is the covariance of the scores on two halves of the rows, over their variance on all rows; 1 where it
    cannot be estimated.
    """
    known = np.isfinite(halves).all(axis=1)
    if not known.any():
        return 1.0
    kinds = combination[known]
    a, b = (
        _deviations(remove_division_effects(half[known], kinds, division[known]), kinds) for half in halves.T
    )
    both = _deviations(value[known], kinds)
    variance, covariance = float((both * both).sum()), float((a * b).sum())
    if not (0 < variance < np.inf and np.isfinite(covariance)):
        return 1.0
    return float(np.clip(covariance / variance, 0.0, 1.0))


def _deviations(score: FloatArray, combination: LongArray) -> FloatArray:
    """The deviation of each score from the mean of its combination."""
    return np.asarray(score - _means(score, combination)[combination], np.float64)


def _means(values: FloatArray, kind: LongArray) -> FloatArray:
    return np.asarray(np.bincount(kind, values) / np.maximum(np.bincount(kind), 1), np.float64)


# -- Methods -------------------------------------------------------------------------------------------------


class TrainedCandidates(NamedTuple):
    """The candidates with their scores, and the reference trees that their distances are measured to."""

    references: TreeCollection
    candidates: TreeCollection
    scores: Scores
    baseline: BaselineTest | None = None  # against a constant; None where no rows are held out
    shrinkage: float | None = None  # of leaf values, in rows; None if they are not shrunk
    # For "consensus", of each candidate: the losses of `Frontier`, and the most leaves that it may have
    teacher_loss: FloatArray | None = None
    student_loss: FloatArray | None = None
    max_leaf_nodes: LongArray | None = None
    smaller_references: Mapping[int, TreeCollection] = {}  # by the most leaves, if fewer than the most of all
    size_choice: SizeChoice | None = None  # where held-out rows chose the most leaves
    teacher_weights: Mapping[str, float] | None = None  # of the parts, where held-out rows chose them
    # For "consensus": node values of each reference tree, estimated from its own sample as candidates' are
    sample_values: tuple[FloatArray, ...] | None = None

    def by_references(self) -> list[tuple[TreeCollection, LongArray]]:
        """Every collection of references, and the places of the candidates that are measured to it."""
        own = [self.references] * len(self.candidates)
        if self.max_leaf_nodes is not None:
            sizes = self.max_leaf_nodes.tolist()
            own = [self.smaller_references.get(size, self.references) for size in sizes]
        collections = {id(each): each for each in own}
        return [
            (collection, np.array([place for place, each in enumerate(own) if each is collection], np.int64))
            for collection in collections.values()
        ]


@dataclass(frozen=True)
class Method:
    """One way to make candidates."""

    train: Callable[[TrainingSet, StabilitySettings, Metric], TrainedCandidates]
    split_rows: Callable[[Table, StabilitySettings, RowMetadata], RowSplit] = split_rows
    reports_on_holdout: bool = False  # replications report the rows that a tree was chosen by
