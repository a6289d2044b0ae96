"""The lines of a policy that are about what the change means for the rows."""

from collections.abc import Iterator
from math import isnan
from statistics import NormalDist

from holdfast.distance.diff.rows import RowChanges
from holdfast.shown import shown
from holdfast.stability.policy.change import Change
from holdfast.stability.policy.judging import at_least, at_most, within
from holdfast.stability.policy.subgroups import subgroups_of
from holdfast.stability.policy.verdict import PolicyLine
from holdfast.text.lines import label_text
from holdfast.text.numbers import counted, fixed_text
from holdfast.tree.rule import Rule, tree_rules

NO_CLASSES = "the target is a number, and has no classes"


def max_churn(name: str, change: Change) -> Iterator[PolicyLine]:
    """The mean change of the answers."""
    is_classes = change.diff.old.schema.target.is_classes
    unit = "the probabilities" if is_classes else "the predictions, in standard deviations of the target"
    yield at_most(name, change.rows.churn, change.limit(name), f"mean change of {unit}")


def max_flips(name: str, change: Change) -> Iterator[PolicyLine]:
    """The fraction of rows that get another class."""
    yield _of_classes(name, change, change.rows.flips, "rows that get another class")


def max_negative_flips(name: str, change: Change) -> Iterator[PolicyLine]:
    """The fraction of rows that were right and become wrong."""
    yield _of_classes(name, change, change.rows.negative_flips, "rows that were right and become wrong")


def _of_classes(name: str, change: Change, figure: float, words: str) -> PolicyLine:
    limit: float = change.limit(name)
    if not change.diff.old.schema.target.is_classes:
        return PolicyLine(name, "", None, limit, "at most", "not judged", NO_CLASSES)
    return at_most(name, figure, limit, words)


# -- scores -----------------------------------------------------------------------------------------------


def score_margin(name: str, change: Change) -> Iterator[PolicyLine]:
    """How much worse the score may be, with the confidence of the policy, on all rows."""
    yield _non_inferior(name, change, change.rows, change.limit(name))


def subgroups(name: str, change: Change) -> Iterator[PolicyLine]:
    """The same in every subgroup that has enough rows."""
    policy = change.policy
    margin = policy.score_margin if policy.subgroup_margin is None else policy.subgroup_margin
    assert margin is not None
    for column in policy.subgroups:
        for each in subgroups_of(column, change.columns[column], policy.subgroup_bands, change.counted):
            n_rows = int(each.rows.sum())
            if n_rows < policy.min_subgroup_rows:
                why = f"{counted(n_rows, 'row')}, fewer than {policy.min_subgroup_rows}"
                yield PolicyLine(name, each.name, None, 0.0 - margin, "at least", "not judged", why)
            else:
                rows = change.rows_of(change.table.subset(each.rows))
                yield _non_inferior(name, change, rows, margin, each.name)


def _non_inferior(
    name: str, change: Change, rows: RowChanges, margin: float, subject: str = ""
) -> PolicyLine:
    """The lower bound of the difference of the scores, which may not be below minus the margin."""
    confidence = change.policy.confidence
    bound = rows.score_difference - NormalDist().inv_cdf(confidence) * rows.score_error
    where = f" on {counted(rows.n_rows, 'row')}" if subject else ""
    words = f"{_score_text(rows)}{where}, at least {fixed_text(bound, 3, '+')} ({100 * confidence:g} % sure)"
    if bound < -margin <= rows.score_difference:
        words += "; too few rows to be sure of less"
    if isnan(bound):
        words = f"{rows.metric.title if rows.metric else 'score'} on {counted(rows.n_rows, 'row')}"
    return at_least(name, bound, 0.0 - margin, words, subject)


def _score_text(rows: RowChanges) -> str:
    """Both scores as people say them, and the difference, above 0 where the new tree is better."""
    metric = rows.metric
    assert metric is not None
    new, old = (fixed_text(metric.shown(each), 3) for each in (rows.new_score, rows.old_score))
    better = " better" if metric.is_loss else ""
    apart = f"{fixed_text(rows.score_difference, 3, '+')} ± {fixed_text(rows.score_error, 3)}"
    return f"{metric.title} {new}, was {old}: {apart}{better}"


# -- calibration and leaves -------------------------------------------------------------------------------


def calibration_intercept(name: str, change: Change) -> Iterator[PolicyLine]:
    """What the predictions of the new tree lack on the whole; of more than two classes, of each."""
    for place, subject in _calibrated(change):
        old, new = (change.overall_shift(tree, place) for tree in (change.diff.old, change.diff.new))
        words = "0 is right" + ("" if isnan(old) else f"; was {fixed_text(old, 3)}")
        yield within(name, new, change.limit(name), words, subject)


def observed_expected(name: str, change: Change) -> Iterator[PolicyLine]:
    """What came true over what the new tree expects; of more than two classes, of each."""
    return _of_calibration(name, change, "ratio")


def calibration_slope(name: str, change: Change) -> Iterator[PolicyLine]:
    """What the predictions of the new tree should be multiplied by; of more than two classes, of each."""
    return _of_calibration(name, change, "slope")


def _of_calibration(name: str, change: Change, figure: str) -> Iterator[PolicyLine]:
    classes = change.diff.new.schema.target.classes
    for place, subject in _calibrated(change):
        rows = change.rows if not subject else change.rows_of(change.table, positive=classes[place])
        old, new = (getattr(each, figure) for each in (rows.old_calibration, rows.new_calibration))
        words = "1 is right" + ("" if isnan(old) else f"; was {fixed_text(old, 3)}")
        yield within(name, new, change.limit(name), words, subject)


def _calibrated(change: Change) -> list[tuple[int, str]]:
    """The columns of the values that are judged, and what they are called if there are several."""
    classes = change.diff.new.schema.target.classes
    if len(classes) > 2:
        return [(place, f"class {label_text(label)}") for place, label in enumerate(classes)]
    return [(1 if len(classes) == 2 else 0, "")]


def min_leaf_rows(name: str, change: Change) -> Iterator[PolicyLine]:
    """The number of rows in the leaf that has the fewest."""
    by_leaf = change.rows_by_leaf
    fewest = min(by_leaf, key=lambda leaf: (by_leaf[leaf], leaf))
    rules = {rule.leaf: rule for rule in tree_rules(change.diff.new)}
    words = f"rows in the smallest leaf: {_where(rules[fewest])}"
    yield at_least(name, by_leaf[fewest], change.limit(name), words)


def _where(rule: Rule) -> str:
    return " and ".join(shown("condition_text", each) for each in rule.conditions) or "all rows"
