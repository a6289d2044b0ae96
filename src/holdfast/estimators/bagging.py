"""Bagging: many trees on bootstrap samples, with the face of scikit-learn."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

from holdfast.data.input.frame import frame_of
from holdfast.data.input.target import Task
from holdfast.data.schema import Label
from holdfast.estimators.bagged_base import BaggedClasses, BaggedNumbers
from holdfast.growth.class_costs import LossMatrix, Priors
from holdfast.growth.rules import Categories, Column, GrowthRules, Interactions


class BaggingClassifier(BaggedClasses):
    """Trees on bootstrap samples of the rows, which predict classes together.

    The mean of many trees varies less than any of them does, as far as they differ from each other. Text,
    categories and missing values are read as they are.

    Parameters
    ----------
    n_estimators
        Number of trees: more of them never hurt, beyond the time that they take.
    growth_rules, criterion, max_depth, max_leaf_nodes, min_samples_split, min_samples_leaf,
    min_weight_fraction_leaf, min_impurity_decrease, categories, class_weight, priors,
    ccp_alpha
        How every single tree grows, as in `TreeClassifier`; "balanced" and priors weigh the classes of all
        rows.
    loss_matrix, threshold
        As in `TreeClassifier`: trees grow by altered priors, and the class of least expected loss by their
        mean is predicted; with voting="hard" each votes for its own. "cost" fits the model once more for each
        of 5 folds.
    voting
        "soft" averages the class fractions of the trees; "hard" lets each tree vote for one class.
    vote_threshold
        With two classes and voting="hard": a tree votes for the second class where its fraction in the leaf
        is at least this, not where it is the larger one. It changes what `predict` says; probabilities and
        out-of-bag scores are those of votes without it.
    bootstrap, max_samples
        The bag of a tree: by default about as many rows as there are, drawn with replacement, each by itself.
        A number of draws, or a fraction of the rows (or groups), draws fewer; without bootstrap they are
        drawn without replacement, exactly as many.
    oob_score
        True scores every row by the trees whose bags do not hold it: the accuracy, or that of "auc",
        "log_loss" or any scorer that is given instead. Losses are negated.
    permutation_importance
        True measures, on the rows outside the bags, what every tree's accuracy loses as each feature is
        permuted; the name of another metric, or a scorer, measures that.
    monotonic_cst, monotonic_class, interaction_cst, excluded_features, first_splits, feature_costs,
    custom_features, categorical_features, handle_unknown, handle_missing
        As in `TreeClassifier`.
    n_jobs
        Threads that grow the trees and predict; -1 for all cores. They change no bit of the model.
    random_state
        Seed, generator or None. With the same seed the same rows give the same model, in whatever order they
        come, and rows that stay keep their bags when others come or go.
    verbose
        1 shows a progress bar.

    Attributes
    ----------
    ensemble_ : Ensemble
        The trees together; `ensemble_[0]` is the first `Tree`, and `estimators_` a list of all.
    importances_ : Importances
        Of every feature the total decrease of impurity, the decrease per split and, on request, the loss by
        permutation, each with its spread over the trees. It prints itself as a table.
    feature_importances_
        One number per column, as scikit-learn has them; what a question brought is divided among its columns.
    oob_score_, oob_curve_, oob_decision_function_
        With `oob_score`: the score, that of the first trees by their number, and the class fractions of every
        row, NaN where all bags hold it.
    tree_correlation_ : TreeCorrelation
        With `oob_score`: the squared error of one tree and how far the errors of two trees go together, on
        rows that neither was grown on. `tree_correlation(X, y)` measures it on other rows.
    schema_, classes_, n_classes_, n_features_in_, feature_names_in_, n_outputs_
        As in `TreeClassifier`.

    >>> X, y = [[float(age)] for age in range(20, 80)], ["no"] * 30 + ["yes"] * 30
    >>> model = BaggingClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> print(model.predict([[35.0], [65.0]]), round(model.oob_score_, 2))
    ['no' 'yes'] 0.98
    """

    _task: ClassVar[Task] = "classification"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        growth_rules: GrowthRules | None = None,
        criterion: str = "gini",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        categories: Categories = "shrunk",
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        class_weight: Mapping[Label, float] | Literal["balanced"] | None = None,
        priors: Priors = None,
        loss_matrix: LossMatrix = None,
        threshold: float | Literal["cost"] | None = None,
        ccp_alpha: float = 0.0,
        voting: Literal["soft", "hard"] = "soft",
        vote_threshold: float | None = None,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: Any = False,
        permutation_importance: Any = False,
        monotonic_cst: Mapping[Column, int] | Sequence[int] | None = None,
        monotonic_class: Label | None = None,
        interaction_cst: Interactions = None,
        excluded_features: Mapping[Column, int | None] | Sequence[Column] | None = None,
        first_splits: Any = None,
        feature_costs: Mapping[Column, float] | None = None,
        custom_features: Sequence[str] | None = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        handle_missing: str = "learned",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.growth_rules = growth_rules
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.categories = categories
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.priors = priors
        self.loss_matrix = loss_matrix
        self.threshold = threshold
        self.ccp_alpha = ccp_alpha
        self.voting = voting
        self.vote_threshold = vote_threshold
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.permutation_importance = permutation_importance
        self.monotonic_cst = monotonic_cst
        self.monotonic_class = monotonic_class
        self.interaction_cst = interaction_cst
        self.excluded_features = excluded_features
        self.first_splits = first_splits
        self.feature_costs = feature_costs
        self.custom_features = custom_features
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Grow the trees on bags of the rows X, an array or a frame of any library, with classes y.

        Rows of one group, such as a patient, are drawn together and left out together.
        """
        X = frame_of(X)
        table = self._table(X, y, sample_weight, self._task)
        self._check_threshold(len(table.schema.target.classes))
        fitted = self._fitted(table, groups)
        self._choose_threshold(table, groups)
        self._remember_evidence(fitted)
        self._remember_classes(y, table)
        return self._remember(X, self._with_threshold(fitted.bagging.ensemble))


