"""The space of two features, cut up by a tree, with the rows in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.patches import Rectangle

from holdfast.arrays import FloatArray
from holdfast.data.input.rows import encode_rows
from holdfast.data.schema import Label
from holdfast.errors import ParameterError
from holdfast.show.palette import BLUE, INK, PAPER, darker, lighter, nth_colour
from holdfast.show.plots.display import Display, label
from holdfast.show.plots.feature_axis import MARGIN, FeatureAxis
from holdfast.show.plots.labels import label_with_note, name_ticks
from holdfast.show.plots.models import is_class, tree_of
from holdfast.show.plots.regions import Held, Region, features_shown, held_values, regions, rows_elsewhere
from holdfast.text.lines import label_text
from holdfast.text.numbers import counted, number_text, rounded_percent
from holdfast.tree.positive import positive_class
from holdfast.tree.tree import LEAF, Tree

MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
MOST_TICKS = 24  # categories with a name
MOST_ROWS = 2000  # drawn, at even steps through the data
MOST_HELD = 4  # told in words
APART = (0.7548776662, 0.5698402910)  # steps across and up: multiples of both fill a square evenly
THIN = 0.02  # of a region that an edge would cover, as a fraction of the axis
LEAST_SIDE = 0.09  # of a region that holds words, as a fraction of the axis
NUMBERS = LinearSegmentedColormap.from_list("numbers", [lighter(BLUE, 0.05), BLUE, darker(BLUE, 0.45)])


@dataclass(eq=False)
class PartitionDisplay(Display):
    """Regions of two features that end in one leaf each; all other features are held at one value."""

    tree: Tree
    x: FeatureAxis
    y: FeatureAxis | None  # None where the tree knows one feature only
    regions: tuple[Region, ...]
    held: tuple[Held, ...]
    points: FloatArray  # (rows, 2) numbers, or positions of categories; NaN where missing
    target: Any = None  # (rows,) index of the class, -1 if it is unknown, or number; None: not given
    n_elsewhere: int = 0  # rows that reach another leaf than that of the region in which they stand
    positive: int | None = None  # index of the class whose probability is told; None: of each region's own

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        features: Sequence[str] | None = None,
        at: Mapping[str, Any] | None = None,
        positive: Label | None = None,
        ax: Any = None,
    ) -> Self:
        """The partition of a tree, or of a fitted estimator of one tree, with the rows X in it.

        `features` are the names of one or two; by default the two most important ones. The others that the
        tree asks about are held at the values that `at` gives by name or else, of the rows X, at the lower
        median or the most frequent category. The rectangles are exact: they come from the rules of the tree.
        Of two classes the probability of `positive` is told, by default that of the tree.
        """
        tree = tree_of(model)
        shown = features_shown(tree, features)
        used = sorted({*np.unique(tree.feature[tree.feature != LEAF]).tolist(), *shown})
        rows = encode_rows(X, tree.schema, used)
        columns = {number: rows[:, place] for place, number in enumerate(used)}
        held = held_values(tree, columns, at or {}, shown)
        axes = [FeatureAxis.of(tree.schema.features[number], columns[number]) for number in shown]
        first, second = axes[0], axes[1] if len(axes) == 2 else None
        found = regions(tree, first, second, held)
        return cls(
            tree=tree,
            x=first,
            y=second,
            regions=found,
            held=held,
            points=_points([columns[number] for number in shown]),
            target=None if y is None else _target(tree, y, len(rows)),
            n_elsewhere=rows_elsewhere(tree, rows, used, held),
            positive=positive_class(tree, positive),
        )._drawn_on(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the regions and the rows."""
        with self._drawing(ax, (7.4, 5.6)) as ax:
            for region in self.regions:
                self._draw_region(ax, region)
            ax.set_xlim(self.x.start, self.x.high)
            ax.set_ylim(0.0 if self.y is None else self.y.start, 1.0 if self.y is None else self.y.high)
            self._draw_rows(ax)
            for axis, feature_axis in ((ax.xaxis, self.x), (ax.yaxis, self.y)):
                _draw_ticks(axis, feature_axis)
            ax.set_title(f"Partition by the tree: {label(self.tree.schema.target.name)}", parse_math=False)
            if self.y is not None:
                ax.set_ylabel(label(self.y.feature.name), parse_math=False)
            label_with_note(ax, label(self.x.feature.name), self._note())
        return self

    # -- parts ----------------------------------------------------------------------------------------

    def _draw_region(self, ax: Axes, region: Region) -> None:
        (left, right), (low, high) = region.x, region.y
        height = 1.0 if self.y is None else self.y.high - self.y.start
        is_thin = right - left < THIN * (self.x.high - self.x.start) or high - low < THIN * height
        ax.add_patch(
            Rectangle(
                (left, low),
                right - left,
                high - low,
                facecolor=self._colour(region.leaf),
                edgecolor=PAPER,
                linewidth=0.0 if is_thin else 1.2,
                zorder=1,
                gid=f"leaf {region.leaf}",
            )
        )
        is_wide = right - left > 1.4 * LEAST_SIDE * (self.x.high - self.x.start)
        if is_wide and high - low > LEAST_SIDE * height:
            ax.text(
                (left + right) / 2,
                (low + high) / 2,
                self._words(region.leaf),
                ha="center",
                va="center",
                fontsize=9,
                color=INK,
                zorder=4,
                parse_math=False,
                bbox={"boxstyle": "round,pad=0.25", "facecolor": PAPER, "edgecolor": "none", "alpha": 0.75},
            )

    def _colour(self, leaf: int) -> Any:
        if not self.tree.schema.target.is_classes:
            return NUMBERS(self._norm(self.tree.value[leaf, 0]))
        outcome = int(self.tree.outcome[leaf])
        return lighter(nth_colour(outcome), 0.15 + 0.4 * float(self.tree.value[leaf, outcome]))

    def _words(self, leaf: int) -> str:
        if not self.tree.schema.target.is_classes:
            return number_text(float(self.tree.value[leaf, 0]), 3)
        told = int(self.tree.outcome[leaf]) if self.positive is None else self.positive
        name = label(label_text(self.tree.schema.target.classes[told]), 14)
        return f"{name} {rounded_percent(float(self.tree.value[leaf, told]))}"

    @property
    def _norm(self) -> Normalize:
        """Numbers on the scale of the colours: those of all leaves."""
        said = self.tree.value[self.tree.feature == LEAF, 0]
        return Normalize(float(said.min()), float(said.max()), clip=True)

    def _draw_rows(self, ax: Axes) -> None:
        step = -(-len(self.points) // MOST_ROWS) or 1
        rows = np.arange(0, len(self.points), step)
        x, y = self._places(rows)
        style: dict[str, Any] = {"s": 20, "linewidth": 0.5, "edgecolor": PAPER, "zorder": 3}
        if self.target is None:
            ax.scatter(x, y, color=INK, alpha=0.5, gid="rows", **style)
        elif self.tree.schema.target.is_classes:
            self._draw_classes(ax, x, y, rows, style)
        else:
            colours = ScalarMappable(self._norm, NUMBERS)
            ax.scatter(x, y, c=colours.to_rgba(self.target[rows]), gid="rows", **style)
            ax.figure.colorbar(colours, ax=ax, label=label(self.tree.schema.target.name), shrink=0.8)

    def _draw_classes(self, ax: Axes, x: Any, y: Any, rows: Any, style: dict[str, Any]) -> None:
        classes, target = self.tree.schema.target.classes, self.target[rows]
        for place in np.unique(target).tolist():
            own = target == place
            name = label(label_text(classes[place]), 20) if place >= 0 else "another class"
            colour = darker(nth_colour(place), 0.8) if place >= 0 else INK
            marker = MARKS[place % len(MARKS)] if place >= 0 else "."
            ax.scatter(x[own], y[own], color=colour, marker=marker, label=name, gid="rows", **style)
        legend = ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.3, markerscale=1.6)
        for text in legend.get_texts():
            text.set_parse_math(False)

    def _places(self, rows: Any) -> tuple[FloatArray, FloatArray]:
        """Where the rows stand; those of one category are moved apart, the same way every time."""
        axes = (self.x, self.y)
        places = [
            np.full(len(rows), 0.5) if axis is None else axis.places(self.points[rows, number])
            for number, axis in enumerate(axes)
        ]
        steps = [_steps(len(rows), unit) for unit in APART]
        for place, axis, step in zip(places, axes, steps, strict=True):
            if axis is None:
                place += 0.9 * step
                continue
            if axis.feature.categories:
                place += 0.6 * step
            if axis.missing is not None:
                is_missing = place < axis.low
                width = axis.missing[1] - axis.missing[0]
                middle = sum(axis.missing) / 2
                place[is_missing] = middle + 0.7 * width * step[is_missing]
        return places[0], places[1]

    def _note(self) -> str:
        parts = []
        if self.held:
            told = [f"{label(held.feature.name, 24)} = {_value_text(held)}" for held in self.held[:MOST_HELD]]
            more = len(self.held) - len(told)
            parts.append(f"Held at: {', '.join(told)}{f' and {more} more' if more else ''}.")
        if self.n_elsewhere:
            n_rows = counted(len(self.points), "row")
            parts.append(
                f"{self.n_elsewhere:,} of {n_rows} reach another leaf, as they differ in what is held."
            )
        if len(self.points) > MOST_ROWS:
            parts.append(f"Some of {counted(len(self.points), 'row')} are drawn.")
        return " ".join(parts)


