"""What a result shows: sentences, tables, lists and pictures, described once for every face.

`View(*parts)` renders as text for a terminal and as HTML for a notebook; a report takes the same parts. A
result derives from `ViewMixin` and says in `_view` what there is to show.

An HTML view is one `<div>` with its own small style sheet, without script or ids; where a notebook drops the
sheet, what is left is a plain table. Text has the colour of the notebook, and all else is a tint that one
sees through, so that it reads in the light and in the dark.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import zip_longest
from re import sub
from types import MappingProxyType
from typing import Any

from holdfast._text import NO_BREAK, wrap_lines

Rows = Sequence[Sequence[str]]
MOST_ROWS = 20  # of a table in a notebook
SHORT = 34  # letters of a cell that no line breaks
LEAST = 14  # letters of a column that wraps
_NUMBER = re.compile(r"(?:-> )?[<>=]{0,2} ?[+-]?\d[\d.,e+-]*(?: (?:±|%|of|to|/|s|ms|[+-]?\d[\d.,e+-]*))*")


@dataclass(frozen=True)
class TextTable:
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
    def filled(self) -> "TextTable":
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
        lines = (
            format_columns(rows, sides=table.sides, widths=table.widths, gap=table.gap) if self.rows else []
        )
        note = [line for text in self.note.splitlines() for line in wrap_lines(text, width)]
        return "\n".join([*wrap_lines(self.title, width), *lines, *note])

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

    def cut(self, most: int | None) -> tuple["TextTable", str]:
        """The table with at most so many rows, those around the marked one, and a note if it had more."""
        n_rows = len(self.rows)
        if most is None or n_rows <= most:
            return self, ""
        first = max(0, min(min(self.marked, default=0) - most // 2, n_rows - most))
        marked = [place - first for place in self.marked]
        rows = replace(self, rows=self.rows[first : first + most], marked=marked)
        return rows, f"{most} of {n_rows:,} rows{f'; {self.whole} has all' if self.whole else ''}."

    def fitting(self, width: int, spare: Sequence[str]) -> "TextTable":
        """The table without so many of the columns with these headings, in this order, that it fits."""
        rows = fitting([self.headings, *self.rows], width, [each for each in spare if each in self.headings])
        return replace(self, headings=rows[0], rows=rows[1:])


def format_columns(rows: Rows, *, sides: str = "", widths: Sequence[int] = (), gap: int = 2) -> list[str]:
    """The rows as lines, every column as wide as its widest cell and `gap` letters from the one before.

    `sides` has a < or a > for each column, from the left or from the right: by default the first column
    stands on the left and the others on the right. `widths` are the least widths of the columns.

    >>> format_columns([["tree", "leaves"], ["first", "12"]])
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


def format_table(rows: Rows) -> str:
    """The rows, headings first, as the text of a table."""
    return TextTable(rows[0], rows[1:]).to_text()


def fitting(rows: Rows, width: int, spare: Sequence[str]) -> Rows:
    """The rows without as many of the columns with these headings, in this order, as the width asks for."""
    for heading in spare:
        if max(map(len, format_table(rows).splitlines())) <= width:
            break
        place = rows[0].index(heading)
        rows = [[*row[:place], *row[place + 1 :]] for row in rows]
    return rows


def filled(rows: Rows) -> Rows:
    """The rows, headings first, without columns that have a heading only."""
    table = TextTable(rows[0], rows[1:]).filled
    return [table.headings, *table.rows]


