"""`holdfast compare`: single trees and ensembles on the same folds of a data file."""

import json
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text
from sklearn.base import clone

from holdfast._version import __version__
from holdfast.cli.fit import columns_of
from holdfast.cli.options import MODELS
from holdfast.cli.run_folder import check_output
from holdfast.cli.source import Rows, read_rows
from holdfast.cli.summary import finite
from holdfast.cli.words import counted, duration, heading, paragraph, plain_warnings, timed, verbatim
from holdfast.comparison.compare import compare_models, metrics_of
from holdfast.comparison.table import ModelComparison
from holdfast.data.filetype import is_parquet
from holdfast.data.schema import Target
from holdfast.data.table import Table
from holdfast.data.wording import listed
from holdfast.data.writing import write_file
from holdfast.errors import CacheWarning, DataWarning, RulesError
from holdfast.files import replace_file
from holdfast.growth.rules import C45
from holdfast.tree.wording import printable

TITLES = {"pruned": "pruned tree", "c4.5": "C4.5", "stable": "stable tree"}
# Where each model lives, what it is called there, and what is set apart from the defaults.
_KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "tree": ("tree", "Tree", {}),
    "pruned": ("tree", "Tree", {"ccp_alpha": "cv"}),
    "c4.5": ("tree", "Tree", {"growth_rules": C45}),
    "bagging": ("bagging", "Bagging", {}),
    "forest": ("forest", "Forest", {}),
    "boosting": ("boosting", "Boosting", {}),
    "stable": ("stable", "StableTree", {}),
}
CHOOSING = ("pruned", "stable")  # models that choose by a score of their own: by the one they are compared by


def run(data: Path, output: Path | None, options: Mapping[str, Any], console: Console) -> None:
    """Compare as the options say, print the table and how to read it, and write all figures to the output."""
    if output is not None:
        _check_name(output, data)
    if options["folds"] == 1 and options["stage"] is None:
        raise RulesError("--folds 1 goes with --stage only, to hold out the last: give at least 2.")
    wanted = wanted_models(options["models"])
    with plain_warnings():
        rows = read_rows(data, columns_of(options))
        table = rows.table(options["task"])
        wanted = _fitting(wanted, table.schema.target, is_default=options["models"] == ",".join(MODELS))
        scoring = _scoring(options["scoring"])
        metrics_of(scoring, table)  # before any work
        models = models_of(wanted, table.schema.target, scoring, options["seed"])
        _check_baseline(options["baseline"], wanted)
        _show_data(rows, table, options, console)
        _compile(models, console)
        comparison, seconds = timed(lambda: _compared(models, rows, table, scoring, options, console))
    heading(console, "The same folds for every model")
    show_comparison(comparison, console)
    paragraph(console, f"\nCompared in {duration(seconds)}.", style="dim")
    if output is not None:
        write_comparison(comparison, output)


def wanted_models(text: str) -> list[str]:
    """The models that the text names, each once, in the order of all; a RulesError for an unknown one."""
    named = [part.strip().lower() for part in text.split(",") if part.strip()]
    unknown = [name for name in named if name not in MODELS]
    if unknown or not named:
        raise RulesError(
            f"--models {text!r} names {listed(unknown) or 'none'}: choose of {', '.join(MODELS)}."
        )
    return [name for name in MODELS if name in named]


def models_of(wanted: Sequence[str], target: Target, scoring: Any, seed: int) -> dict[str, Any]:
    """The models by the names that the table shows."""
    ending = "Classifier" if target.is_classes else "Regressor"
    first = scoring[0] if scoring else None
    models = {}
    for name in wanted:
        module, stem, settings = _KINDS[name]
        kind = getattr(import_module(f"holdfast.estimators.{module}"), stem + ending)
        chooses = {"scoring": first} if name in CHOOSING else {}
        models[TITLES.get(name, name)] = kind(**settings, **chooses, random_state=seed)
    return models


# -- what is asked for ------------------------------------------------------------------------------------


def _check_name(output: Path, data: Path) -> None:
    check_output(output, data)
    if output.suffix.lower() != ".json":
        is_parquet(output)  # which refuses a name that says nothing, before any work


