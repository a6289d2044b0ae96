"""The comparison as a table of text or HTML, and in a few sentences."""

from collections.abc import Iterable, Sequence
from math import isnan

import numpy as np

from holdfast._text import (
    decimals_of_errors,
    decimals_of_values,
    duration_text,
    fixed_text,
    join_parts,
    number_text,
    pluralize,
    printable,
)
from holdfast._view import Picture, TextTable, View, format_table
from holdfast.evaluate.compare import Differences, ModelComparison, nan_mean, nan_median
from holdfast.scoring.metric import Metric

MOST_READ = 40  # leaves of a readable tree
HUGE = 1e9  # scores from here on have three digits and a power of ten
WIDEST_REASON = 300  # letters; `failures` has all

_Grid = list[list[str]]  # lines of cells, the headings first


def comparison_text(comparison: ModelComparison, *, times: bool = True, width: int | None = None) -> str:
    """Format the tables, one line per model, the best first.

    If they are wider than `width`, times are left out, and other metrics stand below each other.
    """
    cells = comparison_cells(comparison)
    without = [line[:-2] for line in cells]
    parts = [format_table(cells if times and _fits(cells, width) else without)]
    if len(comparison.metrics) > 1:
        parts += _other_parts(other_cells(comparison), width)
    parts += [failure_text(comparison, name) for name in comparison.names]
    return "\n\n".join(filter(None, parts))


def comparison_view(comparison: ModelComparison) -> View:
    """Show the sentences, the picture, the tables and the notes."""
    baseline = f"to {printable(comparison.differences().baseline)}"
    meanings = {baseline: "difference of the scores on the same folds, with its standard error"}
    tables = [
        TextTable(cells[0], cells[1:], title=title, meanings=meanings, marked=[0] if number == 0 else ())
        for number, (title, cells) in enumerate(comparison_tables(comparison))
    ]
    failures = [failure_text(comparison, name) for name in comparison.names]
    return View(comparison.reading, Picture(comparison.to_svg), *tables, *failures, *comparison.notes)


def difference_text(differences: Differences) -> str:
    """Format a line per model: the mean difference to the baseline and its error."""
    decimals = _decimals(differences.mean, differences.error)
    lines = [["model", f"{_title(differences.metric)}, to {printable(differences.baseline)}", ""]]
    for place, name in enumerate(differences.names):
        cell = _difference_cell(differences, place, decimals)
        lines.append([printable(name), cell, _verdict(differences, place)])
    return format_table(lines)


def _verdict(differences: Differences, place: int) -> str:
    """Describe a difference that is within noise, or undecided."""
    if differences.names[place] == differences.baseline:
        return ""
    if differences.cannot_tell[place]:
        return "cannot tell"
    return "within noise" if differences.within_noise[place] else ""


# -- cells ------------------------------------------------------------------------------------------------


def comparison_tables(comparison: ModelComparison) -> list[tuple[str, _Grid]]:
    """Make title and cells of every table: scores and differences, other metrics, and the folds."""
    others = [("Other metrics", other_cells(comparison))] * (len(comparison.metrics) > 1)
    return [
        ("Scores and differences", comparison_cells(comparison)),
        *others,
        ("Fold by fold", _fold_cells(comparison)),
    ]


def _fold_cells(comparison: ModelComparison) -> _Grid:
    """The score of every model on every fold."""
    n_folds = len(comparison.folds)
    cells = [["model", *(f"fold {number + 1}" for number in range(n_folds))]]
    for place in comparison.order.tolist():
        scores = [comparison.metric.shown(float(score)) for score in comparison.scores[place]]
        texts = ["" if isnan(score) else fixed_text(score, 3) for score in scores]
        cells.append([printable(comparison.names[place]), *texts])
    return cells


