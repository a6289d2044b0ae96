"""Effect of a change of trees on given rows: predictions that change, scores, and shift of the population."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import fsum, nan, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray, freeze
from holdfast._text import columns_text, quoted
from holdfast.data.encode import encode_rows, match_column, name_columns
from holdfast.data.frame import make_frame
from holdfast.data.schema import TASK_OUTCOMES, Feature, Label, Schema, SchemaDifferences, Target
from holdfast.data.survival import make_risk_target, name_survival, read_survival
from holdfast.data.table import Table, match_weighted_target
from holdfast.data.target import are_repetitions, find_weighted_rows, read_vector, read_weight
from holdfast.distance.distance import tree_distance
from holdfast.distance.reference_schema import widen_schemas
from holdfast.errors import SchemaMismatch
from holdfast.growth.editing import LEAST_ROWS, grow_summary_tree
from holdfast.scoring.calibration import UNKNOWN, Calibration, calibration, column_index, compute_index_parts
from holdfast.scoring.metric import Metric, TrueValues, make_metric, predict_at_nodes, score_difference
from holdfast.tree.predict import Routes
from holdfast.tree.rules import Condition, Rule, tree_rules
from holdfast.tree.stats import positive_class
from holdfast.tree.survival import shown_values
from holdfast.tree.tree import LEAF, Tree

CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class RowChanges:
    """Effect of a change of trees on given rows, as fractions of their weight; NaN if unknown."""

    n_rows: int  # of a weight above 0
    positive: Label | None  # class of the swap-ins
    churn: float  # mean absolute change of predictions; of numbers, in standard deviations of the target
    mean_move: float  # the same in units of the target; of times to an event, of survival to the horizon
    largest_move: float
    leaf_changes: float  # rows whose new leaf is not matched with their old one
    flips: float  # rows that get another class
    negative_flips: float  # rows predicted right before and wrong now
    positive_flips: float  # rows predicted wrong before and right now
    swap_ins: float  # rows that are now predicted to be of the positive class
    swap_outs: float  # rows that no longer are
    metric: Metric | None  # of the scores; None without a target
    old_score: float  # greater is better: losses are negated
    old_error: float  # standard error
    new_score: float
    new_error: float
    score_difference: float  # new less old: above 0 the new tree is better
    score_error: float  # standard error of the difference on the same rows
    old_calibration: Calibration
    new_calibration: Calibration
    leaf_index: float  # population stability index over the leaves of the old tree
    leaf_shares: tuple[LeafShare, ...]
    boxes: tuple[RowBox, ...]  # exact sets of rows whose prediction changes, the largest first
    groups: tuple[RowGroup, ...]  # one or two rules that cover most of the change
    # Population stability index by column, if rows from before are known.
    column_index: Mapping[str, float] = field(default_factory=dict)
    # Fractions of the rows that the trees were trained on; None if unknown.
    old_learned: float | None = None
    new_learned: float | None = None
    survival: str = ""  # what changes of times to an event, such as "5-year survival"

    @property
    def score_interval(self) -> tuple[float, float]:
        """95 % confidence interval of the score difference."""
        return interval(self.score_difference, self.score_error)

    @property
    def verdict(self) -> str:
        """ "better" or "worse" if the difference is significant, else "alike" or "unknown"."""
        low, high = self.score_interval
        if np.isnan(low):
            return "unknown"
        return "better" if low > 0 else "worse" if high < 0 else "alike"


def interval(value: float, error: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return value minus and plus the standard errors for the confidence.

    >>> [round(end, 3) for end in interval(0.5, 0.1)]
    [0.304, 0.696]
    """
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * error
    return value - reach, value + reach


