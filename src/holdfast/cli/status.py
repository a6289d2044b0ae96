"""`holdfast status`: show how far a run is."""

import json
from pathlib import Path

import click


@click.command("status")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def command(run: Path, as_json: bool) -> None:
    """Show the progress of the run that writes to RUN, the folder or file of its -o.

    The output has its state (finished, running or stopped), its current step, the results that are kept, its
    process, and the command that continues it.
    """
    from holdfast.runs.status import run_status

    status = run_status(run)
    click.echo(json.dumps(status.to_dict(), indent=2) if as_json else str(status))
