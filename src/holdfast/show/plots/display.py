"""What all plots share: scikit-learn's Display convention, one style, and labels that fit.

`from_estimator(model)` or `from_result(result)` makes a display and draws it, on the axes `ax` or on a new
figure. It holds plain data, `ax_` and `figure_`; `plot(ax=None)` draws it again.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Self
from warnings import catch_warnings, filterwarnings

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.container import Container
from matplotlib.figure import Figure, SubFigure
from matplotlib.transforms import ScaledTranslation

from holdfast.errors import DataError
from holdfast.files import replace_file
from holdfast.show.palette import EDGE, GREY, INK, PAPER
from holdfast.show.plots.svg_file import svg_text
from holdfast.text.lines import printable, shortened

LONGEST_LABEL = 32  # letters of a name beside an axis
MOST_ROWS = 20  # names one below the other that a picture has room for
MARKERS = "osD^vPX*<>"  # told apart without their colours
# What a file says of itself: nothing that would make the next one differ.
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
# In the place of axes: those of a new figure that no window or notebook shows.
ON_PAPER: Any = object()
# In the place of axes: nothing is drawn yet.
LATER: Any = object()

# Text stays text in SVG files, which can then be searched, read aloud, and drawn in the reader's font.
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "holdfast",
    "pdf.fonttype": 42,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
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
    """A picture of a result, and the data that it shows."""

    ax_: Axes
    figure_: Figure | SubFigure

    @property
    def heading(self) -> str:
        """What the picture shows, in words: of one that was drawn, its title."""
        return self.ax_.get_title("left")

    def plot(self, ax: Any = None) -> Self:
        """Draw it on the axes, or on a new figure, and return the display with `ax_` and `figure_`."""
        raise NotImplementedError

    def _drawn_on(self, ax: Any) -> Self:
        """The display, drawn on the axes, or on a new figure, unless that is for later."""
        return self if ax is LATER else self.plot(ax=ax)

    def to_svg(self) -> str:
        """The picture as the text of an SVG file, without showing it: the same for the same data."""
        file = self._file("svg")
        return svg_text(file, self.heading)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, SVG, PNG or PDF by its name: the same bytes for the same data."""
        path = Path(path)
        form = picture_form(path)
        replace_file(path, self.to_svg().encode() if form == "svg" else self._file(form))

    def _file(self, form: str) -> bytes:
        file = BytesIO()
        with rc_context(STYLE), catch_warnings():
            filterwarnings("ignore", "Glyph .* missing")  # the reader's font may have it
            figure: Any = self.plot(ax=ON_PAPER).figure_
            figure.savefig(file, format=form, dpi=100 if form == "svg" else 150, metadata=_METADATA[form])
        return file.getvalue()

    @contextmanager
    def _drawing(self, ax: Axes | None, size: tuple[float, float] = (7.0, 4.4)) -> Iterator[Axes]:
        """The axes to draw on, in the style of the house: those given, or those of a new figure in inches."""
        with rc_context(STYLE):
            if ax is ON_PAPER:
                ax = Figure(figsize=size, layout="constrained").add_subplot()
            elif ax is None:
                from matplotlib import pyplot

                _, ax = pyplot.subplots(figsize=size, layout="constrained")
            self.ax_, self.figure_ = ax, ax.figure
            yield ax


def picture_form(path: Path) -> str:
    """The form of a picture by the name of its file; a DataError for any other."""
    form = path.suffix.lower().removeprefix(".")
    if form not in _METADATA:
        raise DataError(f"Cannot draw to '{path}': the name must end in .svg, .png or .pdf.")
    return form


def label(name: object, longest: int = LONGEST_LABEL) -> str:
    """A name as it stands beside an axis: on one line, with nothing invisible, and not too long."""
    return shortened(printable(str(name)), longest)


def legend_below(ax: Axes, columns: int = 1, points: float = 40) -> None:
    """What the marks mean, so many points below the axes, where they cover none of them."""
    handles, texts = ax.get_legend_handles_labels()
    # Marks with bars first: they are what the picture is about.
    order = sorted(range(len(texts)), key=lambda place: not isinstance(handles[place], Container))
    below = ScaledTranslation(0, -points / 72, ax.figure.dpi_scale_trans)
    ax.legend(
        [handles[place] for place in order],
        [texts[place] for place in order],
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        bbox_transform=ax.transAxes + below,
        borderaxespad=0.0,
        borderpad=0.0,
        ncols=columns,
        fontsize=9.5,
        markerscale=0.75,
        handlelength=1.6,
        columnspacing=1.6,
        labelspacing=0.4,
    )


def named_rows(ax: Axes, names: Sequence[object], n_all: int, noun: str) -> str:
    """Names one below the other, the first on top; and a note if there are more than these."""
    ax.set_yticks(range(len(names)), [label(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    return f"{len(names)} of {n_all:,} {noun} shown" if n_all > len(names) else ""


def rows_height(n_rows: int) -> float:
    """Inches that so many rows take, with the axis."""
    return 1.5 + 0.3 * max(n_rows, 2)
