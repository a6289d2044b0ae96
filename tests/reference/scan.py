"""The best split of a large node, by cumulative sums over sorted values: the fast twin of the grower."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, LongArray
from holdfast.data.table import Table
from holdfast.growth.rules import GrowthRules
from holdfast.tree.tree import LEAF, Tree
from reference.disagreement import going_left
from reference.grower import PART, rows_asked

# Long doubles, so that rounding lies far below a part. One line per split: rows, then the weight of each
# class, or weight and weighted sum of the target.
Sums = NDArray[Any]
MOST_LISTED = 12  # categories up to which every set is tried


@dataclass(frozen=True, eq=False)
class Splits:
    """Some splits of one feature, in the order in which they win ties."""

    feature: int
    left: Sums
    is_subset: bool
    cost: float = 0.0  # what naming a threshold takes from the gain


@dataclass(frozen=True, eq=False)
class Scan:
    """A table and rules, and the worth of splits of any of its rows."""

    table: Table
    rules: GrowthRules

    @cached_property
    def repeats(self) -> LongArray:
        """How many rows each row stands for."""
        weight = self.table.weight
        if weight is None:
            return np.ones(self.table.n_rows, np.int64)
        is_whole = bool((weight == np.rint(weight)).all())
        return (weight if is_whole else weight > 0).astype(np.int64)

    @cached_property
    def weights(self) -> Sums:
        """What each row weighs, with all its repetitions."""
        weight = np.ones(self.table.n_rows) if self.table.weight is None else self.table.weight
        return np.asarray(weight, np.longdouble)

    @cached_property
    def least(self) -> tuple[int, float]:
        """Rows and weight that each side must hold."""
        n_rows, weight = int(self.repeats.sum()), float(self.weights.sum())
        share = self.rules.min_weight_fraction_leaf
        return rows_asked(self.rules.min_samples_leaf, n_rows), share * weight * (1 - 1e-12)

    def sums(self, rows: LongArray) -> Sums:
        """One line for each row; a numeric target is measured from the mean of the rows, but for Poisson."""
        weight, target = self.weights[rows], self.table.target[rows]
        if n_classes := len(self.table.schema.target.classes):
            parts = (target[:, None] == np.arange(n_classes)) * weight[:, None]
        else:
            number = target.astype(np.longdouble)
            if self.rules.criterion == "squared_error":
                number = number - (weight @ number) / weight.sum()
            parts = np.stack([weight, weight * number], axis=1)
        return np.concatenate([self.repeats[rows, None].astype(np.longdouble), parts], axis=1)

    def is_pure(self, rows: LongArray) -> bool:
        """True if the rows agree on the target."""
        target = self.table.target[rows]
        return bool((target == target[0]).all())

    # -- splits ---------------------------------------------------------------------------------------

    def splits(self, rows: LongArray, sums: Sums) -> Iterator[Splits]:
        """Every split, feature by feature; of many categories, the prefixes of their order by the mean."""
        for feature, kind in enumerate(self.table.schema.features):
            column = self.table.columns[feature][rows]
            left = self.set_sums(column, sums) if kind.is_subset else threshold_sums(column, sums)
            yield Splits(feature, left, kind.is_subset, self.cost(feature, rows, sums))

    def cost(self, feature: int, rows: LongArray, sums: Sums) -> float:
        """log2 of the number of thresholds in the node, a bit divided among its rows, times weight."""
        if not self.rules.threshold_cost or self.table.schema.features[feature].is_subset:
            return 0.0
        column = self.table.columns[feature][rows]
        n_values = len(np.unique(column[~np.isnan(column)]))
        total = sums.sum(axis=0)
        return float(np.log2(max(n_values - 1, 1)) * self.weight_of(total[None])[0] / total[0])

    def set_sums(self, column: Sums, sums: Sums) -> Sums:
        """The left side of every set of categories; of many, of the prefixes in the order of the mean."""
        codes, inverse = np.unique(np.where(np.isnan(column), np.inf, column), return_inverse=True)
        of_code = np.zeros((len(codes), sums.shape[1]), np.longdouble)
        np.add.at(of_code, inverse, sums)
        if len(codes) > MOST_LISTED:
            mean = of_code[:, 2] / self.weight_of(of_code)
            return np.asarray(np.cumsum(of_code[np.argsort(mean, kind="stable")], axis=0)[:-1])
        patterns = np.arange(1, 2 ** (len(codes) - 1))
        chosen = patterns[:, None] >> np.arange(len(codes) - 1) & 1
        return np.asarray(chosen @ of_code[1:])

    def is_allowed(self, left: Sums, total: Sums) -> BoolArray:
        """True where both sides hold enough rows and weight, and for Poisson an event."""
        allowed = np.ones(len(left), bool)
        for side in (left, total - left):
            allowed &= (side[:, 0] >= self.least[0]) & (self.weight_of(side) >= self.least[1])
            if self.rules.criterion == "poisson":
                allowed &= side[:, 2] > 1e-12 * total[2]  # rounding leaves a little where nothing is
        return allowed

    def weight_of(self, sums: Sums) -> Sums:
        """Total weight of each line."""
        return sums[:, 1:].sum(axis=1) if self.table.schema.target.is_classes else sums[:, 1]

    def worth(self, left: Sums, total: Sums, impurity: float, cost: float = 0.0) -> Sums:
        """The worth of each split of a node with this impurity, times weight."""
        gain, criterion = self.gain(left, total) - cost, self.rules.criterion
        if criterion not in ("gain_ratio", "mutual_information"):
            return np.asarray(gain / impurity)
        weight_left = self.weight_of(left)
        weight_right = self.weight_of(total[None])[0] - weight_left
        entropies = entropy(np.stack([weight_left, weight_right], axis=1))
        if criterion == "gain_ratio":
            return np.asarray(gain / entropies)
        return np.asarray(2 * gain / (entropies + impurity))

    def gain(self, left: Sums, total: Sums) -> Sums:
        """What each split takes from the impurity, times weight."""
        weight, weight_left = self.weight_of(total[None])[0], self.weight_of(left)
        weight_right = weight - weight_left
        right, criterion = total - left, self.rules.criterion
        if criterion in ("squared_error", "gini"):
            first = 2 if criterion == "squared_error" else 1
            shift = left[:, first:] * weight - total[first:] * weight_left[:, None]
            return np.asarray((shift * shift).sum(axis=1) / (weight * weight_left * weight_right))
        if criterion == "poisson":
            expected = total[2] / weight * np.stack([weight_left, weight_right])
            return np.asarray(
                (expected * excess(np.stack([left[:, 2], right[:, 2]]) / expected - 1)).sum(axis=0)
            )
        if criterion == "misclassification":
            return np.asarray(left[:, 1:].max(axis=1) + right[:, 1:].max(axis=1) - total[1:].max())
        return np.asarray(entropy(total[None, 1:]) - entropy(left[:, 1:]) - entropy(right[:, 1:]))

    def impurity(self, rows: LongArray, sums: Sums) -> float:
        """The impurity of a node of these rows, times its weight."""
        total, criterion = sums.sum(axis=0), self.rules.criterion
        if criterion == "squared_error":
            known = sums[:, 1] > 0
            return float((sums[known, 2] ** 2 / sums[known, 1]).sum())
        if criterion == "poisson":
            mean, number = total[2] / total[1], self.table.target[rows].astype(np.longdouble)
            return float((sums[:, 1] * mean * excess(number / mean - 1)).sum())
        weight = total[1:].sum()
        if criterion == "gini":
            return float(weight - (total[1:] ** 2).sum() / weight)
        if criterion == "misclassification":
            return float(weight - total[1:].max())
        return float(entropy(total[None, 1:])[0])


def threshold_sums(column: Sums, sums: Sums) -> Sums:
    """The left side of every threshold, missing values right and then left, and of known against missing."""
    missing = np.isnan(column)
    order = np.argsort(column[~missing], kind="stable")
    values, below = column[~missing][order], np.cumsum(sums[~missing][order], axis=0)
    cuts = below[:-1][values[1:] > values[:-1]]
    if not missing.any() or missing.all():
        return cuts
    with_missing = cuts + sums[missing].sum(axis=0)
    both = np.stack([cuts, with_missing], axis=1).reshape(-1, sums.shape[1])
    return np.concatenate([both, below[-1:]])


def entropy(weights: Sums) -> Sums:
    """Entropy in bits of parts with these weights, times their sum."""
    total = weights.sum(axis=1, keepdims=True)
    share = np.where(weights > 0, weights / total, 1)
    return np.asarray(-(weights * np.log2(share)).sum(axis=1))


def excess(x: Sums) -> Sums:
    """(1 + x) log(1 + x) - x, to full precision near 0 and continued to -1."""
    near = np.where(np.abs(x) < 1e-3, x, 0)
    series = near * near * (1 / 2 - near * (1 / 6 - near * (1 / 12 - near * (1 / 20 - near / 30))))
    return np.where(np.abs(x) < 1e-3, series, (1 + x) * np.log1p(np.where(x > -1, x, 0)) - x)


# -- a grown tree against the oracle --------------------------------------------------------------------


@dataclass
class Findings:
    """What a walk over a tree found: nodes looked at, and everything that is not as it should be."""

    n_nodes: int = 0
    n_tied: int = 0  # nodes where several splits are worth the same
    lost: float = 0.0  # the greatest worth by which a split falls short of the best
    faults: tuple[str, ...] = ()


def findings(table: Table, rules: GrowthRules, tree: Tree) -> Findings:
    """The tree's splits against the best there are; limits on depth, leaves and gains are not looked at."""
    scan, found = Scan(table, rules), Findings()
    waiting = [(0, np.flatnonzero(scan.repeats))]
    while waiting:
        node, rows = waiting.pop()
        found.n_nodes += 1
        yes = going_left(tree, node, table)[rows] if tree.left[node] != LEAF else None
        may_split = scan.repeats[rows].sum() >= rows_asked(rules.min_samples_split, int(scan.repeats.sum()))
        if yes is not None or (may_split and not scan.is_pure(rows)):
            _look(scan, rows, yes, int(tree.feature[node]), f"node {node} of {len(rows)} rows", found)
        if yes is not None:
            waiting += [(int(tree.left[node]), rows[yes]), (int(tree.right[node]), rows[~yes])]
    return found


