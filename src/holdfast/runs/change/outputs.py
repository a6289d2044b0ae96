"""What both trees say of the same rows: moves and decisions of all new ones, scores of those held out.

Who is touched is told by the tree that would be deployed, on all new rows. Scores and calibration are those
of a tree made the same way without the rows held out, as policies judge them: a tree looks too good on rows
that it has learnt from.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, nan
from typing import Any

import numpy as np

from holdfast.arrays import BoolArray, frozen
from holdfast.data.input.columns import Column
from holdfast.data.table import Table
from holdfast.distance.diff.affected import count_missing, join_conditions
from holdfast.distance.diff.crossings import Crossings
from holdfast.distance.diff.rows import RowChanges, interval, measure_row_changes, read_true_values
from holdfast.runs.change.decisions import Decided, Decision
from holdfast.scoring.calibration import Calibration
from holdfast.scoring.intervals import wilson_interval
from holdfast.scoring.metric import Metric
from holdfast.scoring.overall_shift import overall_shift
from holdfast.shown import shown
from holdfast.stability.policy.subgroups import subgroups_of
from holdfast.tree.rule import tree_rules
from holdfast.tree.tree import Tree

MOST_TOUCHED = 12  # groups of rows that are told
MOST_CATEGORIES = 24  # of a condition


@dataclass(frozen=True, eq=False)
class Outputs:
    """Two trees, all on one schema, and the rows that both are tried on."""

    deployed: Tree
    proposed: Tree
    alike: Tree | None  # made as the proposed one without the rows held out; the same if none are held out
    table: Table  # all new rows
    held_out: BoolArray  # of these
    is_held_out: bool  # False: the proposed tree has learnt from all rows, and scores are too good
    decision: Decision
    metric: Metric

    def facts(self) -> dict[str, Any]:
        """Of all rows."""
        return {
            "rows_scored": int(self.held_out.sum()),
            "scored_on_rows_held_out": self.is_held_out,
            "threshold": self.decision.threshold,
            "positive": self._positive,
            "all": self.part_facts(np.ones(self.table.n_rows, np.bool_)),
            "touched": list(self._touched()),
        }

    def subgroup_facts(self, columns: Mapping[str, Column], n_bands: int, least: int) -> list[dict[str, Any]]:
        """Of every subgroup; one of fewer than `least` rows held out is marked as small."""
        found = []
        for column, values in columns.items():
            for each in subgroups_of(column, values, n_bands, self._counted):
                n_scored = int((each.rows & self.held_out).sum())
                known = {"column": column, "name": each.name, "is_small": n_scored < least}
                found.append({**known, **self.part_facts(each.rows)})
        return found

    def part_facts(self, rows: BoolArray) -> dict[str, Any]:
        """Of some rows: what both trees say, what is decided, and what came true."""
        return {
            "rows": int((rows & self._counted).sum()),
            **self._moves(rows),
            "decisions": self._decided.facts(rows),
            "scores": self._scores(rows & self.held_out & self._counted),
        }

    # -- what is said and decided -------------------------------------------------------------------------

    @cached_property
    def _crossings(self) -> Crossings:
        return Crossings.of(self.deployed, self.proposed, self.table)

    @cached_property
    def _counted(self) -> BoolArray:
        return np.asarray(self._crossings.row_weight > 0, np.bool_)

    @cached_property
    def _decided(self) -> Decided:
        crossings, truth = self._crossings, read_true_values(self.deployed.schema.target, self.table)
        return Decided(
            self.decision,
            self.decision.decided(self.deployed, crossings.old_leaf),
            self.decision.decided(self.proposed, crossings.new_leaf),
            self.decision.right(truth),
            crossings.row_weight,
        )

    @property
    def _positive(self) -> Any:
        place = self.decision.place
        return None if place is None else self.deployed.schema.target.classes[place]

    def _moves(self, rows: BoolArray) -> dict[str, Any]:
        """The mean of both trees' answers, how far they move on average, and at most."""
        crossings = self._crossings
        counted = rows & self._counted
        if not counted.any():
            return {"mean_before": None, "mean_after": None, "churn": None, "largest_move": None}
        weight = crossings.row_weight[counted]
        before = self.decision.answers(self.deployed, crossings.old_leaf)[counted]
        after = self.decision.answers(self.proposed, crossings.new_leaf)[counted]
        moved = crossings.moved[crossings.pair][counted]
        return {
            "mean_before": float(np.average(before, weights=weight)),
            "mean_after": float(np.average(after, weights=weight)),
            "churn": float(np.average(moved, weights=weight)),
            "largest_move": float(moved.max()),
        }

    def _touched(self) -> Iterator[dict[str, Any]]:
        """Rows that go from one leaf to another: those decided otherwise first, then the farthest moves."""
        crossings, decision = self._crossings, self.decision
        old, new = (frozen(column.astype(np.int32)) for column in crossings.leaves.T)
        before, after = decision.decided(self.deployed, old), decision.decided(self.proposed, new)
        said = decision.answers(self.deployed, old), decision.answers(self.proposed, new)
        change = np.round(crossings.weight * crossings.moved, 9)
        order = np.lexsort((-change, before == after))
        rules = [{rule.leaf: rule for rule in tree_rules(tree)} for tree in (self.deployed, self.proposed)]
        told = [pair for pair in order.tolist() if change[pair] > 0 or before[pair] != after[pair]]
        for pair in told[:MOST_TOUCHED]:
            joined = join_conditions(rules[0][int(old[pair])], rules[1][int(new[pair])])
            where = count_missing(joined, self.table, crossings.pair == pair)
            yield {
                "who": [shown("condition_text", each, counts=True, most=MOST_CATEGORIES) for each in where],
                "rows": int(crossings.n_rows[pair]),
                "fraction": float(crossings.weight[pair]) / crossings.total,
                "before": float(said[0][pair]),
                "after": float(said[1][pair]),
                "decided_before": int(before[pair]),
                "decided_after": int(after[pair]),
            }

    # -- what came true -----------------------------------------------------------------------------------

    def _scores(self, rows: BoolArray) -> dict[str, Any] | None:
        """Scores and calibration of both trees on these rows; None if there are none, or no tree to score."""
        if self.alike is None or not rows.any():
            return None
        table = self.table.subset(rows)
        found = measure_row_changes(
            self.deployed,
            self.alike,
            table,
            positive=self._positive,
            scoring=self.metric.scorer or self.metric.name,
            describe=False,
        )
        low, high = interval(found.score_difference, found.score_error)
        ends = sorted(self.metric.shown(end) for end in (low, high))
        return {
            "rows": found.n_rows,
            **self._observed(table),
            "old": self._score(found, "old"),
            "new": self._score(found, "new"),
            "difference": {
                "value": _number(self.metric.shown(found.score_difference)),
                "error": _number(found.score_error),
                "low": _number(ends[0]),
                "high": _number(ends[1]),
                "verdict": found.verdict,
            },
            "old_calibration": self._calibration(self.deployed, table, found.old_calibration),
            "new_calibration": self._calibration(self.alike, table, found.new_calibration),
        }

    def _score(self, found: RowChanges, which: str) -> dict[str, Any]:
        value, error = getattr(found, f"{which}_score"), getattr(found, f"{which}_error")
        low, high = interval(value, error)
        ends = sorted(self.metric.shown(end) for end in (low, high))
        return {
            "value": _number(self.metric.shown(value)),
            "error": _number(error),
            "low": _number(ends[0]),
            "high": _number(ends[1]),
        }

    def _observed(self, table: Table) -> dict[str, Any]:
        """How many rows turned out to be of the class that matters, with Wilson's interval; or the mean."""
        truth = read_true_values(self.deployed.schema.target, table)
        if not truth.target.is_classes:
            return {"events": None, "observed": float(np.average(truth.values, weights=truth.weight))}
        if self.decision.place is None:
            return {"events": None, "observed": None}
        events = int((truth.rows.values == self.decision.place).sum())
        low, high = wilson_interval(events, len(truth.rows.values))
        return {
            "events": events,
            "observed": events / len(truth.rows.values),
            "observed_low": low,
            "observed_high": high,
        }

    def _calibration(self, tree: Tree, table: Table, found: Calibration) -> dict[str, Any] | None:
        """Intercept, slope, in the large, observed over expected; None of more than two classes."""
        if tree.schema.target.is_classes and self.decision.place is None:
            return None
        leaves = Crossings.of(tree, tree, table).old_leaf
        truth = read_true_values(tree.schema.target, table)
        shift = overall_shift(tree.value[leaves], truth, self.decision.place or 0)
        figures = {**vars(found), "ratio": found.ratio, "in_the_large": shift}
        if found.is_vague:
            figures |= {"slope": nan, "intercept": nan}
        return {name: _number(value) for name, value in figures.items()}


def _number(value: float) -> float | None:
    return float(value) if isfinite(value) else None
