"""The scores of every size of a tree as a table."""

import numpy as np

from holdfast.growth.size.table import SizeTable, error_of
from holdfast.text.numbers import with_error
from holdfast.text.table import Table
from holdfast.text.view import Picture, View

MOST_LINES = 20


def size_table_view(sizes: SizeTable) -> View:
    """The sizes, thinned if they are many, why one was chosen, and the picture."""
    places = list(range(len(sizes)))
    if len(sizes) > MOST_LINES:
        spread = np.linspace(0, len(sizes) - 1, MOST_LINES - 2).round().astype(int)
        places = sorted({*spread.tolist(), sizes.best, sizes.chosen})
    some = f"({len(places)} of {len(sizes)} sizes; to_frame() has them all)\n" * (len(places) < len(sizes))
    table = Table(
        [str(sizes.parameter), "leaves", "relative error", sizes.metric.title, ""],
        [_cells(sizes, place) for place in places],
        note=f"{some}{sizes.reason}",
        sides=">>>><",
        widths=(14, 6, 14, 19, 0),
        marked=[places.index(sizes.chosen)],
    )
    return View(table, Picture(sizes.to_svg))


def _cells(sizes: SizeTable, place: int) -> list[str]:
    relative = sizes.risks[place] / (float(sizes.risks[-1]) or 1.0)
    marks = ["chosen"] * (place == sizes.chosen) + ["best"] * (place == sizes.best != sizes.chosen)
    score = sizes.metric.shown(float(sizes.score[place]))
    return [
        f"{sizes.values[place]:.4g}",
        str(sizes.n_leaves[place]),
        f"{relative:.3f}",
        with_error(score, error_of(sizes, place), room=7),
        ", ".join(marks),
    ]
