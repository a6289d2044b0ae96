"""What one stage teaches: a teacher of its rows, a student, and how well other trees fit what it says."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from holdfast.arrays import FloatArray, without_last_digits
from holdfast.stability.centring.centred_trees import CentredTrees
from holdfast.stability.choice import SelectionRule, choose
from holdfast.stability.methods.centred import (
    Taught,
    centred_by,
    chosen_tolerance,
    delivered,
    distance_settings,
    lesson_of,
    teacher_answers,
)
from holdfast.stability.settings import StabilitySettings
from holdfast.stability.stages.rows import RowsLearnt, StageRows
from holdfast.stability.stages.settings import StageSettings
from holdfast.stability.training import StableTrees, train
from holdfast.stability.update.path import KEEP, Context, Point, allowed_loss, path_by, taken_point
from holdfast.stability.update.prior import Prior
from holdfast.stability.update.search import UpdateSearch
from holdfast.stability.update.settings import UpdateSettings
from holdfast.tree.paths import find_paths_above, number_paths, split_key
from holdfast.tree.tree import LEAF, Tree


class InUse(NamedTuple):
    """A tree in use."""

    tree: Tree
    loss: float  # on the rows that it learnt from
    n_behind: float  # rows that it stands for


@dataclass(frozen=True, eq=False)
class StageLesson:
    """The rows that a stage learns from, and what their teacher has to say, once it is asked."""

    number: int
    learnt: RowsLearnt
    n_rows: float  # that those learnt from are worth
    settings: StabilitySettings

    @cached_property
    def answers(self) -> FloatArray:
        """What the teacher says of the rows."""
        return teacher_answers(self.learnt.table, self.learnt.groups, self.settings)

    @cached_property
    def rows(self) -> Taught:
        """What is to be learnt from that."""
        return lesson_of(self.learnt.table, self.answers, self.settings)

    @cached_property
    def student(self) -> Tree:
        """The tree that is freshly grown on what the teacher says."""
        return self.rows.lesson.grow(self.rows.repeats)

    @cached_property
    def centred(self) -> CentredTrees:
        """The trees amid the bootstrap students, one for each tolerance."""
        return centred_by(self.rows, self.learnt.groups, self.settings)

    def losses(self, trees: Sequence[Tree]) -> FloatArray:
        """What the trees lose of the teacher's variance that the student explains, with new leaf values."""
        distances = distance_settings(self.settings, [self.student])
        search = UpdateSearch(self.rows, self.student, self.student, distances)
        losses = [search.loss(tree) for tree in self.rows.lesson.refit(list(trees))]
        return without_last_digits(np.array(losses))

    def delivered(self, trees: Sequence[Tree]) -> list[Tree]:
        """The trees with the leaf values of this stage."""
        return delivered(list(trees), self.rows, self.settings)

    def region_without_rows(self, tree: Tree) -> tuple[object, ...]:
        """The leaves of a tree that no row of the stage reaches, with all questions above them."""
        n_rows = np.bincount(tree.apply(self.rows.lesson.table), self.rows.repeats, tree.n_nodes)
        empty = np.flatnonzero((tree.feature == LEAF) & (n_rows == 0)).tolist()
        node_at = number_paths(tree)
        return tuple((path, split_key(tree, node_at[path])) for path in sorted(find_paths_above(tree, empty)))

    def carry_over(self, tree: Tree, before: Tree) -> Tree:
        """A tree with the leaf values of this stage, and those of the tree before where there are no rows."""
        if not self.region_without_rows(tree):
            return tree
        table, by_teacher = self.rows.lesson.table, self.settings.is_taught
        unchanged = np.ones(before.n_nodes)
        return Prior(before, 0.0, 0.0).add_to(
            tree, table, self.rows.repeats, unchanged, by_teacher=by_teacher
        )

    def update(
        self, used: InUse, update: UpdateSettings, more: tuple[Tree, ...]
    ) -> tuple[InUse, list[Point]]:
        """The tree that an update of the one in use takes, and all points of the path to it."""
        distances = distance_settings(self.settings, [used.tree])
        own_loss = allowed_loss(used.loss, self.n_rows, update.prior_rows)
        context = Context(self.settings, update, distances, more, own_loss)
        path = path_by(used.tree, self.learnt.table, self.learnt.groups, self.answers, context)
        taken = path.points[taken_point(path, context)]
        is_kept = taken.kind == KEEP
        return InUse(taken.tree, taken.loss, used.n_behind if is_kept else path.n_behind), path.points


# -- trees that know nothing of other stages ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class First:
    """The tree of the first stage, as an ordinary fit gives it."""

    trained: StableTrees
    tree: Tree
    loss: float  # on its own rows
    references: tuple[Tree, ...]


def first_tree(
    rows: StageRows, settings: StabilitySettings, stages: StageSettings, rule: SelectionRule
) -> First:
    """The stable tree of the first stage."""
    trained, candidate = _trained(rows, 0, settings, stages, rule)
    losses, references = trained.frontier.teacher_loss, trained.references_of(candidate)
    loss = 0.0 if losses is None else float(losses[candidate])
    return First(trained, trained.candidates.trees[candidate], loss, references.trees)


def retrained(lesson: StageLesson, rows: StageRows, stages: StageSettings, rule: SelectionRule) -> Tree:
    """The stable tree of a stage that knows nothing of the trees before it."""
    settings = lesson.settings
    is_usual = rule.selection_rule == "within-tolerance" and rule.tolerance_unit in (None, "teacher")
    if settings.method == "centred" and is_usual:  # the trees are known already
        place = lesson.centred.tolerances.index(chosen_tolerance(settings))
        return lesson.centred.trees[place]
    trained, candidate = _trained(rows, lesson.number, settings, stages, rule)
    return trained.candidates.trees[candidate]


def _trained(
    rows: StageRows, number: int, settings: StabilitySettings, stages: StageSettings, rule: SelectionRule
) -> tuple[StableTrees, int]:
    table, groups = rows.raw(number, stages)
    trained = train(table, settings, groups=groups)
    return trained, choose(trained.frontier, trained.metric, rule).candidate
