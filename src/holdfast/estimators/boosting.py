"""Gradient boosting and AdaBoost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Self

from sklearn.utils.validation import check_is_fitted

from holdfast._arrays import FloatArray
from holdfast._text import quoted
from holdfast.data.frame import make_frame
from holdfast.data.schema import Label
from holdfast.data.table import Table
from holdfast.ensembles.adaboost import grow_adaboost
from holdfast.ensembles.bagging import check_n_estimators
from holdfast.ensembles.boosting import Boosting, BoostingSettings, EarlyStopping, boost
from holdfast.ensembles.losses import ClassLoss, NumberLoss
from holdfast.errors import ParameterError
from holdfast.estimators.base import all_or_nothing, make_seed
from holdfast.estimators.forest import ClassEnsemble, EnsembleEstimator, NumberEnsemble
from holdfast.growth.class_costs import LossMatrix
from holdfast.growth.rules import Column, GrowthRules, MaxFeatures
from holdfast.tree.ensemble import Ensemble

# The growth rules of boosting that are no parameters.
BOOSTING_RULES = (
    *("categories", "priors", "monotonic_class"),
    *("interaction_cst", "excluded_features", "feature_costs"),
)


@dataclass(eq=False, repr=False, kw_only=True)
class BoostingParameters:
    """The parameters of `BoostingClassifier` and `BoostingRegressor`."""

    n_estimators: int = 100
    learning_rate: float = 0.1
    max_depth: int | None = 3
    min_samples_leaf: int | float = 10
    subsample: float = 1.0
    early_stopping: EarlyStopping = False
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    l2_regularization: float = 0.0
    max_features: MaxFeatures = None
    monotonic_cst: Mapping[Column, int] | Sequence[int] | None = None
    growth_rules: GrowthRules | None = None
    second_order: bool = True
    leaf_steps: int = 1
    splits: Literal["auto", "exact", "binned"] = "auto"
    start: Literal["constant", "zero"] = "constant"
    cv: Any = 5
    validation_fraction: float = 0.1
    n_iter_no_change: int = 10
    tol: float = 1e-7
    custom_features: Sequence[str] | None = None
    categorical_features: Any = "from_dtype"
    handle_unknown: str = "missing"
    handle_missing: str = "learned"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0


class BoostedEstimator(BoostingParameters, EnsembleEstimator):
    """An estimator whose trees are boosted."""

    # Fitted attributes.
    n_estimators_: int
    train_loss_: FloatArray
    validation_loss_: FloatArray
    oob_scores_: FloatArray
    oob_improvement_: FloatArray

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Boost trees on the rows.

        Parameters
        ----------
        X : array or frame
            Rows; a frame of any library.
        y : array
            Classes, or numbers.
        sample_weight : array, optional
            Weight of every row; 0 leaves a row out.
        groups : array, optional
            Rows of one group, such as a patient, are held out, and left out of a round, together.

        Returns
        -------
        self
        """
        X = make_frame(X)
        table = self._table(X, y, sample_weight)
        boosted = self._boost(table, groups)
        self._choose_threshold(table, groups)
        self.n_estimators_ = boosted.n_estimators
        self.train_loss_, self.validation_loss_ = boosted.train_loss, boosted.validation_loss
        self.oob_scores_, self.oob_improvement_ = boosted.oob_scores, boosted.oob_improvement
        self._set_classes(y, table)
        return self._set_fitted(X, self._with_threshold(boosted.ensemble))

    def _fit_model(self, table: Table, groups: Any) -> Ensemble:
        """The trees alone, without a threshold."""
        self.set_params(verbose=0)
        return self._boost(table, groups).ensemble

    def _boosting_settings(self) -> BoostingSettings:
        """Collect the settings; a ParameterError names one that is out of range."""
        self._check_policies()
        parameters, rules = self.get_params(deep=False), self._explicit("growth_rules")
        if others := [name for name in rules if name not in BOOSTING_RULES]:
            raise ParameterError(
                f"growth_rules of boosting are {quoted(BOOSTING_RULES)}, got {quoted(tuple(others))}: the "
                "others are parameters of the model, or are for single trees."
            )
        names = [each.name for each in fields(BoostingSettings)]
        return BoostingSettings(**{name: parameters[name] for name in names if name in parameters}, **rules)

    def _boost(self, table: Table, groups: Any) -> Boosting:
        settings = self._boosting_settings()
        is_drawn = (
            settings.max_features is not None
            or settings.subsample < 1.0
            or bool(settings.early_stopping)
            or settings.leaf_values == "honest"
        )
        return boost(
            table,
            settings,
            groups=groups,
            seed=make_seed(self.random_state, is_drawn),
            n_jobs=self.n_jobs,
            progress="boosting" if self.verbose else "",
        )


