"""What was observed in the leaf of a row: the interval of its rate or mean."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from holdfast.arrays import FloatArray
from holdfast.data.input.frame import make_frame
from holdfast.data.input.target import Task
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.estimators.base import TreeEstimator
from holdfast.evidence.leaf_evidence import check_method, drawn_intervals, node_intervals
from holdfast.tree.quantile import format_statistic, parse_quantile


class IntervalEstimator(TreeEstimator):
    """An estimator of one tree whose leaves have intervals."""

    def predict_interval(
        self, X: Any, *, level: float = 0.95, method: str | None = None, rows: Any = None
    ) -> tuple[FloatArray, FloatArray]:
        """The lower and the upper ends of the interval of the rate, or mean, in the leaf of every row.

        They have the shape of `predict_proba`, or of `predict` for numbers. The interval is that of the
        training rows of the leaf: of the fraction of each class among them, or of their mean, and not of the
        single row. With `leaf_values="posterior"` it is about the prediction and holds it; with "teacher" or
        "shrunk" the prediction may lie outside. Rows that weigh unlike count by their effective number,
        and rows of one group by how much they are alike, if groups were given to `fit`.

        Parameters
        ----------
        X
            Rows to predict.
        level
            How often such intervals hold the true rate or mean, if the rows did not choose the splits.
        method
            "wilson" (the default) or "jeffreys" for classes; "t" (the default) or "bootstrap", which follows
            the skew of the numbers, for means.
        rows
            For "bootstrap": the rows to draw from, (X, y) or (X, y, sample_weight), such as those of `fit`.
        """
        check_is_fitted(self)
        if parse_quantile(self.tree_.criterion) is not None:
            raise ParameterError(
                f"predict_interval is for probabilities and means, and the leaves say the "
                f"{format_statistic(self.tree_.criterion)}: trees of a low and a high quantile bound rows."
            )
        checked = check_method(method, self.schema_.target.is_classes)
        if checked == "bootstrap":
            ends = drawn_intervals(self.tree_, self._rows_to_draw(rows), level)
        else:
            ends = node_intervals(self.tree_, level, checked)
        leaves = self.apply(X)
        low, high = (end[leaves] for end in ends)
        return (low, high) if self.schema_.target.is_classes else (low[:, 0], high[:, 0])

    def _rows_to_draw(self, rows: Any) -> Table:
        if not isinstance(rows, tuple) or len(rows) not in (2, 3):
            raise ParameterError(
                "method='bootstrap' draws rows again, and the model keeps none: give rows=(X, y), such as "
                "those of fit, or (X, y, sample_weight)."
            )
        task: Task = "regression"
        X, y, *weight = rows
        return Table.from_arrays(make_frame(X), y, *weight, task=task, schema=self.schema_)
