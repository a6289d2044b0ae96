"""`holdfast plot`: from a run, or a model file, and perhaps rows, to a picture."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from holdfast._text import quoted
from holdfast.cli.plot_names import PLOTS
from holdfast.cli.words import plain_warnings
from holdfast.data.frame import Frame
from holdfast.data.read import open_source
from holdfast.data.read_options import ReadingOptions
from holdfast.data.schema import Label
from holdfast.data.table import Table
from holdfast.errors import DataError, ParameterError
from holdfast.explain.feature_use import feature_use
from holdfast.growth.pruning import pruning_path
from holdfast.io.model_file import load, load_model, load_trees, read_model_kind
from holdfast.plots.display import LATER, picture_form
from holdfast.runs.folder import check_output, is_run, model_file
from holdfast.runs.new_rows import read_features, read_known_rows
from holdfast.runs.run import Run, open_run
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree


@dataclass(frozen=True)
class PlotOrder:
    """What is to be drawn, of which run or model, with which rows."""

    path: Path
    what: str
    data: Path | None
    target: str | None
    positive: str | None
    reading: ReadingOptions

    @cached_property
    def run(self) -> Run | None:
        """The run in the folder; None for a model file."""
        return open_run(self.path) if is_run(self.path) else None

    @cached_property
    def stable(self) -> Run:
        """The run, which must be of a stable tree."""
        if self.run is not None and self.run.is_update:
            raise self.refusal("is an update, which has no reference trees: draw it of the run it updates")
        if self.run is None or self.run.frontier is None:
            raise self.refusal(f"is {'one tree' if isinstance(self.model, Tree) else 'an ensemble'} alone")
        return self.run

    @cached_property
    def model(self) -> Tree | Ensemble:
        """The tree or the ensemble."""
        return load_model(model_file(self.path)) if self.run is None else self.run.model

    @property
    def tree(self) -> Tree:
        """The model, which must be one tree."""
        if isinstance(self.model, Ensemble):
            raise self.refusal(f"holds {len(self.model.trees)} trees")
        return self.model

    @cached_property
    def rows(self) -> tuple[Table, Any]:
        """The rows of the file, and their true values."""
        if self.data is None:
            raise ParameterError(f"--what {self.what} needs rows: name a file of them with --data.")
        schema = self.model.schema
        with open_source(self.data, self.reading.encoding) as source:
            table = read_known_rows(source, self.model, (), self.target, self.reading)
        classes = np.array(schema.target.classes, object)
        return table, classes[table.target] if schema.target.is_classes else table.target

    @property
    def features(self) -> Frame:
        """The columns of the rows that the model asks about, as they were read."""
        with open_source(self.data, self.reading.encoding) as source:
            return read_features(source, self.model, self.reading)

    @property
    def positive_class(self) -> Label | None:
        """The class of this name; None if none was named."""
        classes = self.model.schema.target.classes
        known = {str(label): label for label in classes}
        if self.positive is not None and self.positive not in known:
            raise ParameterError(f"--positive {self.positive!r} is no class of the model: {quoted(classes)}.")
        return None if self.positive is None else known[self.positive]

    def refusal(self, why: str) -> DataError:
        """Why this cannot be drawn, and of what it can be."""
        needs = PLOTS[self.what].needs
        return DataError(f"Cannot draw {self.what} of '{self.path}': it is drawn of {needs}, and this {why}.")


def usual_plot(path: Path) -> str:
    """What is drawn if nothing is named: the first that there is of the run, the model or the trees."""
    if is_run(path) and (path / "frontier.csv").is_file():
        return "frontier"
    if _collection(path) is not None:
        return "distance"
    return "tree" if isinstance(load_model(model_file(path)), Tree) else "importance"


def run(order: PlotOrder, output: Path) -> None:
    """Draw it to the file."""
    picture_form(output)  # which refuses a name that says nothing, before any work
    check_output(output, order.path, *([] if order.data is None else [order.data]))
    with plain_warnings():
        display = getattr(import_module("holdfast"), PLOTS[order.what].display)
        _DRAWN[order.what](order, display).save(output)


# -- one function per plot: the display made of what there is -----------------------------------------------


def _sizes(order: PlotOrder, display: Any) -> Any:
    tree = order.tree
    if order.run is None or order.run.is_update:
        return display.from_result(pruning_path(tree), ax=LATER)
    return display.from_run(order.run, ax=LATER)


def _distances(order: PlotOrder, display: Any, kind: str) -> Any:
    if order.run is not None and order.run.is_update:
        return display.from_run(order.run, kind=kind, ax=LATER)
    trees = _collection(order.path)
    if trees is not None:
        return display.from_trees(trees, kind=kind, ax=LATER)
    return display.from_run(order.stable, kind=kind, ax=LATER)


def _collection(path: Path) -> Sequence[Tree] | None:
    """The trees of a file of several; None if it is a folder, or the file of one model."""
    if not path.is_file():
        return None
    return load_trees(path) if read_model_kind(path) == "trees" else None


def _importance(order: PlotOrder, display: Any) -> Any:
    found, model = order.run, order.model
    if found is not None and found.frontier is not None:
        candidates = () if found.frontier.has_teacher else found.candidates
        made = display.from_result(feature_use([*found.references, *candidates]), ax=LATER)
        own = dict(zip(model.schema.names, model.importances.tolist(), strict=True))
        made.chosen = np.array([own[name] for name in made.names])
        return made
    if isinstance(model, Tree):
        return display.from_result(model, ax=LATER)
    return display(tuple(model.schema.names), model.importances, n_trees=len(model.trees))


def _boosting(order: PlotOrder, display: Any) -> Any:
    estimator = None if order.run is not None else load(model_file(order.path))
    if not hasattr(estimator, "train_loss_"):
        raise order.refusal("has no losses by rounds")
    return display.from_estimator(estimator, ax=LATER)


def _partition(order: PlotOrder, display: Any) -> Any:
    tree, (_, truth) = order.tree, order.rows
    return display.from_estimator(tree, order.features, truth, positive=order.positive_class, ax=LATER)


def _of_classes(order: PlotOrder, display: Any) -> Any:
    if not order.model.schema.target.is_classes:
        raise order.refusal("predicts numbers")
    return display.from_estimator(order.model, *order.rows, positive=order.positive_class, ax=LATER)


_DRAWN: dict[str, Callable[[PlotOrder, Any], Any]] = {
    "frontier": lambda order, display: display.from_run(order.stable, ax=LATER),
    "tree": lambda order, display: display.from_estimator(
        order.tree, positive=order.positive_class, ax=LATER
    ),
    "sizes": _sizes,
    "split-support": lambda order, display: display.from_run(order.stable, ax=LATER),
    "distance": lambda order, display: _distances(order, display, "map"),
    "distance-matrix": lambda order, display: _distances(order, display, "matrix"),
    "importance": _importance,
    "boosting": _boosting,
    "partition": _partition,
    "calibration": _of_classes,
    "decision-curve": _of_classes,
    "roc": _of_classes,
}
