"""The importances of the features as a table."""

from holdfast.ensembles.importance_table import Importances
from holdfast.text.lines import printable, shortened
from holdfast.text.numbers import counted, with_error
from holdfast.text.table import Table
from holdfast.text.view import View

MOST_LINES = 20
LONGEST_NAME = 32
LOST = "change of the score when the feature is permuted among the out-of-bag rows"


def importances_view(importances: Importances) -> View:
    """The features, the most important first, cut if they are many."""
    metric, order = importances.metric, importances.order.tolist()
    score = [] if metric is None else [f"{'rise' if metric.is_loss else 'loss'} of {metric.title}"]
    headings = ["feature", "splits", "total decrease", "decrease per split", *score]
    rows = [_cells(importances, place) for place in order[:MOST_LINES]]
    cut = f"({MOST_LINES} of {len(order)} features; to_frame() has them all)\n" * (len(order) > MOST_LINES)
    note = f"{cut}± is one standard error over {counted(importances.n_estimators, 'tree')}."
    widths = (0, 7, *[19] * (len(headings) - 2))
    return View(Table(headings, rows, note=note, widths=widths, meanings=dict.fromkeys(score, LOST)))


def _cells(importances: Importances, place: int) -> list[str]:
    spreads = [importances.total_decrease, importances.decrease_per_split, importances.permutation]
    return [
        shortened(printable(importances.names[place]), LONGEST_NAME),
        str(importances.n_splits[place]),
        *(with_error(spread.mean[place], spread.error[place], room=7) for spread in spreads if spread),
    ]
