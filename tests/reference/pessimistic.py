"""C4.5's pruning by its definition: rows in lists, one subtree after the other, the bound by bisection."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from holdfast.data.table import Table
from holdfast.tree.tree import LEAF, Tree
from reference.disagreement import going_left
from reference.grower import Exact

Rows = list[int]
TIED = 1e-9  # expected errors that differ by less are equal


# -- the bound ------------------------------------------------------------------------------------------


@cache
def upper_bound(errors: Exact, rows: Exact, confidence: float) -> float:
    """The error rate at which no more than these errors have just the probability `confidence`."""
    if errors >= rows:
        return 1.0
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        if chance(errors, rows, middle) > confidence:
            low = middle
        else:
            high = middle
    return middle


def chance(errors: Exact, rows: Exact, rate: float) -> float:
    """How likely so few errors are, or fewer, among the rows; continued between the integers."""
    if Fraction(errors).denominator == Fraction(rows).denominator == 1:
        n = int(rows)
        return math.fsum(math.comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(int(errors) + 1))
    return beta_share(1 - rate, float(rows - errors), float(errors) + 1)


def beta_share(x: float, a: float, b: float) -> float:
    """The incomplete beta function, by its series: every term is above 0."""
    if x > 0.5:
        return 1.0 - beta_share(1 - x, b, a)
    if x == 0.0:
        return 0.0
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    term = math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta) / a
    total, k = term, 0
    while term > total * 1e-18:
        term *= (a + b + k) / (a + 1 + k) * x
        total, k = total + term, k + 1
    return total


# -- the tree -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Shape:
    """A subtree: the node of the grown tree whose question it asks first, or LEAF."""

    asks: int = LEAF
    children: "tuple[Shape, ...]" = ()


@dataclass(frozen=True, eq=False)
class Pruning:
    """A grown tree and the rows it was grown on."""

    tree: Tree
    table: Table
    repeats: Sequence[int]  # how often each row was drawn
    importance: Sequence[Exact]  # what it weighs each time
    confidence: float
    raising: bool = True

    def result(self) -> Shape:
        """What is left of the tree."""
        return self.pruned(self.shape(0), self.all_rows)

    @property
    def all_rows(self) -> Rows:
        """The rows that were drawn."""
        return [row for row, times in enumerate(self.repeats) if times]

    def shape(self, node: int) -> Shape:
        """The subtree of a node, as it was grown."""
        if self.tree.left[node] == LEAF:
            return Shape()
        return Shape(node, (self.shape(int(self.tree.left[node])), self.shape(int(self.tree.right[node]))))

    def pruned(self, shape: Shape, rows: Rows) -> Shape:
        """What is left of a subtree that these rows reach: itself, its larger branch, or a leaf."""
        if not shape.children:
            return shape
        sides = self.sides(shape, rows)
        left, right = (self.pruned(child, side) for child, side in zip(shape.children, sides, strict=True))
        kept = Shape(shape.asks, (left, right))
        larger = left if self.weight(sides[0]) >= self.weight(sides[1]) else right
        as_it_is, as_leaf = self.errors(kept, rows), self.errors(Shape(), rows)
        as_branch = self.errors(larger, rows) if self.raising else math.inf
        if as_leaf <= min(as_it_is, as_branch) + TIED:
            return Shape()
        return self.pruned(larger, rows) if as_branch <= as_it_is + TIED else kept

    def errors(self, shape: Shape, rows: Rows) -> float:
        """The errors to be expected of as many new rows as these, if they reach the subtree."""
        if shape.children:
            sides = self.sides(shape, rows)
            return sum(self.errors(*both) for both in zip(shape.children, sides, strict=True))
        n = self.weight(rows) * self.per_weight
        wrong = n - max(self.class_weights(rows)) * self.per_weight
        return float(n) * upper_bound(wrong, n, self.confidence)

    # -- rows -----------------------------------------------------------------------------------------

    def sides(self, shape: Shape, rows: Rows) -> tuple[Rows, Rows]:
        """The rows whose answer is yes, and the others."""
        yes = going_left(self.tree, shape.asks, self.table)
        return [row for row in rows if yes[row]], [row for row in rows if not yes[row]]

    @property
    def per_weight(self) -> Exact:
        """What makes the weights of all rows add up to their number."""
        return Fraction(self.count(self.all_rows)) / self.weight(self.all_rows)

    def count(self, rows: Rows) -> int:
        """Number of rows, as often as they were drawn."""
        return sum(self.repeats[row] for row in rows)

    def weight(self, rows: Rows) -> Exact:
        """Their weight."""
        return sum(self.repeats[row] * self.importance[row] for row in rows)

    def class_weights(self, rows: Rows) -> list[Exact]:
        """The weight of each class."""
        of_class: list[Exact] = [0] * len(self.table.schema.target.classes)
        for row in rows:
            of_class[self.table.target[row]] += self.repeats[row] * self.importance[row]
        return of_class


def listed(pruning: Pruning, shape: Shape, rows: Rows) -> list[tuple[int, Rows]]:
    """The nodes of a subtree in preorder: whose question each asks, and the rows that reach it."""
    found = [(shape.asks, rows)]
    if shape.children:
        for child, side in zip(shape.children, pruning.sides(shape, rows), strict=True):
            found += listed(pruning, child, side)
    return found
