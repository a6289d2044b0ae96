"""The view of a result: sentences, tables, lists and pictures, for terminal, notebook and report.

A result derives from `ViewMixin` and returns a `View` of its parts from `_view`. The view renders as text and
as HTML; a report takes the parts.

An HTML view is one `<div>` with its own small style sheet, without script or ids; a notebook that drops the
sheet still shows a plain table. Text has the colour of the notebook and backgrounds are transparent tints, so
that it is legible in a light and in a dark theme.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import zip_longest
from types import MappingProxyType
from typing import Any

from holdfast._text import NO_BREAK, wrap_lines

Rows = Sequence[Sequence[str]]
MOST_ROWS = 20  # of a table in a notebook
SHORT = 34  # letters of a cell that stays on one line
LEAST = 14  # letters of the narrowest column that wraps
_NUMBER = re.compile(r"(?:-> )?[<>=]{0,2} ?[+-]?\d[\d.,e+-]*(?: (?:±|%|of|to|/|s|ms|[+-]?\d[\d.,e+-]*))*")


@dataclass(frozen=True)
class TextTable:
    """Headings and rows of text, with a title above and a note below.

    Columns whose cells are all empty are left out.

    >>> print(TextTable(["tree", "leaves"], [["first", "12"]], note="One tree.").to_text())
    tree   leaves
    first      12
    One tree.
    """

    headings: Sequence[str]
    rows: Rows
    title: str = ""
    note: str = ""
    sides: str = ""  # alignment of each column, < or >; default: the first left, the others right
    widths: Sequence[int] = ()  # least widths of the columns
    wrap: Sequence[int] = ()  # greatest widths of the columns, beyond which cells wrap; 0: no limit
    gap: int = 2  # letters between two columns
    marked: Collection[int] = ()  # indices of rows that are set in bold
    tones: Mapping[str, str] = field(default_factory=dict)  # "good", "bad" or "warn" by text of a cell
    meanings: Mapping[str, str] = field(default_factory=dict)  # explanations by heading
    whole: str = ""  # where to find all rows if a notebook shows only some: "to_frame()"

    def drop_empty_columns(self) -> "TextTable":
        """Return the table without columns whose cells are all empty."""
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
    def is_numeric(self) -> list[bool]:
        """Flags of the columns whose cells are numbers, with a sign, an error or a unit."""
        columns = [[row[place] for row in self.rows] for place in range(len(self.headings))]
        return [
            any(cells) and all(not cell or _NUMBER.fullmatch(cell.strip()) for cell in cells)
            for cells in columns
        ]

    def to_text(self, width: int = 100) -> str:
        """Return title, columns and note as lines; lines exceed the width only if no column may wrap."""
        table = self.drop_empty_columns()
        wrap = table._wrap_widths(width)
        rows = [table.headings, *(line for row in table.rows for line in _wrap_row(row, wrap))]
        lines = (
            format_columns(rows, sides=table.sides, widths=table.widths, gap=table.gap) if self.rows else []
        )
        note = [line for text in self.note.splitlines() for line in wrap_lines(text, width)]
        return "\n".join([*wrap_lines(self.title, width), *lines, *note])

    def _wrap_widths(self, width: int) -> Sequence[int]:
        """Narrow the columns that wrap, the widest first, until the lines fit."""
        wrap = list(self.wrap)
        cells = [[self.headings[place], *(row[place] for row in self.rows)] for place in range(len(wrap))]
        widths = [max(len(cell) for cell in column) for column in cells]
        widths = [min(size, most) if most else size for size, most in zip(widths, wrap, strict=True)]
        while sum(widths) + self.gap * (len(widths) - 1) > width:
            widest = max((place for place, most in enumerate(wrap) if most), key=lambda place: widths[place])
            if widths[widest] <= LEAST:
                break
            widths[widest] -= 1
            wrap[widest] = widths[widest]
        return wrap

    def to_html(self, max_rows: int = MOST_ROWS) -> str:
        """Return an HTML table, numbers on the right, of at most `max_rows` rows around the marked one.

        >>> TextTable(["tree"], [["<1>"]]).to_html()
        '<table><thead><tr><th>tree</th></tr></thead><tbody><tr><td>&lt;1&gt;</td></tr></tbody></table>'
        """
        table, cut = self.drop_empty_columns().truncate(max_rows)
        meanings = {**MEANINGS, **self.meanings}
        ends = [' style="text-align:right"' if each else "" for each in table.is_numeric]
        heads = [
            f"<th{end}{_title(meanings.get(head, ''))}>{escape(head)}</th>"
            for head, end in zip(table.headings, ends, strict=True)
        ]
        lines = []
        for place, row in enumerate(table.rows):
            cells = [
                f"<td{_class(table.tones.get(cell))}{_cell_style(cell, end)}>{escape(cell.strip(' '))}</td>"
                for cell, end in zip(row, ends, strict=True)
            ]
            lines.append(f"<tr{_class('marked') if place in table.marked else ''}>{''.join(cells)}</tr>")
        notes = " ".join(filter(None, [cut, self.note]))
        return (
            f"<table>{f'<caption>{escape(self.title)}</caption>' if self.title else ''}"
            f"<thead><tr>{''.join(heads)}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
            f"{f'<p><small>{escape(notes)}</small></p>' if notes else ''}"
        )

    def truncate(self, max_rows: int) -> tuple["TextTable", str]:
        """Return the table with at most `max_rows` rows around the marked one, and a note if it had more."""
        n_rows = len(self.rows)
        if n_rows <= max_rows:
            return self, ""
        first = max(0, min(min(self.marked, default=0) - max_rows // 2, n_rows - max_rows))
        marked = [place - first for place in self.marked]
        table = replace(self, rows=self.rows[first : first + max_rows], marked=marked)
        return table, f"{max_rows} of {n_rows:,} rows{f'; {self.whole} has all' if self.whole else ''}."

    def fit_width(self, width: int, spare: Sequence[str]) -> "TextTable":
        """Drop columns with these headings, in this order, until the lines fit the width."""
        table = self
        for heading in spare:
            if max(map(len, format_table([table.headings, *table.rows]).splitlines())) <= width:
                break
            place = table.headings.index(heading)
            headings, *rows = ([*row[:place], *row[place + 1 :]] for row in [table.headings, *table.rows])
            table = replace(table, headings=headings, rows=rows)
        return table


def format_columns(rows: Rows, *, sides: str = "", widths: Sequence[int] = (), gap: int = 2) -> list[str]:
    """Return the rows as lines of aligned columns; the parameters are those of `TextTable`.

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
    """Return the text of a table without empty columns; the first row has the headings."""
    return TextTable(rows[0], rows[1:]).to_text()