def comparison_cells(comparison: ModelComparison) -> _Grid:
    """One line per model, the best first: score, difference, size and times."""
    differences = comparison.differences()
    decimals = _decimals(comparison.mean, comparison.error)
    heads = [
        "model",
        comparison.metric.title,
        f"to {printable(differences.baseline)}",
        "size",
        "fit",
        "predict",
    ]
    seconds = nan_median(comparison.fit_seconds), nan_median(comparison.predict_seconds)
    lines = [
        [
            printable(comparison.names[place]),
            _score_cell(comparison, place, decimals),
            _difference_cell(differences, place, decimals),
            _size_cell(comparison, place),
            *("" if isnan(each[place]) else duration_text(float(each[place])) for each in seconds),
        ]
        for place in comparison.order.tolist()
    ]
    return [heads, *lines]


def other_cells(comparison: ModelComparison) -> _Grid:
    """The metrics that do not decide."""
    others = [comparison.by(metric.name) for metric in comparison.metrics[1:]]
    decimals = [_decimals(other.mean, other.error) for other in others]
    lines = [
        [
            printable(comparison.names[place]),
            *(_score_cell(other, place, each) for other, each in zip(others, decimals, strict=True)),
        ]
        for place in comparison.order.tolist()
    ]
    return [["model", *(_title(other.metric) for other in others)], *lines]


def _other_parts(cells: _Grid, width: int | None) -> list[str]:
    """The metrics side by side, as many as fit."""
    start, parts = 1, []
    for end in range(2, len(cells[0]) + 1):
        is_last = end == len(cells[0])
        if is_last or not _fits(_change_columns(cells, start, end + 1), width):
            parts.append(format_table(_change_columns(cells, start, end)))
            start = end
    return parts


def _change_columns(cells: _Grid, start: int, end: int) -> _Grid:
    return [[line[0], *line[start:end]] for line in cells]


def _fits(cells: _Grid, width: int | None) -> bool:
    return width is None or max(map(len, format_table(cells).splitlines())) <= width


def _title(metric: Metric) -> str:
    return f"{metric.title} (lower is better)" if metric.is_loss else metric.title


def _score_cell(comparison: ModelComparison, place: int, decimals: int) -> str:
    mean, error = float(comparison.mean[place]), float(comparison.error[place])
    if isnan(mean):
        return "failed"
    text = _number(comparison.metric.shown(mean), decimals)
    alone = comparison.is_scored[0].sum() == 1 and comparison.row_errors is None
    return text if alone else f"{text} ± {_number(error, decimals)}"


def _difference_cell(differences: Differences, place: int, decimals: int) -> str:
    mean, error = float(differences.mean[place]), float(differences.error[place])
    if isnan(mean) or differences.names[place] == differences.baseline:
        return ""
    text = f"{_number(differences.metric.shown(mean), decimals, '+')}"
    return text if isnan(error) else f"{text} ± {_number(error, decimals)}"


def _size_cell(comparison: ModelComparison, place: int) -> str:
    leaves, trees = (float(nan_mean(each)[place]) for each in (comparison.leaves, comparison.trees))
    if not isnan(leaves):
        return pluralize(leaves, "leaf", "leaves")
    return "" if isnan(trees) else f"{trees:,.0f} trees"


def _decimals(values: Iterable[float], errors: Iterable[float]) -> int:
    """Choose decimals for two digits of the errors, or else for four digits of the values."""
    known = decimals_of_errors(errors)
    return decimals_of_values(values, digits=4, of_zero=3) if known is None else known


def _number(value: float, decimals: int, sign: str = "") -> str:
    return fixed_text(value, decimals, sign, huge=HUGE)


# -- failures ------------------------------------------------------------------------------------------------


def readable_tree(comparison: ModelComparison) -> int | None:
    """Find the best readable single tree, or None."""
    leaves = nan_mean(comparison.leaves)
    whole = [place for place in comparison.order.tolist() if not np.isnan(comparison.mean[place])]
    return next((place for place in whole if leaves[place] <= MOST_READ), None)


