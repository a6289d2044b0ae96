"""Gradient boosting, with the face of scikit-learn."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from sklearn.utils.validation import check_is_fitted

from holdfast.arrays import FloatArray
from holdfast.data.input.frame import frame_of
from holdfast.data.schema import Label
from holdfast.data.table import Table
from holdfast.ensembles.boosting_settings import EarlyStopping
from holdfast.ensembles.losses import ClassLoss, NumberLoss
from holdfast.estimators.boosted_base import BoostedEstimator
from holdfast.estimators.ensemble_base import ClassEnsemble, NumberEnsemble
from holdfast.growth.class_costs import LossMatrix, Priors
from holdfast.growth.rules import Categories, Column, Interactions, MaxFeatures
from holdfast.tree.ensemble import Ensemble


class BoostingClassifier(BoostedEstimator, ClassEnsemble):
    """Small trees, one after the other, each a step down the loss of all before it.

    With more than two classes, each round grows one tree for every class. Text, categories and missing values
    are read as they are, and whole weights count as repeated rows (where rows are drawn or held out, a row
    with its weight is one).

    Parameters
    ----------
    loss
        "log_loss", or "exponential" for two classes, which is AdaBoost's.
    n_estimators
        Rounds of boosting; the most there may be with early_stopping.
    learning_rate
        The fraction of its step that each tree takes: smaller ones need more rounds, and often end up better.
    max_depth
        The interaction depth: how many features can act together. None: no limit.
    max_leaf_nodes
        The most leaves of a tree, the most useful splits made first; with max_depth=None they alone limit it.
    min_samples_leaf
        The fewest rows in a leaf; a float is a fraction of all rows.
    min_impurity_decrease
        A split is made if it gains at least this much: the decrease of the loss, times two, by its parabola.
    l2_regularization
        Added to the hessian of each leaf, so that small leaves take smaller steps.
    categories
        "shrunk" or "exact", as in `TreeClassifier`.
    max_features
        Features drawn anew at every split: a number, a fraction, "sqrt", "log2" or "third". None: all.
    subsample
        Fraction of the rows that each round learns from, drawn without replacement. Below 1, `oob_scores_`
        and `oob_improvement_` are measured on the rows that the round left out.
    second_order
        True chooses splits by gradient and hessian of the loss (Newton's method), False by the gradient
        alone, as a regression tree on the pseudo-residuals.
    leaf_steps
        Newton steps that each leaf takes towards its best value: 1 is usual, more search on. For one score
        only, not with several classes; losses of medians and quantiles need none.
    splits
        "exact" looks between any two values, "binned" between at most 240 bins of each column, which is much
        faster for many rows; "auto" takes bins for more than 10,000 rows, and for l2_regularization.
    start
        "constant" starts from the constant that loses least, "zero" from zero.
    class_weight
        Mapping from labels to weights, or "balanced".
    priors, loss_matrix, threshold
        As in `TreeClassifier`. A loss matrix says which class is predicted, and leaves growth, which is by
        probabilities, alone. "cost" fits the model once more for each of `cv` folds.
    early_stopping, cv, validation_fraction, n_iter_no_change, tol
        True holds out that fraction of the rows and ends when their loss has not fallen by `tol` for so many
        rounds; the model has the rounds up to its lowest. "cv" takes the number of rounds with the lowest
        mean loss over `cv` folds and boosts on all rows again. "oob", with `subsample` below 1, holds no rows
        out: it adds up `oob_improvement_` and keeps the rounds up to the highest sum. That costs no time, and
        stops too early: earlier rounds knew these rows.
    monotonic_cst, monotonic_class, interaction_cst, excluded_features, feature_costs,
    custom_features, categorical_features, handle_unknown, handle_missing
        As in `TreeClassifier`.
    n_jobs
        Threads that count, grow and predict; -1 for all cores. They change no bit of the model.
    random_state
        Seed, generator or None, used where rows or features are drawn.
    verbose
        1 shows a progress bar.

    Attributes
    ----------
    ensemble_ : Ensemble
        The trees together; `ensemble_[0]` is the first `Tree`, and `estimators_` a list of all.
    n_estimators_ : int
        Rounds that the model has.
    train_loss_, validation_loss_, oob_scores_ : array
        The mean loss after every round that was tried, on the rows that the round learnt from, on those held
        out, and on those that the round left out; empty where there are none. It is the log loss, or the mean
        of exp(-y score) for classes y of -1 and 1.
    oob_improvement_ : array
        By how much every round lowered the mean loss of the rows that it left out.
    schema_, classes_, n_classes_, n_features_in_, feature_names_in_, feature_importances_, n_outputs_
        As in `TreeClassifier`; importances are fractions of what all splits gained.

    >>> X, y = [[float(age)] for age in range(20, 80)], ["no"] * 30 + ["yes"] * 30
    >>> model = BoostingClassifier(n_estimators=20).fit(X, y)
    >>> print(model.predict([[35.0], [65.0]]))
    ['no' 'yes']
    """

    def __init__(
        self,
        *,
        loss: ClassLoss = "log_loss",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_depth: int | None = 3,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int | float = 10,
        min_impurity_decrease: float = 0.0,
        l2_regularization: float = 0.0,
        categories: Categories = "shrunk",
        max_features: MaxFeatures = None,
        subsample: float = 1.0,
        second_order: bool = True,
        leaf_steps: int = 1,
        splits: Literal["auto", "exact", "binned"] = "auto",
        start: Literal["constant", "zero"] = "constant",
        class_weight: Mapping[Label, float] | Literal["balanced"] | None = None,
        priors: Priors = None,
        loss_matrix: LossMatrix = None,
        threshold: float | Literal["cost"] | None = None,
        early_stopping: EarlyStopping = False,
        cv: Any = 5,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        monotonic_cst: Mapping[Column, int] | Sequence[int] | None = None,
        monotonic_class: Label | None = None,
        interaction_cst: Interactions = None,
        excluded_features: Mapping[Column, int | None] | Sequence[Column] | None = None,
        feature_costs: Mapping[Column, float] | None = None,
        custom_features: Sequence[str] | None = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        handle_missing: str = "learned",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.l2_regularization = l2_regularization
        self.categories = categories
        self.max_features = max_features
        self.subsample = subsample
        self.second_order = second_order
        self.leaf_steps = leaf_steps
        self.splits = splits
        self.start = start
        self.class_weight = class_weight
        self.priors = priors
        self.loss_matrix = loss_matrix
        self.threshold = threshold
        self.early_stopping = early_stopping
        self.cv = cv
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.monotonic_cst = monotonic_cst
        self.monotonic_class = monotonic_class
        self.interaction_cst = interaction_cst
        self.excluded_features = excluded_features
        self.feature_costs = feature_costs
        self.custom_features = custom_features
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Boost trees on rows X, an array or a frame of any library, with classes y.

        Rows of one group, such as a patient, are held out, and left out of a round, together.
        """
        X = frame_of(X)
        table = self._table(X, y, sample_weight, "classification")
        boosted = self._boosted(table, groups)
        self._choose_threshold(table, groups)
        self._remember_losses(boosted)
        self._remember_classes(y, table)
        return self._remember(X, self._with_threshold(boosted.ensemble))

    def _model_on(self, table: Table, groups: Any) -> Ensemble:
        ensemble: Ensemble = self.set_params(verbose=0)._boosted(table, groups).ensemble
        return ensemble

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.loss != "exponential"
        return tags

    def decision_function(self, X: Any) -> FloatArray:
        """The scores before they become probabilities, (rows, classes); for two classes one per row."""
        check_is_fitted(self)
        scores = self.ensemble_.scores(self._matched(X), **self._policy())
        return scores[:, 0] if scores.shape[1] == 1 else scores


class BoostingRegressor(BoostedEstimator, NumberEnsemble):
    """Small trees, one after the other, each a step down the loss of all before it.

    Text, categories and missing values are read as they are, and whole weights count as repeated rows.

    Parameters
    ----------
    loss, alpha, quantile
        "squared_error"; "absolute_error"; "huber", which counts the fraction `alpha` of the residuals squared
        and the largest ones as they are; "quantile", which predicts that `quantile` (or `alpha`, as
        scikit-learn calls it too); or "poisson" for counts, which predicts the exponential of the score.
    leaf_values
        Of "absolute_error", "huber" and "quantile": "labels" takes the quantile of the rows that a tree was
        grown on. "honest" grows every tree on half of the rows of its round, and takes the quantiles of the
        other half: high and low quantiles then hold on new rows, too.
    others
        As in `BoostingClassifier`.

    Attributes
    ----------
    ensemble_, n_estimators_, estimators_, train_loss_, validation_loss_, oob_scores_, oob_improvement_
        As in `BoostingClassifier`. The loss of "squared_error" is half the squared error, as is that of
        "huber" for small residuals; that of "poisson" is rate - y log(rate), half the deviance but for a
        constant.
    schema_, n_features_in_, feature_names_in_, feature_importances_, n_outputs_
        As in `TreeRegressor`.

    >>> X, y = [[float(age)] for age in range(20, 80)], [0.0] * 30 + [10.0] * 30
    >>> BoostingRegressor(n_estimators=50).fit(X, y).predict([[35.0], [65.0]]).round(1)
    array([ 0., 10.])
    """

    def __init__(
        self,
        *,
        loss: NumberLoss = "squared_error",
        alpha: float = 0.9,
        quantile: float | None = None,
        leaf_values: Literal["labels", "honest"] = "labels",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_depth: int | None = 3,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int | float = 10,
        min_impurity_decrease: float = 0.0,
        l2_regularization: float = 0.0,
        categories: Categories = "shrunk",
        max_features: MaxFeatures = None,
        subsample: float = 1.0,
        second_order: bool = True,
        leaf_steps: int = 1,
        splits: Literal["auto", "exact", "binned"] = "auto",
        start: Literal["constant", "zero"] = "constant",
        early_stopping: EarlyStopping = False,
        cv: Any = 5,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        monotonic_cst: Mapping[Column, int] | Sequence[int] | None = None,
        interaction_cst: Interactions = None,
        excluded_features: Mapping[Column, int | None] | Sequence[Column] | None = None,
        feature_costs: Mapping[Column, float] | None = None,
        custom_features: Sequence[str] | None = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        handle_missing: str = "learned",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.quantile = quantile
        self.leaf_values = leaf_values
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.l2_regularization = l2_regularization
        self.categories = categories
        self.max_features = max_features
        self.subsample = subsample
        self.second_order = second_order
        self.leaf_steps = leaf_steps
        self.splits = splits
        self.start = start
        self.early_stopping = early_stopping
        self.cv = cv
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.excluded_features = excluded_features
        self.feature_costs = feature_costs
        self.custom_features = custom_features
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Boost trees on rows X, an array or a frame of any library, with numbers y.

        Rows of one group, such as a patient, are held out, and left out of a round, together.
        """
        X = frame_of(X)
        table = self._table(X, y, sample_weight, "regression")
        boosted = self._boosted(table, groups)
        self._remember_losses(boosted)
        return self._remember(X, boosted.ensemble)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.loss == "poisson"
        tags.regressor_tags.poor_score = self.loss == "quantile"  # R² is about means
        return tags
