"""The splits that solvers choose from: they take columns of zeros and ones, and no numbers or categories."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from holdfast._arrays import BoolArray, FloatArray
from holdfast.data.row_order import find_fixed_order
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.growth.grow import midpoint
from holdfast.growth.leaf_values import refit_leaf_values
from holdfast.growth.rules import GrowthRules
from holdfast.tree.build import Nodes, Split, build_preorder
from holdfast.tree.tree import KNOWN, LEAF, Tree

MOST_SPLITS = 150  # the time of a solver grows with the square or the cube of them


@dataclass(frozen=True, eq=False)
class BinarySplits:
    """Splits of the columns of a table, and how every row of it answers them."""

    table: Table  # rows in a fixed order, so that solvers do not see how they came
    splits: tuple[Split, ...]  # in the order of the names of their columns
    answers: BoolArray  # rows by splits

    @classmethod
    def of(cls, table: Table, n_thresholds: int, most: int = MOST_SPLITS) -> "BinarySplits":
        """Up to `n_thresholds` splits of every column, and whether its value is known if some are missing.

        Numbers and ordered categories are cut at their quantiles, and of other categories the most frequent
        are each asked for. A missing value says no. Of splits that divide the rows in the same way one is
        kept; of more than `most` those that lower the impurity most by themselves.
        """
        table = table.subset(find_fixed_order(table))
        found = [
            split
            for place in table.schema.name_order
            for split in _splits(place, table.schema.features[place], table.columns[place], n_thresholds)
        ]
        answers = np.empty((table.n_rows, len(found)), np.bool_)
        for number, split in enumerate(found):
            answers[:, number] = _answered(split, table.columns[split.feature])
        kept = _different(answers)
        if len(kept) > most:
            kept = sorted(kept[place] for place in _most_useful(answers[:, kept], table)[:most])
        return cls(table, tuple(found[number] for number in kept), answers[:, kept])

    def schema(self, target: Target) -> Schema:
        """What a solver is given: a column of zeros and ones for every split."""
        return Schema(tuple(Feature(f"split {number}") for number in range(len(self.splits))), target)

    def on_columns(self, tree: Tree) -> Tree:
        """The tree of a solver, asking about the columns themselves; its leaves say what they said.

        A solver's tree asks whether a zero or one is at most 1/2, and then "no" is on the left.
        """
        inner = tree.feature != LEAF
        asked = [self.splits[number] if number != LEAF else None for number in tree.feature.tolist()]
        nodes = Nodes(
            feature=np.array([split.feature if split else LEAF for split in asked], np.int32),
            threshold=np.array([split.threshold if split else np.nan for split in asked]),
            left=np.where(inner, tree.right, LEAF),
            right=np.where(inner, tree.left, LEAF),
            missing_left=np.zeros(len(asked), np.bool_),
            value=tree.value,
            count=tree.count,
            weight=tree.weight,
            impurity=tree.impurity,
            sets={
                node: split.goes_left
                for node, split in enumerate(asked)
                if split is not None and split.goes_left is not None
            },
            outcome=tree.outcome if tree.schema.target.is_classes else None,
        )
        return build_preorder(nodes, self.table.schema, tree.criterion)

    def with_rows(self, tree: Tree) -> Tree:
        """The tree with the values, counts and impurities that the rows give its nodes.

        Where no value of a column is missing, those to come go to the side of more rows, as in our own trees.
        """
        criterion = "gini" if self.table.schema.target.is_classes else "squared_error"
        filled = refit_leaf_values(tree, self.table, GrowthRules(criterion=criterion))
        is_complete = np.array([*(not np.isnan(column).any() for column in self.table.columns), False])
        is_larger = filled.weight[filled.left] >= filled.weight[filled.right]
        return filled.replace(missing_left=is_complete[filled.feature] & is_larger)


def _splits(place: int, feature: Feature, values: FloatArray, n_thresholds: int) -> Iterator[Split]:
    """The splits of one column: its own ones, and whether the value is known."""
    known = values[~np.isnan(values)]
    has_missing = 0 < len(known) < len(values)
    if feature.is_subset:
        categories = np.arange(len(feature.categories))
        counts = np.bincount(known.astype(np.int64), minlength=len(categories))
        frequent = np.argsort(-counts, kind="stable")[:n_thresholds]
        for category in np.sort(frequent).tolist():
            yield Split(place, goes_left=categories == category)
        if has_missing:
            yield Split(place, goes_left=np.ones(len(categories), np.bool_))
        return
    for threshold in quantile_cuts(known, n_thresholds).tolist():
        yield Split(place, np.floor(threshold) + 0.5 if feature.kind == "ordered" else threshold)
    if has_missing:
        yield Split(place, KNOWN)


def quantile_cuts(values: FloatArray, number: int) -> FloatArray:
    """Up to so many cuts that divide the values into parts of about equal size, each half-way to the next.

    >>> quantile_cuts(np.array([1.0, 2.0, 3.0, 4.0, 9.0, 9.0]), 2).tolist()
    [2.5, 6.5]
    """
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) < 2:
        return np.empty(0)
    wanted = np.arange(1, number + 1) * len(values)
    places = np.unique(np.searchsorted(np.cumsum(counts) * (number + 1), wanted))
    places = places[places < len(distinct) - 1]  # after the last value there is no cut
    return midpoint(distinct[places], distinct[places + 1])


def _answered(split: Split, values: FloatArray) -> BoolArray:
    """Which of the values go left."""
    is_known = ~np.isnan(values)
    if split.goes_left is None:
        return np.asarray(is_known & (values <= split.threshold), np.bool_)
    return np.asarray(is_known & split.goes_left[np.where(is_known, values, 0).astype(np.int64)], np.bool_)


def _different(answers: BoolArray) -> list[int]:
    """The first of all splits that divide the rows in the same way; none that does not divide them."""
    from_first = answers ^ answers[:1]  # yes and no exchanged divide the rows alike
    first: dict[bytes, int] = {}
    for number in np.flatnonzero(from_first.any(axis=0)).tolist():
        first.setdefault(np.packbits(from_first[:, number]).tobytes(), number)
    return list(first.values())


def _most_useful(answers: BoolArray, table: Table) -> list[int]:
    """The splits by the decrease of impurity that each brings to all rows, the greatest first."""
    n_classes = len(table.schema.target.classes)
    says = np.eye(n_classes)[table.target] if n_classes else table.target[:, None] - table.target.mean()
    yes = answers.sum(axis=0)[:, None]
    no = len(answers) - yes
    sums = np.array([says[column].sum(axis=0) for column in answers.T])
    decrease = (yes * no * (sums / yes - (says.sum(axis=0) - sums) / no) ** 2).sum(axis=1)
    largest = decrease.max()
    order = np.argsort(-np.round(decrease / (largest if largest > 0 else 1.0), 9), kind="stable")
    return [int(number) for number in order]
