"""AdaBoost, with the face of scikit-learn."""

from collections.abc import Sequence
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from holdfast.arrays import FloatArray
from holdfast.data.input.frame import frame_of
from holdfast.ensembles.adaboost import grow_adaboost
from holdfast.ensembles.bagging import check_n_estimators
from holdfast.estimators.base import seed_if
from holdfast.estimators.ensemble_base import ClassEnsemble
from holdfast.growth.rules import Categories, MaxFeatures


class AdaBoostClassifier(ClassEnsemble):
    """Small trees that vote, each grown on rows that weigh more where the trees before it erred.

    For two classes this is the classic AdaBoost with its exponential loss, for more it is SAMME. The same
    data gives the same trees, in whatever order its rows come; text, categories and missing values are read
    as they are, and whole weights count as repeated rows.

    Parameters
    ----------
    n_estimators
        The most trees to grow. Boosting ends earlier at a tree that makes no mistake, or once a tree is no
        better than guessing.
    learning_rate
        How much each vote counts, and how far the weights of the rows move; less asks for more trees.
    max_depth, max_leaf_nodes
        The greatest number of questions on a path, and of leaves, of every tree. None: no limit.
    criterion, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, min_impurity_decrease,
    categories
        As in `TreeClassifier`, for every tree.
    max_features
        Features drawn anew at every split: a number, a fraction, "sqrt", "log2" or "third". None: all.
    custom_features, categorical_features, handle_unknown, handle_missing
        As in `TreeClassifier`.
    n_jobs
        Threads that predict; -1 for all cores. The trees are grown one after the other.
    random_state
        Seed, generator or None, used where features are drawn.

    Attributes
    ----------
    ensemble_ : Ensemble
        The trees and their votes.
    estimators_ : list of Tree
        The trees.
    estimator_weights_, estimator_errors_ : array
        What the vote of each tree counts, and the fraction of the weight that it got wrong, as the rows
        weighed when it was grown.
    classes_, n_classes_, schema_, n_features_in_, feature_names_in_, feature_importances_, n_outputs_
        As in `TreeClassifier`; importances are the mean over the trees, weighted by their votes.

    >>> X, y = [[1.0], [2.0], [3.0], [4.0], [5.0]], ["no", "yes", "yes", "no", "no"]
    >>> model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    >>> print(model.predict([[1.0], [2.5], [4.5]]))
    ['no' 'yes' 'no']
    """

    estimator_weights_: FloatArray
    estimator_errors_: FloatArray

    def __init__(
        self,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        max_depth: int | None = 1,
        criterion: str = "gini",
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        categories: Categories = "shrunk",
        max_features: MaxFeatures = None,
        custom_features: Sequence[str] | None = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        handle_missing: str = "learned",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.criterion = criterion
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.categories = categories
        self.max_features = max_features
        self.custom_features = custom_features
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees on rows X, an array or a frame of any library, with classes y."""
        check_n_estimators(self.n_estimators, "n_estimators")
        rules = self._rules()
        X = frame_of(X)
        table = self._table(X, y, sample_weight, "classification")
        seed = seed_if(rules.draws, self.random_state)
        boosted = grow_adaboost(table, rules, self.n_estimators, learning_rate=self.learning_rate, seed=seed)
        self.estimator_weights_ = boosted.ensemble.weights
        self.estimator_errors_ = boosted.errors
        self._remember_classes(y, table)
        return self._remember(X, boosted.ensemble)

    def decision_function(self, X: Any) -> FloatArray:
        """The summed votes for each class, (rows, classes); their softmax is `predict_proba`.

        For two classes one number per row: the votes for the second class minus those for the first, which
        is the logarithm of the odds.
        """
        check_is_fitted(self)
        votes = self.ensemble_.scores(self._matched(X), **self._policy())
        return votes[:, 1] - votes[:, 0] if self.n_classes_ == 2 else votes
