"""The deployed tree as a prior: how its old rows are combined with new ones, leaf by leaf.

The rows behind a deployed tree are not stored; its leaves hold their number and their mean. The old rows of a
leaf are shared equally among the new rows that reach it. A leaf that no new row, or hardly any, reaches is
kept, with all splits above it.
"""

from typing import NamedTuple

import numpy as np

from holdfast._arrays import FloatArray, IntArray
from holdfast.data.survival import SurvivalTimes
from holdfast.data.table import Table
from holdfast.data.target import count_effective_rows
from holdfast.distance.costs import value_fractions
from holdfast.growth.leaf_values import count_rows_by_class
from holdfast.growth.rules import class_impurity, get_criterion
from holdfast.stable.consensus.distil import compute_moments
from holdfast.tree.monotone import enforce_monotonicity
from holdfast.tree.rules import find_shared_paths, number_paths
from holdfast.tree.stats import add_to_ancestors, class_counts, set_class_counts, set_outcome
from holdfast.tree.survival import merge_curves, set_curves
from holdfast.tree.tree import LEAF, Tree

FEWEST_ROWS = 5  # a deployed leaf that fewer new rows reach is kept, with all splits above it
DISCOUNTS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)  # the weights of an old row in leaf values
CLEAR = 2.0  # gain of log likelihood at which a rate has clearly changed


