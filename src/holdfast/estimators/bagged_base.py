"""What bagging and forests share: the bags, and what the rows outside them say."""

from collections.abc import Iterator
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, NamedTuple

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from holdfast.arrays import FloatArray
from holdfast.data.input.frame import frame_of
from holdfast.data.input.target import Task
from holdfast.data.split.groups import read_groups
from holdfast.data.table import Table
from holdfast.ensembles.bagging import Bagging, check_n_estimators, grow_bagging, voting_by_threshold
from holdfast.ensembles.bags import Sampling
from holdfast.ensembles.importance_table import Importances
from holdfast.ensembles.importances import importances, permutation_importance
from holdfast.ensembles.max_features import MaxFeaturesSearch, MaxFeaturesTable, choose_max_features
from holdfast.ensembles.out_of_bag import Curve, OutOfBag, oob_metric, out_of_bag
from holdfast.ensembles.tree_correlation import TreeCorrelation, tree_correlation
from holdfast.errors import ParameterError
from holdfast.estimators.base import drawn_seed
from holdfast.estimators.ensemble_base import ClassEnsemble, EnsembleEstimator, NumberEnsemble
from holdfast.tree.ensemble import Ensemble

_SEARCHES = ("oob", "cv")  # what max_features can be chosen by
_ON_REQUEST = (
    *("oob_score_", "oob_score_error_"),
    *("oob_curve_", "tree_correlation_", "max_features_table_", "max_features_"),
)


class _Fitted(NamedTuple):
    """The model and all that is told of it."""

    bagging: Bagging
    importances: Importances
    out_of_bag: OutOfBag | None
    max_features: MaxFeaturesTable | None


class BaggedEstimator(EnsembleEstimator):
    """An estimator whose trees are grown on bags of the rows."""

    _task: ClassVar[Task]

    # The parameters that the methods here read.
    n_estimators: int
    bootstrap: bool
    max_samples: int | float | None
    oob_score: Any
    permutation_importance: Any
    verbose: int

    # What fit leaves behind; the last five where they were asked for.
    importances_: Importances
    oob_score_: float
    oob_score_error_: float  # its standard error
    oob_curve_: Curve
    tree_correlation_: TreeCorrelation
    max_features_table_: MaxFeaturesTable
    max_features_: int

    def _fitted(self, table: Table, groups: Any) -> _Fitted:
        """The trees on bags of the table, and what the parameters ask to be told of them."""
        is_scored, is_permuted = self.oob_score not in (False, None), self.permutation_importance
        sampling = self._sampling(table, groups)
        if (is_scored or is_permuted or self._chosen_by() == "oob") and not sampling.leaves_rows_out:
            raise ParameterError(
                "oob_score, permutation_importance and max_features='oob' need rows that are not in the bag, "
                "and bootstrap=False leaves none out: set bootstrap=True, or max_samples below 1.0."
            )
        if self._votes() and self._rules_said("monotonic_cst") and len(table.schema.target.classes) > 2:
            raise ParameterError(
                "monotonic_cst speaks of the probability of a class, and with three classes or more a vote "
                "for one can be lost while it rises: set voting='soft'."
            )
        scoring = oob_metric(self.oob_score or None, table.schema.target)
        bagging, chosen = self._grown(table, sampling, scoring)
        found = out_of_bag(bagging, table, scoring, n_jobs=self.n_jobs) if is_scored else None
        figures = importances(bagging.ensemble.trees)
        if is_permuted:
            how = None if self.permutation_importance is True else self.permutation_importance
            text = "Permuting features" if self.verbose else ""
            lost, metric = permutation_importance(bagging, table, how, n_jobs=self.n_jobs, progress=text)
            figures = replace(figures, permutation=lost, metric=metric)
        return _Fitted(bagging, figures, found, chosen)

    def _sampling(self, table: Table, groups: Any) -> Sampling:
        """How the bags are drawn; a ParameterError names a parameter that is out of range."""
        check_n_estimators(self.n_estimators, "n_estimators")
        group_numbers = None if groups is None else read_groups(groups, table.n_rows)
        return Sampling(drawn_seed(self.random_state), self.bootstrap, self.max_samples, group_numbers)

    def _grown(
        self, table: Table, sampling: Sampling, scoring: Any
    ) -> tuple[Bagging, MaxFeaturesTable | None]:
        progress = "Growing trees" if self.verbose else ""
        votes, chosen_by = self._votes(), self._chosen_by()
        if chosen_by is None:
            rules = self._rules()
            bagging = grow_bagging(
                table,
                rules,
                self.n_estimators,
                sampling=sampling,
                votes=votes,
                n_jobs=self.n_jobs,
                progress=progress,
            )
            return bagging, None
        rules = self._rules(max_features=type(self)().max_features)
        folds = getattr(self, "cv", None)
        search = MaxFeaturesSearch(chosen_by, self.n_estimators, scoring, folds, votes, self.n_jobs, progress)
        return choose_max_features(table, rules, search=search, sampling=sampling)

    def _chosen_by(self) -> Any:
        """What max_features is to be chosen by; None if it is given."""
        max_features = getattr(self, "max_features", None)
        return max_features if isinstance(max_features, str) and max_features in _SEARCHES else None

    def _rules_said(self, name: str) -> bool:
        """True if a growth rule of that name is given, as a parameter or among the rules."""
        ready = getattr(self, "growth_rules", None)
        return getattr(self, name, None) is not None or getattr(ready, name, None) is not None

    def _votes(self) -> bool:
        voting = getattr(self, "voting", "soft")
        if voting not in ("soft", "hard"):
            raise ParameterError(f"voting={voting!r} is unknown: choose 'soft' or 'hard'.")
        return bool(voting == "hard")

    def tree_correlation(self, X: Any, y: Any = None) -> TreeCorrelation:
        """How alike the trees predict the rows X or, given the true values y, how alike their errors are."""
        check_is_fitted(self)
        return tree_correlation(self.ensemble_, self._matched(frame_of(X)), y, **self._policy())

    def _remember_evidence(self, fitted: _Fitted) -> None:
        """Take what is told of the model for that of the fitted one."""
        for name in _ON_REQUEST:  # of an earlier fit
            if hasattr(self, name):
                delattr(self, name)
        self.importances_ = fitted.importances
        if fitted.out_of_bag is not None:
            self.oob_score_ = fitted.out_of_bag.score.value
            self.oob_score_error_ = fitted.out_of_bag.score.error
            self.oob_curve_ = fitted.out_of_bag.curve
            self.tree_correlation_ = fitted.out_of_bag.correlation
        if fitted.max_features is not None:
            self.max_features_table_ = fitted.max_features
            self.max_features_ = fitted.max_features.chosen_value


