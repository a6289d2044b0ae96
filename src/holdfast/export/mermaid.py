"""A tree as a flowchart of Mermaid, which Markdown pages and notebooks draw."""

from typing import Any

from holdfast.export.drawn import DrawnNode, list_drawn_nodes


def to_mermaid(model: Any) -> str:
    """Export a tree as a Mermaid flowchart."""
    nodes = list_drawn_nodes(model, "Mermaid")
    return "\n".join(["flowchart TD", *(f"    {line}" for node in nodes for line in _lines(node))]) + "\n"


def _lines(node: DrawnNode) -> list[str]:
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
