"""The tree itself: a drawing, large."""

from dataclasses import replace

from holdfast.show.report.figures import inline_svg, outline, with_short_titles
from holdfast.show.report.fitted import Fitted
from holdfast.show.report.page import Section, replaced_by_note
from holdfast.show.report.sections.frontier import drawn_trees
from holdfast.tree.tree import Tree

SHORT_TITLE = 80  # letters that appear when one points at a node, on a page that grows too long
NOT_DRAWN = (
    "The drawing was left out to keep this page small: holdfast show MODEL --format svg draws the tree, and "
    "tree.to_svg() in Python."
)


def tree_section(fitted: Fitted) -> Section:
    """The drawing of the tree."""
    tree = fitted.model
    assert isinstance(tree, Tree)
    facts = {
        "leaves": tree.n_leaves,
        "depth": tree.depth,
        "drawing": "tree",
        "outline": outline(tree, fitted.positive_label),
    }
    drawing = tree.to_svg(positive=fitted.positive_label, beside=drawn_trees(fitted))
    figures = {"tree": inline_svg(drawing, "tree")}
    section = Section("tree", "The tree", "clinician", "tree.html", facts, figures)
    return replace(section, shorter=_shorter(section))


def _shorter(section: Section) -> tuple[Section, ...]:
    """First with less to read where one points, and at last without the drawing, which is missed most."""
    figures = {"tree": with_short_titles(section.figures["tree"], SHORT_TITLE)}
    told = "What appears where one points at a box is cut short to keep this page small."
    short = replace(section, figures=figures, left_out=told)
    return short, short, replaced_by_note(section, NOT_DRAWN)
