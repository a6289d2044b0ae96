"""Students: small trees distilled from the predictions of a teacher, with round thresholds and leaf values.

`DistillationTask` holds the teacher's predictions as the target of a table; students grow on it and come back
as trees of the real target. The thresholds that they may use, and leaf values that combine the teacher with
the training rows, follow below.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from holdfast._arrays import FloatArray, IntArray, LongArray, round_last_digits
from holdfast._random import Stream
from holdfast.data.resampling import Units, draw_all_counts
from holdfast.data.schema import Target
from holdfast.data.table import Table
from holdfast.distance.costs import fraction_values, value_fractions
from holdfast.growth.constraints import make_monotone, make_regression_rules, read_first_splits
from holdfast.growth.grow import grow_samples
from holdfast.growth.leaf_values import refit_all_leaf_values
from holdfast.growth.pruning import leaves_path
from holdfast.growth.recorded_splits import add_recorded_splits
from holdfast.growth.rounding import find_roundest
from holdfast.growth.rules import GrowthRules, class_impurity, get_criterion
from holdfast.growth.sample import FixedPointSample, fixed_point, scale_importance
from holdfast.parallel.tasks import ROWS_PER_TASK, make_batches, run_all
from holdfast.scoring.intervals import wilson_interval
from holdfast.tree.monotone import decision_threshold, enforce_monotonicity
from holdfast.tree.prune import prune_at
from holdfast.tree.stats import add_to_ancestors
from holdfast.tree.tree import KNOWN, Tree

UNIT = 2.0**-14  # of the teacher's predictions: rounding hides the last digits, which differ between machines


class Student(NamedTuple):
    """A tree with the teacher's mean prediction at every node, and the order in which it grew."""

    tree: Tree
    split_order: LongArray  # (nodes,) how many splits are undone, the last first, when its own is; 0: a leaf

    def prune_to_leaves(self, n_leaves: int) -> Tree:
        """The student when it had `n_leaves` leaves: growth makes the split of the greatest gain first."""
        return prune_at(self.tree, self.split_order <= self.tree.n_leaves - n_leaves)


