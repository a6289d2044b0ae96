"""What changed split by split: both trees from the root down, as far as they ask about the same feature."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.data.schema import Label
from holdfast.distance.costs import fraction_of_range
from holdfast.distance.diff.conditions import is_same_condition
from holdfast.tree.rule import Condition, fraction_of_rows, list_conditions, split_condition
from holdfast.tree.tree import LEAF, Tree

SPLIT_KINDS = ("threshold", "categories", "missing", "replaced", "new", "gone")


@dataclass(frozen=True)
class SplitChange:
    """What became of the split at one place; all below a split that is replaced, new or gone is so too."""

    kind: str  # of SPLIT_KINDS
    old_node: int
    new_node: int
    old: Condition | None  # what led to its yes side; None at a leaf
    new: Condition | None
    where: tuple[Condition, ...]  # what led to the old node
    share: float  # of the range, or of the categories, that changed side; 1 if another question is asked
    fraction: float  # of the old tree's rows, that came by
    leaves: tuple[int, int]  # below the old and the new node
    moves_missing: bool = False  # the same feature sends missing values, which rows had, to the other side

    @property
    def is_root(self) -> bool:
        """True for the first split of the tree."""
        return self.old_node == 0

    @property
    def is_move(self) -> bool:
        """True if the same feature is asked about."""
        return self.kind in ("threshold", "categories", "missing")

    @property
    def n_gone(self) -> int:
        """How many splits of the old tree are gone, here and below."""
        return 0 if self.is_move else self.leaves[0] - 1

    @property
    def n_new(self) -> int:
        """How many splits of the new tree are new, here and below."""
        return 0 if self.is_move else self.leaves[1] - 1

    @property
    def new_nodes(self) -> range:
        """The nodes of the new tree, here and below, that ask something new, and their leaves."""
        return range(0) if self.is_move else range(self.new_node, self.new_node + 2 * self.leaves[1] - 1)


@dataclass(frozen=True)
class SplitCounts:
    """How many splits of the old tree stay, moved or are gone, and how many of the new one are new.

    Below a split that is replaced nothing moves: what was there is gone, and what is there is new.
    """

    kept: int
    moved: int
    gone: int
    new: int

    @property
    def changed(self) -> int:
        """How many changed; where some are gone and others new in their place, the larger number."""
        return self.moved + max(self.gone, self.new)


def count_splits(old: Tree, changes: Sequence[SplitChange]) -> SplitCounts:
    """The one count of what changed that sentences, figures and policies tell."""
    moved, gone = sum(each.is_move for each in changes), sum(each.n_gone for each in changes)
    return SplitCounts(old.n_leaves - 1 - moved - gone, moved, gone, sum(each.n_new for each in changes))


def compare_splits(old: Tree, new: Tree) -> tuple[SplitChange, ...]:
    """The splits that changed, in the order of the old tree; both trees are on one schema."""
    return tuple(_walk(old, new))


def _walk(old: Tree, new: Tree) -> Iterator[SplitChange]:
    places = [(0, 0)]
    while places:
        one, other = places.pop()
        asked, asks = int(old.feature[one]), int(new.feature[other])
        if asked == LEAF and asks == LEAF:
            continue
        if asked != asks:
            kind = "new" if asked == LEAF else "gone" if asks == LEAF else "replaced"
            yield _change(kind, old, new, (one, other), True, 1.0)
            continue
        side = is_same_side(old, new, one, other)
        kind, share = _classify_move(old, new, one, other, side)
        if kind:
            yield _change(kind, old, new, (one, other), side, share)
        left, right = int(new.left[other]), int(new.right[other])
        below = [
            (int(old.left[one]), left if side else right),
            (int(old.right[one]), right if side else left),
        ]
        places += reversed(below)


def _change(kind: str, old: Tree, new: Tree, nodes: tuple[int, int], side: bool, share: float) -> SplitChange:
    one, other = nodes
    before = None if old.feature[one] == LEAF else split_condition(old, one, True)
    after = None if new.feature[other] == LEAF else split_condition(new, other, side)
    where = tuple(each for each in list_conditions(old, one).values() if not each.allows_all)
    return SplitChange(
        kind=kind,
        old_node=one,
        new_node=other,
        old=before,
        new=after,
        where=where,
        share=share,
        fraction=fraction_of_rows(old, one),
        leaves=(_leaves_below(old, one), _leaves_below(new, other)),
        moves_missing=kind == "missing"
        or (kind in ("threshold", "categories") and _moves_missing(old, new, one, other, side)),
    )


def _moves_missing(old: Tree, new: Tree, one: int, other: int, side: bool) -> bool:
    """True if missing values, which some training row of either tree had there, go to the other side."""
    if bool(old.missing_left[one]) == (bool(new.missing_left[other]) == side):
        return False
    return any(
        split_condition(tree, node, bool(tree.missing_left[node])).has_missing_rows
        for tree, node in ((old, one), (new, other))
    )


def is_same_side(old: Tree, new: Tree, one: int, other: int) -> bool:
    """False if the yes side of the new split is what was the no side: a set of categories has two names."""
    before = split_condition(old, one, True)
    if not before.feature.is_subset:
        return True
    reach = _reaching(old, new, one, other)
    as_named, swapped = (
        len((set(before.categories) ^ set(split_condition(new, other, side).categories)) & reach)
        for side in (True, False)
    )
    return as_named <= swapped


def _classify_move(old: Tree, new: Tree, one: int, other: int, side: bool) -> tuple[str, float]:
    """Which kind of change it is, empty for none, and the share that changed side."""
    before, after = split_condition(old, one, True), split_condition(new, other, side)
    feature = before.feature
    if feature.is_subset:
        moved = (set(before.categories) ^ set(after.categories)) & _reaching(old, new, one, other)
        if moved:
            return "categories", len(moved) / len(feature.categories)
    elif not is_same_condition(before, after):
        (_, high), (_, other_high) = before.bounds, after.bounds
        width = feature.high - feature.low
        whole = (feature.low, feature.high)
        return "threshold", float(fraction_of_range(high, other_high, *whole)) if width > 0 else 0.0
    moves = before.missing != after.missing and (_missing_reach(old, one) or _missing_reach(new, other))
    return ("missing", 0.0) if moves else ("", 0.0)


def _missing_reach(tree: Tree, node: int) -> bool:
    """True if a row that lacks the value of the split can come to the node."""
    known = list_conditions(tree, node).get(int(tree.feature[node]))
    return known is None or known.missing


def _reaching(old: Tree, new: Tree, one: int, other: int) -> set[Label]:
    """The categories of the feature asked about that come by in both trees."""
    index = int(old.feature[one])
    reach = set(old.schema.features[index].categories)
    for tree, node in ((old, one), (new, other)):
        known = list_conditions(tree, node).get(index)
        if known is not None:
            reach &= set(known.categories)
    return reach


def _leaves_below(tree: Tree, node: int) -> int:
    """The number of leaves from this node down: those before the end of its subtree."""
    end, last = node, node
    while tree.feature[last] != LEAF:
        last = int(tree.right[last])
        end = last
    return int((tree.feature[node : end + 1] == LEAF).sum())
