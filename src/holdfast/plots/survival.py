"""Curves of survival at the leaves of a tree: predicted, and observed with bands and rows at risk."""

from dataclasses import dataclass
from math import ceil
from textwrap import fill
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter
from matplotlib.transforms import ScaledTranslation

from holdfast._arrays import FloatArray
from holdfast._check import check_choice
from holdfast._text import count_text, printable, rounded_percent, shorten
from holdfast.data.schema import Hazard
from holdfast.data.survival import SurvivalCurve, name_survival, survival_function
from holdfast.errors import ModelError
from holdfast.plots.display import Display, label, tree_of
from holdfast.tree.rules import tree_rules
from holdfast.tree.rules_text import SHORT_LIST, condition_text
from holdfast.tree.survival import BETWEEN, list_ticks, node_curve, node_survival, risk_text
from holdfast.tree.svg import GREY, INK, darken, nth_colour

KINDS = ("all", "leaves")
N_POINTS, MOST_STEPS, FEW_STEPS = 40, 60, 24  # of a predicted curve; of an observed one, large or small
MOST_BANDS = 6  # leaves with bands in one picture
WIDEST = 3  # pictures beside each other
LINE = 15.0  # points from one line below the axis to the next
LONGEST_RULE = 92  # letters
LETTERS = 38  # of a line above a small picture
LEGEND = "solid: observed (Kaplan-Meier, 95 % band); dashed: predicted"


class LeafCurves(NamedTuple):
    """The curves of one leaf up to the horizon."""

    leaf: int
    rule: str
    survival: float  # predicted, to the horizon
    risk: float
    time: FloatArray
    predicted: FloatArray
    observed: SurvivalCurve | None


