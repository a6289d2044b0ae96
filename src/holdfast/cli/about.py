"""`holdfast about init`."""

from pathlib import Path

import click

from holdfast.cli.new_file import write_new_text
from holdfast.errors import AboutError
from holdfast.runs.about import about_template


def write_template(output: Path | None) -> None:
    """Write the template, unless there is a file already, or print it."""
    write_new_text(about_template(), output, "words", AboutError)
    if output is not None:
        click.echo(f"Wrote {output}: put your own words in it, and give it to fit and update by --about.")
