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
    """Audit retraining: how much the model of each method moves on the file DATA (CSV or Parquet).

    Every method is trained on pairs of samples, and after small changes of one: fewer rows, another seed, a
    column of noise. Rows that no model sees tell how many get another answer.
    """
    settings = AuditSettings(**options)
    check_there(data)
    from rich.console import Console

    from holdfast.cli.audit import run

    run(data, output, settings, Console(highlight=False), restart=restart)
