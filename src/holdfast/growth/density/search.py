"""The best question about a group of unlabelled rows: the two sides are as likely as can be."""

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, IntArray, LongArray, frozen, without_last_digits
from holdfast.backends.interruption import call_kernel, stop_flag
from holdfast.data.schema import Kind
from holdfast.growth.density.model import Family, Sums, add_up_groups
from holdfast.growth.density.rows import UnlabelledRows
from holdfast.growth.thresholds import midpoint
from holdfast.kernels.growth.density import NO_WEIGHT, TIE, best_thresholds

MOST_FREE = 10  # categories in a node of which all sets are tried; of more, prefixes of one order
MOST_CUTS = 32  # thresholds of a column that are tried at a time if the covariance is full


@dataclass(frozen=True, eq=False)
class Question:
    """A split and its gain: log likelihood of the two sides minus that of the node."""

    feature: int
    gain: float
    threshold: float  # NaN where a set is asked about
    in_set: BoolArray | None  # one flag per category: does it go left?
    missing_left: bool

    def answers(self, column: FloatArray) -> BoolArray:
        """Flag the rows that go left, given the column of the feature."""
        missing = np.isnan(column)
        if self.in_set is None:
            left = column <= self.threshold
        else:
            left = self.in_set[np.where(missing, 0, column).astype(np.int64)]
        return np.where(missing, self.missing_left, left)

    def centred(self, column: FloatArray, kind: Kind) -> "Question":
        """Move the threshold half-way between the neighbouring values."""
        if self.in_set is not None:
            return self
        low, high = column[column <= self.threshold], column[column > self.threshold]
        if not len(low) or not len(high):
            return self
        return replace(self, threshold=_between(float(low.max()), float(high.min()), kind))


@dataclass(frozen=True, eq=False)
class Search:
    """Search for splits: the rows, the models, and the least rows of a side."""

    data: UnlabelledRows
    family: Family
    least: int

    def best_question(self, orders: IntArray) -> Question | None:
        """Find the best split of the rows in `orders`, sorted by each column.

        Of equal ones it is that on the first column by name, at the lowest threshold.
        """
        taken = orders[0]
        node = add_up_groups(self.data.rows, taken, np.zeros(len(taken), np.int64), 1, full=self.family.full)
        alone = float(self.family.log_likelihood(node)[0])
        tie = TIE * float(node.weight[0])
        best: Question | None = None
        for question in self._best_of_columns(orders, alone):
            if best is None or question.gain > best.gain + tie:
                best = question
        return best

    def _best_of_columns(self, orders: IntArray, alone: float) -> list[Question]:
        features = self.data.schema.features
        if self.family.full:
            by_threshold = {
                index: self._best_of_some_thresholds(index, order, alone)
                for index, order in enumerate(orders)
                if not features[index].is_subset
            }
        else:
            by_threshold = self._best_of_all_thresholds(orders, alone)
        found = [
            self._best_of_sets(index, orders[0], alone) if feature.is_subset else by_threshold[index]
            for index, feature in ((index, features[index]) for index in self.data.schema.name_order)
        ]
        return [question for question in found if question is not None]

    # -- thresholds ---------------------------------------------------------------------------------------

    def _best_of_all_thresholds(self, orders: IntArray, alone: float) -> dict[int, Question | None]:
        features = self.data.schema.features
        asked = [index for index, feature in enumerate(features) if not feature.is_subset]
        if not asked:
            return {}
        likelihood, places = np.empty(len(asked)), np.empty(len(asked), np.int64)
        missing_left = np.empty(len(asked), np.int64)
        ranks = self.data.ranks
        if len(asked) < len(features):
            ranks, orders = ranks[asked], orders[asked]
        found, n_steps = (likelihood, places, missing_left), orders.size * len(features)
        with stop_flag() as stop:
            arguments = (self.data.rows, frozen(ranks), frozen(orders), self.least, *found, stop)
            call_kernel(best_thresholds, *arguments, stop=stop, n_steps=n_steps)
        return {
            index: self._threshold(index, order, int(place), float(value) - alone, bool(side))
            for index, order, place, value, side in zip(
                asked, orders, places, likelihood, missing_left, strict=True
            )
        }

    def _best_of_some_thresholds(self, feature: int, order: IntArray, alone: float) -> Question | None:
        """Find the best of a few thresholds, then search around it until no neighbour is better."""
        rank = self.data.ranks[feature][order]
        n_known = int(np.count_nonzero(rank >= 0))
        cuts = self._allowed(order, np.flatnonzero(np.diff(rank[:n_known]) > 0), n_known)
        first, last, best = 0, len(cuts), None
        while first < last:
            tried = np.unique(np.linspace(first, last - 1, min(MOST_CUTS, last - first)).astype(np.int64))
            group = np.searchsorted(cuts[tried], np.arange(len(order)), side="left")
            group[n_known:] = len(tried) + 1
            best = self._best_union(order, group, len(tried) + 1, None)
            if best is None or len(tried) == last - first:
                break
            around = np.concatenate([[first - 1], tried, [last]])[best[0] : best[0] + 3]
            first, last = int(around[0]) + 1, int(around[2])
        if best is None:
            return None
        which, likelihood, missing_left = best
        return self._threshold(feature, order, int(cuts[tried[which]]), likelihood - alone, missing_left)

    def _allowed(self, order: IntArray, cuts: LongArray, n_known: int) -> LongArray:
        """Flag the cuts that can leave enough rows on both sides, wherever missing values go."""
        rows = np.cumsum(self.data.rows.repeats[order])
        missing = rows[-1] - (rows[n_known - 1] if n_known else 0)
        enough = (rows[cuts] + missing >= self.least) & (rows[-1] - rows[cuts] >= self.least)
        return np.asarray(cuts[enough], np.int64)

    def _threshold(
        self, feature: int, order: IntArray, place: int, gain: float, missing_left: bool
    ) -> Question | None:
        if place < 0:
            return None
        low, high = self.data.table.columns[feature][order[place : place + 2]].tolist()
        middle = _between(low, high, self.data.schema.features[feature].kind)
        if self.data.ranks[feature][order[-1]] >= 0:  # no row is missing: then to the heavier side
            weight = self.data.rows.weight[order]
            missing_left = bool(2 * weight[: place + 1].sum() >= weight.sum())
        return Question(feature, gain, middle, None, missing_left)

    # -- sets ---------------------------------------------------------------------------------------------

    def _best_of_sets(self, feature: int, taken: IntArray, alone: float) -> Question | None:
        column = self.data.table.columns[feature][taken]
        known = ~np.isnan(column)
        there, group = np.unique(column[known].astype(np.int64), return_inverse=True)
        if len(there) < 2:
            return None
        groups = np.full(len(taken), len(there), np.int64)
        groups[known] = group
        order, unions = np.arange(len(there)), None
        if len(there) <= MOST_FREE:
            unions = _all_sets(len(there))
        else:
            order = _line(self._profiles(feature, taken, groups, len(there)))
            groups[known] = np.argsort(order, kind="stable")[group]
        best = self._best_union(taken, groups, len(there), unions)
        if best is None:
            return None
        which, likelihood, missing_left = best
        left = np.arange(len(there)) <= which if unions is None else unions[which] > 0
        if known.all():
            weight = self.data.rows.weight[taken]
            missing_left = bool(2 * weight[left[groups]].sum() >= weight.sum())
        in_set = np.full(len(self.data.schema.features[feature].categories), missing_left)
        in_set[there[order]] = left
        return Question(feature, likelihood - alone, np.nan, in_set, missing_left)

    def _profiles(self, feature: int, taken: IntArray, group: LongArray, n_groups: int) -> Sums:
        """Return the statistics of each category of a feature, without the counts of the feature itself."""
        sums = add_up_groups(self.data.rows, taken, group, n_groups + 1, full=False)
        place = int(np.flatnonzero(self.data.units.categorical == feature)[0])
        own = np.arange(*self.data.units.start[place : place + 2])
        return replace(sums, counts=np.delete(sums.counts, own, axis=1))

    def _best_union(
        self, taken: IntArray, group: LongArray, n_groups: int, unions: FloatArray | None
    ) -> tuple[int, float, bool] | None:
        """Find the best union of groups to go left; the last group holds missing values.

        Returns its number, the log likelihood of both sides, and whether missing values go left.

        Each union has a 1 for every group in it; None are the prefixes: the first group, the first two, ...
        """
        parts = add_up_groups(self.data.rows, taken, group, n_groups + 1, full=self.family.full)
        whole = parts.mapped(lambda part: part.sum(axis=0, keepdims=True))
        best: tuple[int, float, bool] | None = None
        tie = TIE * float(parts.weight.sum())
        for missing_left in (False, True) if parts.count[n_groups] else (False,):
            left = parts.mapped(partial(_joined, unions, missing_left))
            right = whole.without(left)
            allowed = np.flatnonzero((left.count >= self.least) & (right.count >= self.least))
            if not len(allowed):
                continue
            values = (self.family.log_likelihood(left) + self.family.log_likelihood(right))[allowed]
            which = int(np.argmax(values > values.max() - tie))
            if best is None or values[which] > best[1] + tie:
                best = int(allowed[which]), float(values[which]), missing_left
        return best


