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
    """Change of the split at one place; everything below a replaced split is replaced, too."""

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
        """True for the root split."""
        return self.old_node == 0

    @property
    def is_move(self) -> bool:
        """True if the feature is the same."""
        return self.kind in ("threshold", "categories", "missing")

    @property
    def n_gone(self) -> int:
        """Number of splits of the old tree that are gone, here and below."""
        return 0 if self.is_move else self.leaves[0] - 1

    @property
    def n_new(self) -> int:
        """Number of new splits, here and below."""
        return 0 if self.is_move else self.leaves[1] - 1

    @property
    def new_nodes(self) -> range:
        """Nodes of the new tree with new splits, here and below, and their leaves."""
        return range(0) if self.is_move else range(self.new_node, self.new_node + 2 * self.leaves[1] - 1)


@dataclass(frozen=True)
class SplitCounts:
    """Number of splits kept, moved, gone and new.

    Below a split that is replaced nothing moves: what was there is gone, and what is there is new.
    """

    kept: int
    moved: int
    gone: int
    new: int

    @property
    def changed(self) -> int:
        """Number of changes; where splits are gone and others new, the larger number."""
        return self.moved + max(self.gone, self.new)


def count_splits(old: Tree, changes: Sequence[SplitChange]) -> SplitCounts:
    """Count changes of splits as sentences, figures and policies report them."""
    moved, gone = sum(each.is_move for each in changes), sum(each.n_gone for each in changes)
    return SplitCounts(old.n_leaves - 1 - moved - gone, moved, gone, sum(each.n_new for each in changes))


def compare_splits(old: Tree, new: Tree) -> tuple[SplitChange, ...]:
    """List the splits that changed in the order of the old tree; both trees share a schema."""
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
    """Return True if missing values, seen in training by either tree, change sides."""
    if bool(old.missing_left[one]) == (bool(new.missing_left[other]) == side):
        return False
    return any(
        split_condition(tree, node, bool(tree.missing_left[node])).has_missing_rows
        for tree, node in ((old, one), (new, other))
    )


def is_same_side(old: Tree, new: Tree, one: int, other: int) -> bool:
    """Return False if yes and no sides are swapped: a category set has two names."""
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
    """Classify the change, empty for none, with the share of values that changed sides."""
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
    """Return True if a row without the value of the split can reach the node."""
    known = list_conditions(tree, node).get(int(tree.feature[node]))
    return known is None or known.missing


def _reaching(old: Tree, new: Tree, one: int, other: int) -> set[Label]:
    """Return the categories of the split feature that reach the node in both trees."""
    index = int(old.feature[one])
    reach = set(old.schema.features[index].categories)
    for tree, node in ((old, one), (new, other)):
        known = list_conditions(tree, node).get(index)
        if known is not None:
            reach &= set(known.categories)
    return reach


def _leaves_below(tree: Tree, node: int) -> int:
    """Count the leaves of a subtree."""
    end, last = node, node
    while tree.feature[last] != LEAF:
        last = int(tree.right[last])
        end = last
    return int((tree.feature[node : end + 1] == LEAF).sum())
