"""Judge a change by a policy.

To add a line, add a field to `ChangePolicy`, and here a function and its entry in JUDGES.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum, isfinite, isnan, nan, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from holdfast._arrays import DIGITS, BoolArray, FloatArray, round_last_digits
from holdfast._text import fixed_text, join_parts, label_text, number_text, percent_text, pluralize, printable
from holdfast.data.columns import Column, read_column
from holdfast.data.frame import as_vector, make_frame
from holdfast.data.schema import Target
from holdfast.data.table import Table
from holdfast.distance.diff import RuleChange, SplitChange, TreeDiff, is_same_threshold, tree_diff
from holdfast.distance.diff_rows import RowChanges, find_table_leaves, measure_row_changes, read_true_values
from holdfast.errors import DataError, ParameterError, PolicyError, SchemaMismatch
from holdfast.explain.firmness import FIRM, ReferenceTrees
from holdfast.governance.policy import ChangePolicy
from holdfast.governance.toml_form import suggest_name
from holdfast.governance.verdict import PolicyLine, PolicyVerdict
from holdfast.scoring.calibration import overall_shift
from holdfast.scoring.metric import make_metric
from holdfast.tree.rules import Condition, Rule, tree_rules
from holdfast.tree.tree import KNOWN, LEAF, Tree


def judge_change(
    policy: ChangePolicy,
    old: Any,
    new: Any,
    table: Table,
    *,
    subgroups: Any = None,
    diff: TreeDiff | None = None,
    references: ReferenceTrees | None = None,
) -> PolicyVerdict:
    """Judge a change by the rows of a table. See `ChangePolicy.check`."""
    others = _read_columns(subgroups, table.n_rows)
    columns: dict[str, Column] = {}
    for name in policy.subgroups:
        column = find_column(name, table, others, "subgroups[{!r}]")
        if column is None:
            raise PolicyError(
                f"The line subgroups names the column {name!r}, which the rows do not have: "
                f"{suggest_name(name, [*table.schema.names, *others])} Other columns can be given by "
                "subgroups=."
            )
        columns[name] = column
    diff = tree_diff(old, new) if diff is None else diff
    change = JudgedChange(policy, diff, table, columns, references)
    _check_scoring(policy.scoring, change.diff.old.schema.target)
    stated = [name for name in JUDGES if getattr(policy, name) not in (None, (), {})]
    lines = tuple(line for name in stated for line in JUDGES[name](name, change))
    return PolicyVerdict(policy, lines, int(change.counted.sum()))


def _check_scoring(scoring: str | None, target: Target) -> None:
    try:
        make_metric(scoring, target)
    except ParameterError as error:
        why = str(error).removeprefix(f"scoring={scoring!r} ")
        raise PolicyError(f"The line scoring is {scoring!r}, which {why}") from error


def _read_columns(subgroups: Any, n_rows: int) -> dict[str, Any]:
    """Read the columns that are given beside the table, by name."""
    if subgroups is None:
        return {}
    if isinstance(subgroups, Mapping):
        columns = {name: as_vector(values, f"subgroups[{name!r}]") for name, values in subgroups.items()}
    else:
        frame = make_frame(subgroups)
        columns = dict(zip(frame.names, frame.columns, strict=True))
    for name, values in columns.items():
        if len(values) != n_rows:
            raise DataError(
                f"subgroups[{name!r}] has {len(values)} values, and the table has {n_rows} rows: give one "
                "value per row."
            )
    return columns


def find_column(
    name: str, table: Table, others: Mapping[str, Any], title: str = "column {!r}"
) -> Column | None:
    """Find a column that divides the rows into subgroups, among the others or in the table; else None."""
    if name in others:
        return read_column(others[name], title.format(name))
    for feature, values in zip(table.schema.features, table.columns, strict=True):
        if feature.name == name:
            kind = "nominal" if feature.kind == "custom" else feature.kind
            return Column(kind, values, feature.categories)
    return None


@dataclass(frozen=True, eq=False)
class JudgedChange:
    """A change, the policy, and the rows that it is judged by."""

    policy: ChangePolicy
    diff: TreeDiff
    table: Table
    columns: dict[str, Column]  # that divide the rows into subgroups
    references: ReferenceTrees | None = None  # of the deployed tree

    def limit(self, name: str) -> Any:
        """Return the limit of a line."""
        return getattr(self.policy, name)

    @cached_property
    def rows(self) -> RowChanges:
        """The effects of the change on all rows."""
        return self.rows_of(self.table)

    def rows_of(self, table: Table, positive: object = None) -> RowChanges:
        """Measure the effects of the change on the rows of a table."""
        diff, scoring = self.diff, self.policy.scoring
        return measure_row_changes(
            diff.old, diff.new, table, positive=positive, scoring=scoring, describe=False
        )

    @cached_property
    def counted(self) -> BoolArray:
        """The rows whose weight is above 0."""
        weight = self.table.weight
        return np.ones(self.table.n_rows, np.bool_) if weight is None else np.asarray(weight > 0, np.bool_)

    @cached_property
    def rows_by_leaf(self) -> dict[int, int]:
        """Number of rows of positive weight in each leaf of the new tree."""
        new = self.diff.new
        counts = np.bincount(find_table_leaves(new, self.table)[self.counted], minlength=new.n_nodes)
        return {leaf: int(counts[leaf]) for leaf in np.flatnonzero(new.feature < 0).tolist()}

    def overall_shift(self, tree: Tree, place: int) -> float:
        """Compute the calibration in the large; of numbers, in standard deviations of the target.

        Of times to an event, it is the difference of observed and predicted events up to the horizon.
        """
        truth = read_true_values(tree.schema.target, self.table)
        shift = overall_shift(tree.value[find_table_leaves(tree, self.table)], truth, place)
        return shift if tree.schema.target.task != "regression" else shift / self._spread

    @cached_property
    def _spread(self) -> float:
        """The standard deviation of a numeric target; 1 if it is constant."""
        values = self.table.target[self.counted]
        weight = np.ones(len(values)) if self.table.weight is None else self.table.weight[self.counted]
        total = fsum(weight.tolist())
        mean = fsum((weight * values).tolist()) / total
        return sqrt(fsum((weight * np.square(values - mean)).tolist()) / total) or 1.0


MOST_NAMED = 3  # changes that a line lists
UNCOUNTED = {"value", "order"}  # kinds of change after which a rule is still the same rule
_SPLITS = {  # line: the kinds of splits that it is about, and what they are called
    "thresholds": (("threshold",), "threshold moves", "thresholds move"),
    "categories": (("categories",), "set of categories changes", "sets of categories change"),
    "missing_sides": (("missing",), "side of missing values changes", "sides of missing values change"),
    "new_splits": (("new", "replaced"), "split is new", "splits are new"),
    "gone_splits": (("gone",), "split is gone", "splits are gone"),
}


# -- what may change --------------------------------------------------------------------------------------


def leaf_values(name: str, change: JudgedChange) -> Iterator[PolicyLine]:
    """Rules with other probabilities, another class or another number."""
    found = change.diff.of_kind("value", "outcome")
    n_classes = len(change.diff.of_kind("outcome"))
    words = f"{pluralize(len(found), 'rule')} with other values"
    if n_classes:
        words += f", {n_classes} of them with another class"
    yield permitted(name, len(found), change.limit(name), words)


def splits(name: str, change: JudgedChange) -> Iterator[PolicyLine]:
    """Splits that changed in the way that the line names."""
    kinds, singular, plural = _SPLITS[name]
    is_missing = name == "missing_sides"
    found = [each for each in change.diff.splits if each.kind in kinds or (is_missing and each.moves_missing)]
    n_splits = sum(_n_splits(each) for each in found)
    words = f"{n_splits or 'no'} {singular if n_splits == 1 else plural}"
    if found:
        texts = [_missing_text(each) if is_missing else _split_text(each) for each in found]
        words += f": {join_parts(texts, MOST_NAMED)}"
    if name != "new_splits":
        words += _replaced_text(change)
    yield permitted(name, n_splits, change.limit(name), words)


def _n_splits(change: SplitChange) -> int:
    """Count the splits of a change: those below a new, replaced or removed split count, too."""
    if change.is_move:
        return 1
    return change.n_gone if change.kind == "gone" else change.n_new


def _replaced_text(change: JudgedChange) -> str:
    """Note that splits of replaced parts of the tree are counted as new, neither as moved nor as gone."""
    n_replaced = sum(each.n_gone for each in change.diff.splits if each.kind == "replaced")
    if not n_replaced:
        return ""
    are = "is replaced, which counts" if n_replaced == 1 else "are replaced, which counts"
    return f"; {pluralize(n_replaced, 'split')} {are} under new_splits alone"


def new_root(name: str, change: JudgedChange) -> Iterator[PolicyLine]:
    """Whether the first split is on another column."""
    before, after = (_first_column(tree) for tree in (change.diff.old, change.diff.new))
    same = change.diff.same_root
    words = f"the first split is on {after}{', as before' if same else f', and was on {before}'}"
    yield permitted(name, int(not same), change.limit(name), words)


def _split_text(split: SplitChange) -> str:
    before, after = ("a leaf" if each is None else _condition_text(each) for each in (split.old, split.new))
    share = f" ({percent_text(split.share)} of the range)" if split.kind == "threshold" else ""
    return f"{before} becomes {after}{share}"


def _missing_text(split: SplitChange) -> str:
    before, after = (_condition_text(each) for each in (split.old, split.new) if each is not None)
    side = "yes" if split.new is not None and split.new.missing else "no"
    split_text = before if before == after else f"{before} becomes {after}"
    return f"{split_text} (missing values now go to {side})"


def _first_column(tree: Tree) -> str:
    return "no column" if tree.n_leaves == 1 else printable(tree.schema.features[int(tree.feature[0])].name)


# -- how much may change ----------------------------------------------------------------------------------


def max_changed_rules(name: str, change: JudgedChange) -> Iterator[PolicyLine]:
    """Number of rules with other conditions or another class, new rules and removed ones."""
    found = [each for each in change.diff.changes if {*each.kinds} - UNCOUNTED]
    rules = f"{pluralize(len(found), 'rule')} of {change.diff.old.n_leaves}"
    yield at_most(name, len(found), change.limit(name), _rules_text(rules, found))


def _rules_text(rules: str, found: Sequence[RuleChange]) -> str:
    alone = [(kind, sum(kind in each.kinds for each in found)) for kind in ("new", "gone")]
    parts = [f"{number} {kind}" for kind, number in alone if number]
    return f"{rules} changed" + (f", {' and '.join(parts)}" if parts else "")


def max_threshold_shift(name: str, change: JudgedChange) -> Iterator[PolicyLine]:
    """The largest shift of a threshold, as a fraction of the range of its column."""
    moved = sorted(change.diff.moved_thresholds, key=lambda each: -each.share)
    words = _split_text(moved[0]) if moved else "no threshold moves"
    words += _replaced_text(change)
    yield at_most(name, moved[0].share if moved else 0.0, change.limit(name), words)


def max_distance(name: str, change: JudgedChange) -> Iterator[PolicyLine]:
    """The distance between the trees."""
    distance = change.diff.distance
    words = f"distance of the trees, label weight {distance.label_weight:g}"
    yield at_most(name, distance.total, change.limit(name), words)


def threshold_intervals(name: str, change: JudgedChange) -> Iterator[PolicyLine]:
    """For each column with an interval, the new threshold that is farthest outside."""
    for column, interval in change.policy.threshold_intervals.items():
        old, new = (_thresholds(tree, column) for tree in (change.diff.old, change.diff.new))
        added = [each for each in new if not any(is_same_threshold(each, other) for other in old)]
        if not added:
            words = f"no new threshold on {printable(column)}"
            yield PolicyLine(name, printable(column), None, interval, "within", "passed", words)
            continue
        farthest = max(added, key=lambda each: (max(interval[0] - each, each - interval[1]), each))
        yield within(name, farthest, interval, _outside_text(column, added, interval), printable(column))


def _outside_text(column: str, added: list[float], interval: tuple[float, float]) -> str:
    texts = join_parts([number_text(each) for each in added], MOST_NAMED)
    n_outside = sum(not interval[0] <= each <= interval[1] for each in added)
    outside = "" if len(added) == 1 else f", {n_outside} of them outside"
    return f"new thresholds on {printable(column)}: {texts}{outside}"


def _thresholds(tree: Tree, column: str) -> list[float]:
    """List the distinct thresholds of the tree on a numeric column, in ascending order."""
    features = {feature.name: place for place, feature in enumerate(tree.schema.features)}
    if column not in features:
        raise PolicyError(
            f"The line threshold_intervals names the column {column!r}, which is no feature of the trees: "
            f"{suggest_name(column, features)}"
        )
    feature = tree.schema.features[features[column]]
    if feature.kind != "numeric":
        raise PolicyError(
            f"The line threshold_intervals names the column {column!r}, which is {feature.kind}: an interval "
            "is for a column of numbers. Use the line categories for columns of categories."
        )
    is_on_column = (tree.feature != LEAF) & (tree.feature == features[column])
    return [each for each in np.unique(tree.threshold[is_on_column]).tolist() if each < KNOWN]


NO_CLASSES = "the target has no classes"


def max_churn(name: str, change: JudgedChange) -> Iterator[PolicyLine]:
    """The mean change of the predictions."""
    unit = "the predictions, in standard deviations of the target"
    if change.diff.old.schema.target.is_classes:
        unit = "the probabilities"
    elif change.rows.survival:
        unit = f"the predicted {change.rows.survival}"
    yield at_most(name, change.rows.churn, change.limit(name), f"mean change of {unit}")


def max_flips(name: str, change: JudgedChange) -> Iterator[PolicyLine]:
    """The fraction of rows whose predicted class changes."""
    yield _judge_flips(name, change, change.rows.flips, "rows that get another class")


def max_negative_flips(name: str, change: JudgedChange) -> Iterator[PolicyLine]:
    """The fraction of rows that were right and become wrong."""
    yield _judge_flips(name, change, change.rows.negative_flips, "rows that were right and become wrong")


def max_flips_of_firm(name: str, change: JudgedChange) -> Iterator[PolicyLine]:
    """The fraction whose class changes, of the rows that the deployed tree has a firm answer for."""
    old, new, table = change.diff.old, change.diff.new, change.table
    if not old.schema.target.is_classes:
        yield _judge_flips(name, change, nan, "")
        return
    if isinstance(is_firm := _find_firm_rows(change), str):
        yield PolicyLine(name, "", None, change.limit(name), "at most", "not judged", is_firm)
        return
    is_firm &= change.counted
    weight = np.where(is_firm, 1.0 if table.weight is None else table.weight, 0.0)
    outcomes = [tree.outcome[find_table_leaves(tree, table)] for tree in (old, new)]
    flips = float(np.average(outcomes[0] != outcomes[1], weights=weight)) if is_firm.any() else nan
    words = f"of {pluralize(int(is_firm.sum()), 'row')} with a firm answer, those that get another class"
    yield _judge_flips(name, change, flips, words)


def _find_firm_rows(change: JudgedChange) -> BoolArray | str:
    """Flag the rows that the deployed tree has a firm answer for, or tell why they are unknown."""
    if change.references is None:
        return "the deployed tree has no reference trees, which measure how firm an answer is"
    old, table = change.diff.old, change.table
    decided = old.outcome[find_table_leaves(old, table)]
    try:
        trees = change.references.decide_as(old)
        agree = [each.outcome[find_table_leaves(each, table)] == decided for each in trees]
    except SchemaMismatch:
        return "the rows do not have all columns that the reference trees of the deployed tree split on"
    return np.asarray(np.mean(agree, axis=0) >= FIRM, np.bool_)


def _judge_flips(name: str, change: JudgedChange, figure: float, words: str) -> PolicyLine:
    limit: float = change.limit(name)
    if not change.diff.old.schema.target.is_classes:
        return PolicyLine(name, "", None, limit, "at most", "not judged", NO_CLASSES)
    return at_most(name, figure, limit, words)


# -- scores -----------------------------------------------------------------------------------------------


def score_margin(name: str, change: JudgedChange) -> Iterator[PolicyLine]:
    """How much worse the score may be, with the confidence of the policy, on all rows."""
    yield _non_inferior(name, change, change.rows, change.limit(name))


def subgroups(name: str, change: JudgedChange) -> Iterator[PolicyLine]:
    """The same in every subgroup that has enough rows."""
    policy = change.policy
    margin = policy.score_margin if policy.subgroup_margin is None else policy.subgroup_margin
    assert margin is not None
    for column in policy.subgroups:
        for each in divide_by_column(column, change.columns[column], policy.subgroup_bands, change.counted):
            n_rows = int(each.rows.sum())
            if n_rows < policy.min_subgroup_rows:
                why = f"{pluralize(n_rows, 'row')}, fewer than {policy.min_subgroup_rows}"
                yield PolicyLine(name, each.name, None, 0.0 - margin, "at least", "not judged", why)
            else:
                rows = change.rows_of(change.table.subset(each.rows))
                yield _non_inferior(name, change, rows, margin, each.name)


def _non_inferior(
    name: str, change: JudgedChange, rows: RowChanges, margin: float, subject: str = ""
) -> PolicyLine:
    """Judge the lower confidence bound of the score difference against minus the margin."""
    confidence = change.policy.confidence
    bound = rows.score_difference - NormalDist().inv_cdf(confidence) * rows.score_error
    where = f" on {pluralize(rows.n_rows, 'row')}" if subject else ""
    words = f"{_score_text(rows)}{where}, at least {fixed_text(bound, 3, '+')} ({100 * confidence:g} % sure)"
    if bound < -margin <= rows.score_difference:
        words += "; too few rows to be sure of less"
    if isnan(bound):
        words = f"{rows.metric.title if rows.metric else 'score'} on {pluralize(rows.n_rows, 'row')}"
    return at_least(name, bound, 0.0 - margin, words, subject)


def _score_text(rows: RowChanges) -> str:
    """Format both scores, and the difference, above 0 where the new tree is better."""
    metric = rows.metric
    assert metric is not None
    new, old = (fixed_text(metric.shown(each), 3) for each in (rows.new_score, rows.old_score))
    better = " better" if metric.is_loss else ""
    apart = f"{fixed_text(rows.score_difference, 3, '+')} ± {fixed_text(rows.score_error, 3)}"
    return f"{metric.title} {new}, was {old}: {apart}{better}"


# -- calibration and leaves -------------------------------------------------------------------------------


def calibration_intercept(name: str, change: JudgedChange) -> Iterator[PolicyLine]:
    """Calibration in the large of the new tree; for more than two classes, of each."""
    for place, subject in _list_calibrated(change):
        old, new = (change.overall_shift(tree, place) for tree in (change.diff.old, change.diff.new))
        words = "0 is right" + ("" if isnan(old) else f"; was {fixed_text(old, 3)}")
        yield within(name, new, change.limit(name), words, subject)


def observed_expected(name: str, change: JudgedChange) -> Iterator[PolicyLine]:
    """Observed over expected of the new tree; for more than two classes, of each."""
    return _judge_calibration(name, change, "ratio")


def calibration_slope(name: str, change: JudgedChange) -> Iterator[PolicyLine]:
    """The calibration slope of the new tree; for more than two classes, of each."""
    return _judge_calibration(name, change, "slope")


def _judge_calibration(name: str, change: JudgedChange, figure: str) -> Iterator[PolicyLine]:
    classes = change.diff.new.schema.target.classes
    for place, subject in _list_calibrated(change):
        rows = change.rows if not subject else change.rows_of(change.table, positive=classes[place])
        old, new = (getattr(each, figure) for each in (rows.old_calibration, rows.new_calibration))
        words = "1 is right" + ("" if isnan(old) else f"; was {fixed_text(old, 3)}")
        yield within(name, new, change.limit(name), words, subject)


def _list_calibrated(change: JudgedChange) -> list[tuple[int, str]]:
    """List the columns of the values to judge, with their names if there are several."""
    classes = change.diff.new.schema.target.classes
    if len(classes) > 2:
        return [(place, f"class {label_text(label)}") for place, label in enumerate(classes)]
    return [(1 if len(classes) == 2 else 0, "")]


def min_leaf_rows(name: str, change: JudgedChange) -> Iterator[PolicyLine]:
    """The number of rows in the smallest leaf."""
    by_leaf = change.rows_by_leaf
    fewest = min(by_leaf, key=lambda leaf: (by_leaf[leaf], leaf))
    rules = {rule.leaf: rule for rule in tree_rules(change.diff.new)}
    words = f"rows in the smallest leaf: {_rule_text(rules[fewest])}"
    yield at_least(name, by_leaf[fewest], change.limit(name), words)


def _condition_text(condition: Condition) -> str:
    from holdfast.tree.rules_text import condition_text

    return condition_text(condition)


def _rule_text(rule: Rule) -> str:
    return " and ".join(_condition_text(each) for each in rule.conditions) or "all rows"


@dataclass(frozen=True, eq=False)
class Subgroup:
    """A subgroup of the rows."""

    name: str  # "sex = f", "40 < age <= 55"
    rows: BoolArray


def divide_by_column(name: str, column: Column, n_bands: int, counted: BoolArray) -> Iterator[Subgroup]:
    """Divide the rows that count into subgroups by a column: every such row is in exactly one.

    Categories are subgroups, and so are numbers if there are no more of them than bands. Else bands have
    about equally many rows, and equal numbers are in one. Rows without a value come last.

    >>> column = Column("numeric", np.array([1.0, 2.0, 3.0, 4.0, np.nan]))
    >>> [each.name for each in divide_by_column("age", column, 2, np.ones(5, bool))]
    ['age <= 2', 'age > 2', 'age missing']
    """
    title = printable(name)
    values = np.where(counted, column.values, np.nan)
    present = np.unique(values[~np.isnan(values)])
    if column.labels:
        for place in present.astype(int).tolist():
            yield Subgroup(f"{title} = {label_text(column.labels[place])}", values == place)
    elif len(present) <= n_bands:
        for value in present.tolist():
            yield Subgroup(f"{title} = {number_text(value)}", values == value)
    else:
        yield from _bands(title, values, n_bands)
    missing = np.isnan(column.values) & counted
    if missing.any():
        yield Subgroup(f"{title} missing", missing)


def _bands(title: str, values: FloatArray, n_bands: int) -> Iterator[Subgroup]:
    """Divide numbers at quantiles, which are numbers of the column."""
    known = values[~np.isnan(values)]
    inner = np.quantile(known, np.arange(1, n_bands) / n_bands, method="inverted_cdf")
    ends = [-np.inf, *np.unique(inner[inner < known.max()]).tolist(), np.inf]
    for low, high in itertools.pairwise(ends):
        rows = (values > low) & (values <= high)
        left = "" if low == -np.inf else f"{number_text(low)} < "
        text = f"{title} > {number_text(low)}" if high == np.inf else f"{left}{title} <= {number_text(high)}"
        yield Subgroup(text, rows)


def at_most(name: str, figure: float, limit: float, words: str, subject: str = "") -> PolicyLine:
    """Judge a figure that must not exceed the limit."""
    rounded = round_figure(figure)
    return _judged(PolicyLine(name, subject, rounded, limit, "at most", "passed", words), rounded <= limit)


def at_least(name: str, figure: float, limit: float, words: str, subject: str = "") -> PolicyLine:
    """Judge a figure that must reach the limit."""
    rounded = round_figure(figure)
    return _judged(PolicyLine(name, subject, rounded, limit, "at least", "passed", words), rounded >= limit)


def within(name: str, figure: float, limit: tuple[float, float], words: str, subject: str = "") -> PolicyLine:
    """Judge a figure that must lie in a closed interval."""
    rounded = round_figure(figure)
    is_met = limit[0] <= rounded <= limit[1]
    return _judged(PolicyLine(name, subject, rounded, limit, "within", "passed", words), is_met)


def permitted(name: str, figure: int, permission: str, words: str) -> PolicyLine:
    """Judge a kind of change that is allowed, or must never happen."""
    line = PolicyLine(name, "", figure, permission, "permission", "passed", words)
    return _judged(line, permission == "allowed" or figure == 0)


def round_figure(figure: float) -> float:
    """Round a figure to the digits that do not depend on the processor; NaN if it is not finite.

    >>> round_figure(0.1 + 0.2), round_figure(1e-17), round_figure(float("nan"))
    (0.3, 0.0, nan)
    """
    if not isfinite(figure):
        return nan
    return round(float(round_last_digits(np.array([float(figure)]))[0]), DIGITS) + 0.0


def _judged(line: PolicyLine, is_met: bool) -> PolicyLine:
    if line.figure is not None and isnan(line.figure):
        return replace(
            line, figure=None, status="not judged", words=f"{line.words}: undetermined on these rows"
        )
    return line if is_met else replace(line, status="failed")


# -- the lines in their order -----------------------------------------------------------------------------

Judge = Callable[[str, JudgedChange], Iterator[PolicyLine]]

# The function that judges each line. The other lines are settings.
JUDGES: dict[str, Judge] = {
    "leaf_values": leaf_values,
    "thresholds": splits,
    "categories": splits,
    "missing_sides": splits,
    "new_splits": splits,
    "gone_splits": splits,
    "new_root": new_root,
    "max_changed_rules": max_changed_rules,
    "max_threshold_shift": max_threshold_shift,
    "threshold_intervals": threshold_intervals,
    "max_distance": max_distance,
    "max_churn": max_churn,
    "max_flips": max_flips,
    "max_negative_flips": max_negative_flips,
    "max_flips_of_firm": max_flips_of_firm,
    "score_margin": score_margin,
    "subgroups": subgroups,
    "observed_expected": observed_expected,
    "calibration_intercept": calibration_intercept,
    "calibration_slope": calibration_slope,
    "min_leaf_rows": min_leaf_rows,
}
