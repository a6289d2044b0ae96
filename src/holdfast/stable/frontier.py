"""The frontier: figures of every candidate, and which of them no other beats on both stability and score."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, LongArray, freeze
from holdfast._view import View, ViewMixin
from holdfast.distance.costs import DistanceSettings
from holdfast.errors import DataError
from holdfast.scoring.metric import Metric
from holdfast.stable.candidates import TrainedCandidates
from holdfast.stable.rows import BaselineTest
from holdfast.tree.tree import Tree


def pareto_frontier(instability: Any, score: Any) -> BoolArray:
    """Find the efficient trees: no other has at most their instability and at least their score.

    One of the two must be strictly better, so that trees equal in both are efficient together.

    Parameters
    ----------
    instability, score : array-like
        One entry for each tree; less instability and a greater score are better.

    Returns
    -------
    ndarray of bool
        True for the efficient trees.

    Examples
    --------
    >>> pareto_frontier([1.0, 2.0, 3.0], [0.7, 0.9, 0.8])
    array([ True,  True, False])
    """
    d, a = (np.asarray(values, np.float64) for values in (instability, score))
    if d.ndim != 1 or d.shape != a.shape:
        raise DataError(f"instability and score must be two lists of one length: {d.shape} and {a.shape}.")
    if not (np.isfinite(d).all() and np.isfinite(a).all()):
        raise DataError("instability and score must be finite numbers, and some are not.")
    order = np.lexsort((-a, d))
    # The best score among all trees that are strictly nearer, and among those just as near.
    best_so_far = np.maximum.accumulate(np.concatenate([[-np.inf], a[order]]))
    first = np.searchsorted(d[order], d[order], side="left")
    efficient = np.empty(len(d), np.bool_)
    efficient[order] = (a[order] > best_so_far[first]) & (a[order] == a[order][first])
    return efficient


class ComparisonSet(NamedTuple):
    """The candidates among which a consensus tree is chosen, and why the others are left out."""

    places: tuple[int, ...]
    left_out: str  # what excludes the others, in words: "loses more than 6.0 %"


@dataclass(frozen=True, eq=False, repr=False)
class Frontier(ViewMixin):
    """Figures of the candidate trees, one entry for each, in the order in which they were grown.

    A greater `score` is better: losses are negated.

    Examples
    --------
    >>> from holdfast import StableTreeClassifier
    >>> X, y = [[number, number % 3] for number in range(60)], [number // 30 for number in range(60)]
    >>> model = StableTreeClassifier(teacher="linear", n_estimators=5).fit(X, y)
    >>> model.frontier_.sizes  # limits of leaves of the candidates
    [4, 8, 12]
    """

    instability: FloatArray  # mean distance to the reference trees
    instability_error: FloatArray  # its Monte Carlo standard error: other reference trees, other means
    normalised: FloatArray  # as a fraction of the greatest distance that trees of the depth allowed can have
    size_adjusted: FloatArray  # as a multiple of the mean of candidates with as many leaves
    per_rule: FloatArray  # mean over the reference trees of the distance per rule of the larger tree
    score: FloatArray  # estimate of the score on new rows
    score_error: FloatArray  # its standard error
    measured_score: FloatArray  # on the validation rows of the candidate
    measured_error: FloatArray  # its standard error: other rows held out, other scores
    n_leaves: LongArray
    depth: LongArray
    mean_path_length: FloatArray  # splits that a row passes
    combination: LongArray  # what it was grown with
    division: LongArray  # which rows it was scored on
    efficient: BoolArray
    metric: Metric | None = None  # of the scores
    # For "consensus": the loss, as a fraction of the teacher's variance that the student of the greatest size
    # explains; the same for the student of the same size, which a tolerance bounds; and the limit of leaves
    teacher_loss: FloatArray | None = None
    student_loss: FloatArray | None = None
    max_leaf_nodes: LongArray | None = None
    size_reason: str = ""  # why the greatest size was chosen, if held-out rows chose it
    chosen: int | None = None  # the candidate that is in use, which tables and plots mark
    compared: ComparisonSet | None = None  # those that the rule compares it with; None: all
    baseline: BaselineTest | None = None  # the candidates against a constant, where rows were held out

    def __post_init__(self) -> None:
        for name in self._arrays:
            object.__setattr__(self, name, freeze(getattr(self, name)))

    @property
    def _arrays(self) -> list[str]:
        """The names of the columns."""
        return [field.name for field in fields(self) if isinstance(getattr(self, field.name), np.ndarray)]

    def __len__(self) -> int:
        return len(self.score)

    @property
    def has_teacher(self) -> bool:
        """True for method="consensus", whose candidates are distilled from a teacher."""
        return self.teacher_loss is not None

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw instability against score.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; by default new ones.
        **options
            Options of `FrontierDisplay.from_result`, such as `chosen`.

        Returns
        -------
        FrontierDisplay
        """
        from holdfast.plots.frontier import FrontierDisplay

        return FrontierDisplay.from_result(self, ax=ax, **options)

    @property
    def sizes(self) -> list[int]:
        """The limits of leaves of consensus trees, the least first; empty for other methods."""
        return [] if self.max_leaf_nodes is None else np.unique(self.max_leaf_nodes).tolist()

    def subset(self, places: LongArray) -> "Frontier":
        """Select some of the candidates, and compare them among themselves alone."""
        columns: dict[str, Any] = {name: getattr(self, name)[places] for name in self._arrays}
        columns["efficient"] = pareto_frontier(columns["instability"], columns["score"])
        columns["size_adjusted"] = _size_adjusted(columns["instability"], columns["n_leaves"])
        if self.teacher_loss is not None and self.max_leaf_nodes is not None:
            # Relative to what the largest remaining student explains: 1 - e / E, with E from its own tree.
            at = np.flatnonzero(columns["max_leaf_nodes"] == columns["max_leaf_nodes"].max())[0]
            explained = (1.0 - columns["teacher_loss"][at]) / (1.0 - columns["student_loss"][at])
            if explained > 0:
                columns["teacher_loss"] = 1.0 - (1.0 - columns["teacher_loss"]) / explained
        return replace(self, **columns, chosen=None, compared=None)

    @property
    def efficient_order(self) -> LongArray:
        """The efficient candidates, the most stable first; among those equal in both, the smallest only."""
        return self._in_order(np.flatnonzero(self.efficient))

    @property
    def unbeaten(self) -> LongArray:
        """The candidates that none of those compared beats, the most stable first.

        These are the efficient ones, unless a rule leaves out candidates that lose too much to the teacher.
        """
        if self.compared is None:
            return self.efficient_order
        places = np.array(self.compared.places, np.int64)
        return self._in_order(places[pareto_frontier(self.instability[places], self.score[places])])

    def _in_order(self, places: LongArray) -> LongArray:
        places = places[np.lexsort((places, self.n_leaves[places], self.instability[places]))]
        points = list(zip(self.instability[places].tolist(), self.score[places].tolist(), strict=True))
        return np.array([p for i, p in enumerate(places) if points[i] not in points[:i]], np.int64)

    @property
    def hypervolume(self) -> float:
        """Fraction of the box between the worst and the best of both that the frontier dominates, 0 to 1."""
        return hypervolume(self.instability, self.score)

    def columns(self) -> dict[str, list[Any]]:
        """Return the frontier as columns: a list for every name, with one entry per candidate."""
        return {
            "candidate": list(range(len(self))),
            **{name: getattr(self, name).tolist() for name in self._arrays},
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row per candidate.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first that is installed.

        Returns
        -------
        DataFrame
        """
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        kinds = {bool: nw.Boolean, int: nw.Int64, float: nw.Float64}
        types = {name: kinds[type(entries[0])] for name, entries in columns.items()}
        return frame_from(columns, types, backend)

    def _view(self) -> View:
        from holdfast.stable.selection import frontier_view

        return frontier_view(self)


def make_frontier(
    trained: TrainedCandidates,
    distances: FloatArray,
    distance_settings: DistanceSettings,
    metric: Metric | None = None,
) -> Frontier:
    """Make the frontier of candidates with these distances to the references, (candidates, references)."""
    candidates, scores = trained.candidates, trained.scores
    n_leaves = np.array([tree.n_leaves for tree in candidates.trees], np.int64)
    instability = distances.mean(axis=1)
    n_references = distances.shape[1]
    per_rule = np.empty(len(candidates))
    for references, places in trained.by_references():
        trees = [candidates.trees[place] for place in places.tolist()]
        per_rule[places] = distance_per_rule(distances[places], trees, references.trees)
    return Frontier(
        instability=instability,
        instability_error=distances.std(axis=1, ddof=min(1, n_references - 1)) / np.sqrt(n_references),
        normalised=replace(distance_settings, normalised=True).total(instability),
        size_adjusted=_size_adjusted(instability, n_leaves),
        per_rule=per_rule,
        score=scores.value,
        score_error=scores.error,
        measured_score=scores.measured,
        measured_error=scores.measured_error,
        n_leaves=n_leaves,
        depth=np.array([tree.depth for tree in candidates.trees], np.int64),
        mean_path_length=np.array([tree.mean_path_length for tree in candidates.trees]),
        combination=candidates.combination,
        division=candidates.division,
        efficient=pareto_frontier(instability, scores.value),
        metric=metric,
        teacher_loss=trained.teacher_loss,
        student_loss=trained.student_loss,
        max_leaf_nodes=trained.max_leaf_nodes,
        size_reason="" if trained.size_choice is None else trained.size_choice.reason,
        baseline=trained.baseline,
    )


def distance_per_rule(distances: FloatArray, trees: Sequence[Tree], references: Sequence[Tree]) -> FloatArray:
    """Average over the references each tree's distance divided by the number of rules of the larger tree."""
    n_rules = np.maximum.outer([tree.n_leaves for tree in trees], [tree.n_leaves for tree in references])
    return np.asarray((distances / n_rules).mean(axis=1), np.float64)


def _size_adjusted(instability: FloatArray, n_leaves: LongArray) -> FloatArray:
    """Divide each instability by the mean of trees of its size, made monotone in the size."""
    _, place, counts = np.unique(n_leaves, return_inverse=True, return_counts=True)
    blocks: list[tuple[float, int, int]] = []  # mean, trees and sizes of each block of equal averages
    for mean, count in zip(np.bincount(place, instability) / counts, counts, strict=True):
        blocks.append((float(mean), int(count), 1))
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:  # a larger size has less: pool the two
            (one, n, k), (other, m, j) = blocks[-2:]
            blocks[-2:] = [((one * n + other * m) / (n + m), n + m, k + j)]
    usual = np.repeat([mean for mean, _, _ in blocks], [n_sizes for _, _, n_sizes in blocks])[place]
    return np.asarray(np.where(usual > 0, instability / np.where(usual > 0, usual, 1.0), 1.0), np.float64)


def hypervolume(instability: FloatArray, score: FloatArray) -> float:
    """Compute the fraction of the box between the worst and the best of both that some tree dominates.

    >>> hypervolume(np.array([0.0, 1.0]), np.array([0.0, 1.0]))  # each is best in one and worst in the other
    0.0
    """
    efficient = pareto_frontier(instability, score)
    width, height = float(np.ptp(instability)), float(np.ptp(score))
    if not (width > 0 and height > 0):
        return 1.0  # one tree is best in everything
    order = np.lexsort((score[efficient], instability[efficient]))
    d = (instability[efficient][order] - instability.min()) / width
    a = (score[efficient][order] - score.min()) / height
    return min(float((np.diff(np.append(d, 1.0)) * a).sum()), 1.0)  # rounding must not carry it past the end
