"""The tree itself: a drawing, large."""

from typing import Any

from holdfast.show.report.figures import inline_svg
from holdfast.show.report.page import Section
from holdfast.tree.tree import Tree


def tree_section(tree: Tree) -> Section:
    """The drawing of the tree."""
    facts: dict[str, Any] = {"leaves": tree.n_leaves, "depth": tree.depth}
    figures = {"tree": inline_svg(tree.to_svg(), "tree")}
    return Section("tree", "The tree", "clinician", "tree.html", facts, figures)
