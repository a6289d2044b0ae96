"""Rows at the edges of a model: at every threshold and its two neighbours, of every category, and missing."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, nextafter
from typing import Any

from holdfast.data.schema import Feature, Label
from holdfast.export.plain_model import PlainModel, PlainTree, Split
from holdfast.export.scored import Rows, count_rows

UNSEEN = "never seen"


@dataclass(frozen=True)
class Scale:
    """The numbers that an engine can distinguish."""

    beside: Callable[[float, float], float] = nextafter  # the next number towards minus infinity or infinity
    is_exact: bool = True  # False: a threshold itself may be rounded


@dataclass(frozen=True)
class _Allowed:
    """The values of a column that lead to a node."""

    low: float = -inf  # low < value <= high
    high: float = inf
    labels: tuple[Label, ...] | None = None  # None: any
    missing: bool = True

    def within(self, split: Split, is_yes: bool) -> "_Allowed":
        """Intersect with the values that go this way at the split."""
        missing = self.missing and split.missing_yes == is_yes
        if split.in_yes is not None:
            side = split.in_yes if is_yes else split.in_no
            return replace(
                self,
                missing=missing,
                labels=tuple(label for label in side if self.labels is None or label in self.labels),
            )
        threshold = inf if split.threshold is None else split.threshold
        if is_yes:
            return replace(self, high=min(self.high, threshold), missing=missing)
        return replace(self, low=max(self.low, threshold), missing=missing)

    def value(self, usual: Any, scale: Scale) -> Any:
        """Return an allowed value: the usual one if possible, None (missing) if nothing else is."""
        if self.labels is not None:
            return usual if usual in self.labels else next(iter(self.labels), None)
        if usual is not None and self.low < usual <= self.high:
            return usual
        if self.low >= self.high:
            return None
        if isfinite(self.high):
            return self.high if scale.is_exact else scale.beside(self.high, -inf)
        return scale.beside(self.low, inf) if isfinite(self.low) else 0.0


def make_edge_rows(model: PlainModel, usual: Rows, scale: Scale | None = None) -> dict[str, list[Any]]:
    """Make rows on both sides of every split; their other values are usual ones.

    The scale says which numbers the engine tells apart: by default all floats.
    """
    scale = scale or Scale()
    names = [feature.name for feature in model.columns]
    edges: dict[str, list[Any]] = {name: [] for name in names}
    n_usual = count_rows(usual)
    for tree in model.trees:
        for number, ways in _ways(tree).items():
            split = tree.nodes[number]
            assert isinstance(split, Split)
            for tried in _tried(split, scale):
                place = len(edges[names[0]]) % n_usual if n_usual else 0
                for name in names:
                    value = usual[name][place] if n_usual else None
                    edges[name].append(ways[name].value(value, scale) if name in ways else value)
                edges[split.feature.name][-1] = tried
    return edges


def _ways(tree: PlainTree) -> dict[int, dict[str, _Allowed]]:
    """Return what leads to every split, by column."""
    ways: dict[int, dict[str, _Allowed]] = {0: {}}
    for number, split in tree.splits.items():  # preorder: a parent stands before its children
        here = ways[number]
        before = here.get(split.feature.name, _Allowed())
        for child, is_yes in ((split.yes, True), (split.no, False)):
            ways[child] = {**here, split.feature.name: before.within(split, is_yes)}
    return {number: ways[number] for number in tree.splits}


def _tried(split: Split, scale: Scale) -> Iterator[Any]:
    yield None
    if split.threshold is not None:
        yield from _neighbours(split.threshold, scale)
    elif split.is_known:
        yield 0.0
    else:
        yield from split.feature.categories
        yield from make_unseen(split.feature)


def _neighbours(threshold: float, scale: Scale) -> list[float]:
    beside = [scale.beside(threshold, -inf), scale.beside(threshold, inf)]
    near = [beside[0], threshold, beside[1]] if scale.is_exact else beside
    return [each for each in near if isfinite(each)]


def make_unseen(feature: Feature) -> Sequence[Label]:
    """Make a category that the feature does not have; None for booleans."""
    labels = feature.categories
    if all(isinstance(label, bool) for label in labels):
        return ()
    if any(isinstance(label, str) for label in labels):
        unseen = UNSEEN
        while unseen in labels:
            unseen += "!"
        return (unseen,)
    return (int(max(labels)) + 1,)