def measure_row_changes(
    old: Tree,
    new: Tree,
    table: Table,
    *,
    positive: Any = None,
    scoring: Any = None,
    labelled: bool = True,
    describe: bool = True,
) -> RowChanges:
    """Measure the effect of replacing the old tree by the new one on the rows of the table.

    The table needs the columns of the splits only. `positive` is a class, by default that of the old tree;
    `scoring` a metric, by default AUC or R². `labelled=False` ignores the target of the table;
    `describe=False` omits the groups, which take most of the time.
    """
    if old.schema != new.schema:
        old, new = widen_schemas(old, new)
    crossings = Crossings.from_table(old, new, table)
    target = old.schema.target
    place = positive_class(old) if positive is None else target.class_index(positive)
    truth = read_true_values(target, table) if labelled else None
    shares = compare_leaf_shares(crossings)
    moves = crossings.moved[crossings.weight > 0]
    has_unit = target.is_classes or target.is_survival
    return RowChanges(
        n_rows=int((crossings.row_weight > 0).sum()),
        positive=None if place is None else target.classes[place],
        churn=crossings.mean(crossings.moved) / (1.0 if has_unit else _target_deviation(crossings, truth)),
        mean_move=crossings.mean(crossings.moved),
        largest_move=float(moves.max()),
        leaf_changes=_leaf_changes(crossings),
        **_class_changes(crossings, truth, place),
        **_scores(crossings, truth, scoring),
        **_calibrations(crossings, truth, place),
        leaf_index=fsum(share.index for share in shares),
        leaf_shares=shares,
        boxes=find_changed_boxes(crossings, table),
        groups=find_changed_groups(crossings, table) if describe else (),
        survival="" if target.hazard is None else name_survival(target.hazard),
    )


def read_true_values(target: Target, table: Table) -> TrueValues:
    """Encode the target by the classes of the trees."""
    own = table.schema.target
    if own.task != target.task:
        kinds = [TASK_OUTCOMES[each.task] for each in (target, own)]
        raise SchemaMismatch(
            f"The trees predict {kinds[0]} of {target.name!r}, and the target of the table, {own.name!r}, "
            f"holds {kinds[1]}: give the target that the trees were fitted to."
        )
    if own.classes == target.classes:
        return TrueValues(target, table.target, table.weight, survival=table.survival)
    present = np.unique(table.target if table.weight is None else table.target[table.weight > 0])
    if unknown := [own.classes[each] for each in present.tolist() if own.classes[each] not in target.classes]:
        raise SchemaMismatch(
            f"The target {own.name!r} of the table has the classes {quoted(unknown)}, and the trees know "
            f"{quoted(target.classes)}: leave out these rows, or name the classes as the trees do."
        )
    place = {label: index for index, label in enumerate(target.classes)}
    recoded = np.array([place.get(label, 0) for label in own.classes], np.int32)
    return TrueValues(target, recoded[table.target], table.weight)


# -- predictions ------------------------------------------------------------------------------------------


def _target_deviation(crossings: Crossings, truth: TrueValues | None) -> float:
    """Return the standard deviation of a numeric target on these rows, else on the old tree's rows."""
    if truth is not None:
        rows = truth.rows
        order = np.lexsort((rows.weight, rows.values))
        values, weight = rows.values[order], rows.weight[order]
        mean = float(np.average(values, weights=weight))
        return sqrt(float(np.average(np.square(values - mean), weights=weight))) or 1.0
    root = float(crossings.old.impurity[0]) if crossings.old.criterion == "squared_error" else 0.0
    predicted = crossings.old.value[crossings.leaves[:, 0], 0]
    return sqrt(root) or sqrt(crossings.mean(np.square(predicted - crossings.mean(predicted)))) or 1.0


def _leaf_changes(crossings: Crossings) -> float:
    """Compute the fraction of rows whose new leaf is not matched with their old one."""
    pairs = tree_distance(crossings.old, crossings.new).pairs
    matched = {(pair.first.leaf, pair.second.leaf) for pair in pairs}
    elsewhere = [(old, new) not in matched for old, new in crossings.leaves.tolist()]
    return crossings.mean(np.array(elsewhere))