@dataclass(frozen=True, eq=False)
class Rival:
    """A split that is within rounding of the best of its feature."""

    worth: float
    feature: int
    is_subset: bool
    left: Sums


def rivals(scan: Scan, rows: LongArray, sums: Sums) -> list[Rival]:
    """The allowed splits that are within rounding of the best, in the order in which they win ties."""
    total, impurity = sums.sum(axis=0), scan.impurity(rows, sums)
    found: list[Rival] = []
    offered: list[float] = []
    for splits in scan.splits(rows, sums):
        left = splits.left[scan.is_allowed(splits.left, total)]
        worth = scan.worth(left, total, impurity, splits.cost)
        near = np.flatnonzero(worth >= worth.max(initial=0.0) - PART)
        if scan.rules.criterion == "gain_ratio" and len(left):
            # The feature offers the split that gains most: the first threshold, or any of several sets.
            gains = scan.gain(left, total) - splits.cost
            if scan.rules.threshold_cost and not splits.is_subset and gains.max() <= 1e-12 * impurity:
                continue
            tied = np.flatnonzero(gains >= gains.max() - 1e-12 * impurity)
            near = tied[worth[tied].argmin()][None] if splits.is_subset else tied[:1]
            offered.append(float(gains.max()))
        found += [Rival(float(worth[at]), splits.feature, splits.is_subset, left[at]) for at in near]
    if offered:
        least = sum(offered) / len(offered) - 8 * PART * impurity
        found = [rival for rival, gain in zip(found, offered, strict=True) if gain >= least]
    highest = max((rival.worth for rival in found), default=0.0)
    return [rival for rival in found if rival.worth >= highest - PART]


