"""Where each node of a drawn tree stands, and the lines of text in its box and on its branch."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from holdfast.show.node_texts import NodeTexts
from holdfast.show.svg import LARGE, LONGEST, MARGIN, SMALL, TEXT, fitted, text_width, wrapped
from holdfast.text.lines import shortened
from holdfast.tree.tree import LEAF, Tree

LINE = 16  # from one line of text to the next
PAD = 10  # between the side of a box and its text
PAGE = 1200  # a tree that is wider grows to the right, if that makes it narrower
WIDEST, MOST_LINES = 190, 3  # of the text in a box
WIDEST_BRANCH, MOST_BRANCH_LINES = 124, 3  # of the condition on a branch
MOST_LEAF_LINES = 2  # of the condition that leads right to a leaf, which has one lane
BAR = 6  # height of the bar of probabilities
LEVEL = 34  # from the boxes of a level to the conditions that lead to the next
GAP = 12  # between neighbours, and between two texts on one line


@dataclass(frozen=True)
class Box:
    """Where one node is drawn, the lines of text in it, and the condition that leads to it."""

    lines: tuple[str, ...]  # of an inner node what it asks about; of a leaf what it says
    support: tuple[str, ...]  # rows, and what else stands behind it
    width: float
    height: float
    branch: tuple[str, ...] = ()  # the condition that leads to it; of the root none
    x: float = 0.0  # left side
    y: float = 0.0  # upper side
    # Where the lines of a leaf begin and its support ends, from its left side, if all stand on one line.
    places: tuple[float, ...] = ()

    @property
    def middle(self) -> tuple[float, float]:
        """The centre of the box."""
        return self.x + self.width / 2, self.y + self.height / 2

    @property
    def branch_width(self) -> float:
        """Of the text of the condition."""
        return max((text_width(line, SMALL) for line in self.branch), default=0.0)

    @property
    def branch_height(self) -> float:
        """Of the text of the condition, and a little room below it."""
        return 15.0 * len(self.branch) + 5 if self.branch else 0.0


def layout(texts: NodeTexts) -> tuple[list[Box], bool]:
    """The boxes in their places, and whether the tree grows to the right."""
    tree = texts.tree
    inner = {node: _inner_box(texts, node) for node in np.flatnonzero(tree.feature != LEAF).tolist()}
    branches = [_branch_lines(texts, node) for node in range(tree.n_nodes)]
    found = []
    for sideways in (False, True):
        boxes = {**inner, **_leaf_boxes(texts, sideways)}
        sized = [replace(boxes[node], branch=branches[node][sideways]) for node in range(tree.n_nodes)]
        found.append(_placed(tree, sized, sideways))
        if extent(found[0]) <= PAGE:
            return found[0], False
    downwards, rightwards = found
    is_narrower = extent(rightwards) < extent(downwards)
    return (rightwards, True) if is_narrower else (downwards, False)


def extent(boxes: list[Box]) -> float:
    """The width of the boxes in their places, with the margins."""
    return max(max(box.x + box.width, box.middle[0] + box.branch_width / 2) for box in boxes) + MARGIN


# -- sizes ------------------------------------------------------------------------------------------------


def _inner_box(texts: NodeTexts, node: int) -> Box:
    """What the node asks about, what changed in it, the bar, and its rows."""
    lines = [*_lines([texts.feature(node)], WIDEST, MOST_LINES)]
    lines[-1] += texts.marks.get(node, "")
    if node in texts.changed:
        lines.append(fitted(texts.changed[node], WIDEST))
    support = texts.inner_support(node)
    width = max(text_width(support, SMALL), *(text_width(line, TEXT, bold=True) for line in lines))
    height = LINE * (len(lines) + 1) + 12 + bar_height(texts)
    return Box(tuple(lines), (support,), max(width, 60.0) + 2 * PAD, height)


def _leaf_boxes(texts: NodeTexts, sideways: bool) -> dict[int, Box]:
    """The boxes of the leaves, all alike."""
    said = {leaf: _leaf_lines(texts, leaf) for leaf in texts.leaves}
    support = {leaf: texts.support(leaf) for leaf in texts.leaves}
    first = first_size(texts)
    columns = _widths(list(said.values()), first), _widths(list(support.values()), SMALL)
    n_lines = sum(map(len, columns))
    if sideways:
        width, height = sum(map(sum, columns)) + GAP * (n_lines - 1) + 2 * PAD, 26 + bar_height(texts)
    else:
        width = max(map(max, columns)) + 2 * PAD
        height = first - TEXT + LINE * n_lines + 13 + bar_height(texts)
    starts = PAD + np.cumsum([0.0, *columns[0]]) + GAP * np.arange(len(columns[0]) + 1)
    ends = width - PAD - np.cumsum([0.0, *columns[1][:0:-1]]) - GAP * np.arange(len(columns[1]))
    places = (*starts[:-1].tolist(), *ends[::-1].tolist()) if sideways else ()
    return {leaf: Box(said[leaf], support[leaf], width, height, places=places) for leaf in texts.leaves}


def first_size(texts: NodeTexts) -> int:
    """The size of the first line of a leaf: a risk or a mean is large, the name of a class is not."""
    is_number = texts.positive is not None or not texts.tree.schema.target.is_classes
    return LARGE if is_number else TEXT


def _widths(texts: Sequence[Sequence[str]], first: int) -> list[float]:
    """Of the first lines of all boxes, then of the second ones, and so on."""
    widths = [0.0] * max(map(len, texts))
    for lines in texts:
        for place, line in enumerate(lines):
            is_bold = not place and first != SMALL
            size = first if not place else SMALL
            widths[place] = max(widths[place], text_width(line, size, bold=is_bold))
    return widths


def _leaf_lines(texts: NodeTexts, leaf: int) -> tuple[str, ...]:
    """What the leaf says, and what changed in it."""
    said = [fitted(line, WIDEST) for line in (texts.large(leaf), texts.said(leaf)) if line]
    said[-1] += texts.marks.get(leaf, "")
    return (*said, fitted(texts.changed[leaf], WIDEST)) if leaf in texts.changed else tuple(said)


def bar_height(texts: NodeTexts) -> int:
    """Of the bar of probabilities, and a little room below it; regression has none."""
    return BAR + 4 if texts.tree.schema.target.is_classes else 0


def _branch_lines(texts: NodeTexts, node: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The condition on the branch to the node: where the tree grows down, and where it grows to the right."""
    if not node:
        return (), ()
    is_leaf = texts.tree.feature[node] == LEAF
    downwards, rightwards = (
        tuple(_lines(texts.branches(node), WIDEST_BRANCH, most, SMALL))
        for most in (MOST_BRANCH_LINES, MOST_LEAF_LINES if is_leaf else MOST_BRANCH_LINES)
    )
    return downwards, rightwards


