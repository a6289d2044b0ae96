"""A tree as a flowchart of Mermaid, which Markdown pages and notebooks draw."""

from typing import Any

from holdfast.export.drawn import DrawnNode, list_drawn_nodes


def to_mermaid(model: Any) -> str:
    """The text of a flowchart: a question in each inner node, what is predicted in each leaf."""
    nodes = list_drawn_nodes(model, "Mermaid")
    return "\n".join(["flowchart TD", *(f"    {line}" for node in nodes for line in _lines(node))]) + "\n"


def _lines(node: DrawnNode) -> list[str]:
    label = "<br>".join(map(_escaped, node.lines))
    if not node.children:
        return [f'n{node.number}["{label}"]']
    branches = [f'n{node.number} -- "{_escaped(text)}" --> n{child}' for text, child in node.children]
    return [f'n{node.number}{{{{"{label}"}}}}', *branches]


def _escaped(text: str) -> str:
    """Everything but letters, digits and a few harmless marks as the number of its character."""
    return "".join(
        letter if letter.isalnum() or letter in " .,()=_-" else f"#{ord(letter)};" for letter in text
    )
