"""Scorers of scikit-learn and of the user, applied to predictions; and agreement of clusters with groups."""

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from holdfast._arrays import FloatArray, IntArray, LongArray
from holdfast._random import make_generator
from holdfast._text import RowLabels, first_rows
from holdfast.data.columns import read_column
from holdfast.data.frame import as_vector
from holdfast.data.schema import Target
from holdfast.data.target import read_weight
from holdfast.errors import DataError
from holdfast.scoring.formulas import ScoredRows
from holdfast.tree.tree import label_array

BLOCKS = 20  # of the jackknife: as many further calls of the scorer


def get_scorer_name(scorer: Any) -> str:
    """Return the name of a scoring function."""
    function = getattr(scorer, "_score_func", scorer)
    function = getattr(function, "func", function)  # of a partial
    return str(getattr(function, "__name__", type(function).__name__))


def is_negated_loss(scorer: Any) -> bool:
    """Return True for a scikit-learn scorer made of a loss."""
    return bool(getattr(scorer, "_sign", 1) < 0)


def score_by_scorer(
    scorer: Any, predicted: FloatArray, target: Target, rows: ScoredRows, *, with_error: bool = True
) -> tuple[float, float]:
    """Score predictions with a scorer; the standard error is by the jackknife.

    The scorer gets a model whose X is the column of the row numbers. Weights are for scorers that take them.
    """
    rows = _drop_unused_weights(scorer, rows)
    score_of = _make_row_scorer(scorer, predicted, target, rows)
    value = _check_finite(scorer, score_of(np.arange(len(rows.values))), len(rows.values))
    return value, _jackknife(score_of, value, rows, target.is_classes) if with_error else 0.0


def compare_by_scorer(
    scorer: Any, old: FloatArray, new: FloatArray, target: Target, rows: ScoredRows
) -> tuple[float, float]:
    """Compute the difference of two predictions' scores with its standard error."""
    rows = _drop_unused_weights(scorer, rows)
    before, after = (_make_row_scorer(scorer, predicted, target, rows) for predicted in (old, new))

    def score_of(chosen: LongArray) -> float:
        return after(chosen) - before(chosen)

    value = _check_finite(scorer, score_of(np.arange(len(rows.values))), len(rows.values))
    return value, _jackknife(score_of, value, rows, target.is_classes)


def _drop_unused_weights(scorer: Any, rows: ScoredRows) -> ScoredRows:
    """Return the rows, without weights if the scorer takes none."""
    return rows if _takes_weights(scorer) else replace(rows, weight=np.ones(len(rows.values)))


def _make_row_scorer(
    scorer: Any, predicted: FloatArray, target: Target, rows: ScoredRows
) -> Callable[[LongArray], float]:
    """Score the predictions of some rows, by number."""
    is_weighted = bool((rows.weight != 1.0).any())
    model = _model(predicted, target)
    truth = label_array(target.classes)[rows.values] if target.is_classes else rows.values

    def score_of(chosen: LongArray) -> float:
        options = {"sample_weight": rows.weight[chosen]} if is_weighted else {}
        try:
            return float(scorer(model, chosen[:, np.newaxis], truth[chosen], **options))
        except Exception as error:
            error.add_note(
                f"The scorer {get_scorer_name(scorer)!r} failed on {len(chosen)} rows of predictions."
            )
            raise

    return score_of


def _check_finite(scorer: Any, value: float, n_rows: int) -> float:
    if not np.isfinite(value):
        raise DataError(
            f"The scorer {get_scorer_name(scorer)!r} gives {value} on {n_rows} rows, by which no trees can "
            "be compared: score on more rows, or by another scoring."
        )
    return value


def _jackknife(
    score_of: Callable[[LongArray], float], value: float, rows: ScoredRows, is_classes: bool
) -> float:
    """Compute the jackknife standard error over blocks of rows.

    A block with all rows of a class is taken for an average one, as the score without it would be undefined.
    """
    block = _block_of_row(rows)
    n_blocks = int(block.max()) + 1
    moves = []
    for number in range(n_blocks):
        kept = np.flatnonzero(block != number)
        if len(kept) and not (is_classes and _loses_a_class(rows.values, kept)):
            moves.append((score_of(kept) - value) * rows.weight[kept].sum() / rows.weight.sum())
    squares = np.square([move for move in moves if np.isfinite(move)])
    if len(squares) == 0:
        return 0.0
    return float(np.sqrt(squares.mean() * n_blocks**2 / (n_blocks - 1)))


def _block_of_row(rows: ScoredRows) -> LongArray:
    # At random, as rows may be sorted; but always the same.
    shuffled = make_generator(0).permutation(rows.n_units)
    blocks: LongArray = (shuffled % BLOCKS)[rows.unit]
    return blocks


def _loses_a_class(values: IntArray, kept: LongArray) -> bool:
    return bool(np.count_nonzero(np.bincount(values[kept])) < np.count_nonzero(np.bincount(values)))


def _takes_weights(scorer: Any) -> bool:
    """Return True if the scorer has an argument `sample_weight`."""
    try:
        return "sample_weight" in inspect.signature(getattr(scorer, "_score_func", scorer)).parameters
    except (TypeError, ValueError):  # written in C, without a signature
        return False


# -- predictions as a model -------------------------------------------------------------------------------


