"""Conditions and rules of a tree as plain data, from which texts, distances and exports are made."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from holdfast._text import label_text, number_text, probability_text, rounded_percent
from holdfast.data.schema import Feature, Label, Target
from holdfast.data.survival import join_value, name_survival, survive_horizon
from holdfast.tree.monotone import compute_threshold
from holdfast.tree.stats import format_statistic, parse_quantile, positive_class
from holdfast.tree.tree import KNOWN, LEAF, Tree

if TYPE_CHECKING:
    from holdfast.tree.ensemble import Ensemble


@dataclass(frozen=True, repr=False)
class Condition:
    """The allowed values of one feature.

    >>> age = Condition(Feature("age", low=18.0, high=90.0), low=30.0)
    >>> age, age.bounds
    (<Condition: age > 30>, (30.0, 90.0))
    """

    feature: Feature
    low: float = -inf  # low < value <= high; for ordered features positions of categories; unused for nominal
    high: float = inf
    categories: tuple[Label, ...] = ()  # allowed ones in the order of the feature; empty if it is numeric
    missing: bool = False  # are missing values allowed?
    # Of the training rows, if known: how many have a value, how many lack one (NaN: some), and the categories
    # that occur. They affect texts only.
    n_known: float | None = field(default=None, compare=False)
    n_missing: float | None = field(default=None, compare=False)
    seen: tuple[Label, ...] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        from holdfast.tree.rules_text import condition_text

        return f"<Condition: {condition_text(self, missing=True)}>"

    @property
    def name(self) -> str:
        """Name of the feature."""
        return self.feature.name

    @property
    def is_empty(self) -> bool:
        """True if no known value is allowed."""
        return self.low >= self.high if self.feature.kind == "numeric" else not self.categories

    @property
    def is_whole(self) -> bool:
        """True if every known value is allowed."""
        if self.feature.kind == "numeric":
            return self.low == -inf and self.high == inf
        return len(self.categories) == len(self.feature.categories)

    @cached_property
    def allows_all(self) -> bool:
        """True if every value is allowed, missing values included."""
        return self.missing and self.is_whole

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound within the range of a numeric or ordered feature."""
        least, most = self.feature.low, self.feature.high
        return min(max(self.low, least), most), min(max(self.high, least), most)

    @property
    def has_missing_rows(self) -> bool:
        """True if missing values are allowed and a training row lacked the value."""
        return self.missing and self.n_missing is not None and self.n_missing != 0

    @property
    def restricts(self) -> bool:
        """True if it excludes part of the schema's range or categories, and so counts in distances."""
        if self.feature.is_subset:
            return not self.is_whole
        return self.bounds != (self.feature.low, self.feature.high)

    def within(self, outer: "Condition") -> "Condition":
        """Intersect two conditions; an empty interval keeps a place inside the outer one."""
        categories = self.categories
        if categories:
            allowed = set(outer.categories)
            categories = tuple(label for label in categories if label in allowed)
        missing = self.missing and outer.missing
        counts = (
            (outer.n_known, outer.n_missing) if self.n_missing is None else (self.n_known, self.n_missing)
        )
        return Condition(
            self.feature,
            min(max(self.low, outer.low), outer.high),
            max(min(self.high, outer.high), outer.low),
            categories,
            missing,
            *(counts if missing else (None, None)),
            outer.seen if self.seen is None else self.seen,
        )