def _lines(answers: Iterable[str], width: float, most: int, size: int = TEXT) -> list[str]:
    """The first of the texts that fits into so many lines, or the last of them shortened."""
    for text in answers:
        if len(lines := wrapped(text, width, size)) <= most:
            return lines
    letters = min(len(text), LONGEST)
    while len(lines := wrapped(shortened(text, letters), width, size)) > most:
        letters -= 1
    return lines


# -- places -----------------------------------------------------------------------------------------------


def _placed(tree: Tree, boxes: list[Box], sideways: bool) -> list[Box]:
    """The boxes in a tidy tree: every leaf has a lane of its own, a parent stands midway between its two.

    A parent stands at least one lane away from the border of its subtree, so boxes of two lanes never meet.
    """
    is_leaf = tree.feature == LEAF
    breadth = np.array(
        [
            max(box.height, box.branch_height) if sideways else max(box.width, box.branch_width)
            for box in boxes
        ]
    )
    gap = 8 if sideways else GAP
    lane = float((np.where(is_leaf, breadth + gap, (breadth + gap) / 2)).max())
    middle = (np.cumsum(is_leaf) - 0.5) * lane + MARGIN - gap / 2
    for node in reversed(np.flatnonzero(~is_leaf).tolist()):  # children stand after their parent
        middle[node] = (middle[tree.left[node]] + middle[tree.right[node]]) / 2
    # Below a leaf its lane is free, so only inner nodes keep the next level away.
    length = np.array([box.width if sideways else box.height for box in boxes]) * ~is_leaf
    before = np.array([box.branch_width + 8 if sideways else box.branch_height for box in boxes])
    before[0] = 0.0
    level, room = np.zeros((2, tree.depth + 1))
    np.maximum.at(level, tree.node_depth, length)
    np.maximum.at(room, tree.node_depth, before)
    ends = np.cumsum(level + room + LEVEL)
    start = (MARGIN + np.concatenate([[0.0], ends[:-1]]) + room)[tree.node_depth]
    own = np.array([box.height if sideways else box.width for box in boxes])
    side = middle - own / 2
    x, y = (start, side) if sideways else (side, start)
    return [replace(box, x=float(x[node]), y=float(y[node])) for node, box in enumerate(boxes)]
