"""What the stable classifier and regressor share: the data and its marks, training, and the choice."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from holdfast.arrays import FloatArray, LongArray
from holdfast.data.input.frame import Frame, frame_of, stacked, stacked_vectors, taken_vector
from holdfast.data.input.target import Task, read_vector
from holdfast.data.input.weight import read_weight, weighted_rows
from holdfast.data.split.groups import numbered, read_groups
from holdfast.data.split.stages import read_stage
from holdfast.data.table import Table
from holdfast.errors import DataError, RulesError
from holdfast.estimators.base import TreeEstimator, drawn_seed
from holdfast.evidence.feature_use import FeatureUses, feature_use
from holdfast.evidence.replication_table import Replications
from holdfast.evidence.replications import replicate
from holdfast.evidence.split_support import SplitSupports, split_support
from holdfast.stability.choice import Choice, SelectionRule, choose
from holdfast.stability.frontier import Frontier
from holdfast.stability.settings import Settings
from holdfast.stability.training import StableTrees, train
from holdfast.tree.tree import Tree

METHODS = ("paper",)
_UNSAID: Any = object()  # None is something that can be said


@dataclass(frozen=True, eq=False)
class Data:
    """Rows to learn from, all of which count, and what is known of each besides."""

    X: Frame
    y: Any
    weight: FloatArray | None
    stage: LongArray | None
    groups: LongArray | None


class StableTreeEstimator(TreeEstimator):
    """An estimator whose tree is chosen from many."""

    _task: ClassVar[Task]

    # The parameters that the methods here read.
    method: str
    n_estimators: int
    candidates: str
    grid: Any
    learner: Any
    early_fraction: float
    validation: float | str
    scoring: Any
    rule: str
    tolerance: float
    tolerance_unit: str | None
    gamma: float | None
    matching: str
    label_weight: float | None
    outcome: str | None
    refit_leaves: bool
    shrink_scores: bool
    n_jobs: int | None
    verbose: bool

    # What fit leaves behind.
    trained_: StableTrees
    frontier_: Frontier
    choice_: Choice
    instability_: float
    reference_trees_: list[Tree]
    candidate_trees_: list[Tree]

    # -- fitting --------------------------------------------------------------------------------------

    def _data(self, X: Any, y: Any, sample_weight: Any, stage: Any, groups: Any, X0: Any, y0: Any) -> Data:
        """All rows whose weight is above 0, those of X0 first."""
        if (X0 is None) != (y0 is None):
            raise RulesError("X0 and y0 go together: give the early rows and their target, or neither.")
        frame = frame_of(X)
        if X0 is not None:
            if stage is not None:
                raise RulesError("stage and X0 both say which rows are early: give one of them.")
            early = frame_of(X0)
            lines = read_vector(y0, early.n_rows, ("X0", "y0")), read_vector(y, frame.n_rows)
            stage = np.arange(early.n_rows + frame.n_rows) >= early.n_rows
            if len({_is_text(line) for line in lines}) > 1:
                raise DataError("y0 and y must be of one kind, and one of them is text: write labels alike.")
            frame = stacked(early, frame, ("X0", "X"))
            y = stacked_vectors(*lines)
        weight = read_weight(sample_weight, frame.n_rows)
        marks = (
            None if stage is None else read_stage(stage, frame.n_rows),
            None if groups is None else read_groups(groups, frame.n_rows),
        )
        counted = weighted_rows(weight)
        if weight is None or counted is None:
            return Data(frame, y, weight, *marks)
        vector = taken_vector(read_vector(y, frame.n_rows), counted)
        return Data(
            frame.taken(counted), vector, weight[counted], *(numbered(mark, counted) for mark in marks)
        )

    def _trained(self, table: Table, data: Data) -> StableTrees:
        return train(table, self._settings(), stage=data.stage, groups=data.groups)

    def _settings(self) -> Settings:
        """The settings that the parameters spell out; a RulesError names one that is out of range."""
        if self.method not in METHODS:
            raise RulesError(f"method={self.method!r} is unknown: choose one of {list(METHODS)}.")
        self._selection_rule()
        return Settings(
            rules=self._rules(),
            grid=self.grid,
            learner=self.learner,
            n_estimators=self.n_estimators,
            candidates=self.candidates,
            early_fraction=self.early_fraction,
            validation=self.validation,
            scoring=self.scoring,
            matching=self.matching,
            label_weight=self.label_weight,
            outcome=self.outcome,
            refit_leaves=self.refit_leaves,
            shrink_scores=self.shrink_scores,
            seed=drawn_seed(self.random_state),
            n_jobs=self.n_jobs,
            progress=bool(self.verbose),
        )

    def _selection_rule(self, **changes: Any) -> SelectionRule:
        names = ("rule", "tolerance", "tolerance_unit", "gamma")
        return SelectionRule(**{name: changes.get(name, getattr(self, name)) for name in names})

    def _taken(self, X: Frame, trained: StableTrees) -> Self:
        """Take the collections and the tree that the parameters ask for as the fitted ones."""
        self.trained_ = trained
        self.frontier_ = trained.frontier
        self.reference_trees_ = list(trained.references.trees)
        self.candidate_trees_ = list(trained.candidates.trees)
        self._choose(self._selection_rule())
        return self._remember(X, self.tree_)

    # -- the choice -----------------------------------------------------------------------------------

    def choose(
        self,
        rule: str | None = None,
        *,
        tolerance: float | None = None,
        tolerance_unit: str | None = _UNSAID,
        gamma: float | None = _UNSAID,
    ) -> Self:
        """Move to another tree of the frontier, without fitting anew. What is left out stays as it was set.

        A tolerance without a rule asks for "within-tolerance", and gamma for "weighted". The parameters of
        the model change along, so that a clone of it would choose the same way.
        """
        check_is_fitted(self)
        if rule is None and gamma is not _UNSAID:
            rule = "weighted"
        elif rule is None and (tolerance is not None or tolerance_unit is not _UNSAID):
            rule = "within-tolerance"
        said = {"rule": rule, "tolerance": tolerance, "tolerance_unit": tolerance_unit, "gamma": gamma}
        changes = {
            name: value
            for name, value in said.items()
            if value is not _UNSAID and not (value is None and name in ("rule", "tolerance"))
        }
        self._choose(self._selection_rule(**changes))
        self.set_params(**changes)
        return self

    def _choose(self, selection_rule: SelectionRule) -> None:
        choice = choose(self.trained_.frontier, self.trained_.metric, selection_rule)
        self.choice_, self.tree_ = choice, self.trained_.candidates.trees[choice.candidate]
        self.instability_ = float(self.trained_.frontier.instability[choice.candidate])

    # -- again and again ------------------------------------------------------------------------------

    def replicate(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        stage: Any = None,
        groups: Any = None,
        n_replications: int = 10,
        test_fraction: float = 1 / 3,
    ) -> Replications:
        """What these parameters give on random splits of the data, next to two baselines.

        Each time other rows are held out for the test, and nothing else sees them. The result prints itself
        as a table of means and standard deviations: for the best score, the most stable and the chosen tree,
        for CART chosen by cross-validation, and for a random forest. The model itself is not fitted.
        """
        data = self._data(X, y, sample_weight, stage, groups, None, None)
        return replicate(
            self._table(data.X, data.y, data.weight, self._task),
            self._settings(),
            selection_rule=self._selection_rule(),
            stage=data.stage,
            groups=data.groups,
            n_replications=n_replications,
            test_fraction=test_fraction,
        )

    # -- what stands firm -----------------------------------------------------------------------------

    def split_support(self) -> SplitSupports:
        """For every split of the chosen tree, how often the trees of both collections ask the same there."""
        check_is_fitted(self)
        return split_support(self.tree_, self.reference_trees_, self.candidate_trees_)

    def feature_use(self) -> FeatureUses:
        """How the trees of both collections use each feature, the most important first."""
        check_is_fitted(self)
        return feature_use([*self.reference_trees_, *self.candidate_trees_])


def _is_text(line: Any) -> bool:
    entries = line.tolist() if isinstance(line, np.ndarray) else line.to_list()
    return any(isinstance(entry, str) for entry in entries)
