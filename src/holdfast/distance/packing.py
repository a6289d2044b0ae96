"""Pack trees into arrays for the distance kernel, on one schema and in one unit."""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from holdfast._arrays import FloatArray, LongArray, freeze
from holdfast.data.schema import Schema
from holdfast.distance.costs import DistanceSettings, by_horizon, value_fractions
from holdfast.errors import BrokenTreeError
from holdfast.kernels.distance.assignment import AT_ONCE, Prices
from holdfast.kernels.distance.distances import DistanceScratch, Packed
from holdfast.kernels.distance.rules import (
    UNDO,
    Cuts,
    Edges,
    FeatureScales,
    Forest,
    allocate_edges,
    lay_out,
    lay_profiles,
    place_profiles,
    walk,
)
from holdfast.kernels.jit import for_little_work
from holdfast.tree.check import TOLERANCE
from holdfast.tree.tree import LEAF, Tree

FEW_LEAVES = 64  # of two trees that Python compares before numba is imported, in some 50 ms
UNIT_BITS = 44  # a unit is 2 ** -44 of a feature's range, or more where sums would not fit
SUM_BITS = 59

_T = TypeVar("_T", bound=tuple[Any, ...])
_F = TypeVar("_F", bound=Callable[..., Any])


def pack(trees: Sequence[Tree], settings: DistanceSettings) -> tuple[Packed, float]:
    """Pack trees on one schema for the kernels; return also the number of units of distance 1."""
    schema, unit = trees[0].schema, 2.0 ** _unit_bits(trees, settings.label_weight)
    forest = _forest(trees)
    _check_numbers(trees, forest)
    scales = _feature_scales(schema, forest, unit)
    n_words = int((2 * _words_of(scales)[forest.feature[forest.feature != LEAF]]).sum())
    edges = allocate_edges(len(forest.feature), n_words)
    pick_kernel(lay_out, trees)(forest, scales, edges)
    category_length, words_of_axis = _coordinates(scales)
    tree = np.repeat(np.arange(len(trees)), np.diff(forest.start))
    is_leaf = forest.feature == LEAF
    outcomes, label_cost = _outcomes(trees, settings.label_weight * unit, settings.outcome)
    # Half of the greatest difference of two outcomes, rounded up: two such halves are never less than it.
    null_weight = edges.cut + math.ceil(settings.label_weight * unit / 2)
    packed = Packed(
        **_walks(trees, forest, edges),
        **_profiles(trees, edges, tree, category_length),
        **_category_edges(edges, tree, category_length),
        category_length=category_length,
        n_words=words_of_axis,
        words=edges.words,
        leaf_start=np.cumsum([0, *(tree.n_leaves for tree in trees)]),
        cut=edges.cut[is_leaf],
        weight=(null_weight if settings.matching == "metric" else edges.weight)[is_leaf],
        outcome=outcomes,
        label_cost=label_cost,
        n_labels=len(schema.target.classes),
    )
    return freeze_fields(packed), unit


def pick_kernel(kernel: _F, trees: Sequence[Tree]) -> _F:
    """Return the kernel; for two trees of few leaves its Python function, unless numba is imported."""
    is_little = len(trees) == 2 and sum(tree.n_leaves for tree in trees) <= FEW_LEAVES
    return for_little_work(kernel) if is_little else kernel


def _forest(trees: Sequence[Tree]) -> Forest:
    offsets = np.cumsum([0, *(len(tree.in_set) for tree in trees)])
    forest = Forest(
        start=np.cumsum([0, *(tree.n_nodes for tree in trees)]),
        feature=np.concatenate([tree.feature for tree in trees]),
        threshold=np.concatenate([tree.threshold for tree in trees]),
        left=np.concatenate([tree.left for tree in trees]),
        right=np.concatenate([tree.right for tree in trees]),
        set_start=np.concatenate(
            [tree.set_start + offset for tree, offset in zip(trees, offsets, strict=False)]
        ),
        in_set=np.concatenate([tree.in_set for tree in trees]),
    )
    return freeze_fields(forest)


