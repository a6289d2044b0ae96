"""The decision threshold of a classifier: given, or chosen by what errors cost on rows held out."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.data.split.groups import read_groups, subset_groups
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.class_costs import LossMatrix, Priors, losses_of, plain_losses, plain_priors
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import weights_of
from holdfast.growth.size.folds import divide_rows
from holdfast.scoring.thresholds import cheapest_threshold, threshold_costs
from holdfast.tree.threshold import make_threshold_losses, set_losses
from holdfast.tree.tree import Tree

FOLDS = 5  # where the estimator has no `cv`


@dataclass(frozen=True)
class Decision:
    """From which probability on which of two classes is predicted."""

    threshold: float
    positive: int

    def of(self, model: Any) -> Any:
        """The tree or ensemble that predicts by the threshold."""
        total = 1.0 if model.loss_matrix is None else float(model.loss_matrix.sum())
        losses = make_threshold_losses(self.threshold, self.positive, total)
        return set_losses(model, losses) if isinstance(model, Tree) else model.replace(loss_matrix=losses)


@dataclass(frozen=True)
class DecisionRule:
    """A threshold that is given, or "cost": how it is chosen then."""

    threshold: float | str
    loss_matrix: LossMatrix = None
    priors: Priors = None
    cv: Any = FOLDS
    seed: int = 0

    def decision(self, table: Table, groups: Any, fit: Callable[[Table, Any], Any]) -> Decision:
        """The decision; "cost" takes what costs least on rows held out from models that `fit` makes."""
        losses = losses_of(plain_losses(self.loss_matrix), table.schema.target.classes)
        losses = 1.0 - np.eye(2) if losses is None else losses
        target = table.schema.target
        positive = target.class_place(target.positive)
        if not isinstance(self.threshold, str):
            return Decision(float(self.threshold), positive)
        probabilities, rows = self._held_out(table, groups, fit, positive)
        found = threshold_costs(probabilities, rows.target == positive, self._weight(rows), losses, positive)
        return Decision(cheapest_threshold(*found, losses, positive), positive)

    def _weight(self, table: Table) -> FloatArray:
        """The weight of every row, the classes having their priors."""
        repeats, importance, _ = weights_of(table, GrowthRules(priors=plain_priors(self.priors)))
        return np.asarray(repeats * importance, np.float64)

    def _held_out(
        self, table: Table, groups: Any, fit: Callable[[Table, Any], Any], positive: int
    ) -> tuple[FloatArray, Table]:
        """For rows held out, what a model fitted without them says of the class; and these rows."""
        marks = None if groups is None else read_groups(groups, table.n_rows)
        folds = divide_rows(table, marks, self.cv, self.seed)
        said, rows = [], []
        for held_out, times in zip(folds.held_out, folds.times, strict=True):
            learnt = np.repeat(np.arange(folds.table.n_rows), times)
            model = fit(
                folds.table.subset(learnt), None if groups is None else subset_groups(folds.groups, learnt)
            )
            said.append(model.values(folds.table.subset(held_out))[:, positive])
            rows.append(np.flatnonzero(held_out))
        return np.concatenate(said), folds.table.subset(np.concatenate(rows))


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
