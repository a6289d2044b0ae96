"""Split support: how many other trees split on the same feature at the same place.

A place is the sequence of left and right branches from the root, for any splits on the way.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, LongArray
from holdfast._text import NO_BREAK, item_text, number_text, protect_spaces, rounded_percent
from holdfast._view import TextTable, View, ViewMixin
from holdfast.data.schema import Feature, Label
from holdfast.distance.reference_schema import unify_schemas
from holdfast.tree.rules import list_conditions
from holdfast.tree.rules_text import support_text
from holdfast.tree.stats import LEAST_SUPPORT
from holdfast.tree.tree import KNOWN, LEAF, Tree

FULL_LIST = 24  # categories of a split that are listed
PERCENTS = (5, 50, 95)  # of the thresholds, at their quantiles


@dataclass(frozen=True, eq=False)
class SplitSupport:
    """Support of one split: how many trees of two collections split on its feature at its place."""

    node: int
    depth: int
    split: str  # "age <= 50"
    feature: str
    references: float  # fraction of the reference trees that split on this feature at this place
    candidates: float | None  # fraction of the candidate trees; None if there are none
    same_way: float  # fraction of all trees that split on the same features from the root down to here
    n_trees_here: int  # number of trees that split on this feature at this place
    thresholds: tuple[float, float, float] | None  # 5 %, 50 % and 95 % quantile; None for a set, or if none
    categories: (
        tuple[tuple[Label, float], ...] | None
    )  # of a set: fraction of trees that send each the same way
    place: tuple[bool, ...]  # the branches that lead here, True for left
    n_known: int  # of these trees, those that split on whether the value is known
    levels: tuple[Label, ...] = ()  # of an ordered feature: the categories that thresholds stand between
    short: str = ""  # the split with a long list cut, for a line of text
    threshold: float | None = (
        None  # of the tree itself; None for a set, or a split on whether the value is known
    )
    range: tuple[float, float] = (0.0, 1.0)  # lowest and highest value of the feature in the reference data
    tree_thresholds: tuple[float, ...] = field(
        default=(), repr=False
    )  # of the trees that split here, ascending
    same_rows: float | None = None  # share of the references that split mostly the same rows on the feature


class SplitSupports(ViewMixin, list[SplitSupport]):
    """The support of all splits of a tree, which prints as a table."""

    def plot(self, ax: Any = None) -> Any:
        """Draw the support of every split and the thresholds, and return the `SplitSupportDisplay`."""
        from holdfast.plots.frontier import SplitSupportDisplay

        return SplitSupportDisplay.from_result(self, ax=ax)

    def _view(self) -> View:

        return split_support_view(self)


def split_support(tree: Tree, references: Sequence[Tree], candidates: Sequence[Tree]) -> SplitSupports:
    """Compute the support of each split of the tree, in preorder.

    A tree that is one of the candidates counts among them; there may be none. Each quantile is a threshold of
    some tree, the smallest that this fraction of the trees do not exceed. A set of categories and its
    complement are the same split, so each tree's set is turned to agree with this tree's on as many as
    possible of the categories that can reach the split. The places below are not turned with it.
    """
    if not len(references):
        raise ValueError("Split support needs at least one reference tree, and there are 0.")
    tree, *others = unify_schemas([tree, *references, *candidates])
    stacked = _stack_trees(others)
    at = {0: stacked.roots}  # node of the tree -> the nodes of the others at its place
    same_way = {0: np.ones(len(others), np.bool_)}  # did they split on the same features before?
    found = SplitSupports()
    for node in np.flatnonzero(tree.feature != LEAF).tolist():
        is_same = stacked.feature[at[node]] == tree.feature[node]
        same = same_way[node] & is_same
        in_each = is_same[: len(references)], is_same[len(references) :], same
        fractions = [float(flags.mean()) if len(flags) else None for flags in in_each]
        found.append(_split_support(tree, node, fractions, stacked, at[node][is_same]))
        for child, side in ((tree.left[node], stacked.left), (tree.right[node], stacked.right)):
            at[int(child)], same_way[int(child)] = side[at[node]], same
    return found


def _split_support(
    tree: Tree, node: int, fractions: list[float | None], stacked: "_StackedTrees", at: LongArray
) -> SplitSupport:
    """Make the support of a split, where `at` are the nodes of other trees that split on its feature."""
    from holdfast.tree.rules_text import split_text

    feature, place = tree.schema.features[tree.feature[node]], _place(tree, node)
    is_known = stacked.threshold[at] >= KNOWN
    thresholds = np.sort(stacked.threshold[at[~is_known]])
    return SplitSupport(
        node=node,
        depth=len(place),
        split=split_text(tree, node),
        short=split_text(tree, node, most=FULL_LIST),
        feature=feature.name,
        references=fractions[0] or 0.0,
        candidates=fractions[1],
        same_way=fractions[2] or 0.0,
        n_trees_here=len(at),
        thresholds=None if feature.is_subset else _quantiles(thresholds),
        categories=_category_sides(tree, node, stacked, at) if feature.kind == "nominal" else None,
        place=place,
        n_known=int(is_known.sum()),
        levels=feature.categories if feature.kind == "ordered" else (),
        threshold=None if feature.is_subset or tree.threshold[node] >= KNOWN else float(tree.threshold[node]),
        range=_range(feature),
        tree_thresholds=() if feature.is_subset else tuple(thresholds.tolist()),
        same_rows=_same_rows(tree, node),
    )


def _same_rows(tree: Tree, node: int) -> float | None:
    """Return the share of references that split mostly the same rows so, if the tree has it."""
    support = np.nan if tree.split_support is None else float(tree.split_support[node])
    return None if np.isnan(support) else support


def _range(feature: Feature) -> tuple[float, float]:
    """Return the lowest and the highest value; of ordered categories, the first and the last place."""
    if feature.kind == "ordered":
        return 0.0, float(max(len(feature.categories) - 1, 1))
    return float(feature.low), float(feature.high)


def _place(tree: Tree, node: int) -> tuple[bool, ...]:
    answers = []
    while (parent := int(tree.parent[node])) != -1:
        answers.append(bool(tree.left[parent] == node))
        node = parent
    return tuple(reversed(answers))


def _quantiles(thresholds: FloatArray) -> tuple[float, float, float] | None:
    if not len(thresholds):
        return None
    # No value between two thresholds: halfway from one category to the next there is no category.
    ordered = np.sort(thresholds).tolist()
    low, median, high = (ordered[ceil(percent * len(ordered) / 100) - 1] for percent in PERCENTS)
    return low, median, high


def _category_sides(
    tree: Tree, node: int, stacked: "_StackedTrees", at: LongArray
) -> tuple[tuple[Label, float], ...] | None:
    """Compute how often each category that reaches the split goes the same way; None without trees."""
    if not len(at):
        return None
    number = int(tree.feature[node])
    reaching = list_conditions(tree, node).get(number)
    labels = tree.schema.features[number].categories
    columns = np.arange(len(labels))
    # Categories that cannot reach the split are on a side by chance: they count only where none can.
    if reaching is not None and reaching.categories:
        columns = np.array([labels.index(label) for label in reaching.categories])
    agrees = stacked.in_set[stacked.set_start[at][:, None] + columns] == tree.left_categories(node)[columns]
    is_turned = 2 * agrees.sum(axis=1) < len(columns)
    fractions = (agrees != is_turned[:, None]).mean(axis=0).tolist()
    return tuple((labels[column], fraction) for column, fraction in zip(columns, fractions, strict=True))


# -- many trees as one ----------------------------------------------------------------------------------


class _StackedTrees(NamedTuple):
    """The nodes of many trees one after the other, and one more leaf whose children are itself.

    It stands last, where index LEAF (-1) finds it: walking below a leaf stays there.
    """

    feature: LongArray
    threshold: FloatArray
    left: LongArray
    right: LongArray
    set_start: LongArray
    in_set: BoolArray
    roots: LongArray


def _stack_trees(trees: Sequence[Tree]) -> _StackedTrees:
    sizes = np.array([tree.n_nodes for tree in trees])
    roots = np.cumsum(sizes) - sizes
    n_flags = np.array([len(tree.in_set) for tree in trees])
    first_node = np.repeat(roots, sizes)
    first_flag = np.repeat(np.cumsum(n_flags) - n_flags, sizes)
    left = np.concatenate([tree.left for tree in trees])
    right = np.concatenate([tree.right for tree in trees])
    set_start = np.concatenate([tree.set_start for tree in trees])
    return _StackedTrees(
        feature=np.append(np.concatenate([tree.feature for tree in trees]), LEAF),
        threshold=np.concatenate([tree.threshold for tree in trees]),
        left=np.append(np.where(left == LEAF, LEAF, left + first_node), LEAF),
        right=np.append(np.where(right == LEAF, LEAF, right + first_node), LEAF),
        set_start=set_start + first_flag,
        in_set=np.concatenate([tree.in_set for tree in trees]),
        roots=roots,
    )


# -- The support of every split of a tree, as a table --------------------------------------------------------

DIGITS = 4  # of a threshold, or more if the ends of an interval need them
LEAST_SURE = 3  # categories named of a set
WIDEST_SPLIT, WIDEST_DETAIL = 40, 34  # columns
MEANINGS = {
    "split": "the split, indented below the split before it",
    "reference": "fraction of the reference trees that split on this feature at this place",
    "candidates": "fraction of the candidate trees that split on this feature at this place",
    "where they split": "the thresholds, or the sides of the categories, in the trees that split there",
}


def split_support_view(supports: Sequence[SplitSupport]) -> View:
    """Show one row per split, in preorder, indented by its depth."""
    if not supports:
        return View("The tree has no split.")
    rows = [
        [
            NO_BREAK * 2 * min(each.depth, 6) + _answer(each) + protect_spaces(each.short or each.split),
            rounded_percent(each.references),
            "" if each.candidates is None else rounded_percent(each.candidates),
            support_detail(each).replace(" %", f"{NO_BREAK}%"),
        ]
        for each in supports
    ]
    title = "Split support: the share of other trees that split on the same feature at the same place"
    wrap = (WIDEST_SPLIT, 0, 0, WIDEST_DETAIL)
    return View(TextTable(list(MEANINGS), rows, title=title, sides="<>><", wrap=wrap, meanings=MEANINGS))


def support_words(support: SplitSupport) -> str:
    """The share of other trees that split on the feature at this place, and where, in one line."""
    share = f"split support {rounded_percent(support.references)} of reference trees"
    if support.candidates is not None:
        share += f", {rounded_percent(support.candidates)} of candidate trees"
    return "; ".join(filter(None, [share, support_detail(support)]))


def _answer(support: SplitSupport) -> str:
    """The branch that leads to the split."""
    return ("yes: " if support.place[-1] else "no: ") if support.place else ""


def support_detail(support: SplitSupport) -> str:
    """Describe where the trees that split on the feature do so."""
    parts = []
    # Shown only where it matters: few trees split here, or few split these rows so.
    if support.same_rows is not None and min(support.same_rows, support.references) < LEAST_SUPPORT:
        parts.append(support_text(support.same_rows))
    if support.categories is not None:
        return "; ".join([*parts, _sides_text(support.categories)])
    n_known, n_others = support.n_known, support.n_trees_here - support.n_known
    if n_known:
        split = "splits" if n_known == 1 and n_others else "split"
        parts.append(f"{n_known if n_others else 'all'} of them {split} on whether it is recorded")
    if support.thresholds is not None:
        often = _often_text(n_others, "the others" if n_known else "them")
        parts.append(f"{_thresholds_text(support.thresholds, support.levels)} {often}")
    return "; ".join(parts)


def _often_text(n: int, trees: str) -> str:
    """Describe how many of n thresholds lie between their 5 % and their 95 % quantile."""
    if n == 1:
        return "in the only one"
    # Of fewer than 20, these are the smallest and the largest.
    return f"in nine of ten of {trees}" if n >= 20 else f"in all of {trees}"


def _thresholds_text(thresholds: tuple[float, float, float], levels: tuple[Label, ...]) -> str:
    texts = [_level_text(value, levels) for value in thresholds] if levels else _number_texts(thresholds)
    low, median, high = texts
    what = "" if levels else "threshold "
    return f"{what}{low}" if low == high else f"{what}{low} to {high} (median {median})"


def _number_texts(thresholds: tuple[float, float, float]) -> list[str]:
    for digits in range(DIGITS, 18):
        texts = [number_text(value, digits) for value in thresholds]
        if len(set(texts)) == len(set(thresholds)):
            break
    return texts


def _level_text(threshold: float, levels: tuple[Label, ...]) -> str:
    position = min(floor(threshold), len(levels) - 1)
    return f'"at most {item_text(levels[position])}"' if position >= 0 else f'"below {item_text(levels[0])}"'


def _sides_text(categories: tuple[tuple[Label, float], ...]) -> str:
    unsure = sorted((each for each in categories if each[1] < 1), key=lambda each: each[1])
    if not unsure:
        return "each category goes the same way in all of them"
    named = [f"{item_text(label)} ({rounded_percent(fraction)})" for label, fraction in unsure[:LEAST_SURE]]
    more = f" and {len(unsure) - LEAST_SURE} more" if len(unsure) > LEAST_SURE else ""
    return f"not always on the same side: {', '.join(named)}{more}"
