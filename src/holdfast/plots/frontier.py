"""Plots of the frontier of stable trees, and of the support of the splits of one tree."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from matplotlib.axes import Axes

from holdfast._arrays import FloatArray, LongArray
from holdfast._text import estimate_text, loss_text, number_text, pluralize, quoted, rounded_percent
from holdfast.errors import ParameterError
from holdfast.explain.split_support import SplitSupport, split_support
from holdfast.plots.display import MARKERS, MOST_ROWS, Display, label, legend_below, named_rows, rows_height
from holdfast.stable.frontier import Frontier
from holdfast.stable.selection import leaves_text
from holdfast.tree.svg import BLUE, GREY, INK, OUTLINE, PAPER, RED, SHADE, nth_colour, text_width

Across = Literal["instability", "size_adjusted", "normalised", "per_rule"]
Upward = Literal["score", "measured_score", "teacher_loss"]
ACROSS = {
    "instability": "instability: mean distance to the reference trees",
    "size_adjusted": "size-adjusted instability: 1 is usual for its size",
    "normalised": "instability, as a fraction of the greatest possible",
    "per_rule": "instability: mean distance per rule",
}
UPWARD = {"score": "", "measured_score": " on validation rows", "teacher_loss": "of the teacher lost"}
FAINT = 0.3  # opacity of candidates that are not allowed
MANY = 300  # candidates beyond which the marks become one bitmap, to keep files small
APART = (0.045, 0.055)  # least distance of two numbers, as fractions of the axes


@dataclass(eq=False)
class FrontierDisplay(Display):
    """Score against instability of all candidates: more stable to the left, better upwards.

    Efficient candidates are joined by a line and have bars of one standard error and their numbers of
    leaves; the chosen one and both ends are named. Consensus trees are joined by their maximum number of
    leaves; those that lose more of the teacher's fit than the tolerance allows are faint. In SVG, each
    efficient candidate has an id such as `candidate-17`.

    Examples
    --------
    >>> from holdfast import FrontierDisplay, StableTreeClassifier
    >>> X, y = [[float(age)] for age in range(40)], [int(age > 20) for age in range(40)]
    >>> model = StableTreeClassifier(teacher="linear", n_estimators=4, validation=None).fit(X, y)
    >>> FrontierDisplay.from_estimator(model).ax_.get_xlabel()
    'instability: mean distance to the reference trees (lower is more stable)'
    """

    x: FloatArray
    y: FloatArray  # losses positive
    x_error: FloatArray | None
    y_error: FloatArray | None
    n_leaves: LongArray
    efficient: LongArray  # indices of the efficient candidates, the most stable first
    names: dict[int, str]  # of the chosen candidate and of both ends
    x_title: str
    y_title: str
    is_loss: bool
    sizes: LongArray | None = None  # maximum number of leaves of each consensus tree
    is_joined: bool = True  # False for other axes than those of the frontier
    compared: LongArray | None = None  # consensus trees that the tolerance allows; None: all
    left_out: str = ""  # description of the others

    @classmethod
    def from_estimator(
        cls, model: Any, *, x: Across = "instability", y: Upward = "score", ax: Any = None
    ) -> Self:
        """Show the frontier of a fitted stable tree.

        Parameters
        ----------
        model : StableTreeClassifier or StableTreeRegressor
        x : {"instability", "size_adjusted", "normalised", "per_rule"}
        y : {"score", "measured_score", "teacher_loss"}
        ax : matplotlib Axes, optional
        """
        return cls.from_result(model.frontier_, x=x, y=y, ax=ax)

    @classmethod
    def from_run(cls, run: Any, *, x: Across = "instability", y: Upward = "score", ax: Any = None) -> Self:
        """Show the frontier of a run with its chosen tree."""
        return cls.from_result(run.frontier, x=x, y=y, ax=ax)

    @classmethod
    def from_result(
        cls,
        frontier: Frontier,
        *,
        chosen: int | None = None,
        x: Across = "instability",
        y: Upward = "score",
        ax: Any = None,
    ) -> Self:
        """Show a frontier with its chosen candidate, or another one to mark."""
        chosen = frontier.chosen if chosen is None else chosen
        for name, value, known in (("x", x, ACROSS), ("y", y, UPWARD)):
            if value not in known:
                raise ParameterError(f"{name}={value!r} is unknown: choose one of {quoted(tuple(known))}.")
        if y == "teacher_loss" and frontier.teacher_loss is None:
            raise ParameterError("y='teacher_loss' is for method='consensus': other methods have no teacher.")
        order, metric = frontier.unbeaten, frontier.metric
        score = "score" if metric is None else metric.title
        values = np.asarray(getattr(frontier, y), np.float64)
        if y != "teacher_loss" and metric is not None:
            values = np.array([metric.shown(value) for value in values.tolist()])
        errors = {"score": frontier.score_error, "measured_score": frontier.measured_error}
        return cls(
            x=getattr(frontier, x),
            y=values,
            x_error=frontier.instability_error if x == "instability" else None,
            y_error=_finite(errors.get(y)),
            n_leaves=frontier.n_leaves,
            efficient=order,
            names=_names(frontier, order, chosen),
            x_title=ACROSS[x],
            y_title=UPWARD[y] if y == "teacher_loss" else f"{label(score)}{UPWARD[y]}",
            is_loss=y == "teacher_loss" or (metric is not None and metric.is_loss),
            sizes=frontier.max_leaf_nodes,
            is_joined=(x, y) == ("instability", "score"),
            compared=None if frontier.compared is None else np.array(frontier.compared.places),
            left_out="" if frontier.compared is None else frontier.compared.left_out,
        )._drawn_on(ax)

    @property
    def heading(self) -> str:
        """Title of the picture."""
        known, within = (self.x, "") if self.compared is None else (self.compared, " allowed")
        candidates = pluralize(len(known), f"{within} candidate".strip())
        return f"Stability and score: {len(self.efficient)} of {candidates} efficient"

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes, or on a new figure, and return the display with `ax_` and `figure_`."""
        with self._drawing(ax, (7.0, 5.0 if self.sizes is None else 5.9)) as ax:
            self._draw_all(ax)
            self._draw_efficient(ax)
            self._draw_named(ax)
            ax.grid(True)
            ax.margins(0.07)
            self._label_sizes(ax)
            ax.set_xlabel(f"{self.x_title} (lower is more stable)")
            ax.set_ylabel(f"{self.y_title}, {'lower' if self.is_loss else 'higher'} is better")
            ax.set_title(self.heading)
            legend_below(ax)
        return self

    # -- parts ----------------------------------------------------------------------------------------

    def _draw_all(self, ax: Axes) -> None:
        """Draw all candidates; consensus trees as one line per number of leaves."""
        if self.sizes is None:
            others = np.setdiff1d(np.arange(len(self.x)), self.efficient)
            text = pluralize(len(others), "other candidate") if len(others) else "_none"
            points = ax.scatter(self.x[others], self.y[others], s=11, c=OUTLINE, alpha=0.35, lw=0, label=text)
            points.set_rasterized(len(others) > MANY)
            return
        for size in np.unique(self.sizes)[::-1].tolist():
            own = np.flatnonzero(self.sizes == size)
            own = own[np.lexsort((self.y[own], self.x[own]))]
            marker, colour = self._form(int(own[0]))
            text = f"trees searched with at most {pluralize(size, 'leaf', 'leaves')}"
            within = own if self.compared is None else own[np.isin(own, self.compared)]
            beyond = np.setdiff1d(own, within)
            ax.plot(self.x[own], self.y[own], ls=":", lw=1, color=colour, alpha=0.6)
            ax.plot(self.x[within], self.y[within], marker, ls=":", lw=1, ms=4, color=colour, label=text)
            ax.plot(self.x[beyond], self.y[beyond], marker, ls="none", ms=4, color=colour, alpha=FAINT)
        if self.compared is not None:
            ax.plot(
                [],
                [],
                "o",
                ls="none",
                ms=4,
                color=OUTLINE,
                alpha=FAINT,
                label=f"faint: {self.left_out} of the teacher, not allowed",
            )

    def _form(self, place: int) -> tuple[str, str]:
        """Return mark and colour of a candidate, of consensus trees by their number of leaves."""
        if self.sizes is None:
            return "o", BLUE
        series = np.unique(self.sizes)[::-1].tolist().index(int(self.sizes[place]))
        return MARKERS[series % len(MARKERS)], nth_colour(series)

    def _draw_efficient(self, ax: Axes) -> None:
        """Draw the efficient candidates on their line, with bars of one standard error."""
        own = self.efficient
        if self.is_joined:
            ax.plot(self.x[own], self.y[own], "-", color=BLUE, lw=1.2, alpha=0.7, zorder=3)
        ax.errorbar(
            self.x[own],
            self.y[own],
            None if self.y_error is None else self.y_error[own],
            None if self.x_error is None else self.x_error[own],
            fmt="none",
            ecolor=BLUE,
            elinewidth=0.8,
            alpha=0.4,
            zorder=3,
        )
        leaves = "" if self.sizes is not None else "; with its leaves"
        other = "no other" if self.compared is None else "no other allowed one"
        text = f"efficient: {other} is both more stable and better; ± one standard error{leaves}"
        for number, place in enumerate(own.tolist()):
            marker, colour = self._form(place)
            (mark,) = ax.plot(
                *(self.x[[place]], self.y[[place]], marker),
                ms=6.5,
                mfc=colour,
                mec=PAPER if self.sizes is None else INK,
                mew=0.8,
                zorder=4,
                ls="none",
                label=text if number == 0 else "_more",
            )
            mark.set_gid(f"candidate-{place}")

    def _draw_named(self, ax: Axes) -> None:
        """Mark the chosen candidate and both ends."""
        forms = {"chosen": ("D", RED, 12), "most stable": ("<", INK, 13), "best": ("^", INK, 13)}
        for place, name in self.names.items():
            marker, colour, size = next(form for begin, form in forms.items() if name.startswith(begin))
            ax.plot(
                *(self.x[[place]], self.y[[place]]),
                *(marker,),
                ms=size,
                mfc="none",
                mec=colour,
                mew=1.6,
                zorder=5,
                ls="none",
                label=name,
            )

    def _label_sizes(self, ax: Axes) -> None:
        """Write the numbers of leaves beside the efficient candidates if there is room."""
        if self.sizes is not None:
            return
        (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
        used: list[tuple[float, float]] = []
        first = [place for place in self.names if place in set(self.efficient.tolist())]
        for place in dict.fromkeys([*first, *self.efficient.tolist()]):
            x, y = float(self.x[place]), float(self.y[place])
            at = (x - left) / (right - left), (y - low) / (high - low)
            if any(abs(at[0] - a) < APART[0] and abs(at[1] - b) < APART[1] for a, b in used):
                continue
            used.append(at)
            ax.annotate(
                str(self.n_leaves[place]),
                (x, y),
                (7, -11),
                textcoords="offset points",
                fontsize=8.5,
                color=GREY,
            )


def _finite(errors: FloatArray | None) -> FloatArray | None:
    """Replace unknown errors by 0."""
    return None if errors is None else np.where(np.isfinite(errors), errors, 0.0)


def _names(frontier: Frontier, order: LongArray, chosen: int | None) -> dict[int, str]:
    """Describe the chosen candidate and both ends by index."""
    roles: dict[int, list[str]] = {}
    allowed = "" if frontier.compared is None else " allowed"
    ends = ((f"most stable{allowed}", int(order[0])), (f"best score{allowed}", int(order[-1])))
    for role, place in (("chosen", chosen), *ends):
        if place is not None:
            roles.setdefault(place, []).append(role)
    return {place: f"{' and '.join(own)}:\n{_figures(frontier, place)}" for place, own in roles.items()}


def _figures(frontier: Frontier, place: int) -> str:
    score, metric = float(frontier.score[place]), frontier.metric
    title, value = ("score", score) if metric is None else (label(metric.title, 24), metric.shown(score))
    leaves = leaves_text(frontier, place)
    leaf = "leaf" if leaves == "1" else "leaves"
    error = float(frontier.score_error[place])
    text = estimate_text(value, error) if np.isfinite(error) else number_text(value, 4)
    away = f"instability {number_text(float(frontier.instability[place]), 3)}"
    if frontier.teacher_loss is not None:
        away = f"\n{away}, {loss_text(float(frontier.teacher_loss[place]))} of the teacher lost"
    return f"candidate {place}, {leaves} {leaf}, {title} {text}, {away}".replace(" \n", "\n")


# -- split support -------------------------------------------------------------------------------------


BAR, WIDE = 1.24, 0.3  # start and length of the bars, on the scale of thresholds from 0 to 1
INDENT = 10.0  # points for every split above


@dataclass(eq=False)
class SplitSupportDisplay(Display):
    """Support of each split, in the order of the tree: thresholds of other trees at the same place.

    A line runs from the lowest to the highest value of the feature. It has a stroke at every threshold of
    the other trees, longer for more trees, and a diamond at the tree's own threshold. The bars on the right
    are the fraction of the reference trees that split on the feature at this place, the marks that of the
    candidates.
    """

    supports: tuple[SplitSupport, ...]

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> Self:
        """Show the splits of a fitted stable tree."""
        return cls.from_result(model.split_support(), ax=ax)

    @classmethod
    def from_run(cls, run: Any, *, ax: Any = None) -> Self:
        """Show the splits of the tree of a run, by its reference trees and sampled candidates."""
        candidates = () if run.frontier.has_teacher else run.candidates
        return cls.from_result(split_support(run.model, run.references, candidates), ax=ax)

    @classmethod
    def from_result(cls, supports: Sequence[SplitSupport], *, ax: Any = None) -> Self:
        """Show a result of `split_support`."""
        return cls(tuple(supports))._drawn_on(ax)

    @property
    def drawn(self) -> tuple[SplitSupport, ...]:
        """The splits nearest to the root, at most MOST_ROWS, in the order of the tree."""
        nearest = sorted(self.supports, key=lambda each: each.depth)[:MOST_ROWS]
        return tuple(each for each in self.supports if each in nearest)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes, or on a new figure, and return the display with `ax_` and `figure_`."""
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
            ax.set_title("Support of each split")
            legend_below(ax, points=42 if note else 26)
        return self

    # -- parts ----------------------------------------------------------------------------------------

    def _draw_names(self, ax: Axes) -> None:
        """Write the splits on the left, indented by depth."""
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
                text = f"{rounded_percent(same)} of the categories go the same way"
                ax.text(0.5, row, text, color=GREY, fontsize=8.5, ha="center", va="center")
                continue
            text = "thresholds of other trees (longer: more trees)"
            ax.plot(*_strokes(each, row), "-", lw=1.3, color=BLUE, zorder=2, label=text)
            if each.threshold is not None:
                own = _on_scale(each, np.array([each.threshold]))
                text = "threshold of this tree"
                ax.plot(own, [row], "D", ms=6.5, mfc=RED, mec="white", ls="none", zorder=4, label=text)
        _first_of_each(ax)

    def _draw_fractions(self, ax: Axes) -> None:
        rows = np.arange(len(self.drawn))
        shares = np.array([each.references for each in self.drawn])
        ax.barh(rows, np.full(len(rows), WIDE), 0.5, BAR, color=SHADE, zorder=1)
        ax.barh(
            *(rows, WIDE * shares, 0.5, BAR),
            color=OUTLINE,
            zorder=2,
            label="reference trees that split on it there",
        )
        for row, fraction in zip(rows.tolist(), shares.tolist(), strict=True):
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
    """Return upright strokes at the thresholds, longer for more trees, as one path with gaps."""
    values, counts = np.unique(np.array(support.tree_thresholds), return_counts=True)
    half = 0.12 + 0.26 * counts / counts.max(initial=1)
    gaps = np.full(len(values), np.nan)
    x = _on_scale(support, values)
    return np.column_stack([x, x, gaps]).ravel(), np.column_stack([row - half, row + half, gaps]).ravel()


def _on_scale(support: SplitSupport, values: Any) -> Any:
    """Return the values as fractions of the range of the feature."""
    low, high = support.range
    return (values - low) / (high - low) if high > low else np.full(len(values), 0.5)


def _first_of_each(ax: Axes) -> None:
    """Keep each kind of mark once in the legend."""
    seen: set[str] = set()
    for line in ax.get_lines():
        text = str(line.get_label())
        if text in seen:
            line.set_label("_more")
        seen.add(text)