@dataclass(eq=False, repr=False, kw_only=True)
class BoostingClassifier(BoostedEstimator, ClassEnsemble):
    """Gradient boosting of small trees that predict classes.

    With more than two classes, each round grows one tree for every class. Text, categories and missing values
    are read as they are, and integer weights count as repeated rows (where rows are drawn or held out, a row
    with its weight is one).

    Parameters
    ----------
    n_estimators : int
        *Matters most.* Rounds of boosting; the greatest number with early_stopping.
    learning_rate : float
        *Matters most.* The fraction of its step that each tree takes: smaller ones need more rounds, and
        often end up better.
    max_depth : int or None
        *Matters most.* The interaction depth: how many features can act together. None: no limit.
    min_samples_leaf : int or float
        *Matters most.* The fewest rows in a leaf; a float is a fraction of all rows.
    subsample : float
        *Matters most.* Fraction of the rows that each round learns from, drawn without replacement. Below 1,
        `oob_scores_` and `oob_improvement_` are measured on the rows that the round left out.
    early_stopping : bool, "cv" or "oob"
        *Matters most.* True holds out `validation_fraction` of the rows and ends when their loss has not
        fallen by `tol` for `n_iter_no_change` rounds; the model has the rounds up to its lowest. "cv" takes
        the number of rounds with the lowest mean loss over `cv` folds and boosts on all rows again. "oob",
        with `subsample` below 1, holds no rows out: it adds up `oob_improvement_` and keeps the rounds up to
        the highest sum. That costs no time, and stops too early: earlier rounds knew these rows.
    max_leaf_nodes : int or None
        The most leaves of a tree, the most useful splits made first; with max_depth=None they alone limit it.
    min_impurity_decrease : float
        A split is made if it gains at least this much: twice the decrease of the loss, by its parabola.
    l2_regularization : float
        Added to the hessian of each leaf, so that small leaves take smaller steps.
    max_features : int, float, str or None
        Features drawn at every split: a number, a fraction, "sqrt", "log2" or "third". None: all.
    monotonic_cst
        As in `TreeClassifier`.
    growth_rules : GrowthRules, optional
        `categories`, `priors`, `monotonic_class`, `interaction_cst`, `excluded_features` and `feature_costs`.
    second_order : bool
        True chooses splits by gradient and hessian of the loss (Newton's method), False by the gradient
        alone, as a regression tree on the pseudo-residuals.
    leaf_steps : int
        Newton steps that each leaf takes towards its best value. For one score only, not with several
        classes; losses of medians and quantiles need none.
    splits : str
        "exact" looks between any two values, "binned" between at most 240 bins of each column, which is much
        faster for many rows; "auto" takes bins for more than 10,000 rows, and for l2_regularization.
    start : str
        "constant" starts from the constant of least loss, "zero" from zero.
    cv, validation_fraction, n_iter_no_change, tol
        See `early_stopping`; `cv` are also the folds of threshold="cost".
    custom_features, categorical_features, handle_unknown, handle_missing
        As in `TreeClassifier`.
    n_jobs : int, optional
        Threads that count, grow and predict; -1 for all cores. They change no bit of the model.
    random_state : int, generator or None
        Used where rows or features are drawn.
    verbose : int
        1 shows a progress bar.
    loss : str
        "log_loss", or "exponential" for two classes, which is the loss of AdaBoost.
    class_weight : mapping, "balanced" or None
        Weight of each class by its label.
    loss_matrix, threshold
        As in `TreeClassifier`. A loss matrix decides which class is predicted, and leaves growth, which is by
        probabilities, alone. "cost" fits the model once more for each of `cv` folds.

    Attributes
    ----------
    ensemble_ : Ensemble
        The trees together; `ensemble_[0]` is the first `Tree`, and `estimators_` a list of all.
    n_estimators_ : int
        Rounds that the model has.
    train_loss_, validation_loss_, oob_scores_ : array
        The mean loss after every round that was tried, on the rows that the round learned from, on those held
        out, and on those that the round left out; empty where there are none. It is the log loss, or the mean
        of exp(-y score) for classes y of -1 and 1.
    oob_improvement_ : array
        By how much every round lowered the mean loss of the rows that it left out.
    schema_, classes_, n_classes_, n_features_in_, feature_names_in_, feature_importances_, n_outputs_
        As in `TreeClassifier`; importances are fractions of the gain of all splits.

    Examples
    --------
    >>> X, y = [[float(age)] for age in range(20, 80)], ["no"] * 30 + ["yes"] * 30
    >>> model = BoostingClassifier(n_estimators=20).fit(X, y)
    >>> print(model.predict([[35.0], [65.0]]))
    ['no' 'yes']
    """

    loss: ClassLoss = "log_loss"
    class_weight: Mapping[Label, float] | Literal["balanced"] | None = None
    loss_matrix: LossMatrix = None
    threshold: float | Literal["cost"] | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.loss != "exponential"
        return tags

    def decision_function(self, X: Any) -> FloatArray:
        """Compute the scores before they become probabilities.

        Parameters
        ----------
        X : array or frame
            Rows to predict, with the columns of `fit`.

        Returns
        -------
        array of shape (n_rows, n_classes), or (n_rows,) for two classes
        """
        check_is_fitted(self)
        scores = self.ensemble_.scores(self._matched(X), **self._policy())
        return scores[:, 0] if scores.shape[1] == 1 else scores


