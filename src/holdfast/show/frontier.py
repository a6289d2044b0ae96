"""The frontier as a table of text."""

from holdfast.stability.frontier import Frontier
from holdfast.text.lines import shortened
from holdfast.text.numbers import with_error
from holdfast.text.table import table_lines

WIDEST_TITLE = 19  # of the score


def frontier_text(frontier: Frontier) -> str:
    """The efficient candidates as lines of a table, the most stable first."""
    title = "score" if frontier.metric is None else frontier.metric.title
    head = f"{frontier.efficient.sum()} of {len(frontier)} candidates are efficient:"
    headings = [
        "candidate",
        "instability",
        "size-adjusted",
        shortened(title, WIDEST_TITLE),
        "leaves",
        "depth",
    ]
    rows = [headings, *(_cells(frontier, place) for place in frontier.efficient_order.tolist())]
    return "\n".join([head, *table_lines(rows, sides=">>>>>>", widths=(9, 21, 13, 19, 6, 5))])


def _cells(frontier: Frontier, place: int) -> list[str]:
    score = float(frontier.score[place])
    read = score if frontier.metric is None else frontier.metric.shown(score)
    return [
        str(place),
        with_error(frontier.instability[place], frontier.instability_error[place], room=7),
        f"{frontier.size_adjusted[place]:.2f}",
        with_error(read, frontier.score_error[place], room=6),
        str(frontier.n_leaves[place]),
        str(frontier.depth[place]),
    ]
