"""The summary of an update beside the tree diff: data, outputs, edits and the model card, as plain data."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import isfinite, isnan, nan
from typing import Any

import msgspec
import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, freeze
from holdfast._text import label_text, quoted
from holdfast.data.columns import Column
from holdfast.data.row_keys import hash_labelled_rows
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.distance.diff_rows import (
    Crossings,
    count_missing,
    interval,
    join_conditions,
    measure_row_changes,
    read_true_values,
)
from holdfast.errors import DataError, ModelCardError
from holdfast.governance.judge import divide_by_column, find_column
from holdfast.governance.model_card import ModelCard
from holdfast.scoring.calibration import (
    LITTLE,
    MUCH,
    Calibration,
    ColumnProfile,
    column_profile,
    overall_shift,
    profile_index,
)
from holdfast.scoring.formulas import weighted_mean
from holdfast.scoring.intervals import wilson_interval
from holdfast.scoring.metric import Metric, TrueValues
from holdfast.scoring.survival import event_by_horizon
from holdfast.tree.edit import find_valid_edits
from holdfast.tree.rules import format_class_names, tree_rules
from holdfast.tree.stats import positive_class
from holdfast.tree.survival import shown_values
from holdfast.tree.tree import Tree
from holdfast.update.path import KEEP
from holdfast.update.update import TreeUpdate


@dataclass(frozen=True)
class RowsProfile:
    """Profile of the rows of one period."""

    n_rows: int
    target: Mapping[str, Any]  # rows by class, or the mean and the standard deviation
    columns: Mapping[str, ColumnProfile]  # by name, without custom features

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as plain data."""
        columns = [
            {key: _plain(value) for key, value in asdict(each).items()} for each in self.columns.values()
        ]
        return {"rows": self.n_rows, "target": dict(self.target), "columns": columns}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "RowsProfile":
        """Read the profile from a file of a run; raise a DataError if it is malformed."""
        try:
            columns = {each["name"]: _read_profile(each) for each in content["columns"]}
            return cls(int(content["rows"]), dict(content["target"]), columns)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"The profile of the earlier rows cannot be read: {error!r}.") from error


def profile_rows(table: Table) -> RowsProfile:
    """Profile a table."""
    columns = {
        feature.name: column_profile(feature, values)
        for feature, values in zip(table.schema.features, table.columns, strict=True)
        if feature.kind != "custom"
    }
    return RowsProfile(table.n_rows, profile_target(table), columns)


def profile_target(table: Table) -> dict[str, Any]:
    """Count the rows of each class; or compute mean and standard deviation of a number, or of events."""
    target = table.schema.target
    if target.is_classes:
        counts = np.bincount(table.target, minlength=len(target.classes)).tolist()
        return {"classes": dict(zip(format_class_names(target), counts, strict=True))}
    numbers = table.target if table.survival is None else table.survival.event
    return {"mean": float(numbers.mean()), "deviation": float(numbers.std())}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _read_profile(content: Mapping[str, Any]) -> ColumnProfile:
    profile = msgspec.convert(content, ColumnProfile)
    n_parts = len(profile.categories) if profile.borders is None else len(profile.borders) + 1
    if len(profile.counts) != n_parts:
        raise ValueError(f"{profile.name!r} has {len(profile.counts)} counts for {n_parts} parts")
    return profile


INDEX_BANDS = ("little", "some", "much")  # of a population stability index
NEW_VALUES, OTHER_KIND = "new values", "of another kind now"  # of columns without an index
UNKNOWN_RANGE: dict[str, Any] = {"range_before": None, "range_now": None, "beyond": None}
NO_TEXT: dict[str, float] = {}