class Prior(NamedTuple):
    """A deployed tree and its effective number of rows."""

    tree: Tree
    n_rows: float  # in the choice of splits
    n_carried: float  # in leaf values and counts: those that are not supplied again

    def blend(
        self, predictions: FloatArray, table: Table, repeats: IntArray, importance: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Average a teacher's predictions with those of the tree, leaf by leaf; add the weight of old rows.

        A new row of a leaf with n new and m old rows counts (n + m) / n times, and its prediction is the mean
        of the teacher's and the tree's with the weights n and m.
        """
        leaf, target = self.tree.apply(table), table.schema.target
        predicted = value_fractions(get_teacher_means(self.tree), target)[leaf]
        ratio = self._ratios(leaf, table, repeats * importance)[leaf]
        share = (ratio / (1.0 + ratio))[:, None]
        return (1.0 - share) * predictions + share * predicted, importance * (1.0 + ratio)

    def _ratios(self, leaf: IntArray, table: Table, weight: FloatArray) -> FloatArray:
        """Compute the old rows per new row at every leaf that new rows reach; 0 elsewhere."""
        new = np.bincount(leaf, weight, self.tree.n_nodes)
        new = new / new.sum() * count_effective_rows(table.weight, table.n_rows)
        # The weights of a survival tree are expected events, not rows.
        own = self.tree.count if self.tree.schema.target.is_survival else self.tree.weight
        # A tree of another library may have no weights: its rows are then taken to be where the new ones are.
        old = self.n_rows * (own / own[0] if own[0] > 0 else new / new.sum())
        ratios: FloatArray = np.divide(old, new, out=np.zeros(self.tree.n_nodes), where=new > 0)
        return ratios

    def leaves_to_keep(self, table: Table, repeats: IntArray) -> list[int]:
        """Find the leaves that no new row, or hardly any, reaches: they stay, with all splits above them."""
        n_rows = np.bincount(self.tree.apply(table), repeats, self.tree.n_nodes)
        few = FEWEST_ROWS if self.n_rows > 0 else 1
        return np.flatnonzero((self.tree.feature == LEAF) & (n_rows < few)).tolist()

    # -- leaf values ------------------------------------------------------------------------------------

    def discounts(self, table: Table, repeats: IntArray) -> FloatArray:
        """Compute the weight of an old row in the value of each leaf: 1 unless its rate has clearly changed.

        A power prior: the discount under which the new rows are most likely, first for all leaves together
        and then for each leaf, wherever the log likelihood gains `CLEAR` by it. Leaves to keep and inner
        nodes have 1.
        """
        leaf, keep = self.tree.apply(table), self.leaves_to_keep(table, repeats)
        if self.tree.schema.target.is_classes:
            likelihood = self._class_likelihood(leaf, table, repeats)
        elif table.survival is not None:
            likelihood = self._event_likelihood(leaf, table.survival, repeats)
        else:
            likelihood = self._number_likelihood(leaf, table, repeats)
        total = likelihood.sum(axis=1)
        common = int(total.argmax()) if total.max() > total[0] + CLEAR else 0
        best = likelihood.argmax(axis=0)
        is_clear = likelihood.max(axis=0) > likelihood[common] + CLEAR
        discounts = np.array(DISCOUNTS)[np.where(is_clear, best, common)]
        discounts[self.tree.feature != LEAF] = discounts[keep] = 1.0
        return discounts

    def _class_likelihood(self, leaf: IntArray, table: Table, repeats: IntArray) -> FloatArray:
        """Dirichlet-multinomial log likelihood of the new rows given the old ones, (discounts, nodes)."""
        from scipy.special import gammaln

        def log_beta(counts: FloatArray) -> FloatArray:
            return np.asarray(gammaln(counts).sum(axis=1) - gammaln(counts.sum(axis=1)), np.float64)

        classes = table.schema.target.classes
        new = count_rows_by_class(self.tree, leaf, table.target, repeats, len(classes))
        old = class_counts(self.tree) * self._carried_share
        is_leaf = (self.tree.feature == LEAF)[:, None]
        old, new = np.where(is_leaf, old, 0.0), np.where(is_leaf, new, 0.0)
        return np.stack([log_beta(a * old + new + 0.5) - log_beta(a * old + 0.5) for a in DISCOUNTS])

    def _event_likelihood(self, leaf: IntArray, survival: SurvivalTimes, repeats: IntArray) -> FloatArray:
        """Negative binomial log likelihood of the new events given the old ones, (discounts, nodes)."""
        from scipy.special import gammaln, xlogy

        n_nodes, is_leaf = self.tree.n_nodes, self.tree.feature == LEAF
        new = np.where(is_leaf, np.bincount(leaf, repeats * survival.event, n_nodes), 0.0)
        expected = np.where(is_leaf, np.bincount(leaf, repeats * survival.exposure, n_nodes), 0.0)
        at_risk = self.tree.weight * self._carried_share * is_leaf
        old = at_risk * self.tree.observed_mean[:, 0]
        likelihood = np.zeros((len(DISCOUNTS), n_nodes))
        for place, discount in enumerate(DISCOUNTS):
            shape, rate = discount * old + 0.5, discount * at_risk + 0.5
            ratio = rate / (rate + expected)
            likelihood[place] = gammaln(new + shape) - gammaln(shape) + xlogy(shape, ratio)
            likelihood[place] += xlogy(new, 1.0 - ratio)
        return likelihood

    def _number_likelihood(self, leaf: IntArray, table: Table, repeats: IntArray) -> FloatArray:
        """Normal log likelihood of the mean of the new rows given the old ones, (discounts, nodes)."""
        n_nodes = self.tree.n_nodes
        n_new = np.bincount(leaf, repeats, n_nodes)
        target = table.schema.target
        low, width = target.low, (target.high - target.low) or 1.0
        mean = np.bincount(leaf, repeats * (table.target - low) / width, n_nodes) / np.maximum(n_new, 1.0)
        spread = np.bincount(leaf, repeats * ((table.target - low) / width - mean[leaf]) ** 2, n_nodes)
        n_old = self.tree.count * self._carried_share
        old = np.square(_deviation(self.tree) / width)
        variance = (spread + n_old * old) / np.maximum(n_new + n_old, 1.0)
        is_known = (n_new > 0) & (n_old > 0) & (variance > 0)
        likelihood = np.zeros((len(DISCOUNTS), n_nodes))
        for place, discount in enumerate(DISCOUNTS):
            error = variance * (1.0 / np.maximum(discount * n_old, 1e-9) + 1.0 / np.maximum(n_new, 1.0))
            error = np.where(is_known, error, 1.0)
            deviance = np.square(mean - (self.tree.value[:, 0] - low) / width) / error
            likelihood[place] = np.where(is_known, -0.5 * (np.log(error) + deviance), 0.0)
        return likelihood

    def add_to(
        self, tree: Tree, table: Table, repeats: IntArray, discounts: FloatArray, *, has_teacher_values: bool
    ) -> Tree:
        """Add the rows behind the deployed tree to those of a tree that was fitted to the new rows.

        Values become weighted means of both; counts, class counts and weights their sums. A leaf that no new
        row, or hardly any, reaches is copied from the deployed tree, and its new rows do not count.
        """
        weight = np.asarray(repeats, np.float64) if table.weight is None else table.weight
        old_leaf, leaf = self.tree.apply(table), tree.apply(table)
        kept = self._kept_leaves(tree, self.leaves_to_keep(table, repeats))
        own = np.bincount(old_leaf, weight, self.tree.n_nodes)
        share = discounts * self._carried_share
        share = np.divide(share, own, out=np.zeros(self.tree.n_nodes), where=own > 0)
        share[list(kept.values())] = 0.0
        lent = weight * share[old_leaf]  # to each new row, as a share of its leaf in the deployed tree
        is_survival = table.survival is not None  # whose trees have the events of the rows
        if has_teacher_values and not (tree.schema.target.is_classes or is_survival):
            mean, deviation = compute_moments(tree, table, weight, leaf)
            tree = tree.replace(deviation=deviation, rows_mean=mean)
        elif table.weight is not None and not is_survival:
            tree = tree.replace(rows_mean=compute_moments(tree, table, weight, leaf)[0])
        tree = set_curves(tree, table)
        if not kept and not lent.any():
            return tree
        old, own_sums = _leaf_sums(self.tree, self._weight_unit(tree, table)), _leaf_sums(tree)
        np.add.at(own_sums, leaf, lent[:, None] * old[old_leaf])
        nodes, sources = list(kept), list(kept.values())
        own_sums[nodes] = old[sources]
        _count_whole_rows(own_sums, tree)
        add_to_ancestors(tree, own_sums)
        if tree.curves is not None and self.tree.curves is not None:
            shares = np.zeros((tree.n_nodes, self.tree.n_nodes))
            np.add.at(shares, (leaf, old_leaf), lent)
            shares[nodes] = 0.0
            shares[nodes, sources] = 1.0
            tree = merge_curves(tree, self.tree.curves, shares, dropped=nodes)
        return self._with_sums(tree, own_sums, nodes, sources)

    def _with_sums(self, tree: Tree, sums: FloatArray, nodes: list[int], sources: list[int]) -> Tree:
        """Set values and counts from the sums of the nodes; `nodes` copy leaves of the deployed tree."""
        n_values, is_classes = tree.value.shape[1], tree.schema.target.is_classes
        count, weight, effective = sums[:, :3].T
        divisor = np.where(weight > 0, weight, 1.0)
        value = np.where(weight[:, None] > 0, sums[:, -n_values:] / divisor[:, None], tree.value)
        value[nodes] = self.tree.value[sources]
        filled = tree.replace(
            value=value,
            count=count,
            weight=weight,
            effective=None if self.tree.effective is None else effective,
            given_outcome=None,
            observed=None,
        )
        if tree.teacher_mean is not None:
            means = sums[:, -3 * n_values : -2 * n_values] / divisor[:, None]
            means = np.where(weight[:, None] > 0, means, tree.teacher_mean)
            means[nodes] = get_teacher_means(self.tree)[sources]
            filled = filled.replace(teacher_mean=np.minimum(means, 1.0) if is_classes else means)
        if tree.rows_mean is not None or self.tree.rows_mean is not None:
            mean = np.where(weight[:, None] > 0, sums[:, -2 * n_values : -n_values] / divisor[:, None], value)
            mean[nodes] = self.tree.observed_mean[sources]
            filled = filled.replace(rows_mean=np.minimum(mean, 1.0) if is_classes else mean)
        if tree.schema.target.is_survival:
            mean = np.maximum(filled.observed_mean[:, 0], 0.0)
            impurity = np.maximum(sums[:, 3] / divisor - mean * np.log(np.where(mean > 0, mean, 1.0)), 0.0)
            impurity[nodes] = self.tree.impurity[sources]
            return enforce_monotonicity(filled.replace(impurity=impurity), nodes)
        if not is_classes:
            # About the middle of the range, so that the moments of nodes are sums of those of their leaves.
            variance = np.maximum(
                sums[:, 3] / divisor - np.square(filled.observed_mean[:, 0] - _middle(tree)), 0.0
            )
            variance[nodes] = np.square(_deviation(self.tree)[sources])
            deviation = None if tree.deviation is None else np.sqrt(variance)
            return enforce_monotonicity(filled.replace(impurity=variance, deviation=deviation), nodes)
        filled = filled.replace(impurity=class_impurity(get_criterion(tree.criterion, True), value))
        filled = set_class_counts(filled, sums[:, 3 : -3 * n_values])
        outcome = filled.outcome.copy()
        outcome[nodes] = self.tree.outcome[sources]
        return enforce_monotonicity(set_outcome(filled, outcome), nodes)

    def _kept_leaves(self, tree: Tree, keep: list[int]) -> dict[int, int]:
        """Map leaves of another tree to the leaves to keep of the deployed tree."""
        own, other = number_paths(self.tree), number_paths(tree)
        pairs = [(other[path], own[path]) for path in sorted(find_shared_paths(self.tree, tree))]
        return {node: source for node, source in pairs if tree.feature[node] == LEAF and source in keep}

    def _weight_unit(self, tree: Tree, table: Table) -> float:
        """The weight of a row in a tree fitted to new rows, relative to that in the deployed tree."""
        old = float(self.tree.weight[0])
        new = float(tree.weight[0]) / count_effective_rows(table.weight, table.n_rows)
        if not old > 0 or table.survival is not None:  # expected events have one unit
            return 1.0
        unit, count = new * float(self.tree.count[0]) / old, float(self.tree.count[0])
        # Earlier updates have rounded the counts of leaves, class by class, but not their weights.
        most_rounded = 0.5 * self.tree.n_leaves * max(len(self.tree.schema.target.classes), 1)
        return 1.0 if abs(unit - 1.0) * count <= most_rounded else unit

    def n_behind(self, table: Table, repeats: IntArray, discounts: FloatArray) -> float:
        """Count the rows that an updated tree stands for: the new ones and the discounted old ones.

        A leaf that is kept stands for its old rows alone.
        """
        leaf, keep = self.tree.apply(table), self.leaves_to_keep(table, repeats)
        weight = np.asarray(repeats, np.float64) if table.weight is None else table.weight
        n_new = (
            count_effective_rows(table.weight, table.n_rows)
            * weight[~np.isin(leaf, keep)].sum()
            / weight.sum()
        )
        share = discounts * self._carried_share * (self.tree.feature == LEAF)
        share[keep] = 1.0
        return float(n_new + (share * self.tree.count).sum())

    @property
    def _carried_share(self) -> float:
        """The share of the rows behind the tree that is carried over."""
        n_behind = float(self.tree.count[0])
        return self.n_carried / n_behind if n_behind > 0 else 0.0


def get_teacher_means(tree: Tree) -> FloatArray:
    """The teacher's mean prediction at every node; the values of a tree without a teacher."""
    return tree.value if tree.teacher_mean is None else tree.teacher_mean


def _leaf_sums(tree: Tree, unit: float = 1.0) -> FloatArray:
    """Sum at leaves, 0 elsewhere: rows, weight, effective rows, rows of each class, and weighted means.

    The weighted means are those of the teacher, of the rows, and the values. For numbers, the weighted second
    moment replaces the rows of classes.
    """
    weight, mean = tree.weight * unit, tree.observed_mean
    effective = tree.count if tree.effective is None else tree.effective
    if tree.schema.target.is_classes:
        middle = class_counts(tree)
    elif tree.schema.target.is_survival:  # of which the Poisson impurity is made
        rate = np.maximum(mean[:, 0], 0.0)
        entropy = rate * np.log(np.where(rate > 0, rate, 1.0))
        middle = (weight * (tree.impurity + entropy))[:, None]
    else:
        spread = np.square(_deviation(tree)) + np.square(mean[:, 0] - _middle(tree))
        middle = (weight * spread)[:, None]
    sums = weight[:, None] * np.hstack([get_teacher_means(tree), mean, tree.value])
    parts = [tree.count, weight, effective, *middle.T, *sums.T]
    return np.where((tree.feature == LEAF)[:, None], np.stack(parts, axis=1), 0.0)


def _count_whole_rows(sums: FloatArray, tree: Tree) -> None:
    """Round discounted rows to whole ones."""
    n_classes = len(tree.schema.target.classes)
    sums[:, 3 : 3 + n_classes] = np.rint(sums[:, 3 : 3 + n_classes])
    sums[:, 0] = sums[:, 3 : 3 + n_classes].sum(axis=1) if n_classes else np.rint(sums[:, 0])


def _middle(tree: Tree) -> float:
    return tree.schema.target.low / 2 + tree.schema.target.high / 2


def _deviation(tree: Tree) -> FloatArray:
    """The standard deviation of the numbers at every node."""
    return np.sqrt(np.maximum(tree.impurity, 0.0)) if tree.deviation is None else tree.deviation
