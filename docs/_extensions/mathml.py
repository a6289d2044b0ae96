"""Formulas as MathML, which browsers draw themselves: no script and no request to another address."""

from typing import Any

from docutils import nodes


def write_inline(writer: Any, node: nodes.math) -> None:
    """A formula in a sentence."""
    from latex2mathml.converter import convert

    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def write_block(writer: Any, node: nodes.math_block) -> None:
    """A formula on lines of its own."""
    from latex2mathml.converter import convert

    writer.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Join Sphinx."""
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
