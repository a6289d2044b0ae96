"""Loss matrices and class priors, as in rpart.

A loss matrix holds the cost of predicting one class for a row of another. Priors are the fractions of the
classes at the root.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from holdfast._arrays import FloatArray
from holdfast._check import is_number
from holdfast._text import quoted
from holdfast.data.schema import Label
from holdfast.errors import ParameterError

LossMatrix = Mapping[tuple[Label, Label], float] | Sequence[Sequence[float]] | None
Priors = Mapping[Label, float] | Sequence[float] | None

DEFAULT_LOSS = 1.0  # of a pair of classes that a mapping does not name
TOLERANCE = 1e-6  # of the sum of priors


def parse_loss_matrix(loss_matrix: Any) -> LossMatrix:
    """Convert losses to a mapping from pairs of classes or to rows of numbers.

    >>> parse_loss_matrix([[0, 1], [5, 0]])
    ((0.0, 1.0), (5.0, 0.0))
    """
    if loss_matrix is None:
        return None
    if isinstance(loss_matrix, Mapping):
        for pair in loss_matrix:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ParameterError(
                    f"loss_matrix has the key {pair!r}: write the true class and the predicted one, as in "
                    "{('bad', 'good'): 5}."
                )
        return {pair: _check_loss(loss, f"of {pair!r}") for pair, loss in loss_matrix.items()}
    try:
        rows = [list(row) for row in loss_matrix]
    except TypeError:
        rows = []
    if len(rows) < 2 or any(len(row) != len(rows) for row in rows):
        shape = (
            f"{len(rows)} rows of {quoted(sorted({len(row) for row in rows}))} numbers" if rows else "none"
        )
        raise ParameterError(
            f"loss_matrix has the shape {shape}: give a square one, a row and a column for each class, or a "
            "mapping such as {('bad', 'good'): 5}."
        )
    matrix = tuple(
        tuple(_check_loss(loss, f"at ({i}, {j})") for j, loss in enumerate(row)) for i, row in enumerate(rows)
    )
    _check_diagonal(matrix)
    return matrix


def _check_loss(loss: Any, where: str) -> float:
    if not is_number(loss) or not 0.0 <= float(loss) < math.inf:
        raise ParameterError(f"loss_matrix {where} is {loss!r}: a loss is a number of at least 0.")
    return float(loss)


def _check_diagonal(matrix: Sequence[Sequence[float]]) -> None:
    for place, row in enumerate(matrix):
        if row[place] != 0.0:
            raise ParameterError(
                f"loss_matrix at ({place}, {place}) is {row[place]!r}: the right class costs nothing, so the "
                "diagonal must be 0."
            )
        if not any(row):
            raise ParameterError(
                f"loss_matrix has only zeros in row {place}: an error on a row of that class must cost "
                "something."
            )


def parse_priors(priors: Any) -> Priors:
    """Convert priors to a mapping from classes or to a tuple; a ParameterError if they do not sum to 1.

    >>> parse_priors({"bad": 0.2, "good": 0.8})
    {'bad': 0.2, 'good': 0.8}
    """
    if priors is None:
        return None
    if isinstance(priors, str) or not isinstance(priors, Mapping | Sequence | np.ndarray):
        raise ParameterError(
            f"priors={priors!r} must be fractions of the classes, such as {{'bad': 0.2, 'good': 0.8}}."
        )
    fractions = list(priors.values()) if isinstance(priors, Mapping) else list(priors)
    for fraction in fractions:
        if not is_number(fraction) or not 0.0 < float(fraction) <= 1.0:
            raise ParameterError(
                f"priors hold {fraction!r}: each must be above 0 and at most 1. To ignore a class, leave its "
                "rows out."
            )
    total = math.fsum(map(float, fractions))
    if not abs(total - 1.0) <= TOLERANCE:
        raise ParameterError(f"priors sum to {total:.6g}: they must sum to 1, as fractions of all rows.")
    if isinstance(priors, Mapping):
        return {label: float(fraction) for label, fraction in priors.items()}
    return tuple(map(float, fractions))


def read_loss_matrix(loss_matrix: LossMatrix, classes: Sequence[Label]) -> FloatArray | None:
    """Convert losses to an array with a row per true and a column per predicted class.

    A pair that a mapping does not name costs 1.

    >>> read_loss_matrix({("bad", "good"): 5.0}, ("bad", "good"))
    array([[0., 5.],
           [1., 0.]])
    """
    if loss_matrix is None:
        return None
    _check_classes("loss_matrix", classes)
    if not isinstance(loss_matrix, Mapping):
        if len(loss_matrix) != len(classes):
            raise ParameterError(
                f"loss_matrix is for {len(loss_matrix)} classes, and y has {len(classes)}, {quoted(classes)}"
                ": give it a row and a column for each, in that order."
            )
        return np.array(loss_matrix, np.float64)
    _check_known("loss_matrix", [label for pair in loss_matrix for label in pair], classes)
    matrix = DEFAULT_LOSS * (1.0 - np.eye(len(classes)))
    for (true, predicted), loss in loss_matrix.items():
        matrix[classes.index(true), classes.index(predicted)] = loss
    _check_diagonal(matrix.tolist())
    return matrix


def read_priors(priors: Priors, classes: Sequence[Label]) -> FloatArray | None:
    """Convert priors to an array in the order of the classes."""
    if priors is None:
        return None
    _check_classes("priors", classes)
    if isinstance(priors, Mapping):
        _check_known("priors", list(priors), classes)
        if missing := [label for label in classes if label not in priors]:
            raise ParameterError(f"priors lack {quoted(missing)}: give one for each class of y.")
        return np.array([priors[label] for label in classes])
    if len(priors) != len(classes):
        raise ParameterError(
            f"priors are {len(priors)} numbers, and y has {len(classes)} classes, {quoted(classes)}: give "
            "one for each, in that order."
        )
    return np.array(priors, np.float64)


def _check_classes(name: str, classes: Sequence[Label]) -> None:
    if not classes:
        raise ParameterError(f"{name} is for classes, and the target is a number: leave it None.")


def _check_known(name: str, labels: Sequence[Label], classes: Sequence[Label]) -> None:
    if strange := list(dict.fromkeys(label for label in labels if label not in classes)):
        raise ParameterError(
            f"{name} names {quoted(strange)}, but the classes of y are {quoted(classes)}. Write the labels "
            "as y has them."
        )


def row_totals(losses: FloatArray) -> FloatArray:
    """Sum the losses of each true class, by which growth weighs the classes."""
    return np.asarray(losses.sum(axis=1), np.float64)
