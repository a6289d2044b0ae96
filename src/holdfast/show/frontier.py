"""The frontier as a table."""

import numpy as np

from holdfast.arrays import LongArray
from holdfast.stability.choice import Choice
from holdfast.stability.frontier import Frontier
from holdfast.text.lines import shortened
from holdfast.text.numbers import counted, loss_text, with_error
from holdfast.text.table import Table
from holdfast.text.view import View

WIDEST_TITLE = 19  # of the score
LOST = "of the teacher lost"  # heading of what a consensus tree loses


def frontier_view(frontier: Frontier) -> View:
    """The efficient candidates, the most stable first; all candidates of consensus trees.

    The chosen one is marked, and is listed even if it is not efficient.
    """
    return View(_table(frontier))


def choice_view(choice: Choice) -> View:
    """Why the tree was chosen, and the candidates that it was chosen from, if they are known."""
    reason = f"Candidate {choice.candidate} is chosen. {choice.reason}"
    return View(reason) if choice.frontier is None else View(reason, _table(choice.frontier))


def _table(frontier: Frontier) -> Table:
    order, chosen = shown_order(frontier).tolist(), frontier.chosen
    headings = _headings(frontier)
    return Table(
        headings,
        [_cells(frontier, place) for place in order],
        title=_head(frontier),
        note="" if chosen is None else "* chosen",
        sides=">>>>>>",
        widths=(9, 21, len(headings[2]), 19, 6, 5),
        marked=[] if chosen is None else [order.index(chosen)],
        whole="to_frame() of the frontier",
    )


def unbeaten_places(frontier: Frontier) -> set[int]:
    """The candidates that none of those compared beats, with all that are alike in both."""
    d, a = frontier.instability, frontier.score
    points = {(d[place], a[place]) for place in frontier.unbeaten}
    among = range(len(frontier)) if frontier.compared is None else frontier.compared.places
    return {place for place in among if (d[place], a[place]) in points}


def _head(frontier: Frontier) -> str:
    if frontier.has_teacher:
        sizes = ", ".join(map(str, reversed(frontier.sizes)))
        each = f"number of leaves ({sizes}) and tolerance" if sizes else "tolerance"
        return f"{counted(len(frontier), 'candidate')}, one for each {each}:"
    n_efficient = frontier.efficient.sum()
    verb = "is" if n_efficient == 1 else "are"
    return f"{n_efficient} of {counted(len(frontier), 'candidate')} {verb} efficient:"


def _headings(frontier: Frontier) -> list[str]:
    title = "score" if frontier.metric is None else frontier.metric.title
    lost = LOST if frontier.has_teacher else "size-adjusted"
    return ["candidate", "instability", lost, shortened(title, WIDEST_TITLE), "leaves", "depth"]


def shown_order(frontier: Frontier) -> LongArray:
    """The candidates that tables list, the most stable first: the efficient ones, or all consensus trees.

    Of those alike in all that is listed, such as one tree found with several tolerances, the chosen one or
    the first. The chosen one is always there.
    """
    chosen = [] if frontier.chosen is None else [frontier.chosen]
    listed = range(len(frontier)) if frontier.has_teacher else frontier.efficient_order.tolist()
    losses = [] if frontier.teacher_loss is None else [frontier.teacher_loss]
    known = (frontier.n_leaves, *losses, -frontier.score, frontier.instability)
    lines: dict[tuple[float, ...], int] = {}
    for place in (*chosen, *listed):
        lines.setdefault(tuple(float(column[place]) for column in known), place)
    places = np.array(list(lines.values()), np.int64)
    return places[np.lexsort(tuple(column[places] for column in known))]


def lost_text(frontier: Frontier, place: int) -> str:
    """The fraction of the teacher that a consensus tree loses; empty without a teacher."""
    if frontier.teacher_loss is None:
        return ""
    return loss_text(float(frontier.teacher_loss[place]))


def leaves_text(frontier: Frontier, place: int) -> str:
    """The number of leaves, of a consensus tree with the most that it may have: 9 of 12."""
    n_leaves = str(frontier.n_leaves[place])
    return n_leaves if frontier.max_leaf_nodes is None else f"{n_leaves} of {frontier.max_leaf_nodes[place]}"


def _cells(frontier: Frontier, place: int) -> list[str]:
    score = float(frontier.score[place])
    read = score if frontier.metric is None else frontier.metric.shown(score)
    return [
        f"{place} *" if place == frontier.chosen else str(place),
        with_error(frontier.instability[place], frontier.instability_error[place], room=7),
        lost_text(frontier, place) or f"{frontier.size_adjusted[place]:.2f}",
        with_error(read, frontier.score_error[place], room=6),
        leaves_text(frontier, place),
        str(frontier.depth[place]),
    ]
