"""Methods trained again: how good each is, against how much it moves."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.audit.table import RetrainAudit
from holdfast.show.palette import nth_colour
from holdfast.show.plots.display import MARKERS, Display, label, legend_below


@dataclass(eq=False)
class AuditDisplay(Display):
    """One point a method, with bars of one standard error: upwards it is better, to the left it moves less.

    Methods without the measure, such as a forest, whose trees have no distance, are named in a note.
    """

    methods: tuple[str, ...]
    x: FloatArray  # how much each moves; NaN where there is no such figure
    x_error: FloatArray
    y: FloatArray  # its score
    y_error: FloatArray
    x_title: str
    y_title: str
    change: str

    @classmethod
    def from_result(
        cls, audit: RetrainAudit, *, against: str = "churn", change: str | None = None, ax: Any = None
    ) -> Self:
        """The score against the "churn", the "distance" or any other measure, under one of the changes."""
        change = audit.changes[0] if change is None else change
        titles = {measure.name: measure.title for measure in audit.measures}
        score = audit.measures[0]
        x, x_error, y, y_error = (
            np.array([figure(method, name, change) for method in audit.methods])
            for name in (against, score.name)
            for figure in (audit.mean, audit.error)
        )
        return cls(
            methods=audit.methods,
            x=x,
            x_error=np.nan_to_num(x_error),
            y=y,
            y_error=np.nan_to_num(y_error),
            x_title=titles[against],
            y_title=score.title,
            change=change,
        )._drawn_on(ax)

    @property
    def heading(self) -> str:
        """What the picture shows, in words."""
        return f"{self.y_title} and {self.x_title} of each method, trained again: {label(self.change)}"

    def plot(self, ax: Any = None) -> Self:
        """Draw it on the axes, or on a new figure, and return the display with `ax_` and `figure_`."""
        known = ~(np.isnan(self.x) | np.isnan(self.y))
        rows = (len(self.methods) + 1) // 2
        with self._drawing(ax, (7.0, 4.4 + 0.22 * rows)) as ax:
            for place in np.flatnonzero(known).tolist():
                colour, marker = nth_colour(place), MARKERS[place % len(MARKERS)]
                ax.errorbar(
                    *([self.x[place]], [self.y[place]], [self.y_error[place]], [self.x_error[place]]),
                    fmt=marker,
                    ms=8,
                    color=colour,
                    mec="white",
                    mew=0.7,
                    ecolor=colour,
                    elinewidth=1.2,
                    label=f"{label(self.methods[place])}: {self.y[place]:.3f}, {self.x[place]:.3g}",
                )
            ax.margins(0.12)
            if known.any():
                ax.set_xlim(left=-0.04 * ax.get_xlim()[1])
            unknown = [label(name, 20) for name, there in zip(self.methods, known, strict=True) if not there]
            note = f"\nno {self.x_title}: {', '.join(unknown)}" if unknown else ""
            ax.set_xlabel(f"{self.x_title} (less is steadier){note}")
            ax.set_ylabel(f"{self.y_title}, more is better")
            ax.grid(True)
            ax.set_title(self.heading)
            if known.any():
                legend_below(ax, 2, 54 if note else 40)
        return self
