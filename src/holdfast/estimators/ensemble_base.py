"""What the estimators of many trees share: the ensemble, its predictions, and those of its first trees."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from holdfast.arrays import FloatArray, IntArray
from holdfast.data.input.frame import Frame
from holdfast.estimators.base import TableEstimator
from holdfast.estimators.predictions import ClassifierBase, RegressorBase
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree


class EnsembleEstimator(TableEstimator):
    """An estimator whose model is an ensemble of trees."""

    n_jobs: int | None
    ensemble_: Ensemble

    def _remember(self, X: Frame, ensemble: Ensemble) -> Self:
        """Take the ensemble for the fitted one, along with the names of the columns of X."""
        self.ensemble_ = ensemble
        self._remember_columns(X.is_named, ensemble.schema)
        return self

    @property
    def estimators_(self) -> list[Tree]:
        """The trees, in the order in which they were grown."""
        check_is_fitted(self)
        return list(self.ensemble_)

    @property
    def feature_importances_(self) -> FloatArray:
        """Fraction of the decrease of impurity that each column brought, averaged over the trees.

        One number per column of X, as scikit-learn's tools expect. What a question of the user brought is
        divided evenly among the columns it reads; `ensemble_.importances` has it undivided, questions last.
        """
        check_is_fitted(self)
        return self._column_importances(self.ensemble_.importances)

    def apply(self, X: Any) -> IntArray:
        """The leaf that each row reaches in each tree, (rows, trees), as an index of a node of the tree."""
        check_is_fitted(self)
        return self.ensemble_.leaves(self._matched(X), **self._policy())

    def _values(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return self.ensemble_.values(self._matched(X), **self._policy())

    def _staged_values(self, X: Any) -> Iterator[FloatArray]:
        check_is_fitted(self)
        return self.ensemble_.staged_values(self._matched(X), **self._policy())

    def _policy(self) -> dict[str, Any]:
        return {
            "handle_unknown": self.handle_unknown,
            "handle_missing": self.handle_missing,
            "n_jobs": self.n_jobs,
        }

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ensemble_")


class ClassEnsemble(EnsembleEstimator, ClassifierBase):
    """An estimator whose trees predict classes together."""

    def _likeliest(self, X: Any) -> IntArray:
        """Index of the class of every row: the most likely, or that of least expected loss."""
        values = self._values(X)
        return self.ensemble_.decided(values)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """The most likely class of every row by the first round of trees, the first two, and so on."""
        for values in self._staged_values(X):
            yield self.classes_[self.ensemble_.decided(values)]

    def staged_predict_proba(self, X: Any) -> Iterator[FloatArray]:
        """The fractions of the classes by the first round of trees, the first two, and so on."""
        yield from self._staged_values(X)


class NumberEnsemble(EnsembleEstimator, RegressorBase):
    """An estimator whose trees predict a number together."""

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """The number for every row by the first round of trees, the first two, and so on."""
        for values in self._staged_values(X):
            yield np.ascontiguousarray(values[:, 0])