def period_facts(
    before: RowsProfile | None,
    schema: Schema,
    table: Table,
    origin: str,
    text: Mapping[str, float] = NO_TEXT,
) -> dict[str, Any]:
    """Compare both periods. `schema` is that of the deployed model, and `origin` the source of `before`.

    Without a profile of before, ranges and categories of the schema are compared. `text` names columns whose
    text is missing in the table, each with the fraction of rows that are missing in the data.
    """
    now = profile_rows(table)
    kinds = schema_facts(schema, table.schema)
    kinds["other_kinds"] += [name for name in text if name not in kinds["other_kinds"]]
    return {
        "before": None
        if before is None
        else {"rows": before.n_rows, "target": dict(before.target), "source": origin},
        "now": {"rows": now.n_rows, "target": dict(now.target)},
        "columns": _columns(before, now, schema, table, text),
        "schema": kinds,
    }


def schema_facts(old: Schema, new: Schema) -> dict[str, Any]:
    """Compare two schemas: new and removed columns, other kinds, new categories and classes."""
    before = {each.name: each for each in old.columns}
    after = {each.name: each for each in new.columns}
    categories = {
        name: [label for label in after[name].categories if label not in before[name].categories]
        for name in after
        if name in before
    }
    return {
        "new_columns": [name for name in after if name not in before],
        "gone_columns": [name for name in before if name not in after],
        "other_kinds": [name for name in after if name in before and after[name].kind != before[name].kind],
        "new_categories": {name: new for name, new in categories.items() if new},
        "new_classes": [label for label in new.target.classes if label not in old.target.classes],
    }


def band(index: float) -> str:
    """Name the usual band of a population stability index.

    >>> band(0.02), band(0.1), band(0.3)
    ('little', 'some', 'much')
    """
    return INDEX_BANDS[0] if index < LITTLE else INDEX_BANDS[1] if index < MUCH else INDEX_BANDS[2]


def _columns(
    before: RowsProfile | None, now: RowsProfile, schema: Schema, table: Table, text: Mapping[str, float]
) -> list[dict[str, Any]]:
    """Describe every column, the most changed first, those without an index last."""
    known = {each.name: each for each in schema.columns}
    found = [
        _without_text(_column(feature, values, now, before, known.get(feature.name)), text.get(feature.name))
        for feature, values in zip(table.schema.features, table.columns, strict=True)
        if feature.kind != "custom"
    ]
    return sorted(
        found, key=lambda each: (each["index"] is None, not each["news"], -round(each["index"] or 0.0, 9))
    )


def _without_text(column: dict[str, Any], missing: float | None) -> dict[str, Any]:
    """Remove from a column, whose text was left out, all but its missing values."""
    if missing is None:
        return column
    return {
        **column,
        **UNKNOWN_RANGE,
        "missing_now": missing,
        "index": None,
        "band": None,
        "news": OTHER_KIND,
    }


def _column(
    feature: Feature, values: FloatArray, now: RowsProfile, before: RowsProfile | None, old: Feature | None
) -> dict[str, Any]:
    was = None if before is None else before.columns.get(feature.name)
    index = None if was is None else profile_index(was, feature, values)
    had_none = was is not None and was.missing == was.n_rows
    news = NEW_VALUES if had_none and bool((~np.isnan(values)).any()) else ""
    if news or (index is not None and isnan(index)):
        index = None
    return {
        "name": feature.name,
        "kind": feature.kind,
        "missing_before": None if was is None or not was.n_rows else was.missing / was.n_rows,
        "missing_now": now.columns[feature.name].missing / now.n_rows if now.n_rows else None,
        "index": index,
        "band": None if index is None else band(index),
        "news": news,
        **(UNKNOWN_RANGE if had_none else _beyond(values, feature, old)),
    }


def _beyond(values: FloatArray, feature: Feature, old: Feature | None) -> dict[str, Any]:
    """Compare the ranges of both periods, with the fraction of rows outside the earlier one."""
    known = values[~np.isnan(values)]
    if feature.kind != "numeric" or not len(known) or old is None or old.kind != "numeric":
        return UNKNOWN_RANGE
    outside = (known < old.low) | (known > old.high)
    return {
        "range_before": [old.low, old.high],
        "range_now": [float(known.min()), float(known.max())],
        "beyond": float(outside.sum()) / len(values),
    }


