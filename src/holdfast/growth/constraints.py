"""Constraints of the growth rules, checked against a schema and converted for the kernels.

The rules hold them as the user wrote them, by name or position. Here they become one entry per feature.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, LongArray, freeze, scale_to_unit
from holdfast._check import is_integer
from holdfast._text import columns_text, quoted
from holdfast.data.custom_features import parse_custom_feature
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.rules import GrowthRules, is_guided
from holdfast.kernels.growth.constraints import Constraints, FirstSplits
from holdfast.tree.monotone import Monotone
from holdfast.tree.tree import LEAF, Tree

NEVER = 2**40  # splits that must come first


def make_monotone(schema: Schema, rules: GrowthRules) -> Monotone | None:
    """Make the monotone constraints of the rules; None if there are none."""
    given = rules.monotonic_cst
    if given is None:
        if rules.monotonic_class is not None:
            raise ParameterError(
                f"monotonic_class={rules.monotonic_class!r} names the class of monotonic_cst, which is not "
                "given: write monotonic_cst={'age': 1}, or leave the class out."
            )
        return None
    signs = _read_signs(schema, given)
    for feature, sign in signs.items():
        if sign and feature.kind == "nominal":
            raise ParameterError(
                f"monotonic_cst has a direction for {feature.name!r}, whose categories have no order: make "
                "it a number or an ordered categorical, or leave it out."
            )
    named = {feature.name for feature, sign in signs.items() if sign}
    for text in schema.custom_features:
        read = [name for name in list_columns_read(schema, text) if name in named]
        if read:
            raise ParameterError(
                f"monotonic_cst has a direction for {read[0]!r}, and the custom feature {text!r} reads it, "
                "which could break the direction: leave out one of the two."
            )
    directions = tuple((feature.name, sign) for feature, sign in signs.items() if sign)
    return Monotone(directions, _monotone_class(schema.target, rules)) if directions else None


def _read_signs(schema: Schema, given: Mapping[Any, int] | Sequence[int]) -> dict[Feature, int]:
    if isinstance(given, Mapping):
        return {find_feature(schema, key, "monotonic_cst"): sign for key, sign in given.items()}
    if len(given) != len(schema.columns):
        raise ParameterError(
            f"monotonic_cst has {len(given)} numbers and the data {len(schema.columns)} columns: give one "
            "per column, or name the columns: {'age': 1}."
        )
    return dict(zip(schema.columns, given, strict=True))


def _monotone_class(target: Target, rules: GrowthRules) -> Any:
    """Return the class whose fraction is constrained; None for regression."""
    named, classes = rules.monotonic_class, target.classes
    if not classes:
        if named is not None:
            raise ParameterError(
                f"monotonic_class={named!r} names a class, and the target {target.name!r} is a number: leave "
                "it out."
            )
        return None
    if named is not None and named not in classes:
        raise ParameterError(
            f"monotonic_class={named!r} is no class of {target.name!r}: these are {quoted(classes)}."
        )
    if named is None and len(classes) > 2:
        raise ParameterError(
            f"monotonic_cst needs one class, and {target.name!r} has {len(classes)}: "
            f"{quoted(classes)}. Name one: monotonic_class={classes[-1]!r}."
        )
    return classes[-1] if named is None else classes[classes.index(named)]


def make_score_rules(schema: Schema, rules: GrowthRules, output: int, n_outputs: int) -> GrowthRules:
    """Return the rules of trees for one score of an ensemble with one score, or one for each class.

    The fraction of a class rises if its score rises and all other scores fall.
    """
    monotone = make_monotone(schema, rules)
    if monotone is None or n_outputs == 1 or schema.target.classes[output] == monotone.outcome:
        return rules
    return rules.replace(monotonic_cst={name: -direction for name, direction in monotone.directions})


def make_score_monotone(schema: Schema, rules: GrowthRules) -> Monotone | None:
    """Make the constraints of a score: of a number, of the second of two classes, or of a class."""
    monotone = make_monotone(schema, rules)
    classes = schema.target.classes
    if monotone is None:
        return None
    factor = -1 if len(classes) == 2 and monotone.outcome == classes[0] else 1
    return Monotone(tuple((name, factor * direction) for name, direction in monotone.directions))


def make_regression_rules(schema: Schema, rules: GrowthRules) -> GrowthRules:
    """Return rules for predicting a number instead of the fraction of the second of two classes."""
    monotone = make_score_monotone(schema, rules)
    if monotone is None:
        return rules
    return rules.replace(monotonic_cst=dict(monotone.directions), monotonic_class=None)


def list_columns_read(schema: Schema, text: str) -> list[str]:
    """List the names of the columns that a custom feature reads."""
    return [schema.columns[position].name for position in parse_custom_feature(text, schema.columns).columns]


# -- features that may be split on ----------------------------------------------------------------------


def read_first_depths(schema: Schema, rules: GrowthRules) -> LongArray | None:
    """Return the least depth at which each feature may be split on; None if no feature is excluded.

    A custom feature may be split on where all columns that it reads may.
    """
    excluded = rules.excluded_features
    if excluded is None:
        return None
    items = excluded.items() if isinstance(excluded, Mapping) else ((key, None) for key in excluded)
    depth = dict.fromkeys(schema.names, 0)
    for key, least in items:
        depth[find_feature(schema, key, "excluded_features").name] = NEVER if least is None else int(least)
    for text in schema.custom_features:
        depth[text] = max(depth[text], *(depth[name] for name in list_columns_read(schema, text)))
    if min(depth.values()) >= NEVER:
        raise ParameterError(
            f"excluded_features={excluded!r} leaves nothing to split on: all of {quoted(schema.names)} are "
            "excluded."
        )
    return np.array([depth[name] for name in schema.names], np.int64)


def read_interaction_groups(schema: Schema, rules: GrowthRules) -> tuple[BoolArray | None, int]:
    """Return which features may occur on one path, a row per group, and how many at most.

    Features in no group form another group, as in scikit-learn.
    """
    given = rules.interaction_cst
    if given is None or isinstance(given, str):
        return None, {"no_interactions": 1, "pairwise": 2}.get(str(given), NEVER)
    positions = {name: position for position, name in enumerate(schema.names)}
    groups = np.zeros((len(given) + 1, len(schema.names)), np.bool_)
    for number, members in enumerate(given):
        for key in members:
            groups[number, positions[find_feature(schema, key, "interaction_cst").name]] = True
    groups[-1] = ~groups.any(axis=0)
    return groups if groups[-1].any() else groups[:-1], NEVER


def read_feature_costs(schema: Schema, rules: GrowthRules) -> FloatArray | None:
    """Return the cost of each feature; None if the rules have no costs.

    By default a column costs 1 and a custom feature the sum over the columns that it reads.
    """
    if rules.feature_costs is None:
        return None
    named = {
        find_feature(schema, key, "feature_costs").name: float(c) for key, c in rules.feature_costs.items()
    }
    cost = {name: named.get(name, 1.0) for name in schema.names}
    for text in schema.custom_features:
        if text not in named:
            cost[text] = sum(cost[name] for name in list_columns_read(schema, text))
    return np.array([cost[name] for name in schema.names])


def find_feature(schema: Schema, key: object, parameter: str) -> Feature:
    """Find a feature by name, or a column by position."""
    if is_integer(key):
        if not 0 <= int(key) < len(schema.columns):
            raise ParameterError(
                f"{parameter} names column {key}, and the columns are 0 to {len(schema.columns) - 1}."
            )
        return schema.columns[int(key)]
    for feature in schema.features:
        if feature.name == key:
            return feature
    raise ParameterError(
        f"{parameter} names {key!r}, which is no column. {columns_text([str(key)], schema.names)}"
    )


# -- Constraints for the kernels -----------------------------------------------------------------------------

NO_LIMIT = 2**40


def make_guide(table: Table, rules: GrowthRules) -> Constraints:
    """Make the constraints that the kernel observes while it grows a tree."""
    if not is_guided(rules):
        return make_empty_guide()
    schema = table.schema
    # Kernels sort columns by name; custom features come after all columns.
    order = np.array(schema.name_order, np.int64)
    if rules.custom_features_only:
        order = order[len(schema.columns) :]
    n_features = len(order)
    direction = np.empty(0, np.int8)
    if (monotone := make_monotone(schema, rules)) is not None:
        directions = dict(monotone.directions)
        direction = np.array([directions.get(name, 0) for name in schema.names], np.int8)[order]
        if len(schema.target.classes) == 2 and monotone.outcome == schema.target.classes[0]:
            direction = -direction  # of the second class
    depths, (groups, most_together), costs = (
        read_first_depths(schema, rules),
        read_interaction_groups(schema, rules),
        read_feature_costs(schema, rules),
    )
    cost = np.empty(0) if costs is None else costs[order] / costs[order].min()
    together = np.empty((0, n_features), np.uint8) if groups is None else groups[:, order].astype(np.uint8)
    return Constraints(
        is_set=1,
        direction=freeze(direction),
        first_depth=freeze(np.empty(0, np.int64) if depths is None else depths[order]),
        groups=freeze(together),
        most_together=most_together,
        cost=freeze(cost),
        first_splits=make_empty_top() if rules.first_splits is None else make_top(table, rules),
    )


@cache
def make_empty_guide() -> Constraints:
    """Make constraints that restrict nothing."""
    return Constraints(
        is_set=0,
        direction=freeze(np.empty(0, np.int8)),
        first_depth=freeze(np.empty(0, np.int64)),
        groups=freeze(np.empty((0, 0), np.uint8)),
        most_together=NO_LIMIT,
        cost=freeze(np.empty(0)),
        first_splits=make_empty_top(),
    )


@cache
def make_empty_top() -> FirstSplits:
    """Make an empty set of prescribed splits."""
    nothing = freeze(np.empty(0, np.int64))
    in_set, threshold = freeze(np.empty(0, np.int8)), freeze(np.empty(0))
    return FirstSplits(nothing, nothing, nothing, nothing, nothing, nothing, in_set, threshold)


def keep_interactions(guide: Constraints) -> Constraints:
    """Keep the constraints on which features may be split where; empty if there are none."""
    has_limits = len(guide.first_depth) or len(guide.groups) or guide.most_together < NO_LIMIT
    return guide if has_limits else make_empty_guide()


# -- Cost of a prediction ------------------------------------------------------------------------------------


def expected_cost(tree: Tree, feature_costs: Mapping[Any, float]) -> float:
    """Compute the mean cost of the features that a prediction needs, weighted by the training rows.

    Parameters
    ----------
    tree : Tree
    feature_costs : mapping
        Cost by column; 1 for others. A column is paid once per path. A custom feature costs the sum over the
        columns that it reads, unless it is named itself.

    Returns
    -------
    float

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0, 5.0], [1.0, 7.0], [2.0, 5.0], [2.0, 5.0]], ["a", "b", "c", "c"]))
    >>> expected_cost(tree, {"x1": 10.0})  # x0 of all rows, x1 of half of them
    6.0
    """
    leaves = np.flatnonzero(tree.feature == LEAF)
    weight, _ = scale_to_unit(tree.weight[leaves])
    if not weight.sum():
        return 0.0
    return float((compute_path_costs(tree, feature_costs)[leaves] * weight).sum() / weight.sum())


def compute_path_costs(tree: Tree, feature_costs: Mapping[Any, float]) -> FloatArray:
    """Compute for every node the cost of all features split on above it."""
    costs = read_feature_costs(tree.schema, GrowthRules(feature_costs=feature_costs))
    assert costs is not None
    price = dict(zip(tree.schema.names, costs.tolist(), strict=True))
    bought = [
        [name] if feature.kind != "custom" or name in feature_costs else list_columns_read(tree.schema, name)
        for name, feature in zip(tree.schema.names, tree.schema.features, strict=True)
    ]
    used: list[frozenset[str]] = [frozenset()] * tree.n_nodes
    for node, parent in enumerate(tree.parent.tolist()):  # preorder: a parent stands before its children
        if parent >= 0:
            used[node] = used[parent].union(bought[tree.feature[parent]])
    return np.array([sum(price[name] for name in sorted(names)) for names in used])


# -- Prescribed splits at the top of a tree ------------------------------------------------------------------

NONE = -1
FIELDS = ("feature", "threshold", "categories", "missing_left", "left", "right")


@dataclass(frozen=True, eq=False)
class PrescribedSplit:
    """One prescribed split; children by number, NONE where growth is free."""

    feature: Feature
    threshold: float  # NaN where the split is a set
    goes_left: BoolArray | None  # one flag per category
    missing_left: bool | None  # None: with the heavier side
    left: int = NONE
    right: int = NONE

    def sends_left(self, column: Any) -> BoolArray:
        """Flag the rows that go left, where the value is known."""
        known = np.where(np.isnan(column), 0.0, column)
        if self.goes_left is not None:
            return np.asarray(self.goes_left[known.astype(np.int64)], np.bool_)
        return np.asarray(known <= self.threshold, np.bool_)


def make_top(table: Table, rules: GrowthRules) -> FirstSplits:
    """Convert prescribed splits for the kernel; a ParameterError if the table cannot be split so."""
    schema = table.schema
    splits = read_first_splits(schema, rules.first_splits)
    _check_limits(schema, rules, splits)
    sides = _missing_sides(table, splits)
    place = {schema.names[position]: number for number, position in enumerate(schema.name_order)}
    first = len(schema.columns) if rules.custom_features_only else 0
    flags = [np.empty(0, np.bool_) if each.goes_left is None else each.goes_left for each in splits]
    ends = np.cumsum([len(each) for each in flags])
    return FirstSplits(
        feature=_whole([place[each.feature.name] - first for each in splits]),
        cut=_whole([_cut(table, each) for each in splits]),
        missing_left=_whole(sides),
        left=_whole([each.left for each in splits]),
        right=_whole([each.right for each in splits]),
        set_start=freeze((ends - [len(each) for each in flags]).astype(np.int64)),
        in_set=freeze(np.concatenate(flags).astype(np.int8)),
        threshold=freeze(np.array([each.threshold for each in splits], np.float64)),
    )


def _whole(numbers: Sequence[int]) -> Any:
    return freeze(np.array(numbers, np.int64))


def _cut(table: Table, split: PrescribedSplit) -> int:
    """Return the rank of the highest value that goes left."""
    if split.goes_left is not None:
        return 0
    column = table.columns[table.schema.names.index(split.feature.name)]
    values = np.unique(column[~np.isnan(column)])
    return int(np.searchsorted(values, split.threshold, side="right")) - 1


def _missing_sides(table: Table, splits: Sequence[PrescribedSplit]) -> list[int]:
    """Choose the side of missing values at each split; an error if a split has an empty side."""
    sides, waiting = [0] * len(splits), [(0, np.ones(table.n_rows, np.bool_))]
    counts = np.ones(table.n_rows) if table.weight is None else table.weight
    waiting[0] = (0, counts > 0)
    while waiting:
        number, here = waiting.pop()
        split = splits[number]
        column = table.columns[table.schema.names.index(split.feature.name)]
        known, left = ~np.isnan(column), split.sends_left(column)
        heavier = counts[here & known & left].sum() >= counts[here & known & ~left].sum()
        missing_left = bool(heavier) if split.missing_left is None else split.missing_left
        goes_left = np.where(known, left, missing_left)
        if not (here & goes_left).any() or not (here & ~goes_left).any():
            raise ParameterError(
                f"first_splits splits {int(here.sum())} rows on {split.feature.name!r}, and all of them go "
                "to one side: prescribe another threshold or set, or leave the split out."
            )
        sides[number] = int(missing_left)
        waiting += [
            (child, here & side)
            for child, side in ((split.left, goes_left), (split.right, ~goes_left))
            if child != NONE
        ]
    return sides


# -- parsing --------------------------------------------------------------------------------------------


def read_first_splits(schema: Schema, given: Any) -> list[PrescribedSplit]:
    """Read splits, the root first, from a tree, a list of nodes, or a nested root."""
    if isinstance(given, Tree):
        return _list_splits(schema, given)
    if isinstance(given, Mapping):
        nodes: list[Mapping[str, Any]] = []
        _flatten(given, nodes)
        return [_read_split(schema, node) for node in nodes]
    if isinstance(given, Sequence) and not isinstance(given, str) and len(given):
        splits = [_read_split(schema, node) for node in given]
        children = [child for split in splits for child in (split.left, split.right) if child != NONE]
        if sorted(children) != list(range(1, len(splits))) or len(place_first_splits(splits)) < len(splits):
            raise ParameterError(
                f"first_splits has {len(splits)} splits, and as children {sorted(children)}: each but the "
                "first must be the left or right of one."
            )
        return splits
    raise ParameterError(
        f"first_splits={given!r} is no split: give {{'feature': 'age', 'threshold': 60}}, with further "
        "splits as its 'left' and 'right', a list of such splits with children by number, or a tree."
    )


def _flatten(node: Any, nodes: list[Mapping[str, Any]]) -> int:
    """Append a split and those within it to the list; return its number."""
    number = len(nodes)
    nodes.append({})
    own = dict(node) if isinstance(node, Mapping) else {"feature": node}
    for side in ("left", "right"):
        own[side] = NONE if own.get(side) is None else _flatten(own[side], nodes)
    nodes[number] = own
    return number


def _read_split(schema: Schema, node: Any) -> PrescribedSplit:
    if not isinstance(node, Mapping) or not set(node) <= set(FIELDS) or "feature" not in node:
        raise ParameterError(f"first_splits has {node!r}: a split is a dictionary with {quoted(FIELDS)}.")
    feature = find_feature(schema, node["feature"], "first_splits")
    threshold, categories = node.get("threshold"), node.get("categories")
    if (threshold is None) == (categories is None):
        raise ParameterError(
            f"first_splits has a split on {feature.name!r} with threshold={threshold!r} and "
            f"categories={categories!r}: give one of the two."
        )
    children = [NONE if node.get(side) is None else int(node[side]) for side in ("left", "right")]
    missing_left = node.get("missing_left")
    if categories is None and not feature.is_subset:
        return PrescribedSplit(feature, float(node["threshold"]), None, missing_left, *children)
    flags = _flags(feature, node.get("categories"))
    if feature.kind == "ordered":
        if flags[1:].any() and (flags[1:] & ~flags[:-1]).any():
            raise ParameterError(
                f"first_splits sends {quoted(node['categories'])} of {feature.name!r} left: of ordered "
                "categories these must be the first few."
            )
        return PrescribedSplit(feature, float(flags.sum()) - 0.5, None, missing_left, *children)
    return PrescribedSplit(feature, float("nan"), flags, missing_left, *children)


def _flags(feature: Feature, categories: Any) -> BoolArray:
    if feature.kind == "numeric" or isinstance(categories, str) or not isinstance(categories, Sequence | set):
        raise ParameterError(
            f"first_splits has a split on {feature.name!r}, which is {feature.kind}: give "
            f"{'a threshold' if feature.kind == 'numeric' else 'a list of the categories that go left'}."
        )
    strange = [label for label in categories if label not in feature.categories]
    if strange:
        raise ParameterError(
            f"first_splits sends {quoted(strange)} of {feature.name!r} left: its categories are "
            f"{quoted(feature.categories)}."
        )
    return np.array([label in categories for label in feature.categories], np.bool_)


def _list_splits(schema: Schema, tree: Tree) -> list[PrescribedSplit]:
    """List the inner nodes of a tree with the same columns."""
    inner = np.flatnonzero(tree.feature != LEAF).tolist()
    number = {node: i for i, node in enumerate(inner)}
    if not inner:
        raise ParameterError("first_splits is a tree of one leaf: give a tree with at least one split.")
    splits = []
    for node in inner:
        own = tree.schema.features[tree.feature[node]]
        feature = find_feature(schema, own.name, "first_splits")
        if feature.kind != own.kind:
            raise ParameterError(
                f"first_splits has a split on {own.name!r}, which is {own.kind} in the tree and "
                f"{feature.kind} in the data: read both with the same types."
            )
        flags = None
        if own.is_subset:
            left = dict(zip(own.categories, tree.left_categories(node).tolist(), strict=True))
            flags = np.array(
                [left.get(label, bool(tree.missing_left[node])) for label in feature.categories], np.bool_
            )
        children = (number.get(int(child), NONE) for child in (tree.left[node], tree.right[node]))
        missing = bool(tree.missing_left[node])
        splits.append(PrescribedSplit(feature, float(tree.threshold[node]), flags, missing, *children))
    return splits


def place_first_splits(splits: Sequence[PrescribedSplit]) -> dict[int, int]:
    """Number the places of the splits: 1 is the root, 2 p and 2 p + 1 are below p."""
    paths, waiting = {0: 1}, [0]
    while waiting:
        number = waiting.pop()
        own = ((splits[number].left, 2 * paths[number]), (splits[number].right, 2 * paths[number] + 1))
        for child, path in own:
            if child != NONE and child not in paths:
                paths[child] = path
                waiting.append(child)
    return paths


# -- conflicts with other rules -------------------------------------------------------------------------


def _check_limits(schema: Schema, rules: GrowthRules, splits: Sequence[PrescribedSplit]) -> None:
    depths, (groups, most_together) = read_first_depths(schema, rules), read_interaction_groups(schema, rules)
    deepest, waiting = 0, [(0, 0, frozenset[str]())]
    while waiting:
        number, depth, above = waiting.pop()
        split = splits[number]
        name, deepest = split.feature.name, max(deepest, depth + 1)
        position = schema.names.index(name)
        if rules.custom_features_only and split.feature.kind != "custom":
            raise ParameterError(
                f"first_splits has a split on {name!r}, and custom_features_only=True splits on custom "
                "features only: leave one of the two out."
            )
        if depths is not None and depths[position] > depth:
            raise ParameterError(
                f"first_splits has a split on {name!r} after {depth} splits, and excluded_features does not "
                "allow it there: leave one of the two out."
            )
        together = above | {name}
        own = [schema.names.index(each) for each in together]
        if len(together) > most_together or (groups is not None and not groups[:, own].all(axis=1).any()):
            raise ParameterError(
                f"first_splits has splits on {quoted(sorted(together))} on one path, and interaction_cst "
                "does not allow them together: leave one of the two out."
            )
        waiting += [(child, depth + 1, together) for child in (split.left, split.right) if child != NONE]
    for limit, least in (("max_depth", deepest), ("max_leaf_nodes", len(splits) + 1)):
        value = getattr(rules, limit)
        if value is not None and value < least:
            raise ParameterError(f"{limit}={value} leaves no room for first_splits, which need {least}.")
