"""An audit of retraining in sentences, tables of text, and HTML."""

from collections.abc import Iterable, Iterator
from math import isnan

import numpy as np

from holdfast._text import (
    NO_BREAK,
    count_text,
    decimals_of_values,
    duration_text,
    fixed_text,
    percent_text,
    printable,
    wrap_lines,
)
from holdfast._view import Picture, Section, TextTable, View
from holdfast.data.schema import Target
from holdfast.data.survival import name_survival
from holdfast.evaluate.audit import ChangingRows, Record, RetrainAudit
from holdfast.evaluate.measures import Measure
from holdfast.evaluate.methods import SMALL_CHANGES

WIDTH = 100  # columns of sentences
WITH_ERRORS = ("auc", "r2", "concordance", "distance", "churn")
LEFT_OUT = ("log_loss", "brier", "same_rules")  # of the tables in words; `table` has all
SPARE = ("per leaf", "rank", "negative", "seconds", "identical")  # what a narrow table does without, in turn
_Grid = list[list[str]]  # lines of cells, the headings first

_CAPTIONS = {
    "overlap": "Two samples of 75 % of the training rows, which share 50 %",
    "fewer rows": "2 % of the rows left out",
    "another seed": "Another seed",
    "noise column": "A further column of noise",
    "columns permuted": "The columns in another order",
    "last digit": "Every number moved by at most half of its last digit",
}


def audit_summary(audit: RetrainAudit) -> str:
    """Summarise the fraction of rows that change, by method, the most stable first, and the protocol."""
    measure = "flips" if audit.target.is_classes else "churn"
    known = [name for name in audit.methods if not isnan(audit.mean(name, measure))]
    order = sorted(known, key=lambda name: audit.mean(name, measure))
    finding = "No method predicts survival"
    if order:
        first, *others = ((printable(name), _percent_text(audit, name, measure)) for name in order)
        rest = "".join(f"; {title} {figure}" for title, figure in others)
        finding = f"Retrained, {first[0]} changes {_describe_change(audit.target, first[1])}{rest}"
    times = "once" if audit.n_repeats == 1 else f"{audit.n_repeats} times"
    return (
        f"{finding}. "
        f"({_caption(audit, audit.changes[0])}; tested {times} on {100 * audit.test_size:.0f} % of the rows, "
        "untouched.)"
    )


def _describe_change(target: Target, figure: str) -> str:
    """Describe what changes by this figure."""
    if target.is_classes:
        return f"the class of {figure} of the rows"
    if target.hazard is not None:
        return f"its predicted {name_survival(target.hazard)} by {figure} on average"
    return f"its predictions by {figure} of the standard deviation of the target"


def _percent_text(audit: RetrainAudit, method: str, measure: str) -> str:
    """Format a figure in percent, with its standard error if there are several repetitions."""
    mean, error = audit.mean(method, measure), audit.error(method, measure)
    text = percent_text(mean) if isnan(error) else f"{100 * mean:.1f} ± {100 * error:.1f} %"
    return _in_points(text) if audit.target.is_survival else text


def _in_points(text: str) -> str:
    """Name the unit of a difference of survival, which is itself in percent."""
    return text.replace(" %", " points")


def audit_text(audit: RetrainAudit, *, times: bool = True, width: int | None = None) -> str:
    """Format the summary, the tables, and the rows that change.

    Columns that do not fit into the `width` are left out.
    """
    widest = WIDTH if width is None else min(width, WIDTH)
    parts, headings = [_paragraph(audit.summary, widest)], []
    for title, grid in audit_tables(audit, times):
        spare = [each for each in SPARE if each in grid[0]] if width is not None else []
        shown = TextTable(grid[0], grid[1:]).fit_width(width or 0, spare)
        headings += [*shown.headings, title.removeprefix("Small changes: ").removesuffix(" models")]
        parts.append(f"{title}\n{shown.to_text()}")
    parts += [_paragraph(audit_legend(audit, headings), widest), changing_rows_text(audit.rows, widest)]
    return "\n\n".join(parts)


def _paragraph(text: str, width: int) -> str:
    """Wrap sentences without a percent sign at the start of a line."""
    return "\n".join(wrap_lines(text.replace(" %", f"{NO_BREAK}%"), width))