@dataclass(eq=False, repr=False, kw_only=True)
class BoostingRegressor(BoostedEstimator, NumberEnsemble):
    """Gradient boosting of small trees that predict a number.

    Text, categories and missing values are read as they are, and integer weights count as repeated rows.

    Parameters
    ----------
    loss : str
        "squared_error"; "absolute_error"; "huber", which counts the fraction `alpha` of the residuals squared
        and the largest ones as they are; "quantile", which predicts that `quantile` (or `alpha`, as
        scikit-learn calls it too); or "poisson" for counts, which predicts the exponential of the score.
    alpha, quantile : float
        See `loss`.
    leaf_values : str
        Of "absolute_error", "huber" and "quantile": "labels" takes the quantile of the rows that a tree was
        grown on. "honest" grows every tree on half of the rows of its round, and takes the quantiles of the
        other half: high and low quantiles then hold on new rows, too.
    others
        As in `BoostingClassifier`, without those about classes.

    Attributes
    ----------
    train_loss_, validation_loss_, oob_scores_, oob_improvement_ : array
        As in `BoostingClassifier`. The loss of "squared_error" is half the squared error, as is that of
        "huber" for small residuals; that of "poisson" is rate - y log(rate), half the deviance but for a
        constant.
    others
        As in `BoostingClassifier`, without those about classes.

    Examples
    --------
    >>> X, y = [[float(age)] for age in range(20, 80)], [0.0] * 30 + [10.0] * 30
    >>> BoostingRegressor(n_estimators=50).fit(X, y).predict([[35.0], [65.0]]).round(1)
    array([ 0., 10.])
    """

    loss: NumberLoss = "squared_error"
    alpha: float = 0.9
    quantile: float | None = None
    leaf_values: Literal["labels", "honest"] = "labels"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.loss == "poisson"
        tags.regressor_tags.poor_score = self.loss == "quantile"  # R² is about means
        return tags


