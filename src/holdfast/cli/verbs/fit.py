"""`holdfast fit`: one model for a data file."""

from pathlib import Path
from typing import Any

import click

from holdfast.cli.options import fit_options, given_options
from holdfast.runs.settings import RunSettings


@click.command("fit", context_settings={"show_default": True})
@click.argument("data", type=click.Path(path_type=Path))
@fit_options
def command(data: Path, output: Path, **options: Any) -> None:
    """Choose one tree, accurate and stable, for the rows of the file DATA (CSV or Parquet).

    Many trees are grown on the early rows and many on all. Of the latter the one is chosen that is nearest to
    the former, among those that predict about as well as the best. --model asks for another kind of model.
    """
    settings = RunSettings.of(given_options(click.get_current_context(), options))
    from rich.console import Console

    from holdfast.cli.fit import run

    run(data, output, settings, Console(highlight=False))
