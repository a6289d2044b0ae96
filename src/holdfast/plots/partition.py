"""Plot of the partition of two features by a tree, with rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.patches import Rectangle

from holdfast._arrays import FloatArray, freeze, round_last_digits
from holdfast._text import label_text, number_text, pluralize, rounded_percent
from holdfast.data.encode import encode_rows
from holdfast.data.schema import Feature, Label
from holdfast.errors import ParameterError
from holdfast.plots.display import Display, is_class, label, label_with_note, name_ticks, tree_of
from holdfast.tree.predict import Routes
from holdfast.tree.rules import Condition, Rule, tree_rules, value_text
from holdfast.tree.stats import positive_class
from holdfast.tree.survival import shown_values
from holdfast.tree.svg import BLUE, INK, PAPER, darken, lighten, nth_colour
from holdfast.tree.tree import LEAF, Tree

MARGIN, GAP, BAND = 0.04, 0.03, 0.09  # margin of the axis; gap before and width of the band of missing values
Span = tuple[float, float]


@dataclass(frozen=True)
class FeatureAxis:
    """The axis of a feature, with a band for missing values if there are any."""

    feature: Feature
    low: float  # of the known values that are drawn
    high: float
    missing: Span | None = None  # the band of missing values, before the low end

    @classmethod
    def of(cls, feature: Feature, values: FloatArray) -> Self:
        """Return an axis for these values, numbers or indices of categories, and the schema's range."""
        known = values[~np.isnan(values)]
        if feature.categories:
            low, high = -0.5, len(feature.categories) - 0.5
        else:
            least = min([feature.low, *known.tolist()])
            most = max([feature.high, *known.tolist()])
            margin = MARGIN * ((most - least) or 1.0)
            low, high = least - margin, most + margin
        if len(known) == len(values):
            return cls(feature, low, high)
        length = high - low
        return cls(feature, low, high, (low - (GAP + BAND) * length, low - GAP * length))

    @property
    def start(self) -> float:
        """The low end of the axis, the band of missing values included."""
        return self.low if self.missing is None else self.missing[0]

    def spans(self, condition: Condition | None) -> list[Span]:
        """Return the intervals of the axis that the condition allows; all of it without a condition."""
        known = [(self.low, self.high)] if condition is None else self._known_spans(condition)
        allows_missing = condition is None or condition.missing
        return [*known, *([self.missing] if self.missing and allows_missing else [])]

    def _known_spans(self, condition: Condition) -> list[Span]:
        if not self.feature.is_subset:
            low, high = max(condition.low, self.low), min(condition.high, self.high)
            return [(low, high)] if low < high else []
        allowed = set(condition.categories)
        flags = [False, *(label in allowed for label in self.feature.categories), False]
        turns = [place - 0.5 for place, (here, there) in enumerate(pairwise(flags)) if here != there]
        return list(zip(turns[::2], turns[1::2], strict=True))

    def places(self, values: FloatArray) -> FloatArray:
        """Return the coordinates of values; missing ones are in the middle of their band."""
        middle = np.nan if self.missing is None else sum(self.missing) / 2
        return np.where(np.isnan(values), middle, values)


@dataclass(frozen=True)
class Region:
    """A rectangle whose rows reach one leaf; a leaf may have several."""

    x: tuple[float, float]
    y: tuple[float, float]
    leaf: int

    @property
    def area(self) -> float:
        """Its area, in the units of the axes."""
        return (self.x[1] - self.x[0]) * (self.y[1] - self.y[0])


@dataclass(frozen=True)
class FixedFeature:
    """A feature that is not on an axis, with its fixed value."""

    feature: Feature
    value: float  # a number, or the position of a category; NaN if it is missing

    @property
    def label(self) -> Label | None:
        """The value as in the data; None if it is missing."""
        if np.isnan(self.value):
            return None
        return self.feature.categories[int(self.value)] if self.feature.categories else self.value

    def meets(self, condition: Condition | None) -> bool:
        """Return True if the condition allows the value."""
        if condition is None:
            return True
        if np.isnan(self.value):
            return condition.missing
        if self.feature.is_subset:
            return self.feature.categories[int(self.value)] in condition.categories
        return condition.low < self.value <= condition.high


