"""The frontier as a table of text."""

import numpy as np

from holdfast.arrays import LongArray
from holdfast.show.html import MOST_ROWS, sentences, table, view
from holdfast.stability.choice import Choice
from holdfast.stability.frontier import Frontier
from holdfast.text.lines import shortened
from holdfast.text.numbers import percent_text, with_error
from holdfast.text.table import table_lines

WIDEST_TITLE = 19  # of the score
LOST = "of the teacher lost"  # heading of what a centred tree loses


def frontier_text(frontier: Frontier) -> str:
    """The efficient candidates as lines of a table, the most stable first; all candidates of centred trees.

    The one that a tolerance of the teacher chooses need not be efficient, so that none of them is left out.
    """
    headings = _headings(frontier)
    rows = [headings, *(_cells(frontier, place) for place in shown_order(frontier).tolist())]
    widths = (9, 21, len(headings[2]), 19, 6, 5)
    return "\n".join([_head(frontier), *table_lines(rows, sides=">>>>>>", widths=widths)])


def frontier_html(frontier: Frontier) -> str:
    """The same for a notebook."""
    return view(sentences(_head(frontier)), _html(frontier, shown_order(frontier).tolist()))


def choice_html(choice: Choice) -> str:
    """Why the tree was chosen, and the candidates that it was chosen from, if they are known."""
    reason = sentences(f"Candidate {choice.candidate} is chosen. {choice.reason}")
    if choice.frontier is None:
        return view(reason)
    order = shown_order(choice.frontier).tolist()
    if choice.candidate not in order:
        order.append(choice.candidate)
    return view(reason, _html(choice.frontier, order, choice.candidate))


def _html(frontier: Frontier, order: list[int], chosen: int | None = None) -> str:
    """The candidates as a table, the chosen one and those around it if they are many."""
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
    is_told = bool(frontier.has_teacher and frontier.efficient[place])
    return [*_cells(frontier, place), "yes" if is_told else ""]


def _head(frontier: Frontier) -> str:
    if frontier.has_teacher:
        sizes = ", ".join(map(str, reversed(frontier.sizes)))
        each = f"number of leaves ({sizes}) and tolerance" if sizes else "tolerance"
        return f"{len(frontier)} candidates, one for each {each}:"
    n_efficient = frontier.efficient.sum()
    return f"{n_efficient} of {len(frontier)} candidates {'is' if n_efficient == 1 else 'are'} efficient:"


def _headings(frontier: Frontier) -> list[str]:
    title = "score" if frontier.metric is None else frontier.metric.title
    lost = LOST if frontier.has_teacher else "size-adjusted"
    return ["candidate", "instability", lost, shortened(title, WIDEST_TITLE), "leaves", "depth"]


def shown_order(frontier: Frontier) -> LongArray:
    """The candidates that tables list, the most stable first: the efficient ones, or all centred trees.

    Of those alike in all that is listed, such as one tree found with several tolerances, the first.
    """
    if frontier.teacher_loss is None:
        return frontier.efficient_order
    known = (frontier.n_leaves, frontier.teacher_loss, -frontier.score, frontier.instability)
    order = np.lexsort(known)
    points = np.stack(known, axis=1)[order]
    is_new = [not (points[:place] == point).all(axis=1).any() for place, point in enumerate(points)]
    return order[is_new]


def lost_text(frontier: Frontier, place: int) -> str:
    """What a centred tree loses of what the student has learnt from the teacher; empty without a teacher."""
    if frontier.teacher_loss is None:
        return ""
    return percent_text(max(0.0, float(frontier.teacher_loss[place])))  # the last digit may be a gain


def leaves_text(frontier: Frontier, place: int) -> str:
    """The number of leaves, of a centred tree with the most that it may have: 9 of 12."""
    n_leaves = str(frontier.n_leaves[place])
    return n_leaves if frontier.max_leaf_nodes is None else f"{n_leaves} of {frontier.max_leaf_nodes[place]}"


def _cells(frontier: Frontier, place: int) -> list[str]:
    score = float(frontier.score[place])
    read = score if frontier.metric is None else frontier.metric.shown(score)
    return [
        str(place),
        with_error(frontier.instability[place], frontier.instability_error[place], room=7),
        lost_text(frontier, place) or f"{frontier.size_adjusted[place]:.2f}",
        with_error(read, frontier.score_error[place], room=6),
        leaves_text(frontier, place),
        str(frontier.depth[place]),
    ]
