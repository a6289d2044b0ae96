"""The replications as a table of text: one line per figure, one column per model."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from holdfast.evidence.replication_table import MODELS, Replications, Spread
from holdfast.text.numbers import decimals_of_values, fixed_text
from holdfast.text.table import table_lines

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
    "frontier_size": "trees on the frontier",
    "between": "between replications",
    "importance_spread": "spread of importances",
    "first_features": "features asked first",
    "first_two_levels": "  in two levels",
}
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
    return "\n".join([*_caption(found, title), *table_lines(rows, widths=widths, gap=gap)])


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
