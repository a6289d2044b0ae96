"""The scores of every size of a tree as a table of text."""

import numpy as np

from holdfast.growth.size.table import SizeTable, error_of
from holdfast.show.html import sentences, table, view
from holdfast.text.numbers import with_error
from holdfast.text.table import table_lines

MOST_LINES = 20


def size_table_text(sizes: SizeTable) -> str:
    """The sizes as lines of a table, thinned if they are many, and why one was chosen."""
    places = _places_shown(sizes)
    lines = table_lines(_rows(sizes, places), sides=">>>><", widths=(14, 6, 14, 19, 0))
    if len(places) < len(sizes):
        lines.append(f"({len(places)} of {len(sizes)} sizes; to_frame() has them all)")
    return "\n".join([*lines, sizes.reason])


def size_table_html(sizes: SizeTable) -> str:
    """Why the size was chosen, the picture, and the table."""
    places = _places_shown(sizes)
    cut = f"{len(places)} of {len(sizes)} sizes; to_frame() has them all." if len(places) < len(sizes) else ""
    rows = table(_rows(sizes, places), taken=[places.index(sizes.chosen)], more=cut)
    return view(sentences(sizes.reason), sizes.to_svg(), rows)


def _rows(sizes: SizeTable, places: list[int]) -> list[list[str]]:
    headings = [str(sizes.parameter), "leaves", "relative error", sizes.metric.title, ""]
    return [headings, *(_cells(sizes, place) for place in places)]


def _places_shown(sizes: SizeTable) -> list[int]:
    if len(sizes) <= MOST_LINES:
        return list(range(len(sizes)))
    spread = np.linspace(0, len(sizes) - 1, MOST_LINES - 2).round().astype(int)
    return sorted({*spread.tolist(), sizes.best, sizes.chosen})


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
