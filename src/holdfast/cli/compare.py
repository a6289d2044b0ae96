"""`holdfast compare`: single trees and ensembles on the same folds of a data file."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from holdfast._text import duration_text, pluralize, printable, quoted
from holdfast._version import __version__
from holdfast.cli.continued import continued
from holdfast.cli.options import CompareSettings
from holdfast.cli.words import heading, paragraph, plain_warnings, verbatim
from holdfast.data.read_options import is_parquet
from holdfast.data.schema import Target
from holdfast.data.table import Table
from holdfast.data.target import Task
from holdfast.data.write import write_file
from holdfast.errors import CacheWarning, DataError, DataWarning, ParameterError
from holdfast.evaluate.compare import ModelComparison, compare_models, make_metrics
from holdfast.evaluate.folds import SharedFolds, make_folds
from holdfast.evaluate.methods import (
    COMPARED_METHODS,
    METHOD_NAMES,
    METHODS,
    list_default_names,
    make_estimator,
)
from holdfast.growth.rules import GrowthRules
from holdfast.report.page import write_report
from holdfast.runs.dataset import Rows, read_rows
from holdfast.runs.files import timed, write_json
from holdfast.runs.folder import check_output
from holdfast.runs.settings import with_labels

# Models that choose by a score of their own: they get the one that they are compared by.
CHOOSING = [name for name, each in METHODS.items() if name == "pruned" or "StableTree" in each.estimator]


def run(
    data: Path, output: Path | None, settings: CompareSettings, console: Console, *, restart: bool = False
) -> None:
    """Compare as the settings say, print the table and how to read it, and write all figures to a file."""
    if output is not None:
        check_output_name(output, data)
    if settings.folds == 1 and settings.stage is None:
        raise ParameterError("--folds 1 goes with --stage only, to hold out the last: give at least 2.")
    wanted = wanted_models(settings.models)
    with plain_warnings():
        rows = read_rows(data, settings)
        table = rows.table(settings.task)
        if settings.models == ",".join(COMPARED_METHODS) and not table.schema.target.is_classes:
            wanted = list(list_default_names(wanted, "regression"))
        scoring = _scoring(settings.scoring)
        make_metrics(scoring, table)  # before any work, and before scikit-learn takes a second to import
        _check_baseline(settings.baseline, wanted)
        given = _given(settings, table.schema.target)
        models = models_of(wanted, table.schema.target, scoring, settings.random_state, given)
        _show_data(rows, table, _shared(rows, table, settings), console)
        _compile(models, console)
        with continued(output, console, restart=restart):
            comparison, seconds = timed(lambda: _compared(models, rows, table, scoring, settings, console))
            if output is not None:
                write_comparison(comparison, output, f"{rows.target}: models compared")
    heading(console, "The same folds for every model")
    show_comparison(comparison, console)
    paragraph(console, f"\nCompared in {duration_text(seconds)}.", style="dim")


def wanted_models(text: str) -> list[str]:
    """The models that the text names, each once; a ParameterError for an unknown one."""
    named = split_names(text)
    unknown = [name for name in named if name not in METHOD_NAMES]
    if unknown or not named:
        raise ParameterError(
            f"--models {text!r} names {quoted(unknown) or 'none'}: choose of {', '.join(METHOD_NAMES)}."
        )
    return named


def models_of(
    wanted: Sequence[str], target: Target, scoring: Any, seed: int, given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The models by the names that the table shows; what is `given` is set for all."""
    task: Task = "classification" if target.is_classes else "regression"
    first = scoring[0] if scoring else None
    models = {}
    for name in wanted:
        chooses = {"scoring": first} if name in CHOOSING else {}
        own = {**chooses, **_given_to(name, given or {}), "random_state": seed}
        models[METHODS[name].title] = make_estimator(name, task, **own)
    return models


