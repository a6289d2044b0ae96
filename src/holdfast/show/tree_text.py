"""A tree drawn with text: one line per node, the outcomes of the leaves in columns on the right."""

from collections.abc import Mapping
from functools import partial
from re import sub
from textwrap import wrap
from typing import Any

import numpy as np

from holdfast.show.conditions import FULL_LIST, answer_text, question_text
from holdfast.show.directions import direction_lines
from holdfast.show.edits import wrapped_edits
from holdfast.show.risk import probability_name, told_probability
from holdfast.show.support_marks import node_marks, support_lines
from holdfast.text.lines import CUT, left_out_text, printable, shortened, unbreakable, wrapped_lines
from holdfast.text.numbers import count_text, percent_text, probability_text, rows_text
from holdfast.text.table import table_lines
from holdfast.tree.positive import positive_class
from holdfast.tree.rule import Condition, find_known_values, fraction_of_rows
from holdfast.tree.tree import LEAF, Tree
from holdfast.tree.wording import (
    format_leaf_statistic,
    format_outcome,
    format_value,
    list_notes,
    list_warnings,
)

WIDTH = 100  # columns
NARROWEST = 28  # columns of the conditions
WIDEST_INDENT = 45  # columns left of a condition
WIDEST_OUTCOME = 30  # columns of the outcome
MOST_LINES = 3  # of a condition
HANGING = "  "  # before the further lines of a condition
_SET = r"""\{(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^{}])*\}"""  # as a condition lists its categories


def drawing(
    tree: Tree, *, missing: bool = False, width: int = WIDTH, whole: str = "rules()", positive: Any = None
) -> str:
    """The tree as indented lines of at most `width` columns, with outcome, probability and rows of each leaf.

    Of two classes the probability is that of the positive one. The drawing takes 60 columns or so, whatever
    the width. `missing=True` also says, at each condition, whether a missing value meets it. A condition
    that is too long for its line goes on in the next ones; a set that is too long for these has a number,
    and is listed below the tree. Of more than 24 categories some are left out, and the last line says that
    `whole` has all of them.
    """
    leaves = np.flatnonzero(tree.feature == LEAF).tolist()
    heading, *cells = _columns(tree, leaves, positive_class(tree, positive))
    sets: dict[str, int] = {}
    stems = _stems(tree, max(width - len(heading) - 2, NARROWEST), missing, sets)
    column = max(len(line) for stem in stems for line in stem)
    lines = [f"{stems[0][0]:{column}}  {heading}"]
    outcomes = dict(zip(leaves, cells, strict=True))
    for node, stem in enumerate(stems):
        if node in outcomes:
            lines += stem[:-1] if node else []
            lines.append(f"{_led(stem[-1], column) if node else 'always':{column}}  {outcomes[node]}")
        elif node:
            lines += stem
    lines += set_lines(sets, width)
    # An indent of more than its columns begins with the sign, too.
    if any(CUT in line[1:] for line in lines):
        lines += ["", *wrap(left_out_text(whole), width)]
    for note in (*list_notes(tree), *direction_lines(tree), *support_lines(tree)):
        lines += wrap(f"Note: {printable(note)}", width)
    first = [line for note in list_warnings(tree) for line in wrap(printable(note), width)]
    return "\n".join([*first, *lines, *wrapped_edits(tree, width)])


def _columns(tree: Tree, leaves: list[int], positive: int | None) -> list[str]:
    """A heading and one line per leaf, in columns."""
    target = tree.schema.target
    is_classes = target.is_classes
    words = format_leaf_statistic(tree)
    name = f"{words} of {printable(target.name)}" if words else printable(target.name)
    rows = [[name, probability_name(target, positive), "rows", "of all"]]
    for leaf in leaves:
        of_class = ""
        if is_classes:
            of_class = probability_text(told_probability(tree.value[leaf], positive, int(tree.outcome[leaf])))
        support = [count_text(float(tree.count[leaf])), percent_text(fraction_of_rows(tree, leaf))]
        said = format_outcome(tree, leaf) if is_classes else format_value(tree, leaf)
        rows.append([said, of_class, *support])
    if not is_classes:
        rows = [[outcome, *support] for outcome, _, *support in rows]
    columns = [[shortened(cell, WIDEST_OUTCOME) for cell in column] for column in zip(*rows, strict=True)]
    # Classes read from the left, and so do probabilities: 0.999 and 0.99 line up at the point.
    return table_lines(list(zip(*columns, strict=True)), sides="<<>>" if is_classes else ">>>")


