"""`holdfast model-card`: what a model is for and who answers for it, in the words of its owners."""

from pathlib import Path

import click

from holdfast.cli.options import template_option


@click.group("model-card")
def command() -> None:
    """Write down what a model is for and who answers for it: the page of a change says so."""


@command.command("init")
@template_option("model-card.toml")
def init(output: Path | None) -> None:
    """Write a template of model-card.toml, with a sentence on every line."""
    from holdfast.cli.model_card import write_template

    write_template(output)