def regions(
    tree: Tree, x: FeatureAxis, y: FeatureAxis | None, held: Sequence[FixedFeature]
) -> tuple[Region, ...]:
    """Return the rectangles that partition the plot, in the order of the leaves.

    Without a second feature they are bands from 0 to 1.
    """
    return tuple(
        Region(x_span, y_span, rule.leaf)
        for rule in tree_rules(tree)
        if all(each.meets(rule.condition(each.feature.name)) for each in held)
        for x_span in x.spans(rule.condition(x.feature.name))
        for y_span in _spans(y, rule)
    )


def _spans(y: FeatureAxis | None, rule: Rule) -> list[tuple[float, float]]:
    return [(0.0, 1.0)] if y is None else y.spans(rule.condition(y.feature.name))


def features_shown(tree: Tree, features: Sequence[str] | None) -> list[int]:
    """Return the indices of the one or two named features, or of the two most important ones."""
    names = tree.schema.names
    if features is None:
        order = np.argsort(-round_last_digits(tree.importances), kind="stable")
        return [int(number) for number in order[:2]]
    if isinstance(features, str) or not 1 <= len(features) <= 2 or len(set(features)) < len(features):
        raise ParameterError(f"features={features!r}: give the names of one or two features, as a list.")
    if unknown := [name for name in features if name not in names]:
        raise ParameterError(f"features={features!r}: the tree has no {unknown[0]!r}.")
    return [names.index(name) for name in features]


def held_values(
    tree: Tree, columns: Mapping[int, FloatArray], given: Mapping[str, Any], shown: Sequence[int]
) -> tuple[FixedFeature, ...]:
    """Fix the other features of the tree: at given values, or at the median or most frequent category."""
    names = tree.schema.names
    for name in given:
        if name not in names or names.index(name) in shown:
            why = "is on an axis" if name in names else "is no feature of the tree"
            raise ParameterError(
                f"at={{{name!r}: ...}} must name a feature that is not shown; {name!r} {why}."
            )
    others = [number for number in columns if number not in shown]
    return tuple(
        FixedFeature(
            tree.schema.features[number],
            _coded(tree.schema.features[number], given[names[number]])
            if names[number] in given
            else _typical(tree.schema.features[number], columns[number]),
        )
        for number in others
    )


def rows_elsewhere(tree: Tree, rows: FloatArray, used: Sequence[int], held: Sequence[FixedFeature]) -> int:
    """Count the rows that reach another leaf once the other features are fixed."""
    if not held:
        return 0
    routes, every = Routes.of(tree, np.asarray(used)), freeze(np.arange(len(rows), dtype=np.int32))
    moved = rows.copy()
    for each in held:
        moved[:, list(used).index(tree.schema.names.index(each.feature.name))] = each.value
    own, there = (routes.leaves(freeze(np.ascontiguousarray(some)), every) for some in (rows, moved))
    return int(np.count_nonzero(own != there))


def _coded(feature: Feature, value: Any) -> float:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return np.nan
    if not feature.categories:
        return float(value)
    if value not in feature.categories:
        raise ParameterError(
            f"at={{{feature.name!r}: {value!r}}} is no category: choose one of {list(feature.categories)}."
        )
    return float(feature.categories.index(value))