# -- from rows ------------------------------------------------------------------------------------------


def _points(columns: Sequence[FloatArray]) -> FloatArray:
    pair = columns if len(columns) == 2 else [columns[0], np.zeros(len(columns[0]))]
    return np.column_stack(pair)


def _target(tree: Tree, y: Any, n_rows: int) -> Any:
    values = np.asarray(y, object).ravel()
    if len(values) != n_rows:
        raise ParameterError(f"y has {len(values)} values, and X has {n_rows} rows: give one for each row.")
    if not tree.schema.target.is_classes:
        return values.astype(np.float64)
    target = np.full(n_rows, -1)
    for place, name in enumerate(tree.schema.target.classes):
        target[is_class(values, name)] = place
    return target


# -- texts and places -----------------------------------------------------------------------------------


def _value_text(held: Held) -> str:
    value = held.label
    if value is None:
        return "missing"
    return label(label_text(value), 20) if held.feature.categories else number_text(float(value), 4)


def _draw_ticks(axis: Axis, feature_axis: FeatureAxis | None) -> None:
    if feature_axis is None:
        axis.set_ticks([])
        return
    categories = feature_axis.feature.categories
    places: list[float]
    if categories:
        step = -(-len(categories) // MOST_TICKS)
        places = [float(place) for place in range(0, len(categories), step)]
        names: list[object] = [label_text(categories[int(place)]) for place in places]
    elif feature_axis.missing is None:
        return
    else:
        low, high = feature_axis.low, feature_axis.high
        located = axis.get_major_locator().tick_values(low, high)
        # The first would touch the word for missing values.
        places = [float(tick) for tick in located if low + MARGIN * (high - low) <= tick <= high]
        names = [number_text(place, 6) for place in places]
    if feature_axis.missing is not None:
        places, names = [sum(feature_axis.missing) / 2, *places], ["missing", *names]
    name_ticks(axis, places, names)


def _steps(n: int, unit: float) -> FloatArray:
    """Numbers from -0.5 to 0.5 that spread evenly, however many they are."""
    return np.asarray(np.arange(1, n + 1) * unit % 1.0 - 0.5, np.float64)
