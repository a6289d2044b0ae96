"""Trees that learn what a teacher says of the rows, instead of what happened to them."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from holdfast.arrays import FloatArray, IntArray, LongArray
from holdfast.backends.tasks import ROWS_PER_TASK, make_batches, run_all
from holdfast.data.schema import Target
from holdfast.data.split.resampling import Units, all_counts
from holdfast.data.table import Table
from holdfast.growth.constraints import make_monotone, number_rules
from holdfast.growth.criteria import get_criterion
from holdfast.growth.first_splits import read_first_splits
from holdfast.growth.grow import grow_samples
from holdfast.growth.leaf_values import refit_all_leaf_values
from holdfast.growth.pruning.path import leaves_path
from holdfast.growth.recorded_splits import add_recorded_splits
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import FixedPointSample, fixed_point, relative
from holdfast.random_streams import Stream
from holdfast.stability.centring.thresholds import coarse_table, on_cuts
from holdfast.tree.monotone import enforce_monotonicity
from holdfast.tree.prune import prune_at
from holdfast.tree.tree import Tree

UNIT = 2.0**-14  # of the teacher's answers: rounding hides the last digits, which no two machines agree on


def rounded_answers(answers: FloatArray) -> FloatArray:
    """Answers from 0 to 1 as multiples of the unit; fractions of more than two classes are never 0.

    What rounding adds or takes from a row of such fractions, the greatest of them makes up for.

    >>> rounded_answers(np.array([[0.25, 0.75]])).tolist()
    [[0.25, 0.75]]
    >>> rounded_answers(np.array([[1 / 3, 2 / 3, 0.0]])).sum().item()
    1.0
    """
    units = np.rint(np.clip(answers, 0.0, 1.0) / UNIT)
    if answers.shape[1] > 2:
        units = np.maximum(units, 1.0)
        units[np.arange(len(units)), units.argmax(axis=1)] += 1.0 / UNIT - units.sum(axis=1)
    return units * UNIT


class Student(NamedTuple):
    """A tree with the teacher's answers for all rows in its nodes, and the order in which it grew."""

    tree: Tree
    undone: (
        LongArray  # for every node: how many splits are undone, the last first, when its own is; 0: a leaf
    )

    def cut_to(self, n_leaves: int) -> Tree:
        """The student as it was when it had so many leaves: growth makes the most useful split first."""
        return prune_at(self.tree, self.undone <= self.tree.n_leaves - n_leaves)


