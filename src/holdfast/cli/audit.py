"""`holdfast audit`: every method trained again on samples of a data file."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from holdfast._text import duration_text, pluralize, quoted
from holdfast._version import __version__
from holdfast.cli.compare import check_output_name, split_names
from holdfast.cli.continued import continued
from holdfast.cli.options import AuditSettings
from holdfast.cli.words import paragraph, plain_warnings, verbatim
from holdfast.data.schema import Target
from holdfast.data.table import Table
from holdfast.data.target import Task
from holdfast.data.write import write_file
from holdfast.errors import DataWarning, ParameterError
from holdfast.evaluate.audit import RetrainAudit, retrain_audit
from holdfast.evaluate.methods import (
    AUDITED_METHODS,
    CHANGE_NAMES,
    check_name,
    list_default_names,
    make_estimator,
)
from holdfast.report.page import write_report
from holdfast.runs.dataset import Rows, read_rows
from holdfast.runs.files import timed, write_json


def run(
    data: Path, output: Path | None, settings: AuditSettings, console: Console, *, restart: bool = False
) -> None:
    """Audit as the settings say, print what was found, and write all figures to a file."""
    if output is not None:
        check_output_name(output, data)
    changes = split_names(settings.changes) or CHANGE_NAMES
    if unknown := [change for change in changes if change not in CHANGE_NAMES]:
        raise ParameterError(f"--changes names {quoted(unknown)}: choose of {', '.join(CHANGE_NAMES)}.")
    for name in split_names(settings.methods):  # before any work
        check_name(name)
    with plain_warnings():
        rows = read_rows(data, settings)
        table = rows.table(settings.task)
        size = f"{pluralize(table.n_rows, 'row')}, {pluralize(table.n_features, 'feature')}"
        paragraph(console, f"{size}; trained again {pluralize(settings.repeats, 'time')}.\n", style="dim")
        with continued(output, console, restart=restart):
            audit, seconds = timed(lambda: _audited(rows, table, changes, settings, console))
            if output is not None:
                write_audit(audit, output, f"{rows.target}: effect of retraining")
    verbatim(console, audit.text(width=console.width))
    paragraph(console, f"\nAudited in {duration_text(seconds)}.", style="dim")


def _audited(
    rows: Rows, table: Table, changes: Sequence[str], settings: AuditSettings, console: Console
) -> RetrainAudit:
    with warnings.catch_warnings():
        # Categories that a sample does not have would be named for every fit.
        warnings.simplefilter("ignore", DataWarning)
        return retrain_audit(
            _methods(settings, table.schema.target),
            rows.features,
            rows.frame.column(rows.target),
            changes=changes,
            n_repeats=settings.repeats,
            test_size=settings.test,
            groups=rows.groups,
            stage=rows.stage,
            sample_weight=table.weight,
            label_weight=settings.label_weight,
            n_jobs=settings.n_jobs,
            random_state=settings.random_state,
            verbose=True,
        )


def _methods(settings: AuditSettings, target: Target) -> Any:
    """The methods, made for the target and with the questions that they may ask."""
    task: Task = "classification" if target.is_classes else "regression"
    names = split_names(settings.methods) or list_default_names(AUDITED_METHODS, task)
    questions = list(settings.question) or None
    return {name: make_estimator(name, task, custom_features=questions) for name in names}


def write_audit(audit: RetrainAudit, output: Path, title: str | None = None) -> None:
    """All pairs in a file of data, all figures in JSON, or a page."""
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
            "pairs": list(audit.pairs),
        }
        write_json(content, output)
    else:
        write_file(audit.pairs.columns(), output)