def _class_changes(crossings: Crossings, truth: TrueValues | None, place: int | None) -> dict[str, Any]:
    """Compute flips of all kinds; NaN without classes, truth or positive class."""
    names = ("flips", "negative_flips", "positive_flips", "swap_ins", "swap_outs")
    figures = dict.fromkeys(names, nan)
    if not crossings.old.schema.target.is_classes:
        return figures
    figures["flips"] = crossings.mean(crossings.flipped)
    old, new = crossings.places.T
    if place is not None:
        figures["swap_ins"] = crossings.mean((old != place) & (new == place))
        figures["swap_outs"] = crossings.mean((old == place) & (new != place))
    if truth is not None:
        was_right, is_right = (places[crossings.pair] == truth.values for places in (old, new))
        for name, rows in (
            ("negative_flips", was_right & ~is_right),
            ("positive_flips", ~was_right & is_right),
        ):
            figures[name] = fsum(crossings.sum_pairs(crossings.row_weight * rows).tolist()) / crossings.total
    return figures


# -- scores -----------------------------------------------------------------------------------------------


def _scores(crossings: Crossings, truth: TrueValues | None, scoring: Any) -> dict[str, Any]:
    """Compute both scores, their difference and standard errors; NaN where undefined on these rows."""
    names = ("old_score", "old_error", "new_score", "new_error", "score_difference", "score_error")
    if truth is None:
        return {"metric": None, **dict.fromkeys(names, nan)}
    metric = make_metric(scoring, truth.target)
    if len(np.unique(truth.values[truth.counted])) < metric.least_values:
        return {"metric": metric, **dict.fromkeys(names, nan)}
    # Sorted, so that sums do not depend on the order of the rows.
    times = [] if truth.survival is None else truth.survival.keys
    order = np.lexsort((crossings.row_weight, *times, truth.values, crossings.pair))
    rows = truth.subset(order)
    leaves = (crossings.old, crossings.old_leaf), (crossings.new, crossings.new_leaf)
    old, new = (predict_at_nodes(metric, tree, leaf[order]) for tree, leaf in leaves)
    scores = (metric.score(old, rows), metric.score(new, rows), score_difference(metric, old, new, rows))
    return {"metric": metric, **dict(zip(names, (part for score in scores for part in score), strict=True))}


def _calibrations(crossings: Crossings, truth: TrueValues | None, place: int | None) -> dict[str, Any]:
    names = ("old_calibration", "new_calibration")
    if truth is None:
        return dict.fromkeys(names, UNKNOWN)
    leaves = (crossings.old, crossings.old_leaf), (crossings.new, crossings.new_leaf)
    return {
        name: calibration(tree.value[leaf], truth, place)
        for name, (tree, leaf) in zip(names, leaves, strict=True)
    }


# -- pairs of leaves: the leaf of a row in the old and in the new tree ------------------------------------


