"""A tree for those who edit it: one line per node, with its number and what it asks or says."""

from textwrap import wrap
from typing import Any

from holdfast.show.directions import direction_lines
from holdfast.show.edits import wrapped_edits
from holdfast.show.risk import probability_name, told_probability
from holdfast.show.support_marks import node_marks, support_lines
from holdfast.show.tree_text import NARROWEST, WIDEST_INDENT, WIDTH, condition_lines, set_lines
from holdfast.text.lines import CUT, left_out_text, printable
from holdfast.text.numbers import probability_text, rows_text
from holdfast.tree.positive import positive_class
from holdfast.tree.rule import find_known_values
from holdfast.tree.tree import LEAF, Tree
from holdfast.tree.wording import format_outcome, list_notes, list_warnings


def numbered_drawing(
    tree: Tree, *, missing: bool = False, width: int = WIDTH, whole: str = "rules()", positive: Any = None
) -> str:
    """The nodes in their order, indented, each with its number: an inner node asks, and a leaf says.

    `missing=True` also says at each question whether a missing value goes to yes.
    """
    known, marks = find_known_values(tree), node_marks(tree, at_answers=False)
    place = positive_class(tree, positive)
    digits = len(str(tree.n_nodes - 1))
    sets: dict[str, int] = {}
    lines = []
    for node, indent in enumerate(_indents(tree)):
        start = f"{node:>{digits}}  {indent}"
        if tree.feature[node] == LEAF:
            told = [_leaf_text(tree, node, place)]
        else:
            room = max(width - len(start) - 1, NARROWEST)
            told = condition_lines(tree, node, True, known, room, sets, missing=missing, is_question=True)
            told[-1] += "?"
        told[-1] += marks.get(node, "")
        lines += [start + told[0], *(" " * len(start) + line for line in told[1:])]
    lines += set_lines(sets, width)
    if any(CUT in line for line in lines):
        lines += ["", *wrap(left_out_text(whole), width)]
    for note in (*list_notes(tree), *direction_lines(tree), *support_lines(tree)):
        lines += wrap(f"Note: {printable(note)}", width)
    first = [line for note in list_warnings(tree) for line in wrap(printable(note), width)]
    return "\n".join([*first, *lines, *wrapped_edits(tree, width)])


def _indents(tree: Tree) -> list[str]:
    """What stands before each node: as wide as it is deep, and whether one comes to it by yes or by no."""
    step = max(1, min(4, WIDEST_INDENT // max(tree.depth, 1)))
    depth = tree.node_depth.tolist()
    indents = [""]
    for node in range(1, tree.n_nodes):
        way = "yes: " if tree.left[tree.parent[node]] == node else "no:  "
        indents.append(" " * min(step * (depth[node] - 1), WIDEST_INDENT) + way)
    return indents


def _leaf_text(tree: Tree, node: int, positive: int | None) -> str:
    value, target = format_outcome(tree, node), tree.schema.target
    if target.is_classes:
        probability = probability_text(told_probability(tree.value[node], positive, int(tree.outcome[node])))
        value = f"{value}, {probability_name(target, positive)} = {probability}"
    return f"{printable(target.name)} = {value}, {rows_text(float(tree.count[node]))}"
