"""Many trees on bootstrap samples of the early rows, or of all: reference trees and candidate trees."""

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
from holdfast.growth.rules import CLASS_CRITERIA, GrowthRules, is_for_numbers, resolve_min_rows
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
        """The rows that each division holds out, and the trees grown without them."""
        return [
            (held_out, [self.trees[place] for place in np.flatnonzero(self.division == number).tolist()])
            for number, held_out in enumerate(division.validation)
        ]

    def __repr__(self) -> str:
        return f"<Collection: {len(self)} trees, {len(self.combinations)} combinations>"


def grow_references(learner: Learner, rows: TrainingSet, settings: StabilitySettings) -> TreeCollection:
    """The reference trees: on samples of the early rows that are learnt from."""
    return grow_collection(
        learner,
        rows.division.early_training,
        settings.n_trees,
        units=rows.units,
        seed=(settings.seed, Branch.REFERENCE_TREES),
        n_jobs=settings.n_jobs,
        progress="Reference trees" if settings.verbose else "",
    )


def grow_candidates(learner: Learner, rows: TrainingSet, settings: StabilitySettings) -> TreeCollection:
    """The candidate trees: on samples of all rows that are learnt from."""
    return grow_collection(
        learner,
        rows.division.training,
        settings.n_trees,
        units=rows.units,
        seed=(settings.seed, Branch.CANDIDATE_TREES),
        n_jobs=settings.n_jobs,
        progress="Candidate trees" if settings.verbose else "",
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
    """Trees on bootstrap samples of the rows that each division of them allows.

    Combinations and divisions take turns, so that all of them serve about equally often. Tree i depends on
    the seed, a number and that of the collection, and on i, never on the number of jobs.
    """
    check_jobs(n_jobs)
    n_combinations = len(learner.combinations)
    number = np.arange(n_estimators)
    combination = number % n_combinations
    division = (combination + number // n_combinations) % len(rows)  # each combination meets them all in turn
    allowed = [freeze((learner.repeats * flags).astype(np.int32)) for flags in rows]
    task = partial(_grown, learner, allowed, division, units, seed)
    size = max(1, ROWS_PER_TASK // len(learner.repeats))
    tasks = [
        (place, run)
        for place in range(n_combinations)
        for run in make_batches(number[combination == place].tolist(), size)
    ]
    parts = run_all(task, tasks, n_jobs, progress=progress, kept="Trees")
    grown = {
        index: tree
        for (_, run), trees in zip(tasks, parts, strict=True)
        for index, tree in zip(run, trees, strict=True)
    }
    trees = tuple(grown[index] for index in range(n_estimators))
    for note in dict.fromkeys(note for tree in trees for note in tree.notes):
        warnings.warn(note, GrowthWarning, stacklevel=2)
    return TreeCollection(trees, tuple(learner.combinations), combination, division)


def _grown(
    learner: Learner,
    allowed: Sequence[IntArray],
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
            own, draw_all_counts(allowed[place], units, [(*seed, index) for index in own]), strict=True
        )
    samples = [drawn[index] for index in run]
    # One step further down the same branch of the seed: not the numbers that drew the sample.
    seeds = derive_seeds([(*seed, index, 0) for index in run])
    return learner.trees(combination, samples, seeds)


# -- What grows the trees of a collection --------------------------------------------------------------------


def choose_learner(rows: TrainingSet, settings: StabilitySettings) -> Learner:
    """The learner that the settings ask for, with all combinations of the grid."""
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
    """The paper's grid, as far as the fewest early rows of any division leave room for it."""
    repeats, _ = split_weight(rows.table.weight, rows.table.n_rows)
    n_early = min(int(repeats[early].sum()) for early in rows.division.early_training)
    rules = settings.rules
    return paper_grid(rules.max_depth, n_early, resolve_min_rows(rules.min_samples_leaf, n_early))


@dataclass(frozen=True, eq=False)
class ForeignLearner:
    """Grows trees with a function of rows, labels and a seed that returns a model."""

    table: Table
    matrix: FloatArray
    repeats: IntArray
    importance: FloatArray | None
    fit: Callable[..., Any]
    parameters: Mapping[str, Any]  # of the learner, before a combination changes some
    combinations: tuple[Combination, ...]
    numbered: bool = False  # the learner takes the numbers of the classes instead of their labels

    def trees(self, combination: int, samples: Sequence[IntArray], seeds: Sequence[int]) -> list[Tree]:
        """The trees of the samples."""
        return [
            self._tree(self.combinations[combination], counts, seed)
            for counts, seed in zip(samples, seeds, strict=True)
        ]

    def leaf_sample(self, combination: int) -> FixedPointSample | None:
        """The rows, weighted as the learner weights them; None if its leaves are no means of theirs."""
        return self._leaf_samples[combination]

    @cached_property
    def _leaf_samples(self) -> list[FixedPointSample | None]:
        rules = [self._leaf_rules(combination) for combination in self.combinations]
        samples = iter(fixed_point_samples(self.table, [each for each in rules if each is not None]))
        return [None if each is None else next(samples) for each in rules]

    def _leaf_rules(self, combination: Combination) -> GrowthRules | None:
        parameters = {**self.parameters, **combination}
        is_classes = self.table.schema.target.is_classes
        criterion = parameters.get("criterion") or ("gini" if is_classes else "squared_error")
        if criterion not in CLASS_CRITERIA if is_classes else not is_for_numbers(criterion):
            return None
        return GrowthRules(criterion=criterion, class_weight=parameters.get("class_weight"))

    def _tree(self, combination: Combination, counts: IntArray, seed: int) -> Tree:
        rows = np.repeat(np.arange(len(counts)), counts)
        target = self.table.schema.target
        named = target.is_classes and not self.numbered
        y = label_array(target.classes)[self.table.target] if named else self.table.target
        weight = {} if self.importance is None else {"sample_weight": self.importance[rows]}
        model = self.fit(self.matrix[rows], y[rows], seed=seed, **weight, **combination)
        classes = target.classes if target.is_classes and self.numbered else None
        return as_tree(model, schema=self.table.schema, classes=classes)


def make_foreign_learner(table: Table, learner: Any, combinations: Sequence[Combination]) -> ForeignLearner:
    """A learner that fits clones of an estimator, or calls a function `learner(X, y, seed, **combination)`.

    X is a matrix of the columns, drawn rows repeated, with categories as their numbers in the schema; y are
    the labels or numbers. If the rows have weights that are not whole, `sample_weight` is passed as well. The
    function returns a Tree, or a model that `as_tree` reads.
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
    return ForeignLearner(
        table=table,
        matrix=table.rows(range(len(table.schema.columns))),
        repeats=repeats,
        importance=None if (importance == 1.0).all() else importance,
        fit=_Fitting(learner) if is_estimator else learner,
        parameters=learner.get_params(deep=False) if is_estimator else {},
        combinations=tuple(combinations),
        numbered=is_estimator and needs_integer_classes(learner),
    )


@dataclass(frozen=True)
class _Fitting:
    """An estimator as a function that fits a clone of it."""

    estimator: Any

    def __call__(
        self, X: FloatArray, y: Any, *, seed: int, sample_weight: Any = None, **parameters: Any
    ) -> Any:
        from sklearn.base import clone

        model = clone(self.estimator).set_params(**parameters)
        if "random_state" in model.get_params(deep=False):
            model.set_params(random_state=seed % 2**31)
        return model.fit(X, y) if sample_weight is None else model.fit(X, y, sample_weight=sample_weight)


# -- The scores of all candidates on rows that they have not seen, made comparable ---------------------------

ROUNDS = 50  # far more than a grid needs whose combinations meet all divisions


@dataclass(frozen=True)
class Scoring:
    """How candidates are scored."""

    metric: Metric
    refit: Sequence[FixedPointSample | None] = ()  # for every tree: leaves first take values from these rows
    shrink: bool = True
    seed: int = 0
    n_jobs: int | None = None
    strength: float | None = None  # in rows: leaves are then shrunk towards the nodes above


@dataclass(frozen=True, eq=False)
class Scores:
    """One entry for every candidate; greater is better."""

    value: FloatArray  # the best guess of what new rows would give
    error: FloatArray  # its standard error
    measured: FloatArray  # on the validation rows of the candidate
    measured_error: FloatArray  # its standard error
    reliability: float  # fraction of the variance between candidates grown alike that is more than chance


def score_candidates(candidates: TreeCollection, rows: TrainingSet, scoring: Scoring) -> Scores:
    """The score of every candidate on its validation rows, and the best guess that follows from all of them.

    With several divisions, what their rows make easier or harder is taken out. Then each score moves towards
    the mean of the candidates with the same parameters, as far as the differences between them are chance.
    """
    _warn_of_one_class(rows.table, rows.division, scoring.metric)
    found = _measure_all(candidates, rows, scoring)
    measured, error = np.array([each.whole for each in found]).T
    measured = round_last_digits(measured)
    halves = np.array([each.halves for each in found])
    value = remove_split_effects(measured, candidates.combination, candidates.division)
    reliability = 1.0
    if scoring.shrink:
        reliability = estimate_reliability(value, halves, candidates.combination, candidates.division)
    deviation = _deviations(value, candidates.combination)
    # A tree that did well on hard rows is as good as the best that was seen, and no better.
    guess = np.clip(value - (1 - reliability) * deviation, measured.min(), measured.max())
    return Scores(
        value=round_last_digits(np.asarray(guess, np.float64)),
        error=_guess_error(error, deviation, reliability, candidates, rows.division),
        measured=measured,
        measured_error=error,
        reliability=reliability,
    )


def _warn_of_one_class(table: Table, division: RowSplit, metric: Metric) -> None:
    is_one = [len(np.unique(table.target[rows])) < 2 for rows in division.validation]
    if metric.name == "auc" and any(is_one) and len(np.unique(table.target)) > 1:
        warnings.warn(
            f"In {sum(is_one)} of {len(is_one)} parts held out all rows have one class, where an AUC cannot "
            "be told and counts as 0.5. Hold out more rows at a time, or score by another metric.",
            DataWarning,
            stacklevel=2,
        )


# -- measuring ------------------------------------------------------------------------------------------


class _Measured(NamedTuple):
    whole: Score
    halves: tuple[float, float]  # on either half of the rows; NaN where that cannot be told


class _Part(NamedTuple):
    """Rows held out, and a division of them into halves."""

    table: Table
    true_values: TrueValues
    half: BoolArray
    halves: tuple[TrueValues, TrueValues] | None


def _measure_all(candidates: TreeCollection, rows: TrainingSet, scoring: Scoring) -> list[_Measured]:
    """Each candidate on the rows that its division holds out."""
    found: dict[int, _Measured] = {}
    for number, own, trees in _by_division(candidates, rows, scoring):
        if scoring.strength is not None:
            trees = [shrink_tree(tree, scoring.strength) for tree in trees]
        found |= zip(own, _measure_division(trees, rows, number, scoring), strict=True)
    return [found[place] for place in range(len(candidates))]


def _by_division(
    candidates: TreeCollection, rows: TrainingSet, scoring: Scoring
) -> Iterator[tuple[int, list[int], list[Tree]]]:
    """Of every division its number, and the places and trees of its candidates, leaves refitted."""
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


def choose_shrinkage(candidates: TreeCollection, rows: TrainingSet, scoring: Scoring) -> float:
    """The strength of shrinkage that the rows held out speak for, of all candidates together."""
    pairs = [
        (tree, rows.division.validation[number])
        for number, _, trees in _by_division(candidates, rows, scoring)
        for tree in trees
    ]
    return shared_strength(rows.table, pairs)


def _measure_division(trees: list[Tree], rows: TrainingSet, number: int, scoring: Scoring) -> list[_Measured]:
    """The scores of the trees that belong to one division."""
    held_out = rows.division.validation[number]
    table, groups = rows.table.subset(held_out), subset_groups(rows.groups, held_out)
    stream = (scoring.seed, Branch.VALIDATION_HALVES, number)
    half = select_below(draw_positions(assign_strata(table), rows.units.keys[held_out], stream), 0.5)
    part = _part(table, groups, half)
    n_jobs = scoring.n_jobs if part.table.n_rows >= LEAST_SHARED else 1
    return run_all(partial(_measured, part, scoring.metric), trees, n_jobs)


def _part(table: Table, groups: LongArray | None, half: BoolArray) -> _Part:
    true_values = TrueValues.of(table, groups)
    return _Part(
        table,
        true_values,
        half,
        None if half.all() else (true_values.subset(half), true_values.subset(~half)),
    )


def _measured(part: _Part, metric: Metric, tree: Tree) -> _Measured:
    predicted = predict_for_metric(metric, tree, part.table)
    whole = metric.score(predicted, part.true_values)
    if part.halves is None or metric.formula is None:  # a scorer that others wrote may need all the rows
        return _Measured(whole, (nan, nan))
    first, second = part.halves
    values = metric.value(predicted[part.half], first), metric.value(predicted[~part.half], second)
    return _Measured(whole, values)


# -- comparing ------------------------------------------------------------------------------------------


def _guess_error(
    error: FloatArray,
    deviation: FloatArray,
    reliability: float,
    candidates: TreeCollection,
    division: RowSplit,
) -> FloatArray:
    """The standard error of the best guess.

    The mean of a combination rests on all folds together; what is added for the tree itself is as uncertain
    as its deviation is no more than partly reliable. Scores as they were measured have the error they had.
    """
    if reliability == 1.0:
        return error
    n_folds = round(1 / float(np.mean([held_out.mean() for held_out in division.validation])))
    n_folds = n_folds if division.is_cross_fitted else 1
    of_mean = _means(error**2, candidates.combination)[candidates.combination] / n_folds
    spread = float(np.mean(deviation**2))
    return np.asarray(np.sqrt(of_mean + reliability * (1 - reliability) * spread), np.float64)


def remove_split_effects(score: FloatArray, combination: LongArray, division: LongArray) -> FloatArray:
    """The scores with what the rows of each division make easier or harder taken out.

    Trees that were scored on different rows can be compared only if easy rows are no merit. Each score is
    taken as the sum of what its combination and its division bring, and a rest; the effect of the division is
    replaced by the mean of all. With few trees a combination meets few divisions, and the two effects cannot
    be told apart: the scores then promise too much.

    >>> combination, division = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    >>> remove_split_effects(np.array([0.8, 0.9, 0.6, 0.7]), combination, division)
    array([0.7, 0.8, 0.7, 0.8])
    """
    if not division.any():
        return score
    of_combination = np.zeros(int(combination.max()) + 1)
    for _ in range(ROUNDS):  # least squares, one kind of effect after the other
        of_division = _means(score - of_combination[combination], division)
        of_combination = _means(score - of_division[division], combination)
    effects = of_division[division]
    return np.asarray(score - effects + effects.mean(), np.float64)


def estimate_reliability(
    value: FloatArray, halves: FloatArray, combination: LongArray, division: LongArray
) -> float:
    """Fraction of the variance of scores among candidates with the same parameters that is more than chance.

    What two halves of the rows agree on is no chance: their covariance, over the variance on all rows. It is
    1 where nothing can be told.
    """
    known = np.isfinite(halves).all(axis=1)
    if not known.any():
        return 1.0
    kinds = combination[known]
    a, b = (
        _deviations(remove_split_effects(half[known], kinds, division[known]), kinds) for half in halves.T
    )
    both = _deviations(value[known], kinds)
    variance, agreed = float((both * both).sum()), float((a * b).sum())
    if not (0 < variance < np.inf and np.isfinite(agreed)):
        return 1.0
    return float(np.clip(agreed / variance, 0.0, 1.0))


def _deviations(score: FloatArray, combination: LongArray) -> FloatArray:
    """How far each score is from the mean of its combination."""
    return np.asarray(score - _means(score, combination)[combination], np.float64)


def _means(values: FloatArray, kind: LongArray) -> FloatArray:
    return np.asarray(np.bincount(kind, values) / np.maximum(np.bincount(kind), 1), np.float64)


# -- What a method is ----------------------------------------------------------------------------------------


class Sizes(NamedTuple):
    """Candidates that were looked for with different numbers of leaves, each amid references of its size."""

    max_leaf_nodes: LongArray  # of each candidate: the most leaves that it may have
    student_loss: FloatArray  # of each candidate: see Frontier
    smaller_references: Mapping[int, TreeCollection]  # by the most leaves; the others are those of the most
    choice: SizeChoice | None = None  # where rows held out chose the most leaves
    teacher: Mapping[str, float] | None = None  # the weights of its parts, where rows held out chose these

    def references_of(self, candidate: int, largest: TreeCollection) -> TreeCollection:
        """The references of the candidate's size, the largest of which are given."""
        return self.smaller_references.get(int(self.max_leaf_nodes[candidate]), largest)


class TrainedCandidates(NamedTuple):
    """The candidates with their scores, and the reference trees that their distances are measured to."""

    references: TreeCollection
    candidates: TreeCollection
    scores: Scores
    teacher_loss: FloatArray | None = None  # of each candidate, for "consensus": see Frontier
    sizes: Sizes | None = None  # for "consensus"
    strength: float | None = None  # of shrinkage, in rows, where leaf values are shrunk
    baseline: BaselineTest | None = None  # against a constant; None where no rows are held out

    def references_of(self, candidate: int) -> TreeCollection:
        """The reference trees that a candidate is measured to: of consensus trees, those of its own size."""
        return self.references if self.sizes is None else self.sizes.references_of(candidate, self.references)

    def by_references(self) -> list[tuple[TreeCollection, LongArray]]:
        """Every collection of references, and the places of the candidates that are measured to it."""
        own = [self.references_of(place) for place in range(len(self.candidates))]
        collections = {id(each): each for each in own}
        return [
            (collection, np.array([place for place, each in enumerate(own) if each is collection], np.int64))
            for collection in collections.values()
        ]


@dataclass(frozen=True)
class Method:
    """One way to make candidates."""

    grow: Callable[[TrainingSet, StabilitySettings, Metric], TrainedCandidates]
    split_rows: Callable[[Table, StabilitySettings, RowMetadata], RowSplit] = split_rows
    reports_on_holdout: bool = False  # replications report the rows that a tree was chosen by
