"""Plot of the sizes of a tree: the score of each on held-out rows, and the chosen one."""

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from holdfast._arrays import FloatArray, LongArray
from holdfast._text import number_text, pluralize
from holdfast.errors import ModelError, ParameterError
from holdfast.growth.pruning import PruningPath, pruning_path
from holdfast.growth.size_search import SizeTable
from holdfast.plots.display import Display, label, legend_below
from holdfast.tree.svg import BLUE, GREY, INK, RED

LARGEST_EVEN = 30  # leaves beyond which the scale is logarithmic
MANY = 40  # sizes beyond which dots are smaller, and only some have bars
MOST_BARS = 40
PARAMETER_TICKS = 7  # values of the parameter on the upper axis, at most
HUGE = 1e200  # greatest number that can be drawn


@dataclass(eq=False)
class PruningDisplay(Display):
    """Mean score of every size with bars of one standard error, the best size and the chosen one.

    A dashed line is one standard error from the best score. For a `PruningPath`, which has no held-out rows,
    it shows the risk of every subtree.
    """

    n_leaves: LongArray
    values: FloatArray  # of the parameter
    parameter: str
    mean: FloatArray  # losses positive
    error: FloatArray | None  # None without held-out rows
    title: str
    is_loss: bool
    best: int | None = None
    chosen: int | None = None
    n_folds: int = 0
    by: str = "n_leaves"  # or "parameter": the lower axis

    @classmethod
    def from_estimator(
        cls, model: Any, *, by: Literal["n_leaves", "parameter"] = "n_leaves", ax: Any = None
    ) -> Self:
        """Show the sizes of an estimator that was fitted with "cv" or "cv-1se" for one of its limits."""
        if getattr(model, "size_table_", None) is None:
            raise ModelError(
                "The model has no table of sizes, since its size was not chosen by cross-validation. Fit "
                "it with "
                'ccp_alpha="cv", max_depth="cv" or max_leaf_nodes="cv".'
            )
        return cls.from_result(model.size_table_, by=by, ax=ax)

    @classmethod
    def from_result(
        cls,
        result: SizeTable | PruningPath,
        *,
        by: Literal["n_leaves", "parameter"] = "n_leaves",
        ax: Any = None,
    ) -> Self:
        """Show a table of sizes, or the subtrees of a pruning path with their risks on the training rows."""
        if by not in ("n_leaves", "parameter"):
            raise ParameterError(f"by={by!r} is unknown: choose 'n_leaves' or 'parameter'.")
        common: dict[str, Any] = {
            "n_leaves": result.n_leaves,
            "values": result.values,
            "parameter": result.parameter,
        }
        if isinstance(result, PruningPath):
            return cls(**common, mean=result.risks, error=None, title="risk", is_loss=True, by=by)._drawn_on(
                ax
            )
        means = np.array([result.metric.shown(score) for score in result.score.tolist()])
        return cls(
            **common,
            mean=means.clip(-HUGE, HUGE),
            # Scores such as 1e300 have an infinite error.
            error=np.where(np.isfinite(result.error), result.error, 0.0).clip(0, HUGE),
            title=label(result.metric.title),
            is_loss=result.metric.is_loss,
            best=result.best,
            chosen=result.chosen,
            n_folds=result.scores.shape[1],
            by=by,
        )._drawn_on(ax)

    @classmethod
    def from_run(cls, run: Any, *, by: Literal["n_leaves", "parameter"] = "n_leaves", ax: Any = None) -> Self:
        """Show the sizes of a run pruned by cross-validation, or else the risks of its subtrees."""
        found = run.facts.get("model", {}).get("sizes")
        if found is None:
            return cls.from_result(pruning_path(run.model), by=by, ax=ax)
        names = ("n_leaves", "values", "mean", "error")
        arrays: dict[str, Any] = {name: np.array(found[name]) for name in names}
        others = {name: found[name] for name in ("parameter", "best", "chosen", "n_folds")}
        metric = run.facts["metric"]
        return cls(**arrays, **others, title=label(metric["title"]), is_loss=metric["loss"], by=by)._drawn_on(
            ax
        )

    @property
    def heading(self) -> str:
        """Title of the picture."""
        return f"{self.title} by the size of the tree{', lower is better' if self.is_loss else ''}"

    @property
    def limit(self) -> float | None:
        """Score one standard error from the best; None without held-out rows."""
        if self.best is None or self.error is None:
            return None
        return float(self.mean[self.best] + (1 if self.is_loss else -1) * self.error[self.best])

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes, or on a new figure, and return the display with `ax_` and `figure_`."""
        with self._drawing(ax, (7.0, 4.8)) as ax:
            x = self.n_leaves if self.by == "n_leaves" else self.values
            is_small = len(x) > MANY
            text = {0: "on the training rows", 1: "held-out rows"}.get(
                self.n_folds, f"mean of {self.n_folds} folds"
            )
            line = {"color": BLUE, "lw": 1, "alpha": 0.5 if is_small else 1.0, "zorder": 2}
            ax.plot(x, self.mean, "o-", ms=2.5 if is_small else 5, **line)
            bars = self._bars()
            some = " (at some sizes)" if len(bars) < len(x) else ""
            ax.errorbar(
                x[bars],
                self.mean[bars],
                None if self.error is None else self.error[bars],
                fmt="o",
                ms=2.5 if is_small else 5,
                color=BLUE,
                elinewidth=0.9,
                label=text if self.error is None else f"{text}, ± one standard error{some}",
            )
            if self.limit is not None:
                side = "above" if self.is_loss else "below"
                ax.axhline(self.limit, ls="--", lw=1, color=GREY, label=f"one standard error {side} the best")
            self._mark(ax, x)
            ax.grid(True, axis="y")
            (self._leaf_axis if self.by == "n_leaves" else self._parameter_axis)(ax)
            ax.set_ylabel(f"{self.title}, {'lower' if self.is_loss else 'higher'} is better")
            ax.set_title(self.heading)
            legend_below(ax)
        return self

    # -- parts ----------------------------------------------------------------------------------------

    def _bars(self) -> LongArray:
        """Return the sizes that have bars: at most MOST_BARS, and the best and the chosen one."""
        n_sizes = len(self.mean)
        places = np.unique(np.linspace(0, n_sizes - 1, min(n_sizes, MOST_BARS)).round().astype(np.int64))
        named = [place for place in (self.best, self.chosen) if place is not None]
        return np.union1d(places, np.array(named, np.int64))

    def _mark(self, ax: Axes, x: FloatArray | LongArray) -> None:
        """Mark the best size and the chosen one."""
        if self.best is None or self.chosen is None:
            return
        marks = [("best", self.best, "^", INK, 12), ("chosen", self.chosen, "D", RED, 11)]
        if self.best == self.chosen:
            marks = [("best and chosen", self.chosen, "D", RED, 11)]
        for name, place, marker, colour, size in marks:
            leaves = pluralize(int(self.n_leaves[place]), "leaf", "leaves")
            value = (
                ""
                if self.parameter == "max_leaf_nodes"
                else (f", {self.parameter} {number_text(float(self.values[place]), 3)}")
            )
            text = f"{name}: {leaves}, {number_text(float(self.mean[place]), 4)}{value}"
            ax.plot(
                *(x[[place]], self.mean[[place]], marker),
                ms=size,
                mfc="none",
                mec=colour,
                mew=1.6,
                ls="none",
                zorder=5,
                label=text,
            )

    def _leaf_axis(self, ax: Axes) -> None:
        fewest, most = int(self.n_leaves.min()), int(self.n_leaves.max())
        is_log = most > LARGEST_EVEN
        if is_log:
            ax.set_xscale("log")
        ticks = leaf_ticks(fewest, most)
        ax.xaxis.set_major_locator(FixedLocator(ticks))
        ax.xaxis.set_major_formatter(FixedFormatter([f"{tick:,}" for tick in ticks]))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_xlabel("number of leaves" + (", logarithmic scale" if is_log else ""))
        if self.parameter != "max_leaf_nodes":
            self._upper_axis(ax)

    def _upper_axis(self, ax: Axes) -> None:
        """Write the values of the parameter above the sizes if there is room."""
        at = np.log(self.n_leaves) if ax.get_xscale() == "log" else self.n_leaves.astype(np.float64)
        room = float(np.ptp(at)) / PARAMETER_TICKS
        kept: list[int] = []
        first = [] if self.chosen is None else [self.chosen]
        for place in [*first, len(at) - 1, *range(len(at))]:
            if all(abs(at[place] - at[other]) > room for other in kept):
                kept.append(place)
        upper = ax.secondary_xaxis("top")
        upper.set_xticks(
            self.n_leaves[kept], [number_text(float(self.values[place]), 3) for place in kept], minor=False
        )
        upper.xaxis.set_minor_locator(NullLocator())
        upper.tick_params(labelsize=9)
        upper.set_xlabel(self.parameter, fontsize=9.5)
        upper.spines["top"].set_visible(False)

    def _parameter_axis(self, ax: Axes) -> None:
        above = self.values[self.values > 0]
        if self.parameter == "ccp_alpha" and len(above):
            ax.set_xscale("symlog", linthresh=float(np.median(above)), linscale=0.5)
            low, high = float(above.min()), float(above.max())
            ticks = sorted({0.0, low, float(np.median(above)), high})
            ax.xaxis.set_major_locator(FixedLocator(ticks))
            ax.xaxis.set_major_formatter(FixedFormatter([number_text(tick, 2) for tick in ticks]))
            ax.xaxis.set_minor_locator(NullLocator())
        ax.set_xlabel(self.parameter)


def leaf_ticks(fewest: int, most: int) -> list[int]:
    """Return round numbers of leaves for the ticks of an axis.

    >>> leaf_ticks(1, 8), leaf_ticks(1, 22), leaf_ticks(1, 5000)
    ([1, 2, 3, 4, 5, 6, 7, 8], [1, 5, 10, 15, 20], [1, 3, 10, 30, 100, 300, 1000, 3000])
    """
    if most <= 12:
        return list(range(fewest, most + 1))
    if most <= LARGEST_EVEN:
        ticks = [1, *range(5, most + 1, 5)]
    else:
        factors = (1, 2, 5) if most <= 2000 else (1, 3) if most <= 100_000 else (1,)
        ticks = [factor * 10**power for power in range(len(str(most))) for factor in factors]
    return [tick for tick in ticks if fewest <= tick <= most]
