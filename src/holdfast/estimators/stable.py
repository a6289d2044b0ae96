"""One tree that is both accurate and stable, with the face of scikit-learn."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

from holdfast.data.input.target import Task
from holdfast.data.schema import Label
from holdfast.estimators.predictions import ClassifierBase, RegressorBase
from holdfast.estimators.stable_base import StableTreeEstimator
from holdfast.estimators.stable_rows import training_rows
from holdfast.growth.class_costs import LossMatrix, Priors
from holdfast.growth.rules import Categories, Column, GrowthRules, Interactions, MaxFeatures


class StableTreeClassifier(StableTreeEstimator, ClassifierBase):
    """A decision tree that predicts classes and stays recognisable when the data changes.

    By default it is a consensus tree. A teacher, the weighted mean of several models, predicts the classes of
    the rows. Students, trees of few leaves, are distilled from these predictions, one on all rows and the
    reference trees on bootstrap samples. The student of all rows is then moved to where its mean distance to
    the reference trees is least, as long as it still fits the teacher. Other methods choose a tree from many
    (Bertsimas and Digalakis, arXiv 2305.17299). The instability of a candidate is its mean distance to the
    reference trees, its score is measured on held-out rows. `choose` moves to another tree of the frontier
    of both without fitting again.

    The same data and the same seed give the same tree, in any order of rows. Consensus trees do not depend on
    the seed (see `random_state`).

    Parameters
    ----------
    method
        "centred": as above. There is one candidate for each of several tolerances and numbers of leaves, each
        measured by reference trees of its size. Its score is that of a tree made the same way without the
        held-out rows. "bootstrap": reference trees on the early rows and
        candidate trees on all, by every combination of a grid, one for each bootstrap sample, with scores
        that are as honest as one data set allows: see `validation`, `refit_leaves` and `shrink_scores`.
        "pruned": the candidates are the subtrees of the one tree that is grown on all rows, `max_depth` deep,
        along its pruning path; a
        size is scored by rows held out, and there are `n_estimators` of them at most. The grid is for the
        reference trees then. "paper": the paper to the letter. One plainly random holdout to score on, a
        third of the rows or the fraction `validation`, or your own `X_holdout`; no leaf is refitted and no
        score shrunk, so that `refit_leaves` and `shrink_scores` are not used.
    max_leaf_nodes
        The most leaves: an integer, or "auto". For "centred", "auto" takes 12 leaves, or 24 or 48 where
        held-out rows clearly support more: the smallest of these sizes that reaches 97 % of the R² of the
        best, if it is better than 12 leaves by more than four standard errors, and else 12. Never fewer
        than 12; with `validation=None` always 12. Other methods: "auto" is no limit. None: as "auto".
    min_samples_leaf
        The fewest rows in a leaf; a float is a fraction of all rows. 1: for "centred" 10, or 0.7 % of the
        rows if that is more; of other methods the grid decides.
    teacher
        For "centred": "blend", or one of its parts, "forest", "extra-trees", "boosting", "linear", "kernel";
        an estimator, which sees the columns as numbers; a list of these, whose mean counts; or a mapping of
        these to weights. "blend" counts "linear" and "kernel" twice, unless other weights reduce the squared
        error on held-out rows by a tenth or more, and by three standard errors: see `teacher_weights_`. A
        list or a mapping keeps its weights.
    thresholds
        For "centred": "round" splits numbers at 16 to 24 round thresholds for every feature, with at least a
        thirty-second of the rows between them; "exact" splits between any two values.
    leaf_values
        How leaves predict. For "centred": "posterior", the rows of a leaf and the teacher's predictions for
        them together, the teacher with the weight of 40 rows; "teacher", the mean of these predictions; or
        "labels", the rows alone, as other methods do. For "centred" and "bootstrap": "shrunk", labels drawn
        towards the nodes above as far as held-out rows support it; no probability is 0 or 1 then. For all
        methods: "honest", the labels of half of the rows, which are used for nothing else.
    max_depth
        The most splits on a path: an integer, None for no limit, or "auto", which is 5, but no limit for
        "centred" with more than 12 leaves. For other methods, the grid has the depths from 3 to it (12 if
        None), each with at least 3, 5, 10, 30 and 50 rows in a leaf.
    n_estimators
        Trees in each collection. None: 100 references of "centred", else 300.
    grid
        Other parameters to combine: a list of values for each growth rule, or parameter of the learner.
    learner
        What grows the trees instead of our own rules: an estimator of scikit-learn or pystreed, or a function
        `learner(X, y, seed, **combination)` that returns a tree or a model of one. The grid above sets the
        depth and the leaf size of an estimator, too; `grid={}` leaves it as it is.
    growth_rules
        Rules such as `C45`, for all that the parameters and the grid leave open.
    priors, loss_matrix, threshold
        As in `TreeClassifier`, for our own rules. A loss matrix says which class a centred tree predicts; its
        growth, which is by a teacher's probabilities, it leaves alone. "cost" trains once more for each of 5
        folds.
    criterion, min_weight_fraction_leaf, min_impurity_decrease, categories, max_features, class_weight
        As in `TreeClassifier`, for our own rules; the grid can vary these and all others.
    positive, monotonic_cst, monotonic_class, interaction_cst, excluded_features, first_splits, feature_costs,
    questions, categorical_features
        As in `TreeClassifier`.
    early_fraction
        Fraction of the rows that are early, if `fit` is not told which are.
    validation
        Rows held out to choose by: a fraction, or a number of folds that are held out in turn; "auto" takes
        five folds for up to 5,000 rows, else a third of them; of "centred" always a third, and None holds
        nothing out: the scores are then too good. With method="paper" there are no folds.
    scoring
        "auc" (the default), "accuracy", "balanced_accuracy", "log_loss", "brier", or any scorer of
        scikit-learn.
    selection_rule
        "within-tolerance" takes the most stable of those within `tolerance` of the best score; "best-score",
        "most-stable", "knee", or "weighted", which maximises score - instability_weight * instability.
    tolerance, tolerance_unit
        A number, and whether it is "absolute", "relative" to the best score, a multiple of its
        "standard-error", or the fraction that a centred tree may lose of what it has learnt from the
        "teacher"; "or-standard-error" is the usual one of the first two, or one standard error if that is
        more. None: 0.06 of the teacher for "centred"; else 0.01, relative for losses, else absolute, or one
        standard error of the best score if that is more and no tolerance was given.
    gamma
        For "weighted": the score that one unit of instability is worth.
    matching, label_weight, outcome
        How distances are measured: see `tree_distance`.
    refit_leaves
        For method="bootstrap": take the values of the leaves from all rows; the questions stay.
    shrink_scores
        For method="bootstrap": move each score towards the mean of the candidates with the same parameters,
        as far as the differences between them are chance. Scorers that others wrote are never shrunk.
    handle_unknown, handle_missing
        As in `TreeClassifier`.
    n_jobs
        Threads; -1 for all cores. The result is the same for any number of them.
    random_state
        Seed, generator or None. Consensus trees ("centred"), their candidates and their scores are the same
        for every seed: whatever is drawn, held-out rows included, is drawn by keys of the rows. The seed
        still decides which half of the rows sets the values of leaf_values="honest", the folds of
        threshold="cost", and the rows that an update holds out.
    verbose
        True shows bars of progress.

    Attributes
    ----------
    tree_ : Tree
        The chosen tree.
    frontier_ : Frontier
        Instability, score and size of every candidate, and which are efficient.
    choice_ : Choice
        The candidate that was chosen, the rule, and the reason in words.
    instability_ : float
        Mean distance of `tree_` to the reference trees.
    reference_trees_, candidate_trees_ : list of Tree
        The two collections. With "centred" the reference trees are those of the size of `tree_`.
    size_choice_ : SizeChoice
        With "centred" and max_leaf_nodes="auto", if rows are held out: the R² of 12, 24 and 48 leaves on
        held-out rows, the size that was taken, and the reason.
    max_leaf_nodes_ : int
        With `size_choice_`: the most leaves, 12, 24 or 48.
    teacher_weights_ : dict of str to float
        The weights of the parts of the teacher, where held-out rows have chosen others for "blend" than the
        usual ones (parts of weight 0 are left out), or where `teacher` is a mapping. Otherwise there is no
        such attribute.
    trained_ : StableTrees
        All of it: the collections with their grid, the settings of the distances, and `reliability`, the
        fraction of the differences between scores of candidates grown alike that is more than chance.
    stages_ : StageSequence
        After `fit_stages`: one tree for each stage, and when which rule moved.
    schema_, classes_, n_classes_, n_features_in_, feature_names_in_, feature_importances_, n_outputs_
        As in `TreeClassifier`.

    >>> X = [[age + shift] for age in range(20, 80) for shift in (0.0, 0.5)]
    >>> y = ["no" if row[0] < 50 else "yes" for row in X]
    >>> model = StableTreeClassifier(max_leaf_nodes=2, teacher="linear").fit(X, y)
    >>> print(model.predict([[35.0], [65.0]]))
    ['no' 'yes']
    """

    _task: ClassVar[Task] = "classification"

    def __init__(
        self,
        *,
        method: str = "centred",
        max_leaf_nodes: int | Literal["auto"] | None = "auto",
        max_depth: int | Literal["auto"] | None = "auto",
        min_samples_leaf: int | float = 1,
        teacher: Any = "blend",
        thresholds: str = "round",
        leaf_values: str = "posterior",
        n_estimators: int | None = None,
        grid: Mapping[str, Sequence[Any]] | None = None,
        learner: Any = None,
        growth_rules: GrowthRules | None = None,
        criterion: str = "gini",
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        categories: Categories = "shrunk",
        max_features: MaxFeatures = None,
        class_weight: Mapping[Label, float] | Literal["balanced"] | None = None,
        priors: Priors = None,
        loss_matrix: LossMatrix = None,
        threshold: float | Literal["cost"] | None = None,
        positive: Label | None = None,
        monotonic_cst: Mapping[Column, int] | Sequence[int] | None = None,
        monotonic_class: Label | None = None,
        interaction_cst: Interactions = None,
        excluded_features: Mapping[Column, int | None] | Sequence[Column] | None = None,
        first_splits: Any = None,
        feature_costs: Mapping[Column, float] | None = None,
        custom_features: Sequence[str] | None = None,
        categorical_features: Any = "from_dtype",
        early_fraction: float = 0.5,
        validation: float | str | None = "auto",
        scoring: Any = None,
        selection_rule: str = "within-tolerance",
        tolerance: float | None = None,
        tolerance_unit: str | None = None,
        instability_weight: float | None = None,
        matching: str = "paper",
        label_weight: float | None = None,
        outcome: str | None = None,
        refit_leaves: bool = True,
        shrink_scores: bool = True,
        handle_unknown: str = "missing",
        handle_missing: str = "learned",
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.method = method
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.teacher = teacher
        self.thresholds = thresholds
        self.leaf_values = leaf_values
        self.n_estimators = n_estimators
        self.grid = grid
        self.learner = learner
        self.growth_rules = growth_rules
        self.criterion = criterion
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.categories = categories
        self.max_features = max_features
        self.class_weight = class_weight
        self.priors = priors
        self.loss_matrix = loss_matrix
        self.threshold = threshold
        self.positive = positive
        self.monotonic_cst = monotonic_cst
        self.monotonic_class = monotonic_class
        self.interaction_cst = interaction_cst
        self.excluded_features = excluded_features
        self.first_splits = first_splits
        self.feature_costs = feature_costs
        self.custom_features = custom_features
        self.categorical_features = categorical_features
        self.early_fraction = early_fraction
        self.validation = validation
        self.scoring = scoring
        self.selection_rule = selection_rule
        self.tolerance = tolerance
        self.tolerance_unit = tolerance_unit
        self.instability_weight = instability_weight
        self.matching = matching
        self.label_weight = label_weight
        self.outcome = outcome
        self.refit_leaves = refit_leaves
        self.shrink_scores = shrink_scores
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        stage: Any = None,
        groups: Any = None,
        X_early: Any = None,
        y_early: Any = None,
        X_holdout: Any = None,
        y_holdout: Any = None,
    ) -> Self:
        """Grow both collections and choose a tree.

        `stage` has a year, cohort or site for every row: the first stages are the early data, as many as hold
        `early_fraction` of the rows, and never the last. `X_early, y_early` are early data kept apart from X, y.
        Without either, a random fraction of the rows is early. Rows of one of the `groups` (a patient) never
        stand on both sides of a random split.

        `X_holdout, y_holdout` are the rows that method="paper" scores on, in place of a random part of X.

        All rows are those of X_early, X and X_holdout, one after the other, as far as they are given: weights,
        stages and groups have an entry for each of them, and the range of a column is that over all of them.
        """
        early, holdout = (X_early, y_early), (X_holdout, y_holdout)
        rows = training_rows((X, y), sample_weight, stage=stage, groups=groups, early=early, holdout=holdout)
        table = self._table(rows.X, rows.y, rows.weight, self._task)
        trained = self._trained(table, rows)
        self._choose_threshold(table, rows.groups)
        self._remember_classes(rows.y, table)
        return self._taken(rows.X, trained)


class StableTreeRegressor(StableTreeEstimator, RegressorBase):
    """A decision tree that predicts numbers and stays recognisable when the data changes.

    `criterion` is "squared_error", "poisson", or, where no teacher speaks (another method than "centred", or
    leaf_values="labels"), "absolute_error" or "quantile", as in `TreeRegressor`; `scoring` is "r2" (the
    default), "squared_error", "absolute_error", "poisson", "quantile 0.9", or any scorer of scikit-learn. All
    other parameters and attributes are those of `StableTreeClassifier`, without `class_weight` and the
    classes.

    >>> X = [[age + shift] for age in range(20, 80) for shift in (0.0, 0.5)]
    >>> y = [1.0 if row[0] < 50 else 7.0 for row in X]
    >>> model = StableTreeRegressor(max_leaf_nodes=2, leaf_values="labels", thresholds="exact").fit(X, y)
    >>> print(model.predict([[35.0], [65.0]]))
    [1. 7.]
    """

    _task: ClassVar[Task] = "regression"

    def __init__(
        self,
        *,
        method: str = "centred",
        max_leaf_nodes: int | Literal["auto"] | None = "auto",
        max_depth: int | Literal["auto"] | None = "auto",
        min_samples_leaf: int | float = 1,
        teacher: Any = "blend",
        thresholds: str = "round",
        leaf_values: str = "posterior",
        n_estimators: int | None = None,
        grid: Mapping[str, Sequence[Any]] | None = None,
        learner: Any = None,
        growth_rules: GrowthRules | None = None,
        criterion: str = "squared_error",
        quantile: float | None = None,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        categories: Categories = "shrunk",
        max_features: MaxFeatures = None,
        monotonic_cst: Mapping[Column, int] | Sequence[int] | None = None,
        interaction_cst: Interactions = None,
        excluded_features: Mapping[Column, int | None] | Sequence[Column] | None = None,
        first_splits: Any = None,
        feature_costs: Mapping[Column, float] | None = None,
        custom_features: Sequence[str] | None = None,
        categorical_features: Any = "from_dtype",
        early_fraction: float = 0.5,
        validation: float | str | None = "auto",
        scoring: Any = None,
        selection_rule: str = "within-tolerance",
        tolerance: float | None = None,
        tolerance_unit: str | None = None,
        instability_weight: float | None = None,
        matching: str = "paper",
        label_weight: float | None = None,
        outcome: str | None = None,
        refit_leaves: bool = True,
        shrink_scores: bool = True,
        handle_unknown: str = "missing",
        handle_missing: str = "learned",
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.method = method
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.teacher = teacher
        self.thresholds = thresholds
        self.leaf_values = leaf_values
        self.n_estimators = n_estimators
        self.grid = grid
        self.learner = learner
        self.growth_rules = growth_rules
        self.criterion = criterion
        self.quantile = quantile
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.categories = categories
        self.max_features = max_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.excluded_features = excluded_features
        self.first_splits = first_splits
        self.feature_costs = feature_costs
        self.custom_features = custom_features
        self.categorical_features = categorical_features
        self.early_fraction = early_fraction
        self.validation = validation
        self.scoring = scoring
        self.selection_rule = selection_rule
        self.tolerance = tolerance
        self.tolerance_unit = tolerance_unit
        self.instability_weight = instability_weight
        self.matching = matching
        self.label_weight = label_weight
        self.outcome = outcome
        self.refit_leaves = refit_leaves
        self.shrink_scores = shrink_scores
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        stage: Any = None,
        groups: Any = None,
        X_early: Any = None,
        y_early: Any = None,
        X_holdout: Any = None,
        y_holdout: Any = None,
    ) -> Self:
        """Grow both collections and choose a tree. See `StableTreeClassifier.fit`."""
        early, holdout = (X_early, y_early), (X_holdout, y_holdout)
        rows = training_rows((X, y), sample_weight, stage=stage, groups=groups, early=early, holdout=holdout)
        table = self._table(rows.X, rows.y, rows.weight, self._task)
        return self._taken(rows.X, self._trained(table, rows))
