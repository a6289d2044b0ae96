"""A tree for every stage, and what happened between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum, isnan, nan
from typing import Any

import numpy as np

from holdfast.distance.diff.splits import SplitChange, compare_splits
from holdfast.distance.diff.tree_diff import TreeDiff, tree_diff
from holdfast.distance.settings import DistanceSettings
from holdfast.scoring.metric import Metric
from holdfast.shown import shown
from holdfast.stability.stages.settings import StageSettings
from holdfast.text.view import View, ViewMixin
from holdfast.tree.tree import Tree

# How far a tree changed from the stage before.
FIRST, SAME, REFIT, MOVED, CHANGED, NEW_ROOT = "first", "same", "refit", "moved", "changed", "new root"
STAGE_KINDS = (FIRST, SAME, REFIT, MOVED, CHANGED, NEW_ROOT)


@dataclass(frozen=True, eq=False)
class Stage:
    """The tree of one stage, compared with the one before. NaN: there is none before, or none after."""

    label: str
    n_rows: int  # of the stage
    n_learnt: int  # rows that it learnt from
    tree: Tree
    kind: str  # one of STAGE_KINDS
    distance: float  # to the tree before
    loss: float  # what its questions lose of the teacher's variance that a fresh student explains
    churn: float  # mean change of the answers on the rows of the stage; of numbers in standard deviations
    flips: float  # fraction of these rows that get another class
    forward_score: float  # on the rows of the next stage; losses are negated
    forward_error: float  # standard error
    n_forward: int  # rows of the next stage


@dataclass(frozen=True)
class PathPoint:
    """What the sequence of one movement weight loses and moves, in all."""

    movement_weight: float
    loss: float
    movement: float
    structures: tuple[int, ...]  # of each stage: the number of the structure


@dataclass(frozen=True, eq=False, repr=False)
class StageSequence(ViewMixin):
    """One tree for each stage, all on one schema.

    Of strategy="shortest-path", `stages` is the sequence that was chosen when all stages were there, and
    `then` the one that is decided stage by stage, each tree by what was known then and by the tree before it.
    Only such trees can be tried on the next stage: forward scores are theirs. `retrained` are the trees of
    each stage that know of no other. `str()` tells in words what happened, and then which rule moved when.
    """

    stages: tuple[Stage, ...]
    then: tuple[Stage, ...]  # of strategy="update" the same
    retrained: tuple[Stage, ...]  # empty without compare=True
    curve: tuple[PathPoint, ...]  # of several movement weights; empty for strategy="update"
    settings: StageSettings
    metric: Metric
    distance_settings: DistanceSettings

    def __len__(self) -> int:
        return len(self.stages)

    @property
    def labels(self) -> tuple[str, ...]:
        """What the data calls the stages."""
        return tuple(stage.label for stage in self.stages)

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The trees."""
        return tuple(stage.tree for stage in self.stages)

    @property
    def kinds(self) -> tuple[str, ...]:
        """How far each tree changed from the one before."""
        return tuple(stage.kind for stage in self.stages)

    @property
    def total_distance(self) -> float:
        """How far the tree moved in all."""
        return total_distance(self.stages)

    @property
    def mean_churn(self) -> float:
        """The mean churn of all changes; NaN if there was none."""
        return mean_known([stage.churn for stage in self.stages])

    @property
    def mean_forward_score(self) -> float:
        """The mean score on the stage after; NaN if there is none."""
        return mean_known([stage.forward_score for stage in self.then])

    @cached_property
    def diffs(self) -> tuple[TreeDiff, ...]:
        """What changed from each tree to the next."""
        known, label_weight = self.distance_settings, self.distance_settings.label_weight
        return tuple(
            tree_diff(old, new, matching=known.matching, label_weight=label_weight, outcome=known.outcome)
            for old, new in zip(self.trees[:-1], self.trees[1:], strict=True)
        )

    # -- shown ----------------------------------------------------------------------------------------

    def columns(self) -> dict[str, list[Any]]:
        """One list per figure, one entry per stage; None where there is none."""
        names = ("label", "n_rows", "n_learnt", "kind", "distance", "loss", "churn", "flips")
        columns = {name: [_known(getattr(stage, name)) for stage in self.stages] for name in names}
        columns["n_leaves"] = [stage.tree.n_leaves for stage in self.stages]
        columns["forward_score"] = [self._shown(stage.forward_score) for stage in self.then]
        columns["forward_error"] = [_known(stage.forward_error) for stage in self.then]
        if self.then is not self.stages:
            columns["distance_then"] = [_known(stage.distance) for stage in self.then]
        for name in ("distance", "churn") if self.retrained else ():
            columns[f"retrained_{name}"] = [_known(getattr(stage, name)) for stage in self.retrained]
        if self.retrained:
            scores = [self._shown(stage.forward_score) for stage in self.retrained]
            columns["retrained_forward_score"] = scores
        return columns

    def to_frame(self, backend: str | None = None) -> Any:
        """One row per stage, as a pandas, polars or pyarrow frame (the first that is installed)."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        types: dict[str, Any] = dict.fromkeys(columns, nw.Float64)
        types |= {"label": nw.String, "kind": nw.String}
        types |= dict.fromkeys(("n_rows", "n_learnt", "n_leaves"), nw.Int64)
        return frame_from(columns, types, backend)

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain data."""
        return {
            "strategy": self.settings.strategy,
            "memory": self.settings.memory,
            "hindsight": self.settings.hindsight,
            "metric": self.metric.name,
            "summary": self.summary,
            "total_distance": self.total_distance,
            "mean_churn": _known(self.mean_churn),
            "mean_forward_score": self._shown(self.mean_forward_score),
            "stages": self.columns(),
            "curve": [
                {"movement_weight": each.movement_weight, "loss": each.loss, "movement": each.movement}
                for each in self.curve
            ],
        }

    @property
    def summary(self) -> str:
        """What happened, in a few sentences."""
        return shown("stages_summary", self)

    def to_svg(self) -> str:
        """A picture: what is asked at each place of the tree, stage by stage."""
        from holdfast.show.plots.display import LATER
        from holdfast.show.plots.tree import StagesDisplay

        return StagesDisplay.from_result(self, ax=LATER).to_svg()

    def plot(self, ax: Any = None) -> Any:
        """A `StagesDisplay`, drawn: what is asked at each place of the tree, stage by stage."""
        from holdfast.show.plots.tree import StagesDisplay

        return StagesDisplay.from_result(self, ax=ax)

    def _shown(self, score: float) -> float | None:
        return None if isnan(score) else self.metric.shown(score)

    def _view(self) -> View:
        from holdfast.show.stages import stages_view

        return stages_view(self)


def total_distance(stages: Sequence[Stage]) -> float:
    """How far the trees moved in all."""
    return fsum(stage.distance for stage in stages if not isnan(stage.distance))


def mean_known(values: Sequence[float]) -> float:
    """The mean of those that are known; NaN if none is."""
    known = [value for value in values if not isnan(value)]
    return fsum(known) / len(known) if known else nan


def kind_of(old: Tree, new: Tree) -> str:
    """How far a tree changed: in values alone, in thresholds and categories, or in what it asks."""
    changes: tuple[SplitChange, ...] = compare_splits(old, new)
    if not changes:
        return SAME if np.array_equal(old.value, new.value) else REFIT
    if all(each.is_move for each in changes):
        return MOVED
    return NEW_ROOT if any(each.is_root and not each.is_move for each in changes) else CHANGED


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and isnan(value) else value
