"""Distances between the trees of a collection, as a matrix or as a map."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from matplotlib.axes import Axes

from holdfast._arrays import FloatArray, LongArray
from holdfast._text import pluralize, rounded_percent
from holdfast.distance.distance import distance_matrix
from holdfast.errors import DataError, ParameterError
from holdfast.plots.display import MARKERS, Display, label, legend_below
from holdfast.tree.svg import BLUE, OUTLINE, PALETTE, RED

MOST_NAMES = 20  # trees with names beside the matrix
ALMOST = 1e-9  # relative difference of coordinates that count as equal


@dataclass(eq=False)
class DistanceDisplay(Display):
    """Distances of all pairs of trees.

    Parameters
    ----------
    distances : ndarray of shape (n_trees, n_trees)
    names : sequence of str, optional
        Of all trees.
    kind : {"matrix", "map"}
        "matrix": rows and columns in the order of a clustering by average distance. "map": points in the
        plane that approximate the distances (classical scaling).
    groups : sequence of str, optional
        Group of each tree, shown by mark and colour on the map.
    marked : mapping of int to str, optional
        Trees to mark, with their names.

    Examples
    --------
    >>> from holdfast import DistanceDisplay
    >>> DistanceDisplay([[0.0, 1.0], [1.0, 0.0]]).points[:, 0].tolist()
    [0.5, -0.5]
    """

    distances: FloatArray
    names: tuple[str, ...] = ()
    kind: Literal["matrix", "map"] = "matrix"
    groups: tuple[str, ...] = ()
    marked: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.distances = np.asarray(self.distances, np.float64)
        if self.distances.ndim != 2 or self.distances.shape[0] != self.distances.shape[1]:
            raise DataError(
                f"distances must be a square matrix, one row and column per tree: {self.distances.shape}."
            )
        for name in ("names", "groups"):
            if len(getattr(self, name)) not in (0, len(self.distances)):
                raise DataError(
                    f"{name} must be one for each of {len(self.distances)} trees: {len(getattr(self, name))}."
                )
        if self.kind not in ("matrix", "map"):
            raise ParameterError(f"kind={self.kind!r} is unknown: choose 'matrix' or 'map'.")

    @classmethod
    def from_trees(
        cls,
        trees: Iterable[Any],
        *,
        kind: Literal["matrix", "map"] = "matrix",
        names: Sequence[str] = (),
        groups: Sequence[str] = (),
        marked: Mapping[int, str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Show the distances of these trees; `options` are those of `distance_matrix`."""
        distances = distance_matrix(trees, **options)
        return cls(distances, tuple(names), kind, tuple(groups), dict(marked or {}))._drawn_on(ax)

    @classmethod
    def from_estimator(
        cls, model: Any, *, kind: Literal["matrix", "map"] = "map", ax: Any = None, **options: Any
    ) -> Self:
        """Show the reference trees of a fitted stable tree, and the chosen tree."""
        return cls.from_trees(
            [*model.reference_trees_, model.tree_], **_with_chosen(model, kind), **options, ax=ax
        )

    @classmethod
    def from_run(cls, run: Any, *, kind: Literal["matrix", "map"] = "map", ax: Any = None) -> Self:
        """Show the reference trees and the chosen tree of a run, or the steps of an update."""
        used = {name: run.facts["distance"][name] for name in ("matching", "label_weight", "outcome")}
        if run.is_update:
            names = [f"step {number}" for number in range(len(run.candidates))]
            marked = {int(run.facts["step"]): "accepted step" if run.facts["taken"] else "proposed step"}
            return cls.from_trees(run.candidates, kind=kind, names=names, marked=marked, **used, ax=ax)
        n_references = len(run.references)
        groups = [*["reference trees"] * n_references, "chosen tree"]
        trees = [*run.references, run.model]
        return cls.from_trees(
            trees, kind=kind, groups=groups, marked={n_references: "chosen tree"}, **used, ax=ax
        )

    @classmethod
    def from_result(cls, distances: Any, *, ax: Any = None, **options: Any) -> Self:
        """Show a matrix that `distance_matrix` returned; `options` are the other parameters."""
        return cls(distances, **options)._drawn_on(ax)

    @property
    def heading(self) -> str:
        """Title of the picture."""
        return f"Distances between {pluralize(len(self.distances), 'tree')}"

    @property
    def order(self) -> LongArray:
        """Order of the trees in the matrix, similar ones next to each other."""
        from scipy.cluster.hierarchy import leaves_list, linkage
        from scipy.spatial.distance import squareform

        if len(self.distances) < 3:
            return np.arange(len(self.distances))
        halves = squareform((self.distances + self.distances.T) / 2, checks=False)
        return np.asarray(leaves_list(linkage(halves, "average")), np.int64)

    @property
    def points(self) -> FloatArray:
        """Coordinates of the trees on the map, of shape (n_trees, 2)."""
        return _scaled(self.distances)[0]

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes, or on a new figure, and return the display with `ax_` and `figure_`."""
        with self._drawing(ax, (6.0, 5.0) if self.kind == "matrix" else (7.0, 5.2)) as ax:
            (self._draw_matrix if self.kind == "matrix" else self._draw_map)(ax)
            ax.set_title(self.heading)
        return self

    # -- parts ----------------------------------------------------------------------------------------

    def _draw_matrix(self, ax: Axes) -> None:
        order = self.order
        image = ax.imshow(self.distances[np.ix_(order, order)], cmap="cividis_r", interpolation="nearest")
        ax.figure.colorbar(image, ax=ax, label="distance", fraction=0.05, pad=0.02)
        ax.spines[:].set_visible(False)
        if self.names and len(order) <= MOST_NAMES:
            names = [label(self.names[place], 20) for place in order]
            ax.set_yticks(range(len(order)), names)
            ax.set_xticks(range(len(order)), names, rotation=90)
        else:
            shown = [(int(np.flatnonzero(order == place)[0]), name) for place, name in self.marked.items()]
            ax.set_yticks([at for at, _ in shown], [label(name, 20) for _, name in shown])
            ax.set_xticks([])
            ax.set_xlabel(f"{pluralize(len(order), 'tree')}, similar ones next to each other")

    def _draw_map(self, ax: Axes) -> None:
        points, fraction = _scaled(self.distances)
        groups = np.array(self.groups or ["trees"] * len(points))
        for place, name in enumerate(dict.fromkeys(groups.tolist())):
            own = (groups == name) & ~np.isin(np.arange(len(points)), list(self.marked))
            if own.any():
                text = f"{label(name)} ({own.sum()})"
                colour = (BLUE, *PALETTE[1:])[place % len(PALETTE)]
                marker = MARKERS[place % len(MARKERS)]
                ax.plot(*points[own].T, marker, ms=5.5, color=colour, alpha=0.6, mew=0, ls="none", label=text)
        for place, name in self.marked.items():
            ax.plot(
                *points[[place]].T, "D", ms=10, mfc="none", mec=RED, mew=1.8, ls="none", label=label(name)
            )
        for place, name in enumerate(self.names if len(self.names) <= MOST_NAMES else ()):
            ax.annotate(
                label(name, 16), tuple(points[place]), (5, 4), textcoords="offset points", fontsize=8.5
            )
        ax.set_aspect("equal", adjustable="datalim")
        ax.margins(0.08)
        ax.grid(True)
        ax.tick_params(colors=OUTLINE)
        ax.set_xlabel(
            f"in units of distance; the plane shows {rounded_percent(fraction)} of the squared distances"
        )
        legend_below(ax, 2)


def _with_chosen(model: Any, kind: str) -> dict[str, Any]:
    n_references = len(model.reference_trees_)
    settings = model.trained_.distance_settings
    return {
        "kind": kind,
        "groups": [*["reference trees"] * n_references, "chosen tree"],
        "marked": {n_references: "chosen tree"},
        "matching": settings.matching,
        "label_weight": settings.label_weight,
        "outcome": settings.outcome,
    }


def _scaled(distances: FloatArray) -> tuple[FloatArray, float]:
    """Return points by classical scaling, and the fraction of the squared distances that they explain."""
    squares = ((distances + distances.T) / 2) ** 2
    doubly = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, np.newaxis] + squares.mean()
    values, vectors = np.linalg.eigh(-doubly / 2)
    first = vectors[:, ::-1][:, :2]
    lengths = values[::-1][:2].clip(0.0)
    points = np.zeros((len(distances), 2))
    points[:, : first.shape[1]] = first * np.sqrt(lengths)
    # Signs are arbitrary: the tree furthest out along an axis gets a positive coordinate.
    for axis in range(2):
        far = np.abs(points[:, axis])
        if points[far >= far.max() * (1 - ALMOST), axis][0] < 0:
            points[:, axis] *= -1
    total = float(np.abs(values).sum())
    return points, float(lengths.sum() / total) if total > 0 else 1.0
