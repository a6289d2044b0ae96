"""What can reach a node: for each feature asked about on the way, the values that get past the questions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from holdfast.arrays import BoolArray
from holdfast.data.schema import Feature
from holdfast.tree.tree import KNOWN, LEAF, Tree


@dataclass(frozen=True, eq=False)
class Region:
    """The values of one feature that get past one or more questions."""

    feature: Feature
    low: float  # of a numeric feature: low < value <= high
    high: float
    allowed: BoolArray  # of any other: one flag per category
    missing: bool  # does a missing value get past?

    @property
    def is_empty(self) -> bool:
        """True if no known value gets past."""
        return self.low >= self.high if self.feature.kind == "numeric" else not self.allowed.any()

    @property
    def is_whole(self) -> bool:
        """True if every known value gets past."""
        if self.feature.kind == "numeric":
            return self.low == -inf and self.high >= KNOWN
        return bool(self.allowed.all())

    @property
    def is_impossible(self) -> bool:
        """True if nothing gets past."""
        return self.is_empty and not self.missing

    def within(self, other: "Region") -> "Region":
        """The values that get past both."""
        return Region(
            self.feature,
            max(self.low, other.low),
            min(self.high, other.high),
            self.allowed & other.allowed,
            self.missing and other.missing,
        )

    def among(self, reaching: "Region") -> "Region":
        """The same region of a smaller world: the one without the categories that cannot come this far."""
        missing = self.missing and reaching.missing
        if self.feature.kind in ("numeric", "question"):
            return replace(self, missing=missing)
        labels = zip(self.feature.categories, reaching.allowed, strict=True)
        feature = replace(self.feature, categories=tuple(label for label, is_in in labels if is_in))
        return replace(self, feature=feature, allowed=self.allowed[reaching.allowed], missing=missing)


def answer_region(tree: Tree, node: int, side: bool) -> Region:
    """What gets past the question of the node on its yes side (True, left) or its no side."""
    feature = tree.schema.features[tree.feature[node]]
    threshold = min(float(tree.threshold[node]), KNOWN)
    if feature.kind == "numeric":
        allowed: BoolArray = np.zeros(0, np.bool_)
    elif feature.kind == "ordered":
        allowed = (np.arange(len(feature.categories)) <= threshold) == side
    else:
        allowed = tree.left_categories(node) == side
    low, high = (-inf, threshold) if side else (threshold, KNOWN)
    return Region(feature, low, high, allowed, bool(tree.missing_left[node]) == side)


def regions_at(tree: Tree, node: int) -> dict[int, Region]:
    """What can reach the node, for each feature asked about on the way, in the order of asking."""
    way = []
    while (parent := int(tree.parent[node])) != -1:
        way.append((parent, bool(tree.left[parent] == node)))
        node = parent
    regions: dict[int, Region] = {}
    for ancestor, side in reversed(way):
        feature, region = int(tree.feature[ancestor]), answer_region(tree, ancestor, side)
        regions[feature] = region.within(regions[feature]) if feature in regions else region
    return regions


def reaching(tree: Tree) -> Iterator[Mapping[int, Region]]:
    """As `regions_at` for all nodes, one after the other. Each is good until the next one is asked for."""
    regions: dict[int, Region] = {}
    # For each question on the way: its feature, and what was known of it before.
    undone: list[tuple[int, Region | None]] = []
    yield regions
    for node in range(1, tree.n_nodes):
        while len(undone) >= tree.node_depth[node]:
            feature, before = undone.pop()
            if before is None:
                del regions[feature]
            else:
                regions[feature] = before
        parent = int(tree.parent[node])
        feature = int(tree.feature[parent])
        region = answer_region(tree, parent, bool(tree.left[parent] == node))
        before = regions.get(feature)
        undone.append((feature, before))
        regions[feature] = region.within(before) if before is not None else region
        yield regions


def known_before(tree: Tree) -> dict[int, Region]:
    """For every node that asks about a feature again: what of the feature can reach it."""
    asked = zip(tree.feature.tolist(), reaching(tree), strict=True)
    return {
        node: regions[feature]
        for node, (feature, regions) in enumerate(asked)
        if feature != LEAF and feature in regions
    }
