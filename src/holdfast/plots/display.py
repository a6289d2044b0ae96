"""Base of all plots: scikit-learn's Display convention, one style, and labels that fit.

`from_estimator(model)` or `from_result(result)` makes a display and draws it, on the axes `ax` or on a new
figure. A display holds plain data, `ax_` and `figure_`; `plot(ax=None)` draws it again.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from math import ceil
from pathlib import Path
from re import Match, findall, sub
from textwrap import fill
from typing import Any, Self
from warnings import catch_warnings, filterwarnings
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.container import Container
from matplotlib.figure import Figure, SubFigure
from matplotlib.transforms import ScaledTranslation

from holdfast._arrays import FloatArray, IntArray
from holdfast._files import replace_file
from holdfast._text import printable, shorten
from holdfast.data.schema import Label
from holdfast.errors import DataError, ModelError, ParameterError
from holdfast.tree.svg import EDGE, FONT, GREY, INK, PAPER
from holdfast.tree.tree import Tree

LONGEST_LABEL = 32  # letters of a name beside an axis
MOST_ROWS = 20  # names one below the other
MARKERS = "osD^vPX*<>"  # distinguishable without colours
# No dates or versions in files, so that equal pictures are equal bytes.
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
# Instead of axes: a new figure that no window or notebook shows.
ON_PAPER: Any = object()
# Instead of axes: do not draw yet.
LATER: Any = object()

# Text stays text in SVG files: searchable, accessible, and in the reader's font.
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
    # A name of a column is never parsed as a formula.
    "text.parse_math": False,
}


class Display:
    """A picture of a result with its data.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
        Of the last drawing.
    """

    ax_: Axes
    figure_: Figure | SubFigure

    @property
    def heading(self) -> str:
        """Title of the picture."""
        return self.ax_.get_title("left")

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes, or on a new figure, and return the display with `ax_` and `figure_`."""
        raise NotImplementedError

    def _drawn_on(self, ax: Any) -> Self:
        """Draw on the axes, or on a new figure, unless `ax` is LATER, and return the display."""
        return self if ax is LATER else self.plot(ax=ax)

    def to_svg(self) -> str:
        """Return the picture as SVG text without showing it; equal data give equal text."""
        file = self._file("svg")
        return svg_text(file, self.heading)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an SVG, PNG or PDF file, by its name; equal data give equal bytes."""
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
        """Yield the axes in our style: those given, or those of a new figure of this size in inches."""
        with rc_context(STYLE):
            if ax is ON_PAPER:
                ax = Figure(figsize=size, layout="constrained").add_subplot()
            elif ax is None:
                from matplotlib import pyplot

                _, ax = pyplot.subplots(figsize=size, layout="constrained")
            self.ax_, self.figure_ = ax, ax.figure
            yield ax


def picture_form(path: Path) -> str:
    """Return "svg", "png" or "pdf" by the name of a file; a DataError for any other."""
    form = path.suffix.lower().removeprefix(".")
    if form not in _METADATA:
        raise DataError(f"Cannot draw to '{path}': the name must end in .svg, .png or .pdf.")
    return form


def label(name: object, longest: int = LONGEST_LABEL) -> str:
    """Return a name for an axis: on one line, without invisible characters, shortened."""
    return shorten(printable(str(name)), longest)


def legend_below(ax: Axes, columns: int = 1, points: float = 40) -> None:
    """Place the legend `points` below the axes."""
    handles, texts = ax.get_legend_handles_labels()
    # Marks with error bars, the subject of the picture, come first.
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
    """Label rows with names, the first on top, and return a note if there are more rows."""
    ax.set_yticks(range(len(names)), [label(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    return f"{len(names)} of {n_all:,} {noun} shown" if n_all > len(names) else ""


def rows_height(n_rows: int) -> float:
    """Return the height of the rows with the axis, in inches."""
    return 1.5 + 0.3 * max(n_rows, 2)


# -- labels --------------------------------------------------------------------------------------------


LETTERS_PER_INCH = 12  # of the size of axis labels
LARGEST, SMALLEST = 10.5, 4.0  # of tick labels, in points


def name_ticks(axis: Axis, places: Sequence[float], names: Sequence[object]) -> None:
    """Label places of an axis with names, so small, steep or few that they do not overlap."""
    ax = axis.axes
    is_upright = axis is ax.yaxis
    if is_upright:
        step = ceil(len(names) * SMALLEST / (0.8 * height_of(ax)))
        places, names = places[::step], names[::step]
    labels = [label(name, LONGEST_LABEL if is_upright else LONGEST_LABEL // 2) for name in names]
    axis.set_ticks(places, labels)
    size = fitting_size(ax, len(names)) if is_upright else LARGEST
    touches = not is_upright and len(names) * (max(map(len, labels), default=0) + 1) > letters_across(ax)
    for text in axis.get_ticklabels():
        text.set_parse_math(False)
        text.set_fontsize(size)
        if touches:
            text.set(rotation=40, ha="right", rotation_mode="anchor")


def fitting_size(ax: Axes, n_lines: int) -> float:
    """Return the font size in points at which `n_lines` lines fit the height of the axes."""
    return min(LARGEST, max(SMALLEST, 0.8 * height_of(ax) / max(n_lines, 1)))


def height_of(ax: Axes) -> float:
    """Return the height of the axes in points."""
    return ax.get_window_extent().height / ax.figure.dpi * 72


def letters_across(ax: Axes) -> int:
    """Return the number of letters that fit the width of the axes."""
    return int(ax.get_window_extent().width / ax.figure.dpi * LETTERS_PER_INCH)


def label_with_note(ax: Axes, text: str, note: str) -> None:
    """Label the horizontal axis, with a note in lines below the label."""
    beside = max((len(tick.get_text()) for tick in ax.get_yticklabels()), default=0)
    lines = [text, *([fill(note, max(30, letters_across(ax) - max(0, beside - 6)))] if note else [])]
    ax.set_xlabel("\n".join(lines), parse_math=False)


# -- svg file ------------------------------------------------------------------------------------------


KEPT = "candidate-"  # prefix of ids that a page looks up


def svg_text(file: bytes, heading: str) -> str:
    """Return SVG for a page: without metadata, with unique ids, and with a title for screen readers.

    Ids without a reference are removed, except those of candidates: pictures on one page must not clash.
    """
    text = file.decode()
    text = text[text.index("<svg") :]
    text = sub(r"\s*<metadata>.*?</metadata>", "", text, flags=16)
    used = set(findall(r"(?:url\(#|href=\"#)([^)\"]+)", text))
    own = sha256(text.encode()).hexdigest()[:6]

    def kept(name: str) -> str:
        if name.startswith(KEPT):
            return f' id="{name}"'
        return f' id="{own}-{name}"' if name in used else ""

    text = sub(r' id="([^"]*)"', lambda found: kept(found[1]), text)
    text = sub(r"(url\(#|href=\"#)", lambda found: f"{found[1]}{own}-", text)
    # The reader's own font; the one measured here is wider than most.
    text = sub(r"font-family: 'DejaVu Sans'[^;\"]*; ?", "", text)
    text = sub(r"(font: [^;\"]*?)'DejaVu Sans'[^;\"]*", rf"\1{FONT}", text)
    text = sub(r"<!--.*?-->\n?|(?<=>)\s*\n\s*(?=<)", "", text, flags=16)
    text = sub(r"<[^>]*>", lambda found: sub(r"\d+\.\d{3,}", _rounded, found[0]), text)
    width, height = (float(each) for each in findall(r'(?:width|height)="([\d.]+)pt"', text)[:2])
    return _root(text, width, height, heading)


def _rounded(number: Match[str]) -> str:
    """Round a coordinate to a hundredth of a point."""
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _root(text: str, width: float, height: float, heading: str) -> str:
    """Replace the root element by one that shrinks with the page."""
    end = text.index(">") + 1
    xlink = ' xmlns:xlink="http://www.w3.org/1999/xlink"' if "xlink:" in text[end:] else ""
    wide, high = round(width * 4 / 3), round(height * 4 / 3)
    root = (
        f'<svg xmlns="http://www.w3.org/2000/svg"{xlink} viewBox="0 0 {width:g} {height:g}" '
        f'width="{wide}" height="{high}" style="max-width:100%;block-size:auto" role="img" '
        f'font-family="{FONT}" aria-label={quoteattr(heading)}>'
    )
    return f"{root}\n<title>{escape(heading)}</title>{text[end:]}"


# -- models --------------------------------------------------------------------------------------------


def tree_of(model: Any) -> Tree:
    """Return a tree, or that of a fitted estimator of one tree."""
    tree = model if isinstance(model, Tree) else getattr(model, "tree_", None)
    if not isinstance(tree, Tree):
        raise ModelError(
            f"{type(model).__name__} holds no single tree: give a Tree, or a fitted estimator with tree_."
        )
    return tree


def classes_of(model: Any) -> tuple[Label, ...]:
    """Return the classes that the model predicts, in the order of its probabilities."""
    classes = model.schema.target.classes if isinstance(model, Tree) else getattr(model, "classes_", ())
    if not len(classes):
        target = getattr(getattr(getattr(model, "tree_", model), "schema", None), "target", None)
        if target is not None and target.is_survival:
            raise ParameterError(
                f"{type(model).__name__} predicts survival: this plot needs a classifier. SurvivalDisplay "
                "draws observed and predicted survival."
            )
        raise ParameterError(f"{type(model).__name__} predicts numbers: this plot needs a classifier.")
    return tuple(getattr(label, "item", lambda own=label: own)() for label in classes)


def positive_index(model: Any, y: Any, positive: Label | None) -> int:
    """Return the index of `positive`, or of the model's positive class, or of the class rarer in y."""
    classes = classes_of(model)
    if positive is not None and positive not in classes:
        raise ParameterError(
            f"positive={positive!r} is no class of the model: choose one of {list(classes)}."
        )
    if positive is not None:
        return classes.index(positive)
    if len(classes) != 2:
        raise ParameterError(
            f"The model has {len(classes)} classes: choose with positive= the one to show against the rest."
        )
    schema = getattr(model, "schema", getattr(model, "schema_", None))
    if schema is not None:
        return int(schema.target.class_index(schema.target.positive))
    return int(2 * np.count_nonzero(is_class(y, classes[1])) <= len(y))


def is_class(y: Any, label: Label) -> Any:
    """Return the flags of the rows of this class."""
    return np.array([value == label for value in np.asarray(y, object).ravel().tolist()])


def probabilities(model: Any, X: Any, place: int) -> FloatArray:
    """Return the probability of a class for every row."""
    return np.asarray(model.predict_proba(X)[:, place], np.float64)


def leaves_of_rows(model: Any, X: Any) -> IntArray | None:
    """Return the leaf of every row; None unless the model is a single tree."""
    is_single = isinstance(getattr(model, "tree_", model), Tree)
    return np.asarray(model.apply(X), np.int32) if is_single else None
