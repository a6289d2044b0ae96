"""All questions of some trees, numbered in the order that breaks ties, and the rows as answers to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from holdfast.arrays import FloatArray, IntArray, LongArray
from holdfast.data.schema import Feature
from holdfast.data.table import Table
from holdfast.distance.costs import fraction_of_range
from holdfast.distance.packing import freeze_fields
from holdfast.kernels.centring.problem import Nodes, Questions
from holdfast.kernels.centring.rules import UNIT as COORDINATES
from holdfast.tree.builder import Nodes as LooseNodes
from holdfast.tree.builder import build_preorder
from holdfast.tree.tree import LEAF, Tree


class Asked(NamedTuple):
    """A question as trees ask it. Their order breaks ties: by the name of the feature, then by the cut."""

    place: int  # of the feature, in the order of names
    threshold: float  # 0 for a set
    categories: tuple[bool, ...]  # who goes left; empty for a range
    missing_left: bool


def asked_at(tree: Tree, node: int, place: LongArray) -> Asked:
    """The question of an inner node."""
    feature = int(tree.feature[node])
    if tree.set_start[node] >= 0:
        flags = tuple(map(bool, tree.left_categories(node)))
        return Asked(int(place[feature]), 0.0, flags, bool(tree.missing_left[node]))
    return Asked(int(place[feature]), float(tree.threshold[node]), (), bool(tree.missing_left[node]))


def places_of(table: Table) -> LongArray:
    """For every feature its place in the order of names."""
    place = np.empty(table.n_features, np.int64)
    place[list(table.schema.name_order)] = np.arange(table.n_features)
    return place


@dataclass(frozen=True, eq=False)
class QuestionList:
    """All questions of some trees, and the table whose rows they tell apart."""

    table: Table
    place: LongArray
    asked: list[Asked]
    number: dict[Asked, int]
    packed: Questions
    cuts: list[FloatArray]  # of every feature, in the order of names

    @classmethod
    def of(cls, trees: Sequence[Tree], table: Table) -> "QuestionList":
        """The questions of the trees, each once."""
        place = places_of(table)
        found = {
            asked_at(tree, int(node), place)
            for tree in trees
            for node in np.flatnonzero(tree.feature != LEAF)
        }
        asked = sorted(found)
        cuts = [np.unique([each.threshold for each in asked if each.place == i]) for i in range(len(place))]
        packed = _packed_questions(asked, cuts, table)
        return cls(table, place, asked, {each: i for i, each in enumerate(asked)}, packed, cuts)

    def bins(self) -> IntArray:
        """The bin of every row for each feature, (features, rows), in the order of names."""
        columns = [self.table.columns[i] for i in self.table.schema.name_order]
        packed = self.packed
        each = zip(columns, self.cuts, packed.n_bins, packed.n_categories, strict=True)
        return np.stack([_bins(*feature) for feature in each])

    def nodes_of(self, tree: Tree, n_nodes: int) -> Nodes:
        """The tree by the numbers of its questions, with room for so many nodes."""
        ask, right = np.full(n_nodes, LEAF, np.int64), np.zeros(n_nodes, np.int64)
        for node in np.flatnonzero(tree.feature != LEAF):
            ask[node] = self.number[asked_at(tree, int(node), self.place)]
            right[node] = tree.right[node]
        return Nodes(ask, right)

    def tree_of(self, nodes: Nodes, n_leaves: int) -> Tree:
        """The tree that the nodes make, without values, on the schema of the table."""
        n_nodes, n_values = 2 * n_leaves - 1, max(len(self.table.schema.target.classes), 1)
        order = self.table.schema.name_order
        feature, threshold = np.full(n_nodes, LEAF, np.int32), np.full(n_nodes, np.nan)
        left, right = np.full(n_nodes, -1, np.int32), np.full(n_nodes, -1, np.int32)
        missing_left, sets = np.zeros(n_nodes, np.bool_), {}
        for node in range(n_nodes):
            if nodes.ask[node] == LEAF:
                continue
            asked = self.asked[nodes.ask[node]]
            feature[node], missing_left[node] = order[asked.place], asked.missing_left
            left[node], right[node] = node + 1, nodes.right[node]
            if asked.categories:
                sets[node] = np.array(asked.categories)
            else:
                threshold[node] = asked.threshold
        size = np.ones(n_nodes)  # as if every leaf had one row
        for node in range(n_nodes - 1, -1, -1):
            if nodes.ask[node] != LEAF:
                size[node] = size[node + 1] + size[nodes.right[node]]
        value, impurity = np.full((n_nodes, n_values), 1.0 / n_values), np.zeros(n_nodes)
        loose = LooseNodes(feature, threshold, left, right, missing_left, value, size, size, impurity, sets)
        return build_preorder(loose, self.table.schema)


def _packed_questions(asked: Sequence[Asked], cuts: Sequence[FloatArray], table: Table) -> Questions:
    """The questions for the kernel, the features in the order of names."""
    features = [table.schema.features[i] for i in table.schema.name_order]
    n_categories = np.array([len(each.categories) if each.is_subset else 0 for each in features], np.int64)
    place = np.array([each.place for each in asked], np.int64)
    n_bins = np.array([n if n else len(cut) + 1 for n, cut in zip(n_categories, cuts, strict=True)], np.int64)
    goes_left = np.zeros((len(asked), int(n_bins.max()) + 1), np.bool_)
    last_bin, cut_at = np.full(len(asked), -1, np.int64), np.zeros(len(asked))
    for i, each in enumerate(asked):
        f = each.place
        goes_left[i, n_bins[f]] = each.missing_left
        if n_categories[f]:
            goes_left[i, : n_categories[f]] = each.categories
        else:
            last_bin[i] = np.searchsorted(cuts[f], each.threshold)
            goes_left[i, : last_bin[i] + 1] = True
            cut_at[i] = _end(features[f], each.threshold)
    widths = np.where(n_categories > 0, n_categories, 2)
    first = np.searchsorted(place, np.arange(len(features) + 1)).astype(np.int64)
    coordinate = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    word = np.concatenate([[0], np.cumsum(-(-n_categories // 64))[:-1]]).astype(np.int64)
    packed = Questions(place, goes_left, last_bin, cut_at, first, coordinate, n_categories, n_bins, word)
    return freeze_fields(packed)


def _bins(column: FloatArray, cuts: FloatArray, n_bins: int, n_categories: int) -> IntArray:
    """The bin of every row: its category, or how many cuts lie below; the last one where it is missing.

    Of a feature that is not asked about, all rows are in the first bin.
    """
    if not len(cuts):
        return np.zeros(len(column), np.int32)
    missing = np.isnan(column)
    known = np.where(missing, 0.0, column)
    numbers = known.astype(np.int32) if n_categories else np.searchsorted(cuts, known, side="left")
    return np.where(missing, n_bins, numbers).astype(np.int32)


def _end(feature: Feature, value: float) -> float:
    """An end of a range as a coordinate: half of its fraction of the range."""
    if not feature.low < feature.high:
        return 0.0
    inside = min(max(value, feature.low), feature.high)
    return exact(fraction_of_range(inside, feature.low, feature.low, feature.high) / 2)


def exact(value: float) -> float:
    """The nearest coordinate, a multiple of a power of two, so that sums are not rounded."""
    return float(np.rint(value * COORDINATES) / COORDINATES)