def _check_numbers(trees: Sequence[Tree], forest: Forest) -> None:
    """Raise a BrokenTreeError unless all numbers are finite and in range: costs are integers.

    Trees from a file or another library are checked already; trees made by hand are not.
    """
    schema = trees[0].schema
    for feature in schema.features:
        if not (math.isfinite(feature.low) and math.isfinite(feature.high)):
            raise BrokenTreeError(
                f"column {feature.name!r} reaches from {feature.low} to {feature.high}: a range of finite "
                "numbers is the unit of distances."
            )
    is_subset = np.array([*(feature.is_subset for feature in schema.features), True])
    has_threshold = ~is_subset[forest.feature]  # LEAF, which is -1, finds the last
    if not (finite := np.isfinite(forest.threshold[has_threshold])).all():
        strange = forest.threshold[has_threshold][~finite][0]
        raise BrokenTreeError(f"a threshold is {strange}: trees are compared by finite thresholds.")
    most = 1.0 + TOLERANCE if schema.target.is_classes else np.inf
    for number, tree in enumerate(trees):
        if not (np.isfinite(tree.value) & (np.abs(tree.value) <= most)).all():
            what = "fractions of classes from 0 to 1" if schema.target.is_classes else "finite numbers"
            raise BrokenTreeError(f"tree {number} predicts {_strangest(tree.value)}: trees predict {what}.")


def _strangest(values: FloatArray) -> float:
    """Return a value that is not finite, or else the greatest in size."""
    return float(values.ravel()[np.argmax(np.where(np.isnan(values), np.inf, np.abs(values)))])


def _unit_bits(trees: Sequence[Tree], label_weight: float) -> int:
    """Return the number of fraction bits that the sum over a whole matching allows."""
    most_leaves, deepest = max(tree.n_leaves for tree in trees), max(tree.depth for tree in trees)
    # A rule cuts off at most 1 of each feature that it restricts, and weighs at most 1 for each.
    greatest = most_leaves * (3.0 * deepest + label_weight + 1.0)
    return min(UNIT_BITS, SUM_BITS - math.frexp(math.nextafter(greatest, 0.0))[1])


# -- the scales ------------------------------------------------------------------------------------------


def _feature_scales(schema: Schema, forest: Forest, unit: float) -> FeatureScales:
    features = schema.features
    n_categories = np.array([len(f.categories) if f.is_subset else 0 for f in features], np.int64)
    is_used = np.zeros(len(features), bool)
    is_used[forest.feature[forest.feature != LEAF]] = True
    n_own = np.where(is_used, np.where(n_categories > 0, 1, 2), 0)
    scales = FeatureScales(
        low=np.array([feature.low for feature in features], np.float64),
        high=np.array([feature.high for feature in features], np.float64),
        n_categories=n_categories,
        category_length=np.where(n_categories > 0, np.rint(unit / np.maximum(n_categories, 1)), 0).astype(
            int
        ),
        coordinate=np.where(is_used, np.cumsum(n_own) - n_own, -1),
        unit=unit,
    )
    return freeze_fields(scales)


def _words_of(scales: FeatureScales) -> LongArray:
    """Return the number of machine words of a category set, by feature."""
    return (scales.n_categories + 63) // 64


def _coordinates(scales: FeatureScales) -> tuple[LongArray, LongArray]:
    """For every coordinate: length of one category, 0 for a range end, and the words of a set."""
    is_used, is_set = scales.coordinate >= 0, (scales.n_categories > 0) & (scales.coordinate >= 0)
    n_coordinates = int(np.where(is_set, 1, 2)[is_used].sum())
    category_length, n_words = np.zeros(n_coordinates, np.int64), np.zeros(n_coordinates, np.int64)
    category_length[scales.coordinate[is_set]] = scales.category_length[is_set]
    n_words[scales.coordinate[is_set]] = _words_of(scales)[is_set]
    return category_length, n_words


# -- edges ----------------------------------------------------------------------------------------------


def _walks(trees: Sequence[Tree], forest: Forest, edges: Edges) -> dict[str, LongArray]:
    """Drop the steps of walks that change nothing."""
    start, steps = np.empty(len(forest.start), np.int64), np.empty(2 * len(forest.feature), np.int64)
    pick_kernel(walk, trees)(forest, edges, start, steps)
    steps, is_leaf = steps[: start[-1]], forest.feature == LEAF
    node, goes_down = steps >> 1, steps & UNDO == 0
    cuts = edges.length[node] > 0
    matters = np.where(is_leaf[node], goes_down, cuts)
    so_far = np.concatenate([[0], np.cumsum(matters)])
    leaf = np.where(is_leaf[node] & goes_down, (np.cumsum(is_leaf) - 1)[node], -1)
    columns = (
        np.where(cuts, edges.coordinate[node], -1),
        edges.low[node],
        edges.high[node],
        np.where(goes_down, 2, -2),
        leaf,
    )
    return {
        "step_start": so_far[start],
        "steps": np.stack(columns, axis=1)[matters],
    }


