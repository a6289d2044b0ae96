"""How sure a tree is of what its leaves say."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from holdfast.arrays import FloatArray, LongArray
from holdfast.data.input.frame import frame_of
from holdfast.data.input.target import Task
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.estimators.base import TreeEstimator
from holdfast.evidence.leaf_evidence import (
    LeafEvidence,
    check_method,
    drawn_intervals,
    evidence_in,
    leaf_evidence,
    node_intervals,
)
from holdfast.tree.tree import Tree

OF_INTERVALS = ("leaf_rows_", "leaf_deviation_")


class IntervalEstimator(TreeEstimator):
    """An estimator of one tree whose leaves have intervals."""

    # What fit leaves behind where the tree itself does not tell: one number for every node.
    leaf_rows_: FloatArray
    leaf_deviation_: FloatArray

    def predict_interval(
        self, X: Any, *, level: float = 0.95, method: str | None = None, rows: Any = None
    ) -> tuple[FloatArray, FloatArray]:
        """The lower and the upper ends of the interval of every prediction.

        They have the shape of `predict_proba`, or of `predict` for numbers. The interval is that of the
        probability, or the mean, of the leaf, not of the single row. Rows that weigh unlike count by their
        effective number, and rows of one group by how much they are alike, if `fit` was told the groups.

        Parameters
        ----------
        X
            Rows to predict.
        level
            How often such intervals hold the truth, if the questions are given and the leaf values honest.
        method
            "wilson" (the default) or "jeffreys" for classes; "t" (the default) or "bootstrap", which follows
            the skew of the numbers, for means.
        rows
            For "bootstrap": the rows to draw from, (X, y) or (X, y, sample_weight), such as those of `fit`.
        """
        check_is_fitted(self)
        checked = check_method(method, self.schema_.target.is_classes)
        if checked == "bootstrap":
            ends = drawn_intervals(self.tree_, self._rows_to_draw(rows), level)
        else:
            ends = node_intervals(self.tree_, self._leaf_evidence, level, checked)
        leaves = self.apply(X)
        low, high = (end[leaves] for end in ends)
        return (low, high) if self.schema_.target.is_classes else (low[:, 0], high[:, 0])

    @property
    def _leaf_evidence(self) -> LeafEvidence:
        known = vars(self)
        told = evidence_in(self.tree_)
        return LeafEvidence(known.get("leaf_rows_", told.rows), known.get("leaf_deviation_", told.deviation))

    def _remember_evidence(self, evidence: LeafEvidence | None) -> None:
        self._forget_evidence()
        if evidence is not None:
            self.leaf_rows_, self.leaf_deviation_ = evidence.rows, evidence.deviation

    def _forget_evidence(self) -> None:
        for name in OF_INTERVALS:
            self.__dict__.pop(name, None)

    def _rows_to_draw(self, rows: Any) -> Table:
        if not isinstance(rows, tuple) or len(rows) not in (2, 3):
            raise ParameterError(
                "method='bootstrap' draws rows again, and the model keeps none: give rows=(X, y), such as "
                "those of fit, or (X, y, sample_weight)."
            )
        task: Task = "regression"
        X, y, *weight = rows
        return Table.from_arrays(frame_of(X), y, *weight, task=task, schema=self.schema_)


def evidence_needed(
    tree: Tree, table: Table, groups: LongArray | None, *, is_taught: bool = False
) -> LeafEvidence | None:
    """What the rows tell of the leaves; None where the tree tells it as well."""
    is_number = not tree.schema.target.is_classes
    is_told = not is_number or (tree.criterion == "squared_error" and not is_taught)
    return None if is_told and table.weight is None and groups is None else leaf_evidence(tree, table, groups)
