"""Size and fit of a tree on its training rows, as in the tree package of R."""

from dataclasses import dataclass
from math import isnan, nan
from textwrap import wrap

import numpy as np

from holdfast._arrays import FloatArray, scale_back, scale_to_unit
from holdfast.tree.rules import list_warnings
from holdfast.tree.survival import node_survival
from holdfast.tree.tree import LEAF, Tree

# From the impurity of a row to its deviance, where the criterion has one.
_FACTORS = {"squared_error": 1.0, "friedman_mse": 1.0, "poisson": 2.0}


@dataclass(frozen=True)
class TreeSummary:
    """Size and fit of a tree on the rows that gave it its values."""

    features: tuple[str, ...]  # that the tree splits on
    n_leaves: int
    depth: int
    n_rows: float
    deviance: float  # minus twice the log likelihood, squared error, or Poisson deviance; NaN if unknown
    n_errors: float | None  # misclassified rows; None for regression
    by_weight: bool  # rows count by their weights, scaled to the number of rows
    warnings: tuple[str, ...] = ()  # shown before the figures
    n_events: float | None = None  # of a time to an event

    @property
    def residual_mean_deviance(self) -> float:
        """Deviance per degree of freedom (rows minus leaves), or NaN."""
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
    with np.errstate(over="ignore"):  # the deviance may be infinite
        return _summary(tree)


def _summary(tree: Tree) -> TreeSummary:
    leaves = tree.feature == LEAF
    n_rows = float(tree.count[0])
    # Rows by weight.
    weight, _ = scale_to_unit(tree.weight)
    rows = weight[leaves] * (n_rows / float(weight[0])) if weight[0] > 0 else weight[leaves]
    n_errors = None
    target = tree.schema.target
    rows = tree.weight[leaves] if target.is_survival else rows  # the weight is the number of events expected
    if tree.schema.target.is_classes:
        fractions = tree.value[leaves]
        deviance = 2.0 * float(rows @ _entropy(fractions))
        predicted = tree.outcome[leaves]
        n_errors = float(rows @ (1.0 - fractions[np.arange(len(predicted)), predicted]))
    else:
        # Trees of boosted models have no impurity, and an absolute error is no deviance.
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
        by_weight=not (target.is_survival or np.array_equal(tree.count, tree.weight)),
        warnings=list_warnings(tree),
        n_events=node_survival(tree, 0).n_events if target.is_survival else None,
    )


def _entropy(fractions: FloatArray) -> FloatArray:
    """Entropy in natural units."""
    logs = np.log(fractions, out=np.zeros_like(fractions), where=fractions > 0)
    return np.asarray(np.abs((fractions * logs).sum(axis=1)), np.float64)


# -- Text ----------------------------------------------------------------------------------------------------

WIDTH = 100  # columns


def summary_text(summary: TreeSummary) -> str:
    """Format features, size, deviance and, for classes, the misclassification rate."""
    by_weight = ", by weight" if summary.by_weight else ""
    lines = [
        *(line for warning in summary.warnings for line in wrap(warning, WIDTH)),
        *wrap(f"Features used: {', '.join(summary.features) or 'none'}", WIDTH, subsequent_indent="  "),
        f"Leaves: {summary.n_leaves}, depth: {summary.depth}",
        f"Residual mean deviance: {_deviance_text(summary)}{by_weight}",
    ]
    if summary.n_events is not None:
        lines.insert(-1, f"Events: {summary.n_events:.6g} in {summary.n_rows:.6g} rows")
    if summary.n_errors is not None:
        lines.append(f"Misclassification rate: {_rate_text(summary)}{by_weight}")
    return "\n".join(lines)


def _deviance_text(summary: TreeSummary) -> str:
    freedom = summary.n_rows - summary.n_leaves
    if freedom <= 0:
        return "none, no more rows than leaves"
    if isnan(summary.deviance):
        return "unknown for this tree"
    return f"{summary.residual_mean_deviance:.4g} = {summary.deviance:.4g} / {freedom:.6g}"


def _rate_text(summary: TreeSummary) -> str:
    if not summary.n_rows > 0:
        return "none, the tree has no rows"
    return f"{summary.misclassification_rate:.4g} = {summary.n_errors:.6g} / {summary.n_rows:.6g}"