class BaggingRegressor(BaggedNumbers):
    """Trees on bootstrap samples of the rows, which predict a number together: the mean of what each says.

    `criterion` is "squared_error", "poisson" for counts, or as in `TreeRegressor` "absolute_error" and
    "quantile", of which the mean over the trees is said. The out-of-bag score is R² by default, and
    permutation is measured by the squared error. Instead of `oob_decision_function_` there is
    `oob_prediction_`. All other parameters and attributes are those of `BaggingClassifier`, without those
    that are about classes.

    >>> X, y = [[float(age)] for age in range(20, 80)], [float(age // 20) for age in range(20, 80)]
    >>> print(BaggingRegressor(random_state=0).fit(X, y).predict([[30.0], [50.0]]))
    [1. 2.]
    """

    _task: ClassVar[Task] = "regression"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        growth_rules: GrowthRules | None = None,
        criterion: str = "squared_error",
        quantile: float | None = None,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        categories: Categories = "shrunk",
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        oob_score: Any = False,
        permutation_importance: Any = False,
        monotonic_cst: Mapping[Column, int] | Sequence[int] | None = None,
        interaction_cst: Interactions = None,
        excluded_features: Mapping[Column, int | None] | Sequence[Column] | None = None,
        first_splits: Any = None,
        feature_costs: Mapping[Column, float] | None = None,
        custom_features: Sequence[str] | None = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        handle_missing: str = "learned",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.growth_rules = growth_rules
        self.criterion = criterion
        self.quantile = quantile
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.categories = categories
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.permutation_importance = permutation_importance
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.excluded_features = excluded_features
        self.first_splits = first_splits
        self.feature_costs = feature_costs
        self.custom_features = custom_features
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Grow the trees on bags of the rows X, an array or a frame of any library, with numbers y.

        Rows of one group, such as a patient, are drawn together and left out together.
        """
        X = frame_of(X)
        table = self._table(X, y, sample_weight, self._task)
        fitted = self._fitted(table, groups)
        self._remember_evidence(fitted)
        return self._remember(X, fitted.bagging.ensemble)