def _scoring(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _fitting(wanted: list[str], target: Target, *, is_default: bool) -> list[str]:
    """The models that are made for such a target."""
    if target.is_classes or "c4.5" not in wanted:
        return wanted
    if not is_default:
        raise RulesError(
            f"--models has c4.5, which is for classes, and the target {target.name!r} is a number: leave it "
            "out."
        )
    return [name for name in wanted if name != "c4.5"]


def _check_baseline(baseline: str | None, wanted: Sequence[str]) -> None:
    if baseline is not None and baseline not in wanted:
        raise RulesError(f"--baseline {baseline} is none of the models compared: {', '.join(wanted)}.")


# -- the work ---------------------------------------------------------------------------------------------


def _compared(
    models: dict[str, Any],
    rows: Rows,
    table: Table,
    scoring: list[str] | None,
    options: Mapping[str, Any],
    console: Console,
) -> ModelComparison:
    baseline = options["baseline"]
    with warnings.catch_warnings():
        # Categories that a fold does not have would be named for every model and fold.
        warnings.simplefilter("ignore", DataWarning)
        return compare_models(
            models,
            rows.features,
            rows.frame.column(rows.target),
            cv=options["folds"],
            scoring=scoring,
            sample_weight=table.weight,
            groups=rows.groups,
            stage=rows.stage,
            baseline=None if baseline is None else TITLES.get(baseline, baseline),
            on_error="skip",  # the others have taken their time, and the table says what is wrong
            n_jobs=options["jobs"],
            seed=options["seed"],
            progress=console.is_terminal,
        )


def _compile(models: Mapping[str, Any], console: Console) -> None:
    """One small fit of every model, so that no time in the table is that of a compiler."""
    cells: list[list[Any]] = [[float(number), "a" if number % 3 else "b"] for number in range(12)]
    with console.status("Compiling the kernels, or loading them from disk"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", CacheWarning)
        for model in models.values():
            small = {name: 2 for name in ("n_trees", "n_estimators") if name in model.get_params()}
            is_number = model.__sklearn_tags__().estimator_type == "regressor"
            y: list[Any] = [float(number % 5) for number in range(12)] if is_number else list("ab" * 6)
            for bins in [{}, {"splits": "binned"}] if "splits" in model.get_params() else [{}]:
                clone(model).set_params(**small, **bins).fit(cells, y).predict(cells)


# -- what is shown ----------------------------------------------------------------------------------------


def _show_data(rows: Rows, table: Table, options: Mapping[str, Any], console: Console) -> None:
    target = table.schema.target
    kind = f"one of {len(target.classes)} classes" if target.is_classes else "a number"
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    grid.add_row("data", f"{counted(table.n_rows, 'row')}, {counted(table.n_features, 'feature')}")
    grid.add_row("target", Text(f"{printable(target.name)}: {kind}"))
    grid.add_row("folds", Text(_folds_text(rows, target, options["folds"])))
    console.print(grid)


def _folds_text(rows: Rows, target: Target, n_folds: int) -> str:
    apart = "; rows of one group are never divided" if rows.groups is not None else ""
    if rows.stage is not None:
        return f"up to {n_folds}, forward: each stage is predicted by models of all before it{apart}"
    evenly = "classes" if target.is_classes else "low and high values"
    return f"{n_folds} parts held out in turn, {evenly} divided evenly{apart}"


def show_comparison(comparison: ModelComparison, console: Console) -> None:
    """The table, and how to read it."""
    verbatim(console, comparison.text())
    paragraph(console, f"\n{comparison.reading}")


def write_comparison(comparison: ModelComparison, output: Path) -> None:
    """All figures in a file: one row per model, or, as JSON, one object with them."""
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
            {"training_rows": int(fold.training.sum()), "held_out_rows": int(fold.held_out.sum())}
            for fold in comparison.folds
        ],
        "models": models,
        "reading": comparison.reading,
    }
    text = json.dumps(finite(content), indent=2, ensure_ascii=False, allow_nan=False)
    replace_file(output, f"{text}\n".encode())
