"""`holdfast plot`: a run or a model, and perhaps rows, as a plot.

To add a plot, add a line to `PLOTS` and, if it is not drawn by `from_run`, a branch to `_draw`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from holdfast._text import quoted
from holdfast.cli.console import plain_warnings
from holdfast.cli.options import cell_options, output_option
from holdfast.errors import DataError, ParameterError
from holdfast.runs.folder import check_output, is_run, model_file

if TYPE_CHECKING:
    from holdfast.data.read_options import ReadingOptions
    from holdfast.data.schema import Label
    from holdfast.data.table import Table
    from holdfast.runs.run import Run
    from holdfast.tree.ensemble import Ensemble
    from holdfast.tree.tree import Tree


class PlotName(NamedTuple):
    """A plot as the terminal names it."""

    display: str  # its class among the public names
    shows: str
    needs: str  # what it can be drawn of


_STABLE = "a run of a stable tree"
_TREES = f"{_STABLE}, an update, or a file of trees"
_TREE = "one tree, in a run or a model file"
_CLASSES = "a classification model, and rows from --data"
PLOTS: dict[str, PlotName] = {
    "frontier": PlotName("FrontierDisplay", "instability against score", _STABLE),
    "tree": PlotName("TreeDisplay", "the tree itself", _TREE),
    "sizes": PlotName("PruningDisplay", "score or risk by number of leaves", _TREE),
    "split-support": PlotName("SplitSupportDisplay", "support of each split", _STABLE),
    "distance": PlotName("DistanceDisplay", "a map of its trees", _TREES),
    "distance-matrix": PlotName("DistanceDisplay", "distances between its trees", _TREES),
    "importance": PlotName("ImportanceDisplay", "the most important features", "any run or model file"),
    "boosting": PlotName("BoostingDisplay", "loss by rounds", "the model file of a boosting estimator"),
    "partition": PlotName("PartitionDisplay", "regions of two features", "one tree, and rows from --data"),
    "survival": PlotName("SurvivalDisplay", "curves of survival by leaf", "one tree for times to an event"),
    "calibration": PlotName("CalibrationDisplay", "observed against predicted frequency", _CLASSES),
    "decision-curve": PlotName("DecisionCurveDisplay", "net benefit by threshold", _CLASSES),
    "roc": PlotName("RocDisplay", "the ROC curve", _CLASSES),
}
_LINES = [f"  {name:<16} {each.shows}: {each.needs}" for name, each in PLOTS.items()]
EPILOG = "\b\nPlots, and what each can be drawn of:\n" + "\n".join(_LINES)


@click.command("plot", epilog=EPILOG)
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--what",
    type=click.Choice(tuple(PLOTS)),
    help="[default: the frontier of a stable tree; else the tree, or the feature importances]",
)
@output_option("File to write to: .svg, .png or .pdf.  [default: the name of the plot, in SVG]")
@click.option("--data", type=click.Path(path_type=Path), help="File of rows, for plots that need them.")
@click.option("--target", help="Target column of --data.  [default: as in the model]")
@click.option("--positive", help="Class whose probability is shown.  [default: that of the model]")
@cell_options
def command(
    model: Path,
    what: str | None,
    output: Path | None,
    data: Path | None,
    target: str | None,
    positive: str | None,
    **cells: Any,
) -> None:
    """Draw a plot of MODEL, a run folder or a model file."""
    from holdfast.plots.display import picture_form
    from holdfast.runs.settings import CellSettings

    what = what or _usual_plot(model)
    path = Path(f"{what}.svg") if output is None else output
    picture_form(path)  # refuses an unknown ending before any work
    check_output(path, model, *([] if data is None else [data]))
    source = PlotSource(model, what, data, target, positive, CellSettings(**cells).reading_options)
    with plain_warnings():
        _draw(source).save(path)
    click.echo(f"Wrote {path}")


@dataclass(frozen=True)
class PlotSource:
    """What a plot is drawn of: a run or a model file, and perhaps rows, each read when it is needed."""

    path: Path
    what: str
    data: Path | None
    target: str | None
    positive: str | None
    reading: ReadingOptions

    @cached_property
    def run(self) -> Run | None:
        """The run in the folder; None for a model file."""
        from holdfast.runs.run import open_run

        return open_run(self.path) if is_run(self.path) else None

    @property
    def is_update(self) -> bool:
        """True if the run is an update."""
        return self.run is not None and self.run.is_update

    @cached_property
    def stable_run(self) -> Run:
        """The run, which must be of a stable tree."""
        if self.is_update:
            raise self.refusal("is an update, which has no reference trees: plot the run that it updates")
        if self.run is None or self.run.frontier is None:
            raise self.refusal("is an ensemble alone" if self.is_ensemble else "is one tree alone")
        return self.run

    @cached_property
    def model(self) -> Tree | Ensemble:
        """The tree or the ensemble."""
        from holdfast.io.model_file import load_model

        return load_model(model_file(self.path)) if self.run is None else self.run.model

    @property
    def is_ensemble(self) -> bool:
        """True if the model is not a single tree."""
        from holdfast.tree.ensemble import Ensemble

        return isinstance(self.model, Ensemble)

    @property
    def tree(self) -> Any:
        """The model, which must be one tree."""
        if self.is_ensemble:
            raise self.refusal(f"contains {len(self.model.trees)} trees")  # type: ignore[union-attr]
        return self.model

    @cached_property
    def rows(self) -> tuple[Table, Any]:
        """The rows of the file, and their true values."""
        import numpy as np

        from holdfast.data.read import open_source
        from holdfast.runs.new_rows import read_known_rows

        if self.data is None:
            raise ParameterError(f"--what {self.what} needs rows: name a file of them with --data.")
        schema = self.model.schema
        with open_source(self.data, self.reading.encoding) as source:
            table = read_known_rows(source, self.model, (), self.target, self.reading)
        classes = np.array(schema.target.classes, object)
        return table, classes[table.target] if schema.target.is_classes else table.target

    @property
    def features(self) -> Any:
        """The columns of the rows that the model needs, as they were read."""
        from holdfast.data.read import open_source
        from holdfast.runs.new_rows import read_features

        with open_source(self.data, self.reading.encoding) as source:
            return read_features(source, self.model, self.reading)

    @property
    def positive_class(self) -> Label | None:
        """The class of the option; None without it."""
        classes = self.model.schema.target.classes
        labels = {str(label): label for label in classes}
        if self.positive is not None and self.positive not in labels:
            raise ParameterError(
                f"--positive {self.positive!r} is not a class of the model, which has {quoted(classes)}."
            )
        return None if self.positive is None else labels[self.positive]

    def refusal(self, why: str) -> DataError:
        """Make the error that names what this plot can be drawn of."""
        needs = PLOTS[self.what].needs
        return DataError(f"Cannot draw {self.what} of '{self.path}': it is drawn of {needs}, and this {why}.")


def _usual_plot(path: Path) -> str:
    """Choose the plot if none is named: the first that the run, the model or the trees have."""
    from holdfast.io.model_file import load_model
    from holdfast.tree.tree import Tree

    if is_run(path) and (path / "frontier.csv").is_file():
        return "frontier"
    if _load_collection(path) is not None:
        return "distance"
    return "tree" if isinstance(load_model(model_file(path)), Tree) else "importance"


def _load_collection(path: Path) -> Sequence[Tree] | None:
    """Load the trees of a file of several; None for a folder, or the file of one model."""
    from holdfast.io.model_file import load_trees, read_model_kind

    if not path.is_file():
        return None
    return load_trees(path) if read_model_kind(path) == "trees" else None


# -- the plots --------------------------------------------------------------------------------------------


def _draw(source: PlotSource) -> Any:
    """Make the display of the plot."""
    from holdfast.growth.pruning import pruning_path
    from holdfast.plots.display import LATER

    what = source.what
    display = getattr(import_module("holdfast.plots"), PLOTS[what].display)
    if what in ("frontier", "split-support"):
        return display.from_run(source.stable_run, ax=LATER)
    if what == "tree":
        return display.from_estimator(source.tree, positive=source.positive_class, ax=LATER)
    if what == "survival":
        if not source.tree.schema.target.is_survival:
            raise source.refusal("predicts no time to an event")
        return display.from_estimator(source.tree, ax=LATER)
    if what == "sizes":
        tree = source.tree
        if source.run is None or source.is_update:
            return display.from_result(pruning_path(tree), ax=LATER)
        return display.from_run(source.run, ax=LATER)
    if what.startswith("distance"):
        kind = "matrix" if what == "distance-matrix" else "map"
        if not source.is_update and (trees := _load_collection(source.path)) is not None:
            return display.from_trees(trees, kind=kind, ax=LATER)
        return display.from_run(source.run if source.is_update else source.stable_run, kind=kind, ax=LATER)
    if what == "importance":
        return _draw_importance(source, display)
    if what == "boosting":
        from holdfast.io.model_file import load

        estimator = None if source.run is not None else load(model_file(source.path))
        if not hasattr(estimator, "train_loss_"):
            raise source.refusal("has no losses by rounds")
        return display.from_estimator(estimator, ax=LATER)
    if what == "partition":
        tree, (_, truth) = source.tree, source.rows
        return display.from_estimator(tree, source.features, truth, positive=source.positive_class, ax=LATER)
    if not source.model.schema.target.is_classes:
        is_survival = source.model.schema.target.is_survival
        raise source.refusal(f"predicts {'times to an event' if is_survival else 'numbers'}")
    return display.from_estimator(source.model, *source.rows, positive=source.positive_class, ax=LATER)


def _draw_importance(source: PlotSource, display: Any) -> Any:
    import numpy as np

    from holdfast.explain.feature_use import feature_use
    from holdfast.plots.display import LATER

    run, model = source.run, source.model
    if run is not None and run.frontier is not None:
        candidates = () if run.frontier.has_teacher else run.candidates
        drawn = display.from_result(feature_use([*run.references, *candidates]), ax=LATER)
        own = dict(zip(model.schema.names, model.importances.tolist(), strict=True))
        drawn.chosen = np.array([own[name] for name in drawn.names])
        return drawn
    if not source.is_ensemble:
        return display.from_result(model, ax=LATER)
    return display(tuple(model.schema.names), model.importances, n_trees=len(model.trees))  # type: ignore
