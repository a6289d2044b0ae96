"""`holdfast report`: write one page on a run or a model."""

from pathlib import Path

import click

from holdfast.cli.options import output_option
from holdfast.runs.folder import check_output, is_run, model_file


@click.command("report", context_settings={"show_default": True})
@click.argument("model", type=click.Path(path_type=Path))
@output_option("File for the page; its facts are written beside it, as JSON.", default=Path("report.html"))
@click.option(
    "--model-card",
    type=click.Path(path_type=Path),
    help="Model card to quote: see holdfast model-card.",
)
@click.option("--positive", help="Positive class.  [default: that of the model]")
@click.option("--title", help="Title of the page.")
def command(
    model: Path, output: Path, model_card: Path | None, positive: str | None, title: str | None
) -> None:
    """Write one page of HTML on MODEL, a run folder or a model file.

    The page is one file that loads nothing from the internet. A run folder does not contain the data, so the
    sections that need rows, such as calibration, are only in the report that `holdfast fit` writes.
    """
    check_output(output, model)
    from holdfast.io.model_file import load_model
    from holdfast.report.page import write_report
    from holdfast.runs.run import open_run

    run = open_run(model) if is_run(model) else None
    subject = load_model(model_file(model)) if run is None else run
    write_report(subject, output, model_card=model_card, positive=positive, title=title)
    click.echo(f"{output}  (and {output.with_suffix('.json').name}: its content, for programs)")
    if run is not None and run.is_update:
        click.echo(f"It is about the model in use; {model / 'report.html'} is about the change.")
