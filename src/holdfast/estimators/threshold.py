"""The decision threshold of a classifier: given, or chosen by what errors cost on rows held out."""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from holdfast.arrays import FloatArray
from holdfast.data.split.groups import of_rows, read_groups
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.costs import losses_of, plain_losses, plain_priors
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import weights_of
from holdfast.growth.size.folds import divided
from holdfast.scoring.thresholds import cheapest_threshold, threshold_costs

FOLDS = 5  # where the estimator has no `cv`


class Decision(NamedTuple):
    """From which probability on which class is predicted, and what errors cost."""

    threshold: float
    positive: int
    losses: FloatArray


def decision_of(estimator: Any, table: Table, groups: Any, seed: int) -> Decision:
    """The decision threshold that the parameters ask for."""
    threshold = estimator.threshold
    losses = losses_of(plain_losses(estimator.loss_matrix), table.schema.target.classes)
    losses = 1.0 - np.eye(2) if losses is None else losses
    weight = _weight(estimator, table)
    # The rarer class; of two alike in number the second, as everywhere.
    of_class = np.bincount(table.target, weight, minlength=2) / weight.sum()
    positive = int(np.argmin(np.round(of_class[::-1], 9)) == 0)
    if threshold != "cost":
        return Decision(float(threshold), positive, losses)
    probabilities, rows = _held_out_probabilities(estimator, table, groups, seed, positive)
    weight = _weight(estimator, rows)
    found = threshold_costs(probabilities, rows.target == positive, weight, losses, positive)
    return Decision(cheapest_threshold(found, losses, positive), positive, losses)


def check_threshold(threshold: Any, n_classes: int) -> None:
    """Raise a ParameterError unless it is a threshold, and there are two classes."""
    is_number = isinstance(threshold, Real) and not isinstance(threshold, bool)
    if not (is_number and 0.0 < float(threshold) < 1.0) and not (
        isinstance(threshold, str) and threshold == "cost"
    ):
        raise ParameterError(
            f"threshold={threshold!r} is out of range: it must lie between 0 and 1, or be 'cost' or None."
        )
    if n_classes != 2:
        raise ParameterError(
            f"threshold={threshold!r} is for two classes, and the target has {n_classes}: give a loss_matrix."
        )


def _weight(estimator: Any, table: Table) -> FloatArray:
    """The weight of every row, the classes having their priors."""
    repeats, importance, _ = weights_of(table, GrowthRules(priors=plain_priors(estimator.priors)))
    return np.asarray(repeats * importance, np.float64)


def _held_out_probabilities(
    estimator: Any, table: Table, groups: Any, seed: int, positive: int
) -> tuple[FloatArray, Table]:
    """For rows held out, what a model fitted without them says of the class; and these rows."""
    marks = None if groups is None else read_groups(groups, table.n_rows)
    folds = divided(table, marks, getattr(estimator, "cv", FOLDS), seed)
    said, rows = [], []
    for held_out, times in zip(folds.held_out, folds.times, strict=True):
        learnt = np.repeat(np.arange(folds.table.n_rows), times)
        other = clone(estimator).set_params(threshold=None)
        own_groups = None if groups is None else of_rows(folds.groups, learnt)
        model = other._model_on(folds.table.taken(learnt), own_groups)
        said.append(model.values(folds.table.taken(held_out))[:, positive])
        rows.append(np.flatnonzero(held_out))
    return np.concatenate(said), folds.table.taken(np.concatenate(rows))
