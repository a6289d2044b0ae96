"""Where each node of a drawn tree stands, and the lines of text in its box."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from re import split
from unicodedata import east_asian_width

import numpy as np

from holdfast.show.conditions import shorter_answers
from holdfast.show.tree_text import shortened
from holdfast.tree.rule import Condition, known_before
from holdfast.tree.tree import LEAF, Tree
from holdfast.tree.wording import NO_BREAK, outcome_text, rows_text, unbreakable

TEXT, SMALL = 13, 12  # sizes of the letters: of questions, and of the rest
LINE = 16  # from one line of text to the next
PAD = 10  # between the side of a box and its text
MARGIN = 20  # around the picture
PAGE = 1200  # a tree that is wider grows to the right, if that makes it narrower
WIDEST, MOST_LINES = 190, 3  # of the text in a box
LONGEST = 300  # letters of a text that is worth fitting: the rest cannot show
BAR = 6  # height of the bar of probabilities
NARROW, WIDE = frozenset("fijlrtI .,:;|!'`()[]-·"), frozenset("mwMW@%<>=+…")


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
    known = known_before(tree)
    questions = {
        node: _question_box(tree, node, known) for node in np.flatnonzero(tree.feature != LEAF).tolist()
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
    texts = {leaf: (fitted(outcome_text(tree, leaf), WIDEST), _support_text(tree, leaf)) for leaf in leaves}
    first = max(text_width(outcome, TEXT, bold=True) for outcome, _ in texts.values())
    second = max(text_width(support, SMALL) for _, support in texts.values())
    width = (first + 16 + second if sideways else max(first, second)) + 2 * PAD
    height = (26 if sideways else 46) + (BAR + 2 if tree.schema.target.is_classes else 0)
    return [
        Box(texts[node], width, height) if node in texts else questions[node] for node in range(tree.n_nodes)
    ]


def _question_box(tree: Tree, node: int, known: Mapping[int, Condition]) -> Box:
    question, rows = (
        _question_lines(shorter_answers(tree, node, True, known)),
        rows_text(float(tree.count[node])),
    )
    width = max(text_width(rows, SMALL), *(text_width(line, TEXT, bold=True) for line in question))
    return Box((*question, rows), width + 2 * PAD, LINE * (len(question) + 1) + 12)


def _support_text(tree: Tree, node: int) -> str:
    rows, fraction = rows_text(float(tree.count[node])), float(tree.value[node].max())
    percent = "> 99 %" if 0.995 <= fraction < 1 else f"{100 * fraction:.0f} %"
    return f"{percent} · {rows}" if tree.schema.target.is_classes else rows


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
        if len(lines := wrapped(text)) <= MOST_LINES:
            return lines
    letters = min(len(text), LONGEST)
    while len(lines := wrapped(shortened(text, letters))) > MOST_LINES:
        letters -= 1
    return lines


def wrapped(text: str, width: float = WIDEST) -> list[str]:
    """The text in lines, which end at a space or within a name at an underscore."""
    lines = [""]
    for piece in split("(?<=[ _])", unbreakable(text)):
        piece = fitted(piece.replace(NO_BREAK, " "), width)
        if lines[-1] and text_width((lines[-1] + piece).rstrip(), TEXT, bold=True) > width:
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def fitted(text: str, width: float) -> str:
    """The text, shortened to so many pixels."""
    letters = min(len(text), LONGEST)
    while text_width(shortened(text, letters).rstrip(), TEXT, bold=True) > width:
        letters -= 1
    return shortened(text, letters)


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Pixels that the text takes, at most: the font is the reader's, so letters count as in a wide one."""
    total = 0.0
    for letter in text:
        if letter in NARROW:
            total += 0.41
        elif letter in WIDE or east_asian_width(letter) in "WF":
            total += 1.0
        else:
            total += 0.72 if letter.isupper() else 0.63
    return total * size * (1.07 if bold else 1.0)