def _profiles(
    trees: Sequence[Tree], edges: Edges, tree: LongArray, category_length: LongArray
) -> dict[str, LongArray]:
    """Return what every rule cuts off along the range ends."""
    node = np.flatnonzero((edges.length > 0) & (np.append(category_length, 0)[edges.coordinate] == 0))
    place = np.zeros((tree[-1] + 1, len(category_length), 3), np.int64)
    own = (tree, edges.coordinate, edges.high, edges.first_leaf, edges.end_leaf)
    cuts = Cuts(*(freeze(array[node]) for array in own))
    profile = np.zeros(pick_kernel(place_profiles, trees)(cuts, place), np.int64)
    pick_kernel(lay_profiles, trees)(cuts, place, profile)
    return {"profile_place": place, "profile": profile}


def _category_edges(edges: Edges, tree: LongArray, category_length: LongArray) -> dict[str, LongArray]:
    """Return the edges that cut off categories, by tree and coordinate."""
    n_trees, n_coordinates = tree[-1] + 1, len(category_length)
    node = np.flatnonzero((edges.length > 0) & (np.append(category_length, 0)[edges.coordinate] > 0))
    place = tree[node] * (n_coordinates + 1) + edges.coordinate[node]
    node = node[np.argsort(place, kind="stable")]
    counts = np.bincount(place, minlength=n_trees * (n_coordinates + 1))
    return {
        "edge_start": (np.cumsum(counts) - counts).reshape(n_trees, n_coordinates + 1),
        "edge_words": edges.low[node],
        "edge_first": edges.first_leaf[node],
        "edge_end": edges.end_leaf[node],
    }


# -- outcomes -------------------------------------------------------------------------------------------


def _outcomes(trees: Sequence[Tree], label_weight: float, outcome: str) -> tuple[LongArray, int]:
    """Return leaf predictions, one row per leaf, and the cost of another label; -1 if differences add up."""
    if outcome == "label":
        labels = np.concatenate([tree.outcome[tree.feature == LEAF] for tree in trees])
        return labels.astype(np.int64)[:, None], round(label_weight)
    values = np.concatenate([tree.value[tree.feature == LEAF] for tree in trees])
    if outcome == "distribution":
        # Rounded down, so that those of a leaf never add up to more than the whole.
        return np.floor(values * (label_weight / 2)).astype(np.int64), -1
    first = trees[0].schema.target
    parts = [
        value_fractions(tree.value[tree.feature == LEAF], by_horizon(tree.schema.target, first))
        for tree in trees
    ]
    shares = np.clip(np.concatenate(parts), 0.0, 1.0)
    return np.rint(shares * label_weight).astype(np.int64), -1


def freeze_fields(arrays: _T) -> _T:
    """Make arrays read-only, as the kernels are compiled for."""
    fields: Any = (freeze(field) if isinstance(field, np.ndarray) else field for field in arrays)
    return type(arrays)(*fields)


# -- memory ---------------------------------------------------------------------------------------------


def allocate_memory(packed: Packed, first: LongArray, second: LongArray) -> tuple[DistanceScratch, Prices]:
    """Allocate the working memory for these pairs, about the largest cost matrix."""
    n_leaves = np.diff(packed.leaf_start)
    rows, columns = (
        np.minimum(n_leaves[first], n_leaves[second]),
        np.maximum(n_leaves[first], n_leaves[second]),
    )
    widths = -(-columns // AT_ONCE) * AT_ONCE
    width = int(widths.max())
    scratch = DistanceScratch(
        cost=np.empty(int((rows * widths).max()), np.int64),
        base=np.empty(width, np.int64),
        shared=np.empty(width, np.int64),
        values=np.empty((packed.outcome.shape[1], width), np.int64),
        spare=np.empty(packed.n_labels, np.int64),
    )
    return scratch, Prices(*(np.empty(width, np.int64) for _ in Prices._fields))
