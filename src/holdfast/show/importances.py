"""The importances of the features as a table of text."""

from holdfast.ensembles.importance_table import Importances
from holdfast.show.html import sentences, table, view
from holdfast.text.lines import printable, shortened
from holdfast.text.numbers import counted, with_error
from holdfast.text.table import table_lines

MOST_LINES = 20
LONGEST_NAME = 32
LOST = "what the score loses when the feature is shuffled among rows out of the bag"


def importances_text(importances: Importances) -> str:
    """The features as lines of a table, the most important first, cut if they are many."""
    order = importances.order.tolist()
    shown = order[:MOST_LINES]
    rows = _rows(importances, shown)
    widths = (0, 7, *[19] * (len(rows[0]) - 2))
    lines = table_lines(rows, widths=widths)
    if len(shown) < len(order):
        lines.append(f"({len(shown)} of {len(order)} features; to_frame() has them all)")
    return "\n".join([*lines, _legend(importances)])


def importances_html(importances: Importances) -> str:
    """The same for a notebook."""
    order = importances.order.tolist()
    told = order[:MOST_LINES]
    cut = f"{len(told)} of {len(order)} features; to_frame() has them all. " if len(told) < len(order) else ""
    meanings = dict.fromkeys(_score_heading(importances), LOST)
    rows = table(_rows(importances, told), more=f"{cut}{_legend(importances)}", explained=meanings)
    return view(sentences("The most important feature first."), rows)


def _rows(importances: Importances, places: list[int]) -> list[list[str]]:
    headings = ["feature", "splits", "total decrease", "decrease per split", *_score_heading(importances)]
    return [headings, *(_cells(importances, place) for place in places)]


def _legend(importances: Importances) -> str:
    return f"± is one standard error over {counted(importances.n_estimators, 'tree')}."


def _score_heading(importances: Importances) -> list[str]:
    metric = importances.metric
    return [] if metric is None else [f"{'rise' if metric.is_loss else 'loss'} of {metric.title}"]


def _cells(importances: Importances, place: int) -> list[str]:
    spreads = [importances.total_decrease, importances.decrease_per_split, importances.permutation]
    return [
        shortened(printable(importances.names[place]), LONGEST_NAME),
        str(importances.n_splits[place]),
        *(with_error(spread.mean[place], spread.error[place], room=7) for spread in spreads if spread),
    ]