@dataclass(eq=False)
class SurvivalDisplay(Display):
    """Survival at the leaves of a tree: the prediction, and Kaplan-Meier curves with 95 % bands.

    Examples
    --------
    >>> from holdfast import SurvivalTree
    >>> from holdfast.plots import SurvivalDisplay
    >>> X = [[float(age)] for age in range(20, 80)]
    >>> time, event = [100.0 - row[0] for row in X], [row[0] % 3 > 0 for row in X]
    >>> display = SurvivalDisplay.from_estimator(SurvivalTree(max_depth=1).fit(X, (time, event)))
    >>> [(each.rule, round(each.survival, 2)) for each in display.leaves]
    [('x0 <= 54.5', 0.28), ('x0 > 54.5', 0.01)]
    """

    leaves: tuple[LeafCurves, ...]  # the best survival first
    hazard: Hazard
    target: str
    kind: str = "all"

    @classmethod
    def from_estimator(cls, model: Any, *, kind: Literal["all", "leaves"] = "all", ax: Any = None) -> Self:
        """Show the leaves of a survival tree.

        Parameters
        ----------
        model : fitted estimator or Tree
        kind : {"all", "leaves"}
            All leaves on one axis, or one small picture per leaf.
        ax : matplotlib Axes, optional
            Default: a new figure.

        Returns
        -------
        SurvivalDisplay
        """
        check_choice("kind", kind, KINDS)
        tree = tree_of(model)
        hazard = tree.schema.target.hazard
        if hazard is None:
            raise ModelError("Curves of survival need a tree for times to an event, such as a SurvivalTree.")
        time = np.linspace(0.0, hazard.horizon, N_POINTS + 1)
        leaves = []
        for rule in sorted(tree_rules(tree), key=lambda rule: rule.value[0]):  # a stable sort
            found = node_survival(tree, rule.leaf)
            conditions = (condition_text(each, most=SHORT_LIST) for each in rule.conditions)
            observed = node_curve(tree, rule.leaf) if found.n_rows else None
            predicted = survival_function(hazard, np.array([found.risk]), time)[0]
            text = " and ".join(conditions) or "all rows"
            leaves.append(LeafCurves(rule.leaf, text, found.survival, found.risk, time, predicted, observed))
        return cls(tuple(leaves), hazard, printable(tree.schema.target.name), kind)._drawn_on(ax)

    @property
    def heading(self) -> str:
        """Title of the picture."""
        return f"Survival by leaf (event: {label(self.target)})"

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes, or on a new figure, and return the display with `ax_` and `figure_`."""
        if self.kind == "all":
            with self._drawing(ax, (7.6, 3.8 + 2 * LINE / 72 * (len(self.leaves) + 2))) as ax:
                with_bands = len(self.leaves) <= MOST_BANDS
                for place, each in enumerate(self.leaves):
                    _draw_curves(ax, each, _colour(place), with_bands)
                self._label(ax)
                ax.set_title(self.heading)
                legend = LEGEND if with_bands else LEGEND.replace(", 95 % band", "")
                ax.set_xlabel(f"{ax.get_xlabel()}\n{legend}", parse_math=False)
                last = self._list_at_risk(ax, self.leaves, 68.0)
                self._list_rules(ax, last + 1.6 * LINE)
            return self
        n_columns = min(WIDEST, len(self.leaves))
        n_rows = ceil(len(self.leaves) / n_columns)
        with self._drawing(ax, (7.6, 2.5 * n_rows + 0.6)) as ax:
            ax.set_axis_off()
            ax.set_title(f"{self.heading}\n{LEGEND}", fontsize=10, parse_math=False)
            width, height = 1.0 / n_columns, 1.0 / n_rows
            for place, each in enumerate(self.leaves):
                row, column = divmod(place, n_columns)
                bounds = (column + 0.12) * width, 1 - (row + 0.72) * height, 0.8 * width, 0.52 * height
                own = ax.inset_axes(bounds)
                _draw_curves(own, each, nth_colour(0), most=FEW_STEPS)
                self._label(own, is_small=True)
                own.set_xlabel("")
                own.set_yticks([0.0, 0.5, 1.0], ["0 %", "50 %", "100 %"] if column == 0 else [""] * 3)
                figures = f"{_key(place)}  {rounded_percent(each.survival)}, risk {risk_text(each.risk)}"
                rule = shorten(fill(each.rule, LETTERS, break_long_words=False), 2 * LETTERS)
                own.set_title(f"{figures}\n{rule}", fontsize=8, fontweight="normal", parse_math=False)
                own.tick_params(labelsize=8)
                self._list_at_risk(own, [each], 24.0, is_small=True)
        return self

    def _list_ticks(self, is_small: bool) -> FloatArray:
        """List the ticks; of a small axis the first, the last, and the middle if there is one."""
        ticks = list_ticks(self.hazard)[::BETWEEN]
        return ticks[:: (len(ticks) - 1) // (2 if len(ticks) % 2 else 1)] if is_small else ticks

    def _label(self, ax: Axes, is_small: bool = False) -> None:
        ax.set_ylim(0, 1.02)
        ax.set_xlim(0, self.hazard.horizon)
        ax.set_xticks(self._list_ticks(is_small))
        form = ",.0f" if self.hazard.horizon >= 20 else ".3g"
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:{form}}")
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
        ax.grid(axis="y")
        time, unit = label(self.hazard.time), self.hazard.unit
        ax.set_xlabel(f"{time} ({label(unit)})" if unit and unit != time else time, parse_math=False)

    def _list_at_risk(self, ax: Axes, leaves: Any, below: float, *, is_small: bool = False) -> float:
        """Write the rows at risk below the axis, a line per leaf; return the place of the last line."""
        known = [(place, each) for place, each in enumerate(leaves) if each.observed is not None]
        if not known:
            return below - LINE
        _write(ax, 0.0, below, "rows at risk", GREY, ha="center" if is_small else "left", size=8.5)
        for place, each in known:
            below += LINE
            for time in self._list_ticks(is_small).tolist():
                where = int(np.searchsorted(each.observed.time, time))
                count = each.observed.at_risk[where] if where < len(each.observed.time) else 0.0
                _write(ax, time / self.hazard.horizon, below, count_text(round(float(count))), INK, size=8.5)
            if not is_small:
                _write(ax, -0.06, below, _key(place), _colour(place), ha="right", weight="bold")
        return below

    def _list_rules(self, ax: Axes, below: float) -> None:
        """List the leaves with their colours, predictions and rules."""
        _write(ax, 0.0, below, f"{name_survival(self.hazard)}, risk and rule", GREY, ha="left", size=8.5)
        for place, each in enumerate(self.leaves):
            below += LINE
            figures = f"{rounded_percent(each.survival)}, risk {risk_text(each.risk)}"
            _write(ax, -0.06, below, _key(place), _colour(place), ha="right", weight="bold")
            _write(ax, 0.0, below, f"{figures}: {label(each.rule, LONGEST_RULE)}", INK, ha="left", size=8.5)


def _colour(place: int) -> str:
    """Return the colour of a leaf, dark enough for text."""
    return darken(nth_colour(place), 0.8)


def _key(place: int) -> str:
    """Return the letter of a leaf, in the order of survival."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return letters[place] if place < len(letters) else str(place + 1)


def _write(
    ax: Axes, x: float, below: float, text: str, colour: str, *, ha: str = "center", **style: Any
) -> None:
    """Write at a fraction of the width, some points below the axes."""
    shift = ScaledTranslation(0, -below / 72, ax.figure.dpi_scale_trans)
    ax.text(x, 0.0, text, color=colour, ha=ha, va="baseline", transform=ax.transAxes + shift,
            **{"size": 9.0, **style}, parse_math=False)  # fmt: skip


def _draw_curves(
    ax: Axes, curves: LeafCurves, colour: str, with_band: bool = True, most: int = MOST_STEPS
) -> None:
    """Draw the predicted curve, and the observed one with its band."""
    horizon = float(curves.time[-1])
    ax.plot(curves.time, curves.predicted, "--", color=colour, lw=1.2)
    if curves.observed is None:
        return
    own = curves.observed
    end = min(horizon, float(own.time[own.at_risk > 0].max(initial=0.0)))
    times = own.time[(own.events > 0) & (own.time <= end)]
    if len(times) > most:
        times = np.linspace(0.0, end, most + 1)[1:]
    places = np.searchsorted(own.time, times, "right") - 1
    lines = [
        np.append(np.append(1.0, np.append(1.0, each)[places + 1]), 0.0)
        for each in (own.survival, own.low, own.high)
    ]
    for line in lines:
        line[-1] = line[-2]
    steps = np.concatenate([[0.0], times, [end]])
    if with_band:
        ax.fill_between(steps, lines[1], lines[2], step="post", color=colour, alpha=0.13, lw=0)
    ax.plot(steps, lines[0], color=colour, lw=1.6, drawstyle="steps-post")
