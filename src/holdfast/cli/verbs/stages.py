"""`holdfast stages`: one tree after another, stage by stage."""

from pathlib import Path
from typing import Any

import click

from holdfast.cli.endings import check_there
from holdfast.cli.options import restart_option, stages_options
from holdfast.cli.stages_settings import StagesSettings


@click.command("stages", context_settings={"show_default": True})
@click.argument("data", type=click.Path(path_type=Path))
@stages_options
@restart_option
def command(data: Path, output: Path | None, restart: bool, **options: Any) -> None:
    """Carry one tree through the stages of the file DATA (CSV or Parquet): when did which rule move?

    A stable tree for the first stage, then at each stage as small a change of it as the rows ask for; or the
    sequence of trees that loses and moves least in all. Each tree is tried on the stage after its own.
    """
    settings = StagesSettings(**options)
    check_there(data)
    from rich.console import Console

    from holdfast.cli.stages import run

    run(data, output, settings, Console(highlight=False), restart=restart)
