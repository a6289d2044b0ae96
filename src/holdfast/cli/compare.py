"""`holdfast compare`: single trees and ensembles on the same folds of a data file."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast._text import duration_text, pluralize, printable, quoted
from holdfast._version import __version__
from holdfast.cli.console import (
    COMPILING,
    continue_run,
    heading,
    make_console,
    paragraph,
    plain_warnings,
    verbatim,
)
from holdfast.cli.errors import check_exists
from holdfast.cli.options import (
    Text,
    cell_options,
    cluster_option,
    column_options,
    output_option,
    parse_class_weights,
    parse_leaf_size,
    restart_option,
    seed_and_jobs,
)
from holdfast.errors import CacheWarning, DataError, DataWarning, ParameterError
from holdfast.evaluate.methods import (
    COMPARED_METHODS,
    METHOD_NAMES,
    METHODS,
    list_default_names,
    make_estimator,
)
from holdfast.runs.folder import check_output

if TYPE_CHECKING:
    from rich.console import Console

    from holdfast.data.schema import Target
    from holdfast.data.table import Table
    from holdfast.data.target import Task
    from holdfast.evaluate.compare import ModelComparison
    from holdfast.runs.dataset import Rows


@click.command("compare", context_settings={"show_default": True})
@click.argument("data", type=click.Path(path_type=Path))
@column_options(
    stage="Column of years, cohorts or sites in their order: each stage is predicted by models trained on "
    "all earlier ones.",
    groups="Column of groups, such as patients: each is in one fold; with --stage, its earlier rows are used "
    "for training.",
)
@click.option(
    "--min-samples-leaf",
    metavar="ROWS",
    type=Text(parse_leaf_size),
    help="Fewest rows in a leaf: a number, or a fraction of all rows.",
)
@click.option(
    "--class-weight",
    metavar="WEIGHTS",
    type=Text(parse_class_weights),
    help="balanced, or weights of classes, such as died=5,lived=1.",
)
@click.option(
    "--scoring",
    metavar="METRICS",
    help="auc, accuracy, log_loss, ...; r2, absolute_error, ...; concordance, uno, ... of times to an event; "
    "separated by commas; the first decides.  [default: auc, r2, concordance]",
)
@click.option(
    "--models",
    metavar="NAMES",
    default=",".join(COMPARED_METHODS),
    help=f"Models to compare, separated by commas: {', '.join(METHOD_NAMES)}; c4.5 is for classes only.",
)
@click.option("--folds", type=click.IntRange(1), default=5, help="Number of folds.")
@click.option(
    "--strict-groups",
    is_flag=True,
    help="With --stage and --groups: do not train on earlier rows of held-out groups.",
)
@click.option(
    "--baseline",
    type=click.Choice(METHOD_NAMES, case_sensitive=False),
    help="Model that the others are compared with.  [default: the best]",
)
@seed_and_jobs("scores")
@cluster_option
@output_option("File for all figures (.csv, .parquet, .json) or for a page (.html).")
@cell_options
@restart_option
def command(
    data: Path,
    output: Path | None,
    restart: bool,
    min_samples_leaf: int | float | None,
    class_weight: Any,
    scoring: str | None,
    models: str,
    folds: int,
    strict_groups: bool,
    baseline: str | None,
    random_state: int,
    n_jobs: int,
    **columns: Any,
) -> None:
    """Compare models, single trees and ensembles, on the same folds of DATA (CSV or Parquet).

    In each fold, all models are trained on the same rows and scored on the same held-out rows. Differences
    between models are therefore estimated far more precisely than the scores themselves.
    """
    check_exists(data)
    if output is not None:
        check_output_name(output, data)
    if folds == 1 and columns["stage"] is None:
        raise ParameterError("--folds 1 goes with --stage only, to hold out the last: give at least 2.")
    names = split_names(models)
    if not names or (unknown := [name for name in names if name not in METHOD_NAMES]):
        which = quoted(unknown) if names else "none"
        raise ParameterError(f"--models {models!r} names {which}: choose from {', '.join(METHOD_NAMES)}.")
    if baseline is not None and baseline not in names:
        raise ParameterError(f"--baseline {baseline} is not among the compared models: {', '.join(names)}.")
    from holdfast.evaluate.compare import compare_models, make_metrics
    from holdfast.evaluate.folds import make_folds
    from holdfast.runs.dataset import read_rows
    from holdfast.runs.files import timed
    from holdfast.runs.settings import DataSettings

    console, settings = make_console(), DataSettings(**columns)
    with plain_warnings():
        rows = read_rows(data, settings)
        table = rows.table(settings.task)
        target = table.schema.target
        if models == ",".join(COMPARED_METHODS):
            names = list(list_default_names(names, target.task))
        metrics = None if scoring is None else [name.strip() for name in scoring.split(",") if name.strip()]
        make_metrics(metrics, table)  # before any work
        estimators = make_models(
            names,
            target,
            scoring=metrics[0] if metrics else None,
            min_samples_leaf=min_samples_leaf,
            class_weight=class_weight,
            custom_features=list(settings.custom_features) or None,
            random_state=random_state,
            **settings.hazard_options,
        )
        division: dict[str, Any] = {
            "stage": rows.stage,
            "groups": rows.groups,
            "strict_groups": strict_groups,
        }
        shared_folds, notes = make_folds(table, folds, **division, seed=random_state)
        _show_data(rows, table, len(shared_folds), notes, console)
        _compile(estimators, target.is_survival, console)

        def run_comparison() -> ModelComparison:
            with warnings.catch_warnings():
                # Categories that a fold does not have would be named for every model and fold.
                warnings.simplefilter("ignore", DataWarning)
                return compare_models(
                    estimators,
                    rows.features,
                    rows.y,
                    cv=folds,
                    horizon=settings.horizon,
                    scoring=metrics,
                    sample_weight=table.weight,
                    **division,
                    baseline=None if baseline is None else METHODS[baseline].title,
                    on_error="skip",  # the others have taken their time, and the table reports the error
                    n_jobs=n_jobs,
                    random_state=random_state,
                    verbose=True,
                )

        with continue_run(output, console, restart=restart):
            comparison, seconds = timed(run_comparison)
            if output is not None:
                write_comparison(comparison, output, f"{rows.targets.name}: models compared")
    heading(console, "The same folds for every model")
    verbatim(console, comparison.text(width=console.width))
    paragraph(console, f"\n{comparison.reading}")
    paragraph(console, f"\nCompared in {duration_text(seconds)}.", style="dim")


# -- options (audit and stages check names by the same functions) -----------------------------------------


def check_output_name(output: Path, data: Path, others: Mapping[str, str] | None = None) -> None:
    """Raise a DataError unless the file can be written, and its name is that of a known format."""
    from holdfast.data.read_options import is_parquet

    kinds = {".json": "for JSON", ".html": "for a page", **(others or {})}
    check_output(output, data)
    if output.suffix.lower() in kinds:
        return
    try:
        is_parquet(output)
    except DataError as error:
        ways = "; ".join(f"in {ending} {kind}" for ending, kind in kinds.items())
        raise DataError(f"{str(error).removesuffix('.')}; {ways}.") from None


def split_names(text: str | None) -> list[str]:
    """Split names at commas, and keep each once."""
    return list(dict.fromkeys(part.strip().lower() for part in (text or "").split(",") if part.strip()))


def make_models(
    names: Sequence[str],
    target: Target,
    *,
    scoring: str | None = None,
    min_samples_leaf: int | float | None = None,
    class_weight: Any = None,
    **parameters: Any,
) -> dict[str, Any]:
    """Make the models for the target, by the names that the table shows."""
    from holdfast.growth.rules import GrowthRules
    from holdfast.runs.settings import with_labels

    if class_weight is not None:
        if not target.is_classes:
            raise ParameterError(
                f"class_weight is for a target of classes, and {target.name!r} is not: leave it out."
            )
        parameters |= with_labels({"class_weight": class_weight}, target)
    task: Task = target.task
    models = {}
    for name in names:
        method, own = METHODS[name], dict(parameters)
        if name == "pruned" or "StableTree" in method.estimator:  # they choose by the first metric
            own["scoring"] = scoring
        if min_samples_leaf is not None and method.estimator == "StableTree":  # it tries larger leaves, too
            own["growth_rules"] = GrowthRules(min_samples_leaf=min_samples_leaf)
        elif min_samples_leaf is not None:
            own["min_samples_leaf"] = min_samples_leaf
        models[method.title] = make_estimator(name, task, **own)
    return models


# -- the work ---------------------------------------------------------------------------------------------


def _show_data(rows: Rows, table: Table, n_folds: int, notes: Sequence[str], console: Console) -> None:
    import numpy as np
    from rich.table import Table as Grid
    from rich.text import Text as RichText

    target = table.schema.target
    kind = f"one of {len(target.classes)} classes" if target.is_classes else "a number"
    if table.survival is not None:
        kind = f"a time to an event, with {pluralize(int(table.survival.event.sum()), 'event')}"
    if rows.stage is not None:
        n_stages = len(np.unique(rows.stage))
        pooled = f"; {n_stages} stages are pooled into {n_folds + 1}" if n_stages > n_folds + 1 else ""
        folds = f"{n_folds}, forward: each stage is predicted by models of all before it{pooled}"
    else:
        by = "event" if target.is_survival else "class" if target.is_classes else "value"
        groups = "; groups are kept together" if rows.groups is not None else ""
        folds = f"{n_folds}, stratified by {by}{groups}"
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    grid.add_row("data", f"{pluralize(table.n_rows, 'row')}, {pluralize(table.n_features, 'feature')}")
    grid.add_row("target", RichText(f"{printable(target.name)}: {kind}"))
    grid.add_row("folds", RichText(folds))
    for note in notes:
        grid.add_row("groups", RichText(note))
    console.print(grid)


def _compile(models: Mapping[str, Any], is_survival: bool, console: Console) -> None:
    """Fit every model to a few rows, so that no time in the table includes compiling."""
    from sklearn.base import clone

    cells: list[list[Any]] = [[float(number), "a" if number % 3 else "b"] for number in range(12)]
    # Parameters on columns and classes of the user's data do not fit these rows.
    plain = {"n_estimators": 2, "custom_features": None, "class_weight": None, "scoring": None}
    with console.status(COMPILING), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", CacheWarning)
        for model in models.values():
            parameters = model.get_params()
            small = {name: value for name, value in plain.items() if name in parameters}
            kind = model.__sklearn_tags__().estimator_type
            y: Any = [float(number % 5) for number in range(12)] if kind == "regressor" else list("ab" * 6)
            if is_survival:
                y = [float(number + 1) for number in range(12)], [number % 3 > 0 for number in range(12)]
            for bins in [{}, {"splits": "binned"}] if "splits" in parameters else [{}]:
                clone(model).set_params(**small, **bins).fit(cells, y).predict(cells)


def write_comparison(comparison: ModelComparison, output: Path, title: str | None = None) -> None:
    """Write one row per model to a file of data, all figures as JSON, or a page."""
    from holdfast.data.write import write_file
    from holdfast.report.page import write_report
    from holdfast.runs.files import write_json

    if output.suffix.lower() == ".html":
        write_report(comparison, output, title=title)
        return
    columns = comparison.columns()
    if output.suffix.lower() != ".json":
        write_file(columns, output)
        return
    content = {
        "holdfast": __version__,
        "metrics": [
            {"name": each.name, "title": each.title, "loss": each.is_loss} for each in comparison.metrics
        ],
        "baseline": comparison.baseline,
        "folds": [
            {"training_rows": int(fold.times.sum()), "held_out_rows": int(fold.held_out.sum())}
            for fold in comparison.folds
        ],
        "notes": list(comparison.notes),
        "models": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        "reading": comparison.reading,
    }
    write_json(content, output)
