"""`holdfast about`: what a model is for and who answers for it, in the words of its owners."""

from pathlib import Path

import click

from holdfast.cli.options import template_option


@click.group("about")
def command() -> None:
    """Write down what a model is for and who answers for it: the page of a change says so."""


@command.command("init")
@template_option("about.toml")
def init(output: Path | None) -> None:
    """Write a template of about.toml, with a sentence on every line."""
    from holdfast.cli.about import write_template

    write_template(output)
