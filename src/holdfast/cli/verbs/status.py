"""`holdfast status`: how far a run is."""

from pathlib import Path

import click


@click.command("status")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def command(run: Path, as_json: bool) -> None:
    """Tell how far the run is that is written to RUN, the folder or the file of its -o.

    It is finished, under way or stopped; then its stage, what is kept of it, the process that works on it,
    and the command that goes on with it.
    """
    from holdfast.cli.status import run as show

    show(run, as_json=as_json)
