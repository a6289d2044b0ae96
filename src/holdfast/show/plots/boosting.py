"""The loss by rounds of boosting: what is learnt, what helps, and where it stopped."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from holdfast.arrays import FloatArray
from holdfast.ensembles.boosting import Boosting
from holdfast.errors import ModelError
from holdfast.show.palette import GREY, INK, nth_colour
from holdfast.show.plots.display import Display
from holdfast.text.numbers import counted

_NONE = np.empty(0)
LINES = ("-", "--", ":")


@dataclass(eq=False)
class BoostingDisplay(Display):
    """Mean losses after each round; those without rows to measure on are empty."""

    train_loss: FloatArray
    validation_loss: FloatArray = field(default_factory=lambda: _NONE)
    oob_loss: FloatArray = field(default_factory=lambda: _NONE)  # of the rows that each round left out
    n_estimators: int = 0  # rounds that were kept
    measure: str = "loss"

    @classmethod
    def from_result(cls, result: Boosting, *, measure: str = "loss", ax: Any = None) -> Self:
        """The losses that boosting took down."""
        return cls(
            result.train_loss, result.validation_loss, result.oob_scores, result.n_estimators, measure
        )._drawn_on(ax)

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> Self:
        """The losses of a fitted `BoostingClassifier` or `BoostingRegressor`.

        With early stopping there are also those of the rows held out, or their mean over the folds, and with
        `subsample` below 1 those of the rows that each round left out.
        """
        if not hasattr(model, "train_loss_"):
            raise ModelError(
                f"{type(model).__name__} keeps no losses by round: give a fitted BoostingClassifier or "
                "BoostingRegressor."
            )
        measure = f"mean {model.loss.replace('_', ' ')}"
        return cls(
            model.train_loss_, model.validation_loss_, model.oob_scores_, model.n_estimators_, measure
        )._drawn_on(ax)

    @property
    def n_tried(self) -> int:
        """Rounds that were tried, of which some may not have been kept."""
        return max(len(self.train_loss), len(self.validation_loss))

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the losses, and a line at the last round that was kept where more were tried."""
        losses = {
            "training": self.train_loss,
            "validation": self.validation_loss,
            "left out of the round": self.oob_loss,
        }
        with self._drawing(ax, (7.0, 4.2)) as ax:
            for place, (name, loss) in enumerate(losses.items()):
                if len(loss):
                    rounds = np.arange(1, len(loss) + 1)
                    ax.plot(rounds, loss, LINES[place], color=nth_colour((0, 5, 2)[place]), label=name)
            if self.n_estimators < self.n_tried:
                self._mark_end(ax)
            ax.set_title("Loss by rounds of boosting")
            ax.set_xlabel("rounds")
            ax.set_ylabel(self.measure)
            ax.grid(axis="y")
            ax.legend(loc="best")
        return self

    def _mark_end(self, ax: Axes) -> None:
        kept = self.n_estimators
        ax.axvline(kept, color=GREY, linewidth=1.0, linestyle=(0, (4, 3)))
        if len(self.validation_loss) >= kept:
            ax.plot([kept], [self.validation_loss[kept - 1]], "o", color=nth_colour(5), markersize=6)
        is_left = kept <= self.n_tried / 2
        ax.annotate(
            f"{counted(kept, 'round')} kept",
            (kept, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(5 if is_left else -5, -3),
            textcoords="offset points",
            va="top",
            ha="left" if is_left else "right",
            color=INK,
        )
