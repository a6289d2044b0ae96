"""What `holdfast plot` can draw. To add a plot is to add a line here and a function in `cli/plot.py`."""

from typing import NamedTuple


class PlotName(NamedTuple):
    """A plot as the terminal names it."""

    display: str  # its class among the public names
    shows: str
    needs: str  # what it can be drawn of


_STABLE = "a run of a stable tree"
_TREE = "one tree, in a run or a model file"
_CLASSES = "a model of classes, and rows given by --data"
PLOTS: dict[str, PlotName] = {
    "frontier": PlotName("FrontierDisplay", "instability against score", _STABLE),
    "tree": PlotName("TreeDisplay", "the tree itself", _TREE),
    "sizes": PlotName("PruningDisplay", "score or risk by number of leaves", _TREE),
    "split-support": PlotName("SplitSupportDisplay", "how firmly each split stands", _STABLE),
    "distance": PlotName(
        "DistanceDisplay", "a map of its trees", f"{_STABLE}, an update, or a file of trees"
    ),
    "distance-matrix": PlotName(
        "DistanceDisplay", "their distances", f"{_STABLE}, an update, or a file of trees"
    ),
    "importance": PlotName("ImportanceDisplay", "the most important features", "any run or model file"),
    "boosting": PlotName("BoostingDisplay", "loss by rounds", "the model file of a boosting estimator"),
    "partition": PlotName("PartitionDisplay", "two features, cut up", "one tree, and rows given by --data"),
    "calibration": PlotName("CalibrationDisplay", "what came true", _CLASSES),
    "decision-curve": PlotName("DecisionCurveDisplay", "what acting on it is worth", _CLASSES),
    "roc": PlotName("RocDisplay", "the ROC curve", _CLASSES),
}
