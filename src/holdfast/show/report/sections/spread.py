"""Row by row: how far other trees, no worse or of other samples, are from what the chosen tree says."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from holdfast.arrays import FloatArray
from holdfast.show.palette import RED
from holdfast.show.report.charts import Axis, Chart
from holdfast.show.report.fitted import Fitted
from holdfast.show.report.page import Section
from holdfast.text.numbers import probability_text
from holdfast.tree.copies import drop_copies, make_tree_key
from holdfast.tree.threshold import decision_threshold
from holdfast.tree.tree import Tree
from holdfast.tree.wording import format_class_names

MOST_TREES = 100  # of a kind, evenly spread
MOST_ROWS = 250  # drawn, evenly spread by what the chosen tree says
BAND = (0.05, 0.95)


def spread_section(fitted: Fitted) -> Section | None:
    """The spread of near-best trees and of trees of other samples; None without rows or a frontier."""
    if (
        fitted.test is None
        or fitted.frontier is None
        or (fitted.target.is_classes and fitted.positive is None)
    ):
        return None
    limit = _limit(fitted)
    near, said = near_best(fitted), _said([fitted.model], fitted)[0]  # type: ignore[list-item]
    others = {"near": _said(near, fitted), "sampled": _said(_some(fitted.references), fitted)}
    facts: dict[str, Any] = {
        "rows": len(said),
        "rows_name": fitted.test.name,
        "near_trees": len(others["near"]),
        "sampled_trees": len(others["sampled"]),
        "near": _figures(said, others["near"], limit),
        "sampled": _figures(said, others["sampled"], limit),
        "limit": "one half" if limit is None or limit == 0.5 else probability_text(limit),
        "is_risk": fitted.target.is_classes,
        "outcome": None if fitted.positive is None else format_class_names(fitted.target)[fitted.positive],
    }
    figures = {"spread": _chart(fitted, said, others["near"], others["sampled"])}
    title = "Row by row: how far other trees disagree"
    return Section("spread", title, "data scientist", "spread.html", facts, figures)


def near_best(fitted: Fitted) -> Sequence[Tree]:
    """The candidates within one standard error of the best score, copies and the chosen one left out."""
    frontier = fitted.frontier
    assert frontier is not None
    best = int(frontier.score.argmax())
    is_near = frontier.score >= frontier.score[best] - frontier.score_error[best]
    others = drop_copies(fitted.candidates[place] for place in np.flatnonzero(is_near).tolist())
    if fitted.chosen is not None:
        others.pop(make_tree_key(fitted.candidates[fitted.chosen]), None)
    return _some(list(others.values()))


def _some(trees: Sequence[Tree]) -> Sequence[Tree]:
    if len(trees) <= MOST_TREES:
        return trees
    return [trees[place] for place in np.linspace(0, len(trees) - 1, MOST_TREES).round().astype(int).tolist()]


def _said(trees: Sequence[Tree], fitted: Fitted) -> FloatArray:
    """What each tree says of each row, (trees, rows)."""
    assert fitted.test is not None
    place = fitted.positive or 0
    rows = len(fitted.test.true_values.values)
    return np.array([tree.values(fitted.test.X)[:, place] for tree in trees]).reshape(len(trees), rows)


def _limit(fitted: Fitted) -> float | None:
    """The risk from which on the class is predicted; None for numbers."""
    if not fitted.target.is_classes:
        return None
    assert isinstance(fitted.model, Tree)
    return 0.5 if fitted.positive is None else decision_threshold(fitted.model, fitted.positive)


def _figures(said: FloatArray, others: FloatArray, limit: float | None) -> dict[str, float] | None:
    """How far they are apart on the mean row, and which fraction of the rows change sides at the limit."""
    if not len(others):
        return None
    apart = np.abs(others - said).mean(axis=0)
    figures = {"mean": float(apart.mean()), "most": float(np.quantile(apart, 0.95))}
    if limit is not None:
        is_other = (others >= limit) != (said >= limit)
        figures["flips"] = float(is_other.mean())
        figures["unsure"] = float((is_other.mean(axis=0) >= 0.2).mean())
    return figures


def _chart(fitted: Fitted, said: FloatArray, near: FloatArray, sampled: FloatArray) -> Markup:
    # By what other trees say, too, so that the picture does not depend on the order of the rows.
    keys = [each.mean(axis=0) for each in (sampled, near) if len(each)]
    order = np.lexsort([*(np.round(key, 12) for key in keys), said])
    if len(order) > MOST_ROWS:
        order = order[np.linspace(0, len(order) - 1, MOST_ROWS).round().astype(int)]
    ends = np.concatenate([said[order], *(each[:, order].ravel() for each in (near, sampled))])
    y = Axis("risk", 0.0, 1.0) if fitted.target.is_classes else Axis.around(fitted.target.name, ends.tolist())
    chart = Chart(Axis("rows, by what the chosen tree says", 0, len(order)), y, width=720, height=330)
    for trees, width, colour in ((sampled, 1.6, "#c9d6e2"), (near, 1.6, "#5b9bc8")):
        if len(trees):
            low, high = np.quantile(trees[:, order], BAND, axis=0)
            chart.upright(
                (
                    (place + 0.5, float(a), float(b))
                    for place, (a, b) in enumerate(zip(low, high, strict=True))
                ),
                width=width,
                colour=colour,
            )
    chart.points(
        ((place + 0.5, float(said[row])) for place, row in enumerate(order.tolist())), radius=1.6, colour=RED
    )
    return chart.svg("spread", "What the chosen tree and other trees say of each row")