@dataclass(frozen=True)
class DecisionRule:
    """Which rows are acted on: by the positive class, or by a threshold of its probability or of a number.

    Without a positive class and without a threshold, the decision is the class itself.
    """

    place: int | None  # index of the positive class
    threshold: float | None

    @property
    def has_sides(self) -> bool:
        """True if some are acted on and others not."""
        return self.place is not None or self.threshold is not None

    def predict(self, tree: Tree, leaf: IntArray) -> FloatArray:
        """Return the probability of the positive class, or the number; else of the predicted class.

        Of times to an event it is the survival to the horizon.
        """
        if not tree.schema.target.is_classes:
            return np.asarray(shown_values(tree)[leaf, 0], np.float64)
        column = tree.outcome[leaf] if self.place is None else self.place
        return np.asarray(tree.value[leaf, column], np.float64)

    def decide(self, tree: Tree, leaf: IntArray) -> IntArray:
        """Return 1 for rows that are acted on, else 0; or class indices; 0 if nothing is decided."""
        if self.threshold is not None:
            of_classes = tree.schema.target.is_classes
            values = self.predict(tree, leaf) if of_classes else tree.value[leaf, 0]
            return np.asarray(values >= self.threshold, np.int32)
        if not tree.schema.target.is_classes:
            return np.zeros(len(leaf), np.int32)
        outcome = np.asarray(tree.outcome[leaf], np.int32)
        return outcome if self.place is None else (outcome == self.place).astype(np.int32)

    def decide_by_truth(self, truth: TrueValues) -> IntArray:
        """Return the decisions that the true values lead to."""
        if not truth.target.is_classes:
            return (truth.values >= (self.threshold or 0.0)).astype(np.int32)
        values = truth.values.astype(np.int32)
        return values if self.place is None else (values == self.place).astype(np.int32)


def make_decision_rule(tree: Tree, positive: str | None, threshold: float | None) -> DecisionRule:
    """Make the decision rule of a model card, by default for the positive class of the tree."""
    target = tree.schema.target
    if positive is not None and not target.is_classes:
        raise ModelCardError(
            f"The line positive is {positive!r}, and {target.name!r} is a number: leave it out."
        )
    if threshold is not None and target.is_classes and not 0 < threshold <= 1:
        raise ModelCardError(
            f"The line decision_threshold is {threshold:g}, and is compared with a probability: it "
            "must be above 0 and at most 1."
        )
    place = positive_class(tree) if positive is None else _place(target, positive)
    if threshold is not None and target.is_classes and place is None:
        raise ModelCardError(
            f"The line decision_threshold is {threshold:g}, and {target.name!r} has "
            f"{len(target.classes)} classes: name the class of that probability "
            "in the line positive."
        )
    return DecisionRule(place, threshold)


def _place(target: Target, positive: str) -> int:
    names = [label_text(label) for label in target.classes]
    if positive not in names:
        raise ModelCardError(
            f"The line positive is {positive!r}, which is no class of {target.name!r}: choose of "
            f"{quoted(names)}."
        )
    return names.index(positive)


MOST_TOUCHED = 12  # groups of rows that are listed
MOST_CATEGORIES = 24  # of a condition


