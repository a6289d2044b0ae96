"""What all HTML views in a notebook are made of: a sentence first, then tables, in one style.

A view is one `<div>` with its own small style sheet under a class, without script or ids; where a notebook
drops the sheet, what is left is a plain table. Text has the colour of the notebook, and all else is a tint
that one sees through, so that it reads in the light and in the dark.
"""

from collections.abc import Collection, Iterable, Mapping
from html import escape
from types import MappingProxyType

from holdfast.text.table import Rows, html_table

MOST_ROWS = 20  # of a table in a notebook
STYLE = (
    ".holdfast{overflow-x:auto;max-width:100%;line-height:1.45}"
    ".holdfast p{margin:.3em 0 .6em;max-width:62em;text-align:left}"
    ".holdfast h4{margin:1em 0 .2em;font-size:1em;font-weight:600}"
    ".holdfast ul,.holdfast ol{margin:.2em 0 .6em;padding-left:1.6em}"
    ".holdfast table{border-collapse:collapse;border:0;margin:.2em 0 .7em;font-size:.9em;"
    "font-variant-numeric:tabular-nums}"
    ".holdfast table caption{caption-side:top;text-align:left;font-weight:600;padding:.2em 0;color:inherit}"
    ".holdfast table th,.holdfast table td{padding:.2em .8em;border:0;vertical-align:top;background:none;"
    "max-width:40em;white-space:normal}"
    ".holdfast table th{font-weight:600;vertical-align:bottom;border-bottom:1px solid rgba(128,128,128,.6)}"
    ".holdfast table th[title]{text-decoration:underline dotted rgba(128,128,128,.8);cursor:help}"
    ".holdfast table tbody tr:nth-child(n){background:none;border-bottom:1px solid rgba(128,128,128,.2)}"
    ".holdfast table tbody tr.holdfast-taken:nth-child(n){background:rgba(50,140,215,.24);font-weight:600}"
    ".holdfast .holdfast-alert{color:#d9480f;font-weight:600}"
    ".holdfast small{opacity:.75;font-size:.9em}"
)
# What a heading means, wherever it stands.
EXPLAINED: Mapping[str, str] = MappingProxyType(
    {
        "instability": "mean distance to the reference trees, with its Monte Carlo error: less is steadier",
        "size-adjusted": "instability as a multiple of what candidates with so many leaves usually have",
        "of the teacher lost": "fraction of what the student explains of the teacher that this tree loses",
        "candidate": "its place among the candidates: model.trees_[number]",
        "leaves": "number of leaves of the tree",
        "depth": "greatest number of questions that any row is asked",
        "distance": "cost of the cheapest matching between the rules of two trees",
        "fit lost": "fraction of the fit of a fresh tree that it loses (all: a constant would fit better)",
        "against keeping": "difference of the score to that of the tree as it is, on the same rows",
        "churn": "mean change of the predictions",
        "flips": "fraction of the rows that get another class",
        "negative": "fraction of the rows that were right and become wrong",
        "rank": "Kendall's tau of the answers before and after",
        "identical": "fraction of the pairs in which nothing changed",
        "splits": "how many splits, over all trees, ask about the feature",
        "total decrease": "decrease of impurity that all splits on the feature brought",
        "decrease per split": "the same for one split on average",
        "fit": "median time of a fit",
        "predict": "median time of a prediction",
        "size": "leaves of a tree, or trees of an ensemble",
        "relative error": "risk on the training rows, as a fraction of that of the root alone",
        "first level": "fraction of the trees that ask about it at the root",
        "first two": "fraction of the trees that ask about it in the first two levels",
        "first three": "fraction of the trees that ask about it in the first three levels",
        "anywhere": "fraction of the trees that ask about it at all",
        "importance": "mean decrease of impurity that it brings, as a fraction of all",
        "spread": "standard deviation of the importance over the trees",
    }
)


def legend(headings: Iterable[str], further: Mapping[str, str] = MappingProxyType({})) -> str:
    """What the headings mean, in one paragraph: those that are known.

    >>> legend(["step", "churn"])
    'churn: mean change of the predictions.'
    """
    known = {**EXPLAINED, **further}
    return "; ".join(f"{name}: {known[name]}" for name in headings if name in known) + "."


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
    """The rows as a table whose headings say on hover what they mean; see `html_table`."""
    meanings = {**EXPLAINED, **(explained or {})}
    return html_table(rows, caption=caption, explained=meanings, taken=taken, alerts=alerts, more=more)
