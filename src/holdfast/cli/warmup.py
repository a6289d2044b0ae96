"""What `holdfast warmup` does and says."""

from rich.console import Console

from holdfast._text import duration_text
from holdfast.cli.fit import COMPILING
from holdfast.cli.words import compiled_text
from holdfast.kernels.consensus.search import find_consensus
from holdfast.kernels.jit import Kernel
from holdfast.runs.compile import warm_up


def run(console: Console) -> None:
    """Make the kernels of all models ready, and say what was done and where they are."""
    with console.status(COMPILING):
        ready = warm_up()
    what = f"Kernels {compiled_text()}" if ready.compiled else "All kernels were on disk: loaded"
    console.print(f"{what} in {duration_text(ready.seconds)}.")
    for note in ready.notes:
        console.print(f"Note: {note}")
    if isinstance(find_consensus, Kernel) and find_consensus.is_on_disk:
        console.print(f"They are in {find_consensus.folder} and the folders beside it.")
