"""How firmly every split of a tree stands: how many trees ask it, and where their thresholds fall."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from holdfast.arrays import FloatArray
from holdfast.evidence.split_support import SplitSupport, split_support
from holdfast.show.palette import BLUE, GREY, OUTLINE, RED, SHADE
from holdfast.show.plots.display import MOST_ROWS, Display, label, legend_below, named_rows, rows_height
from holdfast.show.svg import text_width
from holdfast.text.numbers import rounded_percent

BAR, WIDE = 1.24, 0.3  # where the bars of the fractions begin, and how long one is: thresholds are 0 to 1
INDENT = 10.0  # points, of a split for every split above it


@dataclass(eq=False)
class SplitSupportDisplay(Display):
    """One line per split, in the order of the tree: a stroke at every threshold that other trees ask there.

    The longer a stroke, the more trees ask it; the tree's own threshold is a diamond. Each line runs from the
    lowest to the highest value of its feature.
    The bars on the right are the fraction of the reference trees that ask about the feature at this place,
    the marks on them that of the candidates.
    """

    supports: tuple[SplitSupport, ...]

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> Self:
        """The splits of the tree of a fitted stable tree."""
        return cls.from_result(model.split_support(), ax=ax)

    @classmethod
    def from_run(cls, run: Any, *, ax: Any = None) -> Self:
        """The splits of the tree of a run, by its reference trees and, where they are samples, candidates."""
        candidates = () if run.frontier.has_teacher else run.candidates
        return cls.from_result(split_support(run.model, run.references, candidates), ax=ax)

    @classmethod
    def from_result(cls, supports: Sequence[SplitSupport], *, ax: Any = None) -> Self:
        """What `split_support` found."""
        return cls(tuple(supports))._drawn_on(ax)

    @property
    def drawn(self) -> tuple[SplitSupport, ...]:
        """The splits that there is room for, those nearest to the root, in the order of the tree."""
        nearest = sorted(self.supports, key=lambda each: each.depth)[:MOST_ROWS]
        return tuple(each for each in self.supports if each in nearest)

    def plot(self, ax: Any = None) -> Self:
        """Draw it on the axes, or on a new figure, and return the display with `ax_` and `figure_`."""
        drawn = self.drawn
        with self._drawing(ax, (7.6, rows_height(len(drawn)) + 0.7)) as ax:
            note = named_rows(ax, [""] * len(drawn), len(self.supports), "splits")
            self._draw_names(ax)
            self._draw_thresholds(ax)
            self._draw_fractions(ax)
            ax.set_xlim(-0.04, BAR + WIDE + 0.17)
            ax.set_xticks([0, 1, BAR, BAR + WIDE], ["lowest", "highest", "0 %", "100 %"])
            ax.spines[:].set_visible(False)
            ax.set_xlabel(note)
            ax.set_title("How firmly each split stands")
            legend_below(ax, points=42 if note else 26)
        return self

    # -- parts ----------------------------------------------------------------------------------------

    def _draw_names(self, ax: Axes) -> None:
        """The questions on the left, those below another being indented."""
        texts = [label(each.short) for each in self.drawn]
        pairs = zip(texts, self.drawn, strict=True)
        widest = max((INDENT * each.depth + text_width(text, 9.2) for text, each in pairs), default=0.0)
        for row, (text, each) in enumerate(zip(texts, self.drawn, strict=True)):
            ax.annotate(
                text,
                (0.0, row),
                (INDENT * each.depth - widest, 0),
                xycoords=ax.get_yaxis_transform(),
                textcoords="offset points",
                va="center",
                fontsize=10,
                annotation_clip=False,
            )

    def _draw_thresholds(self, ax: Axes) -> None:
        for row, each in enumerate(self.drawn):
            ax.plot([0, 1], [row, row], "-", lw=6, color=SHADE, solid_capstyle="round", zorder=1)
            if each.categories is not None:
                same = float(np.mean([fraction for _, fraction in each.categories]))
                told = f"{rounded_percent(same)} of the categories go the same way"
                ax.text(0.5, row, told, color=GREY, fontsize=8.5, ha="center", va="center")
                continue
            told = "thresholds of other trees, the longer the more"
            ax.plot(*_strokes(each, row), "-", lw=1.3, color=BLUE, zorder=2, label=told)
            if each.threshold is not None:
                own = _on_scale(each, np.array([each.threshold]))
                told = "threshold of this tree"
                ax.plot(own, [row], "D", ms=6.5, mfc=RED, mec="white", ls="none", zorder=4, label=told)
        _first_of_each(ax)

    def _draw_fractions(self, ax: Axes) -> None:
        rows = np.arange(len(self.drawn))
        asked = np.array([each.references for each in self.drawn])
        ax.barh(rows, np.full(len(rows), WIDE), 0.5, BAR, color=SHADE, zorder=1)
        ax.barh(
            *(rows, WIDE * asked, 0.5, BAR),
            color=OUTLINE,
            zorder=2,
            label="reference trees that ask about it there",
        )
        for row, fraction in zip(rows.tolist(), asked.tolist(), strict=True):
            text = rounded_percent(fraction)
            ax.text(BAR + WIDE + 0.02, row, text, va="center", fontsize=9)
        known = [(row, each.candidates) for row, each in enumerate(self.drawn) if each.candidates is not None]
        if known:
            at = [BAR + WIDE * fraction for _, fraction in known]
            ax.plot(
                *(at, [row for row, _ in known], "o"),
                ms=4.5,
                color="black",
                ls="none",
                zorder=3,
                label="candidates that do",
            )


def _strokes(support: SplitSupport, row: int) -> tuple[FloatArray, FloatArray]:
    """An upright line at each threshold, the longer the more trees ask it, as one path with gaps."""
    values, counts = np.unique(np.array(support.asked_thresholds), return_counts=True)
    half = 0.12 + 0.26 * counts / counts.max(initial=1)
    gaps = np.full(len(values), np.nan)
    x = _on_scale(support, values)
    return np.column_stack([x, x, gaps]).ravel(), np.column_stack([row - half, row + half, gaps]).ravel()


def _on_scale(support: SplitSupport, values: Any) -> Any:
    """The values as fractions of the way from the lowest to the highest value of the feature."""
    low, high = support.range
    return (values - low) / (high - low) if high > low else np.full(len(values), 0.5)


def _first_of_each(ax: Axes) -> None:
    """Each kind of mark once in the legend."""
    seen: set[str] = set()
    for line in ax.get_lines():
        told = str(line.get_label())
        if told in seen:
            line.set_label("_more")
        seen.add(told)