def _broken(row: Sequence[str], wrap: Sequence[int]) -> Rows:
    """The row in as many lines as its longest cell needs."""
    if not wrap:
        return [row]
    cells = [
        wrap_lines(cell, most) if most and cell else [cell] for cell, most in zip(row, wrap, strict=True)
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


# -- What a result shows -------------------------------------------------------------------------------------

WIDTH = 100  # columns
# Spaces where no line should end: in conditions, and between a word and its number.
_TOGETHER = (
    r" (?=%)| (?=[<>]=? )|(?<=[<>=]) | (?=± )|(?<=±) |"
    r"(?<=\bp) (?=\d)|(?<=\)) (?=\d\.)|(?<=\bcost) |(?<=\bwas) (?=\d)"
)
STYLE = (
    ".holdfast{overflow-x:auto;max-width:100%;line-height:1.45}"
    ".holdfast p{margin:.3em 0 .6em;max-width:62em;text-align:left}"
    ".holdfast h4{margin:1em 0 .2em;font-size:1em;font-weight:600}"
    ".holdfast ul,.holdfast ol{margin:.2em 0 .6em;padding-left:1.6em}"
    ".holdfast table{border-collapse:collapse;border:0;margin:.2em 0 .7em;font-size:.9em;"
    "font-variant-numeric:tabular-nums}"
    ".holdfast table caption{caption-side:top;text-align:left;font-weight:600;padding:.2em 0;color:inherit}"
    ".holdfast table th,.holdfast table td{padding:.2em .8em;border:0;vertical-align:top;text-align:left;"
    "background:none;max-width:40em;white-space:normal}"
    ".holdfast table th{font-weight:600;vertical-align:bottom;border-bottom:1px solid rgba(128,128,128,.6)}"
    ".holdfast table th[title]{text-decoration:underline dotted rgba(128,128,128,.8);cursor:help}"
    ".holdfast table tbody tr:nth-child(n){background:none;border-bottom:1px solid rgba(128,128,128,.2)}"
    ".holdfast table tbody tr.holdfast-marked:nth-child(n){background:rgba(50,140,215,.24);font-weight:600}"
    ".holdfast .holdfast-bad{color:#d9480f;font-weight:600}"
    ".holdfast small{opacity:.75;font-size:.9em}"
)
# What a heading means, in every table.
MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "instability": "mean distance to the reference trees, with its Monte Carlo error: lower is steadier",
        "size-adjusted": "instability as a multiple of the usual instability of candidates of the same size",
        "of the teacher lost": "fraction of what the student explains of the teacher that this tree loses",
        "candidate": "index of the candidate: model.candidate_trees_[index]",
        "leaves": "number of leaves of the tree",
        "depth": "greatest number of splits on the way to a leaf",
        "distance": "cost of the cheapest matching between the rules of two trees",
        "fit lost": "fraction of the fit of a fresh tree that it loses (all: a constant would fit better)",
        "against keeping": "difference from the score of the tree as it is, on the same rows",
        "churn": "mean absolute change of the predictions",
        "flips": "fraction of the rows whose predicted class changes",
        "negative": "fraction of the rows that were right and become wrong",
        "rank": "Kendall's tau of the predictions before and after",
        "identical": "fraction of the pairs in which nothing changed",
        "splits": "number of splits on the feature, over all trees",
        "total decrease": "decrease of impurity by all splits on the feature",
        "decrease per split": "mean decrease of impurity by one split on the feature",
        "fit": "median time of a fit",
        "predict": "median time of a prediction",
        "size": "leaves of a tree, or trees of an ensemble",
        "relative error": "risk on the training rows, as a fraction of the risk of the root alone",
        "first level": "fraction of the trees that split on it at the root",
        "first two": "fraction of the trees that split on it in the first two levels",
        "first three": "fraction of the trees that split on it in the first three levels",
        "anywhere": "fraction of the trees that split on it anywhere",
        "importance": "mean decrease of impurity by its splits, as a fraction of the whole decrease",
        "spread": "standard deviation of the importance over the trees",
    }
)


@dataclass(frozen=True)
class Section:
    """A title with lines of text, a table, or both below it."""

    title: str
    lines: Sequence[str] = ()
    table: TextTable | None = None

    def to_text(self, width: int = WIDTH) -> str:
        """The title, and what stands below it, two letters further in."""
        lines = [self.title]
        for line in self.lines:
            lines += wrapped(line, width, "  ", "      ")
        if self.table is not None:
            lines += [f"  {line}".rstrip() for line in self.table.to_text(width - 2).splitlines()]
        return "\n".join(lines)

    def to_html(self) -> str:
        """A heading, a list, and a table."""
        items = "".join(f"<li>{escape(line)}</li>" for line in self.lines)
        return "".join(
            [
                f"<h4>{escape(self.title)}</h4>",
                f"<ul>{items}</ul>" if items else "",
                "" if self.table is None else _explained(self.table).to_html(),
            ]
        )


