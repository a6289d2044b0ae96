"""What happened in a sequence of trees, stage by stage: how far they moved, and how well they did."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from holdfast.data.table import Table
from holdfast.distance.diff.crossings import Crossings
from holdfast.distance.distances import distances_between
from holdfast.distance.settings import DistanceSettings
from holdfast.scoring.metric import Metric, TrueValues
from holdfast.scoring.predictions import predict_for_metric
from holdfast.stability.stages.rows import StageRows
from holdfast.stability.stages.sequence import FIRST, Stage, kind_of
from holdfast.stability.stages.settings import StageSettings
from holdfast.tree.recorded import set_recorded
from holdfast.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class Record:
    """The rows that the trees of a sequence are tried on, and how."""

    rows: StageRows
    settings: StageSettings
    metric: Metric
    distances: DistanceSettings

    def stages(self, trees: Sequence[Tree], losses: Sequence[float]) -> tuple[Stage, ...]:
        """The stages of a sequence, one tree for each."""
        told = self._with_recorded(trees)
        return tuple(self._stage(number, told, losses[number]) for number in range(len(told)))

    def _with_recorded(self, trees: Sequence[Tree]) -> list[Tree]:
        """The trees with what the rows of their stage and before recorded; one that stays keeps its own."""
        told: list[Tree] = []
        for number, tree in enumerate(trees):
            if number and tree is trees[number - 1]:
                told.append(told[-1])
            else:
                table = self.rows.learnt(number, self.settings).table
                told.append(set_recorded(tree, table, told[-1] if told else None))
        return told

    def _stage(self, number: int, trees: Sequence[Tree], loss: float) -> Stage:
        tree = trees[number]
        kind, away, churn, flips = FIRST, nan, nan, nan
        if number:
            before = trees[number - 1]
            kind = kind_of(before, tree)
            away = float(distances_between([before], [tree], self.distances)[0, 0])
            churn, flips = changed_answers(before, tree, self.rows.own(number).table)
        score, error, n_forward = self._forward(number, tree)
        return Stage(
            label=self.rows.labels[number],
            n_rows=int((self.rows.stage == number).sum()),
            n_learnt=self.rows.n_learnt(number, self.settings),
            tree=tree,
            kind=kind,
            distance=away,
            loss=loss,
            churn=churn,
            flips=flips,
            forward_score=score,
            forward_error=error,
            n_forward=n_forward,
        )

    def _forward(self, number: int, tree: Tree) -> tuple[float, float, int]:
        """The score on the next stage, its error, and the rows; NaN where there are none that can tell."""
        found = self.rows.next(number, self.settings)
        if found is None or len(np.unique(found.table.target)) < self.metric.least_values:
            return nan, nan, 0
        true_values = TrueValues.of(found.table, found.groups)
        score = self.metric.score(predict_for_metric(self.metric, tree, found.table), true_values)
        return score.value, score.error, found.table.n_rows


def changed_answers(before: Tree, after: Tree, table: Table) -> tuple[float, float]:
    """The mean change of the answers, of numbers in standard deviations of the target, and the flips."""
    crossings = Crossings.of(before, after, table)
    if before.schema.target.is_classes:
        return crossings.mean(crossings.moved), crossings.mean(crossings.flipped)
    mean = np.average(table.target, weights=crossings.row_weight)
    spread = float(np.sqrt(np.average((table.target - mean) ** 2, weights=crossings.row_weight)))
    return crossings.mean(crossings.moved) / (spread or 1.0), nan