def _wrap_row(row: Sequence[str], wrap: Sequence[int]) -> Rows:
    """Return the row as several rows, one for each line of its longest cell."""
    if not wrap:
        return [row]
    cells = [
        wrap_lines(cell, most) if most and cell else [cell] for cell, most in zip(row, wrap, strict=True)
    ]
    return list(zip_longest(*cells, fillvalue=""))


def _class(name: str | None) -> str:
    return f' class="holdfast-{name}"' if name else ""


def _title(text: str) -> str:
    return f' title="{escape(text)}"' if text else ""


def _cell_style(cell: str, end: str) -> str:
    """Return the style of a cell: its side, and no line breaks in a short text."""
    if " " not in cell or len(cell) > SHORT:
        return end
    return f'{end[:-1]};white-space:nowrap"' if end else ' style="white-space:nowrap"'


# -- views ---------------------------------------------------------------------------------------------------

WIDTH = 100  # columns
# Spaces at which no line may break: in conditions, and between a word and its number.
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
# Explanations of headings, the same in every table.
MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "instability": "mean distance to the reference trees, with its Monte Carlo error: lower is stabler",
        "size-adjusted": "instability as a multiple of the usual instability of candidates of the same size",
        "of the teacher lost": "fraction of the student's fit to the teacher that this tree loses",
        "candidate": "index of the candidate: model.candidate_trees_[index]",
        "leaves": "number of leaves of the tree",
        "depth": "greatest number of splits between the root and a leaf",
        "distance": "cost of the cheapest matching between the rules of two trees",
        "fit lost": "fraction of a new tree's fit that this tree loses (all: a constant would fit better)",
        "against keeping": "difference from the score of the current tree on the same rows",
        "churn": "mean absolute change of the predictions",
        "flips": "fraction of the rows whose predicted class changes",
        "negative": "fraction of the rows whose prediction was right and becomes wrong",
        "rank": "Kendall's tau between the predictions before and after",
        "identical": "fraction of the pairs without any change",
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
        "importance": "mean decrease of impurity by its splits, as a fraction of the total decrease",
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
        """Return the title, and lines and table indented by two letters."""
        lines = [self.title]
        for line in self.lines:
            lines += _wrap_text(line, width, "  ", "      ")
        if self.table is not None:
            lines += [f"  {line}".rstrip() for line in self.table.to_text(width - 2).splitlines()]
        return "\n".join(lines)

    def to_html(self) -> str:
        """Return a heading, a list and a table."""
        items = "".join(f"<li>{escape(line)}</li>" for line in self.lines)
        table = "" if self.table is None else self.table.to_html()
        return f"<h4>{escape(self.title)}</h4>{f'<ul>{items}</ul>' if items else ''}{table}"


