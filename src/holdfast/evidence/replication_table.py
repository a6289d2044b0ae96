"""What replications found: one result per model and replication, and a table of their means and spreads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.distance.settings import DistanceSettings
from holdfast.evidence.feature_use import first_features, importance_spread
from holdfast.scoring.metric import Metric
from holdfast.shown import shown
from holdfast.tree.tree import Tree

WIDTH = 80  # columns of the text
MODELS = ("best score", "most stable", "chosen", "CART by cross-validation", "random forest")
# What has a mean and a deviation.
_SPREADS = (
    "score",
    "choosing_score",
    "measured_score",
    "instability",
    "normalised",
    "per_rule",
    "n_leaves",
    "depth",
    "mean_path_length",
    "frontier_size",
)


@dataclass(frozen=True, eq=False)
class Result:
    """One model of one replication. What makes no sense for a model is None."""

    replication: int
    model: str  # one of MODELS
    score: float  # on the test rows; greater is better: losses are negated
    choosing_score: float | None = None  # what new rows were expected to give, when it was chosen
    measured_score: float | None = None  # on the validation rows that it was chosen by
    instability: float | None = None  # mean distance to the reference trees
    normalised: float | None = None  # as a fraction of the greatest distance of trees of the depth allowed
    per_rule: float | None = None  # mean distance per rule of the larger tree
    n_leaves: int | None = None
    depth: int | None = None
    mean_path_length: float | None = None  # questions asked of a row that the tree was grown on
    frontier_size: int | None = None  # different points on the frontier that it was chosen from
    tree: Tree | None = None
    importances: FloatArray | None = None  # fraction of the decrease of impurity that each feature brought


class Spread(NamedTuple):
    """A mean over the replications and the standard deviation between them."""

    mean: float
    deviation: float  # 0 for a single replication

    @classmethod
    def of(cls, values: Sequence[float | None]) -> "Spread | None":
        """The spread of the values; None if they are not known."""
        known = [value for value in values if value is not None]
        return _spread(known) if known else None


def _spread(values: Sequence[float]) -> Spread:
    return Spread(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)


@dataclass(frozen=True)
class Summary:
    """One model over all replications. What makes no sense for a model is None."""

    model: str
    score: Spread  # on the test rows; greater is better
    choosing_score: Spread | None
    measured_score: Spread | None
    instability: Spread | None
    normalised: Spread | None
    per_rule: Spread | None
    n_leaves: Spread | None
    depth: Spread | None
    mean_path_length: Spread | None
    frontier_size: Spread | None
    between: float | None  # mean distance between its trees of two replications
    importance_spread: float  # standard deviation of the importances, averaged over the features asked about
    first_features: int | None  # how many different features the first splits ask about
    first_two_levels: int | None  # the same of the first two levels


class TradeOff(NamedTuple):
    """What the chosen tree brings and costs against another model, over all replications."""

    model: str  # the other one
    nearer: Spread  # by how much the chosen tree is nearer to the reference trees; below 0 if it is further
    fraction: float  # the mean of that, of the other's mean distance
    score_lost: Spread  # by how much its score on the test rows is worse; below 0 if it is better

    @classmethod
    def of(cls, chosen: Sequence[Result], others: Sequence[Result]) -> "TradeOff":
        """The chosen tree against another model, replication by replication."""
        distance, other_distance = (
            np.array([result.instability for result in results], np.float64) for results in (chosen, others)
        )
        lost = [other.score - own.score for own, other in zip(chosen, others, strict=True)]
        mean = float(other_distance.mean())
        return cls(
            model=others[0].model,
            nearer=_spread((other_distance - distance).tolist()),
            fraction=1 - float(distance.mean()) / mean if mean > 0 else 0.0,
            score_lost=_spread(lost),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Replications:
    """The results of all replications, and their table."""

    results: tuple[Result, ...]  # replication by replication, the models in the order of MODELS
    metric: Metric
    distance_settings: DistanceSettings  # of all distances
    between: Mapping[str, float]  # model: mean distance between its trees of two replications

    @property
    def n_replications(self) -> int:
        """Number of replications."""
        return len(self.results) // len(MODELS)

    def of(self, model: str) -> list[Result]:
        """The results of one model, replication by replication."""
        return [result for result in self.results if result.model == model]

    @cached_property
    def rows(self) -> tuple[Summary, ...]:
        """The table: one row per model."""
        return tuple(self._summary(model) for model in MODELS)

    @cached_property
    def trade_offs(self) -> tuple[TradeOff, ...]:
        """The chosen tree against that of the best score, and against CART."""
        return tuple(TradeOff.of(self.of("chosen"), self.of(MODELS[number])) for number in (0, 3))

    def _summary(self, model: str) -> Summary:
        results = self.of(model)
        trees = [result.tree for result in results if result.tree is not None]
        spreads: dict[str, Any] = {
            name: Spread.of([getattr(result, name) for result in results]) for name in _SPREADS
        }
        return Summary(
            model=model,
            **spreads,
            between=self.between.get(model),
            importance_spread=importance_spread(trees) if trees else _forest_spread(results),
            first_features=len(first_features(trees, 1)) if trees else None,
            first_two_levels=len(first_features(trees, 2)) if trees else None,
        )

    def columns(self) -> dict[str, list[Any]]:
        """The table, column by column; the deviations of a figure are in one more, with `_deviation`."""
        columns: dict[str, list[Any]] = {}
        for name in (field.name for field in fields(Summary)):
            cells = [getattr(row, name) for row in self.rows]
            if any(isinstance(cell, Spread) for cell in cells):
                columns[name] = [None if cell is None else cell.mean for cell in cells]
                columns[f"{name}_deviation"] = [None if cell is None else cell.deviation for cell in cells]
            else:
                columns[name] = cells
        return columns

    def to_frame(self, backend: str | None = None) -> Any:
        """One row per model, as a pandas, polars or pyarrow frame (the first that is installed)."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        types: dict[str, Any] = dict.fromkeys(columns, nw.Float64) | {"model": nw.String}
        return frame_from(columns, types, backend)

    def text(self, width: int = WIDTH) -> str:
        """The table in words: one line per figure, one column per model."""
        return shown("replications_text", self, width)

    def _repr_html_(self) -> str:
        return shown("replications_html", self)

    def __repr__(self) -> str:
        return self.text()

    def plot(self, ax: Any = None) -> Any:
        """A `ReplicationsDisplay`, drawn: the score and the instability of every replication."""
        from holdfast.show.plots.replications import ReplicationsDisplay

        return ReplicationsDisplay.from_result(self, ax=ax)


def _forest_spread(results: Sequence[Result]) -> float:
    """What importance_spread is for single trees."""
    importances = np.array([result.importances for result in results])
    asked = importances.any(axis=0)
    if len(importances) < 2 or not asked.any():
        return 0.0
    return float(importances.std(axis=0, ddof=1)[asked].mean())
