"""Plots of one tree, drawn like its SVG picture, and of a sequence of trees, stage by stage."""

import re
from dataclasses import dataclass, field
from math import isnan
from typing import Any, Self
from xml.etree import ElementTree

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle
from matplotlib.path import Path

from holdfast._text import pluralize, printable
from holdfast.distance.diff import compare_splits, is_same_side
from holdfast.plots.display import ON_PAPER, Display, tree_of
from holdfast.tree.rules_text import FULL_LIST, split_text
from holdfast.tree.svg import (
    BLUE,
    EDGE,
    GREY,
    INK,
    MARGIN,
    PALETTE,
    RED,
    SHADE,
    SMALL,
    TEXT,
    fit_text,
    lighten,
    text_width,
    tree_svg,
)
from holdfast.tree.tree import LEAF, Tree
from holdfast.update.sequence import Stage, StageSequence

PIXELS = 96.0  # of an inch, as browsers count them
SVG = "{http://www.w3.org/2000/svg}"
ANCHORS = {"start": "left", "middle": "center", "end": "right"}


@dataclass(eq=False)
class TreeDisplay(Display):
    """The picture of a tree on a matplotlib figure, or as a PNG or PDF file; see `plot_tree`."""

    tree: Tree
    options: dict[str, Any] = field(default_factory=dict)  # of `Tree.to_svg`

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None, **options: Any) -> Self:
        """Show a tree, or that of a fitted estimator of one tree; `options` are those of `to_svg`."""
        return cls(tree_of(model), options)._drawn_on(ax)

    @property
    def heading(self) -> str:
        """Title of the picture."""
        return str(self.options.get("title") or self.tree.schema.target.name)

    def to_svg(self) -> str:
        """Return the picture of `Tree.to_svg`."""
        return tree_svg(self.tree, **self.options)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes, or on a new figure, and return the display with `ax_` and `figure_`."""
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
    """Draw the parts of an SVG element, shifted by dx and dy."""
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
    step = Path.LINETO if "L" in curve.attrib["d"] else Path.CURVE4
    ax.add_patch(
        PathPatch(
            Path(places, [Path.MOVETO, *[step] * (len(places) - 1)]),
            facecolor="none",
            edgecolor=curve.attrib["stroke"],
            linewidth=float(curve.attrib["stroke-width"]) * points,
            capstyle="butt",
        )
    )


def _draw_text(ax: Axes, text: ElementTree.Element, dx: float, dy: float, points: float) -> None:
    # Letters of matplotlib's font are wider than those of most browsers.
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


# -- stages --------------------------------------------------------------------------------------------


PIXELS = 96  # per inch: all places are in pixels of a figure of its own
NARROWEST, WIDEST = 150.0, 280.0  # of the column of a stage
MOST_PLACES = 40  # lines of a picture
LINE, GAP = 24.0, 8.0  # height of a line, space between stages
INDENT = 9.0  # for every split above
BARS = 44.0  # height of the longest bar
TOP = 84.0  # of the first line, below the legend and the names of the stages
# Change of the split at a place, its colour and its name in the legend.
MOVED, OTHER, GONE, SAME = "moved", "other", "gone", "same"
COLOURS = {
    MOVED: (BLUE, "threshold or categories moved"),
    OTHER: (PALETTE[1], "another split, or a new one"),
    GONE: (RED, "split gone"),
}


@dataclass(frozen=True)
class StageCell:
    """The split at one place of one stage."""

    text: str
    state: str
    depth: int  # number of splits above

    @property
    def indent(self) -> float:
        """Pixels from the left end of the column."""
        return 4 + INDENT * self.depth


@dataclass(eq=False)
class StagesDisplay(Display):
    """Splits of a sequence of trees: a line for every place of the tree, a column for every stage.

    Changes since the previous stage have a colour, removed splits are in parentheses. The bars at the bottom
    are the tree distances to the previous stage.
    """

    stages: tuple[Stage, ...]
    columns: tuple[dict[int, StageCell], ...]  # of every stage: the split at each place
    summary: str
    target: str

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> Self:
        """Show the stages of a model that was fitted by `fit_stages`."""
        return cls.from_result(model.stages_, ax=ax)

    @classmethod
    def from_result(cls, sequence: StageSequence, *, ax: Any = None) -> Self:
        """Show the trees of a sequence, stage by stage."""
        target = printable(sequence.trees[0].schema.target.name)
        return cls(sequence.stages, tuple(_columns(sequence)), sequence.summary, target)._drawn_on(ax)

    @property
    def heading(self) -> str:
        """Title of the picture."""
        return f"{self.target}: splits of the tree. {self.summary}"

    @property
    def places(self) -> list[int]:
        """The places of all stages from top to bottom, at most MOST_PLACES, nearest to the root first."""
        found = {place for column in self.columns for place in column}
        nearest = sorted(found, key=lambda place: (place.bit_length(), place))[:MOST_PLACES]
        return sorted(nearest, key=lambda place: bin(place)[3:])

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes, or on a new figure, and return the display with `ax_` and `figure_`."""
        places, room = self.places, self._room
        width = max(len(self.columns) * (room + GAP) - GAP, 560.0) + 2 * MARGIN
        height = TOP + LINE * max(len(places), 1) + BARS + 66
        with self._drawing(ax, (width / PIXELS, height / PIXELS)) as ax:
            ax.set_xlim(0, width)
            ax.set_ylim(height - 30, 0)
            ax.set_axis_off()
            ax.set_title(fit_text(f"{self.target}: splits of the tree", width - 2 * MARGIN))
            _legend(ax)
            for number, column in enumerate(self.columns):
                x = MARGIN + number * (room + GAP)
                _titles(ax, self.stages[number], x, room)
                for line, place in enumerate(places):
                    if place in column:
                        _draw_cell(ax, column[place], x, TOP + LINE * line, room)
                self._bar(ax, number, x, TOP + LINE * max(len(places), 1) + 12, room)
            n_all = len({place for column in self.columns for place in column})
            if n_all > len(places):
                _text(ax, MARGIN, height - 36, f"{len(places)} of {n_all} places shown", colour=GREY)
        return self

    @property
    def _room(self) -> float:
        """Width of a column: that of its longest text, within limits."""
        cells = [cell for column in self.columns for cell in column.values()]
        widest = max((each.indent + text_width(each.text, TEXT, bold=True) + 6 for each in cells), default=0)
        return min(max(widest, NARROWEST), WIDEST)

    def _bar(self, ax: Axes, number: int, x: float, y: float, room: float) -> None:
        """Draw the tree distance to the previous stage."""
        away = self.stages[number].distance
        if isnan(away):
            _text(ax, x + 4, y + BARS + 8, "distance", colour=GREY)
            return
        most = max(stage.distance for stage in self.stages if not isnan(stage.distance))
        height = BARS * away / most if most > 0 else 0.0
        ax.add_patch(Rectangle((x, y), room, BARS, color=SHADE, lw=0))
        ax.add_patch(Rectangle((x, y + BARS - height), room, height, color=lighten(BLUE, 0.5), lw=0))
        _text(ax, x + room / 2, y + BARS + 8, f"{away:.2f}", bold=True, anchor="center")


