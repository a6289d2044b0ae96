"""The tree itself: a drawing, large."""

from holdfast.show.report.figures import inline_svg
from holdfast.show.report.fitted import Fitted
from holdfast.show.report.page import Section
from holdfast.tree.tree import Tree


def tree_section(fitted: Fitted) -> Section:
    """The drawing of the tree."""
    tree = fitted.model
    assert isinstance(tree, Tree)
    facts = {"leaves": tree.n_leaves, "depth": tree.depth, "drawing": "tree"}
    figures = {"tree": inline_svg(tree.to_svg(positive=fitted.positive_label), "tree")}
    return Section("tree", "The tree", "clinician", "tree.html", facts, figures)