@dataclass(frozen=True)
class Picture:
    """An SVG picture, drawn when needed; a terminal leaves it out."""

    draw: Callable[[], str]


Part = str | TextTable | Section | Picture  # a string is a paragraph


class View:
    """The parts of a result in order, without empty ones."""

    def __init__(self, *parts: Part) -> None:
        self.parts: tuple[Part, ...] = tuple(part for part in parts if part)

    def to_text(self, width: int = WIDTH) -> str:
        """Return the parts except pictures, separated by empty lines."""
        blocks = []
        for part in self.parts:
            if isinstance(part, str):
                blocks.append("\n".join(_wrap_text(part, width)))
            elif not isinstance(part, Picture):
                blocks.append(part.to_text(width))
        return "\n\n".join(blocks)

    def to_html(self) -> str:
        """Return the parts as one HTML element; a sentence that comes first is set in bold."""
        return f'<div class="holdfast"><style>{STYLE}</style>{"".join(self._html_parts())}</div>'

    def _html_parts(self) -> Iterator[str]:
        for number, part in enumerate(self.parts):
            if isinstance(part, str):
                text = escape(part)
                yield f"<p><strong>{text}</strong></p>" if number == 0 else f"<p>{text}</p>"
            else:
                yield part.draw() if isinstance(part, Picture) else part.to_html()

    def to_dict(self) -> dict[str, Any]:
        """Return the parts except pictures as plain data."""
        return {
            "paragraphs": [part for part in self.parts if isinstance(part, str)],
            "tables": [_table_content(table) for table in self._tables()],
            "lists": [[part.title, list(part.lines)] for part in self.parts if isinstance(part, Section)],
        }

    def _tables(self) -> Iterator[TextTable]:
        for part in self.parts:
            table = part.table if isinstance(part, Section) else part
            if isinstance(table, TextTable):
                yield table


class ViewMixin:
    """Mixin of results that print, and show in a notebook, the view that `_view` returns."""

    def _view(self) -> View:
        raise NotImplementedError

    def __str__(self) -> str:
        return self._view().to_text()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self._view().to_html()


def explain_headings(headings: Iterable[str], further: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the explanations of the headings that have one, in one paragraph.

    >>> explain_headings(["step", "churn"])
    'churn: mean absolute change of the predictions.'
    """
    known = {**MEANINGS, **further}
    return "; ".join(f"{name}: {known[name]}" for name in headings if name in known) + "."


def _wrap_text(text: str, width: int = WIDTH, first: str = "", rest: str = "") -> list[str]:
    """Wrap a text without breaking conditions, or a number from its unit."""
    return wrap_lines(re.sub(_TOGETHER, NO_BREAK, text), width, first, rest)


def _table_content(table: TextTable) -> dict[str, Any]:
    own = table.drop_empty_columns()
    rows = [[cell.strip() for cell in row] for row in own.rows]
    return {"title": own.title, "headings": list(own.headings), "rows": rows, "note": own.note}
