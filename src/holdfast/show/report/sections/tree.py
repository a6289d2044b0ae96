"""The tree itself: a drawing, large."""

from holdfast.show.report.figures import inline_svg
from holdfast.show.report.fitted import Fitted
from holdfast.show.report.page import Section
from holdfast.show.report.sections.frontier import drawn_trees
from holdfast.tree.tree import Tree


def tree_section(fitted: Fitted) -> Section:
    """The drawing of the tree."""
    tree = fitted.model
    assert isinstance(tree, Tree)
    facts = {"leaves": tree.n_leaves, "depth": tree.depth, "drawing": "tree"}
    drawing = tree.to_svg(positive=fitted.positive_label, beside=drawn_trees(fitted))
    figures = {"tree": inline_svg(drawing, "tree")}
    return Section("tree", "The tree", "clinician", "tree.html", facts, figures)