@dataclass(frozen=True, eq=False)
class Outputs:
    """Two trees on one schema, and the rows that both predict."""

    deployed: Tree
    proposed: Tree
    alike: Tree | None  # as the proposed one, made without the held-out rows; the same if none are held out
    table: Table  # all new rows
    held_out: BoolArray  # of these
    is_held_out: bool  # False: the proposed tree was fitted on all rows, and scores are optimistic
    decision: DecisionRule
    metric: Metric

    def facts(self) -> dict[str, Any]:
        """Summarise all rows."""
        return {
            "rows_scored": int(self.held_out.sum()),
            "scored_on_rows_held_out": self.is_held_out,
            "threshold": self.decision.threshold,
            "positive": self._positive,
            "all": self.part_facts(np.ones(self.table.n_rows, np.bool_)),
            "touched": list(self._touched()),
        }

    def subgroup_facts(self, columns: Mapping[str, Column], n_bands: int, least: int) -> list[dict[str, Any]]:
        """Summarise every subgroup; one of fewer than `least` held-out rows is marked as small."""
        found = []
        for column, values in columns.items():
            for each in divide_by_column(column, values, n_bands, self._counted):
                n_scored = int((each.rows & self.held_out).sum())
                known = {"column": column, "name": each.name, "is_small": n_scored < least}
                found.append({**known, **self.part_facts(each.rows)})
        return found

    def part_facts(self, rows: BoolArray) -> dict[str, Any]:
        """Summarise some rows: predictions of both trees, decisions and scores."""
        return {
            "rows": int((rows & self._counted).sum()),
            **self._moves(rows),
            "decisions": self._decisions(rows),
            "scores": self._scores(rows & self.held_out & self._counted),
        }

    # -- predictions and decisions ------------------------------------------------------------------------

    @cached_property
    def _crossings(self) -> Crossings:
        return Crossings.from_table(self.deployed, self.proposed, self.table)

    @cached_property
    def _counted(self) -> BoolArray:
        return np.asarray(self._crossings.row_weight > 0, np.bool_)

    @cached_property
    def _decided(self) -> tuple[IntArray, IntArray, IntArray]:
        """The decisions before and after the change, and the right ones."""
        crossings, truth = self._crossings, read_true_values(self.deployed.schema.target, self.table)
        before = self.decision.decide(self.deployed, crossings.old_leaf)
        after = self.decision.decide(self.proposed, crossings.new_leaf)
        return before, after, self.decision.decide_by_truth(truth)

    def _decisions(self, rows: BoolArray) -> dict[str, Any]:
        """Count the rows with another decision, by direction, and by right and wrong."""
        before, after, right = self._decided
        changed, was_right, is_right = before != after, before == right, after == right
        counted = rows & self._counted
        found = {
            "changed": self._part(counted & changed, counted),
            "negative_flips": self._part(counted & was_right & ~is_right, counted),
            "positive_flips": self._part(counted & ~was_right & is_right, counted),
        }
        if self.decision.has_sides:
            found |= {
                "acted_on_before": self._part(counted & (before == 1), counted),
                "acted_on_after": self._part(counted & (after == 1), counted),
                "swap_ins": self._part(counted & changed & (after == 1), counted),
                "swap_outs": self._part(counted & changed & (before == 1), counted),
            }
        return found

    def _part(self, part: BoolArray, whole: BoolArray) -> dict[str, Any]:
        """Count the rows of a part, its fraction of the whole, and its events."""
        weight = self._crossings.row_weight
        total = float(weight[whole].sum())
        return {
            "rows": int(part.sum()),
            "fraction": float(weight[part].sum()) / total if total else 0.0,
            "events": int((part & (self._decided[2] == 1)).sum()) if self.decision.has_sides else None,
        }

    @property
    def _positive(self) -> Any:
        place = self.decision.place
        return None if place is None else self.deployed.schema.target.classes[place]

    def _moves(self, rows: BoolArray) -> dict[str, Any]:
        """Compute the mean prediction of both trees, and the mean and the largest change."""
        crossings = self._crossings
        counted = rows & self._counted
        if not counted.any():
            return {"mean_before": None, "mean_after": None, "churn": None, "largest_move": None}
        weight = crossings.row_weight[counted]
        before = self.decision.predict(self.deployed, crossings.old_leaf)[counted]
        after = self.decision.predict(self.proposed, crossings.new_leaf)[counted]
        moved = crossings.moved[crossings.pair][counted]
        return {
            "mean_before": float(np.average(before, weights=weight)),
            "mean_after": float(np.average(after, weights=weight)),
            "churn": float(np.average(moved, weights=weight)),
            "largest_move": float(moved.max()),
        }

    def _touched(self) -> Iterator[dict[str, Any]]:
        """List groups of rows that change leaf: other decisions first, then the largest changes."""
        from holdfast.tree.rules_text import condition_text

        crossings, decision = self._crossings, self.decision
        old, new = (freeze(column.astype(np.int32)) for column in crossings.leaves.T)
        before, after = decision.decide(self.deployed, old), decision.decide(self.proposed, new)
        values = decision.predict(self.deployed, old), decision.predict(self.proposed, new)
        change = np.round(crossings.weight * crossings.moved, 9)
        order = np.lexsort((-change, before == after))
        rules = [{rule.leaf: rule for rule in tree_rules(tree)} for tree in (self.deployed, self.proposed)]
        touched = [pair for pair in order.tolist() if change[pair] > 0 or before[pair] != after[pair]]
        for pair in touched[:MOST_TOUCHED]:
            joined = join_conditions(rules[0][int(old[pair])], rules[1][int(new[pair])])
            where = count_missing(joined, self.table, crossings.pair == pair)
            yield {
                "who": [condition_text(each, counts=True, most=MOST_CATEGORIES) for each in where],
                "rows": int(crossings.n_rows[pair]),
                "fraction": float(crossings.weight[pair]) / crossings.total,
                "before": float(values[0][pair]),
                "after": float(values[1][pair]),
                "decided_before": int(before[pair]),
                "decided_after": int(after[pair]),
            }

    # -- scores and calibration ---------------------------------------------------------------------------

    def _scores(self, rows: BoolArray) -> dict[str, Any] | None:
        """Score and calibrate both trees on some rows; None if there are no rows, or no tree to score."""
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
        return {
            "rows": found.n_rows,
            **self._observed(table),
            "old": self._score(found.old_score, found.old_error),
            "new": self._score(found.new_score, found.new_error),
            "difference": {
                **self._score(found.score_difference, found.score_error),
                "verdict": found.verdict,
            },
            "old_calibration": self._calibration(self.deployed, table, found.old_calibration),
            "new_calibration": self._calibration(self.alike, table, found.new_calibration),
        }

    def _score(self, value: float, error: float) -> dict[str, Any]:
        """Describe a score, or a difference of scores, with its interval."""
        ends = sorted(self.metric.shown(end) for end in interval(value, error))
        return {
            "value": _number(self.metric.shown(value)),
            "error": _number(error),
            "low": _number(ends[0]),
            "high": _number(ends[1]),
        }

    def _observed(self, table: Table) -> dict[str, Any]:
        """Compute the observed rate of the positive class, with its Wilson interval; or the observed mean.

        Of times to an event it is the rate of events up to the horizon, by Kaplan and Meier.
        """
        truth = read_true_values(self.deployed.schema.target, table)
        if truth.survival is not None:
            _, seen = event_by_horizon(np.zeros((truth.counted.sum(), 1)), truth.rows)
            observed = weighted_mean(seen, truth.rows).value
            return {"events": int(truth.survival.event[truth.counted].sum()), "observed": observed}
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
        """Compute intercept, slope, calibration in the large and observed over expected, if defined."""
        if tree.schema.target.is_classes and self.decision.place is None:
            return None
        leaves = Crossings.from_table(tree, tree, table).old_leaf
        truth = read_true_values(tree.schema.target, table)
        shift = overall_shift(tree.value[leaves], truth, self.decision.place or 0)
        figures = {**vars(found), "ratio": found.ratio, "in_the_large": shift}
        del figures["event_ratio"]  # it is the ratio
        if found.is_vague:
            figures |= {"slope": nan, "intercept": nan}
        return {name: _number(value) for name, value in figures.items()}


