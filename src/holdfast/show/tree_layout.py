"""Where each node of a drawn tree stands, and the lines of text in its box."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from holdfast.show.conditions import shorter_answers
from holdfast.show.edits import edit_marks
from holdfast.show.svg import LONGEST, MARGIN, SMALL, TEXT, fitted, text_width, wrapped
from holdfast.text.lines import shortened
from holdfast.text.numbers import rounded_percent, rows_text
from holdfast.tree.rule import Condition, known_before
from holdfast.tree.tree import LEAF, Tree
from holdfast.tree.wording import outcome_text, probability

LINE = 16  # from one line of text to the next
PAD = 10  # between the side of a box and its text
PAGE = 1200  # a tree that is wider grows to the right, if that makes it narrower
WIDEST, MOST_LINES = 190, 3  # of the text in a box
BAR = 6  # height of the bar of probabilities


@dataclass(frozen=True)
class Box:
    """Where one node is drawn, and the lines of text in it."""

    lines: tuple[str, ...]
    width: float
    height: float
    x: float = 0.0  # left side
    y: float = 0.0  # upper side

    @property
    def middle(self) -> tuple[float, float]:
        """The centre of the box."""
        return self.x + self.width / 2, self.y + self.height / 2


def layout(tree: Tree) -> tuple[list[Box], bool]:
    """The boxes in their places, and whether the tree grows to the right."""
    known, marks = known_before(tree), edit_marks(tree, at_answers=False)
    questions = {
        node: _question_box(tree, node, known, marks.get(node, ""))
        for node in np.flatnonzero(tree.feature != LEAF).tolist()
    }
    downwards = _placed(tree, _sized(tree, questions, sideways=False), sideways=False)
    if extent(downwards) <= PAGE:
        return downwards, False
    rightwards = _placed(tree, _sized(tree, questions, sideways=True), sideways=True)
    is_narrower = extent(rightwards) < extent(downwards)
    return (rightwards, True) if is_narrower else (downwards, False)


def extent(boxes: list[Box]) -> float:
    """The width of the boxes in their places, with the margins."""
    return max(box.x + box.width for box in boxes) + MARGIN


def _sized(tree: Tree, questions: Mapping[int, Box], sideways: bool) -> list[Box]:
    """A box for every node, large enough for its text; all leaves alike."""
    leaves = np.flatnonzero(tree.feature == LEAF).tolist()
    marks = edit_marks(tree, at_answers=False)
    texts = {
        leaf: (fitted(outcome_text(tree, leaf), WIDEST) + marks.get(leaf, ""), _support_text(tree, leaf))
        for leaf in leaves
    }
    first = max(text_width(outcome, TEXT, bold=True) for outcome, _ in texts.values())
    second = max(text_width(support, SMALL) for _, support in texts.values())
    width = (first + 16 + second if sideways else max(first, second)) + 2 * PAD
    height = (26 if sideways else 46) + (BAR + 2 if tree.schema.target.is_classes else 0)
    return [
        Box(texts[node], width, height) if node in texts else questions[node] for node in range(tree.n_nodes)
    ]


def _question_box(tree: Tree, node: int, known: Mapping[int, Condition], mark: str) -> Box:
    question, rows = (
        _question_lines(shorter_answers(tree, node, True, known)),
        rows_text(float(tree.count[node])),
    )
    question[-1] += mark
    width = max(text_width(rows, SMALL), *(text_width(line, TEXT, bold=True) for line in question))
    return Box((*question, rows), width + 2 * PAD, LINE * (len(question) + 1) + 12)


def _support_text(tree: Tree, node: int) -> str:
    rows = rows_text(float(tree.count[node]))
    if not tree.schema.target.is_classes:
        return rows
    return f"{rounded_percent(probability(tree, node))} · {rows}"


def _placed(tree: Tree, boxes: list[Box], sideways: bool) -> list[Box]:
    """The boxes in a tidy tree: every leaf has a lane of its own, a parent stands midway between its two.

    A parent stands at least one lane away from the border of its subtree, so boxes of two lanes never meet.
    """
    breadth = np.array([box.height if sideways else box.width for box in boxes])
    length = [box.width if sideways else box.height for box in boxes]
    is_leaf = tree.feature == LEAF
    gap = 8 if sideways else 14
    lane = float((np.where(is_leaf, breadth + gap, (breadth + gap) / 2)).max())
    middle = (np.cumsum(is_leaf) - 0.5) * lane + MARGIN - (lane - breadth[is_leaf][0]) / 2
    for node in reversed(np.flatnonzero(~is_leaf).tolist()):  # children stand after their parent
        middle[node] = (middle[tree.left[node]] + middle[tree.right[node]]) / 2
    level = np.zeros(tree.depth + 1)
    np.maximum.at(level, tree.node_depth, length)
    start = MARGIN + np.concatenate([[0.0], np.cumsum(level + 50)])[tree.node_depth]
    side = middle - breadth / 2
    x, y = (start, side) if sideways else (side, start)
    return [replace(box, x=float(x[node]), y=float(y[node])) for node, box in enumerate(boxes)]


def _question_lines(answers: Iterable[str]) -> list[str]:
    for text in answers:
        if len(lines := wrapped(text, WIDEST)) <= MOST_LINES:
            return lines
    letters = min(len(text), LONGEST)
    while len(lines := wrapped(shortened(text, letters), WIDEST)) > MOST_LINES:
        letters -= 1
    return lines
