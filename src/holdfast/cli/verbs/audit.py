"""`holdfast audit`: how much each method moves when it is trained again."""

from pathlib import Path
from typing import Any

import click

from holdfast.cli.endings import check_there
from holdfast.cli.options import AuditSettings, audit_options, restart_option


@click.command("audit", context_settings={"show_default": True})
@click.argument("data", type=click.Path(path_type=Path))
@audit_options
@restart_option
def command(data: Path, output: Path | None, restart: bool, **options: Any) -> None:
    """Measure how much the model of each method changes when it is trained again on DATA (CSV or Parquet).

    Every method is trained on pairs of samples, and after small changes of one: fewer rows, another seed, a
    column of noise. The models of a pair are compared on rows that neither was trained on.
    """
    settings = AuditSettings(**options)
    check_there(data)
    from rich.console import Console

    from holdfast.cli.audit import run

    run(data, output, settings, Console(highlight=False), restart=restart)
