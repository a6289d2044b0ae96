"""What two trees make of the same rows: who gets another answer, and which tree is right more often."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import fsum, nan, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from holdfast.data.schema import Label, Target
from holdfast.data.table import Table
from holdfast.distance.diff.affected import RowBox, RowGroup, find_changed_boxes, find_changed_groups
from holdfast.distance.diff.crossings import Crossings
from holdfast.distance.diff.population import LeafShare, compare_leaf_shares
from holdfast.distance.distances import tree_distance
from holdfast.distance.reference_schema import widen_schemas
from holdfast.errors import SchemaMismatch
from holdfast.scoring.calibration import UNKNOWN, Calibration, calibration
from holdfast.scoring.differences import score_difference
from holdfast.scoring.metric import Metric, TrueValues, make_metric
from holdfast.scoring.predictions import predict_at_nodes
from holdfast.text.lists import listed
from holdfast.tree.positive import positive_class
from holdfast.tree.tree import Tree

CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class RowChanges:
    """Effect of a change of trees on given rows, as fractions of their weight; NaN if unknown."""

    n_rows: int  # of a weight above 0
    positive: Label | None  # the class that swap-ins come to
    churn: float  # mean change of the answers; of numbers, in standard deviations of the target
    mean_move: float  # the same in the unit of the target
    largest_move: float
    leaf_changes: float  # rows that reach a leaf other than the one that corresponds to theirs
    flips: float  # rows that get another class
    negative_flips: float  # rows that were right and become wrong
    positive_flips: float  # rows that were wrong and become right
    swap_ins: float  # rows that come to the positive class
    swap_outs: float  # rows that leave it
    metric: Metric | None  # what the scores are; None without a target
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
    boxes: tuple[RowBox, ...]  # where answers change, exactly; the most changed rows first
    groups: tuple[RowGroup, ...]  # one or two rules that cover most of the change
    column_index: Mapping[str, float] = field(
        default_factory=dict
    )  # by column, if rows from before are known
    # Fractions of the rows that the trees have learned from; None where it is not known.
    old_learned: float | None = None
    new_learned: float | None = None

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

    The table has at least the columns that the trees ask about. `positive` is a class, by default that of the
    old tree; `scoring` a metric, by default AUC or R². `labelled=False` says that the table's target means
    nothing; `describe=False` does without the groups, which take most of the time.
    """
    if old.schema != new.schema:
        old, new = widen_schemas(old, new)
    crossings = Crossings.of(old, new, table)
    target = old.schema.target
    place = positive_class(old) if positive is None else target.class_place(positive)
    truth = read_true_values(target, table) if labelled else None
    shares = compare_leaf_shares(crossings)
    moves = crossings.moved[crossings.weight > 0]
    return RowChanges(
        n_rows=int((crossings.row_weight > 0).sum()),
        positive=None if place is None else target.classes[place],
        churn=crossings.mean(crossings.moved) / (1.0 if target.is_classes else _spread(crossings, truth)),
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
    )


def read_true_values(target: Target, table: Table) -> TrueValues:
    """Encode the target by the classes of the trees."""
    own = table.schema.target
    if own.is_classes != target.is_classes:
        kinds = ["classes" if each.is_classes else "numbers" for each in (target, own)]
        raise SchemaMismatch(
            f"The trees predict {kinds[0]} of {target.name!r}, and the target of the table, {own.name!r}, "
            f"holds {kinds[1]}: give the target that the trees were fitted to."
        )
    if own.classes == target.classes:
        return TrueValues(target, table.target, table.weight)
    present = np.unique(table.target if table.weight is None else table.target[table.weight > 0])
    if unknown := [own.classes[each] for each in present.tolist() if own.classes[each] not in target.classes]:
        raise SchemaMismatch(
            f"The target {own.name!r} of the table has the classes {listed(unknown)}, and the trees know "
            f"{listed(target.classes)}: leave out these rows, or name the classes as the trees do."
        )
    place = {label: index for index, label in enumerate(target.classes)}
    recoded = np.array([place.get(label, 0) for label in own.classes], np.int32)
    return TrueValues(target, recoded[table.target], table.weight)


# -- answers ----------------------------------------------------------------------------------------------


def _spread(crossings: Crossings, truth: TrueValues | None) -> float:
    """Return the standard deviation of a numeric target on these rows, else on the old tree's rows."""
    if truth is not None:
        rows = truth.rows
        order = np.lexsort((rows.weight, rows.values))
        values, weight = rows.values[order], rows.weight[order]
        mean = float(np.average(values, weights=weight))
        return sqrt(float(np.average(np.square(values - mean), weights=weight))) or 1.0
    root = float(crossings.old.impurity[0]) if crossings.old.criterion == "squared_error" else 0.0
    said = crossings.old.value[crossings.leaves[:, 0], 0]
    return sqrt(root) or sqrt(crossings.mean(np.square(said - crossings.mean(said)))) or 1.0


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
            figures[name] = fsum(crossings.summed(crossings.row_weight * rows).tolist()) / crossings.total
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
    # In an order of their own, so that that of the rows changes no last bit of a sum.
    order = np.lexsort((crossings.row_weight, truth.values, crossings.pair))
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
