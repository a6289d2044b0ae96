"""How much better one model is than another on the same rows, with the standard error of the difference."""

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.scoring.formulas import Estimate, standard_error
from holdfast.scoring.metric import Metric, Score, TrueValues
from holdfast.scoring.scorers import compare_by_scorer


def score_difference(metric: Metric, old: FloatArray, new: FloatArray, true_values: TrueValues) -> Score:
    """Compute the score of new predictions minus that of old ones, with its standard error.

    The error is of the difference. Where both models err on the same rows it is far smaller than the errors
    of the two scores would suggest.

    >>> from holdfast import Target
    >>> from holdfast.scoring.metric import make_metric
    >>> true_values = TrueValues(Target(classes=("died", "lived")), np.array([0, 1, 1, 0]))
    >>> old = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.6, 0.4]])
    >>> new = np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.6, 0.4]])
    >>> value, error = score_difference(make_metric("accuracy", true_values.target), old, new, true_values)
    >>> value, round(error, 6)
    (0.25, 0.25)
    """
    old, new = old[true_values.counted], new[true_values.counted]
    rows = true_values.rows
    if metric.formula is None:
        return Score(*compare_by_scorer(metric.scorer, old, new, true_values.target, rows))
    with np.errstate(all="ignore"):  # squares of numbers such as 1e200
        before, after = metric.formula(old, rows), metric.formula(new, rows)
        both = Estimate(after.value - before.value, after.influence - before.influence, after.by_class)
        error = standard_error(both, rows)
    return Score(*(float(np.nan_to_num(each)) for each in (both.value, error)))
