"""Tables of text: in columns of letters, and for HTML. The first row holds the headings."""

import re
from collections.abc import Collection, Mapping, Sequence
from html import escape
from types import MappingProxyType

Rows = Sequence[Sequence[str]]
NOTHING: Mapping[str, str] = MappingProxyType({})
SHORT = 34  # letters of a cell that no line breaks
TAKEN, ALERT = ' class="holdfast-taken"', ' class="holdfast-alert"'  # what a style sheet may mark
_NUMBER = re.compile(r"(?:-> )?[<>=]{0,2} ?[+-]?\d[\d.,e+-]*(?: (?:±|%|of|to|/|s|ms|[+-]?\d[\d.,e+-]*))*")


def table_lines(rows: Rows, *, sides: str = "", widths: Sequence[int] = (), gap: int = 2) -> list[str]:
    """The rows as lines, every column as wide as its widest cell and `gap` letters from the one before.

    `sides` has a < or a > for each column, from the left or from the right: by default the first column
    stands on the left and the others on the right. `widths` are the least widths of the columns.

    >>> table_lines([["tree", "leaves"], ["first", "12"]])
    ['tree   leaves', 'first      12']
    """
    columns = list(zip(*rows, strict=True))
    sides = sides or "<" + ">" * (len(columns) - 1)
    least = widths or [0] * len(columns)
    width = [max(few, *map(len, column)) for few, column in zip(least, columns, strict=True)]
    return [
        (" " * gap)
        .join(f"{cell:{side}{room}}" for cell, side, room in zip(row, sides, width, strict=True))
        .rstrip()
        for row in rows
    ]


def aligned(rows: Rows) -> str:
    """The first column from the left, the others from the right; a column without a cell is left out."""
    return "\n".join(table_lines(filled(rows)))


def fitting(rows: Rows, width: int, spare: Sequence[str]) -> Rows:
    """The rows without as many of the columns with these headings, in this order, as the width asks for."""
    for heading in spare:
        if max(map(len, aligned(rows).splitlines())) <= width:
            break
        place = rows[0].index(heading)
        rows = [[*row[:place], *row[place + 1 :]] for row in rows]
    return rows


def html_table(
    rows: Rows,
    *,
    caption: str = "",
    explained: Mapping[str, str] = NOTHING,
    taken: Collection[int] = (),
    alerts: Collection[str] = (),
    more: str = "",
) -> str:
    """The rows as a table of HTML, numbers on the right; a column without a cell is left out.

    `explained` says on hover what a heading means. The rows of the numbers in `taken`, counted below the
    head, are marked, and so are cells with a text of `alerts`. `more` stands below: what was left out, say.

    >>> print(html_table([["tree", "leaves"], ["<1>", "12"]]).replace("<t", "\\n<t"))
    <BLANKLINE>
    <table>
    <thead>
    <tr>
    <th style="text-align:left">tree</th>
    <th style="text-align:right">leaves</th></tr></thead>
    <tbody>
    <tr>
    <td style="text-align:left">&lt;1&gt;</td>
    <td style="text-align:right">12</td></tr></tbody></table>
    """
    head, *body = filled(rows)
    sides = ["right" if _are_numbers(column) else "left" for column in zip(*body, strict=True)]
    sides = sides or ["left"] * len(head)
    titles = [f' title="{escape(explained[cell])}"' if cell in explained else "" for cell in head]
    ths = [
        f'<th style="{_style(cell, side)}"{title}>{escape(cell)}</th>'
        for cell, side, title in zip(head, sides, titles, strict=True)
    ]
    lines = [_html_row(row, sides, place in taken, alerts) for place, row in enumerate(body)]
    return (
        f"<table>{f'<caption>{escape(caption)}</caption>' if caption else ''}"
        f"<thead><tr>{''.join(ths)}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        f"{f'<p><small>{escape(more)}</small></p>' if more else ''}"
    )


def _html_row(row: Sequence[str], sides: Sequence[str], is_taken: bool, alerts: Collection[str]) -> str:
    cells = [
        f'<td style="{_style(cell, side)}"{ALERT if cell in alerts else ""}>{escape(cell.strip(" "))}</td>'
        for cell, side in zip(row, sides, strict=True)
    ]
    return f"<tr{TAKEN if is_taken else ''}>{''.join(cells)}</tr>"


def _style(cell: str, side: str) -> str:
    """The side of the column, and a short text in one line."""
    return f"text-align:{side}{';white-space:nowrap' if ' ' in cell and len(cell) <= SHORT else ''}"


def _are_numbers(cells: Sequence[str]) -> bool:
    """True if no cell is a text: a number may have a sign, an error, a unit or another number beside it."""
    return all(not cell or _NUMBER.fullmatch(cell.strip()) for cell in cells)


def filled(rows: Rows) -> Rows:
    """The rows without columns that have a heading only."""
    kept = [column for column in zip(*rows, strict=True) if any(column[1:])]
    return list(zip(*kept, strict=True))
