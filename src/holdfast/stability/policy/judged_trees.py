"""The lines of a policy that are about the two trees."""

from collections.abc import Iterator, Sequence

import numpy as np

from holdfast.distance.diff.conditions import is_same_threshold
from holdfast.distance.diff.rules import RuleChange
from holdfast.distance.diff.splits import SplitChange
from holdfast.errors import PolicyError
from holdfast.shown import shown
from holdfast.stability.policy.change import Change
from holdfast.stability.policy.forms import Interval
from holdfast.stability.policy.judging import at_most, permitted, within
from holdfast.stability.policy.nearest import nearest
from holdfast.stability.policy.verdict import PolicyLine
from holdfast.text.lines import printable
from holdfast.text.lists import joined
from holdfast.text.numbers import counted, number_text, percent_text
from holdfast.tree.tree import KNOWN, LEAF, Tree

MOST_NAMED = 3  # changes that the words of a line list
UNCOUNTED = {"value", "order"}  # kinds of change after which a rule is still the same rule
_SPLITS = {  # line: the kinds of splits that it is about, and what they are called
    "thresholds": (("threshold",), "threshold moves", "thresholds move"),
    "categories": (("categories",), "set of categories changes", "sets of categories change"),
    "missing_sides": (("missing",), "side of missing values changes", "sides of missing values change"),
    "new_splits": (("new", "replaced"), "split is new", "splits are new"),
    "gone_splits": (("gone",), "split is gone", "splits are gone"),
}


# -- what may change --------------------------------------------------------------------------------------


def leaf_values(name: str, change: Change) -> Iterator[PolicyLine]:
    """The rules that stay and give other probabilities, another class or another number."""
    found = change.diff.of_kind("value", "outcome")
    n_classes = len(change.diff.of_kind("outcome"))
    words = f"{counted(len(found), 'rule')} with other values"
    if n_classes:
        words += f", {n_classes} of them with another class"
    yield permitted(name, len(found), change.limit(name), words)


def splits(name: str, change: Change) -> Iterator[PolicyLine]:
    """The splits that changed in the way that the line is about."""
    kinds, singular, plural = _SPLITS[name]
    is_missing = name == "missing_sides"
    found = [each for each in change.diff.splits if each.kind in kinds or (is_missing and each.moves_missing)]
    n_splits = sum(_n_splits(each) for each in found)
    words = f"{n_splits or 'no'} {singular if n_splits == 1 else plural}"
    if found:
        texts = [_missing_text(each) if is_missing else _split_text(each) for each in found]
        words += f": {joined(texts, MOST_NAMED)}"
    if name != "new_splits":
        words += _replaced_text(change)
    yield permitted(name, n_splits, change.limit(name), words)


def _n_splits(change: SplitChange) -> int:
    """How many splits a change is: all below one that is new, replaced or gone are so too."""
    if change.is_move:
        return 1
    return change.n_gone if change.kind == "gone" else change.n_new


def _replaced_text(change: Change) -> str:
    """That splits of replaced parts of the tree are counted as new: they neither move nor are they gone."""
    n_replaced = sum(each.n_gone for each in change.diff.splits if each.kind == "replaced")
    if not n_replaced:
        return ""
    are = "is replaced, which counts" if n_replaced == 1 else "are replaced, which counts"
    return f"; {counted(n_replaced, 'split')} {are} under new_splits alone"


def new_root(name: str, change: Change) -> Iterator[PolicyLine]:
    """Whether the tree asks about another column first."""
    before, after = (_first_column(tree) for tree in (change.diff.old, change.diff.new))
    same = change.diff.same_root
    words = f"the tree asks about {after} first{', as before' if same else f', and asked about {before}'}"
    yield permitted(name, int(not same), change.limit(name), words)


def _split_text(split: SplitChange) -> str:
    before, after = (
        "a leaf" if each is None else shown("condition_text", each) for each in (split.old, split.new)
    )
    share = f" ({percent_text(split.share)} of the range)" if split.kind == "threshold" else ""
    return f"{before} becomes {after}{share}"


