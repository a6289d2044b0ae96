"""Bagging and random forests, and what all estimators of many trees share."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from holdfast._arrays import FloatArray, IntArray
from holdfast.data.folds import read_groups
from holdfast.data.frame import Frame, make_frame
from holdfast.data.schema import Label
from holdfast.data.table import Table
from holdfast.ensembles.bagging import Bagging, Sampling, check_n_estimators, grow_bagging, set_vote_threshold
from holdfast.ensembles.importances import Importances, compute_importances, permutation_importance
from holdfast.ensembles.max_features import MaxFeaturesSearch, MaxFeaturesTable, choose_max_features
from holdfast.ensembles.out_of_bag import Curve, make_oob_metric, out_of_bag
from holdfast.ensembles.tree_correlation import TreeCorrelation, tree_correlation
from holdfast.errors import ParameterError
from holdfast.estimators.base import ClassifierBase, RegressorBase, TableEstimator, all_or_nothing, make_seed
from holdfast.growth.class_costs import LossMatrix
from holdfast.growth.rules import Column, GrowthRules, MaxFeatures
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree

_SEARCHES = ("oob", "cv")  # what max_features can be chosen by


# -- many trees -----------------------------------------------------------------------------------------


class EnsembleEstimator(TableEstimator):
    """An estimator whose model is an ensemble of trees."""

    n_jobs: int | None
    ensemble_: Ensemble

    def _set_fitted(self, X: Frame, ensemble: Ensemble) -> Self:
        """Set the fitted ensemble, and the names of the columns of X."""
        self.ensemble_ = ensemble
        self._set_columns(X.is_named, ensemble.schema)
        return self

    @property
    def estimators_(self) -> list[Tree]:
        """The trees, in the order in which they were grown."""
        check_is_fitted(self)
        return list(self.ensemble_)

    @property
    def feature_importances_(self) -> FloatArray:
        """Fraction of the decrease of impurity that each column of X brought, averaged over the trees.

        What a custom feature brought is divided evenly among the columns it reads; `ensemble_.importances`
        has it undivided, custom features last.
        """
        check_is_fitted(self)
        return self._column_importances(self.ensemble_.importances)

    def apply(self, X: Any) -> IntArray:
        """Find the leaf that each row reaches in each tree.

        Parameters
        ----------
        X : array or frame
            Rows, with the columns of `fit`.

        Returns
        -------
        array of shape (n_rows, n_trees)
            Indices of nodes of the trees.
        """
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

    def _predict_class_index(self, X: Any) -> IntArray:
        values = self._values(X)
        return self.ensemble_.predict_indices(values)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Predict the class of every row by the first round of trees, the first two, and so on.

        Parameters
        ----------
        X : array or frame
            Rows to predict, with the columns of `fit`.

        Yields
        ------
        array of shape (n_rows,)
        """
        for values in self._staged_values(X):
            yield self.classes_[self.ensemble_.predict_indices(values)]

    def staged_predict_proba(self, X: Any) -> Iterator[FloatArray]:
        """Predict the probabilities of the classes by the first round of trees, the first two, and so on.

        Parameters
        ----------
        X : array or frame
            Rows to predict, with the columns of `fit`.

        Yields
        ------
        array of shape (n_rows, n_classes)
        """
        yield from self._staged_values(X)


class NumberEnsemble(EnsembleEstimator, RegressorBase):
    """An estimator whose trees predict a number together."""

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """Predict the number for every row by the first round of trees, the first two, and so on.

        Parameters
        ----------
        X : array or frame
            Rows to predict, with the columns of `fit`.

        Yields
        ------
        array of shape (n_rows,)
        """
        for values in self._staged_values(X):
            yield np.ascontiguousarray(values[:, 0])


