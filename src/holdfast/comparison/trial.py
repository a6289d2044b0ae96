"""One model on one fold: fitted, timed, and what it predicts of the rows held out."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import FloatArray, LongArray
from holdfast.comparison.rows import rows_of
from holdfast.data.input.columns import to_label
from holdfast.data.schema import Target
from holdfast.data.split.folds import Fold
from holdfast.data.split.groups import renumber_groups
from holdfast.errors import DataError
from holdfast.scoring.metric import Metric, Score, TrueValues
from holdfast.text.lists import listed


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows: as the models get them, and what their predictions are scored against."""

    X: Any
    y: Any
    target: Target
    values: NDArray[Any]  # int32 index of the class, or float64
    weight: FloatArray | None
    groups: LongArray | None
    stage: LongArray | None

    def true_values(self, numbers: LongArray) -> TrueValues:
        """What is known of some of the rows."""
        weight = None if self.weight is None else self.weight[numbers]
        groups = renumber_groups(self.groups, numbers)
        clusters = None if groups is None else groups.astype(np.int32)
        return TrueValues(self.target, self.values[numbers], weight, clusters)


class Trial(NamedTuple):
    """What came of one model on one fold."""

    scores: tuple[Score, ...]  # one for each metric; NaN where it failed
    predicted: FloatArray | None  # of the rows held out: (rows, classes) fractions, or (rows, 1) numbers
    fit_seconds: float = np.nan
    predict_seconds: float = np.nan
    leaves: float = np.nan  # of a single tree
    trees: float = np.nan  # of several
    failure: str = ""  # the error in words


def fitted(model: Any, rows: Rows, fold: Fold) -> tuple[Any, float]:
    """A clone of the model, fitted on the rows to learn from, and the seconds it took.

    Weights are for models whose fit has them; so are groups and stages, for rows that the model itself holds
    out.
    """
    from sklearn.base import clone

    numbers = np.repeat(np.arange(len(fold.times)), fold.times)
    X, y = rows_of(rows.X, numbers), rows_of(rows.y, numbers)
    marks = {"sample_weight": rows.weight, "groups": rows.groups, "stage": rows.stage}
    taken = {name: mark[numbers] for name, mark in marks.items() if mark is not None}
    if "stage" in taken and len(np.unique(taken["stage"])) < 2:
        del taken["stage"]  # of a single one there are no early rows
    options = {name: mark for name, mark in taken.items() if takes(model, name)}
    own = clone(model)
    start = time.perf_counter()
    own.fit(X, y, **options)
    return own, time.perf_counter() - start


def takes(model: Any, name: str) -> bool:
    """True if the model's fit has an argument of this name."""
    from sklearn.utils.validation import has_fit_parameter

    return bool(has_fit_parameter(model, name))


def tried(model: Any, rows: Rows, fold: Fold, metrics: Sequence[Metric], *, with_errors: bool) -> Trial:
    """The model on the fold; errors of the scores, by the rows held out, only if they are asked for."""
    own, fit_seconds = fitted(model, rows, fold)
    numbers = np.flatnonzero(fold.held_out)
    found = predictions(own, rows_of(rows.X, numbers), len(numbers), rows.target, metrics)
    true_values = rows.true_values(numbers)
    scores = []
    for metric in metrics:
        predicted = found.labels if found.labels is not None and metric.by_labels else found.values
        scores.append(
            metric.score(predicted, true_values)
            if with_errors
            else Score(metric.value(predicted, true_values), 0.0)
        )
    leaves, trees = size_of(own)
    return Trial(tuple(scores), found.values, fit_seconds, found.seconds, leaves, trees)


# -- what a model predicts --------------------------------------------------------------------------------


class Predicted(NamedTuple):
    """Predictions of rows."""

    values: FloatArray  # (rows, classes) fractions, or (rows, 1) numbers
    labels: FloatArray | None  # (rows, classes): 1 for the class that the model settles on; None if not asked
    seconds: float  # of one call


def predictions(model: Any, X: Any, n_rows: int, target: Target, metrics: Sequence[Metric]) -> Predicted:
    """What the fitted model says of the rows, as far as the metrics need it.

    The class that it settles on is its own affair: it need not be the one with the greatest fraction.
    """
    if not target.is_classes:
        numbers, seconds = _timed(lambda: model.predict(X))
        return Predicted(_checked(_column(numbers), (n_rows, 1)), None, seconds)
    fractions, seconds = None, 0.0
    if hasattr(model, "predict_proba"):
        fractions, seconds = _timed(lambda: model.predict_proba(X))
        fractions = _checked(
            _in_order(np.asarray(fractions, np.float64), model, target), (n_rows, len(target.classes))
        )
    labels = None
    if fractions is None or any(metric.by_labels for metric in metrics):
        said, label_seconds = _timed(lambda: model.predict(X))
        labels = _checked(_one_hot(said, target), (n_rows, len(target.classes)))
        seconds = seconds or label_seconds
    values = labels if fractions is None else fractions
    assert values is not None
    return Predicted(values, labels, seconds)


def _timed(work: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def _column(numbers: Any) -> FloatArray:
    array = np.asarray(numbers, np.float64)
    return array[:, np.newaxis] if array.ndim == 1 else array


def _in_order(fractions: FloatArray, model: Any, target: Target) -> FloatArray:
    """The fractions with their columns in the order of the target's classes, 0 for one unknown to it."""
    if not hasattr(model, "classes_"):
        raise DataError("It has no classes_, which say what the columns of predict_proba stand for.")
    own = list(model.classes_)
    if fractions.ndim != 2 or fractions.shape[1] != len(own):
        raise DataError(
            f"Its predict_proba has the shape {fractions.shape}, and its classes_ are {listed(own)}."
        )
    ordered = np.zeros((len(fractions), len(target.classes)))
    ordered[:, [_place(label, target) for label in own]] = fractions
    return ordered


def _one_hot(said: Any, target: Target) -> FloatArray:
    labels = np.asarray(said).ravel().tolist()
    place = {label: _place(label, target) for label in set(labels)}
    hot = np.zeros((len(labels), len(target.classes)))
    hot[np.arange(len(labels)), [place[label] for label in labels]] = 1.0
    return hot


def _place(label: Any, target: Target) -> int:
    plain = to_label(label)
    if plain not in target.classes:
        raise DataError(f"It predicts the class {plain!r}, and the target's are {listed(target.classes)}.")
    return target.classes.index(plain)


def _checked(values: FloatArray, shape: tuple[int, int]) -> FloatArray:
    if values.shape != shape:
        raise DataError(f"Its predictions have the shape {values.shape}, and {shape} was expected.")
    if not np.isfinite(values).all():
        raise DataError("It predicts numbers that are missing or infinite.")
    return values


# -- how large it is --------------------------------------------------------------------------------------


def size_of(model: Any) -> tuple[float, float]:
    """The number of leaves of a single tree, or the number of trees of several; NaN for what it is not."""
    if hasattr(model, "get_n_leaves"):
        return float(model.get_n_leaves()), np.nan
    if (ensemble := getattr(model, "ensemble_", None)) is not None:
        return np.nan, float(len(ensemble))
    # Boosting of several classes keeps an array of rounds by classes; a vote of unlike models has no trees.
    members = np.ravel(np.asarray(getattr(model, "estimators_", []), object))
    is_of_trees = len(members) and all(hasattr(member, "tree_") for member in members)
    return np.nan, float(len(members)) if is_of_trees else np.nan
