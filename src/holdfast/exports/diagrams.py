"""A tree as a drawing in DOT, the language of Graphviz, or Mermaid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast._text import label_text, number_text, printable, probability_text, rows_text
from holdfast.data.survival import name_survival
from holdfast.errors import ExportError
from holdfast.exports.plain_model import unwrap_model
from holdfast.tree.frame import node_columns
from holdfast.tree.rules import Condition, find_known_values, format_class_names, split_condition
from holdfast.tree.stats import positive_class
from holdfast.tree.survival import events_text, node_survival, risk_text, survival_text
from holdfast.tree.tree import LEAF, Tree


def to_dot(model: Any) -> str:
    """Export a tree as a Graphviz graph: splits in inner nodes, predictions in leaves.

    Parameters
    ----------
    model : Tree or fitted estimator of one

    Returns
    -------
    str

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0], [3.0]], ["no", "no", "yes"]))
    >>> print(to_dot(tree).splitlines()[2])
        n0 [label="x0 <= 2.5"];
    """
    nodes = list_drawn_nodes(model, "DOT")
    head = ["digraph tree {", '    node [shape=box, style=rounded, fontname="sans-serif"];']
    return "\n".join([*head, *(f"    {line}" for node in nodes for line in _dot_lines(node)), "}"]) + "\n"


def _dot_lines(node: DrawnNode) -> list[str]:
    shape = "" if node.children else ", style=filled, fillcolor=whitesmoke"
    branches = [f"n{node.number} -> n{child} [label={_quoted(text)}];" for text, child in node.children]
    return [f"n{node.number} [label={_quoted(*node.lines)}{shape}];", *branches]


def _quoted(*lines: str) -> str:
    """Quote lines as one label, with backslashes and entities escaped."""
    texts = (line.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for line in lines)
    return '"' + "\\n".join(texts) + '"'


# -- Mermaid -------------------------------------------------------------------------------------------------


def to_mermaid(model: Any) -> str:
    """Export a tree as a Mermaid flowchart, which Markdown pages and notebooks draw.

    Parameters
    ----------
    model : Tree or fitted estimator of one

    Returns
    -------
    str

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0], [3.0]], ["no", "no", "yes"]))
    >>> print(to_mermaid(tree).splitlines()[0])
    flowchart TD
    """
    nodes = list_drawn_nodes(model, "Mermaid")
    lines = [f"    {line}" for node in nodes for line in _mermaid_lines(node)]
    return "\n".join(["flowchart TD", *lines]) + "\n"


def _mermaid_lines(node: DrawnNode) -> list[str]:
    label = "<br>".join(map(_escaped, node.lines))
    if not node.children:
        return [f'n{node.number}["{label}"]']
    branches = [f'n{node.number} -- "{_escaped(text)}" --> n{child}' for text, child in node.children]
    return [f'n{node.number}{{{{"{label}"}}}}', *branches]


def _escaped(text: str) -> str:
    """Escape all but letters, digits and a few harmless marks by character numbers."""
    return "".join(
        letter if letter.isalnum() or letter in " .,()=_-" else f"#{ord(letter)};" for letter in text
    )


# -- The texts of the nodes ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class DrawnNode:
    """A node of a drawing: its lines, and its children unless it is a leaf."""

    number: int
    lines: tuple[str, ...]
    children: tuple[tuple[str, int], ...] = ()  # text of the branch, and the node it leads to


def list_drawn_nodes(model: Any, form: str) -> Sequence[DrawnNode]:
    """List the nodes of the tree in preorder; an ExportError for an ensemble."""
    tree = unwrap_model(model)
    if not isinstance(tree, Tree):
        raise ExportError(
            f"{form} draws one tree, and this is an ensemble of {len(tree)}: draw one of them, as "
            f"export(ensemble[0], {form.lower()!r})."
        )
    columns, known = node_columns(tree), find_known_values(tree)
    return [_make_drawn_node(tree, columns, known, number) for number in columns["node"]]


def _make_drawn_node(
    tree: Tree, columns: dict[str, list[Any]], known: Mapping[int, Condition], number: int
) -> DrawnNode:
    from holdfast.tree.rules_text import split_text

    if tree.feature[number] == LEAF:
        return DrawnNode(number, _leaf_lines(tree, columns, number))
    label = split_text(tree, number, known=known, branches=True)
    missing_left = columns["missing_goes"][number] == "left"
    yes = split_condition(tree, number, True)
    if yes.is_empty if missing_left else yes.is_whole:  # the split tests whether the value is recorded
        branches = "yes", "no"
    else:
        branches = ("yes, or not recorded", "no") if missing_left else ("yes", "no, or not recorded")
    children = zip(branches, (columns["left"][number], columns["right"][number]), strict=True)
    return DrawnNode(number, (label,), tuple(children))


def _leaf_lines(tree: Tree, columns: dict[str, list[Any]], number: int) -> tuple[str, ...]:
    outcome, rows = columns["outcome"][number], rows_text(columns["rows"][number])
    target = tree.schema.target
    if target.hazard is not None:
        found = node_survival(tree, number)
        own = f"{printable(name_survival(target.hazard))} = {survival_text(found)}"
        return own, f"risk = {risk_text(found.risk)}", f"{events_text(found)}"
    if not target.is_classes:
        return f"{printable(target.name)} = {number_text(outcome)}", rows
    positive = positive_class(tree)
    place = int(tree.outcome[number]) if positive is None else positive
    name = format_class_names(target)[place]
    probability = probability_text(columns[f"p({name})"][number])
    return f"{printable(target.name)} = {label_text(outcome)}", f"p({name}) = {probability}", rows