def failure_text(comparison: ModelComparison, name: str) -> str:
    """Describe the first failure of a model, and the number of folds on which it failed."""
    own = [failure for failure in comparison.failures if failure.model == name]
    if not own:
        return ""
    reason = printable(" ".join(own[0].reason.split()))
    short = reason if len(reason) <= WIDEST_REASON else f"{reason[:WIDEST_REASON]} ..."
    return f"{printable(name)} failed on {len(own)} of {len(comparison.folds)} folds: {short}"


# -- sentences --------------------------------------------------------------------------------------------


def comparison_sentences(comparison: ModelComparison) -> list[str]:
    """Describe the protocol, the models within noise of the best, readable trees, and what noise is."""
    whole = [place for place in comparison.order.tolist() if not np.isnan(comparison.mean[place])]
    n_scored = int(comparison.is_scored[0].sum())
    if len(whole) < 2:
        return [_folds_text(comparison), "One model only: there is nothing to compare it with."]
    if n_scored < 2:
        note = "A single fold gives no estimate of chance: hold rows out several times."
        return [_folds_text(comparison), note]
    differences = comparison.differences(comparison.best)
    within = [place for place in whole if differences.within_noise[place] or differences.cannot_tell[place]]
    return [
        _folds_text(comparison),
        _noise_text(differences, within),
        _readable_text(comparison, differences, whole, within),
        f"Noise is up to {differences.quantile:.1f} standard errors of a difference, corrected for the rows "
        "that the folds share.",
    ]


def _folds_text(comparison: ModelComparison) -> str:
    n_scored, n_rows = int(comparison.is_scored[0].sum()), len(comparison.folds[0].held_out)
    held_out = round(float(np.mean([fold.held_out.sum() for fold in comparison.folds])))
    title = comparison.metric.title + (", of which lower is better" if comparison.metric.is_loss else "")
    if len(comparison.folds) == 1:
        return f"By {title}, on the same {held_out:,} of {n_rows:,} rows, held out once."
    folds = f"{n_scored} of {len(comparison.folds)}" if n_scored < len(comparison.folds) else f"{n_scored}"
    return f"By {title}, over the same {folds} folds, each of about {held_out:,} rows held out."


def _noise_text(differences: Differences, within: Sequence[int]) -> str:
    """Describe the models that may be as good as the best."""
    best = printable(differences.baseline)
    noise = {
        printable(differences.names[place]): number_text(float(differences.noise[place]), 2)
        for place in within
        if differences.names[place] != differences.baseline
    }
    if not noise:
        return f"{best} is the best, by more than noise."
    if not any(differences.cannot_tell[place] for place in within):
        return f"Within noise of the best, {best}: {join_parts(_each(noise, 'up to {} may be chance'))}."
    return (
        f"{differences.n_folds} folds are too few to distinguish the best, {best}, from "
        f"{join_parts(_each(noise, 'less than {} may be chance'))}: hold rows out more often."
    )


def _each(noise: dict[str, str], template: str) -> list[str]:
    """Each model with its noise in brackets."""
    return [f"{name} ({template.format(number)})" for name, number in noise.items()]


def _readable_text(
    comparison: ModelComparison, differences: Differences, whole: Sequence[int], within: Sequence[int]
) -> str:
    """Describe the readable single trees among the best, or else the best of them."""
    leaves = nan_mean(comparison.leaves)
    small = [place for place in whole if leaves[place] <= MOST_READ]
    if good := [place for place in small if place in within]:
        trees = [f"{printable(comparison.names[place])} ({_size_cell(comparison, place)})" for place in good]
        kind = "a single tree" if len(good) == 1 else "single trees"
        return f"Readable among these: {join_parts(trees)}, {kind}."
    if not small:
        return f"None is a single tree of up to {MOST_READ} leaves, small enough to read."
    nearest = small[0]
    behind = number_text(-float(differences.mean[nearest]), 2)
    return (
        f"None of these is a readable tree; the best readable tree, "
        f"{printable(comparison.names[nearest])} ({_size_cell(comparison, nearest)}), is {behind} behind."
    )
