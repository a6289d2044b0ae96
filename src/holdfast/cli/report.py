"""`holdfast report`: a run folder, or a model file, becomes one page."""

from pathlib import Path
from typing import Any

import click

from holdfast.errors import DataError
from holdfast.runs.folder import model_file, unfinished
from holdfast.runs.run import open_run
from holdfast.show.report.write import write_report
from holdfast.storage.model_file import load_model


def run(model: Path, output: Path, **options: Any) -> None:
    """Write the page and its facts, and say where they are."""
    write_report(_subject(model), output, **options)
    click.echo(f"{output}  (and {output.with_suffix('.json').name}: what it says, for programs)")


def _subject(path: Path) -> Any:
    """The run in a folder, or the model in a file."""
    is_run = (unfinished(path) / "summary.json").is_file()
    if not is_run and path.is_dir() and (path / "update.json").is_file():
        raise DataError(
            f"'{path}' holds an update, whose page is written with it: open '{path / 'report.html'}'. For a "
            f"page on the model alone, name its file: '{path / 'model.json'}'."
        )
    return open_run(path) if is_run else load_model(model_file(path))
