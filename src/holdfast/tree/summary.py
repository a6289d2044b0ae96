"""How well a tree fits the rows that it was grown on, in the figures that R's tree package gives."""

from dataclasses import dataclass
from math import nan

import numpy as np

from holdfast.arrays import FloatArray, scaled, unscaled
from holdfast.shown import shown
from holdfast.tree.tree import LEAF, Tree
from holdfast.tree.wording import list_warnings

# From the impurity of a row to its deviance, where the criterion has one.
_FACTORS = {"squared_error": 1.0, "friedman_mse": 1.0, "poisson": 2.0}


@dataclass(frozen=True)
class TreeSummary:
    """Size and fit of a tree on the rows that gave it its values."""

    features: tuple[str, ...]  # those it asks about
    n_leaves: int
    depth: int
    n_rows: float
    deviance: float  # minus twice the log likelihood, squared error, or Poisson deviance; NaN if not known
    n_errors: float | None  # rows of another class than predicted; None for numbers
    by_weight: bool  # rows count by their weights, scaled to as many as there are
    warnings: tuple[str, ...] = ()  # what must be known of the tree before its figures

    @property
    def residual_mean_deviance(self) -> float:
        """Deviance per degree of freedom (rows minus leaves); NaN if there is none."""
        freedom = self.n_rows - self.n_leaves
        return self.deviance / freedom if freedom > 0 else nan

    @property
    def misclassification_rate(self) -> float | None:
        """Fraction of misclassified rows; None for regression, NaN without rows."""
        if self.n_errors is None:
            return None
        return self.n_errors / self.n_rows if self.n_rows > 0 else nan

    def __str__(self) -> str:
        return shown("summary_text", self)


def summary(tree: Tree) -> TreeSummary:
    """Summarise size and fit of a tree; weights are scaled to the number of rows."""
    with np.errstate(over="ignore"):  # of a deviance that is too large to tell
        return _summary(tree)


def _summary(tree: Tree) -> TreeSummary:
    leaves = tree.feature == LEAF
    n_rows = float(tree.count[0])
    # Leaves share the rows as they share the weight.
    weight, _ = scaled(tree.weight)
    rows = weight[leaves] * (n_rows / float(weight[0])) if weight[0] > 0 else weight[leaves]
    n_errors = None
    if tree.schema.target.is_classes:
        fractions = tree.value[leaves]
        deviance = 2.0 * float(rows @ _surprise(fractions))
        predicted = tree.outcome[leaves]
        n_errors = float(rows @ (1.0 - fractions[np.arange(len(predicted)), predicted]))
    else:
        # Members of boosted models know no impurity, and an absolute error is no deviance.
        is_known = tree.criterion in _FACTORS and bool(tree.impurity.any() or tree.n_nodes == 1)
        impurity, exponent = scaled(tree.impurity)
        total = float(unscaled(rows @ impurity[leaves] * _FACTORS.get(tree.criterion, nan), exponent))
        deviance = total if is_known else nan
    used = np.unique(tree.feature[~leaves])
    return TreeSummary(
        features=tuple(tree.schema.names[place] for place in used.tolist()),
        n_leaves=tree.n_leaves,
        depth=tree.depth,
        n_rows=n_rows,
        deviance=deviance,
        n_errors=n_errors,
        by_weight=not np.array_equal(tree.count, tree.weight),
        warnings=list_warnings(tree),
    )


def _surprise(fractions: FloatArray) -> FloatArray:
    """Entropy in natural units."""
    logs = np.log(fractions, out=np.zeros_like(fractions), where=fractions > 0)
    return np.asarray(np.abs((fractions * logs).sum(axis=1)), np.float64)
