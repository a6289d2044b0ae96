"""A tree carried through stages, with the face of an estimator."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from holdfast.data.input.frame import frame_of
from holdfast.data.input.weight import read_weight, weighted_rows
from holdfast.data.split.stages import places_in_order, read_stage, stage_labels
from holdfast.data.table import Table
from holdfast.estimators.base import all_or_nothing
from holdfast.estimators.stable_rows import TrainingRows, training_rows
from holdfast.estimators.updating import UpdatingEstimator
from holdfast.stability.choice import SelectionRule
from holdfast.stability.stages.fitting import Carried, carry_through
from holdfast.stability.stages.names import MIN_ROWS
from holdfast.stability.stages.rows import StageRows
from holdfast.stability.stages.sequence import StageSequence
from holdfast.stability.stages.settings import StageSettings
from holdfast.stability.training import StableTrees


class StagingEstimator(UpdatingEstimator):
    """An estimator whose tree can be carried through stages."""

    # What fit_stages leaves behind.
    stages_: StageSequence

    def _selection_rule(self, **changes: Any) -> SelectionRule:
        raise NotImplementedError

    def _taken(self, X: Any, trained: StableTrees) -> Self:
        raise NotImplementedError

    @all_or_nothing
    def fit_stages(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        stage: Any,
        stage_order: Sequence[Any] | None = None,
        groups: Any = None,
        strategy: str = "update",
        memory: str = "all",
        half_life: float | None = None,
        tolerance: float | None = None,
        prior_rows: float | None = None,
        movement_weight: float | None = None,
        hindsight: bool = False,
        compare: bool = False,
        min_rows: int = MIN_ROWS,
        strict_groups: bool = False,
    ) -> Self:
        """Fit one tree for each stage, each near the last; the model ends with the tree of the last stage.

        `stages_` has the sequence, which prints itself: how far the tree moved at each stage, which rule
        moved when, and how well each tree predicted the stage after it.

        Parameters
        ----------
        stage, stage_order
            A year, cohort or site for every row: numbers, dates, text or ordered categories. Of words, in
            which order they come, if not in that of the alphabet.
        how
            "update": a stable tree for the first stage, and then at each stage as small a change of it as the
            rows ask for, as `update` makes it. "shortest-path": one structure for each stage, of all that the
            stages suggest, so that the sum of what the trees lose and of `movement_weight` times how far they
            move is least (Bertsimas, Digalakis, Ma and Paschalidis, arXiv 2403.19871). The choice is made
            when all stages are there; the scores on the next stage are those of the trees that it would have
            ended with before.
        memory, half_life
            The rows that a stage learns from: those of "all" stages so far, or of the "stage" alone; and the
            age, in stages, at which a row counts half.
        tolerance
            What the fit to the teacher may fall short of that of a fresh student, as a fraction of what that
            explains. None: 0.02 for "update", no limit for "shortest-path".
        prior
            For "update": how many rows the tree before stands for, besides those that are given. None: as
            many as it has learnt from, less those given again, and at least a third. 0: the rows decide.
        movement_weight
            For "shortest-path": the fit, in the same unit, that one unit of distance is worth. None: 0.02.
        hindsight
            For "shortest-path": True lets a stage ask what only later stages suggest. Such a sequence tells
            what would have been best; nobody could have had it at the time.
        compare
            Also train a tree anew at each stage, to see what that would have changed.
        min_rows
            A stage with fewer rows is joined with the next one.
        strict_groups
            Score a tree only on rows of the next stage whose group it has not met.
        """
        settings = StageSettings(
            strategy,
            memory,
            half_life,
            tolerance,
            prior_rows,
            movement_weight,
            hindsight,
            compare,
            min_rows,
            strict_groups,
        )
        numbers = read_stage(
            stage if stage_order is None else places_in_order(stage, stage_order), frame_of(X).n_rows
        )
        labels = np.array(stage_labels(stage, numbers), object)
        rows = training_rows((X, y), sample_weight, stage=numbers, groups=groups)
        counted = weighted_rows(read_weight(sample_weight, len(numbers)))
        labels = labels[np.unique(numbers if counted is None else numbers[counted])]
        table = self._table(rows.X, rows.y, rows.weight, self._task)
        assert rows.stage is not None
        staged = StageRows.of(table, rows.stage, rows.groups, tuple(labels.tolist()), settings)
        found = carry_through(staged, self._settings(), settings, self._selection_rule())
        return self._carried(rows, table, found)

    def _carried(self, rows: TrainingRows, table: Table, found: Carried) -> Self:
        """Take the last tree for the fitted one; of one stage all that an ordinary fit leaves."""
        if hasattr(self, "_remember_classes"):
            self._remember_classes(rows.y, table)
        self._choose_threshold(table, rows.groups)
        self._taken(rows.X, found.trained)
        if len(found.sequence) > 1:
            self._forget_training()
            last = found.sequence.stages[-1]
            self.tree_ = self._with_threshold(last.tree)
            self.teacher_loss_, self.rows_behind_ = last.loss, found.n_behind
        self._remember_rows(table)
        self.stages_ = found.sequence
        return self
