"""The top of a tree as a person prescribes it: from nodes, or from a tree whose inner nodes are taken."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.arrays import BoolArray, frozen
from holdfast.data.schema import Feature, Schema
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.growth.constraints import find_feature, read_first_depths, read_interaction_groups
from holdfast.growth.rules import GrowthRules
from holdfast.kernels.growth.guide import Top
from holdfast.text.lists import listed
from holdfast.tree.tree import LEAF, Tree

NONE = -1
FIELDS = ("feature", "threshold", "categories", "missing_left", "left", "right")


@dataclass(frozen=True, eq=False)
class PrescribedSplit:
    """One prescribed split; children by number, NONE where growth is free."""

    feature: Feature
    threshold: float  # NaN where the split is a set
    goes_left: BoolArray | None  # one flag per category
    missing_left: bool | None  # None: with the side of more rows
    left: int = NONE
    right: int = NONE

    def sends_left(self, column: Any) -> BoolArray:
        """Flag the rows that go left, where the value is known."""
        known = np.where(np.isnan(column), 0.0, column)
        if self.goes_left is not None:
            return np.asarray(self.goes_left[known.astype(np.int64)], np.bool_)
        return np.asarray(known <= self.threshold, np.bool_)


def make_top(table: Table, rules: GrowthRules) -> Top:
    """Convert prescribed splits for the kernel; a ParameterError if the table cannot be split so."""
    schema = table.schema
    splits = read_first_splits(schema, rules.first_splits)
    _check_limits(schema, rules, splits)
    sides = _missing_sides(table, splits)
    place = {schema.names[position]: number for number, position in enumerate(schema.name_order)}
    first = len(schema.columns) if rules.custom_features_only else 0
    flags = [np.empty(0, np.bool_) if each.goes_left is None else each.goes_left for each in splits]
    ends = np.cumsum([len(each) for each in flags])
    return Top(
        feature=_whole([place[each.feature.name] - first for each in splits]),
        cut=_whole([_cut(table, each) for each in splits]),
        missing_left=_whole(sides),
        left=_whole([each.left for each in splits]),
        right=_whole([each.right for each in splits]),
        set_start=frozen((ends - [len(each) for each in flags]).astype(np.int64)),
        in_set=frozen(np.concatenate(flags).astype(np.int8)),
        threshold=frozen(np.array([each.threshold for each in splits], np.float64)),
    )


def _whole(numbers: Sequence[int]) -> Any:
    return frozen(np.array(numbers, np.int64))


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
                f"first_splits asks {split.feature.name!r} of {int(here.sum())} rows, and all of them go to "
                "one side: prescribe another threshold or set, or leave the split out."
            )
        sides[number] = int(missing_left)
        waiting += [
            (child, here & side)
            for child, side in ((split.left, goes_left), (split.right, ~goes_left))
            if child != NONE
        ]
    return sides


# -- what is written ------------------------------------------------------------------------------------


def read_first_splits(schema: Schema, given: Any) -> list[PrescribedSplit]:
    """Read splits, the root first, from a tree, a list of nodes, or a nested root."""
    if isinstance(given, Tree):
        return _from_tree(schema, given)
    if isinstance(given, Mapping):
        nodes: list[Mapping[str, Any]] = []
        _unfold(given, nodes)
        return [_read(schema, node) for node in nodes]
    if isinstance(given, Sequence) and not isinstance(given, str) and len(given):
        splits = [_read(schema, node) for node in given]
        children = [child for split in splits for child in (split.left, split.right) if child != NONE]
        if sorted(children) != list(range(1, len(splits))) or len(place_first_splits(splits)) < len(splits):
            raise ParameterError(
                f"first_splits has {len(splits)} splits, and as children {sorted(children)}: each but the "
                "first must be the left or right of one."
            )
        return splits
    raise ParameterError(
        f"first_splits={given!r} prescribes nothing: give {{'feature': 'age', 'threshold': 60}}, with "
        "further splits as its 'left' and 'right', a list of such with children by number, or a tree."
    )


def _unfold(node: Any, nodes: list[Mapping[str, Any]]) -> int:
    """Append a split and those within it to the list; return its number."""
    number = len(nodes)
    nodes.append({})
    own = dict(node) if isinstance(node, Mapping) else {"feature": node}
    for side in ("left", "right"):
        own[side] = NONE if own.get(side) is None else _unfold(own[side], nodes)
    nodes[number] = own
    return number


def _read(schema: Schema, node: Any) -> PrescribedSplit:
    if not isinstance(node, Mapping) or not set(node) <= set(FIELDS) or "feature" not in node:
        raise ParameterError(f"first_splits has {node!r}: a split is a dictionary with {listed(FIELDS)}.")
    feature = find_feature(schema, node["feature"], "first_splits")
    threshold, categories = node.get("threshold"), node.get("categories")
    if (threshold is None) == (categories is None):
        raise ParameterError(
            f"first_splits asks {feature.name!r} with threshold={threshold!r} and categories={categories!r}: "
            "give one of the two."
        )
    children = [NONE if node.get(side) is None else int(node[side]) for side in ("left", "right")]
    missing_left = node.get("missing_left")
    if categories is None and not feature.is_subset:
        return PrescribedSplit(feature, float(node["threshold"]), None, missing_left, *children)
    flags = _flags(feature, node.get("categories"))
    if feature.kind == "ordered":
        if flags[1:].any() and (flags[1:] & ~flags[:-1]).any():
            raise ParameterError(
                f"first_splits sends {listed(node['categories'])} of {feature.name!r} left: of ordered "
                "categories these must be the first few."
            )
        return PrescribedSplit(feature, float(flags.sum()) - 0.5, None, missing_left, *children)
    return PrescribedSplit(feature, float("nan"), flags, missing_left, *children)


def _flags(feature: Feature, categories: Any) -> BoolArray:
    if feature.kind == "numeric" or isinstance(categories, str) or not isinstance(categories, Sequence | set):
        raise ParameterError(
            f"first_splits asks {feature.name!r}, which is {feature.kind}: give "
            f"{'a threshold' if feature.kind == 'numeric' else 'a list of the categories that go left'}."
        )
    strange = [label for label in categories if label not in feature.categories]
    if strange:
        raise ParameterError(
            f"first_splits sends {listed(strange)} of {feature.name!r} left: its categories are "
            f"{listed(feature.categories)}."
        )
    return np.array([label in categories for label in feature.categories], np.bool_)


def _from_tree(schema: Schema, tree: Tree) -> list[PrescribedSplit]:
    """List the inner nodes of a tree with the same columns."""
    inner = np.flatnonzero(tree.feature != LEAF).tolist()
    number = {node: i for i, node in enumerate(inner)}
    if not inner:
        raise ParameterError("first_splits is a tree of one leaf: it prescribes nothing.")
    splits = []
    for node in inner:
        own = tree.schema.features[tree.feature[node]]
        feature = find_feature(schema, own.name, "first_splits")
        if feature.kind != own.kind:
            raise ParameterError(
                f"first_splits asks {own.name!r}, which is {own.kind} in the tree and {feature.kind} in the "
                "data: read both alike."
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


# -- what contradicts it --------------------------------------------------------------------------------


def _check_limits(schema: Schema, rules: GrowthRules, splits: Sequence[PrescribedSplit]) -> None:
    depths, (groups, most_together) = read_first_depths(schema, rules), read_interaction_groups(schema, rules)
    deepest, waiting = 0, [(0, 0, frozenset[str]())]
    while waiting:
        number, depth, above = waiting.pop()
        split = splits[number]
        name, deepest = split.feature.name, max(deepest, depth + 1)
        position = schema.names.index(name)
        if rules.custom_features_only and split.feature.kind != "question":
            raise ParameterError(
                f"first_splits asks {name!r}, and custom_features_only=True splits by custom features "
                "alone: leave one of the two out."
            )
        if depths is not None and depths[position] > depth:
            raise ParameterError(
                f"first_splits asks {name!r} after {depth} splits, and excluded_features does not allow it "
                "there: leave one of the two out."
            )
        asked = above | {name}
        own = [schema.names.index(each) for each in asked]
        if len(asked) > most_together or (groups is not None and not groups[:, own].all(axis=1).any()):
            raise ParameterError(
                f"first_splits asks {listed(sorted(asked))} on one path, and interaction_cst does not allow "
                "them together: leave one of the two out."
            )
        waiting += [(child, depth + 1, asked) for child in (split.left, split.right) if child != NONE]
    for limit, least in (("max_depth", deepest), ("max_leaf_nodes", len(splits) + 1)):
        value = getattr(rules, limit)
        if value is not None and value < least:
            raise ParameterError(f"{limit}={value} leaves no room for first_splits, which need {least}.")