@dataclass(frozen=True)
class Picture:
    """An SVG picture, which a terminal does not show and which is drawn when it is asked for."""

    draw: Callable[[], str]


Part = str | TextTable | Section | Picture  # a string is a paragraph


class View:
    """The parts of a result in their order; empty ones are left out."""

    def __init__(self, *parts: Part) -> None:
        self.parts: tuple[Part, ...] = tuple(part for part in parts if part)

    def to_text(self, width: int = WIDTH) -> str:
        """The parts but for pictures, with an empty line between two of them."""
        blocks = []
        for part in self.parts:
            if isinstance(part, str):
                blocks.append("\n".join(wrapped(part, width)))
            elif not isinstance(part, Picture):
                blocks.append(part.to_text(width))
        return "\n\n".join(blocks)

    def to_html(self) -> str:
        """The parts as one element, for a notebook; the first sentence is set in bold."""
        return f'<div class="holdfast"><style>{STYLE}</style>{"".join(self._html_parts())}</div>'

    def _html_parts(self) -> Iterable[str]:
        for number, part in enumerate(self.parts):
            if isinstance(part, str):
                text = escape(part)
                yield f"<p><strong>{text}</strong></p>" if number == 0 else f"<p>{text}</p>"
            elif isinstance(part, TextTable):
                yield _explained(part).to_html()
            else:
                yield part.draw() if isinstance(part, Picture) else part.to_html()

    def to_dict(self) -> dict[str, Any]:
        """All that it shows but for pictures, as plain data."""
        return {
            "paragraphs": [part for part in self.parts if isinstance(part, str)],
            "tables": [
                table_data(part.table if isinstance(part, Section) else part)
                for part in self.parts
                if isinstance(part, TextTable) or (isinstance(part, Section) and part.table is not None)
            ],
            "lists": [[part.title, list(part.lines)] for part in self.parts if isinstance(part, Section)],
        }


class ViewMixin:
    """A result that prints, and shows in a notebook, what `_view` describes."""

    def _view(self) -> View:
        raise NotImplementedError

    def __str__(self) -> str:
        return self._view().to_text()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self._view().to_html()


def wrapped(text: str, width: int = WIDTH, first: str = "", rest: str = "") -> list[str]:
    """The text in lines, none of which ends within a condition or between a number and its unit."""
    return wrap_lines(sub(_TOGETHER, NO_BREAK, text), width, first, rest)


def explain_headings(headings: Iterable[str], further: Mapping[str, str] = MappingProxyType({})) -> str:
    """What the headings mean, in one paragraph: those that are known.

    >>> explain_headings(["step", "churn"])
    'churn: mean absolute change of the predictions.'
    """
    known = {**MEANINGS, **further}
    return "; ".join(f"{name}: {known[name]}" for name in headings if name in known) + "."


def table_data(table: TextTable | None) -> dict[str, Any]:
    """The table as plain data."""
    assert table is not None
    own = table.filled
    rows = [[cell.strip() for cell in row] for row in own.rows]
    return {"title": own.title, "headings": list(own.headings), "rows": rows, "note": own.note}


def _explained(table: TextTable) -> TextTable:
    return replace(table, meanings={**MEANINGS, **table.meanings})


# -- Parts of HTML for results that do not yet have a `View` (see _view.py) ------------------------------

__all__ = ["MOST_ROWS", "bullets", "heading", "sentences", "table", "view"]


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
    return TextTable(
        rows[0],
        rows[1:],
        title=caption,
        note=more,
        marked=taken,
        tones=dict.fromkeys(alerts, "bad"),
        meanings={**MEANINGS, **(explained or {})},
    ).to_html(None)
