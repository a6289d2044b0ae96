"""The tree: an immutable struct of arrays, with a value and a weight at every node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan
from sys import float_info
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray, freeze, scale_back, scale_to_unit
from holdfast.data.schema import Label, Schema
from holdfast.errors import SchemaMismatch

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from holdfast.data.survival import EventTable
    from holdfast.data.table import Table
    from holdfast.tree.edit import Edit, TreeEditor
    from holdfast.tree.monotone import Monotone
    from holdfast.tree.summary import TreeSummary


class EditInfo(TypedDict, total=False):
    """Author, reason and date that are recorded with an edit."""

    by: str  # author
    why: str
    when: str


# -- The tree ------------------------------------------------------------------------------------------------

LONGEST_TEXT = 256  # letters of a label in an array of fixed-width texts
LEAF = -1  # in `feature`, `left` and `right`
# Optional fields of a tree with one number, or one row of numbers, per node.
OPTIONAL_ARRAYS = ("observed", "effective", "deviation", "rows_mean", "teacher_mean")
KNOWN = float_info.max  # threshold of a split on whether the value is recorded: no number exceeds it
NOTHING = 2.0**-40  # gains below this fraction of a node's impurity are rounding errors


@dataclass(frozen=True, eq=False)
class Tree:
    """A decision tree: immutable arrays with one entry per node, in preorder.

    The root is node 0, and the left subtree of a node comes before the right one. A row goes left if
    `x <= threshold`, if its category is in the set of the node, or if the custom feature is true; a missing
    value goes left if `missing_left` is true.
    """

    schema: Schema
    feature: IntArray  # index into schema.features; LEAF at a leaf
    threshold: FloatArray  # NaN at a leaf and at a split on categories
    left: IntArray  # child; LEAF at a leaf
    right: IntArray
    missing_left: BoolArray
    set_start: LongArray  # first flag of the node in `in_set`; -1 unless it splits on a set of categories
    in_set: BoolArray  # one flag per category for each split on a set: does it go left?
    value: FloatArray  # (nodes, classes) fractions of the classes, or (nodes, 1) mean of the target
    count: FloatArray  # rows that reached the node
    weight: FloatArray  # their total weight
    impurity: FloatArray  # of the criterion the tree was grown with
    criterion: str = "gini"
    notes: tuple[str, ...] = ()  # remarks for readers, for example that a budget ran out
    # Class of every node if ties are not decided by the nodes above.
    given_outcome: IntArray | None = None
    # (nodes, classes) class counts if they do not follow from value and count: with weighted rows, or values
    # that are a teacher's predictions. See `class_counts`.
    observed: FloatArray | None = None
    edits: tuple[Edit, ...] = ()  # manual edits in order
    # (true classes, predicted classes) losses; nodes predict the class of least expected loss.
    loss_matrix: FloatArray | None = None
    monotone: Monotone | None = None  # monotone constraints
    # Effective number of rows of every node, if rows have weights or groups; None: `count`.
    effective: FloatArray | None = None
    # Standard deviation of the target at every node, if it does not follow from the impurity.
    deviation: FloatArray | None = None
    # (nodes, classes or 1) weighted fractions or mean of the rows, if they follow neither from `observed` nor
    # from `value`. See `observed_mean`.
    rows_mean: FloatArray | None = None
    # (entries, 3) leaf, feature, number of rows of the leaf without a value of a feature split on above it; 0
    # if there are some, but their number is unknown.
    not_recorded: FloatArray | None = None
    # For each flag of `in_set`: did a training row with this category reach the node? None: all, or unknown.
    seen: BoolArray | None = None
    # Fraction of the reference trees with this split on mostly the same rows; NaN at leaves and if unknown.
    split_support: FloatArray | None = None
    # (nodes, classes or 1) mean predictions of the teacher, if values combine them with the rows.
    teacher_mean: FloatArray | None = None
    # Of a survival tree: events and rows at risk of every node, at the times of its events and others.
    curves: tuple[EventTable, ...] | None = None

    def __post_init__(self) -> None:
        own = vars(self)
        own.update({name: freeze(entry) for name, entry in own.items() if isinstance(entry, np.ndarray)})
        target = self.schema.target
        if target.positive is None and len(target.classes) == 2 and self.criterion != "density":
            # The schema does not come from a table: manual nodes, another library, or an old file.
            rows = self.value[:1] * self.count[:1, None] if self.observed is None else self.observed[:1]
            target = target.with_rarer_positive(rows.sum(axis=0).tolist())
            own["schema"] = replace(self.schema, target=target)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Unpickled arrays are writable, for which the kernels would be compiled again.
        vars(self).update(state)
        self.__post_init__()

    @classmethod
    def from_nodes(cls, schema: Schema, nodes: Any) -> Tree:
        """Build a tree from a description of its nodes.

        Parameters
        ----------
        schema : Schema
        nodes : list of Node or dict, or a nested Node or dict
            A list with the root first and children by number, or the root with its children inside. The
            fields are those of `Node`: `feature` by name or number, `threshold` or the `categories` that go
            left, `left`, `right`, `missing_left`, and at leaves `value`, `count` and `weight`. Values, counts
            and weights of inner nodes follow from the leaves.

        Returns
        -------
        Tree

        Examples
        --------
        >>> from holdfast import Feature, Target
        >>> schema = Schema((Feature("age", low=18, high=90),), Target("lived", classes=("no", "yes")))
        >>> split = {"feature": "age", "threshold": 50, "left": 1, "right": 2}
        >>> leaves = {"value": [30, 10], "count": 40}, {"value": "yes", "count": 20}
        >>> print(Tree.from_nodes(schema, [split, *leaves]))
        60 rows       lived  p(yes)  rows  of all
        ├─ age <= 50  no     0.25      40  66.7 %
        └─ age > 50   yes    1.00      20  33.3 %
        """
        from holdfast.tree.build import tree_from_nodes

        return tree_from_nodes(schema, nodes)

    # -- size -----------------------------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @cached_property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.feature == LEAF))

    @cached_property
    def parent(self) -> IntArray:
        """The parent of every node; -1 for the root."""
        parent = np.full(self.n_nodes, -1, np.int32)
        inner = np.flatnonzero(self.feature != LEAF).astype(np.int32)
        parent[self.left[inner]] = inner
        parent[self.right[inner]] = inner
        return freeze(parent)

    @property
    def is_posterior(self) -> bool:
        """True if values combine rows with a teacher's predictions; intervals then refer to the values."""
        return self.teacher_mean is not None

    @cached_property
    def observed_mean(self) -> FloatArray:
        """Class fractions or mean of the rows of every node, in the shape of `value`.

        They differ from `value` if that comes from a teacher, was shrunk, or was set manually. A node without
        rows has its value.
        """
        if self.rows_mean is not None:
            return self.rows_mean
        if self.observed is None:
            return self.value
        total = self.observed.sum(axis=1, keepdims=True)
        return freeze(np.where(total > 0, self.observed / np.where(total > 0, total, 1.0), self.value))

    @cached_property
    def node_depth(self) -> IntArray:
        """Depth of each node."""
        depth = [0] * self.n_nodes
        for node, parent in enumerate(self.parent.tolist()):  # preorder: a parent comes before its children
            depth[node] = depth[parent] + 1 if node else 0
        return freeze(np.array(depth, np.int32))

    @cached_property
    def subtree_end(self) -> IntArray:
        """For every node, the first number after those of its subtree."""
        end = list(range(1, self.n_nodes + 1))
        right = self.right.tolist()
        for node in range(self.n_nodes - 1, -1, -1):  # preorder: children come after their parent
            if right[node] != LEAF:
                end[node] = end[right[node]]
        return freeze(np.array(end, np.int32))

    @cached_property
    def depth(self) -> int:
        """Greatest number of splits on a path."""
        return int(self.node_depth.max())

    @property
    def mean_path_length(self) -> float:
        """Mean number of splits on the path of a row, weighted by the training rows."""
        leaves = self.feature == LEAF
        weight, _ = scale_to_unit(self.weight[leaves])
        total = weight.sum()
        return float(self.node_depth[leaves] @ weight / total) if total else 0.0

    # -- meaning --------------------------------------------------------------------------------------

    def left_categories(self, node: int) -> BoolArray:
        """Return one flag per category of the node's feature: does it go left?"""
        start = self.set_start[node]
        return self.in_set[start : start + len(self.schema.features[self.feature[node]].categories)]

    @cached_property
    def rows_not_recorded(self) -> Mapping[tuple[int, int], float]:
        """Numbers of rows without a value of a feature, by node and feature, below splits on the feature.

        NaN if there are some, but their number is unknown.
        """
        at_node: dict[tuple[int, int], float] = {}
        entries = () if self.not_recorded is None else self.not_recorded.tolist()
        parent = self.parent.tolist()
        for leaf, feature, rows in entries:
            node = int(leaf)
            while node != -1:
                key = node, int(feature)
                at_node[key] = at_node.get(key, 0.0) + (rows or nan)
                node = parent[node]
        return at_node

    @cached_property
    def outcome(self) -> IntArray:
        """Index of the predicted class of every node: the most frequent one, or that of least expected loss.

        Ties are decided by the nodes above.
        """
        from holdfast.tree.stats import majority

        return freeze(majority(self) if self.given_outcome is None else self.given_outcome)

    @property
    def scaled_decreases(self) -> tuple[FloatArray, int]:
        """Impurity decreases times 2 ** -exponent, so that they cannot overflow, and the exponent."""
        (weight, of_weight), (impurity, of_impurity) = (
            scale_to_unit(self.weight),
            scale_to_unit(self.impurity),
        )
        risk = weight * impurity
        inner = np.flatnonzero(self.feature != LEAF)
        decrease = risk[inner] - risk[self.left[inner]] - risk[self.right[inner]]
        # Rounding errors of splits without gain.
        decrease[np.abs(decrease) <= NOTHING * risk[inner]] = 0.0
        total = np.zeros(len(self.schema.features))
        np.add.at(total, self.feature[inner], decrease)
        return freeze(total), of_weight + of_impurity

    @property
    def decreases(self) -> FloatArray:
        """Weighted impurity decrease by feature."""
        return scale_back(*self.scaled_decreases)

    @property
    def importances(self) -> FloatArray:
        """Impurity decrease by feature as fractions, which sum to 1 (or 0 without splits)."""
        return freeze(fractions_of(self.scaled_decreases[0]))

    def with_schema(self, schema: Schema) -> Tree:
        """Express the tree in another schema.

        Parameters
        ----------
        schema : Schema
            Must contain all features, categories and classes of the tree.

        Returns
        -------
        Tree
            Has the same splits and predictions.
        """
        from holdfast.tree.schema import project_to_schema

        return project_to_schema(self, schema)

    # -- prediction -----------------------------------------------------------------------------------

    def apply(self, X: Any, *, handle_unknown: str = "missing", handle_missing: str = "learned") -> IntArray:
        """Return the leaf that each row reaches.

        Parameters
        ----------
        X : Table, data frame or array
        handle_unknown : {"missing", "error"}
            Treat unknown categories as missing, with a warning, or raise an error.
        handle_missing : {"learned", "error"}
            Send missing values to their learned side, or raise an error for missing values in columns that
            the tree splits on.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        from holdfast.tree.predict import find_leaves

        return find_leaves(self, X, handle_unknown=handle_unknown, handle_missing=handle_missing)

    def predict(self, X: Any, **policy: str) -> Any:
        """Predict the class or the number of each row; parameters are those of `apply`."""
        leaves = self.apply(X, **policy)
        if self.schema.target.is_classes:
            return label_array(self.schema.target.classes)[self.outcome[leaves]]
        return self.value[leaves, 0]

    def predict_proba(self, X: Any, **policy: str) -> FloatArray:
        """Predict class probabilities in the order of the schema; parameters are those of `apply`."""
        if not self.schema.target.is_classes:
            raise SchemaMismatch(f"The target {self.schema.target.name!r} is a number: use predict.")
        fractions: FloatArray = self.value[self.apply(X, **policy)]
        return fractions

    def values(self, X: Any, **policy: str) -> FloatArray:
        """Return the leaf value of each row: class fractions, or one column of numbers."""
        values: FloatArray = self.value[self.apply(X, **policy)]
        return values

    def decision_path(self, X: Any, **policy: str) -> csr_array:
        """Return a sparse matrix (rows, nodes) with a 1 for every node on each row's path."""
        from holdfast.tree.predict import find_passed_nodes

        return find_passed_nodes(self, self.apply(X, **policy))

    # -- reading --------------------------------------------------------------------------------------

    def rules(
        self, *, missing: bool = False, positive: Any = None, order: str = "tree", intervals: bool = False
    ) -> str:
        """Format one IF ... THEN rule per leaf, with its support and probabilities.

        Parameters
        ----------
        missing : bool
            Mention missing values and unseen categories in every condition that allows them, not only where
            training rows had them.
        positive : label, optional
            Class whose probability is shown; default: that of the target, if there are two classes.
        order : {"tree", "risk"}
            From left to right, or by descending probability of the positive class (or mean).
        intervals : bool
            Add the observed rate or mean with its 95 % interval. If values combine rows with a teacher's
            predictions, the interval is that of the probability.

        Returns
        -------
        str
        """
        from holdfast.tree.rules_text import rules_text

        options = {"missing": missing, "positive": positive, "order": order, "intervals": intervals}
        return rules_text(self, **options)

    def numbered(self, *, positive: Any = None) -> str:
        """List the nodes with the numbers that edits refer to."""
        from holdfast.tree.text import draw_numbered_tree

        return draw_numbered_tree(self, positive=positive)

    def __str__(self) -> str:
        from holdfast.tree.text import draw_tree

        return draw_tree(self)

    def __repr__(self) -> str:
        return f"<Tree: {self.n_leaves} leaves, depth {self.depth}, {self.schema.target.name!r}>"

    def summary(self) -> TreeSummary:
        """Summarise size and fit: residual mean deviance and, for classes, the misclassification rate.

        Both refer to the training rows and are therefore optimistic.

        Returns
        -------
        TreeSummary
        """
        from holdfast.tree.summary import summary

        return summary(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a pandas, polars or pyarrow frame (the first installed or `backend`), a row per node."""
        from holdfast.tree.frame import node_frame

        return node_frame(self, backend)

    def to_svg(
        self,
        *,
        title: str | None = None,
        positive: Any = None,
        decimals: int | None = None,
        width: float | None = None,
        missing: bool = False,
        changed: Mapping[int, str] | None = None,
        beside: Sequence[Tree] = (),
    ) -> str:
        """Draw the tree as SVG.

        With two classes every leaf shows the probability of the positive class, its class counts and the 95 %
        interval.

        Parameters
        ----------
        title : str, optional
            Default: the name of the target.
        positive : label, optional
            See `rules`.
        decimals : int, optional
            Decimals of percentages and means.
        width : float, optional
            In pixels.
        missing : bool
            Show the side of missing values at every split, also if no training row lacked the value.
        changed : mapping, optional
            Remarks on nodes, which are marked: ``{0: "was 45"}``.
        beside : sequence of Tree
            Trees that share the colour scale.

        Returns
        -------
        str
        """
        from holdfast.tree.svg import tree_svg

        return tree_svg(
            self,
            title=title,
            positive=positive,
            decimals=decimals,
            width=width,
            missing=missing,
            changed=changed,
            beside=beside,
        )

    def _repr_html_(self) -> str:
        return self.to_svg()

    # -- edits ----------------------------------------------------------------------------------------

    def edit(
        self,
        table: Table | None = None,
        *,
        rules: Any = None,
        keep_values: bool = False,
        **info: Unpack[EditInfo],
    ) -> TreeEditor:
        """Edit the tree in several steps that share rows, author and reason.

        Parameters
        ----------
        table : Table, optional
            Rows to which counts and weights of all nodes, and values and impurities below edited splits, are
            refitted. Without a table they stay as they are, and a note is added.
        rules : GrowthRules, optional
            Rules of `grow_at`, and class weights.
        keep_values : bool
            Refit counts and weights only, for values that do not come from rows alone.
        **info
            `by`, `why` and `when`: author, reason and date of the edits.

        Returns
        -------
        TreeEditor
            Has the editing methods of the tree; its attribute `tree` is the result.

        Examples
        --------
        >>> from holdfast import Table, grow
        >>> table = Table.from_arrays([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"])
        >>> print(grow(table).edit(table, by="Ada", why="the guideline").with_threshold(0, 55).tree)
        4 rows           y    p(yes)  rows  of all
        ├─ x0 <= 55 [1]  no   0.33       3  75.0 %
        └─ x0 > 55 [1]   yes  1.00       1  25.0 %
        [1] x0 <= 40 became x0 <= 55 (Ada: the guideline)
        """
        from holdfast.tree.edit import TreeEditor

        return TreeEditor(self, table, rules, keep_values, **info)

    def with_threshold(
        self, node: int, threshold: float, table: Table | None = None, **info: Unpack[EditInfo]
    ) -> Tree:
        """Change the threshold of a node; its children and the side of missing values stay.

        Parameters
        ----------
        node : int
            Number of the node, see `numbered`.
        threshold : float
        table : Table, optional
            See `edit`.
        **info
            See `edit`.

        Returns
        -------
        Tree
        """
        return self.edit(table, **info).with_threshold(node, threshold).tree

    def with_categories(
        self, node: int, categories: Any, table: Table | None = None, **info: Unpack[EditInfo]
    ) -> Tree:
        """Change the categories that go left at a node, see `with_threshold`."""
        return self.edit(table, **info).with_categories(node, categories).tree

    def with_split(
        self,
        node: int,
        feature: str | int,
        *,
        threshold: float | None = None,
        categories: Any = None,
        missing_left: bool | None = None,
        table: Table | None = None,
        **info: Unpack[EditInfo],
    ) -> Tree:
        """Change the split of a node; its children stay.

        Parameters
        ----------
        node : int
            Number of the node, see `numbered`.
        feature : str or int
        threshold : float, optional
            Values up to this go left.
        categories : list, optional
            Categories that go left.
        missing_left : bool, optional
            Side of missing values; by default it stays.
        table : Table, optional
            See `edit`.
        **info
            See `edit`.

        Returns
        -------
        Tree
        """
        split = {"threshold": threshold, "categories": categories, "missing_left": missing_left}
        return self.edit(table, **info).with_split(node, feature, **split).tree

    def prune_at(self, node: int, table: Table | None = None, **info: Unpack[EditInfo]) -> Tree:
        """Make a node a leaf with its present value."""
        return self.edit(table, **info).prune_at(node).tree

    def grow_at(self, node: int, table: Table, rules: Any = None, **info: Unpack[EditInfo]) -> Tree:
        """Replace a node by a subtree grown on the rows of the table that reach it.

        Limits of the rules, such as `max_depth`, refer to the subtree.
        """
        return self.edit(table, rules=rules, **info).grow_at(node).tree

    def with_leaf_value(
        self, node: int, value: Any, table: Table | None = None, **info: Unpack[EditInfo]
    ) -> Tree:
        """Set the value of a leaf; later refits do not change it.

        Parameters
        ----------
        node : int
        value : float or mapping
            Probability of the positive class, fractions of the classes, or the number. One class may be left
            out of a mapping.
        table : Table, optional
            See `edit`.
        **info
            See `edit`.

        Returns
        -------
        Tree
        """
        return self.edit(table, **info).with_leaf_value(node, value).tree

    def replace(self, **changes: Any) -> Tree:
        """Return the tree with some fields changed."""
        return replace(self, **changes)


def fractions_of(amounts: FloatArray) -> FloatArray:
    """Normalise amounts to sum to 1, negative ones set to 0; all 0 if the sum is 0."""
    amounts = np.maximum(amounts, 0.0)
    total = float(amounts.sum())
    return amounts / total if total > 0 else np.zeros(len(amounts))


def label_array(labels: tuple[Label, ...]) -> NDArray[Any]:
    """Make an array of labels.

    It holds objects if only some labels are texts, which numpy would mix up, if a text is long, since all
    would take as much memory, or if one ends with NUL, which numpy would drop.
    """
    texts = [label for label in labels if isinstance(label, str)]
    is_awkward = any(len(text) > LONGEST_TEXT or text.endswith("\0") for text in texts)
    as_objects = is_awkward or 0 < len(texts) < len(labels)
    return np.array(labels, object if as_objects else None)


# -- Copies of trees -----------------------------------------------------------------------------------------

DECIMALS = 12  # of leaf values: beyond them, sums depend on the order


def make_tree_key(tree: Tree) -> bytes:
    """Make a key that is equal for trees with the same splits and predictions."""
    parts = (
        *(tree.feature, tree.threshold, tree.left, tree.missing_left, tree.set_start, tree.in_set),
        tree.value[tree.feature == LEAF].round(DECIMALS) + 0.0,  # -0.0 is 0.0
    )
    return b"|".join(part.tobytes() for part in parts)


def drop_copies(trees: Iterable[Tree]) -> dict[bytes, Tree]:
    """Return the distinct trees by their keys, in order."""
    distinct: dict[bytes, Tree] = {}
    for tree in trees:
        distinct.setdefault(make_tree_key(tree), tree)
    return distinct