def _typical(feature: Feature, values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    if not len(known):
        return np.nan
    if feature.is_subset:
        return float(np.bincount(known.astype(np.int64)).argmax())
    return float(np.sort(known, kind="stable")[(len(known) - 1) // 2])  # one of the values


# -- the display ------------------------------------------------------------------------------------------

MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
MOST_TICKS = 24  # categories with a name
MOST_ROWS = 2000  # drawn, at even steps through the data
MOST_HELD = 4  # named in the note
APART = (0.7548776662, 0.5698402910)  # steps whose multiples fill a square evenly
THIN = 0.02  # least width of a region with an edge, as a fraction of the axis
LEAST_SIDE = 0.09  # of a region with text, as a fraction of the axis
NUMBERS = LinearSegmentedColormap.from_list("numbers", [lighten(BLUE, 0.05), BLUE, darken(BLUE, 0.45)])


@dataclass(eq=False)
class PartitionDisplay(Display):
    """Regions of two features by leaf; all other features are fixed.

    Examples
    --------
    >>> from holdfast import TreeClassifier
    >>> from holdfast.plots import PartitionDisplay
    >>> X, y = [[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"]
    >>> display = PartitionDisplay.from_estimator(TreeClassifier().fit(X, y), X, y)
    >>> [region.x[1] for region in display.regions][0]
    40.0
    """

    tree: Tree
    x: FeatureAxis
    y: FeatureAxis | None  # None if only one feature is shown
    regions: tuple[Region, ...]
    held: tuple[FixedFeature, ...]
    points: FloatArray  # (rows, 2) numbers or indices of categories; NaN if missing
    target: Any = None  # (rows,) index of the class, -1 if unknown, or number
    n_elsewhere: int = 0  # rows that reach another leaf than that of their region
    positive: int | None = None  # class whose probability is shown; None: the predicted one

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
        """Show the partition of a tree with rows; the rectangles are exact, from the rules.

        Parameters
        ----------
        model : Tree or fitted estimator of one tree
        X, y : array-like
            Rows to draw; y is optional.
        features : sequence of str, optional
            One or two features for the axes. Default: the two most important ones.
        at : mapping of str to value, optional
            Values of other features. Default: the lower median or the most frequent category of X.
        positive : label, optional
            Class whose probability is shown. Default: that of the tree.
        ax : matplotlib Axes, optional
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
            return NUMBERS(self._norm(shown_values(self.tree)[leaf, 0]))
        outcome = int(self.tree.outcome[leaf])
        return lighten(nth_colour(outcome), 0.15 + 0.4 * float(self.tree.value[leaf, outcome]))

    def _words(self, leaf: int) -> str:
        if not self.tree.schema.target.is_classes:
            return value_text(self.tree.schema.target, float(self.tree.value[leaf, 0]), 3)
        shown = int(self.tree.outcome[leaf]) if self.positive is None else self.positive
        name = label(label_text(self.tree.schema.target.classes[shown]), 14)
        return f"{name} {rounded_percent(float(self.tree.value[leaf, shown]))}"

    @property
    def _norm(self) -> Normalize:
        """The colour scale, from the least to the greatest leaf value."""
        values = shown_values(self.tree)[self.tree.feature == LEAF, 0]
        return Normalize(float(values.min()), float(values.max()), clip=True)

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
            colour = darken(nth_colour(place), 0.8) if place >= 0 else INK
            marker = MARKS[place % len(MARKS)] if place >= 0 else "."
            ax.scatter(x[own], y[own], color=colour, marker=marker, label=name, gid="rows", **style)
        legend = ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.3, markerscale=1.6)
        for text in legend.get_texts():
            text.set_parse_math(False)

    def _places(self, rows: Any) -> tuple[FloatArray, FloatArray]:
        """Return the coordinates of the rows; those of one category are spread deterministically."""
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
            fixed = [
                f"{label(held.feature.name, 24)} = {_value_text(held)}" for held in self.held[:MOST_HELD]
            ]
            more = len(self.held) - len(fixed)
            parts.append(f"Fixed at: {', '.join(fixed)}{f' and {more} more' if more else ''}.")
        if self.n_elsewhere:
            n_rows = pluralize(len(self.points), "row")
            parts.append(
                f"{self.n_elsewhere:,} of {n_rows} reach another leaf, because their fixed features differ."
            )
        if len(self.points) > MOST_ROWS:
            parts.append(f"Some of {pluralize(len(self.points), 'row')} are drawn.")
        return " ".join(parts)


# -- from rows ------------------------------------------------------------------------------------------


def _points(columns: Sequence[FloatArray]) -> FloatArray:
    pair = columns if len(columns) == 2 else [columns[0], np.zeros(len(columns[0]))]
    return np.column_stack(pair)


def _target(tree: Tree, y: Any, n_rows: int) -> Any:
    if tree.schema.target.is_survival:  # times of censored rows have no colour on the scale of survival
        return None
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


def _value_text(held: FixedFeature) -> str:
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
        # The first tick would overlap with the label of missing values.
        places = [float(tick) for tick in located if low + MARGIN * (high - low) <= tick <= high]
        names = [number_text(place, 6) for place in places]
    if feature_axis.missing is not None:
        places, names = [sum(feature_axis.missing) / 2, *places], ["missing", *names]
    name_ticks(axis, places, names)


def _steps(n: int, unit: float) -> FloatArray:
    """Return n evenly spread numbers from -0.5 to 0.5."""
    return np.asarray(np.arange(1, n + 1) * unit % 1.0 - 0.5, np.float64)
