"""`holdfast warmup`: compile beforehand what a first run would compile."""

import click


@click.command("warmup")
def command() -> None:
    """Compile the kernels of all models now, so that no later run has to: for images and clusters."""
    from rich.console import Console

    from holdfast.cli.warmup import run

    run(Console(highlight=False, soft_wrap=True))
