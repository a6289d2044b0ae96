"""`holdfast report`: a run folder, or a model file, becomes one page."""

from pathlib import Path
from typing import Any

import click

from holdfast.errors import DataError, ParameterError
from holdfast.runs.folder import model_file, unfinished
from holdfast.runs.run import Run, open_run
from holdfast.show.report.write import write_report
from holdfast.storage.model_file import load_model
from holdfast.tree.wording import class_names


def run(model: Path, output: Path, *, positive: str | None = None, **options: Any) -> None:
    """Write the page and its facts, and say where they are."""
    if output.suffix.lower() not in (".html", ".htm"):
        raise DataError(f"Cannot write to '{output}': the page is HTML. Give a name that ends in .html.")
    subject = _subject(model)
    write_report(subject, output, positive=_class(subject, positive), **options)
    click.echo(f"{output}  (and {output.with_suffix('.json').name}, what it says for programs)")


def _subject(path: Path) -> Any:
    """The run in a folder, or the model in a file."""
    is_run = (unfinished(path) / "summary.json").is_file()
    return open_run(path) if is_run else load_model(model_file(path))


def _class(subject: Any, text: str | None) -> Any:
    """The class with this text."""
    if text is None:
        return None
    target = (subject.model if isinstance(subject, Run) else subject).schema.target
    names = dict(zip(class_names(target), target.classes, strict=True))
    if text not in names:
        raise ParameterError(f"--positive {text!r} is no class of {target.name!r}: {', '.join(names)}.")
    return names[text]
