"""The replications as a table of text: one line per figure, one column per model."""

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Any, NamedTuple

from holdfast.evaluate.replications import MODELS, Replications, Spread, TradeOff
from holdfast.text.lines import NO_BREAK
from holdfast.text.numbers import decimals_of_values, fixed_text, percent_text
from holdfast.text.table import Table, table_lines
from holdfast.text.view import View

_HEADS = (
    ("best", "score"),
    ("most", "stable"),
    ("chosen", "tree"),
    ("CART by", "cross-val."),
    ("random", "forest"),
)
_FIGURES = {
    "score": "{score} on test rows",
    "choosing_score": "  as expected",
    "measured_score": "  on validation rows",
    "instability": "instability",
    "normalised": "  normalised",
    "per_rule": "  per rule",
    "n_leaves": "leaves",
    "depth": "depth",
    "mean_path_length": "  mean path length",
    "frontier_size": "trees on the frontier",
    "between": "between replications",
    "importance_spread": "spread of importances",
    "first_features": "features asked first",
    "first_two_levels": "  in two levels",
}
_OTHERS = {MODELS[0]: "the tree of the best score", MODELS[3]: "CART by cross-validation"}
WIDEST_TITLE = 12  # of the score
_Row = list[str]  # a label, and a text for each model


class _Line(NamedTuple):
    """One figure of all models, as text."""

    label: str
    means: list[str]
    deviations: list[str]


def replications_text(found: Replications, width: int) -> str:
    """The table; where lines would have more letters than `width`, deviations stand below the means."""
    title = found.metric.title if len(found.metric.title) <= WIDEST_TITLE else "score"
    lines = [_line(found, name, label.format(score=title)) for name, label in _FIGURES.items()]
    heads = [["", *row] for row in zip(*_HEADS, strict=True)]
    rows = [*heads, *(_side_by_side(line) for line in lines)]
    if _width(rows) > width:
        rows = [*heads, *_stacked(lines)]
    gap = 2 if _width(rows) <= width else 1
    widths = [0, *[_cell(rows)] * len(MODELS)]
    table = table_lines(rows, widths=widths, gap=gap)
    return "\n".join([*_caption(found, title), *table, "", *trade_off_lines(found, title, width)])


def replication_cells(found: Replications) -> list[_Row]:
    """The table with its headings, each mean with its deviation beside it."""
    heads = ["", *(" ".join(parts) for parts in _HEADS)]
    lines = [_line(found, name, label.format(score=found.metric.title)) for name, label in _FIGURES.items()]
    rows = [[line.label.replace("  ", NO_BREAK * 3), *_side_by_side(line)[1:]] for line in lines]
    return [heads, *rows]


def replications_view(found: Replications) -> View:
    """What the chosen tree gains and costs, then the figures, for a notebook."""
    note = " ".join(filter(None, _caption(found, found.metric.title)))
    headings, *rows = replication_cells(found)
    return View(*trade_off_sentences(found), Table(headings, rows, note=note, meanings=_MEANINGS))


_MEANINGS = {
    "best score": "the tree of the best score on the frontier",
    "most stable": "the tree of the least instability on the frontier",
    "chosen tree": "the tree that the selection rule takes",
    "CART by cross-val.": "one tree, grown and pruned by cross-validation",
    "random forest": "a forest on the same rows",
}


def trade_off_sentences(found: Replications, title: str = "") -> list[str]:
    """How much nearer the chosen tree is than others, and for how much score: one sentence for each."""
    title, several = title or found.metric.title, found.n_replications > 1
    return [_trade_off_text(each, title, several) for each in found.trade_offs]


def trade_off_lines(found: Replications, title: str, width: int) -> list[str]:
    """The sentences in lines, none of which begins with a percent sign."""
    whole = [text.replace(" %", f"{NO_BREAK}%") for text in trade_off_sentences(found, title)]
    lines = [line for text in whole for line in wrap(text, width, subsequent_indent="  ")]
    return [line.replace(NO_BREAK, " ") for line in lines]


def _trade_off_text(each: TradeOff, title: str, several: bool) -> str:
    other = _OTHERS[each.model]
    if not any((*each.nearer, *each.score_lost)):
        return f"Against {other}, the chosen tree is just as near and just as good."
    is_nearer, is_worse = each.nearer.mean >= 0, each.score_lost.mean >= 0
    distance, lost = _spread_text(each.nearer, several), _spread_text(each.score_lost, several)
    cost = f"and its {title} is {'worse' if is_worse else 'better'} by {lost}"
    if is_nearer and is_worse:
        cost = f"for {lost} of {title}"
    return (
        f"Against {other}, the chosen tree is {'nearer' if is_nearer else 'further'} by "
        f"{distance} ({percent_text(abs(each.fraction))}), {cost}."
    )


def _spread_text(spread: Spread, several: bool) -> str:
    decimals = decimals_of_values(spread, digits=2)  # of differences, two digits tell enough
    mean = fixed_text(abs(spread.mean), decimals)
    return f"{mean} ± {fixed_text(spread.deviation, decimals)}" if several else mean


def _cell(rows: Sequence[_Row]) -> int:
    """The width that all columns of models have."""
    return max(len(text) for _, *row in rows for text in row)


def _width(rows: Sequence[_Row]) -> int:
    return max(len(label) for label, *_ in rows) + len(MODELS) * (_cell(rows) + 2)


def _caption(found: Replications, score: str) -> list[str]:
    n, distance_settings = found.n_replications, found.distance_settings
    return [
        f"{n} replications: mean ± standard deviation." if n > 1 else "1 replication.",
        f"Distances: label weight {distance_settings.label_weight:g}, depth {distance_settings.depth}, "
        f"{distance_settings.matching!r} matching.",
        *([f"Score: {found.metric.title}."] if score != found.metric.title else []),
        "",
    ]


def _line(found: Replications, name: str, label: str) -> _Line:
    cells = [getattr(row, name) for row in found.rows]
    pairs: list[Any] = [cell if isinstance(cell, Spread | None) else (cell, None) for cell in cells]
    if "score" in name:
        pairs = [pair and (found.metric.shown(pair[0]), pair[1]) for pair in pairs]
    are_counts = all(isinstance(cell, int) for cell in cells if cell is not None)
    decimals = 0 if are_counts else decimals_of_values((pair[0] for pair in pairs if pair), digits=3)
    several = found.n_replications > 1
    return _Line(
        label,
        [fixed_text(pair[0], decimals) if pair else "" for pair in pairs],
        [
            f"± {fixed_text(pair[1], decimals)}" if several and pair and pair[1] is not None else ""
            for pair in pairs
        ],
    )


def _side_by_side(line: _Line) -> _Row:
    pairs = zip(line.means, line.deviations, strict=True)
    return [line.label, *(f"{mean} {deviation}".rstrip() for mean, deviation in pairs)]


def _stacked(lines: Iterable[_Line]) -> list[_Row]:
    rows = []
    for line in lines:
        rows.append([line.label, *line.means])
        if any(line.deviations):
            rows.append(["", *line.deviations])
    return rows
