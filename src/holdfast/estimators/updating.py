"""The update of a deployed tree, with the face of an estimator."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from holdfast.adapters import as_tree
from holdfast.arrays import KeyArray
from holdfast.data.input.frame import frame_of
from holdfast.data.input.target import Task
from holdfast.data.input.weight import effective_rows
from holdfast.data.schema import Schema
from holdfast.data.split.row_keys import sketch_of, unique_hashes
from holdfast.data.table import Table
from holdfast.distance.reference_schema import placed_on
from holdfast.errors import ParameterError, SchemaMismatch
from holdfast.estimators.base import all_or_nothing
from holdfast.estimators.intervals import IntervalEstimator
from holdfast.estimators.stable_rows import training_rows
from holdfast.estimators.update_rows import Reading, check_enough, offer_widen, update_rows, weights_by_age
from holdfast.stability.centring.names import MOST_LEAVES
from holdfast.stability.choice import SelectionRule
from holdfast.stability.policy.policy import ChangePolicy
from holdfast.stability.settings import StabilitySettings
from holdfast.stability.update.names import UPDATE_TOLERANCE
from holdfast.stability.update.path import CANDIDATE, KEEP, RETRAIN
from holdfast.stability.update.settings import UpdateSettings, frozen_nodes, usual_prior
from holdfast.stability.update.update import TreeUpdate, update_tree
from holdfast.tree.positive import with_positive
from holdfast.tree.tree import Tree, label_array

OF_UPDATE = (
    *("rows_behind_", "teacher_loss_", "update_", "previous_tree_", "stages_"),
    *("_before_update", "_learnt"),
)
# What a training leaves behind, and an updated tree has no part in.
OF_TRAINING = (
    *("trained_", "frontier_", "choice_", "instability_", "reference_trees_", "candidate_trees_"),
    *("size_choice_", "stages_"),
)


OF_HELD_OUT = ("max_leaf_nodes_", "teacher_weights_")  # what held-out rows chose, for updates too


class UpdatingEstimator(IntervalEstimator):
    """An estimator whose tree can be in use, and be updated by new rows."""

    _task: ClassVar[Task]

    # What update leaves behind.
    previous_tree_: Tree
    update_: TreeUpdate
    rows_behind_: float  # rows that the tree stands for, those of earlier updates included
    teacher_loss_: float  # of the tree on the rows that it learnt from: what a student explains more
    classes_: NDArray[Any]
    n_classes_: int

    def _settings(self) -> StabilitySettings:
        raise NotImplementedError

    def _selection_rule(self) -> SelectionRule:
        raise NotImplementedError

    def adopt(self, model: Any) -> Self:
        """Take a tree that is in use for the fitted one: ours, or a model of any library that as_tree reads.

        It predicts from then on, and `update` moves it by new rows.
        """
        tree = as_tree(model)
        is_classes = self._task == "classification"
        if tree.schema.target.is_classes != is_classes:
            raise ParameterError(
                f"The tree predicts {'classes' if tree.schema.target.is_classes else 'numbers'}, and a "
                f"{type(self).__name__} {'classes' if is_classes else 'numbers'}: take the other estimator."
            )
        self._forget_training()
        for name in (*OF_UPDATE, "_row_hashes", "decision_threshold_", "positive_class_", *OF_HELD_OUT):
            self.__dict__.pop(name, None)
        columns = tree.schema.columns
        self._take_tree(tree, any(each.name != f"x{i}" for i, each in enumerate(columns)))
        return self

    @all_or_nothing
    def update(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        strategy: str = "nearest",
        tolerance: float = UPDATE_TOLERANCE,
        frozen: int | str | Sequence[int] = (),
        groups: Any = None,
        X_old: Any = None,
        y_old: Any = None,
        age: Any = None,
        half_life: float | None = None,
        prior_rows: float | None = None,
        allow_new_values: bool = False,
        validation: float | None = 1 / 3,
        policy: ChangePolicy | None = None,
        force: bool = False,
    ) -> Self:
        """Move the tree as little as new rows ask, or keep it.

        A teacher learns from the rows, and what it says is weighed against what the deployed tree says, which
        stands for the rows that it was trained on. If the tree with new leaf values fits that within the
        tolerance of what a fresh tree would, or as well as it fitted its own rows, only these values change.
        Otherwise the tree changes, step by step, by the move that gains most fit for the distance that it
        adds; and of the trees that fit well enough, the nearest one that a search finds is taken. `update_`
        has the whole path, `take` moves along it, and `previous_tree_` is the tree before.

        Parameters
        ----------
        how
            "nearest": as above. "keep": the tree as it is. "refit": new leaf values alone. "retrain": a tree
            that knows nothing of the deployed one. "candidate": of bootstrap trees whose score is within the
            tolerance of the best, the nearest one, as in the paper on stable trees.
        tolerance
            What the fit to the teacher may fall short of that of a retrained tree, as a fraction of what a
            fresh student explains.
        frozen
            Nodes of the tree that must go on asking what they ask or, of leaves, saying what they say; or
            "edited" for those that were edited by hand.
        X_old, y_old
            Rows of before, if they are still there, to learn from as well. Weights, groups and ages then have
            an entry for each of them, first, and for each new row.
        age, half_life
            How old each row is, and the age at which a row counts half. Without ages old rows have the age 1.
        prior
            How many rows the deployed tree stands for, besides those that are given. None: as many as it was
            trained on, less those that are given again (which a model that was saved and loaded cannot know),
            and at least a third. 0: the rows alone decide.
        allow_new_values
            Take in new columns, categories and classes; otherwise they are an error that lists them.
        validation
            Fraction of the new rows that the scores of the path are measured on, by trees made the same way
            without them; None: the scores are those on rows that were learnt from, and too good.
        policy, force
            What the update may change. If it breaks a line, the tree stays as it is, and `update_` says why:
            `update_.verdict`. `force=True` takes it all the same, which `update_` records; and it updates the
            tree even by rows of one class, or by fewer than 20 rows or 5 events.
        """
        check_is_fitted(self)
        _check_policy(policy)
        if not allow_new_values:
            try:
                X, X_old = self._matched(X), None if X_old is None else self._matched(X_old)
            except SchemaMismatch as error:
                raise offer_widen(error) from None
        n_new, n_old = (0 if each is None else frame_of(each).n_rows for each in (X, X_old))
        weight = weights_by_age(n_old, n_new, sample_weight, age, half_life)
        early = {"early": (X_old, y_old), "early_names": ("X_old", "y_old")}
        rows = training_rows((X, y), weight, stage=None, groups=groups, **early)
        reading = Reading(self._task, self.categorical_features, self.schema_.questions, allow_new_values)
        new = update_rows(rows, self.tree_, reading)
        if not force:
            check_enough(new)
        n_behind, known = self._rows_behind, unique_hashes(new.table)
        # Old rows that are handed over are those that the tree has learnt from, as far as anyone knows.
        n_again = max(self._n_given_again(known), min(n_behind, n_old))
        n_again = min(n_again, effective_rows(new.table.weight, new.table.n_rows))
        is_prior_open = prior_rows is None
        prior_rows = usual_prior(n_behind, n_again) if is_prior_open else prior_rows
        carried = max(n_behind - n_again, 0.0) if is_prior_open else None
        settings = UpdateSettings(
            strategy, tolerance, frozen_nodes(frozen, self.tree_), validation, prior_rows, carried
        )
        found = update_tree(
            placed_on(self.tree_, new.table.schema),
            new,
            self._update_settings(),
            settings,
            own_loss=vars(self).get("teacher_loss_", 0.0),
            more=self._further_trees(new.table.schema),
            rule=self._selection_rule(),
        )
        self._before_update = {name: each for name, each in vars(self).items() if name != "_before_update"}
        self._learnt = known
        return self._stepped(found.judged(policy, force=force))

    def take(self, step: int, *, force: bool = False) -> Self:
        """Move to another step of the path of the last update, without searching anew.

        If the update had a policy that forbids the step, the tree that was deployed before stays in use,
        unless it is forced.
        """
        check_is_fitted(self)
        if "_before_update" not in vars(self):
            raise ParameterError("There is no path to take a step of: call update first.")
        return self._stepped(self.update_.take(step, force=force))

    def _stepped(self, update: TreeUpdate) -> Self:
        """Take the tree of an update. If it is kept, or a policy forbids the step, all is as it was."""
        before, learnt = self._before_update, self._learnt
        self.__dict__ = {**before, "update_": update, "_before_update": before, "_learnt": learnt}
        step = update.steps[update.taken]
        is_same = step.kind == KEEP and not _is_wider(update.deployed.schema, self.tree_.schema)
        if is_same or not update.is_taken:
            return self
        self.previous_tree_ = self.tree_
        self._forget_training()
        is_made_alone = step.kind in (RETRAIN, CANDIDATE)  # and knows nothing of the rows before
        self.rows_behind_ = float(update.tree.count[0]) if is_made_alone else update.n_behind
        self.teacher_loss_ = step.loss
        self._row_hashes = sketch_of(np.append(vars(self).get("_row_hashes", learnt), learnt))
        self._take_tree(update.tree, hasattr(self, "feature_names_in_"))
        return self

    def __getstate__(self) -> Any:
        state = super().__getstate__()  # a pickle goes on from the tree that is in use
        return {name: each for name, each in state.items() if name not in ("_before_update", "_learnt")}

    def _update_settings(self) -> StabilitySettings:
        """The settings, with what rows held out have chosen: size, teacher, strength of shrinkage."""
        settings = self._settings()
        if settings.leaf_values == "shrunk":
            settings = replace(settings, shrinkage=vars(self).get("shrinkage_"))
        settings = replace(settings, teacher=vars(self).get("teacher_weights_", settings.teacher))
        if not settings.is_size_open:
            return settings
        return settings.with_size(vars(self).get("max_leaf_nodes_", MOST_LEAVES))

    @property
    def _rows_behind(self) -> float:
        """How many rows the tree stands for: those that it was trained on, and those that updated it."""
        return float(vars(self).get("rows_behind_", self.tree_.count[0]))

    def _n_given_again(self, hashes: KeyArray) -> int:
        """How many of the rows that the tree has learnt from are among those with these hashes, about."""
        known = vars(self).get("_row_hashes", np.zeros(0, np.uint64))
        return round(self._rows_behind * float(np.isin(known, hashes).mean())) if len(known) else 0

    def _remember_rows(self, table: Table) -> None:
        self._row_hashes = sketch_of(unique_hashes(table))

    def _further_trees(self, schema: Any) -> tuple[Tree, ...]:
        """The references of the last training, whose questions may be asked again."""
        placed = []
        for tree in vars(self).get("reference_trees_", ()):
            with suppress(SchemaMismatch):  # it asks about a column that is of another kind now
                placed.append(placed_on(tree, schema))
        return tuple(placed)

    def _take_tree(self, tree: Tree, is_named: bool) -> None:
        """Take a tree for the fitted one, with its columns and classes, and its positive class or our own."""
        tree = with_positive(tree, getattr(self, "positive", None))
        self.tree_ = tree
        self._remember_columns(is_named, tree.schema)
        classes = tree.schema.target.classes
        if classes:
            known = vars(self).get("classes_", label_array(classes))
            self.classes_ = known if tuple(known.tolist()) == classes else label_array(classes)
            self.n_classes_ = len(classes)

    def _forget_training(self) -> None:
        for name in OF_TRAINING:
            self.__dict__.pop(name, None)
        self._left_out = tuple(OF_TRAINING)


def _is_wider(schema: Schema, before: Schema) -> bool:
    """True if the schema has other columns, categories or classes than before; ranges do not count."""
    known = [[(each.name, each.kind, each.categories) for each in one.features] for one in (schema, before)]
    return known[0] != known[1] or schema.target.classes != before.target.classes


def _check_policy(policy: Any) -> None:
    if policy is not None and not isinstance(policy, ChangePolicy):
        raise ParameterError(
            f"policy={policy!r} is none: give a ChangePolicy, such as ChangePolicy.load('change.toml')."
        )