@dataclass(frozen=True, repr=False)
class Rule:
    """A root-to-leaf conjunction of conditions with its prediction; "path" in the paper on distances."""

    conditions: tuple[Condition, ...]  # one for each restricted feature, in the order of the splits
    target: Target
    outcome: Label | float  # the predicted class, or the mean or quantile
    value: tuple[float, ...]  # fractions of the target's classes; or the number alone
    leaf: int  # its node
    count: float  # rows that reached the leaf
    weight: float  # their weight
    fraction: float  # of all rows
    statistic: str = ""  # "median", "0.9 quantile" or "5-year survival" where it predicts one

    def __repr__(self) -> str:
        return f"<Rule: {self}>"

    def __str__(self) -> str:
        from holdfast.tree.rules_text import rule_text

        return rule_text(self)

    @property
    def predicted(self) -> int:
        """Index of the predicted class; 0 for a number."""
        return self.target.classes.index(self.outcome) if self.target.is_classes else 0

    def condition(self, name: str) -> Condition | None:
        """Return the condition on the feature of this name; None if it is unrestricted."""
        return self._by_name.get(name)

    @cached_property
    def restrictions(self) -> dict[str, Condition]:
        """Conditions that count in distances, by feature name."""
        return {each.feature.name: each for each in self.conditions if each.restricts}

    @cached_property
    def _by_name(self) -> dict[str, Condition]:
        return {each.feature.name: each for each in self.conditions}


def tree_rules(tree: Tree) -> tuple[Rule, ...]:
    """List the rules of a tree.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    tuple of Rule
        One per leaf, from the all-yes leaf to the all-no leaf.

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"]))
    >>> [(rule.condition("x0").bounds, rule.outcome) for rule in tree_rules(tree)]
    [((20.0, 40.0), 'no'), ((40.0, 60.0), 'yes')]
    """
    is_leaf = (tree.feature == LEAF).tolist()
    return tuple(
        _rule(tree, node, conditions)
        for node, conditions in enumerate(iterate_conditions(tree))
        if is_leaf[node]
    )


def _rule(tree: Tree, leaf: int, conditions: Mapping[int, Condition]) -> Rule:
    target, value = tree.schema.target, tree.value[leaf].tolist()
    return Rule(
        conditions=tuple(
            [
                count_rows(tree, leaf, feature, condition)
                for feature, condition in conditions.items()
                if not condition.allows_all
            ]
        ),
        target=target,
        outcome=target.classes[int(tree.outcome[leaf])] if target.is_classes else value[0],
        value=tuple(value),
        leaf=leaf,
        count=float(tree.count[leaf]),
        weight=float(tree.weight[leaf]),
        fraction=fraction_of_rows(tree, leaf),
        statistic=format_leaf_statistic(tree),
    )


def fraction_of_rows(tree: Tree, node: int) -> float:
    """Return the fraction of all rows that reached the node; 0 if the tree has no counts."""
    return float(tree.count[node]) / float(tree.count[0]) if tree.count[0] else 0.0


# -- conditions at nodes ----------------------------------------------------------------------------------


def split_condition(tree: Tree, node: int, side: bool) -> Condition:
    """Return the condition of an inner node's split on its yes (left) or no side."""
    index = int(tree.feature[node])
    feature, child = tree.schema.features[index], (tree.left if side else tree.right)[node]
    missing = bool(tree.missing_left[node]) == side
    if feature.is_subset:
        flags = zip(feature.categories, tree.left_categories(node).tolist(), strict=True)
        allowed = tuple(label for label, goes_left in flags if goes_left == side)
        condition = Condition(feature, categories=allowed, missing=missing, seen=_seen(tree, node, feature))
        return count_rows(tree, int(child), index, condition)
    threshold = float(tree.threshold[node])
    if threshold >= KNOWN:  # every number is at most this
        threshold = inf
    low, high = (-inf, threshold) if side else (threshold, inf)
    allowed = tuple(label for place, label in enumerate(feature.categories) if low < place <= high)
    return count_rows(tree, int(child), index, Condition(feature, low, high, allowed, missing))


def count_rows(tree: Tree, node: int, feature: int, condition: Condition) -> Condition:
    """Add counts of known and missing values at the node to the condition."""
    if tree.not_recorded is None or not condition.missing:
        return condition
    n_missing = tree.rows_not_recorded.get((node, feature), 0.0)
    if n_missing == condition.n_missing == 0.0:
        return condition  # which leaves of a deep tree share
    return replace(condition, n_known=float(tree.count[node]) - n_missing, n_missing=n_missing)


