"""What all plots share: scikit-learn's Display convention, one style, and labels that fit.

A display holds plain data. `from_estimator(model)` or `from_result(result)` makes it; `plot(ax=None)` draws
it and returns it, with `ax_` and `figure_`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from holdfast.show.palette import EDGE, GREY, INK, PAPER
from holdfast.text.lines import printable, shortened

LONGEST_LABEL = 32  # letters of a name beside an axis

# Text stays text in SVG files, which can then be searched, read aloud, and drawn in the reader's font.
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "holdfast",
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "axes.titleweight": "semibold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": EDGE,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "font.size": 10.5,
    "legend.frameon": False,
    # No name of a column is taken for a formula.
    "text.parse_math": False,
}


class Display:
    """A picture of a result: plain data until `plot` draws it."""

    ax_: Axes
    figure_: Figure | SubFigure

    @contextmanager
    def _drawing(self, ax: Axes | None, size: tuple[float, float] = (7.0, 4.4)) -> Iterator[Axes]:
        """The axes to draw on, in the style of the house: those given, or those of a new figure in inches."""
        with rc_context(STYLE):
            if ax is None:
                from matplotlib import pyplot

                _, ax = pyplot.subplots(figsize=size, layout="constrained")
            self.ax_, self.figure_ = ax, ax.figure
            yield ax


def label(name: object, longest: int = LONGEST_LABEL) -> str:
    """A name as it stands beside an axis: on one line, with nothing invisible, and not too long."""
    return shortened(printable(str(name)), longest)
