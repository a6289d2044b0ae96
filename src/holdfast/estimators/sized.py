"""One tree, as large as the parameters, or rows held out, say."""

from typing import Any, ClassVar, Literal

import numpy as np

from holdfast.arrays import LongArray
from holdfast.data.input.frame import make_frame
from holdfast.data.input.target import Task
from holdfast.data.split.groups import read_groups, subset_groups
from holdfast.data.stored.table import StoredTable
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.estimators.base import drawn_seed
from holdfast.estimators.intervals import IntervalEstimator
from holdfast.evidence.leaf_evidence import with_evidence
from holdfast.growth.pruning.path import UNLIMITED, SizeParameter
from holdfast.growth.rules import GrowthRules
from holdfast.growth.size.table import SizeTable
from holdfast.tree.tree import Tree

SizeRule = Literal["cv", "cv-1se"]
SIMILAR = "similar"
LEAF_VALUES = ("labels", "shrunk", "honest")


class SizedTreeEstimator(IntervalEstimator):
    """An estimator that grows one tree and may choose its size by rows held out."""

    takes_tables = True
    _task: ClassVar[Task]

    # The parameters that the methods here read.
    size: str | None
    leaf_values: str
    merge_leaves: bool | str
    reduced_error: float | None
    cv: Any
    scoring: Any
    n_jobs: int | None

    # What fit leaves behind where a size was chosen: the table, and the value of the parameter.
    size_table_: SizeTable
    ccp_alpha_: float
    max_depth_: int
    max_leaf_nodes_: int
    min_samples_leaf_: int  # with size="auto"
    shrinkage_: float  # with leaf_values="shrunk": its strength, in rows

    def _check_table(self, table: Table, y: Any, sample_weight: Any, task: Task) -> None:
        """The same, and what rows of a table on disk would have to be read for is refused."""
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
                "rows, table.subset(rows)."
            )

    def _fitted_tree(self, table: Table, groups: Any) -> Tree:
        """The tree of the size that the parameters ask for, with the leaf values that they ask for."""
        for name in (
            "size_table_",
            "min_samples_leaf_",
            "shrinkage_",
            *(f"{parameter}_" for parameter in UNLIMITED),
        ):
            self.__dict__.pop(name, None)  # of an earlier fit
        if self.leaf_values not in LEAF_VALUES:
            raise ParameterError(
                f"leaf_values={self.leaf_values!r} is unknown: choose 'labels', 'shrunk' or 'honest'. "
                "A teacher is what stable trees have."
            )
        if self._whole_rules().says_quantiles:
            self._check_quantiles()
        marks = None if groups is None else read_groups(groups, table.n_rows)
        return with_evidence(self._tree_with_values(table, marks), table, marks)

    def _check_quantiles(self) -> None:
        """Raise a ParameterError for what is about means."""
        for name, value in (("leaf_values", "shrunk"), ("merge_leaves", SIMILAR)):
            if getattr(self, name) == value:
                raise ParameterError(
                    f"{name}={value!r} is about probabilities and means, and the leaves of "
                    f"criterion={self._whole_rules().criterion!r} say quantiles: leave it out."
                )

    def _tree_with_values(self, table: Table, groups: LongArray | None) -> Tree:
        if self.leaf_values == "honest":
            return self._honest_tree(table, groups)
        tree = self._labelled_tree(table, groups)
        return self._shrunk(tree, table, groups) if self.leaf_values == "shrunk" else tree

    def _honest_tree(self, table: Table, groups: LongArray | None) -> Tree:
        """The tree of half of the rows, with leaf values from the other half."""
        from holdfast.growth.honest import honest_rows, set_honest_values

        rows = honest_rows(table, groups, self._seed_of_folds())
        tree = self._labelled_tree(rows.structure, subset_groups(rows.groups, rows.asked))
        return set_honest_values(tree, rows.values, self._whole_rules())

    def _shrunk(self, tree: Tree, table: Table, groups: LongArray | None) -> Tree:
        """The tree with its leaf values shrunk as much as folds speak for."""
        from holdfast.growth.shrinkage import choose_strength, shrink_tree

        if tree.n_leaves == 1:
            return tree
        found = choose_strength(table, self._alike, groups=groups, cv=self.cv, seed=self._seed_of_folds())
        self.shrinkage_ = found.chosen
        return shrink_tree(tree, found.chosen)

    def _alike(self, table: Table, groups: LongArray | None) -> Tree:
        """The tree of other rows, of the size that was chosen for this one."""
        from holdfast.growth.grow import grow

        if "size_table_" not in vars(self):
            return self._labelled_tree(table, groups)
        sizes = self.size_table_
        rules = self._whole_rules().replace(**{sizes.parameter: sizes.typical_value})
        if "min_samples_leaf_" in vars(self):
            rules = rules.replace(min_samples_leaf=self.min_samples_leaf_)
        return grow(table, rules, random_state=self._seed(rules))

    def _whole_rules(self) -> GrowthRules:
        """The growth rules, with what folds choose left open."""
        return self._rules(
            **{name: whole for name, whole in UNLIMITED.items() if isinstance(getattr(self, name), str)}
        )

    def _rules(self, **changes: Any) -> GrowthRules:
        """The growth rules; leaves that are similar are joined when the tree has its size."""
        if getattr(self, "merge_leaves", False) == SIMILAR:
            changes = {"merge_leaves": False, **changes}
        return super()._rules(**changes)

    def _labelled_tree(self, table: Table, groups: LongArray | None) -> Tree:
        """The tree of the size that the parameters ask for, whose leaves say what their rows were."""
        if self.merge_leaves != SIMILAR:
            return self._unmerged_tree(table, groups)
        from holdfast.growth.leaf_values import refit_leaf_values
        from holdfast.growth.pruning.similar import draw_test_rows, merge_similar_leaves

        table, groups, tested = draw_test_rows(table, groups, self._seed_of_folds())
        if tested.all() or not tested.any():  # nothing can be held out
            return self._unmerged_tree(table, groups)
        tree = self._unmerged_tree(table.subset(~tested), subset_groups(groups, ~tested))
        joined = merge_similar_leaves(tree, table.subset(tested), groups=subset_groups(groups, tested))
        return refit_leaf_values(joined, table, self._whole_rules())

    def _unmerged_tree(self, table: Table, groups: LongArray | None) -> Tree:
        from holdfast.growth.grow import grow
        from holdfast.growth.pruning.reduced_error import grow_reduced_error

        size_search = self._size_search()
        if self.size == "auto":
            return self._auto_sized(table, groups)
        if size_search is not None:
            return self._sized(table, groups, *size_search)
        rules = self._rules()
        if self.reduced_error is not None:
            seed = self._seed_of_folds()
            return grow_reduced_error(table, rules, self.reduced_error, groups=groups, seed=seed)
        return grow(table, rules, random_state=self._seed(rules))

    def _size_search(self) -> tuple[SizeParameter, SizeRule] | None:
        """Which parameter is to be chosen, and how; None if all are given."""
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
            ways += [f"size={self.size!r}", *self._given_alpha()]
        if len(ways) > 1:
            raise ParameterError(f"{' and '.join(ways)} each choose the size of the tree: leave one of them.")
        return wishes[0] if wishes else None

    def _given_alpha(self) -> list[str]:
        alpha: Any = getattr(self, "ccp_alpha", 0.0)
        return [] if isinstance(alpha, str) or not alpha else [f"ccp_alpha={alpha!r}"]

    def _auto_sized(self, table: Table, groups: Any) -> Tree:
        from holdfast.growth.size.search import SizeSearch, choose_size_and_leaf

        search = SizeSearch("cv", self.cv, self.scoring, self._seed_of_folds(), self.n_jobs)
        found = choose_size_and_leaf(table, self._rules(), search=search, groups=groups)
        self.size_table_, self.min_samples_leaf_ = found.sizes, found.min_samples_leaf
        self.ccp_alpha_ = found.sizes.chosen_value
        return found.tree

    def _sized(self, table: Table, groups: Any, name: SizeParameter, selection_rule: SizeRule) -> Tree:
        from holdfast.growth.size.search import SizeSearch, choose_size

        rules = self._rules(**{name: UNLIMITED[name]})
        search = SizeSearch(selection_rule, self.cv, self.scoring, self._seed_of_folds(), self.n_jobs)
        tree, self.size_table_ = choose_size(table, rules, name, search=search, groups=groups)
        value = self.size_table_.chosen_value
        setattr(self, f"{name}_", value if name == "ccp_alpha" else int(value))
        return tree

    def _seed_of_folds(self) -> int:
        """The seed that divides rows: 0 without a random state, lest the tree change by itself."""
        return 0 if self.random_state is None else drawn_seed(self.random_state)

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """The alphas of minimal cost-complexity pruning and the impurity of the leaves of each subtree.

        A bunch with `ccp_alphas` and `impurities`, as in scikit-learn, and `n_leaves`. The model is not
        fitted. `pruning_path(tree)` tells the same of a tree, and has the subtrees themselves.
        """
        from sklearn.utils import Bunch

        from holdfast.growth.grow import grow
        from holdfast.growth.pruning.path import pruning_path

        rules = self._whole_rules().replace(ccp_alpha=0.0)
        tree = grow(
            self._table(make_frame(X), y, sample_weight, self._task), rules, random_state=self._seed(rules)
        )
        path = pruning_path(tree, rules.ccp_risk)
        alphas, impurities, n_leaves = (np.array(each) for each in (path.alphas, path.risks, path.n_leaves))
        return Bunch(ccp_alphas=alphas, impurities=impurities, n_leaves=n_leaves)
