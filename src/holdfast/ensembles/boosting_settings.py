"""How an ensemble is boosted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from holdfast._check import check_choice, check_flag, check_fraction, check_integer, check_number
from holdfast.data.schema import Label
from holdfast.ensembles.losses import LossName
from holdfast.errors import ParameterError
from holdfast.growth.class_costs import LossMatrix, Priors, plain_losses, plain_priors
from holdfast.growth.rules import (
    Categories,
    ClassWeight,
    Column,
    GrowthRules,
    Interactions,
    MaxFeatures,
    rows_needed,
)
from holdfast.tree.quantile import QUANTILE

EarlyStopping = bool | Literal["cv", "oob"]
MOST_STEPS = 100  # of a leaf: Newton's method needs a handful
MOST_EXACT_ROWS = 10_000  # of more rows, splits="auto" looks between bins only


@dataclass(frozen=True)
class BoostingSettings:
    """Settings of gradient boosting.

    >>> BoostingSettings("poisson", learning_rate=0.0)
    Traceback (most recent call last):
    holdfast.errors.ParameterError: learning_rate=0.0 is out of range: it must be above 0 and at most 1.
    """

    loss: LossName
    n_estimators: int = 100
    learning_rate: float = 0.1
    max_depth: int | None = 3  # the interaction depth: so many features act together at most
    max_leaf_nodes: int | None = None  # the most useful splits first
    min_samples_leaf: int | float = 10  # rows; a float is a fraction of all rows
    min_impurity_decrease: float = (
        0.0  # what a split must gain at least: twice the decrease of the summed loss
    )
    l2_regularization: float = 0.0  # added to the hessian of a leaf: small leaves take smaller steps
    categories: Categories = "shrunk"  # means of columns of more than 9; "exact": the best set of these rows
    max_features: MaxFeatures = None  # drawn anew at every split
    subsample: float = 1.0  # fraction of the rows that each round learns from
    second_order: bool = True  # False: splits by gradients alone, a regression tree on pseudo-residuals
    leaf_steps: int = 1  # Newton steps that a leaf takes to its best value
    splits: Literal["auto", "exact", "binned"] = "auto"
    start: Literal["constant", "zero"] = "constant"
    alpha: float = 0.9  # the quantile of "quantile"; of "huber", the fraction of residuals that count squared
    quantile: float | None = None  # another name of alpha, for "quantile" alone
    leaf_values: str = "labels"  # of losses around quantiles; "honest": half of the rows choose the questions
    class_weight: ClassWeight = None
    priors: Priors = None  # fractions of the classes, by which their rows are weighed
    loss_matrix: LossMatrix = None  # what errors cost: which class is predicted, not how trees grow
    monotonic_cst: Mapping[Column, int] | Sequence[int] | None = None  # as in GrowthRules, of the score
    monotonic_class: Label | None = None
    interaction_cst: Interactions = None
    excluded_features: Mapping[Column, int | None] | Sequence[Column] | None = None
    feature_costs: Mapping[Column, float] | None = None
    early_stopping: EarlyStopping = False  # by rows held out, by folds, or by rows that rounds leave out
    cv: Any = 5  # number of folds, a splitter of scikit-learn's, or pairs of row numbers
    validation_fraction: float = 0.1  # of the rows, held out
    n_iter_no_change: int = 10  # rounds to wait for a gain
    tol: float = 1e-7  # what counts as a gain of the mean loss

    def __post_init__(self) -> None:
        for each in fields(self):
            if isinstance(value := getattr(self, each.name), np.generic):
                object.__setattr__(self, each.name, value.item())
        check_integer("n_estimators", self.n_estimators)
        check_integer("leaf_steps", self.leaf_steps, 1, MOST_STEPS)
        check_integer("n_iter_no_change", self.n_iter_no_change)
        check_number("learning_rate", self.learning_rate, 0.0, 1.0, is_open="low")
        check_number("subsample", self.subsample, 0.0, 1.0, is_open="low")
        _check_quantile(self.loss, self.quantile)
        check_choice("leaf_values", self.leaf_values, ("labels", "honest"))
        check_fraction("alpha", self.alpha)
        check_fraction("validation_fraction", self.validation_fraction)
        check_number("l2_regularization", self.l2_regularization)
        check_number("tol", self.tol)
        check_choice("splits", self.splits, ("auto", "exact", "binned"))
        check_choice("start", self.start, ("constant", "zero"))
        check_flag("second_order", self.second_order)
        _check_stopping(self.early_stopping, self.subsample)
        if self.splits == "exact" and self.l2_regularization > 0:
            raise ParameterError(
                f"splits='exact' knows no l2_regularization, which is {self.l2_regularization!r}: set it to "
                "0, or use splits='binned'."
            )
        object.__setattr__(self, "priors", plain_priors(self.priors))
        object.__setattr__(self, "loss_matrix", plain_losses(self.loss_matrix))
        self.growth(1)  # checks the rest

    @property
    def level(self) -> float:
        """Quantile of the "quantile" loss; for "huber", the fraction of residuals that count squared."""
        return self.alpha if self.quantile is None else float(self.quantile)

    def growth(self, n_rows: int) -> GrowthRules:
        """Return the growth rules of one tree on this number of rows."""
        rules = GrowthRules(
            criterion="squared_error",
            max_depth=self.max_depth,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf,
            min_impurity_decrease=self.min_impurity_decrease,
            categories=self.categories,
            max_features=self.max_features,
            class_weight=self.class_weight,
            priors=self.priors,
            loss_matrix=self.loss_matrix,
            monotonic_cst=self.monotonic_cst,
            monotonic_class=self.monotonic_class,
            interaction_cst=self.interaction_cst,
            excluded_features=self.excluded_features,
            feature_costs=self.feature_costs,
        )
        least = rows_needed(rules.min_samples_leaf, n_rows)
        return replace(rules, min_samples_leaf=least, class_weight=None, priors=None, loss_matrix=None)

    @property
    def class_rules(self) -> GrowthRules:
        """Class weights."""
        return GrowthRules(class_weight=self.class_weight, priors=self.priors)

    def are_binned(self, n_rows: int) -> bool:
        """True if splits are searched between bins only."""
        if self.splits == "auto":
            return n_rows > MOST_EXACT_ROWS or self.l2_regularization > 0
        return self.splits == "binned"


def _check_quantile(loss: Any, quantile: Any) -> None:
    if quantile is None:
        return
    if loss != QUANTILE:
        raise ParameterError(
            f"quantile={quantile!r} is for loss='quantile', and the loss is {loss!r}: leave one of "
            "the two out."
        )
    check_fraction("quantile", quantile)


def _check_stopping(early_stopping: Any, subsample: float) -> None:
    if not isinstance(early_stopping, bool) and early_stopping not in ("cv", "oob"):
        raise ParameterError(
            f"early_stopping={early_stopping!r} is unknown: give True, False, 'cv' or 'oob'."
        )
    if early_stopping == "oob" and subsample == 1.0:
        raise ParameterError(
            "early_stopping='oob' asks the rows that a round leaves out, and subsample=1.0 leaves none out: "
            "set subsample below 1, such as 0.5."
        )
