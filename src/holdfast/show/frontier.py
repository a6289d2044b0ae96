"""The frontier as a table of text."""

import numpy as np

from holdfast.arrays import LongArray
from holdfast.show.html import MOST_ROWS, sentences, table, view
from holdfast.stability.choice import Choice
from holdfast.stability.frontier import Frontier
from holdfast.text.lines import shortened
from holdfast.text.numbers import counted, loss_text, with_error
from holdfast.text.table import table_lines

WIDEST_TITLE = 19  # of the score
LOST = "of the teacher lost"  # heading of what a centred tree loses


def frontier_text(frontier: Frontier) -> str:
    """The efficient candidates as lines of a table, the most stable first; all candidates of centred trees.

    The chosen one is marked, and is listed even if it is not efficient.
    """
    headings = _headings(frontier)
    rows = [headings, *(_cells(frontier, place) for place in shown_order(frontier).tolist())]
    widths = (9, 21, len(headings[2]), 19, 6, 5)
    legend = [] if frontier.chosen is None else ["* chosen"]
    return "\n".join([_head(frontier), *table_lines(rows, sides=">>>>>>", widths=widths), *legend])


def frontier_html(frontier: Frontier) -> str:
    """The same for a notebook."""
    return view(sentences(_head(frontier)), _html(frontier))


def choice_html(choice: Choice) -> str:
    """Why the tree was chosen, and the candidates that it was chosen from, if they are known."""
    reason = sentences(f"Candidate {choice.candidate} is chosen. {choice.reason}")
    return view(reason) if choice.frontier is None else view(reason, _html(choice.frontier))


def _html(frontier: Frontier) -> str:
    """The candidates as a table, the chosen one and those around it if they are many."""
    order, chosen = shown_order(frontier).tolist(), frontier.chosen
    at = 0 if chosen is None else order.index(chosen)
    begin = max(0, min(at - MOST_ROWS // 2, len(order) - MOST_ROWS))
    told = order[begin : begin + MOST_ROWS]
    more = f"{len(told)} of {len(order)} candidates; to_frame() of the frontier has them all."
    return table(
        [[*_headings(frontier), "efficient"], *(_html_cells(frontier, place) for place in told)],
        taken=[row for row, place in enumerate(told) if place == chosen],
        more=more if len(told) < len(order) else "",
    )


def _html_cells(frontier: Frontier, place: int) -> list[str]:
    """The cells; where all that are told are efficient, the last column is left out."""
    is_told = frontier.has_teacher and place in unbeaten_places(frontier)
    return [*_cells(frontier, place), "yes" if is_told else ""]


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
    """The candidates that tables list, the most stable first: the efficient ones, or all centred trees.

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
    """What a centred tree loses of what the student has learnt from the teacher; empty without a teacher."""
    if frontier.teacher_loss is None:
        return ""
    return loss_text(float(frontier.teacher_loss[place]))


def leaves_text(frontier: Frontier, place: int) -> str:
    """The number of leaves, of a centred tree with the most that it may have: 9 of 12."""
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