def _model(predicted: FloatArray, target: Target) -> Any:
    """Make a fitted scikit-learn model that looks its predictions up."""
    classifier, regressor = _make_model_classes()
    model = classifier() if target.is_classes else regressor()
    model.predicted = predicted
    if target.is_classes:
        model.classes_ = label_array(target.classes)
    return model


@cache
def _make_model_classes() -> tuple[Any, Any]:
    """Make a classifier and a regressor class; lazily, as scikit-learn is slow to import."""
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

    class FixedPredictions(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
        n_features_in_ = 1

        def fit(self, X: Any, y: Any) -> Any:
            return self

        def __sklearn_is_fitted__(self) -> bool:
            return True

    class PredictedClasses(ClassifierMixin, FixedPredictions):  # type: ignore[misc]
        def predict_proba(self, X: Any) -> Any:
            return self.predicted[X[:, 0]]

        def predict(self, X: Any) -> Any:
            return self.classes_[self.predict_proba(X).argmax(axis=1)]

    class PredictedNumbers(RegressorMixin, FixedPredictions):  # type: ignore[misc]
        def predict(self, X: Any) -> Any:
            return self.predicted[X[:, 0], 0]

    return PredictedClasses, PredictedNumbers


# -- Agreement of clusters with known groups ---------------------------------------------------------------

NO_WEIGHT = 2.0**-500  # smaller weights, relative to the greatest, change no digit of a sum


def purity_score(labels_true: Any, labels_pred: Any, sample_weight: Any = None) -> float:
    """Compute the fraction of rows in the most frequent true group of their cluster.

    Compare clusterings with one number of clusters: it is 1 if every row is a cluster.

    Parameters
    ----------
    labels_true, labels_pred : array-like
    sample_weight : array-like, optional

    Returns
    -------
    float

    Examples
    --------
    >>> purity_score(["a", "a", "b", "b"], [0, 0, 0, 1])
    0.75
    """
    joint = _joint_weights(labels_true, labels_pred, sample_weight)
    return math.fsum(joint.max(axis=0).tolist()) / math.fsum(joint.ravel().tolist())


def nmi_score(labels_true: Any, labels_pred: Any, sample_weight: Any = None) -> float:
    """Compute the normalised mutual information: over the mean of both entropies.

    Parameters
    ----------
    labels_true, labels_pred : array-like
    sample_weight : array-like, optional

    Returns
    -------
    float
        1 for equal divisions, for any names (also for two single groups), 0 for independent ones.

    Examples
    --------
    >>> nmi_score(["a", "a", "b", "b"], [1, 1, 0, 0])
    1.0
    """
    joint = _joint_weights(labels_true, labels_pred, sample_weight)
    if _is_same_division(joint):
        return 1.0
    of_true, of_pred = _sums(joint), _sums(joint.T)
    total = math.fsum(joint.ravel().tolist())
    # Multiplied before the division, integer weights give exactly log(1) for independent cells.
    information = math.fsum(
        joint[i, j] * math.log(joint[i, j] * total / (of_true[i] * of_pred[j]))
        for i, j in zip(*np.nonzero(joint), strict=True)
    )
    fraction = 2 * information / (_entropy(of_true, total) + _entropy(of_pred, total))
    return float(min(max(fraction, 0.0), 1.0))  # rounding must not carry it past the ends


def _joint_weights(labels_true: Any, labels_pred: Any, sample_weight: Any) -> FloatArray:
    """Sum row weights by true group (down) and cluster (across); whole weights stay whole."""
    true, pred = _number_labels(labels_true, "labels_true"), _number_labels(labels_pred, "labels_pred")
    if len(true) != len(pred):
        raise DataError(
            f"labels_true has {len(true)} labels and labels_pred has {len(pred)}: give one of each per row."
        )
    weight = read_weight(sample_weight, len(true))
    given = np.ones(len(true)) if weight is None else _scale_weights(weight)
    shape = int(true.max()) + 1, int(pred.max()) + 1
    joint = np.bincount(true * shape[1] + pred, given, shape[0] * shape[1]).reshape(shape)
    return np.asarray(joint, np.float64)


def _scale_weights(weight: FloatArray) -> FloatArray:
    """Scale weights by a power of two so that no product overflows or vanishes."""
    scaled = np.ldexp(weight, -math.frexp(float(weight.max()))[1])
    return np.where(scaled < NO_WEIGHT, 0.0, scaled)


def _is_same_division(joint: FloatArray) -> bool:
    """Return True if groups and clusters are the same division."""
    there = joint > 0
    return bool((there.sum(axis=0) <= 1).all() and (there.sum(axis=1) <= 1).all())


def _sums(lines: FloatArray) -> list[float]:
    """Sum each line exactly, rounded once, independent of the order."""
    return [math.fsum(line) for line in lines.tolist()]


def _number_labels(labels: Any, what: str) -> LongArray:
    line = as_vector(labels, what)
    if not len(line):
        raise DataError(f"{what} is empty: purity and information need at least one row.")
    values = read_column(line, what, "categories").values
    if (missing := np.isnan(values)).any():
        where = first_rows(missing, RowLabels.of(line))
        raise DataError(
            f"{what} has {missing.sum()} missing labels, {where}. Name the group of every row, or leave the "
            "rows out."
        )
    return np.asarray(values, np.int64)


def _entropy(weights: list[float], total: float) -> float:
    """Compute the entropy of a division, times its weight."""
    return math.fsum(weight * math.log(total / weight) for weight in weights if weight > 0)
