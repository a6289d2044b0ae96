"""Clusters of unlabelled rows as the leaves of a tree, with the face of scikit-learn."""

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClusterMixin, DensityMixin
from sklearn.utils.validation import check_is_fitted

from holdfast.arrays import FloatArray, LongArray
from holdfast.data.input.frame import frame_of
from holdfast.data.input.rows import encoded
from holdfast.estimators.base import TreeEstimator, drawn_seed
from holdfast.growth.density.evidence import HeldOutGain
from holdfast.growth.density.size import DensitySizeTable
from holdfast.growth.density.tree import Cluster, Density, DensityRules, grow_density


class DensityTree(ClusterMixin, DensityMixin, TreeEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A tree for unlabelled rows: its leaves are clusters, each with a rule, and together they are a density.

    Every question makes the two sides as likely as can be, each side being one Gaussian for its numbers and
    frequencies for its categories. A question stands only if rows that were held out of the search become
    more likely by it. How many clusters there are is found that way: a single Gaussian is one cluster.

    Parameters
    ----------
    covariance
        "diagonal": the numbers of a cluster vary independently of each other. "full": with correlations,
        and then only some thresholds of a column are tried, more of them around the best.
    shrinkage
        How far correlations are moved towards 0, from 0 to 1. "auto": by how uncertain they are.
    max_depth, max_leaf_nodes
        The greatest number of questions on a path, and of clusters: of these, the questions that gain most
        come first. None: no limit.
    min_samples_leaf
        Rows of the search that each side of a question must keep; a float is a fraction of them.
    validation
        Fraction of the rows that is held out of the search and judges the questions. None: no rows are held
        out, and the limits alone end growth.
    evidence
        Standard errors by which the likelihood of the rows held out must rise.
    questions
        Questions of your own, such as "height > width", that may divide rows like any other. Their answers
        take no part in the density.
    categorical_features, handle_unknown, handle_missing
        As in `TreeClassifier`.
    random_state
        Seed, generator or None, for the rows held out. It is 0 by default: the same data give the same
        clusters, in whatever order the rows come.

    Attributes
    ----------
    tree_ : Tree
        The tree, whose target is the cluster; `rules()` writes it as text.
    labels_ : array
        The cluster of every row of X.
    n_clusters_ : int
        Number of clusters: the leaves of the tree, numbered from left to right.
    clusters_ : tuple of Cluster
        Fraction, means, covariance and frequencies of every cluster, described from all rows.
    evidence_ : tuple of HeldOutGain
        What the questions at each node and below gained for the rows held out, with the standard error.
    size_table_ : DensitySizeTable or None
        What the rows held out say of every number of clusters: their mean log likelihood, what it gains over
        one cluster fewer, the standard errors of both, and which was chosen. None if no rows are held out.
    schema_, n_features_in_, feature_names_in_, feature_importances_, n_outputs_
        As in `TreeClassifier`; here impurity is the entropy of the clusters.

    >>> X = [[value + step / 10] for value in (0.0, 100.0) for step in range(50)]
    >>> model = DensityTree().fit(X)
    >>> model.n_clusters_, model.predict([[3.0], [99.0]])
    (2, array([0, 1]))
    """

    clusters_: tuple[Cluster, ...]
    evidence_: tuple[HeldOutGain, ...]
    size_table_: DensitySizeTable | None
    labels_: LongArray
    n_clusters_: int
    _density: Density

    max_features = None  # what every tree estimator has, and this one does not offer

    def __init__(
        self,
        *,
        covariance: Literal["diagonal", "full"] = "diagonal",
        shrinkage: float | Literal["auto"] = "auto",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int | float = 5,
        validation: float | None = 0.3,
        evidence: float = 2.0,
        custom_features: Sequence[str] | None = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        handle_missing: str = "learned",
        random_state: Any = 0,
    ) -> None:
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.validation = validation
        self.evidence = evidence
        self.custom_features = custom_features
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters of rows X, an array or a frame of any library; y is not looked at."""
        self._check_policies()
        rules = DensityRules(
            self.covariance,
            self.shrinkage,
            self.max_depth,
            self.max_leaf_nodes,
            self.min_samples_leaf,
            self.validation,
            self.evidence,
        )
        frame = frame_of(X)
        table = self._table(frame, np.zeros(frame.n_rows), sample_weight, "regression")
        self._density = grow_density(table, rules, seed=drawn_seed(self.random_state))
        self._remember(frame, self._density.tree)
        self.clusters_, self.evidence_ = self._density.clusters, self._density.evidence
        self.size_table_ = self._density.size_table
        self.n_clusters_ = self.tree_.n_leaves
        self.labels_ = self.tree_.outcome[self.tree_.apply(table)].astype(np.int64)
        return self

    def predict(self, X: Any) -> LongArray:
        """The cluster of every row: that of the leaf it reaches."""
        leaves = self.apply(X)
        return np.asarray(self.tree_.outcome[leaves], np.int64)

    def score_samples(self, X: Any) -> FloatArray:
        """The log density of every row: over its known numbers, times the probability of its categories.

        It is in the units of the data. A missing value takes no part, nor does a column that held a single
        value at fit. It sums over all clusters, not only that of the row.
        """
        check_is_fitted(self)
        rows = encoded(
            self._matched(X),
            self.schema_,
            range(len(self.schema_.features)),
            handle_unknown=self.handle_unknown,
            handle_missing=self.handle_missing,
        )
        return self._density.log_density(tuple(rows.T))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log density of the rows."""
        return float(np.mean(self.score_samples(X)))