def _look(
    scan: Scan, rows: LongArray, yes: BoolArray | None, feature: int, name: str, found: Findings
) -> None:
    """Add what is wrong with a split, or with a leaf where `yes` is None."""
    sums = scan.sums(rows)
    best = rivals(scan, rows, sums)
    if yes is None:
        if best:
            found.faults += (f"{name} is a leaf, and a split worth {best[0].worth} is allowed",)
        return
    left, total = sums[yes].sum(axis=0), sums.sum(axis=0)
    if scan.is_pure(rows) or not scan.is_allowed(left[None], total)[0]:
        found.faults += (f"{name}: its split is not allowed",)
        return
    if not best:
        found.faults += (f"{name} splits feature {feature}, and no gain pays for its threshold",)
        return
    worths = [rival.worth for rival in best]
    cost = scan.cost(feature, rows, sums)
    lost = max(worths) - float(scan.worth(left[None], total, scan.impurity(rows, sums), cost)[0])
    found.lost, found.n_tied = max(found.lost, lost), found.n_tied + (len(best) > 1)
    if lost > 2 * PART:
        found.faults += (
            f"{name} splits feature {feature}, and feature {best[0].feature} is worth {lost} more",
        )
    elif max(worths) - min(worths) < 1e-14 and not is_first(feature, left, best[0]):
        found.faults += (
            f"{name} splits feature {feature}, and a tied split of {best[0].feature} comes first",
        )


def is_first(feature: int, left: Sums, first: Rival) -> bool:
    """True if a split is the first of those that are tied; the order of sets of categories is left open."""
    same = np.allclose(np.asarray(left, float), np.asarray(first.left, float), rtol=1e-9, atol=1e-9)
    return feature == first.feature and (same or first.is_subset)
