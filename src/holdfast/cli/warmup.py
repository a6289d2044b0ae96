"""`holdfast warmup`: compile beforehand what a first run would compile."""

import click

from holdfast._text import duration_text
from holdfast.cli.console import compiled_text, make_console


@click.command("warmup")
def command() -> None:
    """Compile the kernels of all models now, not in the first run: for container images and clusters."""
    from holdfast.kernels.consensus.search import find_consensus
    from holdfast.kernels.jit import Kernel
    from holdfast.runs.compile import prepare_kernels

    console = make_console(soft_wrap=True)
    ready = prepare_kernels()
    what = f"Kernels {compiled_text()}" if ready.compiled else "All kernels were on disk: loaded"
    console.print(f"{what} in {duration_text(ready.seconds)}.")
    for note in ready.notes:
        console.print(f"Note: {note}")
    if isinstance(find_consensus, Kernel) and find_consensus.is_on_disk:
        console.print(f"They are in {find_consensus.folder} and the folders beside it.")