class _AdaBoostEstimator(ClassEnsemble):
    """The fitted attributes of `AdaBoostClassifier`."""

    estimator_weights_: FloatArray
    estimator_errors_: FloatArray


@dataclass(eq=False, repr=False, kw_only=True)
class AdaBoostClassifier(_AdaBoostEstimator):
    """AdaBoost: small trees that vote, each grown on rows that weigh more where the trees before it erred.

    For two classes this is the classic AdaBoost with its exponential loss, for more it is SAMME. The same
    data give the same trees, in any order of the rows; text, categories and missing values are read as they
    are, and integer weights count as repeated rows.

    Parameters
    ----------
    n_estimators : int
        The most trees to grow. Boosting ends earlier at a tree that makes no mistake, or once a tree is no
        better than guessing.
    learning_rate : float
        How much each vote counts, and how far the weights of the rows move; less needs more trees.
    max_depth, max_leaf_nodes : int or None
        The greatest number of splits on a path, and of leaves, of every tree. None: no limit.
    criterion, min_samples_split, min_samples_leaf, growth_rules
        As in `TreeClassifier`, for every tree.
    max_features : int, float, str or None
        Features drawn at every split: a number, a fraction, "sqrt", "log2" or "third". None: all.
    custom_features, categorical_features, handle_unknown, handle_missing
        As in `TreeClassifier`.
    n_jobs : int, optional
        Threads that predict; -1 for all cores. The trees are grown one after the other.
    random_state : int, generator or None
        Used where features are drawn.

    Attributes
    ----------
    ensemble_ : Ensemble
        The trees and their votes; `estimators_` is a list of the trees.
    estimator_weights_, estimator_errors_ : array
        The weight of the vote of each tree, and the fraction of the weight of the rows that it got wrong, as
        they weighed when it was grown.
    classes_, n_classes_, schema_, n_features_in_, feature_names_in_, feature_importances_, n_outputs_
        As in `TreeClassifier`; importances are the mean over the trees, weighted by their votes.

    Examples
    --------
    >>> X, y = [[1.0], [2.0], [3.0], [4.0], [5.0]], ["no", "yes", "yes", "no", "no"]
    >>> model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    >>> print(model.predict([[1.0], [2.5], [4.5]]))
    ['no' 'yes' 'no']
    """

    n_estimators: int = 50
    learning_rate: float = 1.0
    max_depth: int | None = 1
    criterion: str = "gini"
    max_leaf_nodes: int | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float = 1
    max_features: MaxFeatures = None
    growth_rules: GrowthRules | None = None
    custom_features: Sequence[str] | None = None
    categorical_features: Any = "from_dtype"
    handle_unknown: str = "missing"
    handle_missing: str = "learned"
    n_jobs: int | None = None
    random_state: Any = None

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array or frame
            Rows; a frame of any library.
        y : array
            Classes.
        sample_weight : array, optional
            Weight of every row; 0 leaves a row out.

        Returns
        -------
        self
        """
        check_n_estimators(self.n_estimators, "n_estimators")
        rules = self._rules()
        X = make_frame(X)
        table = self._table(X, y, sample_weight)
        seed = make_seed(self.random_state, rules.draws)
        boosted = grow_adaboost(table, rules, self.n_estimators, learning_rate=self.learning_rate, seed=seed)
        self.estimator_weights_ = boosted.ensemble.weights
        self.estimator_errors_ = boosted.errors
        self._set_classes(y, table)
        return self._set_fitted(X, boosted.ensemble)

    def decision_function(self, X: Any) -> FloatArray:
        """Sum the votes for each class; their softmax is `predict_proba`.

        Parameters
        ----------
        X : array or frame
            Rows to predict, with the columns of `fit`.

        Returns
        -------
        array of shape (n_rows, n_classes), or (n_rows,) for two classes
            For two classes the votes for the second class minus those for the first: the log odds.
        """
        check_is_fitted(self)
        votes = self.ensemble_.scores(self._matched(X), **self._policy())
        return votes[:, 1] - votes[:, 0] if self.n_classes_ == 2 else votes