def audit_view(audit: RetrainAudit) -> View:
    """Show the summary, the picture, the tables, and the rows that change."""
    tables = [TextTable(cells[0], cells[1:], title=title) for title, cells in audit_tables(audit)]
    rows = [
        Section(f"Rows whose prediction changes: {name}", lines)
        for name, lines in list_changing_groups(audit.rows)
    ]
    return View(audit.summary, Picture(audit.to_svg), *tables, audit_legend(audit), *rows)


def _caption(audit: RetrainAudit, change: str) -> str:
    if change != "staged":
        return _CAPTIONS.get(change, change)
    n_parts = len({each["part"] for each in audit.pairs.where(change="staged")})
    return "Half of the training rows, then all" if n_parts == 1 else "All rows up to a stage, then the next"


def audit_legend(audit: RetrainAudit, headings: Iterable[str] | None = None) -> str:
    """Explain the methods, and the columns with these headings, or all."""
    names = {printable(name): printable(title) for name, title in audit.titles.items() if name != title}
    moved = (
        "probabilities" if audit.target.is_classes else "predictions, in standard deviations of the target"
    )
    ranked, unit = "predictions", "in standard deviations"
    if audit.target.hazard is not None:
        moved = f"predicted {name_survival(audit.target.hazard)}, from 0 to 1"
        ranked, unit = "risks, with ties (tau-b)", "from 0 to 1"
    meanings = {
        **names,
        "distance": f"between the trees, label weight {audit.label_weight:g}",
        "churn": f"mean change of the {moved}",
        "flips": "rows whose class changes",
        "negative": "rows that were right and become wrong",
        "leaves": "leaves of a tree, on average",
        "rank": f"Kendall's tau of the {ranked}",
        "same root": "pairs of trees whose first split is on the same feature",
        "identical": "nothing changed",
        "trees that agree": "share of trees trained on resampled data that agree with the decision",
        "width of the interval": f"of nine of ten trees trained on resampled data, {unit}",
    }
    shown = (
        set(headings)
        if headings is not None
        else {each for _, grid in audit_tables(audit) for each in grid[0]}
    )
    parts = [f"{name}: {what}" for name, what in meanings.items() if name in names or name in shown]
    errors = [] if audit.n_repeats == 1 else ["± standard errors over the repetitions"]
    return "; ".join([*parts, *errors]) + "."


# -- tables -----------------------------------------------------------------------------------------------


def audit_tables(audit: RetrainAudit, times: bool = True) -> list[tuple[str, _Grid]]:
    """Make a title and a table for each change; small changes share tables."""
    large = [change for change in audit.changes if change not in SMALL_CHANGES]
    small = [change for change in audit.changes if change in SMALL_CHANGES]
    if len(small) == 1:
        large, small = [*large, *small], []
    grids = [(_caption(audit, change), _grid(audit, change, times)) for change in large]
    if len(audit.methods) > 1 and audit.n_repeats > 1:
        first = printable(audit.methods[0])
        title = f"Differences to {first} on the same samples ({audit.changes[0]})"
        grids.insert(1, (title, _paired_grid(audit)))
    if audit.firmness:
        title = f"Is firmness reliable? What changes, by the {_firmness_words(audit)[0]}"
        grids.append((f"{title} ({audit.changes[0]})", _firmness_grid(audit)))
    for name, title in (("distance", "distance"), ("churn", "churn"), ("identical", "identical models")):
        if small:
            grids.append((f"Small changes: {title}", _small_grid(audit, small, name)))
    return grids


def _grid(audit: RetrainAudit, change: str, times: bool) -> _Grid:
    records = list(audit.table.where(change=change))
    shown = [each for each in audit.measures if each.name not in LEFT_OUT]
    shown = [each for each in shown if times or each.name != "seconds"]
    columns = [_column(measure, records) for measure in shown]
    names = [printable(name) for name in audit.methods]
    return [
        ["method", *(measure.title for measure in shown)],
        *([name, *cells] for name, *cells in zip(names, *columns, strict=True)),
    ]


def _paired_grid(audit: RetrainAudit) -> _Grid:
    """Tabulate differences to the first method under the first change, with paired standard errors."""
    shown = [measure for measure in audit.measures if measure.name in (*WITH_ERRORS, "flips")]
    columns = []
    for measure in shown:
        records = list(audit.paired.where(change=audit.changes[0], measure=measure.name))
        decimals = _decimals(measure, [record["difference"] for record in records])
        columns.append([_difference_text(record, decimals) for record in records])
    names = [printable(name) for name in audit.methods[1:]]
    return [
        ["method", *(measure.title for measure in shown)],
        *([name, *cells] for name, *cells in zip(names, *columns, strict=True)),
    ]


