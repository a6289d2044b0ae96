"""What a model predicts, as scikit-learn asks for it: classes, or numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from holdfast.arrays import FloatArray, IntArray
from holdfast.data.table import Table
from holdfast.estimators.base import TableEstimator, classes_of


class ClassifierBase(ClassifierMixin, TableEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator that predicts classes."""

    classes_: NDArray[Any]
    n_classes_: int

    def _remember_classes(self, y: Any, table: Table) -> None:
        self.classes_ = classes_of(y, table)
        self.n_classes_ = len(self.classes_)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most likely class of every row."""
        places = self._likeliest(X)
        predicted: NDArray[Any] = self.classes_[places]
        return predicted

    def _likeliest(self, X: Any) -> IntArray:
        """Index of the class of every row; the first of them in a tie."""
        return np.asarray(self._values(X).argmax(axis=1), np.int32)

    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of every class, in the order of `classes_`, for every row."""
        return self._values(X)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """The logarithms of these probabilities; minus infinity where one is 0."""
        values = self._values(X)
        with np.errstate(divide="ignore"):
            return np.log(values)


class RegressorBase(RegressorMixin, TableEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator that predicts numbers."""

    def predict(self, X: Any) -> FloatArray:
        """The number that the model expects for every row."""
        return self._values(X)[:, 0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = getattr(self, "criterion", None) == "poisson"
        return tags
