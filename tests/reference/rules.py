"""Rules as boxes, from a walk down the tree that narrows one side of one feature at a time."""

from dataclasses import dataclass, replace
from functools import cached_property

from holdfast.data.schema import Label, Schema
from holdfast.tree.tree import LEAF, Tree

Interval = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """One root-to-leaf route: what it allows of every feature, restricted or not, and where it ends."""

    schema: Schema
    leaf: int
    bounds: dict[str, Interval]  # of the numeric and the ordered features
    allowed: dict[str, frozenset[Label]]  # of the nominal features and the questions
    shares: dict[Label, float]  # by class; empty for regression
    value: float  # the mean; not looked at for classes
    count: float
    weight: float
    above: tuple[dict[Label, float], ...] = ()  # the same at the nodes above, the root first

    @cached_property
    def outcome(self) -> Label:
        """The most frequent class; of several, the one most frequent above; or the mean."""
        if not self.shares:
            return self.value
        best = list(self.shares)
        for shares in (self.shares, *reversed(self.above)):
            best = [label for label in best if shares[label] == max(shares[each] for each in best)]
        return best[0]

    @cached_property
    def restricted_bounds(self) -> dict[str, Interval]:
        """The intervals that do not reach over their whole range."""
        whole = whole_box(self.schema).bounds
        return {name: bounds for name, bounds in self.bounds.items() if bounds != whole[name]}

    @cached_property
    def restricted_categories(self) -> dict[str, frozenset[Label]]:
        """The sets that lack a category."""
        whole = whole_box(self.schema).allowed
        return {name: labels for name, labels in self.allowed.items() if labels != whole[name]}


def whole_box(schema: Schema) -> Box:
    """The box of the root: everything."""
    bounds = {each.name: (each.low, each.high) for each in schema.features if not each.is_subset}
    allowed = {each.name: frozenset(each.categories) for each in schema.features if each.is_subset}
    return Box(schema, 0, bounds, allowed, {}, 0.0, 0.0, 0.0)


def boxes(tree: Tree) -> list[Box]:
    """The boxes of all leaves in preorder."""
    return _below(tree, 0, whole_box(tree.schema))


def _below(tree: Tree, node: int, box: Box) -> list[Box]:
    if tree.feature[node] == LEAF:
        return [_ended(tree, node, box)]
    box = replace(box, above=(*box.above, _shares(tree, node)))
    yes, no = _sides(tree, node, box)
    return _below(tree, int(tree.left[node]), yes) + _below(tree, int(tree.right[node]), no)


def _sides(tree: Tree, node: int, box: Box) -> tuple[Box, Box]:
    """What is left of the box where the answer is yes, and where it is no."""
    feature = tree.schema.features[tree.feature[node]]
    if feature.is_subset:
        flags = dict(zip(feature.categories, tree.left_categories(node), strict=True))
        yes = frozenset(label for label in box.allowed[feature.name] if flags[label])
        no = box.allowed[feature.name] - yes
        return (
            replace(box, allowed={**box.allowed, feature.name: yes}),
            replace(box, allowed={**box.allowed, feature.name: no}),
        )
    low, high = box.bounds[feature.name]
    # A threshold beyond the box cuts nothing off: one side is the box, the other an empty one at its edge.
    cut = min(max(float(tree.threshold[node]), low), high)
    return (
        replace(box, bounds={**box.bounds, feature.name: (low, cut)}),
        replace(box, bounds={**box.bounds, feature.name: (cut, high)}),
    )


def _ended(tree: Tree, leaf: int, box: Box) -> Box:
    return replace(
        box,
        leaf=leaf,
        shares=_shares(tree, leaf),
        value=float(tree.value[leaf, 0]),
        count=float(tree.count[leaf]),
        weight=float(tree.weight[leaf]),
    )


def _shares(tree: Tree, node: int) -> dict[Label, float]:
    target = tree.schema.target
    return dict(zip(target.classes, tree.value[node].tolist(), strict=True)) if target.is_classes else {}
