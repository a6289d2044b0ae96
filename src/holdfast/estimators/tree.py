"""One tree, with the face of scikit-learn."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

from holdfast.data.input.frame import frame_of
from holdfast.data.input.target import Task
from holdfast.data.schema import Label
from holdfast.data.table import Table
from holdfast.estimators.predictions import ClassifierBase, RegressorBase
from holdfast.estimators.sized import SizedTreeEstimator
from holdfast.growth.class_costs import LossMatrix, Priors
from holdfast.growth.rules import Categories, Column, GrowthRules, Interactions, MaxFeatures, Splitter
from holdfast.tree.tree import Tree


class TreeClassifier(SizedTreeEstimator, ClassifierBase):
    """A decision tree that predicts classes.

    The same data gives the same tree, in whatever order its rows come: of equal splits the one on the first
    column is taken, at the lowest threshold. Text, categories and missing values are read as they are.

    Parameters
    ----------
    growth_rules
        Rules such as `C45`, for all that the parameters below leave at their defaults.
    criterion
        "gini", "entropy" (also "log_loss"), "misclassification" (also "purity"), "gain_ratio" or
        "mutual_information".
    max_depth, max_leaf_nodes
        The greatest number of questions on a path, and of leaves: of these, the most useful splits come
        first. None: no limit. "cv" or "cv-1se": see `cv`.
    min_samples_split, min_samples_leaf
        Rows that a node must hold to be split, and that each side must keep; a float is a fraction of all
        rows.
    min_weight_fraction_leaf
        Fraction of the total weight that each side must keep.
    min_impurity_decrease
        Least decrease of impurity by a split, weighted by the node's fraction of the rows.
    min_relative_gain
        Least decrease of impurity by a split, as a fraction of the node's own.
    threshold_cost
        For "gain_ratio": a threshold must first gain the bits that it takes to name it among all others.
    splitter
        "best" tries all splits of every feature; "random" draws one of each, a threshold uniform between its
        least and greatest value in the node or a random set of categories, and takes the best of these.
    categories
        How columns of more than 9 categories are split: by means that are "shrunk", rare categories standing
        with the missing values unless they differ clearly, or by the "exact" best set of these rows, which is
        often chance.
    max_features
        Features drawn anew at every split: a number, a fraction, "sqrt", "log2" or "third". None: all.
    class_weight
        Weight of each class by its label, "balanced", or None.
    priors
        Fraction of each class at the root, by its label or in the order of `classes_`: classes are weighed so
        that they have it, and probabilities follow. None: as in the rows.
    loss_matrix
        What it costs to predict one class for a row of another: {("bad", "good"): 5}, where pairs without a
        number cost 1, or a row for each true class and a column for each predicted one. Splits are chosen
        by altered priors as in rpart, pruning counts what errors cost, and the class of a leaf is that of
        least expected loss. Probabilities stay what they are.
    threshold
        Probability of one of two classes (`positive`, or the rarer) from which on it is predicted: a number,
        or "cost", for the one that costs least on rows held out (`cv`) by `loss_matrix`, or errs least
        without one. None: the most likely class, or that of least expected loss.
    positive
        The class that matters, whose probability drawings and rules show. None: the rarer of two,
        which updates keep even where it is no longer the rarer.
    monotonic_cst, monotonic_class
        Which way the probability of a class, or the mean, goes along columns: {"age": 1, "dose": -1} never
        falls as age rises and never rises with the dose; or one of 1, 0, -1 per column. The class is the
        second of two unless another is named.
    interaction_cst
        Sets of columns that may stand on one path together, "pairwise" or "no_interactions"; columns in no
        set make one more.
    forbidden
        Columns that are never asked, or a dictionary with the number of questions that must come first.
    first_splits
        The top of the tree: {"feature": "age", "threshold": 60, "left": ..., "right": ...}, a list of such
        splits with children by number, or a `Tree` whose inner nodes are taken. Growth goes on below.
    feature_costs
        What asking about columns costs, 1 for those not named: splits compete by gain per cost, and what is
        asked above is paid for.
    questions
        Further yes/no questions to choose from, as text: ["bmi ** 2 < 900", "ward == 'B' and age > 60"].
    custom_features_only
        True: split by these questions alone; the columns are what they read.
    max_seconds, max_nodes, memory_limit
        Budgets of time, nodes, and bytes for growing a tree: it ends with the best so far, and warns.
    ccp_alpha, ccp_risk
        What a leaf costs, in risk per row: of all subtrees, the one of least risk + alpha * leaves is taken.
        0: no pruning. "cv" or "cv-1se": see `cv`. The risk is the impurity of the criterion, or that of
        another, such as "misclassification".
    pruning_confidence, subtree_raising
        Pessimistic pruning as in C4.5: a subtree gives way to a leaf or, with raising, to its larger branch,
        unless it lowers the upper confidence bound of the errors. 0.25 is usual, less prunes more; None: no
        such pruning.
    merge_leaves
        True makes two leaves of one node that predict the same class one. "similar": two leaves that a third
        of the rows, held out, cannot tell apart; what leaves say then comes from all rows again.
    reduced_error
        Fraction of the rows that are held out and prune the tree: a subtree stays if it errs less on them.
    size
        "auto": the tree to begin with. Folds choose `ccp_alpha` and `min_samples_leaf`, of 1, 5, 10, 20 and
        50 rows those that are not below the given number, together; see `cv`.
    leaf_values
        What the leaves say. "labels": what their rows were. "shrunk": the same drawn towards the nodes above,
        the more the fewer rows there are; by folds, for the best log loss or squared error; no leaf says 0 or
        1 then. "honest": half of the rows choose the questions, and the others say what the leaves say.
    cv, scoring
        How a size is chosen with size="auto", or where `ccp_alpha`, `max_depth` or `max_leaf_nodes` is "cv",
        which takes the best mean score on rows held out, or "cv-1se", the smallest tree within one standard
        error of it. A number of folds, the fraction of one part held out, a splitter of scikit-learn's, or
        pairs of row numbers; and "auc" (the default), "accuracy", "log_loss" or any scorer.
    categorical_features
        Names, indices or flags of columns to read as categories, besides those of text, True/False and
        categories; None reads True/False as numbers too.
    handle_unknown, handle_missing
        What predictions do with a category that was not there at fit ("missing" counts it as missing, with
        a warning), and with a missing value ("learned" follows the side that served best); "error" refuses.
    n_jobs
        Threads that grow the trees of the folds; -1 for all cores.
    random_state
        Seed, generator or None, used where features or splits are drawn and rows held out; None holds out the
        same rows each time.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree: `str(model.tree_)` and a notebook draw it.
    size_table_ : SizeTable
        Where a size was chosen: the scores of all sizes. It prints itself, and a notebook draws it.
    ccp_alpha_, max_depth_, max_leaf_nodes_, min_samples_leaf_
        The value that was chosen, of the parameter that was. A depth of 0, or one leaf, is the root alone.
    decision_threshold_, positive_class_
        With `threshold`: the probability from which on a class is predicted, and its place in `classes_`.
    shrinkage_
        With leaf_values="shrunk": the strength that folds chose, in rows.
    expected_cost_
        With `feature_costs`: what asking a row costs on average; a column is paid once on a path.
    schema_ : Schema
        Names, kinds, ranges and categories of the columns.
    classes_, n_classes_
        The classes, in the dtype of y, and their number.
    n_features_in_, feature_names_in_
        Number of columns, and their names if X was a frame. A frame to predict is matched by name.
    feature_importances_
        One number per column; a question's share is divided among the columns it reads.
    n_outputs_
        Always 1.

    >>> model = TreeClassifier().fit([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"])
    >>> print(model.predict([[35.0], [45.0]]))
    ['no' 'yes']
    """

    _task: ClassVar[Task] = "classification"

    def __init__(
        self,
        *,
        growth_rules: GrowthRules | None = None,
        criterion: str = "gini",
        max_depth: int | Literal["cv", "cv-1se"] | None = None,
        max_leaf_nodes: int | Literal["cv", "cv-1se"] | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        min_relative_gain: float = 0.0,
        threshold_cost: bool = False,
        splitter: Splitter = "best",
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
        custom_features_only: bool = False,
        max_seconds: float | None = None,
        max_nodes: int | None = None,
        memory_limit: int | None = None,
        ccp_alpha: float | Literal["cv", "cv-1se"] = 0.0,
        ccp_risk: str | None = None,
        pruning_confidence: float | None = None,
        subtree_raising: bool = True,
        merge_leaves: bool | Literal["similar"] = False,
        reduced_error: float | None = None,
        size: Literal["auto"] | None = None,
        leaf_values: str = "labels",
        cv: Any = 10,
        scoring: Any = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        handle_missing: str = "learned",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.growth_rules = growth_rules
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.min_relative_gain = min_relative_gain
        self.threshold_cost = threshold_cost
        self.splitter = splitter
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
        self.custom_features_only = custom_features_only
        self.max_seconds = max_seconds
        self.max_nodes = max_nodes
        self.memory_limit = memory_limit
        self.ccp_alpha = ccp_alpha
        self.ccp_risk = ccp_risk
        self.pruning_confidence = pruning_confidence
        self.subtree_raising = subtree_raising
        self.merge_leaves = merge_leaves
        self.reduced_error = reduced_error
        self.size = size
        self.leaf_values = leaf_values
        self.cv = cv
        self.scoring = scoring
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Grow the tree on rows X, an array or a frame of any library, with classes y.

        X may also be a table, on disk perhaps, which has its own target. Rows of one group, such as a
        patient, are held out together where a size is chosen.
        """
        X = X if isinstance(X, Table) else frame_of(X)
        table = self._table(X, y, sample_weight, self._task)
        tree = self._fitted_tree(table, groups)
        self._choose_threshold(table, groups)
        self._remember_classes(y, table)
        return self._remember(X, self._with_threshold(tree))

    def _model_on(self, table: Table, groups: Any) -> Tree:
        return self._fitted_tree(table, groups)


class TreeRegressor(SizedTreeEstimator, RegressorBase):
    """A decision tree that predicts numbers.

    `criterion` is "squared_error"; "poisson" for counts and other targets of at least 0; "absolute_error",
    whose leaves say the median; or "quantile", whose leaves say that `quantile`, such as 0.9. All other
    parameters and attributes are those of `TreeClassifier`, without those that are about classes; leaves are
    merged if they are "similar".

    >>> model = TreeRegressor(max_depth=1).fit([[20.0], [30.0], [50.0], [60.0]], [1.0, 2.0, 7.0, 8.0])
    >>> print(model.predict([[35.0], [45.0]]))
    [1.5 7.5]
    """

    _task: ClassVar[Task] = "regression"

    def __init__(
        self,
        *,
        growth_rules: GrowthRules | None = None,
        criterion: str = "squared_error",
        quantile: float | None = None,
        max_depth: int | Literal["cv", "cv-1se"] | None = None,
        max_leaf_nodes: int | Literal["cv", "cv-1se"] | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        min_relative_gain: float = 0.0,
        splitter: Splitter = "best",
        categories: Categories = "shrunk",
        max_features: MaxFeatures = None,
        monotonic_cst: Mapping[Column, int] | Sequence[int] | None = None,
        interaction_cst: Interactions = None,
        excluded_features: Mapping[Column, int | None] | Sequence[Column] | None = None,
        first_splits: Any = None,
        feature_costs: Mapping[Column, float] | None = None,
        custom_features: Sequence[str] | None = None,
        custom_features_only: bool = False,
        max_seconds: float | None = None,
        max_nodes: int | None = None,
        memory_limit: int | None = None,
        ccp_alpha: float | Literal["cv", "cv-1se"] = 0.0,
        merge_leaves: bool | Literal["similar"] = False,
        reduced_error: float | None = None,
        size: Literal["auto"] | None = None,
        leaf_values: str = "labels",
        cv: Any = 10,
        scoring: Any = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        handle_missing: str = "learned",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.growth_rules = growth_rules
        self.criterion = criterion
        self.quantile = quantile
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.min_relative_gain = min_relative_gain
        self.splitter = splitter
        self.categories = categories
        self.max_features = max_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.excluded_features = excluded_features
        self.first_splits = first_splits
        self.feature_costs = feature_costs
        self.custom_features = custom_features
        self.custom_features_only = custom_features_only
        self.max_seconds = max_seconds
        self.max_nodes = max_nodes
        self.memory_limit = memory_limit
        self.ccp_alpha = ccp_alpha
        self.merge_leaves = merge_leaves
        self.reduced_error = reduced_error
        self.size = size
        self.leaf_values = leaf_values
        self.cv = cv
        self.scoring = scoring
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Grow the tree on rows X, an array or a frame of any library, with numbers y.

        X may also be a table, on disk perhaps, which has its own target. Rows of one group, such as a
        patient, are held out together where a size is chosen.
        """
        X = X if isinstance(X, Table) else frame_of(X)
        table = self._table(X, y, sample_weight, self._task)
        return self._remember(X, self._fitted_tree(table, groups))