def _number(value: float) -> float | None:
    return float(value) if isfinite(value) else None


BANDS = 4  # of a number that divides the rows, unless the policy has another number


def change_summary(
    update: TreeUpdate,
    model_card: ModelCard,
    decision: DecisionRule,
    table: Table,
    *,
    schema: Schema,
    before: RowsProfile | None,
    origin: str,
    text: Mapping[str, float],
    others: Mapping[str, Any],
) -> dict[str, Any]:
    """Summarise the data, the outputs and the edits of an update as plain data.

    Parameters
    ----------
    update : TreeUpdate
        The update, on the widened schema.
    model_card : ModelCard
        Its `subgroups` and `min_subgroup_rows` divide the rows.
    decision : DecisionRule
        The decision that the predictions lead to.
    table : Table
        The new rows, as they came.
    schema : Schema
        That of the model as it was deployed, before it was widened.
    before : RowsProfile or None
        The earlier rows, from the source `origin`.
    text : mapping
        Columns of text that the model has numbers of: the fraction of rows without any.
    others : mapping
        Columns of the new rows that are no features.
    """
    step = update.steps[update.taken]
    assert update.rows is not None
    outputs = Outputs(
        deployed=update.deployed,
        proposed=step.tree,
        alike=step.holdout_tree,
        table=table,
        held_out=_held_out_rows(table, update.rows.held_out),
        is_held_out=update.n_scored > 0,
        decision=decision,
        metric=update.metric,
    )
    policy = None if update.verdict is None else update.verdict.policy
    names = dict.fromkeys([*model_card.subgroups, *(policy.subgroups if policy else ())])
    found = {name: find_column(name, table, others) for name in names}
    columns = {name: column for name, column in found.items() if column is not None}
    n_bands = BANDS if policy is None else policy.subgroup_bands
    after = before
    if update.is_taken and step.kind != KEEP:  # the next update is compared with the rows learned from last
        after = profile_rows(table)
        after = replace(after, columns={k: v for k, v in after.columns.items() if k not in text})
    return {
        "model_card": model_card.to_dict(),
        "periods": period_facts(before, schema, table, origin, text),
        "outputs": outputs.facts(),
        "subgroups": outputs.subgroup_facts(columns, n_bands, model_card.min_subgroup_rows),
        "firmness": _firmness_facts(update),
        "edits": {"old": edit_facts(update.deployed), "new": edit_facts(update.tree)},
        "profile": None if after is None else after.to_dict(),
    }


