"""`holdfast model-card init`."""

from pathlib import Path

import click

from holdfast.cli.new_file import write_new_text
from holdfast.errors import ModelCardError
from holdfast.governance.model_card import ModelCard


def write_template(output: Path | None) -> None:
    """Write the template, unless there is a file already, or print it."""
    write_new_text(ModelCard.template_text(), output, "words", ModelCardError)
    if output is not None:
        click.echo(
            f"Wrote {output}: put your own words in it, and give it to fit and update by --model-card."
        )
