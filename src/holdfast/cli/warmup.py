"""`holdfast warmup`: compile beforehand what a first run would compile."""

from __future__ import annotations

import os
from pathlib import Path

import click

from holdfast._text import duration_text
from holdfast.cli.console import compiled_text, make_console
from holdfast.evaluate.methods import FIT_METHODS


@click.command("warmup")
@click.option(
    "--model", type=click.Choice(FIT_METHODS), help="Only the kernels of this model.  [default: all]"
)
@click.option(
    "--native",
    is_flag=True,
    help="Compile for this processor what the installed wheel carries for many processors; later runs prefer "
    "this code.",
)
def command(model: str | None, native: bool) -> None:
    """Compile the kernels of all models now, not in the first run: for container images and clusters.

    A wheel with machine code needs no warmup. Its code is for a level of processors; --native compiles code
    for this processor, which stays in the user's cache until holdfast or numba changes.
    """
    if native:
        # With any such setting, code of a wheel is not used (`kernels/shipped.py`); 3 is numba's default.
        os.environ.setdefault("NUMBA_OPT", "3")
    from holdfast.kernels.consensus.search import find_consensus
    from holdfast.kernels.jit import Kernel
    from holdfast.runs.compile import prepare_kernels

    console = make_console(soft_wrap=True)
    ready = prepare_kernels(model=model)
    what = f"Kernels {compiled_text()}" if ready.compiled else "All kernels were on disk: loaded"
    console.print(f"{what} in {duration_text(ready.seconds)}.")
    for note in ready.notes:
        console.print(f"Note: {note}")
    if isinstance(find_consensus, Kernel) and any(Path(find_consensus.folder).glob("*.kernel")):
        console.print(f"They are in {find_consensus.folder} and the folders beside it.")
