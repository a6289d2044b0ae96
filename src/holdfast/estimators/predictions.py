"""What a model predicts, as scikit-learn asks for it: classes, or numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, clone

from holdfast.arrays import FloatArray, IntArray
from holdfast.data.input.frame import Frame
from holdfast.data.input.target import Task
from holdfast.data.table import Table
from holdfast.estimators.base import TableEstimator, classes_of, drawn_seed
from holdfast.estimators.threshold import FOLDS, Decision, DecisionRule, check_threshold
from holdfast.growth.class_costs import losses_of, plain_losses


class ClassifierBase(ClassifierMixin, TableEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator that predicts classes."""

    # The parameters that the methods here read; those without a threshold have the defaults.
    threshold: Any = None
    loss_matrix: Any = None
    priors: Any = None

    classes_: NDArray[Any]
    n_classes_: int
    decision_threshold_: float  # these two where there is a threshold
    positive_class_: int

    def _remember_classes(self, y: Any, table: Table) -> None:
        self.classes_ = classes_of(y, table)
        self.n_classes_ = len(self.classes_)

    def _table(self, X: Frame | Table, y: Any, sample_weight: Any, task: Task) -> Table:
        table = super()._table(X, y, sample_weight, task)
        classes = table.schema.target.classes
        losses_of(plain_losses(self.loss_matrix), classes)  # before any work
        if self.threshold is not None:
            check_threshold(self.threshold, len(classes))
        return table

    def _model_on(self, table: Table, groups: Any) -> Any:
        """The tree or ensemble that the parameters make of the rows, without a threshold."""
        raise NotImplementedError

    def _choose_threshold(self, table: Table, groups: Any) -> None:
        """Take the threshold that the parameters ask for, or none, for the fitted one."""
        for name in ("decision_threshold_", "positive_class_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if self.threshold is None:
            return
        seed = 0 if self.random_state is None else drawn_seed(self.random_state)
        rule = DecisionRule(self.threshold, self.loss_matrix, self.priors, getattr(self, "cv", FOLDS), seed)
        other = clone(self).set_params(threshold=None)
        decision = rule.decision(table, groups, other._model_on)
        self.decision_threshold_, self.positive_class_ = decision.threshold, decision.positive

    def _with_threshold(self, model: Any) -> Any:
        """The tree or ensemble that predicts by the fitted threshold, if there is one."""
        if "decision_threshold_" not in vars(self) or len(model.schema.target.classes) != 2:
            return model
        return Decision(self.decision_threshold_, self.positive_class_).of(model)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most likely class of every row, or the one that a loss matrix or a threshold asks for."""
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
