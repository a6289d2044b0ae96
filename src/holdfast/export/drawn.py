"""What the nodes of a drawn tree say: shared by the formats that draw it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.errors import ExportError
from holdfast.export.plain_model import unwrap_model
from holdfast.shown import shown
from holdfast.text.lines import label_text, printable
from holdfast.text.numbers import number_text, probability_text, rows_text
from holdfast.tree.frame import node_columns
from holdfast.tree.positive import positive_class
from holdfast.tree.rule import Condition, find_known_values, split_condition
from holdfast.tree.tree import LEAF, Tree
from holdfast.tree.wording import format_class_names


@dataclass(frozen=True)
class DrawnNode:
    """A node of a drawing: its lines, and its children unless it is a leaf."""

    number: int
    lines: tuple[str, ...]
    children: tuple[tuple[str, int], ...] = ()  # what stands at the branch, and the node it leads to


def list_drawn_nodes(model: Any, form: str) -> Sequence[DrawnNode]:
    """List the nodes of the tree in preorder; an ExportError for an ensemble."""
    tree = unwrap_model(model)
    if not isinstance(tree, Tree):
        raise ExportError(
            f"{form} draws one tree, and this is an ensemble of {len(tree)}: draw one of them, as "
            f"export(ensemble[0], {form.lower()!r})."
        )
    columns, known = node_columns(tree), find_known_values(tree)
    return [_drawn(tree, columns, known, number) for number in columns["node"]]


def _drawn(
    tree: Tree, columns: dict[str, list[Any]], known: Mapping[int, Condition], number: int
) -> DrawnNode:
    if tree.feature[number] == LEAF:
        return DrawnNode(number, _leaf_lines(tree, columns, number))
    question = shown("question_text", tree, number, known=known, branches=True)
    missing_left = columns["missing_goes"][number] == "left"
    yes = split_condition(tree, number, True)
    if yes.is_empty if missing_left else yes.is_whole:  # the question is whether the value is recorded
        branches = "yes", "no"
    else:
        branches = ("yes, or not recorded", "no") if missing_left else ("yes", "no, or not recorded")
    children = zip(branches, (columns["left"][number], columns["right"][number]), strict=True)
    return DrawnNode(number, (question,), tuple(children))


def _leaf_lines(tree: Tree, columns: dict[str, list[Any]], number: int) -> tuple[str, ...]:
    outcome, rows = columns["outcome"][number], rows_text(columns["rows"][number])
    target = tree.schema.target
    if not target.is_classes:
        return f"{printable(target.name)} = {number_text(outcome)}", rows
    positive = positive_class(tree)
    place = int(tree.outcome[number]) if positive is None else positive
    name = format_class_names(target)[place]
    probability = probability_text(columns[f"p({name})"][number])
    return f"{printable(target.name)} = {label_text(outcome)}", f"p({name}) = {probability}", rows