def _firmness_facts(update: TreeUpdate) -> dict[str, Any] | None:
    """Count the new rows with a firm answer before and after, and those that lost it; None if unknown."""
    if update.firmness is None or update.firmness[0].share is None:
        return None
    before, after = (each.is_firm() for each in update.firmness)
    lost = int((before & ~after).sum())
    return {"rows": len(before), "firm_before": int(before.sum()), "firm": int(after.sum()), "lost": lost}


def _held_out_rows(table: Table, held_out: Table) -> BoolArray:
    """The new rows that the proposed tree's scores are measured on.

    Rows that look alike may stand on both sides, and which of them is which does not matter: as many
    as were held out are flagged, the last of each kind.
    """
    keys = hash_labelled_rows(table)
    kinds, kind = np.unique(keys, return_inverse=True)
    at = np.searchsorted(kinds, hash_labelled_rows(held_out))
    n_held_out = np.bincount(at, _weights(held_out), len(kinds))
    # Of each kind, the weight of a row and of those after it: the last ones, as many as were held out.
    backwards = np.lexsort((-np.arange(len(keys)), kind))
    weight = _weights(table)[backwards]
    since = np.cumsum(weight) - weight
    begins = np.append(True, np.diff(kind[backwards]) != 0)
    since -= np.maximum.accumulate(np.where(begins, since, 0.0))
    is_held_out = np.empty(len(keys), np.bool_)
    is_held_out[backwards] = since < n_held_out[kind[backwards]] * (1 - 1e-9)
    return is_held_out


def _weights(table: Table) -> FloatArray:
    return np.ones(table.n_rows) if table.weight is None else table.weight


def edit_facts(tree: Tree) -> list[dict[str, Any]]:
    """List the edits by hand: text, author, reason, time, and whether they still hold."""
    from holdfast.tree.rules_text import edit_text

    held = {id(edit) for _, edit in find_valid_edits(tree)}
    return [
        {
            "text": edit_text(edit),
            "kind": edit.kind,
            "by": edit.by,
            "why": edit.why,
            "when": edit.when,
            "holds": id(edit) in held,
        }
        for edit in tree.edits
    ]
