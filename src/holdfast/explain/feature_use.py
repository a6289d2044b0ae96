"""The features that a collection of trees splits on: how early, how often, and with what gain."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast._arrays import DIGITS, FloatArray, IntArray, freeze
from holdfast._text import fixed_text, pluralize, printable, rounded_percent, shorten
from holdfast._view import TextTable, View, ViewMixin
from holdfast.distance.reference_schema import unify_schemas
from holdfast.errors import ParameterError
from holdfast.tree.tree import LEAF, Tree

NEVER = np.iinfo(np.int32).max  # the level of a feature that a tree does not split on


@dataclass(frozen=True, eq=False)
class FeatureUse:
    """How a collection of trees uses one feature."""

    name: str
    first: tuple[float, float, float]  # fraction of the trees that split on it in the first 1, 2, 3 levels
    anywhere: float  # fraction of the trees that split on it
    importance: float  # mean fraction of the decrease of impurity by its splits
    spread: float  # standard deviation of that fraction over the trees; 0 for a single tree


class FeatureUses(ViewMixin, list[FeatureUse]):
    """The uses of all features, which print as a table of the most important ones."""

    def plot(self, ax: Any = None, *, max_features: int = 20) -> Any:
        """Draw bars with their spread over the trees, and return the `ImportanceDisplay`."""
        from holdfast.plots.importance import ImportanceDisplay

        return ImportanceDisplay.from_result(self, ax=ax, max_features=max_features)

    def _view(self) -> View:

        return feature_use_view(self)


def feature_use(trees: Sequence[Tree]) -> FeatureUses:
    """Compute the use of every feature, the most important first, with those that no tree splits on.

    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[20.0, 1.0], [40.0, 2.0], [60.0, 1.0]], ["no", "no", "yes"]))
    >>> [(use.name, use.anywhere) for use in feature_use([tree])]
    [('x0', 1.0), ('x1', 0.0)]
    """
    trees = _comparable(trees)
    level, importance = _first_levels(trees), _importances(trees)
    shares = [(level < levels).mean(axis=0).tolist() for levels in (1, 2, 3, NEVER)]
    mean, spread = importance.mean(axis=0).tolist(), _spread(importance).tolist()
    uses = [
        FeatureUse(name, (one, two, three), anywhere, *shown)
        for name, one, two, three, anywhere, *shown in zip(
            trees[0].schema.names, *shares, mean, spread, strict=True
        )
    ]
    return FeatureUses(sorted(uses, key=lambda use: -round(use.importance, DIGITS)))


def first_features(trees: Sequence[Tree], levels: int = 1) -> tuple[str, ...]:
    """List the features that any tree splits on in its first levels, in the schema's order."""
    if levels < 1:
        raise ParameterError(
            f"levels={levels!r} is out of range: it must be at least 1, the level of the root."
        )
    trees = _comparable(trees)
    is_first = (_first_levels(trees) < levels).any(axis=0)
    return tuple(trees[0].schema.names[number] for number in np.flatnonzero(is_first))


def importance_spread(trees: Sequence[Tree]) -> float:
    """Compute the standard deviation of the importance over the trees, averaged over the features used."""
    trees = _comparable(trees)
    is_used = (_first_levels(trees) < NEVER).any(axis=0)
    return float(_spread(_importances(trees))[is_used].mean()) if is_used.any() else 0.0


# -- all trees at once ----------------------------------------------------------------------------------


def _comparable(trees: Sequence[Tree]) -> list[Tree]:
    if not len(trees):
        raise ValueError("trees is empty: give at least one tree.")
    return unify_schemas(trees)


def _first_levels(trees: list[Tree]) -> IntArray:
    """Find for each tree and feature the depth of its first split, or NEVER."""
    level = np.full((len(trees), len(trees[0].schema.features)), NEVER, np.int32)
    for row, tree in zip(level, trees, strict=True):
        inner = tree.feature != LEAF
        np.minimum.at(row, tree.feature[inner], tree.node_depth[inner])
    return freeze(level)


def _importances(trees: list[Tree]) -> FloatArray:
    return np.array([tree.importances for tree in trees])


def _spread(importance: FloatArray) -> FloatArray:
    if len(importance) == 1:
        return np.zeros(importance.shape[1])
    return np.asarray(importance.std(axis=0, ddof=1), np.float64)


# -- The features that a collection of trees splits on, as a table -------------------------------------------

LONGEST_NAME = 22  # letters: so all lines have at most 80
MEANINGS = {
    "root": "fraction of the trees that split on it first",
    "2 levels": "fraction of the trees that split on it in the first two levels",
    "3 levels": "fraction of the trees that split on it in the first three levels",
}


def feature_use_view(uses: Sequence[FeatureUse]) -> View:
    """The features, the most important first."""
    return View(feature_table(uses))


def feature_table(uses: Sequence[FeatureUse], most: int | None = 10, whole: str = "the list") -> TextTable:
    """The first `most` of the features that some tree splits on; `whole` has all."""
    used = [use for use in uses if use.anywhere > 0]
    notes = []
    if most is not None and (more := len(used) - most) > 0:
        notes.append(f"... and {more} more{f': {whole} has all' if whole else ''}")
    if never := len(uses) - len(used):
        notes.append(f"{pluralize(never, 'feature')} {'is' if never == 1 else 'are'} in no tree.")
    return TextTable(
        ["feature", "root", "2 levels", "3 levels", "anywhere", "importance", "spread"],
        [[shorten(printable(use.name), LONGEST_NAME), *_cells(use)] for use in used[:most]],
        note="\n".join(notes),
        meanings=MEANINGS,
    )


def _cells(use: FeatureUse) -> list[str]:
    fractions = [rounded_percent(fraction) for fraction in (*use.first, use.anywhere)]
    return [*fractions, fixed_text(use.importance, 3), fixed_text(use.spread, 3)]
