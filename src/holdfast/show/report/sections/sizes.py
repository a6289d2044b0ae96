"""Size against instability: larger trees are further from those of other samples."""

import numpy as np

from holdfast.show.palette import BLUE, RED
from holdfast.show.report.charts import Axis, Chart
from holdfast.show.report.fitted import Fitted
from holdfast.show.report.page import Section
from holdfast.text.numbers import counted
from holdfast.tree.copies import drop_copies


def sizes_section(fitted: Fitted) -> Section:
    """All candidates by their leaves and their instability."""
    frontier, chosen = fitted.frontier, fitted.chosen
    assert frontier is not None
    assert chosen is not None
    leaves, instability = frontier.n_leaves.tolist(), frontier.instability.tolist()
    chart = Chart(Axis.around("leaves", leaves), Axis.around("instability", instability))
    chart.points(zip(leaves, instability, strict=True), radius=2.5, colour="#a9b6c4")
    for place in frontier.unbeaten.tolist():
        chart.point(leaves[place], instability[place], f"tree {place}, efficient", radius=4.5, colour=BLUE)
    chart.point(leaves[chosen], instability[chosen], f"tree {chosen}, chosen", radius=6, colour=RED)

    def n_distinct(places: list[int]) -> int:
        return len(drop_copies(fitted.candidates[place] for place in places))

    sizes = [
        {
            "leaves": size,
            "trees": n_distinct(np.flatnonzero(frontier.n_leaves == size).tolist()),
            "least": float(frontier.instability[frontier.n_leaves == size].min()),
            "mean": float(frontier.instability[frontier.n_leaves == size].mean()),
        }
        for size in np.unique(frontier.n_leaves).tolist()
    ]
    of_size = next(each for each in sizes if each["leaves"] == leaves[chosen])
    known = float(frontier.size_adjusted[chosen]) if of_size["trees"] > 1 else None  # of one tree it is 1
    facts = {"sizes": sizes, "size_adjusted": known}
    alt = f"{counted(len(frontier), 'candidate tree')} by leaves and instability"
    figures = {"sizes": chart.svg("sizes", alt)}
    return Section("sizes", "Size against instability", "data scientist", "sizes.html", facts, figures)