# -- parts --------------------------------------------------------------------------------------------------


def _text(
    ax: Axes, x: float, y: float, text: str, *, colour: str = INK, bold: bool = False, anchor: str = "left"
) -> Any:
    weight = "bold" if bold else "normal"
    return ax.text(x, y, text, size=SMALL * 0.72, color=colour, weight=weight, ha=anchor, va="center")


def _legend(ax: Axes) -> None:
    x = float(MARGIN)
    for state, (colour, text) in COLOURS.items():
        ax.add_patch(Rectangle((x, 8), 12, 12, facecolor=lighten(colour, 0.25), edgecolor=colour, lw=0.8))
        _text(ax, x + 18, 14, _removed(text) if state == GONE else text)
        x += 18 + text_width(text, SMALL) + 10


def _titles(ax: Axes, stage: Stage, x: float, room: float) -> None:
    _text(ax, x + 4, TOP - 34, fit_text(printable(stage.label), room), bold=True)
    _text(ax, x + 4, TOP - 16, pluralize(stage.n_rows, "row"), colour=GREY)
    ax.plot([x, x + room], [TOP - 5, TOP - 5], "-", lw=0.8, color=EDGE)


def _draw_cell(ax: Axes, cell: StageCell, x: float, y: float, room: float) -> None:
    is_new = cell.state in (MOVED, OTHER)
    if cell.state in COLOURS:
        colour = lighten(COLOURS[cell.state][0], 0.25)
        ax.add_patch(Rectangle((x, y + 1), room, LINE - 3, facecolor=colour, lw=0))
    text = fit_text(cell.text, room - cell.indent - 4)
    shown = _removed(text) if cell.state == GONE else text
    _text(ax, x + cell.indent, y + LINE / 2, shown, bold=is_new, colour=INK if is_new else GREY)


