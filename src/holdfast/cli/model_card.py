"""`holdfast model-card`: what a model is for and who is responsible, in the words of its owners."""

from pathlib import Path

import click

from holdfast.cli.console import write_new_text
from holdfast.cli.options import template_option
from holdfast.errors import ModelCardError


@click.group("model-card")
def command() -> None:
    """Write down what a model is for and who is responsible; reports quote it."""


@command.command("init")
@template_option("model-card.toml")
def init(output: Path | None) -> None:
    """Write a template of a model card, with a comment on every line."""
    from holdfast.governance.model_card import ModelCard

    write_new_text(ModelCard.template_text(), output, "words", ModelCardError)
    if output is not None:
        click.echo(f"Wrote {output}: fill it in, and pass it to fit and update as --model-card.")