def _between(low: float, high: float, kind: Kind) -> float:
    """Return the threshold between two neighbouring values."""
    middle = float(midpoint(np.array([low]), np.array([high]))[0])
    return math.floor(middle) + 0.5 if kind == "ordered" else middle


def _all_sets(n_groups: int) -> FloatArray:
    """List all sets that hold the first group but not every group, as binary numbers in order."""
    numbers = np.arange(2 ** (n_groups - 1) - 1)
    others = numbers[:, None] >> np.arange(n_groups - 1) & 1
    return np.column_stack([np.ones(len(numbers)), others]).astype(np.float64)


def _joined(unions: FloatArray | None, missing_left: bool, parts: FloatArray) -> FloatArray:
    known, missing = parts[:-1], parts[-1:]
    joined = np.cumsum(known, axis=0)[:-1] if unions is None else np.tensordot(unions, known, 1)
    return np.asarray(joined + missing if missing_left else joined, np.float64)


def _line(profiles: Sums) -> LongArray:
    """Order the groups along the direction in which their profiles vary most.

    A profile holds the means of the numbers and the fractions of the categories; the group after the last, of
    missing values, has none.
    """
    weight = profiles.weight[:-1]
    means = profiles.total[:-1] / np.maximum(profiles.known[:-1], NO_WEIGHT)
    fractions = profiles.counts[:-1] / weight[:, None]
    profile = np.column_stack([means, fractions])
    if not profile.shape[1]:  # no other column: nothing tells the groups apart
        return np.arange(len(weight))
    shift = (profile - np.average(profile, axis=0, weights=weight)) * np.sqrt(weight)[:, None]
    place = profile @ np.linalg.svd(shift, full_matrices=False)[2][0]
    # Groups of one profile stand in one place, whatever bits a matrix product leaves.
    place = without_last_digits(place - np.average(place, weights=weight))
    return np.argsort(place if place[0] <= 0 else -place, kind="stable")
