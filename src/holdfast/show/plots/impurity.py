"""Impurity of a node of two classes, by the fraction of one of them: what criteria reward."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from holdfast.arrays import FloatArray
from holdfast.growth.criteria import class_impurity, get_criterion
from holdfast.show.palette import nth_colour
from holdfast.show.plots.display import Display

CRITERIA = ("gini", "entropy", "misclassification")
TITLES = {"gini": "Gini index", "entropy": "entropy, in bits", "misclassification": "misclassification"}
POINTS = 201  # an odd number: one of them is a half, where misclassification has its corner
LINES = ("-", "--", "-.", ":")


@dataclass(eq=False)
class ImpurityDisplay(Display):
    """The impurity of two classes by each criterion, over the fraction of the second class."""

    fractions: FloatArray
    impurities: dict[str, FloatArray]  # by criterion
    scaled: bool = False  # each as high as the Gini index: one half at its top

    @classmethod
    def from_criteria(
        cls, criteria: Sequence[str] = CRITERIA, *, scaled: bool = False, ax: Any = None
    ) -> Self:
        """The curves of the criteria of these names, as trees are grown by them.

        `scaled` makes all of them one half at their top, as textbooks do: what counts is the shape.
        """
        fractions = np.linspace(0.0, 1.0, POINTS)
        both = np.column_stack([1.0 - fractions, fractions])
        curves = {name: class_impurity(get_criterion(name, True), both) for name in criteria}
        if scaled:
            curves = {name: curve * (0.5 / curve.max()) for name, curve in curves.items()}
        return cls(fractions, curves, scaled)._drawn_on(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curves."""
        with self._drawing(ax, (6.2, 4.2)) as ax:
            for place, (name, curve) in enumerate(self.impurities.items()):
                ax.plot(
                    self.fractions,
                    curve,
                    color=nth_colour(place),
                    linestyle=LINES[place % len(LINES)],
                    linewidth=2.0,
                    label=TITLES.get(name, name.replace("_", " ")),
                )
            ax.set_xlim(0.0, 1.0)
            ax.set_ylim(0.0)
            ax.set_title("Impurity of a node of two classes")
            ax.set_xlabel("fraction of one class")
            ax.set_ylabel("impurity, scaled to one half" if self.scaled else "impurity")
            ax.grid()
            ax.legend(loc="lower center")
        return self
