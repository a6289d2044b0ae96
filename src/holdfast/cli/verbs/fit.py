"""`holdfast fit`: one model for a data file."""

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from holdfast.cli.endings import check_there
from holdfast.cli.options import fit_options, given_options, report_option, restart_option


@click.command("fit", context_settings={"show_default": True})
@click.argument("data", type=click.Path(path_type=Path))
@fit_options
@report_option
@restart_option
@click.option(
    "--force",
    is_flag=True,
    help="Without -o, replace a run of other data or of another target.",
)
def command(data: Path, output: Path, no_report: bool, restart: bool, force: bool, **options: Any) -> None:
    """Choose one tree, accurate and stable, for the rows of DATA: CSV, Parquet, or a folder of Parquet.

    A teacher, the mean of several models, learns from the rows, and a tree of few leaves learns from the
    teacher; so do 100 reference trees, on bootstrap samples. The tree moves to the midst of them, as far as
    it goes on saying what the teacher says. --method and --model ask for other trees and models.

    On two cores a fit takes about 3 seconds for up to 5,000 rows and 10 for 50,000; once after
    the installation, compiling takes a minute more. For a quick look: --teacher linear --n-estimators 25.
    """
    context = click.get_current_context()
    given = given_options(context, options)
    is_named = context.get_parameter_source("output") is not ParameterSource.DEFAULT
    check_there(data)
    from rich.console import Console

    from holdfast.cli.fit import run

    console = Console(highlight=False)
    replace = force or is_named
    run(data, output, given, console, report=not no_report, restart=restart, replace=replace)
