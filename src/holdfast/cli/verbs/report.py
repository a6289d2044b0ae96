"""`holdfast report`: one page on a run, or on a model."""

from pathlib import Path

import click


@click.command("report", context_settings={"show_default": True})
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("report.html"),
    help="File for the page; its facts go beside it, as JSON.",
)
@click.option(
    "--model-card",
    type=click.Path(path_type=Path),
    help="File model-card.toml with your own words: intended_use, population, outcome, case.",
)
@click.option("--positive", help="The class that matters.  [default: that of the model]")
@click.option("--title", help="What the page is called.")
def command(
    model: Path, output: Path, model_card: Path | None, positive: str | None, title: str | None
) -> None:
    """Write one page of HTML on the run in the folder MODEL, or on the model in a file.

    The page is one file without any request to the network. A run on disk has no rows of the data, so that
    what only rows can tell, such as calibration, stands only in the report that `holdfast fit` writes itself.
    """
    from holdfast.runs.folder import check_output

    check_output(output, model)
    from holdfast.cli.report import run

    run(model, output, model_card=model_card, positive=positive, title=title)
