"""The best split of a node by trying every one, in exact arithmetic: the slow twin of the grower."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from holdfast.data.table import Table
from holdfast.growth.rules import GrowthRules
from holdfast.tree.stats import parse_quantile
from reference.names import by_name

Rows = tuple[int, ...]
Exact = Fraction | int
Number = Exact | float  # a float where the criterion takes logarithms
MISSING = -1  # as a category
PART = 2.0**-36  # two splits whose worth differs by less may be tied


@dataclass(frozen=True)
class Candidate:
    """One way to split a node; worth decides, then the name of the feature, cut, and missing right."""

    feature: int
    place: int  # of the feature among all by name
    cut: float  # highest value that goes left; 0 for a set of categories
    missing_left: bool
    left: frozenset[int]  # rows
    gain: Number  # impurity of the node minus that of its two sides, times weight
    worth: Number

    @property
    def rank(self) -> tuple[int, float, bool]:
        """Where the split stands among those of equal worth."""
        return self.place, self.cut, self.missing_left


@dataclass(frozen=True, eq=False)
class Oracle:
    """A table and rules, and what they say about any set of rows."""

    table: Table
    rules: GrowthRules

    # -- rows -----------------------------------------------------------------------------------------

    @cached_property
    def repeats(self) -> list[int]:
        """How many rows each row stands for: whole weights are repetitions, all others are importances."""
        weight = self.table.weight
        if weight is None:
            return [1] * self.table.n_rows
        is_whole = all(float(one).is_integer() for one in weight)
        return [int(one) if is_whole else int(one > 0) for one in weight]

    @cached_property
    def weights(self) -> list[Exact]:
        """What each row weighs, with all its repetitions."""
        given = self.table.weight
        plain = [exact(1.0 if given is None else given[row]) for row in range(self.table.n_rows)]
        if self.rules.class_weight is None:
            return plain
        classes = self.table.schema.target.classes
        of_class = [sum(plain[row] for row in self._rows_of(k)) for k in range(len(classes))]
        n_present = sum(weight > 0 for weight in of_class)
        factors: list[Exact] = [1] * len(classes)
        for k, label in enumerate(classes):
            if self.rules.class_weight != "balanced":
                factors[k] = exact(self.rules.class_weight.get(label, 1.0))
            elif of_class[k]:
                factors[k] = Fraction(sum(plain)) / (n_present * of_class[k])
        return [weight * factors[self.table.target[row]] for row, weight in enumerate(plain)]

    @cached_property
    def targets(self) -> list[Exact]:
        """The target as exact numbers."""
        return [exact(target) for target in self.table.target]

    @cached_property
    def root(self) -> Rows:
        """The rows that count."""
        return tuple(row for row, repeats in enumerate(self.repeats) if repeats > 0)

    def _rows_of(self, k: int) -> list[int]:
        return [row for row in range(self.table.n_rows) if self.table.target[row] == k]

    def count(self, rows: Rows) -> int:
        """Number of rows, repetitions counted."""
        return sum(self.repeats[row] for row in rows)

    def weight(self, rows: Rows) -> Exact:
        """Their total weight."""
        return sum(self.weights[row] for row in rows)

    def total(self, rows: Rows) -> Exact:
        """The weighted sum of their targets."""
        return sum(self.weights[row] * self.targets[row] for row in rows)

    def class_weights(self, rows: Rows) -> list[Exact]:
        """The weight of each class."""
        of_class: list[Exact] = [0] * len(self.table.schema.target.classes)
        for row in rows:
            of_class[self.table.target[row]] += self.weights[row]
        return of_class

    @property
    def rounding(self) -> float:
        """How far the worth of a split may be off: weights and targets are kept as multiples of a unit."""
        weights, targets = self.weights, self.targets if self.table.schema.target.classes == () else []
        return 0.0 if all(isinstance(one, int) for one in (*weights, *targets)) else 1e-9

    def is_pure(self, rows: Rows) -> bool:
        """True if the rows agree on the target."""
        return len({self.targets[row] for row in rows}) <= 1

    # -- worth ----------------------------------------------------------------------------------------

    def impurity(self, rows: Rows) -> Number:
        """The impurity of a node of these rows by the criterion's definition, times its weight."""
        weight, criterion = self.weight(rows), self.rules.criterion
        if (quantile := parse_quantile(criterion)) is not None:
            above = 1 if criterion == "absolute_error" else Fraction(quantile)
            below = 1 if criterion == "absolute_error" else 1 - Fraction(quantile)
            own = [(self.weights[row], self.targets[row]) for row in rows]
            return min(
                sum(w * (above * (y - value) if y > value else below * (value - y)) for w, y in own)
                for value in {self.targets[row] for row in rows}
            )
        if criterion == "squared_error":
            squares = sum(self.weights[row] * self.targets[row] ** 2 for row in rows)
            return squares - Fraction(self.total(rows) ** 2) / weight
        if criterion == "poisson":
            mean = Fraction(self.total(rows)) / weight
            return sum(float(self.weights[row] * mean) * excess(self.targets[row] / mean - 1) for row in rows)
        of_class = self.class_weights(rows)
        if criterion == "gini":
            return weight - Fraction(sum(one * one for one in of_class)) / weight
        if criterion in ("misclassification", "purity"):
            return weight - max(of_class)
        return entropy(of_class)

    def gain(self, node: Number, left: Rows, right: Rows) -> Number:
        """Impurity of the node minus that of its two sides, times weight."""
        if self.rules.criterion != "poisson":
            return node - self.impurity(left) - self.impurity(right)
        # The same for Poisson, without the digits that the three have in common.
        mean = Fraction(self.total(left) + self.total(right)) / (self.weight(left) + self.weight(right))
        expected = [(self.total(side), mean * self.weight(side)) for side in (left, right)]
        return sum(float(part) * excess(total / part - 1) for total, part in expected)

    def worth(self, node: Number, gain: Number, left: Exact, right: Exact) -> Number:
        """The gain on the scale on which splits compete; `node` is the node's impurity times weight."""
        if self.rules.criterion == "gain_ratio":
            return gain / entropy([left, right])
        if self.rules.criterion == "mutual_information":
            return 2 * gain / (entropy([left, right]) + node)
        return gain / (node if isinstance(node, float) else Fraction(node))

    def is_allowed(self, left: Rows, right: Rows) -> bool:
        """True if both sides hold enough rows and weight, and for Poisson an event."""
        rules = self.rules
        least = rows_asked(rules.min_samples_leaf, self.count(self.root))
        least_weight = rules.min_weight_fraction_leaf * float(self.weight(self.root)) * (1 - 1e-12)
        for side in (left, right):
            if self.count(side) < least or self.weight(side) < least_weight:
                return False
            if rules.criterion == "poisson" and self.total(side) == 0:
                return False
        return True

    # -- splits ---------------------------------------------------------------------------------------

    def candidates(self, rows: Rows) -> list[Candidate]:
        """Every split that the rules allow."""
        found, node = [], self.impurity(rows)
        for place, feature in enumerate(by_name(self.table.schema)):
            kind = self.table.schema.features[feature]
            splits = self._sets(rows, feature) if kind.is_subset else self._thresholds(rows, feature)
            for cut, missing_left, left in splits:
                right = tuple(row for row in rows if row not in left)
                inside = tuple(row for row in rows if row in left)
                if self.is_allowed(inside, right):
                    gain = self.gain(node, inside, right)
                    worth = self.worth(node, gain, self.weight(inside), self.weight(right))
                    found.append(Candidate(feature, place, cut, missing_left, left, gain, worth))
        if self.rules.criterion != "gain_ratio":
            return found
        return self.guarded(self.paid(found, rows, node), float(node))

    def paid(self, candidates: list[Candidate], rows: Rows, node: Number) -> list[Candidate]:
        """The splits after thresholds have paid the bits that name them, without those that cannot."""
        found = []
        for each in candidates:
            if not self.rules.threshold_cost or self.table.schema.features[each.feature].is_subset:
                found.append(each)
                continue
            gain = float(each.gain) - self.threshold_cost(rows, each.feature)
            left = self.weight(tuple(each.left))
            worth = self.worth(node, gain, left, self.weight(rows) - left)
            if gain > 1e-12 * float(node):  # above 0, whatever the rounding
                found.append(replace(each, gain=gain, worth=worth))
        return found

    def threshold_cost(self, rows: Rows, feature: int) -> float:
        """log2 of the number of thresholds, a bit for the whole node: its part in each row, times weight."""
        column = self.table.columns[feature]
        n_values = len({float(column[row]) for row in rows if not np.isnan(column[row])})
        return math.log2(max(n_values - 1, 1)) / self.count(rows) * float(self.weight(rows))

    def guarded(self, candidates: list[Candidate], node: float) -> list[Candidate]:
        """What each feature offers for the gain ratio: its best gain, if that is no less than their average.

        Of equal gains the lowest threshold is offered; which of several sets is left open: all are.
        """
        offers: dict[int, list[Candidate]] = {}
        for feature in {each.feature for each in candidates}:
            own = [each for each in candidates if each.feature == feature]
            most = max(float(each.gain) for each in own)
            tied = [each for each in own if float(each.gain) >= most - 1e-12 * node]
            is_subset = self.table.schema.features[feature].is_subset
            offers[feature] = tied if is_subset else [min(tied, key=lambda each: each.rank)]
        average = math.fsum(float(own[0].gain) for own in offers.values()) / max(len(offers), 1)
        least = average - 8 * PART * node
        return [each for own in offers.values() for each in own if float(own[0].gain) >= least]

    def _thresholds(self, rows: Rows, feature: int) -> Iterator[tuple[float, bool, frozenset[int]]]:
        column = self.table.columns[feature]
        missing = frozenset(row for row in rows if np.isnan(column[row]))
        values = sorted({float(column[row]) for row in rows if row not in missing})
        for value in values:
            known = frozenset(row for row in rows if column[row] <= value)
            if value < values[-1] or missing:
                yield value, False, known
            if value < values[-1] and missing:
                yield value, True, known | missing

    def _sets(self, rows: Rows, feature: int) -> Iterator[tuple[float, bool, frozenset[int]]]:
        column = self.table.columns[feature]
        category = {row: MISSING if np.isnan(column[row]) else int(column[row]) for row in rows}
        first, *others = sorted(set(category.values()), key=lambda code: (code == MISSING, code))
        for pattern in range(2 ** len(others) - 1):  # the last pattern would send all of them left
            chosen = {first} | {code for bit, code in enumerate(others) if pattern >> bit & 1}
            left = frozenset(row for row in rows if category[row] in chosen)
            yield 0.0, MISSING in chosen, left

    def may_split(self, rows: Rows, depth: int) -> bool:
        """True unless the rules, or a target that does not vary, end growth here."""
        rules = self.rules
        least = rows_asked(rules.min_samples_split, self.count(self.root))
        too_deep = rules.max_depth is not None and depth >= rules.max_depth
        return not (too_deep or self.count(rows) < least or self.is_pure(rows))

    def is_enough(self, rows: Rows, split: Candidate) -> bool:
        """True if the split gains what the rules ask for; the limit itself is enough."""
        whole = float(self.impurity(rows))
        least = self.rules.min_impurity_decrease * float(self.weight(self.root))
        gain = float(split.gain)
        if self.rules.threshold_cost and not self.table.schema.features[split.feature].is_subset:
            gain += self.threshold_cost(rows, split.feature)  # limits are for the impurity, whatever was paid
        return gain >= max(least, self.rules.min_relative_gain * whole) - 1e-10 * whole


