"""`holdfast demo`: the whole story on built-in data."""

from pathlib import Path

import click

from holdfast._version import __version__

SLOGAN = "decision trees that hold their shape as the data changes"


@click.command("demo")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("holdfast-demo"),
    show_default=True,
    help="Folder for the run: new, empty, or an earlier run, which is replaced.",
)
def command(output: Path) -> None:
    """Tell the whole story on a built-in data set, in under a minute."""
    from rich.console import Console

    from holdfast.runs.folder import check_place

    check_place(output)  # before the story begins
    console = Console(highlight=False)
    console.print(f"[bold]holdfast {__version__}[/]: {SLOGAN}\n")
    console.print(
        "The first run compiles the kernels for this machine, which can take a minute. Later runs load "
        "them from disk."
    )
    with console.status("Starting"):
        from holdfast.cli.demo import run
    run(output, console)