@dataclass(frozen=True, eq=False)
class Lesson:
    """A table whose target is what the teacher says, and the way back to trees of the real target.

    Of two classes the fraction of the second is learnt, of a number the number itself. Of more classes every
    row stands there once for each class, weighted by its fraction: Gini impurity of such rows is the squared
    error of the fractions.
    """

    table: Table  # the real one
    answers: FloatArray  # (rows, classes), or (rows, 1) numbers from 0 to 1, as fractions of their range
    weight: FloatArray  # of every row
    lesson: Table
    rules: GrowthRules
    fixed: FixedPointSample
    coarse: Table  # the lesson in which students see only whether a number is above each round threshold
    cuts: tuple[FloatArray | None, ...]

    @classmethod
    def of(
        cls,
        table: Table,
        answers: FloatArray,
        repeats: IntArray,
        importance: FloatArray,
        rules: GrowthRules,
        thresholds: str = "round",
    ) -> "Lesson":
        """The lesson of a teacher's answers, for trees that keep to the rules.

        `repeats` are the rows that each row stands for, `importance` is the weight of one of them. With
        "round" `thresholds`, trees are grown on few round ones for every feature.
        """
        n_classes = len(table.schema.target.classes)
        weight, n_rows = repeats * importance, repeats
        if n_classes <= 2:
            # Of one class alone there is nothing to learn.
            target = answers[:, -1] if n_classes != 1 else np.ones(table.n_rows)
            schema = replace(table.schema, target=Target("teacher"))
            given = None if table.weight is None and (weight == 1.0).all() else weight
            lesson = Table(schema, table.columns, target, given)
            rules = replace(number_rules(table.schema, rules), criterion="squared_error")
        else:
            row = np.repeat(np.arange(table.n_rows), n_classes)
            label = np.tile(np.arange(n_classes, dtype=np.int32), table.n_rows)
            columns = tuple(column[row] for column in table.columns)
            repeats, importance = repeats[row] * (answers.ravel() > 0), importance[row] * answers.ravel()
            lesson = Table(table.schema, columns, label, repeats * importance)
            rules = replace(
                rules,
                criterion="gini",
                min_samples_leaf=int(rules.min_samples_leaf) * n_classes,
                # Rows of several classes are never pure: where all have the same fractions, growth must end.
                min_impurity_decrease=max(rules.min_impurity_decrease, UNIT**2),
            )
        repeats, exponent = repeats.astype(np.int32), 0
        if (importance[repeats > 0] != 1.0).any():
            importance, exponent = relative(importance, repeats)
        criterion = get_criterion(rules.criterion_name, n_classes > 2)
        fixed = fixed_point(
            lesson.target, n_classes if n_classes > 2 else 0, criterion, repeats, importance, exponent
        )
        as_written = [] if rules.first_splits is None else read_first_splits(table.schema, rules.first_splits)
        if thresholds == "exact":
            return cls(table, answers, weight, lesson, rules, fixed, lesson, (None,) * len(table.columns))
        coarse, cuts = coarse_table(
            table, n_rows, [(split.feature.name, split.threshold) for split in as_written]
        )
        columns = coarse.columns
        if lesson.n_rows > table.n_rows:
            columns = tuple(column[row] for column in columns)
        return cls(table, answers, weight, lesson, rules, fixed, replace(lesson, columns=columns), cuts)

    def limited(self, rules: GrowthRules) -> "Lesson":
        """The lesson for students with the size, the depth and the rows in a leaf of these rules."""
        limited = self.rules.replace(
            max_leaf_nodes=rules.max_leaf_nodes,
            max_depth=rules.max_depth,
            min_samples_leaf=int(rules.min_samples_leaf) * self.n_copies,
        )
        return replace(self, rules=limited)

    @property
    def n_copies(self) -> int:
        """How often each row stands in the lesson."""
        return self.lesson.n_rows // self.table.n_rows

    @property
    def has_exact_thresholds(self) -> bool:
        """True if trees may split between any two values, False if only at few round numbers."""
        return self.coarse is self.lesson

    @property
    def least_rows(self) -> int:
        """The fewest rows of the real table in a leaf of a student."""
        return int(self.rules.min_samples_leaf) // self.n_copies

    def grow(self, counts: IntArray) -> Tree:
        """The student of a sample of the rows, with the teacher's answers for all rows in its leaves."""
        return self.student(counts).tree

    def grow_parts(self, samples: list[IntArray], most_leaves: int, max_depth: int | None) -> list[Tree]:
        """Students of parts of the rows, as far as their questions go: the leaves are not refitted."""
        # Nodes above these parts are not known here: what they rule out is ruled out by the search.
        rules = self.rules.replace(first_splits=None, excluded_features=None, interaction_cst=None)
        rules = replace(rules, max_leaf_nodes=most_leaves, max_depth=max_depth)
        return replace(self, rules=rules)._grown(samples)

    def grow_many(
        self, repeats: IntArray, units: Units, stream: Stream, n_trees: int, n_jobs: int | None, progress: str
    ) -> list[Tree]:
        """The students of bootstrap samples; their leaves have the teacher's answers for all rows."""
        return [each.tree for each in self.students(repeats, units, stream, n_trees, n_jobs, progress)]

    def student(self, counts: IntArray) -> Student:
        """The student of a sample of the rows, which can be cut to fewer leaves."""
        return self._taught(self._grown([counts]))[0]

    def students(
        self, repeats: IntArray, units: Units, stream: Stream, n_trees: int, n_jobs: int | None, progress: str
    ) -> list[Student]:
        """The students of bootstrap samples, which can be cut to fewer leaves."""
        self.coarse.code(n_jobs)  # before the threads start
        tasks = make_batches(range(n_trees), max(1, ROWS_PER_TASK // self.lesson.n_rows))
        sampled = partial(self._sampled, repeats, units, stream)
        parts = run_all(sampled, tasks, n_jobs, progress=progress, kept="Students")
        return self._taught([tree for part in parts for tree in part], n_jobs=n_jobs)

    def _taught(self, grown: list[Tree], n_jobs: int | None = None) -> list[Student]:
        trees = self.refit(grown, n_jobs=n_jobs)
        # By what the splits gained on the sample, which only the tree as it was grown knows.
        return [Student(tree, leaves_path(own).step) for tree, own in zip(trees, grown, strict=True)]

    def _sampled(self, repeats: IntArray, units: Units, stream: Stream, numbers: list[int]) -> list[Tree]:
        return self._grown(all_counts(repeats, units, [(*stream, number) for number in numbers]))

    def _grown(self, samples: list[IntArray]) -> list[Tree]:
        copies = [np.repeat(counts, self.n_copies).astype(np.int32) for counts in samples]
        allowed = [counts * (self.fixed.repeats > 0) for counts in copies]
        grown = grow_samples(self.coarse, self.rules, self.fixed, allowed, [0] * len(samples))
        return [on_cuts(tree, self.cuts) for tree in grown]

    def refit(self, trees: list[Tree], *, n_jobs: int | None = None) -> list[Tree]:
        """The trees with the teacher's answers for all rows at their nodes, as trees of the real target."""
        if (promise := make_monotone(self.lesson.schema, self.rules)) is not None:
            trees = [tree.replace(schema=self.lesson.schema, monotone=promise) for tree in trees]
        fitted = refit_all_leaf_values(trees, self.lesson, [self.fixed] * len(trees), n_jobs=n_jobs)
        return [self._delivered(tree) for tree in fitted]

    def ask_if_recorded(self, tree: Tree, keep: Collection[int] = ()) -> Tree:
        """Replace splits that separate missing values, and few others, by "is the value recorded?"."""
        return add_recorded_splits(tree, self.lesson, self.rules, self.fixed, self.fixed.repeats, keep)

    def _delivered(self, tree: Tree) -> Tree:
        target = self.table.schema.target
        if len(target.classes) > 2:
            return tree.replace(count=tree.count / self.n_copies, observed=None)
        share = tree.value[:, 0]
        promise = tree.monotone
        if promise is not None and target.is_classes:
            promise = replace(promise, outcome=target.classes[-1])
        if not target.is_classes:
            value = target.low * (1.0 - share) + target.high * share
            with np.errstate(over="ignore"):
                impurity = tree.impurity * np.square(np.float64(target.high) - target.low)
            impurity = np.minimum(np.nan_to_num(impurity), np.finfo(np.float64).max)
            return enforce_monotonicity(
                tree.replace(schema=self.table.schema, value=value[:, None], impurity=impurity)
            )
        fractions = np.stack([1.0 - share, share], axis=1)[:, -len(target.classes) :]
        impurity = 2.0 * share * (1.0 - share)
        said = tree.replace(schema=self.table.schema, value=fractions, impurity=impurity, criterion="gini")
        return enforce_monotonicity(said.replace(monotone=promise))
