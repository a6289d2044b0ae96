"""Parts of HTML for results that do not yet have a `View` (see text/view.py)."""

from collections.abc import Collection, Iterable, Mapping
from html import escape

from holdfast.text.table import MOST_ROWS, Rows, Table
from holdfast.text.view import MEANINGS, STYLE, legend

__all__ = ["MOST_ROWS", "bullets", "heading", "legend", "sentences", "table", "view"]


def view(*parts: str) -> str:
    """The parts as one view of a notebook, with the style sheet."""
    return f'<div class="holdfast"><style>{STYLE}</style>{"".join(parts)}</div>'


def sentences(*texts: str, strong: bool = False) -> str:
    """A paragraph for each text that there is."""
    told = [f"<strong>{escape(text)}</strong>" if strong else escape(text) for text in texts if text]
    return "".join(f"<p>{text}</p>" for text in told)


def heading(text: str) -> str:
    """A heading within a view."""
    return f"<h4>{escape(text)}</h4>"


def bullets(lines: Iterable[str]) -> str:
    """A list of texts."""
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def table(
    rows: Rows,
    *,
    caption: str = "",
    taken: Collection[int] = (),
    alerts: Collection[str] = (),
    more: str = "",
    explained: Mapping[str, str] | None = None,
) -> str:
    """The rows as a table whose headings say on hover what they mean."""
    return Table(
        rows[0],
        rows[1:],
        title=caption,
        note=more,
        marked=taken,
        tones=dict.fromkeys(alerts, "bad"),
        meanings={**MEANINGS, **(explained or {})},
    ).to_html(None)