class BaggedClasses(BaggedEstimator, ClassEnsemble):
    """Bagged trees that predict classes."""

    vote_threshold: float | None
    oob_decision_function_: FloatArray

    def _model_on(self, table: Table, groups: Any) -> Ensemble:
        plain = {"oob_score": False, "permutation_importance": False, "verbose": 0}
        ensemble: Ensemble = self.set_params(**plain)._fitted(table, groups).bagging.ensemble
        return ensemble

    def _remember_evidence(self, fitted: _Fitted) -> None:
        super()._remember_evidence(fitted)
        if hasattr(self, "oob_decision_function_"):
            del self.oob_decision_function_
        if fitted.out_of_bag is not None:
            self.oob_decision_function_ = fitted.out_of_bag.values

    def predict(self, X: Any) -> NDArray[Any]:
        """The most likely class of every row, or the one that most trees vote for; the first in a tie."""
        if self.vote_threshold is None:
            return super().predict(X)
        check_is_fitted(self)
        votes = self._by_threshold().values(self._matched(frame_of(X)), **self._policy())
        predicted: NDArray[Any] = self.classes_[votes.argmax(axis=1)]
        return predicted

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """The class of every row by the first tree, the first two, and so on."""
        if self.vote_threshold is None:
            yield from super().staged_predict(X)
            return
        check_is_fitted(self)
        for votes in self._by_threshold().staged_values(self._matched(frame_of(X)), **self._policy()):
            yield self.classes_[votes.argmax(axis=1)]

    def _by_threshold(self) -> Ensemble:
        """The trees with their votes, of which the threshold decides."""
        self._check_threshold(self.n_classes_)
        return voting_by_threshold(self.ensemble_, float(self.vote_threshold or 0.0))

    def _check_threshold(self, n_classes: int) -> None:
        threshold = self.vote_threshold
        if threshold is None:
            return
        if not isinstance(threshold, Real) or isinstance(threshold, bool) or not 0.0 < threshold <= 1.0:
            raise ParameterError(
                f"vote_threshold={threshold!r} is out of range: it must be above 0 and at most 1, or None."
            )
        if not self._votes():
            raise ParameterError(
                f"vote_threshold={threshold!r} is for trees that vote, and voting='soft' averages them: set "
                "voting='hard'."
            )
        if self.threshold is not None:
            raise ParameterError(
                f"vote_threshold={threshold!r} and threshold={self.threshold!r} both say when a class is "
                "predicted: leave one of them None."
            )
        if n_classes != 2:
            raise ParameterError(
                f"vote_threshold={threshold!r} is for two classes, and the target has {n_classes}: set it to "
                "None."
            )


class BaggedNumbers(BaggedEstimator, NumberEnsemble):
    """Bagged trees that predict a number."""

    oob_prediction_: FloatArray

    def _remember_evidence(self, fitted: _Fitted) -> None:
        super()._remember_evidence(fitted)
        if hasattr(self, "oob_prediction_"):
            del self.oob_prediction_
        if fitted.out_of_bag is not None:
            self.oob_prediction_ = fitted.out_of_bag.values[:, 0]
