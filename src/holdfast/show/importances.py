"""The importances of the features as a table of text."""

from holdfast.ensembles.importance_table import Importances
from holdfast.text.lines import printable, shortened
from holdfast.text.numbers import counted, with_error
from holdfast.text.table import table_lines

MOST_LINES = 20
LONGEST_NAME = 32


def importances_text(importances: Importances) -> str:
    """The features as lines of a table, the most important first, cut if they are many."""
    order = importances.order.tolist()
    shown = order[:MOST_LINES]
    headings = ["feature", "splits", "total decrease", "decrease per split", *_score_heading(importances)]
    rows = [headings, *(_cells(importances, place) for place in shown)]
    widths = (0, 7, *[19] * (len(headings) - 2))
    lines = table_lines(rows, widths=widths)
    if len(shown) < len(order):
        lines.append(f"({len(shown)} of {len(order)} features; to_frame() has them all)")
    trees = counted(importances.n_estimators, "tree")
    return "\n".join([*lines, f"± is one standard error over {trees}."])


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
