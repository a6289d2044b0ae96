"""One decision tree, whose size is given or chosen on held-out rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from holdfast._arrays import LongArray
from holdfast.data.folds import read_groups, subset_groups
from holdfast.data.frame import make_frame
from holdfast.data.schema import Label
from holdfast.data.stored import StoredTable
from holdfast.data.table import Table
from holdfast.data.target import Task
from holdfast.errors import ParameterError
from holdfast.estimators.base import ClassifierBase, RegressorBase, TreeEstimator, all_or_nothing, make_seed
from holdfast.growth.class_costs import LossMatrix
from holdfast.growth.pruning import UNLIMITED, SizeParameter
from holdfast.growth.rules import Column, GrowthRules, MaxFeatures, Splitter
from holdfast.growth.size_search import SizeTable
from holdfast.tree.leaf_evidence import add_evidence
from holdfast.tree.tree import Tree

SizeRule = Literal["cv", "cv-1se"]
SIMILAR = "similar"
LEAF_VALUES = ("labels", "shrunk", "honest")


@dataclass(eq=False, repr=False, kw_only=True)
class TreeParameters:
    """The parameters of `TreeClassifier` and `TreeRegressor`."""

    max_depth: int | Literal["cv", "cv-1se"] | None = None
    max_leaf_nodes: int | Literal["cv", "cv-1se"] | None = None
    min_samples_leaf: int | float = 1
    ccp_alpha: float | Literal["cv", "cv-1se"] = 0.0
    criterion: str = "gini"
    monotonic_cst: Mapping[Column, int] | Sequence[int] | None = None
    splitter: Splitter = "best"
    min_samples_split: int | float = 2
    min_weight_fraction_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    max_features: MaxFeatures = None
    growth_rules: GrowthRules | None = None
    size: Literal["auto"] | None = None
    leaf_values: str = "labels"
    merge_leaves: bool | Literal["similar"] = False
    reduced_error: float | None = None
    cv: Any = 10
    scoring: Any = None
    custom_features: Sequence[str] | None = None
    categorical_features: Any = "from_dtype"
    handle_unknown: str = "missing"
    handle_missing: str = "learned"
    n_jobs: int | None = None
    random_state: Any = None


class SizedTreeEstimator(TreeParameters, TreeEstimator):
    """An estimator that grows one tree and may choose its size on held-out rows."""

    takes_tables: ClassVar[bool] = True

    # Fitted attributes where a size was chosen: the table, and the value of the parameter.
    size_table_: SizeTable
    ccp_alpha_: float
    max_depth_: int
    max_leaf_nodes_: int
    min_samples_leaf_: int  # with size="auto"
    shrinkage_: float  # with leaf_values="shrunk": its strength, in rows

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array, frame or Table
            Rows; a frame of any library. A table, on disk perhaps, has its own target and weights.
        y : array
            Classes, or numbers. Left out if X is a table.
        sample_weight : array, optional
            Weight of every row; 0 leaves a row out.
        groups : array, optional
            Rows of one group, such as a patient, are held out together where a size is chosen.

        Returns
        -------
        self
        """
        X = X if isinstance(X, Table) else make_frame(X)
        table = self._table(X, y, sample_weight)
        tree = self._fit_model(table, groups)
        self._choose_threshold(table, groups)
        self._set_classes(y, table)
        return self._set_fitted(X, self._with_threshold(tree))

    def _check_table(self, table: Table, y: Any, sample_weight: Any, task: Task) -> None:
        """Also refuse what would read the rows of a table on disk into memory."""
        super()._check_table(table, y, sample_weight, task)
        if not isinstance(table, StoredTable):
            return
        by_folds = [name for name in ("size", *UNLIMITED) if isinstance(getattr(self, name), str)]
        others = {"leaf_values": "labels", "reduced_error": None, "threshold": None}
        others_given = [name for name, usual in others.items() if getattr(self, name, usual) != usual]
        merged = ["merge_leaves"] if self.merge_leaves == SIMILAR else []
        given = [f"{name}={getattr(self, name)!r}" for name in (*by_folds, *others_given, *merged)]
        if given:
            raise ParameterError(
                f"{' and '.join(given)} would read rows of a table on disk into memory, to hold some out: "
                "leave it out, and prune by a given ccp_alpha or min_samples_leaf; or give a part of the "
                "rows, table.taken(rows)."
            )

    # -- growth rules ---------------------------------------------------------------------------------

    def _rules(self, **changes: Any) -> GrowthRules:
        """The growth rules; leaves that are similar are merged when the tree has its size."""
        if self.merge_leaves == SIMILAR:
            changes = {"merge_leaves": False, **changes}
        return super()._rules(**changes)

    def _whole_rules(self) -> GrowthRules:
        """The growth rules without the limits that folds choose."""
        return self._rules(
            **{name: whole for name, whole in UNLIMITED.items() if isinstance(getattr(self, name), str)}
        )

    def _growth_seed(self, rules: GrowthRules) -> int:
        return make_seed(self.random_state, rules.draws)

    def _fold_seed(self) -> int:
        """Seed of the folds; 0 if `random_state` is None, so that results are reproducible."""
        return 0 if self.random_state is None else make_seed(self.random_state)

    # -- leaf values ----------------------------------------------------------------------------------

    def _fit_model(self, table: Table, groups: Any) -> Tree:
        """Grow the tree with the size and leaf values of the parameters."""
        chosen = ("size_table_", "min_samples_leaf_", "shrinkage_", *(f"{name}_" for name in UNLIMITED))
        for name in chosen:
            self.__dict__.pop(name, None)  # of an earlier fit
        if self.leaf_values not in LEAF_VALUES:
            raise ParameterError(
                f"leaf_values={self.leaf_values!r} is unknown: choose 'labels', 'shrunk' or 'honest'. "
                "A teacher is what stable trees have."
            )
        whole = self._whole_rules()
        for name, value in (("leaf_values", "shrunk"), ("merge_leaves", SIMILAR)):
            if whole.predicts_quantiles and getattr(self, name) == value:
                raise ParameterError(
                    f"{name}={value!r} is about probabilities and means, and the leaves of "
                    f"criterion={whole.criterion!r} predict quantiles: leave it out."
                )
        marks = None if groups is None else read_groups(groups, table.n_rows)
        if self.leaf_values == "honest":
            tree = self._honest_tree(table, marks)
        else:
            tree = self._labelled_tree(table, marks)
            tree = self._shrink(tree, table, marks) if self.leaf_values == "shrunk" else tree
        return add_evidence(tree, table, marks)

    def _honest_tree(self, table: Table, groups: LongArray | None) -> Tree:
        """The tree of half of the rows, with leaf values from the other half."""
        from holdfast.growth.leaf_values import set_honest_values, split_honest_rows

        table, groups, is_structure = split_honest_rows(table, groups, self._fold_seed())
        tree = self._labelled_tree(table.subset(is_structure), subset_groups(groups, is_structure))
        return set_honest_values(tree, table.subset(~is_structure), self._whole_rules())

    def _shrink(self, tree: Tree, table: Table, groups: LongArray | None) -> Tree:
        """The tree with leaf values shrunk by the strength that folds choose."""
        from holdfast.growth.grow import grow
        from holdfast.growth.shrinkage import choose_strength, shrink_tree

        if tree.n_leaves == 1:
            return tree

        def grow_alike(table: Table, groups: LongArray | None) -> Tree:
            """The tree of other rows, of the size that was chosen for this one."""
            if "size_table_" not in vars(self):
                return self._labelled_tree(table, groups)
            sizes = self.size_table_
            rules = self._whole_rules().replace(**{sizes.parameter: sizes.typical_value})
            if "min_samples_leaf_" in vars(self):
                rules = rules.replace(min_samples_leaf=self.min_samples_leaf_)
            return grow(table, rules, random_state=self._growth_seed(rules))

        found = choose_strength(table, grow_alike, groups=groups, cv=self.cv, seed=self._fold_seed())
        self.shrinkage_ = found.chosen
        return shrink_tree(tree, found.chosen)

    # -- size -----------------------------------------------------------------------------------------

    def _labelled_tree(self, table: Table, groups: LongArray | None) -> Tree:
        """Grow the tree with the size of the parameters; its leaf values are those of its rows."""
        if self.merge_leaves != SIMILAR:
            return self._unmerged_tree(table, groups)
        from holdfast.growth.holdout_pruning import draw_test_rows, merge_similar_leaves
        from holdfast.growth.leaf_values import refit_leaf_values

        table, groups, tested = draw_test_rows(table, groups, self._fold_seed())
        if tested.all() or not tested.any():  # nothing can be held out
            return self._unmerged_tree(table, groups)
        tree = self._unmerged_tree(table.subset(~tested), subset_groups(groups, ~tested))
        joined = merge_similar_leaves(tree, table.subset(tested), groups=subset_groups(groups, tested))
        return refit_leaf_values(joined, table, self._whole_rules())

    def _unmerged_tree(self, table: Table, groups: LongArray | None) -> Tree:
        from holdfast.growth.grow import grow
        from holdfast.growth.holdout_pruning import grow_reduced_error
        from holdfast.growth.size_search import SizeSearch, choose_size, choose_size_and_leaf

        parameter, rule = self._size_search()
        if self.size == "auto":
            search = SizeSearch("cv", self.cv, self.scoring, self._fold_seed(), self.n_jobs)
            found = choose_size_and_leaf(table, self._rules(), search=search, groups=groups)
            self.size_table_, self.min_samples_leaf_ = found.sizes, found.min_samples_leaf
            self.ccp_alpha_ = found.sizes.chosen_value
            return found.tree
        if parameter is not None:
            rules = self._rules(**{parameter: UNLIMITED[parameter]})
            search = SizeSearch(rule, self.cv, self.scoring, self._fold_seed(), self.n_jobs)
            tree, self.size_table_ = choose_size(table, rules, parameter, search=search, groups=groups)
            value = self.size_table_.chosen_value
            setattr(self, f"{parameter}_", value if parameter == "ccp_alpha" else int(value))
            return tree
        rules = self._rules()
        if self.reduced_error is not None:
            seed = self._fold_seed()
            return grow_reduced_error(table, rules, self.reduced_error, groups=groups, seed=seed)
        return grow(table, rules, random_state=self._growth_seed(rules))

    def _size_search(self) -> tuple[SizeParameter | None, SizeRule]:
        """Which parameter is to be chosen (None: all are given), and by which rule."""
        wishes: list[tuple[SizeParameter, Any]] = [
            (name, value) for name in UNLIMITED if isinstance(value := getattr(self, name), str)
        ]
        for name, value in wishes:
            if value not in ("cv", "cv-1se"):
                raise ParameterError(f"{name}={value!r} is unknown: give a number, 'cv' or 'cv-1se'.")
        if self.size not in (None, "auto"):
            raise ParameterError(f"size={self.size!r} is unknown: give 'auto', or None and other parameters.")
        ways = [f"{name}={value!r}" for name, value in wishes]
        ways += [f"reduced_error={self.reduced_error!r}"] * (self.reduced_error is not None)
        if self.size is not None:
            is_given = bool(self.ccp_alpha) and not isinstance(self.ccp_alpha, str)
            ways += [f"size={self.size!r}", *[f"ccp_alpha={self.ccp_alpha!r}"] * is_given]
        if len(ways) > 1:
            raise ParameterError(f"{' and '.join(ways)} each choose the size of the tree: leave one of them.")
        return wishes[0] if wishes else (None, "cv")

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Compute the path of minimal cost-complexity pruning, without fitting the model.

        `pruning_path(tree)` does the same for a fitted tree, and has the subtrees themselves.

        Parameters
        ----------
        X : array or frame
            Rows.
        y : array
            Classes, or numbers.
        sample_weight : array, optional
            Weight of every row.

        Returns
        -------
        Bunch
            `ccp_alphas` and `impurities` of the leaves of each subtree, as in scikit-learn, and `n_leaves`.
        """
        from sklearn.utils import Bunch

        from holdfast.growth.grow import grow
        from holdfast.growth.pruning import pruning_path

        rules = self._whole_rules().replace(ccp_alpha=0.0)
        table = self._table(make_frame(X), y, sample_weight)
        path = pruning_path(grow(table, rules, random_state=self._growth_seed(rules)), rules.ccp_risk)
        alphas, impurities, n_leaves = (np.array(each) for each in (path.alphas, path.risks, path.n_leaves))
        return Bunch(ccp_alphas=alphas, impurities=impurities, n_leaves=n_leaves)


@dataclass(eq=False, repr=False, kw_only=True)
class TreeClassifier(SizedTreeEstimator, ClassifierBase):
    """A decision tree that predicts classes.

    The same data give the same tree, in any order of the rows: ties between splits are decided by the name of
    the column, then by the lowest threshold. Text, categories and missing values need no encoding.

    Parameters
    ----------
    max_depth, max_leaf_nodes : int, "cv", "cv-1se" or None
        *Matters most.* The greatest number of splits on a path, and of leaves; with a limit on the leaves,
        splits are made in the order of their gain. None: no limit. "cv" and "cv-1se" choose it: see `cv`.
    min_samples_leaf : int or float
        *Matters most.* Fewest rows on each side of a split; a float is a fraction of all rows.
    ccp_alpha : float, "cv" or "cv-1se"
        *Matters most.* Cost-complexity pruning: the subtree that minimises risk + alpha * leaves is taken. 0:
        no pruning. "cv" and "cv-1se" choose it: see `cv`.
    criterion : str
        *Matters most.* "gini", "entropy" (also "log_loss"), "misclassification" (also "purity"), "gain_ratio"
        or "mutual_information".
    monotonic_cst : mapping or sequence, optional
        *Matters most.* Direction of the prediction along columns, as a mapping or as one of 1, 0, -1 per
        column. With {"age": 1, "dose": -1} the prediction never falls as age rises, and never rises with the
        dose. The prediction is the mean, or the probability of a class: the second of two, or the
        `monotonic_class` of the growth rules.
    splitter : str
        "best" tries all splits of every feature. "random" draws one split per feature, with a threshold
        uniform between the least and greatest value in the node, or a random set of categories, and takes the
        best of them.
    min_samples_split : int or float
        Fewest rows of a node that is split; a float is a fraction of all rows.
    min_weight_fraction_leaf : float
        Least fraction of the total weight on each side of a split.
    min_impurity_decrease : float
        Least decrease of impurity by a split, weighted by the node's fraction of the rows.
    max_features : int, float, str or None
        Features drawn at every split: a number, a fraction, "sqrt", "log2" or "third". None: all.
    growth_rules : GrowthRules, optional
        Rules such as `C45`, and details that few people set, such as
        `GrowthRules(excluded_features=["ward"])`. Parameters that are not at their defaults take precedence.
    size : "auto", optional
        "auto": `ccp_alpha` and `min_samples_leaf` are chosen together by cross-validation, the latter among
        1, 5, 10, 20 and 50 rows (not below the given number); see `cv`. A good first tree.
    leaf_values : str
        "labels": the class frequencies, or mean, of the rows of the leaf. "shrunk": these shrunk towards the
        parent nodes, more where there are fewer rows, so that no probability is 0 or 1; the strength is
        chosen by cross-validated log loss or squared error. "honest": the splits are chosen on half of the
        rows, and the leaf values are estimated on the other half.
    merge_leaves : bool or "similar"
        True merges two leaves of one node that predict the same class. "similar": two leaves whose
        predictions do not differ significantly on a third of the rows, held out; leaf values then come from
        all rows again.
    reduced_error : float, optional
        Fraction of the rows that are held out for reduced-error pruning: a subtree stays if it makes fewer
        errors on them than a leaf.
    cv, scoring
        How a size is chosen, with size="auto" or where `ccp_alpha`, `max_depth` or `max_leaf_nodes` is "cv"
        (best mean score on held-out rows) or "cv-1se" (the smallest tree within one standard error of it). A
        number of folds, the fraction of one held-out part, a splitter of scikit-learn, or pairs of row
        numbers; and "auc" (the default), "accuracy", "log_loss" or any scorer.
    custom_features : list of str, optional
        Yes/no features of your own to split on, as text: ["bmi ** 2 < 900", "ward == 'B' and age > 60"].
    categorical_features
        Names, indices or flags of columns to read as categories, in addition to those of text, True/False and
        categories; None reads True/False as numbers.
    handle_unknown : str
        How predictions treat a category that was not in the training rows: "missing" treats it as a missing
        value, with a warning; "error" raises an error.
    handle_missing : str
        How predictions treat a missing value: "learned" follows the side that fitted better in training;
        "error" raises an error.
    n_jobs : int, optional
        Threads that grow the trees of the folds; -1 for all cores.
    random_state : int, generator or None
        Seed for drawing features or splits and for holding out rows; None holds out the same rows each time.
    class_weight : mapping, "balanced" or None
        Weight of each class by its label.
    loss_matrix : mapping or nested list, optional
        Cost of predicting one class for a row of another: {("bad", "good"): 5}, where other pairs cost 1, or
        a row for each true class and a column for each predicted one. Splits are chosen by altered priors as
        in rpart, pruning counts costs, and a leaf predicts the class of least expected loss. Probabilities
        do not change.
    threshold : float or "cost", optional
        The class `positive`, or the rarer of two, is predicted from this probability on. "cost": the
        threshold with the least cost by `loss_matrix` on held-out rows (`cv`), or with the fewest errors
        without a loss matrix. None: the most probable class, or that of least expected loss.
    positive : label, optional
        Class whose probability is shown in drawings and rules. None: the rarer of two in the training rows;
        updates keep it, even if it is no longer the rarer.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree: `str(model.tree_)` and a notebook draw it.
    size_table_ : SizeTable
        Where a size was chosen: the scores of all sizes. It prints itself, and a notebook draws it.
    ccp_alpha_, max_depth_, max_leaf_nodes_, min_samples_leaf_
        The chosen value of the parameter that was chosen. A depth of 0, or one leaf, is the root alone.
    decision_threshold_, positive_class_
        With `threshold`: the probability from which on a class is predicted, and its index in `classes_`.
    shrinkage_ : float
        With leaf_values="shrunk": the chosen strength, in rows.
    expected_cost_ : float
        With `feature_costs` in the growth rules: the mean cost of a row, where each column on its path counts
        once.
    schema_ : Schema
        Names, kinds, ranges and categories of the columns.
    classes_, n_classes_
        The classes, in the dtype of y, and their number.
    n_features_in_, feature_names_in_
        Number of columns, and their names if X was a frame. A frame to predict is matched by name.
    feature_importances_ : array
        One number per column; the share of a custom feature is divided among its columns.
    n_outputs_ : int
        Always 1.

    Examples
    --------
    >>> model = TreeClassifier().fit([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"])
    >>> print(model.predict([[35.0], [45.0]]))
    ['no' 'yes']
    """

    class_weight: Mapping[Label, float] | Literal["balanced"] | None = None
    loss_matrix: LossMatrix = None
    threshold: float | Literal["cost"] | None = None
    positive: Label | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class TreeRegressor(SizedTreeEstimator, RegressorBase):
    """A decision tree that predicts numbers.

    Parameters
    ----------
    criterion : str
        "squared_error"; "poisson" for counts and other targets of at least 0; or "absolute_error", whose
        leaves predict the median. Leaves predict another quantile with `growth_rules=GrowthRules("quantile",
        quantile=0.9)`.
    others
        As in `TreeClassifier`, without those about classes; leaves are merged if they are "similar".

    Attributes
    ----------
    tree_, size_table_ and others
        As in `TreeClassifier`, without those about classes.

    Examples
    --------
    >>> model = TreeRegressor(max_depth=1).fit([[20.0], [30.0], [50.0], [60.0]], [1.0, 2.0, 7.0, 8.0])
    >>> print(model.predict([[35.0], [45.0]]))
    [1.5 7.5]
    """

    criterion: str = "squared_error"