def _removed(text: str) -> str:
    """Mark a removed split, not by colour alone."""
    return f"({text})"


# -- places -------------------------------------------------------------------------------------------------


def _columns(sequence: StageSequence) -> list[dict[int, StageCell]]:
    """Return the splits of every stage by place: 1 is the root, 2 p and 2 p + 1 are below p."""
    columns: list[dict[int, StageCell]] = []
    before: tuple[Tree, dict[int, int]] | None = None
    for tree in sequence.trees:
        place = _places(tree, before)
        states = dict.fromkeys(place, SAME)
        column: dict[int, StageCell] = {}
        if before is not None:
            old, old_place = before
            states |= _states(old, tree)
            used = {place[node] for node in place if tree.feature[node] != LEAF}
            column = {
                old_place[node]: _make_cell(old, node, old_place[node], GONE)
                for node in old_place
                if old.feature[node] != LEAF and old_place[node] not in used
            }
        for node in place:
            if tree.feature[node] != LEAF:
                column[place[node]] = _make_cell(tree, node, place[node], states[node])
        columns.append(column)
        before = (tree, place)
    return columns


def _make_cell(tree: Tree, node: int, place: int, state: str) -> StageCell:
    return StageCell(split_text(tree, node, most=FULL_LIST), state, place.bit_length() - 1)


def _places(tree: Tree, before: tuple[Tree, dict[int, int]] | None) -> dict[int, int]:
    """Return the place of every node, unchanged below a split on the same feature."""
    old_node = {} if before is None else {place: node for node, place in before[1].items()}
    place = {0: 1}
    for node in range(tree.n_nodes):
        if tree.feature[node] == LEAF:
            continue
        own = place[node]
        below = (2 * own, 2 * own + 1)
        match = old_node.get(own)
        if before is not None and match is not None and before[0].feature[match] == tree.feature[node]:
            old, old_place = before
            below = old_place[int(old.left[match])], old_place[int(old.right[match])]
            if not is_same_side(old, tree, match, node):
                below = below[::-1]
        place[int(tree.left[node])], place[int(tree.right[node])] = below
    return place


def _states(old: Tree, new: Tree) -> dict[int, str]:
    """Return the nodes of the new tree whose split changed, with all nodes below a replaced split."""
    states: dict[int, str] = {}
    for change in compare_splits(old, new):
        if change.is_move:
            states[change.new_node] = MOVED
        else:
            n_below = 2 * change.leaves[1] - 1
            states |= dict.fromkeys(range(change.new_node, change.new_node + n_below), OTHER)
    return states
