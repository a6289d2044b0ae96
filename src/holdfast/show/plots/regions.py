"""The space of two features, cut up by a tree: exact rectangles, from its rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.arrays import FloatArray, frozen, without_last_digits
from holdfast.data.schema import Feature, Label
from holdfast.errors import ParameterError
from holdfast.show.plots.feature_axis import FeatureAxis
from holdfast.tree.route import Routes
from holdfast.tree.rule import Condition, Rule, tree_rules
from holdfast.tree.tree import Tree


@dataclass(frozen=True)
class Region:
    """A rectangle in which all rows reach one leaf; a leaf may have several, where categories lie apart."""

    x: tuple[float, float]
    y: tuple[float, float]
    leaf: int

    @property
    def area(self) -> float:
        """Its area, in the units of the axes."""
        return (self.x[1] - self.x[0]) * (self.y[1] - self.y[0])


@dataclass(frozen=True)
class Held:
    """A feature that does not vary on the plot, and the value at which it is held."""

    feature: Feature
    value: float  # a number, or the position of a category; NaN if it is missing

    @property
    def label(self) -> Label | None:
        """The value as data has it; None if it is missing."""
        if np.isnan(self.value):
            return None
        return self.feature.categories[int(self.value)] if self.feature.categories else self.value

    def meets(self, condition: Condition | None) -> bool:
        """Is the value allowed?"""
        if condition is None:
            return True
        if np.isnan(self.value):
            return condition.missing
        if self.feature.is_subset:
            return self.feature.categories[int(self.value)] in condition.categories
        return condition.low < self.value <= condition.high


def regions(tree: Tree, x: FeatureAxis, y: FeatureAxis | None, held: Sequence[Held]) -> tuple[Region, ...]:
    """The rectangles of the plot, which cover it without overlapping, in the order of the leaves.

    Without a second feature they are bands from 0 to 1.
    """
    return tuple(
        Region(x_span, y_span, rule.leaf)
        for rule in tree_rules(tree)
        if all(each.meets(rule.condition(each.feature.name)) for each in held)
        for x_span in x.spans(rule.condition(x.feature.name))
        for y_span in _spans(y, rule)
    )


def _spans(y: FeatureAxis | None, rule: Rule) -> list[tuple[float, float]]:
    return [(0.0, 1.0)] if y is None else y.spans(rule.condition(y.feature.name))


def features_shown(tree: Tree, features: Sequence[str] | None) -> list[int]:
    """The numbers of the one or two features that are named, or of the two most important ones."""
    names = tree.schema.names
    if features is None:
        order = np.argsort(-without_last_digits(tree.importances), kind="stable")
        return [int(number) for number in order[:2]]
    if isinstance(features, str) or not 1 <= len(features) <= 2 or len(set(features)) < len(features):
        raise ParameterError(f"features={features!r}: give the names of one or two features, as a list.")
    if unknown := [name for name in features if name not in names]:
        raise ParameterError(f"features={features!r}: the tree has no {unknown[0]!r}.")
    return [names.index(name) for name in features]


def held_values(
    tree: Tree, columns: Mapping[int, FloatArray], given: Mapping[str, Any], shown: Sequence[int]
) -> tuple[Held, ...]:
    """The features that the tree asks about and the plot does not show, each at one value.

    That is the given one or, typically, the median of the rows, or their most frequent category.
    """
    names = tree.schema.names
    for name in given:
        if name not in names or names.index(name) in shown:
            why = "is on an axis" if name in names else "is none"
            raise ParameterError(f"at={{{name!r}: ...}} must name a feature that is not shown, and it {why}.")
    others = [number for number in columns if number not in shown]
    return tuple(
        Held(
            tree.schema.features[number],
            _coded(tree.schema.features[number], given[names[number]])
            if names[number] in given
            else _typical(tree.schema.features[number], columns[number]),
        )
        for number in others
    )


def rows_elsewhere(tree: Tree, rows: FloatArray, used: Sequence[int], held: Sequence[Held]) -> int:
    """Rows whose leaf is another once the other features are held."""
    if not held:
        return 0
    routes, every = Routes.of(tree, np.asarray(used)), frozen(np.arange(len(rows), dtype=np.int32))
    moved = rows.copy()
    for each in held:
        moved[:, list(used).index(tree.schema.names.index(each.feature.name))] = each.value
    own, there = (routes.leaves(frozen(np.ascontiguousarray(some)), every) for some in (rows, moved))
    return int(np.count_nonzero(own != there))


def _coded(feature: Feature, value: Any) -> float:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return np.nan
    if not feature.categories:
        return float(value)
    if value not in feature.categories:
        raise ParameterError(
            f"at={{{feature.name!r}: {value!r}}} is no category of it: {list(feature.categories)}."
        )
    return float(feature.categories.index(value))


def _typical(feature: Feature, values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    if not len(known):
        return np.nan
    if feature.is_subset:
        return float(np.bincount(known.astype(np.int64)).argmax())
    return float(np.sort(known, kind="stable")[(len(known) - 1) // 2])  # one of the values
