"""What models are worth to those who act on them, at every probability they might act from."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from holdfast.arrays import FloatArray
from holdfast.data.schema import Label
from holdfast.evidence.decision_curve import DecisionCurve, decision_curve
from holdfast.show.palette import GREY, INK, nth_colour
from holdfast.show.plots.display import MARKERS, Display, label, legend_below
from holdfast.show.plots.labels import label_with_note
from holdfast.text.lines import label_text

LOWEST = -0.25  # of the picture, as a fraction of its height: what loses more is not worth looking at
EVERY = 10  # points of a curve from one mark to the next


@dataclass(eq=False)
class DecisionCurveDisplay(Display):
    """The net benefit of models by the probability from which on one acts, next to acting on all or none."""

    thresholds: FloatArray
    names: tuple[str, ...]
    benefit: FloatArray  # (models, thresholds)
    error: FloatArray
    act_on_all: FloatArray
    positive: str
    n_rows: int

    @classmethod
    def from_result(cls, result: DecisionCurve, *, ax: Any = None) -> Self:
        """The curves as `decision_curve` found them."""
        return cls(
            result.thresholds,
            result.names,
            result.benefit,
            result.error,
            result.act_on_all,
            label_text(result.positive),
            result.n_rows,
        )._drawn_on(ax)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, positive: Label | None = None, ax: Any = None
    ) -> Self:
        """The curve of a model, or those of a mapping of names to several, on rows new to them."""
        return cls.from_result(decision_curve(model, X, y, positive=positive), ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw a curve for each model, with its standard error, and those of acting on all or none."""
        with self._drawing(ax, (7.0, 4.8)) as ax:
            ax.axhline(0.0, color=GREY, linewidth=1.2, label="act on none")
            ax.plot(
                self.thresholds, self.act_on_all, color=INK, linestyle="--", linewidth=1.2, label="act on all"
            )
            for number, name in enumerate(self.names):
                self._curve(ax, number, name)
            highest = max(float(self.benefit.max()), float(self.act_on_all.max()), 1e-9)
            ax.set_ylim(LOWEST * highest, 1.1 * highest)
            ax.set_xlim(0.0, 1.0)
            ax.grid()
            ax.set_title(f"Decision curve: acting on {label(self.positive, 20)}", parse_math=False)
            ax.set_ylabel("net benefit per row")
            note = f"{self.n_rows:,} rows. Bands are one standard error wide on each side."
            label_with_note(ax, "probability from which on one acts", note)
            legend_below(ax, columns=2, points=58)
        return self

    def _curve(self, ax: Axes, number: int, name: str) -> None:
        colour, benefit, error = nth_colour(number), self.benefit[number], self.error[number]
        ax.fill_between(
            self.thresholds, benefit - error, benefit + error, color=colour, alpha=0.18, linewidth=0
        )
        marked = np.arange(len(self.thresholds)) % EVERY == min(EVERY, len(self.thresholds)) // 2
        ax.plot(
            self.thresholds,
            benefit,
            color=colour,
            linewidth=1.8,
            marker=MARKERS[number % len(MARKERS)],
            markevery=marked.tolist(),
            markersize=5.5,
            label=label(name),
        )