def _given_to(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What is given as the parameters of the model: a stable tree tries leaf sizes, from the least on."""
    if METHODS[name].estimator != "StableTree" or "min_samples_leaf" not in given:
        return dict(given)
    others = {parameter: value for parameter, value in given.items() if parameter != "min_samples_leaf"}
    return {**others, "growth_rules": GrowthRules(min_samples_leaf=given["min_samples_leaf"])}


# -- what is asked for ------------------------------------------------------------------------------------


def check_output_name(output: Path, data: Path) -> None:
    """Raise a DataError unless the file can be written and is a table, JSON or a page by its name."""
    check_output(output, data)
    if output.suffix.lower() in (".json", ".html"):
        return
    try:
        is_parquet(output)
    except DataError as error:
        raise DataError(f"{str(error).removesuffix('.')}; in .json for JSON; in .html for a page.") from None


def _scoring(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def split_names(text: str | None) -> list[str]:
    """The names that a text lists, separated by commas, each once."""
    return list(dict.fromkeys(part.strip().lower() for part in (text or "").split(",") if part.strip()))


def _given(settings: CompareSettings, target: Target) -> dict[str, Any]:
    """The parameters of all models that the options spell out."""
    if settings.class_weight is not None and not target.is_classes:
        raise ParameterError(
            f"class_weight is for a target of classes, and {target.name!r} is a number: leave it out."
        )
    weight = with_labels({"class_weight": settings.class_weight}, target)["class_weight"]
    given = {"min_samples_leaf": settings.min_samples_leaf, "class_weight": weight}
    return {
        "custom_features": list(settings.question) or None,
        **{name: value for name, value in given.items() if value is not None},
    }


def _check_baseline(baseline: str | None, wanted: Sequence[str]) -> None:
    if baseline is not None and baseline not in wanted:
        raise ParameterError(f"--baseline {baseline} is none of the models compared: {', '.join(wanted)}.")


# -- the work ---------------------------------------------------------------------------------------------


def _shared(rows: Rows, table: Table, settings: CompareSettings) -> SharedFolds:
    """The folds that the models will share: what there is to say of them is said before the work."""
    return make_folds(
        table,
        settings.folds,
        stage=rows.stage,
        groups=rows.groups,
        strict_groups=settings.strict_groups,
        seed=settings.random_state,
    )


def _compared(
    models: dict[str, Any],
    rows: Rows,
    table: Table,
    scoring: list[str] | None,
    settings: CompareSettings,
    console: Console,
) -> ModelComparison:
    baseline = settings.baseline
    with warnings.catch_warnings():
        # Categories that a fold does not have would be named for every model and fold.
        warnings.simplefilter("ignore", DataWarning)
        return compare_models(
            models,
            rows.features,
            rows.frame.column(rows.target),
            cv=settings.folds,
            scoring=scoring,
            sample_weight=table.weight,
            groups=rows.groups,
            stage=rows.stage,
            strict_groups=settings.strict_groups,
            baseline=None if baseline is None else METHODS[baseline].title,
            on_error="skip",  # the others have taken their time, and the table says what is wrong
            n_jobs=settings.n_jobs,
            random_state=settings.random_state,
            verbose=True,
        )


def _compile(models: Mapping[str, Any], console: Console) -> None:
    """One small fit of every model, so that no time in the table is that of a compiler."""
    from sklearn.base import clone

    cells: list[list[Any]] = [[float(number), "a" if number % 3 else "b"] for number in range(12)]
    with console.status("Compiling the kernels, or loading them from disk"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", CacheWarning)
        for model in models.values():
            # What is known of the user's columns and classes says nothing of these.
            plain = {"n_estimators": 2, "custom_features": None, "class_weight": None, "scoring": None}
            small = {name: value for name, value in plain.items() if name in model.get_params()}
            is_number = model.__sklearn_tags__().estimator_type == "regressor"
            y: list[Any] = [float(number % 5) for number in range(12)] if is_number else list("ab" * 6)
            for bins in [{}, {"splits": "binned"}] if "splits" in model.get_params() else [{}]:
                clone(model).set_params(**small, **bins).fit(cells, y).predict(cells)


# -- what is shown ----------------------------------------------------------------------------------------


def _show_data(rows: Rows, table: Table, shared: SharedFolds, console: Console) -> None:
    target = table.schema.target
    kind = f"one of {len(target.classes)} classes" if target.is_classes else "a number"
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    grid.add_row("data", f"{pluralize(table.n_rows, 'row')}, {pluralize(table.n_features, 'feature')}")
    grid.add_row("target", Text(f"{printable(target.name)}: {kind}"))
    grid.add_row("folds", Text(_folds_text(rows, target, len(shared.folds))))
    for note in shared.notes:
        grid.add_row("groups", Text(note))
    console.print(grid)


def _folds_text(rows: Rows, target: Target, n_folds: int) -> str:
    if rows.stage is not None:
        n_stages = len(np.unique(rows.stage))
        pooled = f"; {n_stages} stages are pooled into {n_folds + 1}" if n_stages > n_folds + 1 else ""
        return f"{n_folds}, forward: each stage is predicted by models of all before it{pooled}"
    apart = "; rows of one group are never divided" if rows.groups is not None else ""
    evenly = "classes" if target.is_classes else "low and high values"
    return f"{n_folds} parts held out in turn, {evenly} divided evenly{apart}"


def show_comparison(comparison: ModelComparison, console: Console) -> None:
    """The table, and how to read it."""
    verbatim(console, comparison.text(width=console.width))
    paragraph(console, f"\n{comparison.reading}")


def write_comparison(comparison: ModelComparison, output: Path, title: str | None = None) -> None:
    """All figures in a file: one row per model, one object with them as JSON, or a page."""
    if output.suffix.lower() == ".html":
        write_report(comparison, output, title=title)
        return
    if output.suffix.lower() != ".json":
        write_file(comparison.columns(), output)
        return
    columns = comparison.columns()
    models = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
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
        "models": models,
        "reading": comparison.reading,
    }
    write_json(content, output)