@dataclass(frozen=True, eq=False)
class DistillationTask:
    """A table whose target is the teacher's prediction, and the way back to trees of the real target.

    For two classes the target is the probability of the second, for regression the predicted number. For more
    classes every row stands there once for each class, weighted by its probability: the Gini impurity of such
    rows is the squared error of the probabilities.
    """

    table: Table  # with the real target
    predictions: FloatArray  # (rows, classes), or (rows, 1) numbers from 0 to 1, as fractions of their range
    repeats: IntArray  # how many rows each row stands for
    weight: FloatArray  # of every row, a share of the given one: times 2 ** exponent
    exponent: int
    teacher_table: Table  # with the teacher's predictions as target
    rules: GrowthRules
    sample: FixedPointSample
    coarse: Table  # the teacher table in which numbers are known only up to the next round threshold
    cuts: tuple[FloatArray | None, ...]

    @classmethod
    def of(
        cls,
        table: Table,
        predictions: FloatArray,
        repeats: IntArray,
        importance: FloatArray,
        rules: GrowthRules,
        thresholds: str = "round",
        exponent: int = 0,
    ) -> "DistillationTask":
        """The task of fitting a teacher's predictions by trees that keep to the rules.

        `repeats` are the rows that each row stands for, `importance` is the weight of one of them. With
        "round" `thresholds`, trees are grown on few round ones for every feature.
        """
        n_classes = len(table.schema.target.classes)
        weight, copies = repeats * importance, repeats
        if n_classes <= 2:
            # Of one class alone there is nothing to learn.
            target = predictions[:, -1] if n_classes != 1 else np.ones(table.n_rows)
            schema = replace(table.schema, target=Target("teacher"))
            is_unweighted = table.weight is None and (weight == 1.0).all()
            teacher_table = Table(schema, table.columns, target, None if is_unweighted else weight)
            rules = replace(make_regression_rules(table.schema, rules), criterion="squared_error")
        else:
            row = np.repeat(np.arange(table.n_rows), n_classes)
            label = np.tile(np.arange(n_classes, dtype=np.int32), table.n_rows)
            columns = tuple(column[row] for column in table.columns)
            copies, importance = (
                repeats[row] * (predictions.ravel() > 0),
                importance[row] * predictions.ravel(),
            )
            teacher_table = Table(table.schema, columns, label, copies * importance)
            rules = replace(
                rules,
                criterion="gini",
                min_samples_leaf=int(rules.min_samples_leaf) * n_classes,
                # Rows of several classes are never pure: where all have the same fractions, growth must end.
                min_impurity_decrease=max(rules.min_impurity_decrease, UNIT**2),
            )
        copies, sample_exponent = copies.astype(np.int32), 0
        if (importance[copies > 0] != 1.0).any():
            importance, sample_exponent = scale_importance(importance, copies)
        criterion = get_criterion(rules.criterion_name, n_classes > 2)
        sample = fixed_point(
            teacher_table.target,
            n_classes if n_classes > 2 else 0,
            criterion,
            copies,
            importance,
            sample_exponent,
        )
        coarse = teacher_table
        cuts: tuple[FloatArray | None, ...] = (None,) * len(table.columns)
        if thresholds != "exact":
            first = [] if rules.first_splits is None else read_first_splits(table.schema, rules.first_splits)
            rounded, cuts = coarsen_table(
                table, repeats, [(split.feature.name, split.threshold) for split in first]
            )
            columns = rounded.columns
            if n_classes > 2:
                columns = tuple(column[row] for column in columns)
            coarse = replace(teacher_table, columns=columns)
        return cls(table, predictions, repeats, weight, exponent, teacher_table, rules, sample, coarse, cuts)

    def with_limits(self, rules: GrowthRules) -> "DistillationTask":
        """The task for students with the size, the depth and the rows in a leaf of these rules."""
        limited = self.rules.replace(
            max_leaf_nodes=rules.max_leaf_nodes,
            max_depth=rules.max_depth,
            min_samples_leaf=int(rules.min_samples_leaf) * self.n_copies,
        )
        return replace(self, rules=limited)

    @property
    def n_copies(self) -> int:
        """How often each row stands in the teacher table."""
        return self.teacher_table.n_rows // self.table.n_rows

    @property
    def has_exact_thresholds(self) -> bool:
        """True if trees may split between any two values, False if only at few round numbers."""
        return self.coarse is self.teacher_table

    @property
    def min_rows(self) -> int:
        """The fewest rows of the real table in a leaf of a student."""
        return int(self.rules.min_samples_leaf) // self.n_copies

    @property
    def fitted_predictions(self) -> FloatArray:
        """The predictions that trees are fitted to: of two classes those of the second."""
        return self.predictions[:, -1:] if self.predictions.shape[1] <= 2 else self.predictions

    def grow_student(self) -> Student:
        """The student of all rows."""
        return self._make_students(self._grow([self.repeats]))[0]

    def grow_students(
        self, units: Units, stream: Stream, n_trees: int, n_jobs: int | None, progress: str = ""
    ) -> list[Student]:
        """The students of bootstrap samples; their leaves have the teacher's predictions for all rows."""
        self.coarse.code(n_jobs)  # before the threads start
        tasks = make_batches(range(n_trees), max(1, ROWS_PER_TASK // self.teacher_table.n_rows))
        grow = partial(self._grow_bootstrapped, units, stream)
        parts = run_all(grow, tasks, n_jobs, progress=progress, cache_name="Students")
        return self._make_students([tree for part in parts for tree in part], n_jobs=n_jobs)

    def grow_part(self, counts: IntArray, max_leaf_nodes: int, max_depth: int | None) -> Tree:
        """The student of part of the rows, up to its splits: the leaves are not refitted."""
        # Nodes above these rows are not known here: what they rule out is ruled out by the search.
        rules = self.rules.replace(first_splits=None, excluded_features=None, interaction_cst=None)
        rules = replace(rules, max_leaf_nodes=max_leaf_nodes, max_depth=max_depth)
        return replace(self, rules=rules)._grow([counts])[0]

    def refit(self, trees: list[Tree], *, n_jobs: int | None = None) -> list[Tree]:
        """The trees with the teacher's mean predictions at their nodes, as trees of the real target."""
        if (promise := make_monotone(self.teacher_table.schema, self.rules)) is not None:
            trees = [tree.replace(schema=self.teacher_table.schema, monotone=promise) for tree in trees]
        fitted = refit_all_leaf_values(trees, self.teacher_table, [self.sample] * len(trees), n_jobs=n_jobs)
        return [self._to_real_target(tree) for tree in fitted]

    def add_recorded_splits(self, tree: Tree, keep: Collection[int] = ()) -> Tree:
        """Replace splits that separate missing values, and few others, by "is the value recorded?"."""
        return add_recorded_splits(
            tree, self.teacher_table, self.rules, self.sample, self.sample.repeats, keep
        )

    def _grow_bootstrapped(self, units: Units, stream: Stream, numbers: list[int]) -> list[Tree]:
        return self._grow(draw_all_counts(self.repeats, units, [(*stream, number) for number in numbers]))

    def _grow(self, samples: list[IntArray]) -> list[Tree]:
        copies = [np.repeat(counts, self.n_copies).astype(np.int32) for counts in samples]
        allowed = [counts * (self.sample.repeats > 0) for counts in copies]
        trees = grow_samples(self.coarse, self.rules, self.sample, allowed, [0] * len(samples))
        return [move_to_cuts(tree, self.cuts) for tree in trees]

    def _make_students(self, grown: list[Tree], n_jobs: int | None = None) -> list[Student]:
        trees = self.refit(grown, n_jobs=n_jobs)
        # By the gains of the splits on the sample, which only the tree as it was grown has.
        return [Student(tree, leaves_path(own).step) for tree, own in zip(trees, grown, strict=True)]

    def _to_real_target(self, tree: Tree) -> Tree:
        target = self.table.schema.target
        if len(target.classes) > 2:
            return tree.replace(count=tree.count / self.n_copies, observed=None)
        share = tree.value[:, 0]
        promise = tree.monotone
        if promise is not None and target.is_classes:
            promise = replace(promise, outcome=target.classes[-1])
        if not target.is_classes:
            value = fraction_values(share, target)
            with np.errstate(over="ignore"):
                impurity = tree.impurity * np.square(np.float64(target.high) - target.low)
            impurity = np.minimum(np.nan_to_num(impurity), np.finfo(np.float64).max)
            return enforce_monotonicity(
                tree.replace(schema=self.table.schema, value=value[:, None], impurity=impurity)
            )
        fractions = np.stack([1.0 - share, share], axis=1)[:, -len(target.classes) :]
        impurity = 2.0 * share * (1.0 - share)
        tree = tree.replace(schema=self.table.schema, value=fractions, impurity=impurity, criterion="gini")
        return enforce_monotonicity(tree.replace(monotone=promise))


def quantize_predictions(predictions: FloatArray) -> FloatArray:
    """Round predictions from 0 to 1 to multiples of the unit; probabilities of three classes are never 0.

    The greatest probability of a row makes up for what rounding adds to the others, or takes from them.

    >>> quantize_predictions(np.array([[0.25, 0.75]])).tolist()
    [[0.25, 0.75]]
    >>> quantize_predictions(np.array([[1 / 3, 2 / 3, 0.0]])).sum().item()
    1.0
    """
    units = np.rint(np.clip(predictions, 0.0, 1.0) / UNIT)
    if predictions.shape[1] > 2:
        units = np.maximum(units, 1.0)
        units[np.arange(len(units)), units.argmax(axis=1)] += 1.0 / UNIT - units.sum(axis=1)
    return units * UNIT


# -- The thresholds that small trees may use -----------------------------------------------------------------

LEAST_SHARE = 1 / 32  # of the rows of a feature, between two neighbouring thresholds
FACTORS = (5, 2, 1)  # of each power of ten, the roundest first
MOST_DIGITS = 9  # of a threshold, counted from the first digit of the range
MOST_POWER = 290  # of ten: beyond, multiples overflow or lose digits
MOST_TRIED = 65  # multiples of one step in one gap


def choose_round_cuts(values: FloatArray, repeats: IntArray, least_share: float = LEAST_SHARE) -> FloatArray:
    """Choose round numbers with at least a share of the values below, between and above them.

    A gap between two cuts that holds at least twice the share is cut at the multiple of a power of ten that
    is nearest to the middle of its values, then at multiples of 5, 2 and 1 times the next lower power.
    Missing values do not count; `repeats` is how often each value counts.

    >>> choose_round_cuts(np.arange(1.0, 201.0), np.ones(200, np.int32), 1 / 8)
    array([ 25.,  50.,  75., 100., 125., 150., 175.])
    """
    known = ~np.isnan(values) & (repeats > 0)
    levels, place = np.unique(values[known], return_inverse=True)
    if len(levels) < 2:
        return np.empty(0)
    if len(levels) == 2:
        return np.array([find_roundest(float(levels[0]), float(levels[1]))])
    below = np.concatenate([[0], np.cumsum(np.bincount(place, repeats[known], len(levels)))])
    min_values = max(2.0, math.ceil(least_share * below[-1]))
    return _Gaps(levels, below, min_values).cuts()


class _Gaps:
    """The values of one feature, and the gaps between cuts that can still be divided."""

    def __init__(self, levels: FloatArray, below: FloatArray, min_values: float) -> None:
        self.levels = levels
        self.below = below  # values before each level, and all of them last
        self.min_values = min_values
        self.chosen: list[float] = []

    def cuts(self) -> FloatArray:
        """All cuts, in order: round numbers and, where the floats leave no room for these, values."""
        gaps, spread = [(0, len(self.levels))], float(self.levels[-1]) - float(self.levels[0])
        top = math.floor(math.log10(spread)) + 1 if math.isfinite(spread) else MOST_POWER
        for power in range(top, top - MOST_DIGITS, -1):
            if abs(power) < MOST_POWER:
                for factor in FACTORS:
                    gaps = [rest for gap in gaps for rest in self._divide(*gap, factor, power)]
        while gaps:
            gaps = [part for gap in gaps for part in self._halve(*gap)]
        return np.array(sorted(self.chosen))

    def _halve(self, begin: int, end: int) -> list[tuple[int, int]]:
        """The two parts of a gap, cut at the value nearest to its middle; none if too few would be left."""
        n_left = self.below[begin + 1 : end] - self.below[begin]
        n_right = self.below[end] - self.below[begin + 1 : end]
        if not len(n_left) or np.minimum(n_left, n_right).max() < self.min_values:
            return []
        place = begin + 1 + int(np.minimum(n_left, n_right).argmax())
        self.chosen.append(float(self.levels[place - 1]))
        return [(begin, place), (place, end)]

    def _divide(self, begin: int, end: int, factor: int, power: int) -> list[tuple[int, int]]:
        """The parts of a gap, cut at multiples of factor * 10 ** power, that can be cut further."""
        if self.below[end] - self.below[begin] < 2 * self.min_values or end - begin < 2:
            return []
        nearest = self._nearest_to_middle(begin, end, factor, power)
        if nearest is None:
            return [(begin, end)]
        cut, place = nearest
        self.chosen.append(cut)
        return [*self._divide(begin, place, factor, power), *self._divide(place, end, factor, power)]

    def _nearest_to_middle(self, begin: int, end: int, factor: int, power: int) -> tuple[float, int] | None:
        """The multiple that best halves the gap, and the first level above it; None if none leaves enough."""
        middle = (self.below[begin] + self.below[end]) / 2
        # The levels that leave enough values on both sides if the cut is at them, or just below the next.
        first = max(int(np.searchsorted(self.below, self.below[begin] + self.min_values)) - 1, begin)
        last = int(np.searchsorted(self.below, self.below[end] - self.min_values, "right")) - 1
        if last <= first:
            return None
        at = int(np.searchsorted(self.below, middle, "right")) - 1
        near = float(self.levels[min(max(at, first), last - 1)])
        best: tuple[float, float, int] | None = None
        for cut in _multiples(float(self.levels[first]), float(self.levels[last]), near, factor, power):
            place = int(np.searchsorted(self.levels, cut, "right"))
            n_left, n_right = self.below[place] - self.below[begin], self.below[end] - self.below[place]
            off = abs(self.below[place] - middle)
            if min(n_left, n_right) >= self.min_values and (best is None or off < best[0]):
                best = off, cut, place
        return None if best is None else best[1:]


def _multiples(low: float, high: float, near: float, factor: int, power: int) -> list[float]:
    """The multiples of factor * 10 ** power from low to below high; of many, those around `near`."""
    scale = 10.0 ** abs(power)
    step = factor * scale if power >= 0 else factor / scale
    first, last = math.ceil(low / step), math.ceil(high / step) - 1
    if last - first >= MOST_TRIED:
        middle = round(near / step)
        first, last = max(first, middle - MOST_TRIED // 2), min(last, middle + MOST_TRIED // 2)
    # 3 / 10 is the float closest to 0.3, which 3 * 0.1 is not.
    numbers = (number * factor for number in range(first, last + 1))
    cuts = (number * scale if power >= 0 else number / scale for number in numbers)
    return [cut for cut in cuts if low <= cut < high]


def coarsen_table(
    table: Table, repeats: IntArray, required: Sequence[tuple[str, float]] = ()
) -> tuple[Table, tuple[FloatArray | None, ...]]:
    """Replace every number by the smallest cut that is not below it; and the cuts of each feature.

    `required` are features and thresholds that a tree must have, round or not.

    Trees grown on the coarse rows have thresholds between two cuts; `move_to_cuts` moves these to the lower
    cut, so that all rows go the same way. The cuts are None for features that are not numbers.
    """
    columns: list[FloatArray] = []
    cuts: list[FloatArray | None] = []
    for feature, column in zip(table.schema.features, table.columns, strict=True):
        if feature.kind != "numeric":
            columns.append(column)
            cuts.append(None)
            continue
        own = choose_round_cuts(column, repeats)
        own = np.union1d(own, [threshold for name, threshold in required if name == feature.name])
        coarse = np.append(own, feature.high)[np.searchsorted(own, column, "left").clip(max=len(own))]
        columns.append(np.where(np.isnan(column), np.nan, coarse))
        cuts.append(own)
    return replace(table, columns=tuple(columns)), tuple(cuts)


def move_to_cuts(tree: Tree, cuts: tuple[FloatArray | None, ...]) -> Tree:
    """Move every threshold of a tree of coarse rows to the largest cut that is not above it."""
    threshold = tree.threshold.copy()
    for node in np.flatnonzero(tree.feature >= 0).tolist():
        own = cuts[tree.feature[node]]
        if own is not None and threshold[node] < KNOWN:
            threshold[node] = own[max(int(np.searchsorted(own, threshold[node], "right")) - 1, 0)]
    return tree.replace(threshold=threshold)


# -- Leaf values that combine the training rows of a node with the predictions of a teacher ------------------

PRIOR_ROWS = 40  # the weight of the teacher in every node, in rows
MARGIN = 0.005  # between a probability and the decision threshold, where a class is kept


def set_posterior_values(tree: Tree, table: Table, repeats: IntArray, weight: FloatArray) -> Tree:
    """Average the teacher's predictions in a tree with the target of the training rows, node by node.

    The value of n rows is `(n * mean of the rows + 40 * teacher) / (n + 40)`: the mean of a Beta or normal
    posterior whose prior is the teacher. Each row stands for `repeats` rows, of `weight` together; unequal
    weights count by Kish's effective number of rows.
    """
    leaf, target = tree.apply(table), table.schema.target
    is_classes = target.is_classes
    rows_mean = value_fractions(compute_moments(tree, table, weight, leaf)[0], target)
    n_rows = _effective_rows(tree, repeats, weight, leaf)
    share = (n_rows / (n_rows + PRIOR_ROWS))[:, None]
    value = share * rows_mean + (1.0 - share) * value_fractions(tree.value, target)
    if len(target.classes) == 2:
        second = _keep_teacher_class(tree, value[:, 1], rows_mean[:, 1], n_rows)
        value = np.stack([1.0 - second, second], axis=1)
    elif is_classes and tree.loss_matrix is None:
        value = _give_clear_majority(value, rows_mean, n_rows)
    value = fraction_values(round_last_digits(value), target)
    impurity = class_impurity(get_criterion(tree.criterion, True), value) if is_classes else tree.impurity
    return enforce_monotonicity(
        tree.replace(value=value, impurity=impurity, given_outcome=None, teacher_mean=tree.value)
    )


def set_teacher_risks(tree: Tree, teacher_tree: Tree) -> Tree:
    """Give a survival tree with the events of the rows the mean predictions of the teacher as values."""
    return enforce_monotonicity(tree.replace(value=teacher_tree.value, rows_mean=tree.value))


def set_posterior_risks(tree: Tree, table: Table, repeats: IntArray, weight: FloatArray) -> Tree:
    """Average the teacher's relative risks with those of the training rows, node by node.

    The risk is that of a Gamma posterior whose prior has the teacher's mean, and as many expected events as
    40 rows have on average.
    """
    leaf = tree.apply(table)
    n_rows = _effective_rows(tree, repeats, weight, leaf)
    sums = np.bincount(leaf, weight, tree.n_nodes)[:, None]
    add_to_ancestors(tree, sums)
    exposure = np.divide(tree.weight, sums[:, 0], out=np.zeros(tree.n_nodes), where=sums[:, 0] > 0)
    expected, prior = n_rows * exposure, PRIOR_ROWS * exposure[0]
    share = np.divide(expected, expected + prior, out=np.zeros(tree.n_nodes), where=expected > 0)[:, None]
    value = round_last_digits(share * tree.observed_mean + (1.0 - share) * tree.value)
    return enforce_monotonicity(tree.replace(value=value, teacher_mean=tree.value))


def _effective_rows(tree: Tree, repeats: IntArray, weight: FloatArray, leaf: IntArray) -> FloatArray:
    """Compute Kish's effective number of rows at every node."""
    weight = weight / weight.max()  # squares of very large and very small weights overflow or vanish
    squares = np.divide(weight**2, repeats, out=np.zeros(len(weight)), where=repeats > 0)
    sums = np.zeros((tree.n_nodes, 2))
    np.add.at(sums, leaf, np.column_stack([weight, squares]))
    add_to_ancestors(tree, sums)
    return round_last_digits(
        np.divide(sums[:, 0] ** 2, sums[:, 1], out=np.zeros(len(sums)), where=sums[:, 1] > 0)
    )


def _keep_teacher_class(
    tree: Tree, second: FloatArray, rows_mean: FloatArray, n_rows: FloatArray
) -> FloatArray:
    """Move probabilities of the second class to the side of the decision threshold that the rows support.

    The class of a node is the teacher's unless the 95 % interval of its rows lies on the other side of the
    threshold: otherwise few rows would decide between classes, and more classes would change with the sample.
    """
    threshold = decision_threshold(tree, 1)
    low, high = _rows_interval(rows_mean, n_rows)
    is_open = (low <= threshold) & (threshold <= high)
    is_second = np.where(is_open, tree.value[:, 1], rows_mean) > threshold
    above = min(threshold + MARGIN, (1.0 + threshold) / 2)
    below = max(threshold - MARGIN, threshold / 2)
    return np.where(is_second == (second > threshold), second, np.where(is_second, above, below))


def _give_clear_majority(value: FloatArray, rows_mean: FloatArray, n_rows: FloatArray) -> FloatArray:
    """Give the class that clearly most rows of a node have the greatest of three or more probabilities."""
    nodes, place = np.arange(len(value)), rows_mean.argmax(axis=1)
    low, _ = _rows_interval(rows_mean[nodes, place], n_rows)
    wrong = np.flatnonzero((low > 0.5) & (value.argmax(axis=1) != place))
    least = 0.5 + MARGIN
    value = value.copy()
    value[wrong] *= (1.0 - least) / (1.0 - value[wrong, place[wrong]])[:, None]
    value[wrong, place[wrong]] = least
    return value


def _rows_interval(rows_mean: FloatArray, n_rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute the 95 % interval of the fraction of a class among the rows of every node."""
    ends = [wilson_interval(mean * n, n) for mean, n in zip(rows_mean.tolist(), n_rows.tolist(), strict=True)]
    low, high = np.array(ends).T
    return low, high


def compute_moments(
    tree: Tree, table: Table, weight: FloatArray, leaf: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Compute mean and standard deviation of the target at every node; without rows the mean is its value."""
    target = table.schema.target
    if target.is_classes:
        outputs = np.eye(len(target.classes))[table.target]
    else:
        outputs = value_fractions(table.target[:, None], target)
    sums = np.zeros((tree.n_nodes, 2 + outputs.shape[1]))
    np.add.at(
        sums, leaf, weight[:, None] * np.column_stack([np.ones(len(leaf)), outputs[:, 0] ** 2, outputs])
    )
    add_to_ancestors(tree, sums)
    mean = sums[:, 2:] / np.where(sums[:, :1] > 0, sums[:, :1], 1.0)
    square = sums[:, 1] / np.where(sums[:, 0] > 0, sums[:, 0], 1.0)
    deviation = round_last_digits(np.sqrt(np.maximum(square - mean[:, 0] ** 2, 0.0)))
    mean = np.where(sums[:, :1] > 0, fraction_values(round_last_digits(mean), target), tree.value)
    return mean, deviation if target.is_classes else target.high * deviation - target.low * deviation
