"""How many clusters: the tree one question at a time, and what rows held out say of every number."""

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.arrays import FloatArray, LongArray, frozen
from holdfast.growth.density.groups import Group, join_likelihoods, list_groups
from holdfast.growth.density.search import Search
from holdfast.shown import shown

GAIN_DIGITS = 6  # after the point: rounding does not tell ties apart
MOST_MORE = 10  # clusters more than were chosen that the table goes on to


@dataclass(frozen=True, eq=False, repr=False)
class DensitySizeTable:
    """Scores by number of clusters, each one split more than the one before.

    Log likelihoods are means over the rows held out, in the units of the data.
    """

    n_clusters: LongArray
    score: FloatArray  # mean log likelihood of a row
    error: FloatArray  # standard error of the score
    gain: FloatArray  # of the score, over one cluster fewer; NaN for one cluster
    gain_error: FloatArray  # standard error of the gain, row by row
    chosen: int  # which of them was taken

    def __post_init__(self) -> None:
        for name in ("n_clusters", "score", "error", "gain", "gain_error"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.n_clusters)

    def columns(self) -> dict[str, list[Any]]:
        """Column names and one entry per number of clusters."""
        return {
            "n_clusters": self.n_clusters.tolist(),
            "score": self.score.tolist(),
            "score_error": self.error.tolist(),
            "gain": self.gain.tolist(),
            "gain_error": self.gain_error.tolist(),
            "chosen": [place == self.chosen for place in range(len(self))],
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a frame with one row per number of clusters."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        types: dict[str, Any] = dict.fromkeys(columns, nw.Float64)
        return frame_from(columns, types | {"n_clusters": nw.Int64, "chosen": nw.Boolean}, backend)

    def __repr__(self) -> str:
        return shown("density_size_text", self)


def division_order(root: Group, standing: set[Group]) -> list[Group]:
    """Order groups by which they are divided: kept splits first, by gain.

    Each comes after those that lead to it.
    """
    numbered = {group: number for number, group in enumerate(list_groups(root))}
    waiting: list[tuple[bool, float, int, Group]] = []

    def wait(group: Group) -> None:
        if group.question is not None:
            gain = round(group.question.gain, GAIN_DIGITS)
            heapq.heappush(waiting, (group not in standing, -gain, numbered[group], group))

    wait(root)
    order = []
    while waiting:
        group = heapq.heappop(waiting)[-1]
        order.append(group)
        for side in group.sides or ():
            wait(side)
    return order


def divide_only(root: Group, divided: set[Group]) -> None:
    """Undo all splits but those of these groups."""
    for group in list(list_groups(root)):
        if group not in divided:
            group.question = group.sides = None


def size_table(search: Search, root: Group, order: list[Group], n_clusters: int) -> DensitySizeTable | None:
    """Score one cluster, two, and so on, on held-out rows, some beyond the chosen number.

    None if no rows are held out.
    """
    if not len(root.held):
        return None
    rows, weight = search.data.rows, search.data.rows.weight[root.held]
    known = ~np.isnan(rows.numbers[root.held])
    of_units = np.where(known, np.log(search.data.units.scale), 0.0).sum(axis=1)
    above = {side: group for group in order for side in group.sides or ()}
    fitted = {root: root.log_density}
    lines = [(*_mean_and_error(root.log_density - of_units, weight), np.nan, np.nan)]
    for group in order[: n_clusters - 1 + MOST_MORE]:
        before = fitted[root]
        fitted |= {side: side.log_density for side in group.sides or ()}
        at: Group | None = group
        while at is not None:  # what is above it changes with it
            fitted[at] = join_likelihoods(at, [fitted[side] for side in at.sides or ()])
            at = above.get(at)
        score = _mean_and_error(fitted[root] - of_units, weight)
        lines.append((*score, *_mean_and_error(fitted[root] - before, weight)))
    score, error, gain, gain_error = np.array(lines).T
    numbers = np.arange(1, len(lines) + 1)
    return DensitySizeTable(numbers, score, error, gain, gain_error, chosen=n_clusters - 1)


def _mean_and_error(values: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Return mean and standard error; the error is infinite for a single row."""
    part = weight / weight.sum()
    mean, n_rows = float((part * values).sum()), len(values)
    if n_rows < 2:
        return mean, np.inf
    return mean, float(np.sqrt(n_rows / (n_rows - 1) * ((part * (values - mean)) ** 2).sum()))