def exact(value: float) -> Exact:
    """The number as it is stored, to the last bit; integers as such, for speed."""
    fraction = Fraction(float(value))
    return fraction.numerator if fraction.denominator == 1 else fraction


def entropy(weights: list[Exact]) -> float:
    """Entropy in bits of parts with these weights, times their sum."""
    total = sum(weights)
    return math.fsum(float(weight) * math.log2(total / weight) for weight in weights if weight > 0)


def excess(x: Number) -> float:
    """(1 + x) log(1 + x) - x, to full precision near 0."""
    if -1e-3 < x < 1e-3:
        return float(x * x * (Fraction(1, 2) - x * (Fraction(1, 6) - x * (Fraction(1, 12) - x / 20))))
    return float((1 + x) * math.log1p(x) - x) if x > -1 else 1.0


def rows_asked(value: int | float, n_rows: int) -> int:
    """A number of rows given as such or as a fraction of all rows."""
    return value if isinstance(value, int) else math.ceil(value * n_rows)


def best_of(candidates: list[Candidate], criterion: str = "") -> tuple[Candidate, list[Candidate]]:
    """The split that should be taken, and all that are within rounding of it."""
    if criterion == "gain_ratio":  # of sets that gain the same, the one with the lowest ratio may be offered
        by_worth = sorted(candidates, key=lambda each: float(each.worth))
        candidates = list({each.feature: each for each in reversed(by_worth)}.values())
    highest = max(float(candidate.worth) for candidate in candidates)
    tied = [candidate for candidate in candidates if float(candidate.worth) >= highest - PART]
    return min(tied, key=lambda candidate: candidate.rank), tied


@dataclass(frozen=True, eq=False)
class Node:
    """A node of the reference tree."""

    rows: Rows
    split: Candidate | None = None
    tied: tuple[Candidate, ...] = ()
    left: "Node | None" = None
    right: "Node | None" = None


def reference_tree(table: Table, rules: GrowthRules) -> Node:
    """The tree that the rules grow on the table, depth first and without drawing features."""
    oracle = Oracle(table, rules)
    return _grown(oracle, oracle.root, 0)


def _grown(oracle: Oracle, rows: Rows, depth: int) -> Node:
    candidates = oracle.candidates(rows) if oracle.may_split(rows, depth) else []
    if not candidates:
        return Node(rows)
    split, tied = best_of(candidates, oracle.rules.criterion)
    if not oracle.is_enough(rows, split):
        return Node(rows)
    left = tuple(row for row in rows if row in split.left)
    right = tuple(row for row in rows if row not in split.left)
    return Node(rows, split, tuple(tied), _grown(oracle, left, depth + 1), _grown(oracle, right, depth + 1))
