"""What a result shows: sentences, tables, lists and pictures, described once for every face.

`View(*parts)` renders as text for a terminal and as HTML for a notebook; a report takes the same parts. A
result derives from `ViewMixin` and says in `_view` what there is to show.

An HTML view is one `<div>` with its own small style sheet, without script or ids; where a notebook drops the
sheet, what is left is a plain table. Text has the colour of the notebook, and all else is a tint that one
sees through, so that it reads in the light and in the dark.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from re import sub
from types import MappingProxyType
from typing import Any

from holdfast.text.lines import NO_BREAK, wrapped_lines
from holdfast.text.table import Table

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
    table: Table | None = None

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


Part = str | Table | Section | Picture  # a string is a paragraph


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
            elif isinstance(part, Table):
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
                if isinstance(part, Table) or (isinstance(part, Section) and part.table is not None)
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
    return wrapped_lines(sub(_TOGETHER, NO_BREAK, text), width, first, rest)


def legend(headings: Iterable[str], further: Mapping[str, str] = MappingProxyType({})) -> str:
    """What the headings mean, in one paragraph: those that are known.

    >>> legend(["step", "churn"])
    'churn: mean absolute change of the predictions.'
    """
    known = {**MEANINGS, **further}
    return "; ".join(f"{name}: {known[name]}" for name in headings if name in known) + "."


def table_data(table: Table | None) -> dict[str, Any]:
    """The table as plain data."""
    assert table is not None
    own = table.filled
    rows = [[cell.strip() for cell in row] for row in own.rows]
    return {"title": own.title, "headings": list(own.headings), "rows": rows, "note": own.note}


def _explained(table: Table) -> Table:
    return replace(table, meanings={**MEANINGS, **table.meanings})
