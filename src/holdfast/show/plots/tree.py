"""A tree on matplotlib: the parts of its SVG picture, drawn as rectangles, curves and text."""

import re
from dataclasses import dataclass, field
from typing import Any, Self
from xml.etree import ElementTree

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path

from holdfast.show.plots.display import ON_PAPER, Display
from holdfast.show.plots.models import tree_of
from holdfast.show.tree_svg import tree_svg
from holdfast.tree.tree import Tree

PIXELS = 96.0  # of an inch, as browsers count them
SVG = "{http://www.w3.org/2000/svg}"
ANCHORS = {"start": "left", "middle": "center", "end": "right"}


@dataclass(eq=False)
class TreeDisplay(Display):
    """The picture of a tree, for a figure of matplotlib or a PNG or PDF file."""

    tree: Tree
    options: dict[str, Any] = field(default_factory=dict)  # of the picture: see `Tree.to_svg`

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None, **options: Any) -> Self:
        """The tree itself, or that of a fitted estimator of one tree. Options are those of `to_svg`."""
        return cls(tree_of(model), options)._drawn_on(ax)

    @property
    def heading(self) -> str:
        """What the picture shows, in words."""
        return str(self.options.get("title") or self.tree.schema.target.name)

    def to_svg(self) -> str:
        """The picture as `Tree.to_svg` draws it."""
        return tree_svg(self.tree, **self.options)

    def plot(self, ax: Any = None) -> Self:
        """Draw it on the axes, or on a new figure, and return the display with `ax_` and `figure_`."""
        root = ElementTree.fromstring(self.to_svg())
        width, height = (float(each) for each in root.attrib["viewBox"].split()[2:])
        is_own = ax is None or ax is ON_PAPER
        with self._drawing(ax, (width / PIXELS, height / PIXELS)) as ax:
            if is_own:
                figure: Any = ax.figure
                figure.set_layout_engine("none")
                ax.set_position((0.0, 0.0, 1.0, 1.0))
            ax.set(xlim=(0, width), ylim=(height, 0), aspect="equal")
            ax.set_axis_off()
            ax.apply_aspect()
            points = ax.get_window_extent().width / width * 72 / ax.figure.dpi  # of a pixel of the picture
            _draw(ax, root, 0.0, 0.0, points)
        return self


def plot_tree(model: Any, *, ax: Any = None, **options: Any) -> TreeDisplay:
    """Draw a tree on matplotlib, the same picture as `to_svg`.

    Parameters
    ----------
    model : Tree or fitted estimator
        An estimator must hold one tree.
    ax : matplotlib Axes, optional
        Default: a new figure as large as the picture.
    **options
        Those of `Tree.to_svg`: `title`, `positive`, `decimals`, `missing`.

    Returns
    -------
    TreeDisplay
        With `figure_` and `ax_`; `save("tree.pdf")` writes SVG, PNG or PDF.

    Examples
    --------
    >>> from holdfast import TreeClassifier
    >>> display = plot_tree(TreeClassifier().fit([[20.0], [50.0]], ["no", "yes"]))
    >>> len(display.ax_.texts) > 0
    True
    """
    return TreeDisplay.from_estimator(model, ax=ax, **options)


def _draw(ax: Axes, parent: ElementTree.Element, dx: float, dy: float, points: float) -> None:
    """Draw the parts of an element, moved by so much."""
    for each in parent:
        kind = each.tag.removeprefix(SVG)
        if kind == "g":
            moved = [float(number) for number in re.findall(r"[-\d.]+", each.get("transform", "0 0"))]
            _draw(ax, each, dx + moved[0], dy + moved[1], points)
        elif kind == "rect":
            _draw_box(ax, each, dx, dy, points)
        elif kind == "path":
            _draw_curve(ax, each, dx, dy, points)
        elif kind == "text":
            _draw_text(ax, each, dx, dy, points)


def _draw_box(ax: Axes, box: ElementTree.Element, dx: float, dy: float, points: float) -> None:
    x, y, width, height, radius = (float(box.attrib[name]) for name in ("x", "y", "width", "height", "rx"))
    ax.add_patch(
        FancyBboxPatch(
            (x + dx, y + dy),
            width,
            height,
            boxstyle=f"round,pad=0,rounding_size={radius}" if radius else "square,pad=0",
            facecolor=box.attrib["fill"],
            edgecolor=box.attrib["stroke"],
            linewidth=points,
        )
    )


def _draw_curve(ax: Axes, curve: ElementTree.Element, dx: float, dy: float, points: float) -> None:
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", curve.attrib["d"])]
    places = [(x + dx, y + dy) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
    ax.add_patch(
        PathPatch(
            Path(places, [Path.MOVETO, *[Path.CURVE4] * (len(places) - 1)]),
            facecolor="none",
            edgecolor=curve.attrib["stroke"],
            linewidth=float(curve.attrib["stroke-width"]) * points,
            capstyle="butt",
        )
    )


def _draw_text(ax: Axes, text: ElementTree.Element, dx: float, dy: float, points: float) -> None:
    # The letters that matplotlib brings are wider than those of most browsers.
    ax.text(
        float(text.attrib["x"]) + dx,
        float(text.attrib["y"]) + dy,
        text.text or "",
        fontsize=float(text.attrib["font-size"]) * points * 0.93,
        fontweight="bold" if "font-weight" in text.attrib else "normal",
        color=text.attrib["fill"],
        ha=ANCHORS[text.attrib["text-anchor"]],
        va="baseline",
    )
