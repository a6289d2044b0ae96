"""Folds on which a metric says nothing: the AUC of one class, the R² of one value."""

import warnings

from holdfast.errors import DataError, DataWarning
from holdfast.scoring.metric import Metric


def check_unscored_folds(metric: Metric, n_scored: int, n_folds: int) -> None:
    """Warn that some folds have no score; raise a DataError if none has."""
    need = "rows of several classes" if metric.name == "auc" else "several values of the target"
    start = f"The {metric.title} needs {need}, and {n_folds - n_scored} of {n_folds} folds hold out but one"
    way_out = "Hold out more rows at a time, or score by another metric."
    if n_scored == 0:
        raise DataError(f"{start}. {way_out}")
    warnings.warn(f"{start}: these folds do not count. {way_out}", DataWarning, stacklevel=3)
