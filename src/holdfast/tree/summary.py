"""How well a tree fits the rows that it was grown on, in the figures that R's tree package gives."""

from dataclasses import dataclass
from math import isnan, nan
from textwrap import wrap

import numpy as np

from holdfast._arrays import FloatArray, scale_back, scale_to_unit
from holdfast.tree.rules import list_warnings
from holdfast.tree.tree import LEAF, Tree

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
        return summary_text(self)


def summary(tree: Tree) -> TreeSummary:
    """Summarise size and fit of a tree; weights are scaled to the number of rows."""
    with np.errstate(over="ignore"):  # of a deviance that is too large to tell
        return _summary(tree)


def _summary(tree: Tree) -> TreeSummary:
    leaves = tree.feature == LEAF
    n_rows = float(tree.count[0])
    # Leaves share the rows as they share the weight.
    weight, _ = scale_to_unit(tree.weight)
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
        impurity, exponent = scale_to_unit(tree.impurity)
        total = float(scale_back(rows @ impurity[leaves] * _FACTORS.get(tree.criterion, nan), exponent))
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


# -- The size and fit of a tree in a few lines of text -------------------------------------------------------

WIDTH = 100  # columns


def summary_text(summary: TreeSummary) -> str:
    """The features asked about, the size, the deviance and, for classes, the misclassification rate."""
    by_weight = ", by weight" if summary.by_weight else ""
    lines = [
        *(line for warning in summary.warnings for line in wrap(warning, WIDTH)),
        *wrap(
            f"Features asked about: {', '.join(summary.features) or 'none'}", WIDTH, subsequent_indent="  "
        ),
        f"Leaves: {summary.n_leaves}, depth: {summary.depth}",
        f"Residual mean deviance: {_deviance_text(summary)}{by_weight}",
    ]
    if summary.n_errors is not None:
        lines.append(f"Misclassification rate: {_rate_text(summary)}{by_weight}")
    return "\n".join(lines)


def _deviance_text(summary: TreeSummary) -> str:
    freedom = summary.n_rows - summary.n_leaves
    if freedom <= 0:
        return "none, no more rows than leaves"
    if isnan(summary.deviance):
        return "not known of this tree"
    return f"{summary.residual_mean_deviance:.4g} = {summary.deviance:.4g} / {freedom:.6g}"


def _rate_text(summary: TreeSummary) -> str:
    if not summary.n_rows > 0:
        return "none, the tree has seen no rows"
    return f"{summary.misclassification_rate:.4g} = {summary.n_errors:.6g} / {summary.n_rows:.6g}"
