"""`holdfast compare`: models on the same folds."""

from pathlib import Path
from typing import Any

import click

from holdfast.cli.endings import check_there
from holdfast.cli.options import CompareSettings, compare_options, restart_option


@click.command("compare", context_settings={"show_default": True})
@click.argument("data", type=click.Path(path_type=Path))
@compare_options
@restart_option
def command(data: Path, output: Path | None, restart: bool, **options: Any) -> None:
    """Compare models, single trees and ensembles, on the same folds of the file DATA (CSV or Parquet).

    In each fold all models are trained on the same rows and scored on the same others, so that differences
    between them are estimated far better than the scores themselves.
    """
    settings = CompareSettings(**options)
    check_there(data)
    from rich.console import Console

    from holdfast.cli.compare import run

    run(data, output, settings, Console(highlight=False), restart=restart)