def _seen(tree: Tree, node: int, feature: Feature) -> tuple[Label, ...] | None:
    """Return the categories of the rows that reached the node; None if unknown."""
    if tree.seen is None:
        return None
    start = int(tree.set_start[node])
    flags = tree.seen[start : start + len(feature.categories)].tolist()
    return tuple(label for label, is_seen in zip(feature.categories, flags, strict=True) if is_seen)


def list_conditions(tree: Tree, node: int) -> dict[int, Condition]:
    """List the conditions on the way to the node, one per feature, in order of first use."""
    way = []
    while (parent := int(tree.parent[node])) != -1:
        way.append((parent, bool(tree.left[parent] == node)))
        node = parent
    conditions: dict[int, Condition] = {}
    for ancestor, side in reversed(way):
        feature, condition = int(tree.feature[ancestor]), split_condition(tree, ancestor, side)
        conditions[feature] = condition.within(conditions[feature]) if feature in conditions else condition
    return conditions


def iterate_conditions(tree: Tree) -> Iterator[Mapping[int, Condition]]:
    """Iterate over the conditions of all nodes; each result is valid until the next."""
    conditions: dict[int, Condition] = {}
    # For each split on the path: its feature, and the condition on it before.
    undone: list[tuple[int, Condition | None]] = []
    yield conditions
    parents, lefts, features = tree.parent.tolist(), tree.left.tolist(), tree.feature.tolist()
    for node, depth in enumerate(tree.node_depth.tolist()[1:], 1):
        while len(undone) >= depth:
            feature, before = undone.pop()
            if before is None:
                del conditions[feature]
            else:
                conditions[feature] = before
        parent = parents[node]
        feature = features[parent]
        condition = split_condition(tree, parent, lefts[parent] == node)
        before = conditions.get(feature)
        undone.append((feature, before))
        conditions[feature] = condition.within(before) if before is not None else condition
        yield conditions


def find_known_values(tree: Tree) -> dict[int, Condition]:
    """For nodes that split on a feature again, find which of its values can reach them."""
    nodes = zip(tree.feature.tolist(), iterate_conditions(tree), strict=True)
    return {
        node: conditions[feature]
        for node, (feature, conditions) in enumerate(nodes)
        if feature != LEAF and feature in conditions
    }


# -- Paths of nodes ------------------------------------------------------------------------------------------


def number_paths(tree: Tree) -> dict[int, int]:
    """Number the nodes by path: 1 is the root, 2 p and 2 p + 1 are the children of p."""
    path = {0: 1}
    for node in np.flatnonzero(tree.feature != LEAF).tolist():
        path[int(tree.left[node])], path[int(tree.right[node])] = 2 * path[node], 2 * path[node] + 1
    return {number: node for node, number in path.items()}


def find_paths_above(tree: Tree, nodes: Iterable[int]) -> frozenset[int]:
    """List the paths of some nodes and of all nodes above them."""
    path = {node: number for number, node in number_paths(tree).items()}
    return frozenset(path[node] >> up for node in nodes for up in range(path[node].bit_length()))


def subtree_sizes(tree: Tree) -> list[int]:
    """Count the nodes of each subtree."""
    size = [1] * tree.n_nodes
    for node in range(tree.n_nodes - 1, 0, -1):
        size[int(tree.parent[node])] += size[node]
    return size


def is_same_split(one: Tree, node: int, other: Tree, place: int) -> bool:
    """Return True if two nodes on one schema have the same split, or are both leaves."""
    return split_key(one, node) == split_key(other, place)


def split_key(tree: Tree, node: int) -> tuple[object, ...]:
    """Make a key of a node's split; the same for all leaves."""
    feature = int(tree.feature[node])
    if feature == LEAF:
        return (LEAF,)
    is_set = bool(tree.set_start[node] >= 0)
    values = tree.left_categories(node).tolist() if is_set else [float(tree.threshold[node])]
    return (feature, bool(tree.missing_left[node]), is_set, *values)