def _firmness_words(audit: RetrainAudit) -> tuple[str, str]:
    """Describe the level of firmness, and what changes."""
    if audit.target.is_classes:
        return "trees that agree", "class changes"
    return "width of the interval", "change"


def _firmness_grid(audit: RetrainAudit) -> _Grid:
    """Tabulate for each method and level of firmness the rows, and what changes of them."""
    rows = []
    for record in audit.firmness:
        error = "" if isnan(record["changed_error"]) else f" ± {percent_text(record['changed_error'])}"
        changed = "" if isnan(record["changed"]) else f"{percent_text(record['changed'])}{error}"
        changed = _in_points(changed.replace(" % ±", " ±")) if audit.target.is_survival else changed
        cells = (printable(record["method"]), record["level"], percent_text(record["rows"]), changed)
        rows.append([*cells])
    level, changed = _firmness_words(audit)
    return [["method", level, "rows", changed], *rows]


def _difference_text(record: Record, decimals: int) -> str:
    if isnan(record["difference"]):
        return ""
    return f"{fixed_text(record['difference'], decimals, '+')} ± {fixed_text(record['error'], decimals)}"


def _small_grid(audit: RetrainAudit, changes: list[str], measure_name: str) -> _Grid:
    measure = next(each for each in audit.measures if each.name == measure_name)
    by_change = [list(audit.table.where(change=change)) for change in changes]
    flat = _column(measure, [record for records in by_change for record in records], errors=False)
    rows = np.array(flat, object).reshape(len(changes), -1).T.tolist()
    names = [printable(name) for name in audit.methods]
    return [["method", *changes], *([name, *cells] for name, cells in zip(names, rows, strict=True))]


def _column(measure: Measure, records: list[Record], *, errors: bool = True) -> list[str]:
    """Format the cells of one measure, with equal decimals."""
    means = [record[measure.name] for record in records]
    decimals = _decimals(measure, means)
    cells = []
    for record, mean in zip(records, means, strict=True):
        error = record[f"{measure.name}_error"]
        text = "" if isnan(mean) else _cell(measure, mean, decimals)
        if text and errors and measure.name in WITH_ERRORS and not isnan(error):
            text += f" ± {fixed_text(error, decimals)}"
        cells.append(text)
    return cells


def _cell(measure: Measure, value: float, decimals: int) -> str:
    if measure.is_fraction:
        return percent_text(value)
    return duration_text(value) if measure.name == "seconds" else fixed_text(value, decimals)


def _decimals(measure: Measure, values: list[float]) -> int:
    if measure.name in ("distance", "leaves", "distance_per_leaf"):
        return min(2, decimals_of_values(values, digits=3, of_zero=1))
    return 3


# -- the rows that change -----------------------------------------------------------------------------------


def changing_rows_text(rows: ChangingRows, width: int = WIDTH) -> str:
    """List for each method groups of rows and their changes, the largest first."""
    lines = ["Rows whose predictions change when the method is retrained:"]
    for name, groups in list_changing_groups(rows):
        lines.append(name)
        for group in groups:
            lines += wrap_lines(group.replace(" %", f"{NO_BREAK}%"), width, "  ", "      ")
    return "\n".join(lines)


def list_changing_groups(rows: ChangingRows) -> Iterator[tuple[str, list[str]]]:
    """List each method with groups of rows and their changes, the largest first."""
    from holdfast.tree.rules_text import FULL_LIST, leaf_conditions

    for name, tree in rows.trees.items():
        conditions = leaf_conditions(tree, most=FULL_LIST)
        leaves = sorted(conditions, key=lambda leaf: -float(tree.value[leaf, 0]))
        yield (
            printable(name),
            [
                f"{' and '.join(conditions[leaf]) or 'all rows'}: "
                f"{_change_text(rows, float(tree.value[leaf, 0]))} ({count_text(tree.count[leaf])} rows)"
                for leaf in leaves
            ],
        )


def _change_text(rows: ChangingRows, moved: float) -> str:
    if rows.is_classes:
        return f"{percent_text(moved)} change class"
    if rows.table.survival is not None:
        return f"predicted survival changes by {_in_points(percent_text(moved))} on average"
    return f"predictions change by {percent_text(moved)} of the standard deviation"
