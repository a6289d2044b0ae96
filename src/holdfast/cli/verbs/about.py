"""`holdfast about`: what a model is for and who answers for it, in the words of its owners."""

from pathlib import Path

import click


@click.group("about")
def command() -> None:
    """Write down what a model is for and who answers for it: the page of a change says so."""


@command.command("init")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, allow_dash=True),
    default=Path("about.toml"),
    show_default=True,
    help="File to write to, which must not be there yet; - for the terminal.",
)
def init(output: Path) -> None:
    """Write a template of about.toml, with a sentence on every line."""
    from holdfast.cli.about import write_template

    write_template(None if output == Path("-") else output)
