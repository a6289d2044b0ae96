"""`holdfast report`: a run folder, or a model file, becomes one page."""

from pathlib import Path
from typing import Any

import click

from holdfast.io.model_file import load_model
from holdfast.report.page import write_report
from holdfast.runs.folder import is_run, model_file
from holdfast.runs.run import Run, open_run


def run(model: Path, output: Path, **options: Any) -> None:
    """Write the page and its facts, and say where they are."""
    subject = open_run(model) if is_run(model) else load_model(model_file(model))
    write_report(subject, output, **options)
    click.echo(f"{output}  (and {output.with_suffix('.json').name}: what it says, for programs)")
    if isinstance(subject, Run) and subject.is_update:
        click.echo(f"It is about the model in use; {model / 'report.html'} is about the change.")
