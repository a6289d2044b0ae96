"""Clusters of unlabelled rows as the leaves of a tree."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClusterMixin, DensityMixin
from sklearn.utils.validation import check_is_fitted

from holdfast._arrays import FloatArray, LongArray
from holdfast.data.encode import encode_rows
from holdfast.data.frame import make_frame
from holdfast.estimators.base import TreeEstimator, all_or_nothing, make_seed
from holdfast.growth.density import (
    Cluster,
    Density,
    DensityRules,
    DensitySizeTable,
    HeldOutGain,
    grow_density,
)


class _DensityEstimator(ClusterMixin, DensityMixin, TreeEstimator):  # type: ignore[misc]  # no types
    """The fitted attributes of `DensityTree`."""

    clusters_: tuple[Cluster, ...]
    evidence_: tuple[HeldOutGain, ...]
    size_table_: DensitySizeTable | None
    labels_: LongArray
    n_clusters_: int
    _density: Density


@dataclass(eq=False, repr=False, kw_only=True)
class DensityTree(_DensityEstimator):
    """A tree for unlabelled rows: its leaves are clusters, each with a rule, and together they are a density.

    Every split makes the two sides as likely as can be, each side being one Gaussian for its numbers and
    frequencies for its categories. A split stays only if it makes rows that were held out of the search more
    likely. The number of clusters follows from that: a single Gaussian is one cluster.

    Parameters
    ----------
    covariance : str
        *Matters most.* "diagonal": the numbers of a cluster vary independently of each other. "full": with
        correlations, and then only some thresholds of a column are tried, more of them around the best.
    max_leaf_nodes : int or None
        *Matters most.* The greatest number of clusters: the splits that gain most come first. None: no limit.
    min_samples_leaf : int or float
        *Matters most.* Rows of the search that each side of a split must keep; a float is a fraction of them.
    validation : float or None
        *Matters most.* Fraction of the rows that is held out of the search and judges the splits. None: no
        rows are held out, and the limits alone end growth.
    evidence : float
        *Matters most.* Standard errors by which the likelihood of the held-out rows must rise.
    shrinkage : float or "auto"
        How far correlations are shrunk towards 0, from 0 to 1. "auto": by how uncertain they are.
    max_depth : int or None
        The greatest number of splits on a path. None: no limit.
    custom_features : list of str, optional
        Yes/no features of your own, such as "height > width", that may split rows like any other. They take
        no part in the density.
    categorical_features, handle_unknown, handle_missing
        As in `TreeClassifier`.
    random_state : int, generator or None
        For the held-out rows. It is 0 by default: the same data give the same clusters, in any order of rows.

    Attributes
    ----------
    tree_ : Tree
        The tree, whose target is the cluster; `rules()` writes it as text.
    labels_ : array
        The cluster of every row of X.
    n_clusters_ : int
        Number of clusters: the leaves of the tree, numbered from left to right.
    clusters_ : tuple of Cluster
        Fraction, means, covariance and frequencies of every cluster, computed from all rows.
    evidence_ : tuple of HeldOutGain
        What the splits at each node and below gained for the held-out rows, with the standard error.
    size_table_ : DensitySizeTable or None
        For every number of clusters the mean log likelihood of the held-out rows, its gain over one cluster
        fewer, the standard errors of both, and which was chosen. None if no rows are held out.
    schema_, n_features_in_, feature_names_in_, feature_importances_, n_outputs_
        As in `TreeClassifier`; here impurity is the entropy of the clusters.

    Examples
    --------
    >>> X = [[value + step / 10] for value in (0.0, 100.0) for step in range(50)]
    >>> model = DensityTree().fit(X)
    >>> model.n_clusters_, model.predict([[3.0], [99.0]])
    (2, array([0, 1]))
    """

    covariance: Literal["diagonal", "full"] = "diagonal"
    max_leaf_nodes: int | None = None
    min_samples_leaf: int | float = 5
    validation: float | None = 0.3
    evidence: float = 2.0
    shrinkage: float | Literal["auto"] = "auto"
    max_depth: int | None = None
    custom_features: Sequence[str] | None = None
    categorical_features: Any = "from_dtype"
    handle_unknown: str = "missing"
    handle_missing: str = "learned"
    random_state: Any = 0

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array or frame
            Rows; a frame of any library.
        y : None
            Not used.
        sample_weight : array, optional
            Weight of every row.

        Returns
        -------
        self
        """
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
        frame = make_frame(X)
        table = self._table(frame, np.zeros(frame.n_rows), sample_weight)
        self._density = grow_density(table, rules, seed=make_seed(self.random_state))
        self._set_fitted(frame, self._density.tree)
        self.clusters_, self.evidence_ = self._density.clusters, self._density.evidence
        self.size_table_ = self._density.size_table
        self.n_clusters_ = self.tree_.n_leaves
        self.labels_ = self.tree_.outcome[self.tree_.apply(table)].astype(np.int64)
        return self

    def predict(self, X: Any) -> LongArray:
        """Find the cluster of every row: that of the leaf it reaches.

        Parameters
        ----------
        X : array or frame
            Rows, with the columns of `fit`.

        Returns
        -------
        array of int
        """
        leaves = self.apply(X)
        return np.asarray(self.tree_.outcome[leaves], np.int64)

    def score_samples(self, X: Any) -> FloatArray:
        """Compute the log density of every row: of its numbers, times the probability of its categories.

        It is in the units of the data. A missing value takes no part, nor does a column that held a single
        value at fit. It sums over all clusters, not only that of the row.

        Parameters
        ----------
        X : array or frame
            Rows, with the columns of `fit`.

        Returns
        -------
        array of float
        """
        check_is_fitted(self)
        rows = encode_rows(
            self._matched(X),
            self.schema_,
            range(len(self.schema_.features)),
            handle_unknown=self.handle_unknown,
            handle_missing=self.handle_missing,
        )
        return self._density.log_density(tuple(rows.T))

    def score(self, X: Any, y: Any = None) -> float:
        """Compute the mean log density of the rows."""
        return float(np.mean(self.score_samples(X)))
