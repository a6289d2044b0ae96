"""`holdfast fit`: one model for a data file."""

from pathlib import Path
from typing import Any

import click

from holdfast.cli.endings import check_there
from holdfast.cli.options import fit_options, given_options, report_option, restart_option
from holdfast.runs.settings import RunSettings


@click.command("fit", context_settings={"show_default": True})
@click.argument("data", type=click.Path(path_type=Path))
@fit_options
@report_option
@restart_option
def command(data: Path, output: Path, no_report: bool, restart: bool, **options: Any) -> None:
    """Choose one tree, accurate and stable, for the rows of DATA: CSV, Parquet, or a folder of Parquet.

    A teacher, the mean of several models, learns from the rows, and a tree of few leaves learns from the
    teacher; so do 100 reference trees, on bootstrap samples. The tree moves to the midst of them, as far as
    it goes on saying what the teacher says. --method and --model ask for other trees and models.
    """
    settings = RunSettings.of(given_options(click.get_current_context(), options))
    check_there(data)
    from rich.console import Console

    from holdfast.cli.fit import run

    run(data, output, settings, Console(highlight=False), report=not no_report, restart=restart)
