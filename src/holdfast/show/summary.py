"""The size and fit of a tree in a few lines of text."""

from math import isnan
from textwrap import wrap

from holdfast.tree.summary import TreeSummary

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
