"""Both trees of a change, drawn, with what moved marked in the new one."""

from typing import Any

from holdfast.data.schema import Label
from holdfast.distance.diff.splits import SplitChange
from holdfast.distance.diff.tree_diff import TreeDiff
from holdfast.show.conditions import condition_text
from holdfast.show.diff_phrases import both_texts, only_bound, split_texts
from holdfast.show.report.figures import inline_svg, outline
from holdfast.show.report.page import Section
from holdfast.text.lines import shortened
from holdfast.text.numbers import percent_text
from holdfast.tree.tree import LEAF

LONGEST = 32  # letters of a mark in a drawing
MOST_CATEGORIES = 3
CHANGE = "change"  # who the sections of a change are for: everyone


def both_trees_section(
    diff: TreeDiff, positive: Label | None, after: str = "after the change", acted: str = ""
) -> Section:
    """Both trees, and split by split what became of the old one's questions.

    `acted` says who is acted on, where that is not those whose leaf names the positive class.
    """
    facts: dict[str, Any] = {
        "after": after,
        "acted": acted,
        "leaves": [diff.old.n_leaves, diff.new.n_leaves],
        "depth": [diff.old.depth, diff.new.depth],
        "distance": diff.distance.total,
        "changed": not diff.is_empty,
        "outlines": [outline(diff.old, positive), outline(diff.new, positive, _marks(diff))],
        "splits": [_split_facts(diff, place) for place in range(len(diff.splits))],
    }
    figures = {
        "old": inline_svg(
            diff.old.to_svg(positive=positive, beside=[diff.new]), "old-tree", "The tree before the change"
        ),
        "new": inline_svg(
            diff.new.to_svg(positive=positive, changed=_marks(diff), beside=[diff.old]),
            "new-tree",
            f"The tree {after}",
        ),
    }
    return Section(
        "trees", "The tree before and after", CHANGE, "both_trees.html", facts, figures, spare=("old",)
    )


def _marks(diff: TreeDiff) -> dict[int, str]:
    """What is written at each node of the new tree that asks something else than before."""
    asks = diff.new.feature != LEAF
    below = {node: "new" for split in diff.splits for node in split.new_nodes if asks[node]}
    return below | {split.new_node: _mark(split) for split in diff.splits}


def _mark(split: SplitChange) -> str:
    if split.old is None:
        return "new"
    if split.kind == "missing":
        return "missing values moved"
    is_moved = split.kind == "threshold" and not split.moves_missing
    if is_moved and split.new is not None and only_bound(split.old):
        return f"was {both_texts(split.old, split.new)[0]}"
    return shortened(f"was {condition_text(split.old, most=MOST_CATEGORIES)}", LONGEST)


def _split_facts(diff: TreeDiff, place: int) -> dict[str, Any]:
    split = diff.splits[place]
    where, what, size = split_texts(diff, split)
    reach = "" if split.is_root else f"{percent_text(split.fraction)} of the old tree's rows"
    what = what.replace(" -> ", " → ")
    return {
        "where": where,
        "what": what,
        "how_much": "; ".join(filter(None, [size, reach])),
        "kind": split.kind,
    }
