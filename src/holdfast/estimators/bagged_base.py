"""What bagging and forests share: the bags, and what the rows outside them say."""

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from holdfast.arrays import FloatArray
from holdfast.data.input.target import Task
from holdfast.data.split.groups import read_groups
from holdfast.data.table import Table
from holdfast.ensembles.bagging import Bagging, check_n_trees, grow_bagging
from holdfast.ensembles.bags import Sampling
from holdfast.ensembles.features_drawn import MaxFeaturesTable, Search, choose_max_features
from holdfast.ensembles.importance_table import Importances
from holdfast.ensembles.importances import importances, permutation_importance
from holdfast.ensembles.out_of_bag import Curve, OutOfBag, oob_metric, out_of_bag
from holdfast.errors import RulesError
from holdfast.estimators.base import drawn_seed
from holdfast.estimators.ensemble_base import EnsembleEstimator

_SEARCHES = ("oob", "cv")  # what max_features can be chosen by


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

    # What fit leaves behind; the last four where they were asked for.
    importances_: Importances
    oob_score_: float
    oob_curve_: Curve
    max_features_table_: MaxFeaturesTable
    max_features_: int

    def _fitted(self, table: Table, groups: Any) -> _Fitted:
        """The trees on bags of the table, and what the parameters ask to be told of them."""
        is_scored, is_permuted = self.oob_score not in (False, None), self.permutation_importance
        sampling = self._sampling(table, groups)
        if (is_scored or is_permuted or self._selection_rule() == "oob") and not sampling.leaves_rows_out:
            raise RulesError(
                "oob_score, permutation_importance and max_features='oob' need rows that are not in the bag, "
                "and bootstrap=False leaves none out: set bootstrap=True, or max_samples below 1.0."
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
        """How the bags are drawn; a RulesError names a parameter that is out of range."""
        check_n_trees(self.n_estimators, "n_estimators")
        marks = None if groups is None else read_groups(groups, table.n_rows)
        return Sampling(drawn_seed(self.random_state), self.bootstrap, self.max_samples, marks)

    def _grown(
        self, table: Table, sampling: Sampling, scoring: Any
    ) -> tuple[Bagging, MaxFeaturesTable | None]:
        progress = "Growing trees" if self.verbose else ""
        votes, selection_rule = self._votes(), self._selection_rule()
        if selection_rule is None:
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
        search = Search(selection_rule, self.n_estimators, scoring, folds, votes, self.n_jobs, progress)
        return choose_max_features(table, rules, search=search, sampling=sampling)

    def _selection_rule(self) -> Any:
        """What max_features is to be chosen by; None if it is given."""
        selection_rule = getattr(self, "max_features", None)
        return selection_rule if isinstance(selection_rule, str) and selection_rule in _SEARCHES else None

    def _votes(self) -> bool:
        voting = getattr(self, "voting", "soft")
        if voting not in ("soft", "hard"):
            raise RulesError(f"voting={voting!r} is unknown: choose 'soft' or 'hard'.")
        return bool(voting == "hard")

    def _remember_evidence(self, fitted: _Fitted) -> None:
        """Take what is told of the model for that of the fitted one."""
        for name in ("oob_score_", "oob_curve_", "max_features_table_", "max_features_"):  # of an earlier fit
            if hasattr(self, name):
                delattr(self, name)
        self.importances_ = fitted.importances
        if fitted.out_of_bag is not None:
            self.oob_score_ = fitted.out_of_bag.score.value
            self.oob_curve_ = fitted.out_of_bag.curve
        if fitted.max_features is not None:
            self.max_features_table_ = fitted.max_features
            self.max_features_ = fitted.max_features.chosen_value


class BaggedClasses(BaggedEstimator):
    """Bagged trees that predict classes."""

    oob_decision_function_: FloatArray

    def _remember_evidence(self, fitted: _Fitted) -> None:
        super()._remember_evidence(fitted)
        if hasattr(self, "oob_decision_function_"):
            del self.oob_decision_function_
        if fitted.out_of_bag is not None:
            self.oob_decision_function_ = fitted.out_of_bag.values


class BaggedNumbers(BaggedEstimator):
    """Bagged trees that predict a number."""

    oob_prediction_: FloatArray

    def _remember_evidence(self, fitted: _Fitted) -> None:
        super()._remember_evidence(fitted)
        if hasattr(self, "oob_prediction_"):
            del self.oob_prediction_
        if fitted.out_of_bag is not None:
            self.oob_prediction_ = fitted.out_of_bag.values[:, 0]
