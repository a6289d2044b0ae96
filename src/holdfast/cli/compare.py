"""`holdfast compare`: single trees and ensembles on the same folds of a data file."""

import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from holdfast._version import __version__
from holdfast.cli.continued import continued
from holdfast.cli.options import MODELS, CompareSettings
from holdfast.cli.words import heading, paragraph, plain_warnings, verbatim
from holdfast.comparison.compare import compare_models, metrics_of
from holdfast.comparison.division import SharedFolds, shared_folds
from holdfast.comparison.table import ModelComparison
from holdfast.data.files.filetype import is_parquet
from holdfast.data.files.writing import write_file
from holdfast.data.schema import Target
from holdfast.data.table import Table
from holdfast.errors import CacheWarning, DataError, DataWarning, ParameterError
from holdfast.growth.rules import C45, GrowthRules
from holdfast.runs.estimator import with_labels
from holdfast.runs.folder import check_output
from holdfast.runs.json_file import write_json
from holdfast.runs.notes import timed
from holdfast.runs.rows import Rows, read_rows
from holdfast.show.report.given import Given
from holdfast.show.report.write import page_of, write_page
from holdfast.text.lines import printable
from holdfast.text.lists import listed
from holdfast.text.numbers import counted, duration

TITLES = {"pruned": "pruned tree", "c4.5": "C4.5", "stable": "stable tree"}
# Where each model lives, what it is called there, and what is set apart from the defaults.
_KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "tree": ("tree", "Tree", {}),
    "pruned": ("tree", "Tree", {"size": "auto"}),
    "c4.5": ("tree", "Tree", {"growth_rules": C45}),
    "bagging": ("bagging", "Bagging", {}),
    "forest": ("forest", "Forest", {}),
    "boosting": ("boosting", "Boosting", {}),
    "stable": ("stable", "StableTree", {}),
}
CHOOSING = ("pruned", "stable")  # models that choose by a score of their own: by the one they are compared by


def run(
    data: Path, output: Path | None, settings: CompareSettings, console: Console, *, restart: bool = False
) -> None:
    """Compare as the settings say, print the table and how to read it, and write all figures to a file."""
    if output is not None:
        _check_name(output, data)
    if settings.folds == 1 and settings.stage is None:
        raise ParameterError("--folds 1 goes with --stage only, to hold out the last: give at least 2.")
    wanted = wanted_models(settings.models)
    with plain_warnings():
        rows = read_rows(data, settings)
        table = rows.table(settings.task)
        wanted = _fitting(wanted, table.schema.target, is_default=settings.models == ",".join(MODELS))
        scoring = _scoring(settings.scoring)
        metrics_of(scoring, table)  # before any work, and before scikit-learn takes a second to import
        _check_baseline(settings.baseline, wanted)
        given = _given(settings, table.schema.target)
        models = models_of(wanted, table.schema.target, scoring, settings.random_state, given)
        _show_data(rows, table, _shared(rows, table, settings), console)
        _compile(models, console)
        with continued(output, console, restart=restart):
            comparison, seconds = timed(lambda: _compared(models, rows, table, scoring, settings, console))
            if output is not None:
                write_comparison(comparison, output, Given(title=f"{rows.target}: models compared"))
    heading(console, "The same folds for every model")
    show_comparison(comparison, console)
    paragraph(console, f"\nCompared in {duration(seconds)}.", style="dim")


def wanted_models(text: str) -> list[str]:
    """The models that the text names, each once, in the order of all; a ParameterError for an unknown one."""
    named = [part.strip().lower() for part in text.split(",") if part.strip()]
    unknown = [name for name in named if name not in MODELS]
    if unknown or not named:
        raise ParameterError(
            f"--models {text!r} names {listed(unknown) or 'none'}: choose of {', '.join(MODELS)}."
        )
    return [name for name in MODELS if name in named]


def models_of(
    wanted: Sequence[str], target: Target, scoring: Any, seed: int, given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The models by the names that the table shows; what is `given` is set for all."""
    ending = "Classifier" if target.is_classes else "Regressor"
    first = scoring[0] if scoring else None
    models = {}
    for name in wanted:
        module, stem, settings = _KINDS[name]
        kind = getattr(import_module(f"holdfast.estimators.{module}"), stem + ending)
        chooses = {"scoring": first} if name in CHOOSING else {}
        set_for = {**settings, **chooses, **_given_to(name, given or {})}
        models[TITLES.get(name, name)] = kind(**set_for, random_state=seed)
    return models


def _given_to(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What is given as the parameters of the model: a stable tree tries leaf sizes, from the least on."""
    if name != "stable" or "min_samples_leaf" not in given:
        return dict(given)
    others = {parameter: value for parameter, value in given.items() if parameter != "min_samples_leaf"}
    return {**others, "growth_rules": GrowthRules(min_samples_leaf=given["min_samples_leaf"])}


# -- what is asked for ------------------------------------------------------------------------------------


def _check_name(output: Path, data: Path) -> None:
    check_output(output, data)
    if output.suffix.lower() in (".json", ".html"):
        return
    try:
        is_parquet(output)
    except DataError as error:
        raise DataError(f"{str(error).removesuffix('.')}; in .json for JSON; in .html for a page.") from None


def _scoring(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _given(settings: CompareSettings, target: Target) -> dict[str, Any]:
    """The parameters of all models that the options spell out."""
    if settings.class_weight is not None and not target.is_classes:
        raise ParameterError(
            f"class_weight is for a target of classes, and {target.name!r} is a number: leave it out."
        )
    weight = with_labels({"class_weight": settings.class_weight}, target)["class_weight"]
    given = {"min_samples_leaf": settings.min_samples_leaf, "class_weight": weight}
    return {
        "questions": list(settings.question) or None,
        **{name: value for name, value in given.items() if value is not None},
    }


def _fitting(wanted: list[str], target: Target, *, is_default: bool) -> list[str]:
    """The models that are made for such a target."""
    if target.is_classes or "c4.5" not in wanted:
        return wanted
    if not is_default:
        raise ParameterError(
            f"--models has c4.5, which is for classes, and the target {target.name!r} is a number: leave it "
            "out."
        )
    return [name for name in wanted if name != "c4.5"]


def _check_baseline(baseline: str | None, wanted: Sequence[str]) -> None:
    if baseline is not None and baseline not in wanted:
        raise ParameterError(f"--baseline {baseline} is none of the models compared: {', '.join(wanted)}.")


# -- the work ---------------------------------------------------------------------------------------------


def _shared(rows: Rows, table: Table, settings: CompareSettings) -> SharedFolds:
    """The folds that the models will share: what there is to say of them is said before the work."""
    return shared_folds(
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
            baseline=None if baseline is None else TITLES.get(baseline, baseline),
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
            plain = {"n_estimators": 2, "questions": None, "class_weight": None, "scoring": None}
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
    grid.add_row("data", f"{counted(table.n_rows, 'row')}, {counted(table.n_features, 'feature')}")
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


def write_comparison(comparison: ModelComparison, output: Path, given: Given | None = None) -> None:
    """All figures in a file: one row per model, one object with them as JSON, or a page."""
    if output.suffix.lower() == ".html":
        write_page(page_of(comparison, given), output)
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