def _stems(tree: Tree, width: int, missing: bool, sets: dict[str, int]) -> list[list[str]]:
    """For every node: the guide lines down to it, and the condition that leads to it, in lines."""
    # Deep trees get narrower steps, so that conditions keep room to be read.
    dashes = "─" * max(0, min(2, WIDEST_INDENT // max(tree.depth, 1) - 1))
    known, marks = find_known_values(tree), node_marks(tree, at_answers=True)
    stems, indents = [[rows_text(float(tree.count[0])) + marks.get(0, "")]], [""]
    for node in range(1, tree.n_nodes):
        parent = int(tree.parent[node])
        side = bool(tree.left[parent] == node)
        start = indents[parent] + ("├" if side else "└") + dashes.replace("──", "─ ")
        # Only the end can show: whole indents of a deep tree would fill the memory.
        indents.append((indents[parent] + ("│" if side else " ") + " " * len(dashes))[-WIDEST_INDENT:])
        if tree.node_depth[node] * (1 + len(dashes)) > WIDEST_INDENT:
            start = f"{CUT}{start[1 - WIDEST_INDENT :]}"
        mark = marks.get(node, "")
        room = width - len(start) - len(mark)
        first, *more = condition_lines(tree, parent, side, known, room, sets, missing=missing)
        stem = [start + first, *(f"{indents[node][: len(start)]:{len(start)}}{line}" for line in more)]
        stems.append([*stem[:-1], stem[-1] + mark])
    return stems


def condition_lines(
    tree: Tree,
    node: int,
    side: bool,
    known: Mapping[int, Condition],
    width: int,
    sets: dict[str, int],
    *,
    missing: bool = False,
    is_question: bool = False,
) -> list[str]:
    """The answer to the question of a node in lines of at most `width` letters.

    With `is_question` it is told as in `question_text`.
    The numbers of rows give way before a line is broken. Sets that would take more than a few lines are
    told by their numbers in `sets`, where new ones are added.
    """
    told = partial(question_text, tree, node) if is_question else partial(answer_text, tree, node, side)
    texts = [told(missing=missing, counts=counts, most=FULL_LIST, known=known) for counts in (True, False)]
    for text in texts:
        if len(text) <= width:
            return [text]
    for text in (unbreakable(texts[1]), texts[1]):
        if lines := _few_lines(text, width):
            return lines
    numbered = sub(_SET, lambda found: f"set {sets.setdefault(found[0], len(sets) + 1)}", texts[1])
    return _few_lines(numbered, width) or [shortened(numbered, width)]


def _few_lines(text: str, width: int) -> list[str]:
    """The text in lines that no word is longer than; none if these are too many."""
    if max(map(len, text.split(" "))) > width - len(HANGING):
        return []
    lines = wrapped_lines(text, width, rest=HANGING)
    return lines if len(lines) <= MOST_LINES else []


def set_lines(sets: Mapping[str, int], width: int) -> list[str]:
    """The sets that a drawing tells by their numbers, in full, after an empty line."""
    listed = (wrapped_lines(f"set {number}: {text}", width, rest="    ") for text, number in sets.items())
    return ["", *(line for lines in listed for line in lines)] if sets else []


def _led(stem: str, width: int) -> str:
    """The stem with dots that lead the eye to the outcome."""
    return f"{stem} ".ljust(width, "·") if len(stem) < width else stem
