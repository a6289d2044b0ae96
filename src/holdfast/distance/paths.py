"""A tree as its root-to-leaf paths: boxes with an outcome."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from holdfast.data.schema import Label
from holdfast.tree.tree import LEAF, Tree


@dataclass(frozen=True)
class Path:
    """What leads to one leaf, and what it says. Nested questions about one feature are one restriction."""

    leaf: int  # its node
    bounds: Mapping[
        str, tuple[float, float]
    ]  # low < x <= high, inside the schema's range; ordered: positions
    categories: Mapping[str, tuple[Label, ...]]  # allowed ones of every nominal feature that is restricted
    outcome: Label | float
    shares: tuple[float, ...]  # of the classes, in the order of the schema; empty for a number
    count: float  # rows that reached the leaf
    weight: float  # their weight

    @property
    def asks(self) -> tuple[str, ...]:
        """The features that the path restricts."""
        return (*self.bounds, *self.categories)


def tree_paths(tree: Tree) -> tuple[Path, ...]:
    """The paths of a tree, the all-yes leaf first and the all-no leaf last.

    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"]))
    >>> [(path.bounds, path.outcome) for path in tree_paths(tree)]
    [({'x0': (20.0, 40.0)}, 'no'), ({'x0': (40.0, 60.0)}, 'yes')]
    """
    boxes: dict[int, _Box] = {0: _Box({}, {})}
    for node in np.flatnonzero(tree.feature != LEAF).tolist():
        box = boxes.pop(node)
        boxes[int(tree.left[node])] = _side(tree, node, box, is_left=True)
        boxes[int(tree.right[node])] = _side(tree, node, box, is_left=False)
    return tuple(_path(tree, leaf, boxes[leaf]) for leaf in sorted(boxes))


def fraction_of_range(one: Any, other: Any, low: float, high: float) -> Any:
    """The fraction of the range that lies between two of its numbers; of several, one share for each."""
    if np.isinf(high - low):
        return abs(one / 2 - other / 2) / (high / 2 - low / 2)
    return abs(one - other) / (high - low)


class _Box(NamedTuple):
    """What gets as far as a node."""

    bounds: dict[str, tuple[float, float]]
    categories: dict[str, tuple[Label, ...]]


def _side(tree: Tree, node: int, box: _Box, *, is_left: bool) -> _Box:
    feature = tree.schema.features[tree.feature[node]]
    if feature.is_subset:
        stays = dict(zip(feature.categories, tree.left_categories(node).tolist(), strict=True))
        allowed = box.categories.get(feature.name, feature.categories)
        left = tuple(label for label in allowed if stays[label] == is_left)
        return box._replace(categories={**box.categories, feature.name: left})
    low, high = box.bounds.get(feature.name, (feature.low, feature.high))
    # A threshold outside the box leaves nothing on one side: an interval without length at its end.
    limit = min(max(float(tree.threshold[node]), low), high)
    interval = (low, limit) if is_left else (limit, high)
    return box._replace(bounds={**box.bounds, feature.name: interval})


def _path(tree: Tree, leaf: int, box: _Box) -> Path:
    features = {feature.name: feature for feature in tree.schema.features}
    classes, values = tree.schema.target.classes, tree.value[leaf].tolist()
    return Path(
        leaf=leaf,
        bounds={
            name: bounds
            for name, bounds in box.bounds.items()
            if bounds != (features[name].low, features[name].high)
        },
        categories={
            name: labels for name, labels in box.categories.items() if labels != features[name].categories
        },
        outcome=classes[int(tree.outcome[leaf])] if classes else values[0],
        shares=tuple(values) if classes else (),
        count=float(tree.count[leaf]),
        weight=float(tree.weight[leaf]),
    )
