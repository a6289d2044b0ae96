"""AdaBoost of stumps by trying every question, in plain Python: the slow twin of `grow_adaboost`."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Value = float | str | None
Row = tuple[Value, ...]
TIED = 1e-10  # of the node's impurity: two questions that differ by less are equally good


@dataclass(frozen=True)
class Question:
    """A threshold, or a set of categories; None stands for missing values."""

    feature: int
    threshold: float | None
    categories: frozenset[Value]
    missing_left: bool

    def is_yes(self, row: Row) -> bool:
        """True if the row goes left."""
        value = row[self.feature]
        if value is None:
            return self.missing_left
        if isinstance(value, float) and self.threshold is not None:
            return value <= self.threshold
        return value in self.categories


@dataclass(frozen=True)
class Stump:
    """A question and the class on either side of it; without a question, one class for all."""

    question: Question | None
    left: str
    right: str
    error: float
    alpha: float

    def vote(self, row: Row) -> str:
        """The class that the stump votes for."""
        return self.left if self.question is None or self.question.is_yes(row) else self.right


def adaboost(rows: list[Row], labels: list[str], weights: list[float], n_rounds: int) -> list[Stump]:
    """The stumps of SAMME with a learning rate of 1, until one makes no mistake or is no good."""
    classes = sorted(set(labels))
    stumps: list[Stump] = []
    for _ in range(n_rounds):
        total = math.fsum(weights)
        weights = [weight / total for weight in weights]
        question = best_question(rows, labels, weights)
        sides = [[question is None or question.is_yes(row) for row in rows]]
        sides.append([not flag for flag in sides[0]])
        left, right = (majority(labels, weights, side, classes) for side in sides)
        votes = [left if flag else right for flag in sides[0]]
        error = math.fsum(
            weight for weight, vote, label in zip(weights, votes, labels, strict=True) if vote != label
        )
        if error == 0 or error >= 1 - 1 / len(classes) - 1e-9:
            break
        alpha = math.log((1 - error) / error) + math.log(len(classes) - 1)
        stumps.append(Stump(question, left, right, error, alpha))
        weights = [
            weight * (math.exp(alpha) if vote != label else 1.0)
            for weight, vote, label in zip(weights, votes, labels, strict=True)
        ]
    return stumps


def probabilities(stumps: list[Stump], row: Row, classes: list[str]) -> list[float]:
    """The softmax of the summed votes."""
    votes = [math.fsum(each.alpha for each in stumps if each.vote(row) == label) for label in classes]
    shares = [math.exp(vote - max(votes)) for vote in votes]
    return [share / sum(shares) for share in shares]


def best_question(rows: list[Row], labels: list[str], weights: list[float]) -> Question | None:
    """The question after which the Gini impurity is least; the first of those that are equally good."""
    everything = [True] * len(rows)
    whole = impurity(labels, weights, everything)
    found = []
    for question in questions(rows):
        yes = [question.is_yes(row) for row in rows]
        rest = [not flag for flag in yes]
        gain = whole - impurity(labels, weights, yes) - impurity(labels, weights, rest)
        found.append((gain, question))
    if not found or whole == 0:
        return None
    highest = max(gain for gain, _ in found)
    return next(question for gain, question in found if gain >= highest - TIED * whole)


def questions(rows: list[Row]) -> Iterator[Question]:
    """Every question that divides the rows, the first feature and the lowest threshold first."""
    for feature in range(len(rows[0])):
        known = {row[feature] for row in rows} - {None}
        any_missing = any(row[feature] is None for row in rows)
        if all(isinstance(value, float) for value in known):
            yield from thresholds(feature, sorted(known), any_missing)  # type: ignore[type-var]
        else:
            yield from sets(feature, sorted(known), any_missing)  # type: ignore[type-var]


def thresholds(feature: int, values: list[Any], any_missing: bool) -> Iterator[Question]:
    """Thresholds half-way between neighbours, missing values on either side; and: is the value known?"""
    for below, above in pairwise(values):
        for missing_left in (False, True) if any_missing else (False,):
            yield Question(feature, below / 2 + above / 2, frozenset(), missing_left)
    if any_missing and values:
        yield Question(feature, math.inf, frozenset(), False)


def sets(feature: int, values: list[Any], any_missing: bool) -> Iterator[Question]:
    """Every set that the first category belongs to; missing values are one more category."""
    first, *others = values + [None] * any_missing
    for pattern in range(2 ** len(others) - 1):
        chosen = {first} | {value for bit, value in enumerate(others) if pattern >> bit & 1}
        yield Question(feature, None, frozenset(chosen), None in chosen)


def impurity(labels: list[str], weights: list[float], inside: list[bool]) -> float:
    """Gini impurity of the rows inside, times their weight."""
    of_class = dict.fromkeys(labels, 0.0)
    for label, weight, flag in zip(labels, weights, inside, strict=True):
        of_class[label] += weight * flag
    total = sum(of_class.values())
    return total - sum(weight**2 for weight in of_class.values()) / total if total > 0 else 0.0


def majority(labels: list[str], weights: list[float], inside: list[bool], classes: list[str]) -> str:
    """The class of greatest weight among the rows inside; in a tie, the one of greatest weight among all."""
    best = classes
    for flags in (inside, [True] * len(inside)):
        of_class = {
            label: math.fsum(
                weight
                for own, weight, flag in zip(labels, weights, flags, strict=True)
                if flag and own == label
            )
            for label in best
        }
        best = [label for label in best if of_class[label] >= max(of_class.values()) - TIED]
    return best[0]
