"""`holdfast update`: a model in use, moved as little as new rows ask."""

from pathlib import Path
from typing import Any

import click

from holdfast.cli.endings import check_there
from holdfast.cli.options import given_options, restart_option, update_options
from holdfast.runs.settings import UpdateRunSettings


@click.command("update")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@update_options
@restart_option
def command(model: Path, data: Path, output: Path, restart: bool, **options: Any) -> None:
    """Update the tree in the file MODEL, or in a run folder, by the rows of the file DATA (CSV or Parquet).

    If the tree with new values of its leaves fits the new rows well enough, its questions stay. If not, it
    changes step by step, as little as they ask; --take takes another step. With --policy, an update that
    breaks a line is not taken: the deployed model stays in use, and the command ends with exit code 3.
    """
    given = given_options(click.get_current_context(), options)
    UpdateRunSettings.of(given)  # before any work
    check_there(model, data)
    from rich.console import Console

    from holdfast.cli.update import run

    run(model, data, output, given, Console(highlight=False), restart=restart)
