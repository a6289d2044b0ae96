"""The correlation of the trees of an ensemble, which limits how far averaging lowers the variance."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from holdfast._arrays import FloatArray, IntArray, LongArray
from holdfast._text import number_text
from holdfast._view import TextTable, View, ViewMixin
from holdfast.data.schema import Target
from holdfast.errors import DataError, ParameterError
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree

DIGITS = 4  # of printed variances


@dataclass(frozen=True)
class TreeCorrelation(ViewMixin):
    """Variance of one tree and covariance of two, of their predictions or of their errors.

    With the correlation r, the mean of B trees has the variance `r s^2 + (1 - r) s^2 / B`, where s^2 is that
    of one tree: more trees lower the second term only. For errors, the variance is the mean squared error.
    For classes, the terms of all classes are summed.

    Examples
    --------
    >>> TreeCorrelation("errors", 100, variance=0.2, covariance=0.05).variance_of_mean(1000)
    0.05015
    """

    of: Literal["predictions", "errors"]
    n_estimators: int
    variance: float  # of one tree; the mean over the trees
    covariance: float  # of two trees; the mean over the pairs, NaN for a single tree

    @property
    def correlation(self) -> float:
        """Mean covariance of two trees over mean variance of one; NaN without variance."""
        return self.covariance / self.variance if self.variance > 0 else float("nan")

    def variance_of_mean(self, n_estimators: int | None = None) -> float:
        """Return the variance of the mean of n trees, by default of all."""
        n_trees = self.n_estimators if n_estimators is None else n_estimators
        return self.covariance + (self.variance - self.covariance) / n_trees if n_trees > 1 else self.variance

    def __repr__(self) -> str:
        what = "variance" if self.of == "predictions" else "squared error"
        return (
            f"<TreeCorrelation: {self.correlation:.3g} of the {self.of}; "
            f"{what} {self.variance:.4g} of a tree, "
            f"{self.variance_of_mean():.4g} of {self.n_estimators}, {self.covariance:.4g} of ever more>"
        )

    def _view(self) -> View:
        """The correlation in a sentence, and the effect of more trees."""
        rows = [
            ["1 tree", number_text(self.variance, DIGITS)],
            [f"{self.n_estimators:,} trees", number_text(self.variance_of_mean(), DIGITS)],
            ["limit of many trees", number_text(self.covariance, DIGITS)],
        ]
        text = f"The {self.of} of two trees have a correlation of {number_text(self.correlation, 3)}."
        what = "variance" if self.of == "predictions" else "squared error"
        return View(text, TextTable(["mean of", what], rows, marked=[1]))


def tree_correlation(ensemble: Ensemble, X: Any, y: Any = None, **policy: Any) -> TreeCorrelation:
    """Estimate the correlation of the trees' predictions on X or, given the true values y, of their errors.

    Parameters
    ----------
    ensemble : Ensemble or fitted estimator
        Trees that are averaged or vote: bagging and forests.
    X : array or frame
        Rows.
    y : array, optional
        True classes or numbers.
    **policy
        Handling of unknown categories and missing values, as in `Ensemble.values`.

    Returns
    -------
    TreeCorrelation

    Examples
    --------

    >>> from holdfast.data.table import Table
    >>> from holdfast.ensembles.bagging import grow_bagging
    >>> table = Table.from_arrays([[20.0], [30.0], [50.0], [60.0]], ["no", "yes", "no", "yes"])
    >>> tree_correlation(grow_bagging(table, n_estimators=8).ensemble, [[25.0], [45.0]], ["no", "yes"])
    <TreeCorrelation: 0.686 of the errors; squared error 1.25 of a tree, 0.9062 of 8, 0.8571 of ever more>
    """
    ensemble = getattr(ensemble, "ensemble_", ensemble)  # of a fitted estimator
    if ensemble.link != "mean":
        raise ParameterError(
            f"The trees of this ensemble are summed (link={ensemble.link!r}), and their correlation has no "
            "meaning: it is for trees that are averaged, those of bagging and forests."
        )
    leaves = ensemble.leaves(X, **policy)
    true_values = None if y is None else _true_values(y, ensemble.schema.target, len(leaves))
    sums = PairSums.of(len(leaves), ensemble.n_outputs)
    for index, tree in enumerate(ensemble):
        values = tree_values(tree, leaves[:, index], votes=ensemble.votes)
        sums.add(slice(None), values, values.mean(axis=0) if true_values is None else true_values)
    return sums.correlation("predictions" if y is None else "errors", len(ensemble))


def tree_values(tree: Tree, leaves: IntArray, *, votes: bool) -> FloatArray:
    """Return a tree's predictions for its leaves: class fractions, votes or numbers."""
    if not votes:
        return np.asarray(tree.value[leaves], np.float64)
    return np.eye(tree.value.shape[1])[tree.outcome[leaves]]


def target_values(target: Target, values: Any) -> FloatArray:
    """Return true values as a perfect tree would predict them: 1 for the class, or the number."""
    if target.is_classes:
        return np.eye(len(target.classes))[np.asarray(values, np.int64)]
    return np.asarray(values, np.float64)[:, None]


def _true_values(y: Any, target: Target, n_rows: int) -> FloatArray:
    y = np.asarray(y)
    if y.shape != (n_rows,):
        raise DataError(f"y has the shape {y.shape}, and X has {n_rows} rows: give one value per row.")
    if not target.is_classes:
        return target_values(target, y)
    numbers = {label: number for number, label in enumerate(target.classes)}
    try:
        return target_values(target, [numbers[label] for label in y.tolist()])
    except KeyError as unknown:
        raise DataError(
            f"y holds {unknown}, which is not one of the classes {list(target.classes)}."
        ) from None


@dataclass(frozen=True, eq=False)
class PairSums:
    """For every row, the number of trees that predict it, and sums of deviations and squares.

    The sum of the products over all pairs of trees is the square of the sum minus the sum of the squares.
    """

    count: LongArray  # (rows,)
    total: FloatArray  # (rows, outputs)
    square: FloatArray  # (rows,)

    @classmethod
    def of(cls, n_rows: int, n_outputs: int) -> "PairSums":
        """Initialise sums of no trees."""
        return cls(np.zeros(n_rows, np.int64), np.zeros((n_rows, n_outputs)), np.zeros(n_rows))

    def add(self, rows: Any, values: FloatArray, center: FloatArray) -> None:
        """Add a tree: its predictions of these rows, and their mean or the true values."""
        with np.errstate(over="ignore", invalid="ignore"):  # of numbers whose squares overflow
            deviation = values - center
            self.count[rows] += 1
            self.total[rows] += deviation
            self.square[rows] += (deviation**2).sum(axis=1)

    def subset(self, rows: LongArray) -> "PairSums":
        """Select rows in this order."""
        return PairSums(self.count[rows], self.total[rows], self.square[rows])

    def correlation(
        self, of: Literal["predictions", "errors"], n_estimators: int, weight: FloatArray | None = None
    ) -> TreeCorrelation:
        """Average over all weighted rows, all trees and all pairs that predict them."""
        weight = np.ones(len(self.count)) if weight is None else weight
        with np.errstate(all="ignore"):
            products = (self.total**2).sum(axis=1) - self.square
            n_pairs = self.count * (self.count - 1)
            variance = (weight * self.square).sum() / (weight * self.count).sum()
            covariance = (weight * products).sum() / (weight * n_pairs).sum()
        return TreeCorrelation(of, n_estimators, float(variance), float(covariance))
