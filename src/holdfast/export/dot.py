"""A tree in DOT, the language of Graphviz."""

from typing import Any

from holdfast.export.drawn import DrawnNode, list_drawn_nodes


def to_dot(model: Any) -> str:
    """Export a tree as a Graphviz graph: splits in inner nodes, predictions in leaves."""
    nodes = list_drawn_nodes(model, "DOT")
    head = ["digraph tree {", '    node [shape=box, style=rounded, fontname="sans-serif"];']
    return "\n".join([*head, *(f"    {line}" for node in nodes for line in _lines(node)), "}"]) + "\n"


def _lines(node: DrawnNode) -> list[str]:
    shape = "" if node.children else ", style=filled, fillcolor=whitesmoke"
    branches = [f"n{node.number} -> n{child} [label={_quoted(text)}];" for text, child in node.children]
    return [f"n{node.number} [label={_quoted(*node.lines)}{shape}];", *branches]


def _quoted(*lines: str) -> str:
    """Quote lines as one label, with backslashes and entities escaped."""
    texts = (line.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for line in lines)
    return '"' + "\\n".join(texts) + '"'
