"""Tables of text: one value, `Table`, that the terminal, a notebook and a report show alike."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import zip_longest

from holdfast.text.lines import wrapped_lines

Rows = Sequence[Sequence[str]]
MOST_ROWS = 20  # of a table in a notebook
SHORT = 34  # letters of a cell that no line breaks
LEAST = 14  # letters of a column that wraps
_NUMBER = re.compile(r"(?:-> )?[<>=]{0,2} ?[+-]?\d[\d.,e+-]*(?: (?:±|%|of|to|/|s|ms|[+-]?\d[\d.,e+-]*))*")


@dataclass(frozen=True)
class Table:
    """Headings and rows of text, with a title above and a note below.

    Columns without a cell are left out.

    >>> print(Table(["tree", "leaves"], [["first", "12"]], note="One tree.").to_text())
    tree   leaves
    first      12
    One tree.
    """

    headings: Sequence[str]
    rows: Rows
    title: str = ""
    note: str = ""
    sides: str = (
        ""  # < or > for each column; by default the first stands on the left, the others on the right
    )
    widths: Sequence[int] = ()  # the least widths of the columns
    wrap: Sequence[int] = ()  # the greatest widths of the columns, where cells go on in the next line; 0: any
    gap: int = 2  # letters between two columns
    marked: Collection[int] = ()  # numbers of rows that are set in bold
    tones: Mapping[str, str] = field(default_factory=dict)  # cells with this text are "good", "bad" or "warn"
    meanings: Mapping[str, str] = field(default_factory=dict)  # of headings
    whole: str = ""  # what has all rows where a notebook shows some of them: "to_frame()"

    @property
    def filled(self) -> "Table":
        """The table without the columns that have a heading only."""
        kept = [place for place in range(len(self.headings)) if any(row[place] for row in self.rows)]
        return replace(
            self,
            headings=[self.headings[place] for place in kept],
            rows=[[row[place] for place in kept] for row in self.rows],
            sides="".join(self.sides[place] for place in kept) if self.sides else "",
            widths=[self.widths[place] for place in kept] if self.widths else (),
            wrap=[self.wrap[place] for place in kept] if self.wrap else (),
        )

    @property
    def are_numbers(self) -> list[bool]:
        """For each column, whether no cell is a text."""
        return [_are_numbers([row[place] for row in self.rows]) for place in range(len(self.headings))]

    def to_text(self, width: int = 100) -> str:
        """The title, the columns, and the note, in lines of at most so many letters if columns may wrap."""
        table = self.filled
        wrap = table._narrowed(width)
        rows = [table.headings, *(line for row in table.rows for line in _broken(row, wrap))]
        lines = table_lines(rows, sides=table.sides, widths=table.widths, gap=table.gap) if self.rows else []
        note = [line for text in self.note.splitlines() for line in wrapped_lines(text, width)]
        return "\n".join([*wrapped_lines(self.title, width), *lines, *note])

    def _narrowed(self, width: int) -> Sequence[int]:
        """The greatest widths of the columns that wrap, the widest made narrower until the lines fit."""
        wrap = list(self.wrap)
        cells = [[self.headings[place], *(row[place] for row in self.rows)] for place in range(len(wrap))]
        found = [max(len(cell) for cell in column) for column in cells]
        found = [min(size, most) if most else size for size, most in zip(found, wrap, strict=True)]
        while sum(found) + self.gap * (len(found) - 1) > width:
            place = max((place for place, most in enumerate(wrap) if most), key=lambda place: found[place])
            if found[place] <= LEAST:
                break
            found[place] -= 1
            wrap[place] = found[place]
        return wrap

    def to_html(self, most: int | None = MOST_ROWS) -> str:
        """A table of HTML, numbers on the right, with at most so many rows: those around the marked one.

        >>> Table(["tree"], [["<1>"]]).to_html()
        '<table><thead><tr><th>tree</th></tr></thead><tbody><tr><td>&lt;1&gt;</td></tr></tbody></table>'
        """
        table, cut = self.filled.cut(most)
        ends = [' style="text-align:right"' if each else "" for each in table.are_numbers]
        heads = [
            f"<th{end}{_title(table.meanings.get(head, ''))}>{escape(head)}</th>"
            for head, end in zip(table.headings, ends, strict=True)
        ]
        lines = []
        for place, row in enumerate(table.rows):
            cells = [
                f"<td{_class(table.tones.get(cell))}{_one_line(cell, end)}>{escape(cell.strip(' '))}</td>"
                for cell, end in zip(row, ends, strict=True)
            ]
            lines.append(f"<tr{_class('marked') if place in table.marked else ''}>{''.join(cells)}</tr>")
        notes = " ".join(filter(None, [cut, self.note]))
        return (
            f"<table>{f'<caption>{escape(self.title)}</caption>' if self.title else ''}"
            f"<thead><tr>{''.join(heads)}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
            f"{f'<p><small>{escape(notes)}</small></p>' if notes else ''}"
        )

    def cut(self, most: int | None) -> tuple["Table", str]:
        """The table with at most so many rows, those around the marked one, and a note if it had more."""
        n_rows = len(self.rows)
        if most is None or n_rows <= most:
            return self, ""
        first = max(0, min(min(self.marked, default=0) - most // 2, n_rows - most))
        marked = [place - first for place in self.marked]
        rows = replace(self, rows=self.rows[first : first + most], marked=marked)
        return rows, f"{most} of {n_rows:,} rows{f'; {self.whole} has all' if self.whole else ''}."

    def fitting(self, width: int, spare: Sequence[str]) -> "Table":
        """The table without so many of the columns with these headings, in this order, that it fits."""
        rows = fitting([self.headings, *self.rows], width, [each for each in spare if each in self.headings])
        return replace(self, headings=rows[0], rows=rows[1:])


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
    """The rows, headings first, as the text of a table."""
    return Table(rows[0], rows[1:]).to_text()


def fitting(rows: Rows, width: int, spare: Sequence[str]) -> Rows:
    """The rows without as many of the columns with these headings, in this order, as the width asks for."""
    for heading in spare:
        if max(map(len, aligned(rows).splitlines())) <= width:
            break
        place = rows[0].index(heading)
        rows = [[*row[:place], *row[place + 1 :]] for row in rows]
    return rows


def filled(rows: Rows) -> Rows:
    """The rows, headings first, without columns that have a heading only."""
    table = Table(rows[0], rows[1:]).filled
    return [table.headings, *table.rows]


def _broken(row: Sequence[str], wrap: Sequence[int]) -> Rows:
    """The row in as many lines as its longest cell needs."""
    if not wrap:
        return [row]
    cells = [
        wrapped_lines(cell, most) if most and cell else [cell] for cell, most in zip(row, wrap, strict=True)
    ]
    return list(zip_longest(*cells, fillvalue=""))


def _are_numbers(cells: Sequence[str]) -> bool:
    """True if no cell is a text: a number may have a sign, an error, a unit or another number beside it."""
    return any(cells) and all(not cell or _NUMBER.fullmatch(cell.strip()) for cell in cells)


def _class(name: str | None) -> str:
    return f' class="holdfast-{name}"' if name else ""


def _title(text: str) -> str:
    return f' title="{escape(text)}"' if text else ""


def _one_line(cell: str, end: str) -> str:
    """The style of a cell: its side, and a short text in one line."""
    if " " not in cell or len(cell) > SHORT:
        return end
    return f'{end[:-1]};white-space:nowrap"' if end else ' style="white-space:nowrap"'
