"""One tree, with the face of scikit-learn."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from holdfast.data.schema import Label
from holdfast.estimators.predictions import ClassEstimator, NumberEstimator
from holdfast.growth.rules import MaxFeatures


class TreeClassifier(ClassEstimator):
    """A decision tree that predicts classes.

    The same data gives the same tree, in whatever order its rows come: of equal splits the one on the first
    column is taken, at the lowest threshold. Text, categories and missing values are read as they are.

    Parameters
    ----------
    criterion
        "gini", "entropy" (also "log_loss"), "misclassification" (also "purity"), "gain_ratio" or
        "mutual_information".
    max_depth, max_leaf_nodes
        The greatest number of questions on a path, and of leaves: of these, the most useful splits come
        first. None: no limit.
    min_samples_split, min_samples_leaf
        Rows that a node must hold to be split, and that each side must keep; a float is a share of all rows.
    min_weight_fraction_leaf
        Share of the total weight that each side must keep.
    min_impurity_decrease
        Least decrease of impurity by a split, weighted by the node's share of the rows.
    min_relative_gain
        Least decrease of impurity by a split, as a share of the node's own.
    max_features
        Features drawn anew at every split: a number, a share, "sqrt", "log2" or "third". None: all.
    class_weight
        Weight of each class by its label, "balanced", or None.
    questions
        Further yes/no questions to choose from, as text: ["bmi ** 2 < 900", "ward == 'B' and age > 60"].
    max_seconds, max_nodes
        Budgets: growth ends with the best tree so far, and warns.
    categorical_features
        Names, indices or flags of columns to read as categories, besides those of text, True/False and
        categories; None reads True/False as numbers too.
    unknown, missing
        What predictions do with a category that was not there at fit ("missing" counts it as missing, with
        a warning), and with a missing value ("learned" follows the side that served best); "error" refuses.
    random_state
        Seed, generator or None, used only where features are drawn.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree: `str(model.tree_)` and a notebook draw it.
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

    def __init__(
        self,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        min_relative_gain: float = 0.0,
        max_features: MaxFeatures = None,
        class_weight: Mapping[Label, float] | Literal["balanced"] | None = None,
        questions: Sequence[str] | None = None,
        max_seconds: float | None = None,
        max_nodes: int | None = None,
        categorical_features: Any = "from_dtype",
        unknown: str = "missing",
        missing: str = "learned",
        random_state: Any = None,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.min_relative_gain = min_relative_gain
        self.max_features = max_features
        self.class_weight = class_weight
        self.questions = questions
        self.max_seconds = max_seconds
        self.max_nodes = max_nodes
        self.categorical_features = categorical_features
        self.unknown = unknown
        self.missing = missing
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree on rows X, an array or a frame of any library, with classes y."""
        from holdfast.growth.grow import grow

        rules, seed = self._rules(), self._seed()
        table = self._table(X, y, sample_weight, "classification")
        tree = grow(table, rules, seed=seed)
        self._remember_classes(y, table)
        return self._remember(X, tree)


class TreeRegressor(NumberEstimator):
    """A decision tree that predicts numbers.

    `criterion` is "squared_error", or "poisson" for counts and other targets of at least 0. All other
    parameters and attributes are those of `TreeClassifier`, without `class_weight` and the classes.

    >>> model = TreeRegressor(max_depth=1).fit([[20.0], [30.0], [50.0], [60.0]], [1.0, 2.0, 7.0, 8.0])
    >>> print(model.predict([[35.0], [45.0]]))
    [1.5 7.5]
    """

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        min_relative_gain: float = 0.0,
        max_features: MaxFeatures = None,
        questions: Sequence[str] | None = None,
        max_seconds: float | None = None,
        max_nodes: int | None = None,
        categorical_features: Any = "from_dtype",
        unknown: str = "missing",
        missing: str = "learned",
        random_state: Any = None,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.min_relative_gain = min_relative_gain
        self.max_features = max_features
        self.questions = questions
        self.max_seconds = max_seconds
        self.max_nodes = max_nodes
        self.categorical_features = categorical_features
        self.unknown = unknown
        self.missing = missing
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree on rows X, an array or a frame of any library, with numbers y."""
        from holdfast.growth.grow import grow

        rules, seed = self._rules(), self._seed()
        table = self._table(X, y, sample_weight, "regression")
        return self._remember(X, grow(table, rules, seed=seed))