def _missing_text(split: SplitChange) -> str:
    before, after = (shown("condition_text", each) for each in (split.old, split.new) if each is not None)
    side = "yes" if split.new is not None and split.new.missing else "no"
    told = before if before == after else f"{before} becomes {after}"
    return f"{told} (missing values now go to {side})"


def _first_column(tree: Tree) -> str:
    return "nothing" if tree.n_leaves == 1 else printable(tree.schema.features[int(tree.feature[0])].name)


# -- how much may change ----------------------------------------------------------------------------------


def max_changed_rules(name: str, change: Change) -> Iterator[PolicyLine]:
    """The number of rules with other conditions or another class, new ones and those that are gone."""
    found = [each for each in change.diff.changes if {*each.kinds} - UNCOUNTED]
    rules = f"{counted(len(found), 'rule')} of {change.diff.old.n_leaves}"
    yield at_most(name, len(found), change.limit(name), _rules_text(rules, found))


def _rules_text(rules: str, found: Sequence[RuleChange]) -> str:
    alone = [(kind, sum(kind in each.kinds for each in found)) for kind in ("new", "gone")]
    parts = [f"{number} {kind}" for kind, number in alone if number]
    return f"{rules} changed" + (f", {' and '.join(parts)}" if parts else "")


def max_threshold_shift(name: str, change: Change) -> Iterator[PolicyLine]:
    """The farthest that a threshold moves, as a fraction of the range of its column."""
    moved = sorted(change.diff.moved_thresholds, key=lambda each: -each.share)
    words = _split_text(moved[0]) if moved else "no threshold moves"
    words += _replaced_text(change)
    yield at_most(name, moved[0].share if moved else 0.0, change.limit(name), words)


def max_distance(name: str, change: Change) -> Iterator[PolicyLine]:
    """The distance between the trees."""
    distance = change.diff.distance
    words = f"distance of the trees, label weight {distance.label_weight:g}"
    yield at_most(name, distance.total, change.limit(name), words)


def threshold_intervals(name: str, change: Change) -> Iterator[PolicyLine]:
    """For each column that has an interval, the new threshold that is farthest out of it."""
    for column, interval in change.policy.threshold_intervals.items():
        old, new = (_thresholds(tree, column) for tree in (change.diff.old, change.diff.new))
        added = [each for each in new if not any(is_same_threshold(each, other) for other in old)]
        if not added:
            words = f"no new threshold on {printable(column)}"
            yield PolicyLine(name, printable(column), None, interval, "within", "passed", words)
            continue
        farthest = max(added, key=lambda each: (max(interval[0] - each, each - interval[1]), each))
        yield within(name, farthest, interval, _outside_text(column, added, interval), printable(column))


def _outside_text(column: str, added: list[float], interval: Interval) -> str:
    texts = joined([number_text(each) for each in added], MOST_NAMED)
    n_outside = sum(not interval[0] <= each <= interval[1] for each in added)
    outside = "" if len(added) == 1 else f", {n_outside} of them outside"
    return f"new thresholds on {printable(column)}: {texts}{outside}"


def _thresholds(tree: Tree, column: str) -> list[float]:
    """The thresholds of the tree on a numeric column, each once, in their order."""
    features = {feature.name: place for place, feature in enumerate(tree.schema.features)}
    if column not in features:
        raise PolicyError(
            f"The line threshold_intervals names the column {column!r}, which the trees do not know: "
            f"{nearest(column, features)}"
        )
    feature = tree.schema.features[features[column]]
    if feature.kind != "numeric":
        raise PolicyError(
            f"The line threshold_intervals names the column {column!r}, which is {feature.kind}: an interval "
            "is for a column of numbers. The line categories says whether categories may change sides."
        )
    asked = (tree.feature != LEAF) & (tree.feature == features[column])
    return [each for each in np.unique(tree.threshold[asked]).tolist() if each < KNOWN]
