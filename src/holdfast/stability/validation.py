"""The scores of all candidates on rows that they have not seen, made comparable."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import nan
from typing import NamedTuple

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, LongArray, without_last_digits
from holdfast.backends.tasks import LEAST_SHARED, run_all
from holdfast.data.split.groups import subset_groups
from holdfast.data.split.row_positions import assign_strata, random_positions, select_below
from holdfast.data.table import Table
from holdfast.errors import DataWarning
from holdfast.growth.leaf_values import refit_all_leaf_values
from holdfast.growth.sample import FixedPointSample
from holdfast.growth.shrinkage import shared_strength, shrink_tree
from holdfast.random_streams import Branch
from holdfast.scoring.metric import Metric, Score, TrueValues
from holdfast.scoring.predictions import predict_for_metric
from holdfast.stability.collection import Collection
from holdfast.stability.division import Division
from holdfast.stability.rows import PreparedRows
from holdfast.tree.tree import Tree

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


def score_candidates(candidates: Collection, rows: PreparedRows, scoring: Scoring) -> Scores:
    """The score of every candidate on its validation rows, and the best guess that follows from all of them.

    With several divisions, what their rows make easier or harder is taken out. Then each score moves towards
    the mean of the candidates with the same parameters, as far as the differences between them are chance.
    """
    _warn_of_one_class(rows.table, rows.division, scoring.metric)
    found = _measure_all(candidates, rows, scoring)
    measured, error = np.array([each.whole for each in found]).T
    measured = without_last_digits(measured)
    halves = np.array([each.halves for each in found])
    value = without_division_effects(measured, candidates.combination, candidates.division)
    reliability = 1.0
    if scoring.shrink:
        reliability = reliability_of(value, halves, candidates.combination, candidates.division)
    deviation = _deviations(value, candidates.combination)
    # A tree that did well on hard rows is as good as the best that was seen, and no better.
    guess = np.clip(value - (1 - reliability) * deviation, measured.min(), measured.max())
    return Scores(
        value=without_last_digits(np.asarray(guess, np.float64)),
        error=_guess_error(error, deviation, reliability, candidates, rows.division),
        measured=measured,
        measured_error=error,
        reliability=reliability,
    )


def _warn_of_one_class(table: Table, division: Division, metric: Metric) -> None:
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


def _measure_all(candidates: Collection, rows: PreparedRows, scoring: Scoring) -> list[_Measured]:
    """Each candidate on the rows that its division holds out."""
    found: dict[int, _Measured] = {}
    for number, own, trees in _by_division(candidates, rows, scoring):
        if scoring.strength is not None:
            trees = [shrink_tree(tree, scoring.strength) for tree in trees]
        found |= zip(own, _measure_division(trees, rows, number, scoring), strict=True)
    return [found[place] for place in range(len(candidates))]


def _by_division(
    candidates: Collection, rows: PreparedRows, scoring: Scoring
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


def strength_of(candidates: Collection, rows: PreparedRows, scoring: Scoring) -> float:
    """The strength of shrinkage that the rows held out speak for, of all candidates together."""
    pairs = [
        (tree, rows.division.validation[number])
        for number, _, trees in _by_division(candidates, rows, scoring)
        for tree in trees
    ]
    return shared_strength(rows.table, pairs)


def _measure_division(
    trees: list[Tree], rows: PreparedRows, number: int, scoring: Scoring
) -> list[_Measured]:
    """The scores of the trees that belong to one division."""
    held_out = rows.division.validation[number]
    table, groups = rows.table.subset(held_out), subset_groups(rows.groups, held_out)
    stream = (scoring.seed, Branch.VALIDATION_HALVES, number)
    half = select_below(random_positions(assign_strata(table), rows.units.keys[held_out], stream), 0.5)
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
    error: FloatArray, deviation: FloatArray, reliability: float, candidates: Collection, division: Division
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


def without_division_effects(score: FloatArray, combination: LongArray, division: LongArray) -> FloatArray:
    """The scores with what the rows of each division make easier or harder taken out.

    Trees that were scored on different rows can be compared only if easy rows are no merit. Each score is
    taken as the sum of what its combination and its division bring, and a rest; the effect of the division is
    replaced by the mean of all. With few trees a combination meets few divisions, and the two effects cannot
    be told apart: the scores then promise too much.

    >>> combination, division = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    >>> without_division_effects(np.array([0.8, 0.9, 0.6, 0.7]), combination, division)
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


def reliability_of(
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
        _deviations(without_division_effects(half[known], kinds, division[known]), kinds) for half in halves.T
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