# -- trees on bags of the rows --------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class BaggedParameters:
    """The parameters of all bagged trees."""

    n_estimators: int = 100
    _: KW_ONLY
    max_depth: int | None = None
    min_samples_leaf: int | float = 1
    max_samples: int | float | None = None
    oob_score: Any = False
    criterion: str = "gini"
    max_leaf_nodes: int | None = None
    min_samples_split: int | float = 2
    min_weight_fraction_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    ccp_alpha: float = 0.0
    monotonic_cst: Mapping[Column, int] | Sequence[int] | None = None
    growth_rules: GrowthRules | None = None
    bootstrap: bool = True
    permutation_importance: Any = False
    custom_features: Sequence[str] | None = None
    categorical_features: Any = "from_dtype"
    handle_unknown: str = "missing"
    handle_missing: str = "learned"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0


class BaggedEstimator(BaggedParameters, EnsembleEstimator):
    """An estimator whose trees are grown on bags of the rows."""

    # Fitted attributes; the last seven are optional.
    importances_: Importances
    oob_score_: float
    oob_score_error_: float  # its standard error
    oob_curve_: Curve
    oob_decision_function_: FloatArray  # of classes
    oob_prediction_: FloatArray  # of numbers
    tree_correlation_: TreeCorrelation
    max_features_table_: MaxFeaturesTable
    max_features_: int

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Grow the trees on bags of the rows.

        Parameters
        ----------
        X : array or frame
            Rows; a frame of any library.
        y : array
            Classes, or numbers.
        sample_weight : array, optional
            Weight of every row; 0 leaves a row out.
        groups : array, optional
            Rows of one group, such as a patient, are drawn together and left out together.

        Returns
        -------
        self
        """
        X = make_frame(X)
        table = self._table(X, y, sample_weight)
        self._check_vote_threshold(len(table.schema.target.classes))
        ensemble = self._grow(table, groups)
        self._choose_threshold(table, groups)
        self._set_classes(y, table)
        return self._set_fitted(X, self._with_threshold(ensemble))

    def _fit_model(self, table: Table, groups: Any) -> Ensemble:
        """The trees alone, without a threshold."""
        self.set_params(oob_score=False, permutation_importance=False, verbose=0)
        return self._grow(table, groups)

    def _grow(self, table: Table, groups: Any) -> Ensemble:
        """Grow the trees on bags of the table, and compute the out-of-bag measures of the parameters."""
        is_scored, is_permuted = self.oob_score not in (False, None), self.permutation_importance
        check_n_estimators(self.n_estimators, "n_estimators")
        group_numbers = None if groups is None else read_groups(groups, table.n_rows)
        sampling = Sampling(make_seed(self.random_state), self.bootstrap, self.max_samples, group_numbers)
        if (is_scored or is_permuted or self._search() == "oob") and not sampling.leaves_rows_out:
            raise ParameterError(
                "oob_score, permutation_importance and max_features='oob' need rows that are not in the bag, "
                "and bootstrap=False leaves none out: set bootstrap=True, or max_samples below 1.0."
            )
        is_monotone = self._rule("monotonic_cst") is not None
        if self._votes() and is_monotone and len(table.schema.target.classes) > 2:
            raise ParameterError(
                "monotonic_cst is about the probability of a class, and with three classes or more a vote "
                "for one can be lost while it rises: set voting='soft'."
            )
        scoring = make_oob_metric(self.oob_score or None, table.schema.target)
        bagging, max_features = self._grow_bagging(table, sampling, scoring)
        found = out_of_bag(bagging, table, scoring, n_jobs=self.n_jobs) if is_scored else None
        figures = compute_importances(bagging.ensemble.trees)
        if is_permuted:
            by = None if self.permutation_importance is True else self.permutation_importance
            text = "Permuting features" if self.verbose else ""
            lost, metric = permutation_importance(bagging, table, by, n_jobs=self.n_jobs, progress=text)
            figures = replace(figures, permutation=lost, metric=metric)
        for name in (
            "oob_score_",
            "oob_score_error_",
            "oob_curve_",
            "oob_decision_function_",
            "oob_prediction_",
            "tree_correlation_",
        ):
            self.__dict__.pop(name, None)  # of an earlier fit
        self.importances_ = figures
        if found is not None:
            self.oob_score_, self.oob_score_error_ = found.score.value, found.score.error
            self.oob_curve_ = found.curve
            self.tree_correlation_ = found.correlation
            if table.schema.target.is_classes:
                self.oob_decision_function_ = found.values
            else:
                self.oob_prediction_ = found.values[:, 0]
        for name in ("max_features_table_", "max_features_"):
            self.__dict__.pop(name, None)
        if max_features is not None:
            self.max_features_table_, self.max_features_ = max_features, max_features.chosen_value
        return bagging.ensemble

    def _grow_bagging(
        self, table: Table, sampling: Sampling, scoring: Any
    ) -> tuple[Bagging, MaxFeaturesTable | None]:
        progress = "Growing trees" if self.verbose else ""
        votes, searched = self._votes(), self._search()
        if searched is None:
            options: Any = {"votes": votes, "n_jobs": self.n_jobs, "progress": progress}
            bagging = grow_bagging(table, self._rules(), self.n_estimators, sampling=sampling, **options)
            return bagging, None
        rules = self._rules(max_features=type(self)().max_features)
        folds = getattr(self, "cv", None)
        search = MaxFeaturesSearch(searched, self.n_estimators, scoring, folds, votes, self.n_jobs, progress)
        return choose_max_features(table, rules, search=search, sampling=sampling)

    def _search(self) -> Any:
        """By what max_features is to be chosen; None if it is given."""
        max_features = getattr(self, "max_features", None)
        return max_features if isinstance(max_features, str) and max_features in _SEARCHES else None

    def _votes(self) -> bool:
        voting = getattr(self, "voting", "soft")
        if voting not in ("soft", "hard"):
            raise ParameterError(f"voting={voting!r} is unknown: choose 'soft' or 'hard'.")
        return bool(voting == "hard")

    def _check_vote_threshold(self, n_classes: int) -> None:
        """Raise a ParameterError for a `vote_threshold` that is out of range; regressors have none."""

    def tree_correlation(self, X: Any, y: Any = None) -> TreeCorrelation:
        """Measure how alike the trees predict or, given the true values, how alike their errors are.

        Parameters
        ----------
        X : array or frame
            Rows, with the columns of `fit`.
        y : array, optional
            True classes or numbers.

        Returns
        -------
        TreeCorrelation
            Prints itself.
        """
        check_is_fitted(self)
        return tree_correlation(self.ensemble_, self._matched(make_frame(X)), y, **self._policy())


@dataclass(eq=False, repr=False, kw_only=True)
class BaggedClasses(BaggedEstimator, ClassEnsemble):
    """Bagged trees that predict classes: the parameters of `BaggingClassifier` and `ForestClassifier`."""

    class_weight: Mapping[Label, float] | Literal["balanced"] | None = None
    loss_matrix: LossMatrix = None
    threshold: float | Literal["cost"] | None = None
    voting: Literal["soft", "hard"] = "soft"
    vote_threshold: float | None = None

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        X : array or frame
            Rows to predict, with the columns of `fit`. A frame is matched by name.

        Returns
        -------
        array of shape (n_rows,)
            The most probable class, or the one that most trees vote for; the first in a tie.
        """
        if self.vote_threshold is None:
            return super().predict(X)
        check_is_fitted(self)
        votes = self._by_threshold().values(self._matched(make_frame(X)), **self._policy())
        predicted: NDArray[Any] = self.classes_[votes.argmax(axis=1)]
        return predicted

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Predict the class of every row by the first tree, the first two, and so on.

        Parameters
        ----------
        X : array or frame
            Rows to predict, with the columns of `fit`.

        Yields
        ------
        array of shape (n_rows,)
        """
        if self.vote_threshold is None:
            yield from super().staged_predict(X)
            return
        check_is_fitted(self)
        for votes in self._by_threshold().staged_values(self._matched(make_frame(X)), **self._policy()):
            yield self.classes_[votes.argmax(axis=1)]

    def _by_threshold(self) -> Ensemble:
        """The trees with their votes by `vote_threshold`."""
        self._check_vote_threshold(self.n_classes_)
        return set_vote_threshold(self.ensemble_, float(self.vote_threshold or 0.0))

    def _check_vote_threshold(self, n_classes: int) -> None:
        given, text = self.vote_threshold, f"vote_threshold={self.vote_threshold!r}"
        if given is None:
            return
        if not isinstance(given, Real) or isinstance(given, bool) or not 0.0 < given <= 1.0:
            raise ParameterError(f"{text} is out of range: it must be above 0 and at most 1, or None.")
        if not self._votes():
            raise ParameterError(
                f"{text} is for trees that vote, and voting='soft' averages them: set voting='hard'."
            )
        if self.threshold is not None:
            raise ParameterError(
                f"{text} and threshold={self.threshold!r} both say when a class is predicted: leave one of "
                "them None."
            )
        if n_classes != 2:
            raise ParameterError(
                f"{text} is for two classes, and the target has {n_classes}: set it to None."
            )


@dataclass(eq=False, repr=False, kw_only=True)
class BaggingClassifier(BaggedClasses):
    """Trees on bootstrap samples of the rows, which predict classes together.

    The mean of many trees varies less than any of them, as far as they differ from each other. Text,
    categories and missing values are read as they are.

    Parameters
    ----------
    n_estimators : int
        *Matters most.* Number of trees: more of them never hurt, beyond the time that they take.
    max_depth, min_samples_leaf
        *Matters most.* The size of every tree, as in `TreeClassifier`.
    max_samples : int, float or None
        *Matters most.* Draws, or fraction of the rows (or groups), of the bag of a tree. None: about as many
        as there are rows.
    oob_score : bool, str or scorer
        *Matters most.* True scores every row by the trees whose bags do not hold it: the accuracy, or that of
        "auc", "log_loss" or any scorer that is given instead. Losses are negated.
    criterion, max_leaf_nodes, min_samples_split, min_weight_fraction_leaf, min_impurity_decrease, ccp_alpha,
    monotonic_cst, growth_rules
        As in `TreeClassifier`, for every tree.
    bootstrap : bool
        True: rows are drawn with replacement. False: without, exactly as many.
    permutation_importance : bool, str or scorer
        True measures, on the rows outside the bags, what every tree's accuracy loses as each feature is
        permuted; the name of another metric, or a scorer, measures that.
    custom_features, categorical_features, handle_unknown, handle_missing
        As in `TreeClassifier`.
    n_jobs : int, optional
        Threads that grow the trees and predict; -1 for all cores. They change no bit of the model.
    random_state : int, generator or None
        With the same seed the same rows give the same model, in any order, and rows that stay keep their bags
        when others come or go.
    verbose : int
        1 shows a progress bar.
    class_weight
        As in `TreeClassifier`; "balanced" and priors weigh the classes of all rows.
    loss_matrix, threshold
        As in `TreeClassifier`: trees grow by altered priors, and the class of least expected loss by their
        mean is predicted; with voting="hard" each votes for its own. "cost" fits the model once more for each
        of 5 folds.
    voting : str
        "soft" averages the class fractions of the trees; "hard" lets each tree vote for one class.
    vote_threshold : float, optional
        With two classes and voting="hard": a tree votes for the second class where its fraction in the leaf
        is at least this, not where it is the larger one. It changes `predict`; probabilities and out-of-bag
        scores are those of votes without it.

    Attributes
    ----------
    ensemble_ : Ensemble
        The trees together; `ensemble_[0]` is the first `Tree`, and `estimators_` a list of all.
    importances_ : Importances
        Of every feature the total decrease of impurity, the decrease per split and, on request, the loss by
        permutation, each with its spread over the trees. It prints itself as a table.
    feature_importances_ : array
        One number per column; the share of a custom feature is divided among its columns.
    oob_score_, oob_curve_, oob_decision_function_
        With `oob_score`: the score, that of the first trees by their number, and the class fractions of every
        row, NaN where all bags hold it.
    tree_correlation_ : TreeCorrelation
        With `oob_score`: the squared error of one tree and the correlation of the errors of two trees, on
        rows that neither was grown on. `tree_correlation(X, y)` measures it on other rows.
    schema_, classes_, n_classes_, n_features_in_, feature_names_in_, n_outputs_
        As in `TreeClassifier`.

    Examples
    --------
    >>> X, y = [[float(age)] for age in range(20, 80)], ["no"] * 30 + ["yes"] * 30
    >>> model = BaggingClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> print(model.predict([[35.0], [65.0]]), round(model.oob_score_, 2))
    ['no' 'yes'] 0.98
    """


@dataclass(eq=False, repr=False, kw_only=True)
class BaggingRegressor(BaggedEstimator, NumberEnsemble):
    """Trees on bootstrap samples of the rows, whose mean predicts a number.

    Parameters
    ----------
    criterion : str
        As in `TreeRegressor`; with quantiles the mean of those of the trees is predicted.
    oob_score : bool, str or scorer
        R² by default.
    permutation_importance : bool, str or scorer
        The squared error by default.
    others
        As in `BaggingClassifier`, without those about classes.

    Attributes
    ----------
    oob_prediction_ : array
        Instead of `oob_decision_function_`; all others are as in `BaggingClassifier`.

    Examples
    --------
    >>> X, y = [[float(age)] for age in range(20, 80)], [float(age // 20) for age in range(20, 80)]
    >>> print(BaggingRegressor(random_state=0).fit(X, y).predict([[30.0], [50.0]]))
    [1. 2.]
    """

    criterion: str = "squared_error"


# -- random forests -------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False, kw_only=True)
class ForestClassifier(BaggedClasses):
    """A random forest: trees on bootstrap samples, each split chosen among features drawn at random.

    Trees that cannot all split on the strongest feature first differ more, and so their mean varies less.
    Text, categories and missing values are read as they are. `growth_rules=GrowthRules(splitter="random")`
    with bootstrap=False gives a forest of extra-random trees.

    Parameters
    ----------
    n_estimators, max_depth, min_samples_leaf, max_samples, oob_score
        *Matter most.* As in `BaggingClassifier`.
    max_features : int, float, str or None
        *Matters most.* Features drawn at every split: a number, a fraction, "sqrt", "log2", "third", or None
        for all. "oob" tries several numbers and takes the one with the best out-of-bag score, all on the same
        bags; "cv" the one with the best mean score on held-out rows, in `cv` folds. The score is that of
        `oob_score`.
    cv
        Folds of max_features="cv" and of threshold="cost".
    others
        As in `BaggingClassifier`.

    Attributes
    ----------
    max_features_, max_features_table_
        Where the number of features was chosen: the number, and the scores of all that were tried.
    others
        As in `BaggingClassifier`.

    Examples
    --------
    >>> X, y = [[float(age), float(age % 7)] for age in range(20, 80)], ["no"] * 30 + ["yes"] * 30
    >>> model = ForestClassifier(random_state=0).fit(X, y)
    >>> print(model.predict([[35.0, 1.0], [65.0, 1.0]]))
    ['no' 'yes']
    """

    max_features: MaxFeatures | Literal["oob", "cv"] = "sqrt"
    cv: Any = 5


@dataclass(eq=False, repr=False, kw_only=True)
class ForestRegressor(BaggedEstimator, NumberEnsemble):
    """A random forest that predicts numbers: the mean of its trees.

    A third of the features is drawn at every split, and leaves hold at least five rows.

    Parameters
    ----------
    criterion, oob_score, permutation_importance
        As in `BaggingRegressor`.
    others
        As in `ForestClassifier`, without those about classes.

    Attributes
    ----------
    oob_prediction_ : array
        Instead of `oob_decision_function_`; all others are as in `ForestClassifier`.

    Examples
    --------
    >>> X, y = [[float(age)] for age in range(20, 80)], [float(age // 20) for age in range(20, 80)]
    >>> print(ForestRegressor(random_state=0).fit(X, y).predict([[30.0], [50.0]]))
    [1. 2.]
    """

    criterion: str = "squared_error"
    min_samples_leaf: int | float = 5
    max_features: MaxFeatures | Literal["oob", "cv"] = "third"
    cv: Any = 5
