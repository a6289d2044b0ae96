"""`holdfast plot`: a run or a model as a picture."""

from pathlib import Path
from typing import Any

import click

from holdfast.cli.options import cell_options
from holdfast.cli.plot_names import PLOTS
from holdfast.runs.settings import CellSettings

_LINES = [f"  {name:<16} {each.shows}: {each.needs}" for name, each in PLOTS.items()]
EPILOG = "\b\nWhat can be drawn, and of what:\n" + "\n".join(_LINES)


@click.command("plot", epilog=EPILOG)
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--what",
    type=click.Choice(tuple(PLOTS)),
    help="[default: the frontier of a stable tree; else the tree, or the importance of the features]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write to: .svg, .png or .pdf.  [default: the name of the plot, in SVG]",
)
@click.option("--data", type=click.Path(path_type=Path), help="File of rows, for plots that need some.")
@click.option("--target", help="Column of the true values among them.  [default: as in the model]")
@click.option("--positive", help="Class whose probability is shown.  [default: that of the model]")
@cell_options
def command(model: Path, what: str | None, output: Path | None, **options: Any) -> None:
    """Draw what is known of the run folder MODEL, or of the model file, to a picture."""
    rows = {name: options.pop(name) for name in ("data", "target", "positive")}
    from holdfast.cli.plot import PlotOrder, run, usual_plot

    what = what or usual_plot(model)
    order = PlotOrder(model, what, **rows, reading=CellSettings(**options).reading_options)
    path = Path(f"{what}.svg") if output is None else output
    run(order, path)
    click.echo(f"Wrote {path}")
