"""What was edited by hand, in words, and the marks that tie the words to the nodes of a drawing."""

from collections.abc import Mapping
from textwrap import wrap
from typing import Any

from holdfast.show.conditions import FULL_LIST, cut_list
from holdfast.text.lines import item_text, label_text, printable
from holdfast.text.numbers import number_text, probability_text
from holdfast.tree.edit import Edit, find_valid_edits
from holdfast.tree.node import Node
from holdfast.tree.tree import KNOWN, LEAF, Tree


def edit_text(edit: Edit) -> str:
    """What was there, what became of it, and who says why."""
    before, after = node_text(edit.before), node_text(edit.after)
    if edit.kind == "pruned":
        text = f"{before} was pruned to {after}"
    elif edit.kind == "value":
        text = f"{_value_text(edit.before.value)} became {_value_text(edit.after.value)}"
    elif edit.kind == "grown":
        text = f"{before} was grown anew: {after}"
    else:
        text = f"{before} became {after}"
    person = ", ".join(printable(each) for each in (edit.by, edit.when) if each)
    said = ": ".join(each for each in (person, printable(edit.why)) if each)
    return f"{text} ({said})" if said else text


def node_text(node: Node) -> str:
    """What the node asks, for yes; or what a leaf says."""
    if node.feature is None:
        return f"a leaf, {_value_text(node.value)}"
    name = printable(str(node.feature))
    if node.threshold is not None:
        return (
            f"{name} is recorded" if node.threshold >= KNOWN else f"{name} <= {number_text(node.threshold)}"
        )
    labels = [item_text(label) for label in node.categories or ()]
    if len(labels) == 1:
        return f"{name} = {labels[0]}"
    return f"{name} in {{{', '.join(cut_list(labels, FULL_LIST))}}}"


def _value_text(value: Any) -> str:
    if not isinstance(value, Mapping):
        return number_text(value, 4)
    label = max(value, key=lambda each: value[each])
    return f"{label_text(label)} with p = {probability_text(value[label])}"


# -- in drawings ------------------------------------------------------------------------------------------


def edit_marks(tree: Tree, *, at_answers: bool) -> dict[int, str]:
    """What is written at each node that an edit holds at: [1] for the first edit, and so on.

    `at_answers`: in a drawing whose lines are answers, an edited question stands at the two nodes below it.
    """
    number = {id(edit): place for place, edit in enumerate(tree.edits, 1)}
    marks: dict[int, str] = {}
    for node, edit in find_valid_edits(tree):
        is_asked = at_answers and tree.feature[node] != LEAF
        for each in (int(tree.left[node]), int(tree.right[node])) if is_asked else (node,):
            marks[each] = f"{marks.get(each, '')} [{number[id(edit)]}]"
    return marks


def edit_lines(tree: Tree) -> list[str]:
    """A line for each edit, with its mark; of one that holds no longer, a remark."""
    held = {id(edit) for _, edit in find_valid_edits(tree)}
    return [
        f"[{place}] {edit_text(edit)}{'' if id(edit) in held else '; changed again since'}"
        for place, edit in enumerate(tree.edits, 1)
    ]


def wrapped_edits(tree: Tree, width: int) -> list[str]:
    """The lines of the edits, none of them longer than the width."""
    return [line for text in edit_lines(tree) for line in wrap(text, width, subsequent_indent="    ")]
