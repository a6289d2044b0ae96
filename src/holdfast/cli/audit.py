"""`holdfast audit`: measure how much the models of several methods change on retraining."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast._text import duration_text, pluralize, quoted
from holdfast._version import __version__
from holdfast.cli.compare import check_output_name, split_names
from holdfast.cli.console import continue_run, make_console, paragraph, plain_warnings, verbatim
from holdfast.cli.errors import check_exists
from holdfast.cli.options import (
    cell_options,
    cluster_option,
    column_options,
    output_option,
    restart_option,
    seed_and_jobs,
)
from holdfast.errors import DataWarning, ParameterError
from holdfast.evaluate.methods import (
    AUDITED_METHODS,
    CHANGE_NAMES,
    METHOD_NAMES,
    check_name,
    list_default_names,
    make_estimator,
)

if TYPE_CHECKING:
    from holdfast.data.target import Task
    from holdfast.evaluate.audit import RetrainAudit


@click.command("audit", context_settings={"show_default": True})
@click.argument("data", type=click.Path(path_type=Path))
@column_options(
    stage="Column of years, cohorts or sites in their order: models are trained up to one stage, then up to "
    "the next.",
    groups="Column of groups, such as patients, whose rows are kept together.",
)
@click.option(
    "--methods",
    metavar="NAMES",
    help=f"Methods, separated by commas: {', '.join(METHOD_NAMES)}.  [default: {', '.join(AUDITED_METHODS)}]",
)
@click.option(
    "--changes",
    metavar="NAMES",
    help=f"Changes, separated by commas: {', '.join(CHANGE_NAMES)}.  [default: all]",
)
@click.option("--repeats", type=click.IntRange(1), default=5, help="Number of random divisions of the rows.")
@click.option(
    "--test",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.3,
    help="Fraction of the rows that no model is trained on.",
)
@click.option(
    "--label-weight",
    type=click.FloatRange(0),
    default=10.0,
    help="Tree distance between two rules that differ in the class only.",
)
@seed_and_jobs("figures")
@cluster_option
@output_option("File for every pair (.csv, .parquet), for all figures (.json) or for a page (.html).")
@cell_options
@restart_option
def command(
    data: Path,
    output: Path | None,
    restart: bool,
    methods: str | None,
    changes: str | None,
    repeats: int,
    test: float,
    label_weight: float,
    random_state: int,
    n_jobs: int,
    **columns: Any,
) -> None:
    """Measure how much the models of several methods change when they are retrained on DATA (CSV or Parquet).

    Every method is trained on pairs of overlapping samples, and before and after small changes of a sample:
    fewer rows, another seed, a column of noise. The models of a pair are compared on rows that neither was
    trained on.
    """
    check_exists(data)
    if output is not None:
        check_output_name(output, data)
    chosen = split_names(changes) or CHANGE_NAMES
    if unknown := [change for change in chosen if change not in CHANGE_NAMES]:
        raise ParameterError(f"--changes names {quoted(unknown)}: choose from {', '.join(CHANGE_NAMES)}.")
    for name in split_names(methods):  # before any work
        check_name(name)
    from holdfast.evaluate.audit import retrain_audit
    from holdfast.runs.dataset import read_rows
    from holdfast.runs.files import timed
    from holdfast.runs.settings import DataSettings

    console, settings = make_console(), DataSettings(**columns)
    with plain_warnings():
        rows = read_rows(data, settings)
        table = rows.table(settings.task)
        task: Task = table.schema.target.task
        features = list(settings.custom_features) or None
        names = split_names(methods) or list_default_names(AUDITED_METHODS, task)
        estimators = {
            name: make_estimator(name, task, custom_features=features, **settings.hazard_options)
            for name in names
        }
        size = f"{pluralize(table.n_rows, 'row')}, {pluralize(table.n_features, 'feature')}"
        paragraph(console, f"{size}; {pluralize(repeats, 'random division')}.\n", style="dim")

        def run_audit() -> RetrainAudit:
            with warnings.catch_warnings():
                # Categories that a sample does not have would be named for every fit.
                warnings.simplefilter("ignore", DataWarning)
                return retrain_audit(
                    estimators,
                    rows.features,
                    rows.y,
                    changes=chosen,
                    n_repeats=repeats,
                    test_size=test,
                    horizon=settings.horizon,
                    groups=rows.groups,
                    stage=rows.stage,
                    sample_weight=table.weight,
                    label_weight=label_weight,
                    n_jobs=n_jobs,
                    random_state=random_state,
                    verbose=True,
                )

        with continue_run(output, console, restart=restart):
            audit, seconds = timed(run_audit)
            if output is not None:
                write_audit(audit, output, f"{rows.targets.name}: effect of retraining")
    verbatim(console, audit.text(width=console.width))
    paragraph(console, f"\nAudited in {duration_text(seconds)}.", style="dim")


def write_audit(audit: RetrainAudit, output: Path, title: str | None = None) -> None:
    """Write all pairs to a file of data, all figures as JSON, or a page."""
    from holdfast.data.write import write_file
    from holdfast.report.page import write_report
    from holdfast.runs.files import write_json

    ending = output.suffix.lower()
    if ending == ".html":
        write_report(audit, output, title=title)
    elif ending == ".json":
        content = {
            "holdfast": __version__,
            "summary": audit.summary,
            "label_weight": audit.label_weight,
            "repeats": audit.n_repeats,
            "test_size": audit.test_size,
            "table": list(audit.table),
            "paired": list(audit.paired),
            "firmness": list(audit.firmness),
            "pairs": list(audit.pairs),
        }
        write_json(content, output)
    else:
        write_file(audit.pairs.columns(), output)