def find_shared_paths(one: Tree, other: Tree) -> frozenset[int]:
    """List the paths with the same splits in two trees on one schema."""
    own, others = number_paths(one), number_paths(other)
    shared = {1}
    for path in sorted(own.keys() & others.keys() - {1}):
        above = path >> 1
        if above in shared and is_same_split(one, own[above], other, others[above]):
            shared.add(path)
    return frozenset(shared)


def find_common_leaves(tree: Tree, other: Tree) -> list[int]:
    """List leaves that another tree has at the same place with the same value."""
    own, others = number_paths(tree), number_paths(other)
    pairs = [(own[path], others[path]) for path in sorted(find_shared_paths(tree, other))]
    return [
        node
        for node, place in pairs
        if tree.feature[node] == other.feature[place] == LEAF
        and np.array_equal(tree.value[node], other.value[place])
    ]


# -- Predictions and notes as text ---------------------------------------------------------------------------


def format_outcome(tree: Tree, node: int) -> str:
    """Format the prediction of the node: class, mean, named quantile or survival, as in "median 3.5"."""
    if tree.schema.target.is_classes:
        return format_class_names(tree.schema.target)[int(tree.outcome[node])]
    return join_value(format_leaf_statistic(tree), format_value(tree, node))


def format_value(tree: Tree, node: int) -> str:
    """Format the number that a node predicts."""
    return value_text(tree.schema.target, float(tree.value[node, 0]))


def value_text(target: Target, value: float, digits: int = 4) -> str:
    """Format a predicted number; of a relative risk the survival to the horizon."""
    if target.hazard is not None:
        return rounded_percent(survive_horizon(target.hazard, value))
    return number_text(value, digits)


def format_leaf_statistic(tree: Tree) -> str:
    """Name what leaves predict: "median", "0.9 quantile", "5-year survival"; empty for means."""
    if tree.schema.target.hazard is not None:
        return name_survival(tree.schema.target.hazard)
    if tree.schema.target.is_classes or parse_quantile(tree.criterion) is None:
        return ""
    return format_statistic(tree.criterion)


WARNING = "Warning: "  # a note that begins with it stands before the tree


def list_warnings(model: "Tree | Ensemble") -> tuple[str, ...]:
    """List the notes that readers must see first."""
    return tuple(note for note in model.notes if note.startswith(WARNING))


def list_notes(model: "Tree | Ensemble") -> tuple[str, ...]:
    """List all notes below the model, with its decision rule if it is not the default."""
    notes = tuple(note for note in model.notes if not note.startswith(WARNING))
    decides = format_decision(model)
    return (*notes, decides) if decides else notes


def format_decision(model: "Tree | Ensemble", positive: Label | None = None) -> str:
    """Describe the probability threshold; empty if the most likely class is predicted.

    >>> from holdfast import TreeClassifier
    >>> model = TreeClassifier(threshold=0.25).fit([[1.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> format_decision(model.tree_)
    'a is predicted where its probability is at least 0.25.'
    """
    losses, target = model.loss_matrix, model.schema.target
    if losses is None or np.ptp(losses[~np.eye(len(losses), dtype=bool)]) == 0:
        return ""
    if len(losses) != 2:
        return "Errors cost different amounts: the class of least expected loss is predicted."
    place = positive_class(model, positive)
    assert place is not None  # of two classes
    threshold = probability_text(compute_threshold(losses, place))
    return f"{format_class_names(target)[place]} is predicted where its probability is at least {threshold}."


def format_class_names(target: Target) -> tuple[str, ...]:
    """Format the classes as distinct texts, even if 1 and "1" are two classes."""
    names = tuple(label_text(label) for label in target.classes)
    return names if len(set(names)) == len(names) else tuple(map(repr, target.classes))