@dataclass(frozen=True, eq=False)
class Crossings:
    """The leaves of each row in two trees on one schema, and the pairs of these leaves.

    All figures are sums over the pairs, so that they do not depend on the order of the rows.
    """

    old: Tree
    new: Tree
    old_leaf: IntArray  # of each row
    new_leaf: IntArray
    row_weight: FloatArray

    @classmethod
    def from_table(cls, old: Tree, new: Tree, table: Table) -> Crossings:
        """Find the leaves of the rows in both trees, columns by name and categories by value."""
        weight = np.ones(table.n_rows) if table.weight is None else table.weight
        return cls(old, new, find_table_leaves(old, table), find_table_leaves(new, table), weight)

    @cached_property
    def pair(self) -> LongArray:
        """Number of each row's pair of leaves."""
        return freeze(self._numbers[1])

    @cached_property
    def leaves(self) -> LongArray:
        """Old and new leaf of every pair with rows."""
        numbers = self._numbers[0]
        return np.stack([numbers // self.new.n_nodes, numbers % self.new.n_nodes], axis=1)

    @cached_property
    def weight(self) -> FloatArray:
        """Weight of the rows of every pair."""
        return self.sum_pairs(self.row_weight)

    @cached_property
    def total(self) -> float:
        """Weight of all rows."""
        return fsum(self.weight.tolist())

    @cached_property
    def n_rows(self) -> LongArray:
        """Number of rows of every pair, unweighted."""
        return np.bincount(self.pair, minlength=len(self.leaves)).astype(np.int64)

    def sum_pairs(self, values: FloatArray) -> FloatArray:
        """Sum row values over every pair, exactly and independent of the order of the rows."""
        n = len(self.leaves)
        if are_repetitions(values):
            return np.bincount(self.pair, values, minlength=n).astype(np.float64)
        order = np.argsort(self.pair, kind="stable")
        parts = np.split(values[order], np.cumsum(self.n_rows)[:-1])
        return np.array([fsum(part.tolist()) for part in parts])

    def mean(self, of_pairs: FloatArray | BoolArray) -> float:
        """Average over the weighted rows of a figure that is constant within pairs."""
        return fsum((self.weight * of_pairs).tolist()) / self.total

    @cached_property
    def moved(self) -> FloatArray:
        """Change of the prediction of every pair: total variation, or the difference of numbers.

        Of times to an event it is that of survival to the horizon.
        """
        before, after = shown_values(self.old), shown_values(self.new, self.old.schema.target.hazard)
        difference = np.abs(before[self.leaves[:, 0]] - after[self.leaves[:, 1]])
        if self.old.schema.target.is_classes:
            return np.array([fsum(each) / 2 for each in difference.tolist()])
        return np.asarray(difference[:, 0], np.float64)

    @cached_property
    def places(self) -> LongArray:
        """Old and new class index of every pair."""
        classes = self.old.outcome[self.leaves[:, 0]], self.new.outcome[self.leaves[:, 1]]
        return np.stack(classes, axis=1).astype(np.int64)

    @cached_property
    def flipped(self) -> BoolArray:
        """Flags of the pairs whose class changes; all False for regression."""
        if not self.old.schema.target.is_classes:
            return np.zeros(len(self.leaves), np.bool_)
        return np.asarray(self.places[:, 0] != self.places[:, 1], np.bool_)

    @cached_property
    def _numbers(self) -> tuple[LongArray, LongArray]:
        numbers = self.old_leaf.astype(np.int64) * self.new.n_nodes + self.new_leaf
        found, place = np.unique(numbers, return_inverse=True)
        return found, place


def find_table_leaves(tree: Tree, table: Table) -> IntArray:
    """Return the leaf of each row, columns found by name and categories by value."""
    used = np.unique(tree.feature[tree.feature != LEAF])
    matrix = np.empty((table.n_rows, len(used)))
    place = {feature.name: index for index, feature in enumerate(table.schema.features)}
    for column, index in enumerate(used.tolist()):
        feature = tree.schema.features[index]
        if feature.name not in place:
            raise SchemaMismatch(
                f"The tree splits on {feature.name!r}, and the table has no such column. "
                f"{columns_text([feature.name], table.schema.names)}"
            )
        at = place[feature.name]
        matrix[:, column] = _recode(table.columns[at], table.schema.features[at], feature)
    return Routes.of(tree, used).leaves(freeze(matrix), freeze(np.arange(len(matrix), dtype=np.int32)))


def _recode(values: NDArray[np.float64], own: Feature, wanted: Feature) -> NDArray[np.float64]:
    """Recode a column by the tree's categories; unknown ones count as missing."""
    if own.kind != wanted.kind:
        raise SchemaMismatch(
            f"The tree splits on the {wanted.kind} feature {wanted.name!r}, which is {own.kind} in the "
            "table: read the data with schema=tree.schema."
        )
    if own.categories == wanted.categories:
        return values
    position = {label: float(index) for index, label in enumerate(wanted.categories)}
    codes = np.array([position.get(label, np.nan) for label in own.categories])
    known = ~np.isnan(values)
    result = np.full(len(values), np.nan)
    result[known] = codes[values[known].astype(np.intp)]
    return result


# -- rows whose prediction changes ------------------------------------------------------------------------

MOST_BOXES = 20
MOST_GROUPS = 2
ENOUGH = 0.8  # share of the change after which no further group is added
FEWEST = 5  # rows of a group
MOST_CELLS = 500_000  # of a table described by all its columns: coding them takes most of the time


@dataclass(frozen=True)
class RowBox:
    """All rows with one pair of leaves whose predictions differ."""

    old: Rule
    new: Rule
    conditions: tuple[Condition, ...]  # of both rules together
    n_rows: int
    fraction: float  # of the weight of all rows


@dataclass(frozen=True)
class RowGroup:
    """A rule that covers many of the rows whose prediction changes."""

    rule: Rule  # its value is the fraction of its rows that change class, or the mean change of numbers
    fraction: float  # of all rows that meet it
    covered: float  # share of the rows that change class, or of the sum of all changes

    @property
    def rate(self) -> float:
        """Fraction of its rows that change class; for numbers, the mean shift of predictions."""
        return self.rule.value[0]


def find_changed_boxes(crossings: Crossings, table: Table) -> tuple[RowBox, ...]:
    """List the boxes of rows with another prediction, the largest change first."""
    is_classes = crossings.old.schema.target.is_classes
    change = crossings.weight * (crossings.flipped if is_classes else crossings.moved)
    rules = [{rule.leaf: rule for rule in tree_rules(tree)} for tree in (crossings.old, crossings.new)]
    order = [int(pair) for pair in np.argsort(-change, kind="stable") if change[pair] > 0]
    boxes = []
    for pair in order[:MOST_BOXES]:
        old, new = rules[0][int(crossings.leaves[pair, 0])], rules[1][int(crossings.leaves[pair, 1])]
        fraction = float(crossings.weight[pair]) / crossings.total
        where = count_missing(join_conditions(old, new), table, crossings.pair == pair)
        boxes.append(RowBox(old, new, where, int(crossings.n_rows[pair]), fraction))
    return tuple(boxes)


def join_conditions(old: Rule, new: Rule) -> tuple[Condition, ...]:
    """Intersect the conditions of both rules by feature."""
    joined: dict[str, Condition] = {condition.name: condition for condition in old.conditions}
    for condition in new.conditions:
        before = joined.get(condition.name)
        joined[condition.name] = condition if before is None else condition.within(before)
    return tuple(joined.values())


def count_missing(conditions: tuple[Condition, ...], table: Table, rows: BoolArray) -> tuple[Condition, ...]:
    """Add the counts of known and missing values to the conditions."""
    place = {name: index for index, name in enumerate(table.schema.names)}
    counted = []
    for condition in conditions:
        if condition.missing and condition.name in place:
            n_missing = int(np.isnan(table.rows([place[condition.name]])[rows, 0]).sum())
            condition = replace(condition, n_known=float(rows.sum()) - n_missing, n_missing=float(n_missing))
        counted.append(condition)
    return tuple(counted)


def find_changed_groups(crossings: Crossings, table: Table) -> tuple[RowGroup, ...]:
    """Find one or two groups that cover most of the change, by a small tree; none without change."""
    is_classes = crossings.old.schema.target.is_classes
    values = (crossings.flipped if is_classes else crossings.moved)[crossings.pair].astype(np.float64)
    counted = np.where(crossings.row_weight > 0, values, np.nan)
    if not np.nansum(counted) > 0:
        return ()
    share = crossings.mean(crossings.flipped) if is_classes else 1.0
    least = min(LEAST_ROWS, max(share / 4, FEWEST / table.n_rows))
    return _largest_groups(grow_summary_tree(_select_columns(crossings, table), counted, least))


def _select_columns(crossings: Crossings, table: Table) -> Table:
    """Keep only the columns that the trees split on if the table is large."""
    if table.n_rows * table.n_features <= MOST_CELLS:
        return table
    trees = crossings.old, crossings.new
    used = {tree.schema.names[index] for tree in trees for index in np.unique(tree.feature) if index != LEAF}
    kept = [place for place, name in enumerate(table.schema.names) if name in used]
    schema = Schema(tuple(table.schema.features[place] for place in kept), table.schema.target)
    return Table(schema, tuple(table.columns[place] for place in kept), table.target, table.weight)


def _largest_groups(tree: Tree) -> tuple[RowGroup, ...]:
    """Return the leaves with an above-average rate of change, those that cover most first."""
    leaves = tree.feature == LEAF
    change: FloatArray = tree.weight * tree.value[:, 0]
    total = float(change[leaves].sum())
    rules = [rule for rule in tree_rules(tree) if rule.value[0] >= float(tree.value[0, 0])]
    groups: list[RowGroup] = []
    for rule in sorted(rules, key=lambda rule: -round(float(change[rule.leaf]) / total, 9)):
        if len(groups) == MOST_GROUPS or sum(group.covered for group in groups) >= ENOUGH:
            break
        fraction = float(tree.weight[rule.leaf] / tree.weight[0])
        groups.append(RowGroup(rule, fraction, float(change[rule.leaf]) / total))
    return tuple(groups)


# -- shift of the population ------------------------------------------------------------------------------


@dataclass(frozen=True)
class LeafShare:
    """Share of rows in a leaf of the old tree, at training and now."""

    leaf: int
    before: float
    now: float
    index: float  # contribution to the population stability index


def compare_leaf_shares(crossings: Crossings) -> tuple[LeafShare, ...]:
    """Compare the row shares of the old tree's leaves with these rows."""
    tree = crossings.old
    leaves = np.flatnonzero(tree.feature == LEAF)
    place = {leaf: index for index, leaf in enumerate(leaves.tolist())}
    now = np.zeros(len(leaves))
    for (leaf, _), count in zip(crossings.leaves.tolist(), crossings.n_rows.tolist(), strict=True):
        now[place[leaf]] += count
    before = tree.count[leaves]
    if not before.sum() > 0:  # a tree that was made by hand
        return ()
    parts = compute_index_parts(before, now)
    return tuple(
        LeafShare(leaf, float(was / before.sum()), float(share / now.sum()), float(part))
        for leaf, was, share, part in zip(leaves.tolist(), before, now, parts, strict=True)
    )


def compute_column_indices(before: Table, now: Table) -> dict[str, float]:
    """Compute the population stability index of common columns, greatest first."""
    columns = dict(zip(before.schema.names, before.columns, strict=True))
    found = {
        feature.name: column_index(feature, columns[feature.name], column)
        for feature, column in zip(now.schema.features, now.columns, strict=True)
        if feature.name in columns and feature.kind != "custom"
    }
    return dict(sorted(found.items(), key=lambda named: -round(named[1], 9)))


# -- the rows as a table ----------------------------------------------------------------------------------


def prepare_table(old: Tree, new: Tree, X: Any, y: Any = None, sample_weight: Any = None) -> Table:
    """Encode rows on the schema of both trees: the columns they split on, target and weight.

    Other columns, which may be missing or of another kind, serve to describe rows. Without y the target is
    arbitrary.
    """
    if isinstance(X, Table):
        return X
    schema = old.schema
    frame = name_columns(schema, make_frame(X))
    used = sorted({int(index) for tree in (old, new) for index in np.unique(tree.feature) if index != LEAF})
    columns = dict(zip(used, encode_rows(X, schema, used).T, strict=True))
    for index, feature in enumerate(schema.columns):
        if index not in columns and feature.name in frame.names:
            match = match_column(frame.column(feature.name), feature, f"column {feature.name!r}", frame.rows)
            if not match.clash:
                columns[index] = match.values
    weight = read_weight(sample_weight, frame.n_rows, frame.rows)
    kept = sorted(columns)
    own = Schema(tuple(schema.features[index] for index in kept), schema.target)
    target = np.zeros(frame.n_rows, np.int32 if schema.target.is_classes else np.float64)
    survival = None
    if y is not None and schema.target.is_survival:
        times = read_survival(y, frame.n_rows)
        target, _, survival = make_risk_target(times, weight, schema.target.hazard)
    elif y is not None:
        differences = SchemaDifferences()
        vector = read_vector(y, frame.n_rows)
        target = match_weighted_target(
            vector, schema.target, None, find_weighted_rows(weight), differences, frame.rows
        )
        differences.raise_if_any()
    return Table(own, tuple(columns[index] for index in kept), target, weight, survival=survival)
