"""The frontier: every candidate between stability and score, and the efficient trees one by one."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
from markupsafe import Markup

from holdfast.distance.diff.tree_diff import tree_diff
from holdfast.show.diff import sections as diff_sections
from holdfast.show.frontier import unbeaten_places
from holdfast.show.palette import BLUE, EDGE, RED
from holdfast.show.report.charts import Axis, Chart
from holdfast.show.report.figures import inline_svg
from holdfast.show.report.fitted import Fitted
from holdfast.show.report.page import Section
from holdfast.show.report.sections.rules import rule_facts
from holdfast.stability.frontier import Frontier
from holdfast.text.numbers import counted, number_text, with_error
from holdfast.tree.tree import Tree

MOST_TREES = 12  # efficient trees that can be looked at


def frontier_section(fitted: Fitted) -> Section:
    """All candidates as a picture, and some of the efficient trees with rules and diff."""
    frontier, chosen = fitted.frontier, fitted.chosen
    assert frontier is not None
    assert chosen is not None
    shown = shown_candidates(frontier, chosen)
    figures = {"frontier": _chart(fitted, shown)}
    others = [candidate for candidate in shown if candidate != chosen]
    for candidate in others:
        figures[f"tree-{candidate}"] = inline_svg(_drawing(fitted, candidate), f"tree{candidate}")
    facts = {
        "metric": fitted.metric.title,
        "is_loss": fitted.metric.is_loss,
        "reason": fitted.reason,
        "chosen": chosen,
        "candidates": _columns(fitted),
        "n_efficient": len(frontier.unbeaten),
        "trees": [_tree_facts(fitted, candidate) for candidate in shown],
        "chosen_is_efficient": chosen in unbeaten_places(frontier),
        "left_out": "" if frontier.compared is None else frontier.compared.left_out,
    }
    section = Section(
        "frontier",
        "Stability against score",
        "data scientist",
        "frontier.html",
        facts,
        figures,
        "frontier.js",
        spare=tuple(f"tree-{candidate}" for candidate in _ends_last(others)),
    )
    return replace(section, shorter=(section, _shorter(section)))


def _shorter(section: Section) -> Section:
    """The frontier with the figures of its trees, not with their rules, changes and drawings."""
    trees = [{**each, "rules": [], "changes": []} for each in section.facts["trees"]]
    told = "The rules and drawings of the efficient trees were left out to keep this page small."
    figures = {"frontier": section.figures["frontier"]}
    return replace(section, facts={**section.facts, "trees": trees}, figures=figures, left_out=told)


def shown_candidates(frontier: Frontier, chosen: int) -> list[int]:
    """The efficient trees, or some of them evenly spread, and the chosen one: the most stable first."""
    order = frontier.unbeaten
    if len(order) > MOST_TREES:
        order = order[np.unique(np.linspace(0, len(order) - 1, MOST_TREES).round().astype(np.int64))]
    places = {*order.tolist(), chosen}
    return sorted(places, key=lambda place: (frontier.instability[place], place))


def _drawing(fitted: Fitted, candidate: int) -> str:
    return fitted.candidates[candidate].to_svg(positive=fitted.positive_label, beside=drawn_trees(fitted))


def drawn_trees(fitted: Fitted) -> list[Tree]:
    """All trees whose drawings stand on the page: one colour means the same in all of them."""
    if fitted.frontier is None or fitted.chosen is None:
        return []
    return [fitted.candidates[place] for place in shown_candidates(fitted.frontier, fitted.chosen)]


def _ends_last(candidates: list[int]) -> list[int]:
    """The trees in the middle of the frontier first: its two ends would be missed most."""
    middle = (len(candidates) - 1) / 2
    return sorted(candidates, key=lambda each: abs(candidates.index(each) - middle))


def _columns(fitted: Fitted) -> dict[str, list[Any]]:
    frontier = fitted.frontier
    assert frontier is not None
    shown = [fitted.metric.shown(score) for score in frontier.score.tolist()]
    unbeaten = unbeaten_places(frontier)
    return {
        "instability": _short(frontier.instability.tolist()),
        "score": _short(shown),
        "score_error": _short(frontier.score_error.tolist()),
        "leaves": frontier.n_leaves.tolist(),
        "depth": frontier.depth.tolist(),
        "efficient": [int(place in unbeaten) for place in range(len(frontier))],
    }


def _short(numbers: list[float]) -> list[float]:
    """Six digits: more than anyone reads, and less than half the letters."""
    return [float(f"{number:.6g}") for number in numbers]


def _tree_facts(fitted: Fitted, candidate: int) -> dict[str, Any]:
    frontier, tree = fitted.frontier, fitted.candidates[candidate]
    assert frontier is not None
    diff = None if candidate == fitted.chosen else tree_diff(fitted.model, tree)
    return {
        "candidate": candidate,
        "title": candidate_text(fitted, candidate),
        "rules": [
            {name: rule[name] for name in ("says", "conditions", "sentence")}
            for rule in rule_facts(tree, fitted.positive, fitted.noun, fitted.training)
        ],
        "diff": "" if diff is None else diff.summary,
        "changes": [] if diff is None else list(_changes(diff)),
        "distance": None if diff is None else diff.distance.total,
    }


def _changes(diff: Any) -> Iterator[str]:
    for section in diff_sections(diff):
        if section.title.startswith("Splits"):
            yield from section.lines


def candidate_text(fitted: Fitted, candidate: int) -> str:
    """The figures of a candidate on one line."""
    frontier = fitted.frontier
    assert frontier is not None
    score = fitted.metric.shown(float(frontier.score[candidate]))
    is_unbeaten = candidate in unbeaten_places(frontier)
    kinds = ["chosen"] * (candidate == fitted.chosen) + ["efficient"] * is_unbeaten
    kind = f" ({', '.join(kinds)})" if kinds else ""
    return (
        f"Tree {candidate}{kind}: "
        f"{fitted.metric.title} {with_error(score, float(frontier.score_error[candidate]))}, instability "
        f"{number_text(float(frontier.instability[candidate]), 4)}, "
        f"{counted(int(frontier.n_leaves[candidate]), 'leaf', 'leaves')}"
    )


# -- the picture ------------------------------------------------------------------------------------------


def _chart(fitted: Fitted, shown: list[int]) -> Markup:
    frontier = fitted.frontier
    assert frontier is not None
    score = [fitted.metric.shown(value) for value in frontier.score.tolist()]
    instability = frontier.instability.tolist()
    title = f"{fitted.metric.title}{' (less is better)' if fitted.metric.is_loss else ''}"
    chart = Chart(
        Axis.around("instability: mean distance to trees of other samples", instability),
        Axis.around(title, score),
        width=720,
        height=400,
    )
    efficient = frontier.unbeaten.tolist()
    chart.line(_steps([(instability[place], score[place]) for place in efficient]), EDGE)
    unbeaten = unbeaten_places(frontier)
    compared = range(len(frontier)) if frontier.compared is None else frontier.compared.places
    for place in range(len(frontier)):
        if place not in shown:
            chart.point(
                instability[place],
                score[place],
                radius=3,
                colour=BLUE if place in unbeaten else "#a9b6c4" if place in compared else "#e1e6ec",
                more=f' data-candidate="{place}"',
            )
    for place in shown:
        is_chosen = place == fitted.chosen
        attributes = (
            f' data-candidate="{place}" data-shown="" tabindex="{0 if is_chosen else -1}" role="button" '
            f"aria-label={quoteattr(candidate_text(fitted, place))}"
        )
        colour = RED if is_chosen else BLUE
        chart.point(
            instability[place], score[place], radius=8 if is_chosen else 6.5, colour=colour, more=attributes
        )
    return chart.svg("frontier", f"{len(frontier)} candidate trees by instability and {title}", role="group")


def _steps(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The border of what the efficient trees dominate: to the right at the score, then up at the next one."""
    found = points[:1]
    for x, y in points[1:]:
        found += [(x, found[-1][1]), (x, y)]
    return found
