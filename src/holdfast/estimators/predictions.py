"""What a tree predicts, as scikit-learn asks for it: classes, or numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from holdfast.arrays import FloatArray
from holdfast.data.table import Table
from holdfast.estimators.base import TreeEstimator, classes_of


class ClassEstimator(ClassifierMixin, TreeEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A tree estimator that predicts classes."""

    classes_: NDArray[Any]
    n_classes_: int

    def _remember_classes(self, y: Any, table: Table) -> None:
        self.classes_ = classes_of(y, table)
        self.n_classes_ = len(self.classes_)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most frequent class in the leaf that each row reaches."""
        leaves = self._leaves(X)
        return self.classes_[self.tree_.outcome[leaves]]

    def predict_proba(self, X: Any) -> FloatArray:
        """The shares of the classes, in the order of `classes_`, in the leaf that each row reaches."""
        leaves = self._leaves(X)
        shares: FloatArray = self.tree_.value[leaves]
        return shares

    def predict_log_proba(self, X: Any) -> FloatArray:
        """The logarithms of these shares; minus infinity for a class that the leaf does not hold."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class NumberEstimator(RegressorMixin, TreeEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A tree estimator that predicts numbers."""

    criterion: str

    def predict(self, X: Any) -> FloatArray:
        """The mean of the target in the leaf that each row reaches."""
        leaves = self._leaves(X)
        means: FloatArray = self.tree_.value[leaves, 0]
        return means

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.criterion == "poisson"
        return tags
