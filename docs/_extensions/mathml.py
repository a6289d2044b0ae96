"""Formulas as MathML, which browsers draw themselves: no script and no request to another address."""

import re
from typing import Any

from docutils import nodes
from sphinx.util import logging

UNKNOWN = re.compile(r">(\\\w+)<")  # a command that stays as it was


def mathml(node: nodes.Element, display: str) -> str:
    """The formula of a node, with a warning for what the converter does not know."""
    from latex2mathml.converter import convert

    written: str = convert(node.astext(), display=display)
    for command in UNKNOWN.findall(written):
        logging.getLogger(__name__).warning("the formula has an unknown command: %s", command, location=node)
    return written


def write_inline(writer: Any, node: nodes.math) -> None:
    """A formula in a sentence."""
    writer.body.append(mathml(node, "inline"))
    raise nodes.SkipNode


def write_block(writer: Any, node: nodes.math_block) -> None:
    """A formula on lines of its own."""
    writer.body.append(f'<div class="formula">{mathml(node, "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Join Sphinx."""
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
