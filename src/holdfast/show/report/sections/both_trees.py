"""Both trees of a change, drawn, with what moved marked in the new one."""

from typing import Any

from holdfast.distance.diff.tree_diff import TreeDiff
from holdfast.show.diff_phrases import split_texts
from holdfast.show.report.figures import inline_svg
from holdfast.show.report.page import Section
from holdfast.text.numbers import percent_text

CHANGE = "change"  # who the sections of a change are for: everyone


def both_trees_section(diff: TreeDiff, after: str = "after the change") -> Section:
    """Both trees, and split by split what became of the old one's questions."""
    facts: dict[str, Any] = {
        "after": after,
        "leaves": [diff.old.n_leaves, diff.new.n_leaves],
        "depth": [diff.old.depth, diff.new.depth],
        "distance": diff.distance.total,
        "changed": not diff.is_empty,
        "splits": [_split_facts(diff, place) for place in range(len(diff.splits))],
    }
    figures = {
        "old": inline_svg(diff.old.to_svg(), "old-tree", "The tree before the change"),
        "new": inline_svg(diff.new.to_svg(), "new-tree", f"The tree {after}"),
    }
    return Section("trees", "The tree before and after", CHANGE, "both_trees.html", facts, figures)


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
