"""Two trees grown on the same rows, walked together from the root: do both make the best splits?"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from holdfast.tree.tree import LEAF, Tree
from reference.best_splits import Node, Split


@dataclass(frozen=True, eq=False)
class Data:
    """The rows that both trees were grown on, and how."""

    X: np.ndarray
    y: np.ndarray  # class numbers, or numbers
    weight: np.ndarray
    criterion: str
    min_rows: int
    known: dict[bytes, Node] = field(default_factory=dict)  # shallow and deep trees share most of theirs

    @property
    def rows(self) -> np.ndarray:
        """The rows that count."""
        return np.flatnonzero(self.weight > 0)

    def node(self, rows: np.ndarray) -> Node:
        """The node that these rows make."""
        key = rows.tobytes()
        if key not in self.known:
            part = self.X[rows], self.y[rows], self.weight[rows]
            self.known[key] = Node(*part, self.criterion, self.min_rows)
        return self.known[key]


class Place(NamedTuple):
    """A node of both trees, reached by the same rows in both."""

    ours: int
    theirs: int
    rows: np.ndarray


@dataclass
class Comparison:
    """What the walk found."""

    agreed: int = 0  # nodes with a single best split, which both trees made
    tied: int = 0  # nodes with several best splits, of which both trees made one
    parted: int = 0  # those of them where it was not the same one
    uneven: list[Place] = field(default_factory=list)  # nodes that only one of the trees split


def walk_together(ours: Tree, theirs: Tree, data: Data) -> Comparison:
    """How the trees compare; an AssertionError if one of them made a split that is not the best.

    Below a tie that the trees resolved in two ways they are not compared: there the rows differ.
    """
    found = Comparison()
    places = [Place(0, 0, data.rows)]
    while places:
        place = places.pop()
        is_leaf = ours.feature[place.ours] == LEAF, theirs.feature[place.theirs] == LEAF
        if is_leaf == (False, False):
            places += _compare(ours, theirs, place, data, found)
        elif is_leaf != (True, True):
            found.uneven.append(place)
    return found


def _compare(ours: Tree, theirs: Tree, place: Place, data: Data, found: Comparison) -> Iterator[Place]:
    """Check the splits of one node; the two places below it if both trees part its rows in the same way."""
    node, X = data.node(place.rows), data.X[place.rows]
    left, their_left = goes_left(ours, place.ours, X), goes_left(theirs, place.theirs, X)
    best = seen = best_splits(node, node.splits)
    if not all(map(is_seen, best)):
        seen = best_splits(node, [split for split in node.splits if is_seen(split)])
    assert any((split.goes_left(X) == left).all() for split in best), _story("ours", ours, place.ours, best)
    assert any((split.goes_left(X) == their_left).all() for split in seen), _story(
        "theirs", theirs, place.theirs, seen
    )
    same = bool((left == their_left).all())
    if best == seen and len(best) == 1:
        assert same
        assert ours.feature[place.ours] == theirs.feature[place.theirs] == best[0].feature
        found.agreed += 1
    else:
        found.tied += 1
        found.parted += not same
    if same:
        yield Place(int(ours.left[place.ours]), int(theirs.left[place.theirs]), place.rows[left])
        yield Place(int(ours.right[place.ours]), int(theirs.right[place.theirs]), place.rows[~left])


def goes_left(tree: Tree, node: int, X: np.ndarray) -> np.ndarray:
    """One flag per row."""
    x = X[:, tree.feature[node]]
    return (x <= tree.threshold[node]) | (np.isnan(x) & tree.missing_left[node])


def best_splits(node: Node, splits: list[Split]) -> list[Split]:
    """The splits that gain the most, or less by so little that rounding could hide it."""
    most = max((split.gain for split in splits), default=0.0)
    least = most - slack(node, most)
    return [split for split in splits if split.gain >= least]


def slack(node: Node, gain: float) -> float:
    """A difference between two gains that does not count.

    We count gains in parts of the node's impurity, 2 ** 36 of them. scikit-learn adds up float64 numbers in
    turn, and those of a numeric target are large against their differences where its mean is far from 0.
    """
    scale = np.ones(len(node.y))
    if node.criterion == "squared_error":
        scale = node.y**2
    elif node.criterion == "poisson":
        scale = node.y * (1 + np.abs(np.log(np.average(node.y, weights=node.weight))))
    rounding = len(node.y) * np.finfo(float).eps * float(node.weight @ scale)
    return 1e-9 * gain + 2.0**-36 * node.risk + rounding


def is_seen(split: Split) -> bool:
    """True unless scikit-learn takes the values on both sides for one: it does up to a distance of 1e-7."""
    return not np.float32(split.above) <= np.float32(split.below) + np.float32(1e-7)


def loss(tree: Tree, data: Data) -> float:
    """Weight times impurity, summed over the leaves."""
    total, places = 0.0, [(0, data.rows)]
    while places:
        at, rows = places.pop()
        if tree.feature[at] == LEAF:
            total += data.node(rows).risk
            continue
        left = goes_left(tree, at, data.X[rows])
        places += [(int(tree.left[at]), rows[left]), (int(tree.right[at]), rows[~left])]
    return total


def _story(who: str, tree: Tree, node: int, best: list[Split]) -> str:
    return (
        f"{who}: node {node} asks x{tree.feature[node]} <= {tree.threshold[node]!r}, missing values left: "
        f"{tree.missing_left[node]}; the best splits are {best[:5]}"
    )
