"""Tables of text as a section: results that have their own words for all that they found."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from holdfast.show.report.page import Section
from holdfast.text.table import Rows, filled

SCIENTIST = "data scientist"


def tables_section(
    name: str,
    title: str,
    tables: Iterable[tuple[str, Rows]] = (),
    *,
    paragraphs: Sequence[str] = (),
    notes: Sequence[str] = (),
    lists: Iterable[tuple[str, Sequence[str]]] = (),
    figures: Mapping[str, Markup] | None = None,
    marked: Sequence[int] = (),
) -> Section:
    """Paragraphs, pictures, tables under their titles, lists, notes; a table's first row has its headings.

    `marked` are the numbers of rows of the first table that are set in bold.
    """
    facts: dict[str, Any] = {
        "paragraphs": list(paragraphs),
        "tables": [_table(caption, filled(rows)) for caption, rows in tables],
        "lists": [[caption, list(items)] for caption, items in lists],
        "notes": list(notes),
        "marked": list(marked),
    }
    return Section(name, title, SCIENTIST, "tables.html", facts, figures or {})


def _table(caption: str, rows: Rows) -> dict[str, Any]:
    headings, *cells = (list(row) for row in rows)
    # Numbers stand on the right: a column of which most cells begin like one.
    numeric = [sum(row[place][:1] in "+-<0123456789" for row in cells) for place in range(len(headings))]
    kinds = "".join("n" if place and 2 * count > len(cells) else "t" for place, count in enumerate(numeric))
    return {"caption": caption, "headings": headings, "rows": cells, "kinds": kinds}
