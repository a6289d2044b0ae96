"""A tree drawn with text: one line per node, the outcomes of the leaves in columns on the right."""

from collections.abc import Iterable
from textwrap import wrap
from typing import Any

import numpy as np

from holdfast.show.conditions import shorter_answers
from holdfast.show.directions import direction_lines
from holdfast.show.edits import edit_marks, wrapped_edits
from holdfast.show.risk import probability_name, told_probability
from holdfast.text.lines import CUT, left_out_text, printable, shortened
from holdfast.text.numbers import count_text, percent_text, probability_text, rows_text
from holdfast.text.table import table_lines
from holdfast.tree.positive import positive_class
from holdfast.tree.rule import fraction_of_rows, known_before
from holdfast.tree.tree import LEAF, Tree
from holdfast.tree.wording import all_notes, outcome_text, quantile_words, value_text

WIDTH = 100  # columns
NARROWEST = 28  # columns of the conditions
WIDEST_INDENT = 45  # columns left of a condition
WIDEST_OUTCOME = 30  # columns of the outcome


def drawing(
    tree: Tree, *, missing: bool = False, width: int = WIDTH, whole: str = "rules()", positive: Any = None
) -> str:
    """The tree as indented lines of at most `width` columns, with outcome, probability and rows of each leaf.

    Of two classes the probability is that of the positive one. The drawing takes 60 columns or so, whatever
    the width. `missing=True` also says, at each condition, whether a
    missing value meets it. Where a condition is too long for its line, the last line says that `whole` has
    all of it.
    """
    leaves = np.flatnonzero(tree.feature == LEAF).tolist()
    heading, *cells = _columns(tree, leaves, positive_class(tree, positive))
    stems = _stems(tree, max(width - len(heading) - 2, NARROWEST), missing)
    column = max(map(len, stems))
    lines = [f"{stems[0]:{column}}  {heading}"]
    outcomes = dict(zip(leaves, cells, strict=True))
    for node, stem in enumerate(stems):
        if node in outcomes:
            lines.append(f"{_led(stem, column) if node else 'always':{column}}  {outcomes[node]}")
        elif node:
            lines.append(stem)
    # An indent of more than its columns begins with the sign, too.
    if any(CUT in stem[1:] for stem in stems):
        lines += ["", *wrap(left_out_text(whole), width)]
    for note in (*all_notes(tree), *direction_lines(tree)):
        lines += wrap(f"Note: {printable(note)}", width)
    return "\n".join([*lines, *wrapped_edits(tree, width)])


def _columns(tree: Tree, leaves: list[int], positive: int | None) -> list[str]:
    """A heading and one line per leaf, in columns."""
    target = tree.schema.target
    is_classes = target.is_classes
    words = quantile_words(tree)
    name = f"{words} of {printable(target.name)}" if words else printable(target.name)
    rows = [[name, probability_name(target, positive), "rows", "of all"]]
    for leaf in leaves:
        of_class = ""
        if is_classes:
            of_class = probability_text(told_probability(tree.value[leaf], positive, int(tree.outcome[leaf])))
        support = [count_text(float(tree.count[leaf])), percent_text(fraction_of_rows(tree, leaf))]
        said = outcome_text(tree, leaf) if is_classes else value_text(tree, leaf)
        rows.append([said, of_class, *support])
    if not is_classes:
        rows = [[outcome, *support] for outcome, _, *support in rows]
    columns = [[shortened(cell, WIDEST_OUTCOME) for cell in column] for column in zip(*rows, strict=True)]
    # Classes read from the left, and so do probabilities: 0.999 and 0.99 line up at the point.
    return table_lines(list(zip(*columns, strict=True)), sides="<<>>" if is_classes else ">>>")


def _stems(tree: Tree, width: int, missing: bool) -> list[str]:
    """For every node: the guide lines down to it, and the condition that leads to it."""
    # Deep trees get narrower steps, so that conditions keep room to be read.
    dashes = "─" * max(0, min(2, WIDEST_INDENT // max(tree.depth, 1) - 1))
    known, marks = known_before(tree), edit_marks(tree, at_answers=True)
    stems, indents = [rows_text(float(tree.count[0])) + marks.get(0, "")], [""]
    for node in range(1, tree.n_nodes):
        parent = int(tree.parent[node])
        side = bool(tree.left[parent] == node)
        start = indents[parent] + ("├" if side else "└") + dashes.replace("──", "─ ")
        # Only the end can show: whole indents of a deep tree would fill the memory.
        indents.append((indents[parent] + ("│" if side else " ") + " " * len(dashes))[-WIDEST_INDENT:])
        if tree.node_depth[node] * (1 + len(dashes)) > WIDEST_INDENT:
            start = f"{CUT}{start[1 - WIDEST_INDENT :]}"
        answers = shorter_answers(tree, parent, side, known, missing=missing)
        mark = marks.get(node, "")
        stems.append(start + fitted_answer(answers, width - len(start) - len(mark)) + mark)
    return stems


def fitted_answer(answers: Iterable[str], width: int) -> str:
    """The first answer of at most `width` characters, or the last one with a gap in the middle."""
    for text in answers:
        if len(text) <= width:
            return text
    return shortened(text, width)


def _led(stem: str, width: int) -> str:
    """The stem with dots that lead the eye to the outcome."""
    return f"{stem} ".ljust(width, "·") if len(stem) < width else stem
