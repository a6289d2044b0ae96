"""Tables of text: in columns of letters, and for HTML. The first row holds the headings."""

from collections.abc import Sequence
from html import escape

Rows = Sequence[Sequence[str]]


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


def html_table(rows: Rows) -> str:
    """The rows as a table of HTML, with headings; a column without a cell is left out.

    >>> html_table([["tree", "leaves"], ["<1>", "12"]])
    '<table><tr><th>tree</th><th>leaves</th></tr><tr><td>&lt;1&gt;</td><td>12</td></tr></table>'
    """
    lines = [
        "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)
        for row, tag in zip(filled(rows), ["th", *["td"] * (len(rows) - 1)], strict=True)
    ]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def filled(rows: Rows) -> Rows:
    """The rows without columns that have a heading only."""
    kept = [column for column in zip(*rows, strict=True) if any(column[1:])]
    return list(zip(*kept, strict=True))
