"""`holdfast export`: the file of another format, verified if that is asked for."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from holdfast._choices import BINARY_EXPORTS, EXPORT_ENDINGS
from holdfast._files import replace_file
from holdfast.cli.words import plain_warnings
from holdfast.data.read import open_source
from holdfast.data.read_options import ReadingOptions
from holdfast.errors import DataError, EngineError, ExportError
from holdfast.exports.formats import DRAWN, export, verify_export
from holdfast.exports.plain_model import unwrap_model
from holdfast.io.model_file import load
from holdfast.runs.folder import check_output, model_file
from holdfast.runs.new_rows import read_features


@dataclass(frozen=True)
class Asked:
    """The format that is asked for, and its options."""

    to: str
    options: dict[str, Any] = field(default_factory=dict)


def asked_for(to: str | None, output: Path | None, sql: dict[str, Any]) -> Asked:
    """The format, told by the name of the file unless it is said; a DataError if the two disagree.

    >>> asked_for(None, Path("model.sql"), {"dialect": "sqlite", "table": None, "keep": ()})
    Asked(to='sql', options={'dialect': 'sqlite'})
    """
    told = None if output is None else _told(output)
    if to is None and told is None:
        raise DataError(
            f"Say --to one of {', '.join(EXPORT_ENDINGS)}, or -o with a name that ends in one of theirs."
        )
    chosen = to or told or ""
    if output is None and chosen in BINARY_EXPORTS:
        raise DataError(f"--to {chosen} is no text for a terminal: name a file with -o.")
    if to is not None and told not in (None, to):
        raise DataError(
            f"Cannot write to '{output}': its name is that of a file of {told}, and --to is {to}."
        )
    given = {name: value for name, value in sql.items() if value}
    if given and chosen != "sql":
        raise DataError(f"--{next(iter(given))} is for --to sql, and the format is {chosen}.")
    return Asked(chosen, given)


def run(
    model: Path,
    asked: Asked,
    output: Path | None,
    rows: Path | None,
    reading: ReadingOptions,
    *,
    verify: bool = True,
) -> None:
    """Verify the export, write it to the output or to the terminal, and say in one line what was done."""
    if output is not None:
        check_output(output, model, *([] if rows is None else [rows]))
    with plain_warnings():
        fitted = load(model_file(model))
        exported = export(fitted, asked.to, **asked.options)
        checked = _checked(fitted, asked, exported, rows, reading, verify=verify)
    content = exported.encode() if isinstance(exported, str) else exported
    if output is None:
        click.echo(content.decode().rstrip("\n"))
        if checked:
            click.echo(checked, err=True)
    else:
        replace_file(output, content, ExportError)
        click.echo(f"Wrote {output}. {checked}".rstrip())


def _checked(
    fitted: Any, asked: Asked, exported: Any, rows: Path | None, reading: ReadingOptions, *, verify: bool
) -> str:
    """What the check found, or why there was none; an ExportError if the export differs from the model."""
    if rows is None and (asked.to in DRAWN or not verify):
        return "" if asked.to in DRAWN else "It is not verified."
    if rows is not None:
        with open_source(rows, reading.encoding) as source:
            features = read_features(source, unwrap_model(fitted), reading)
        return str(verify_export(fitted, asked.to, exported, features, **asked.options))
    try:
        return str(verify_export(fitted, asked.to, exported, **asked.options))
    except EngineError as error:
        return f"It is not verified: {error}"


def _told(output: Path) -> str | None:
    ending = output.suffix.lower()
    return next((to for to, endings in EXPORT_ENDINGS.items() if ending in endings), None)
