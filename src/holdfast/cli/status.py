"""`holdfast status`: how far a run is."""

import json
from pathlib import Path

import click

from holdfast.runs.status import run_status


def run(path: Path, *, as_json: bool) -> None:
    """Print what is known of the run, in sentences or as JSON."""
    status = run_status(path)
    click.echo(json.dumps(status.to_dict(), indent=2) if as_json else str(status))
