"""What the stable classifier and regressor share: reading the rows, training, and the choice."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from holdfast.arrays import BoolArray, FloatArray, LongArray
from holdfast.data.input.frame import Frame, frame_of, stacked, stacked_vectors, taken_line
from holdfast.data.input.target import Task, read_vector
from holdfast.data.input.weight import counted_rows, read_weight
from holdfast.data.split.fractions import numbered, read_groups, read_stage
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

_UNSAID: Any = object()  # None is something that can be said


class Part(NamedTuple):
    """Rows and their target as the user hands them over, and what messages call them."""

    X: Any
    y: Any
    names: tuple[str, str]

    @property
    def is_given(self) -> bool:
        """True if the user has such rows; a RulesError if they come without their target, or it alone."""
        if (self.X is None) != (self.y is None):
            both = " and ".join(self.names)
            raise RulesError(f"{both} go together: give the rows and their target, or neither.")
        return self.X is not None

    def joined(self, other: "Part") -> "Part":
        """These rows followed by the others, under the names of X and y."""
        frames = frame_of(self.X), frame_of(other.X)
        lines = [
            read_vector(part.y, frame.n_rows, part.names)
            for part, frame in zip((self, other), frames, strict=True)
        ]
        if len({_is_text(line) for line in lines}) > 1:
            names = f"{self.names[1]} and {other.names[1]}"
            raise DataError(f"{names} must be of one kind, and one of them is text: write labels alike.")
        frame, line = stacked(*frames, (self.names[0], other.names[0])), stacked_vectors(*lines)
        if not isinstance(line, np.ndarray):
            line = line.rename(lines[0].name or "y")  # the target keeps its name
        return Part(frame, line, ("X", "y"))


@dataclass(frozen=True, eq=False)
class Data:
    """Rows to learn from and to score on, all of which count, and what is known of each besides."""

    X: Frame
    y: Any
    weight: FloatArray | None
    stage: LongArray | None
    groups: LongArray | None
    holdout: BoolArray | None = None  # True for the rows that the user holds out

    def taken(self, rows: BoolArray) -> "Data":
        """The rows with a flag."""
        return Data(
            self.X.taken(rows),
            taken_line(read_vector(self.y, self.X.n_rows), rows),
            None if self.weight is None else self.weight[rows],
            numbered(self.stage, rows),
            numbered(self.groups, rows),
            None if self.holdout is None else self.holdout[rows],
        )


class StableTreeEstimator(TreeEstimator):
    """An estimator whose tree is chosen from many.

    Its parameters are the fields of `Settings` and of `SelectionRule` by name, and those of other trees.
    """

    _task: ClassVar[Task]

    # What fit leaves behind.
    trained_: StableTrees
    frontier_: Frontier
    choice_: Choice
    instability_: float
    reference_trees_: list[Tree]
    candidate_trees_: list[Tree]

    # -- fitting --------------------------------------------------------------------------------------

    def _data(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        stage: Any,
        groups: Any,
        early: tuple[Any, Any] = (None, None),
        holdout: tuple[Any, Any] = (None, None),
    ) -> Data:
        """All rows whose weight is above 0: the early ones kept apart, those of X, and the user's holdout."""
        rows, flags = Part(frame_of(X), y, ("X", "y")), None
        before, after = Part(*early, ("X0", "y0")), Part(*holdout, ("X_holdout", "y_holdout"))
        if before.is_given:
            if stage is not None:
                raise RulesError("stage and X0 both say which rows are early: give one of them.")
            n_late = rows.X.n_rows
            rows = before.joined(rows)
            stage = np.arange(rows.X.n_rows) >= rows.X.n_rows - n_late
        if after.is_given:
            n_learnt = rows.X.n_rows
            rows = rows.joined(after)
            flags = np.arange(rows.X.n_rows) >= n_learnt
            if before.is_given:
                stage = np.append(stage, np.ones(rows.X.n_rows - n_learnt, np.bool_))
        n_rows = rows.X.n_rows
        data = Data(
            rows.X,
            rows.y,
            read_weight(sample_weight, n_rows),
            None if stage is None else read_stage(stage, n_rows),
            None if groups is None else read_groups(groups, n_rows),
            flags,
        )
        counted = counted_rows(data.weight)
        return data if counted is None else data.taken(counted)

    def _trained(self, table: Table, data: Data) -> StableTrees:
        return train(table, self._settings(), stage=data.stage, groups=data.groups, holdout=data.holdout)

    def _settings(self) -> Settings:
        """The settings that the parameters spell out; a RulesError names one that is out of range."""
        self._selection_rule()
        parameters = self.get_params(deep=False)
        said = {each.name: parameters[each.name] for each in fields(Settings) if each.name in parameters}
        return Settings(**said, rules=self._rules(), seed=drawn_seed(self.random_state))

    def _selection_rule(self, **changes: Any) -> SelectionRule:
        names = [each.name for each in fields(SelectionRule)]
        return SelectionRule(**{name: changes.get(name, getattr(self, name)) for name in names})

    def _taken(self, X: Any, trained: StableTrees) -> Self:
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
        data = self._data(X, y, sample_weight, stage, groups)
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
