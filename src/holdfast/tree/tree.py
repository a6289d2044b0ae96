"""The tree: an immutable struct of arrays, with a value and a weight at every node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan
from sys import float_info
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray, freeze, scale_back, scale_to_unit
from holdfast.data.schema import Label, Schema
from holdfast.errors import SchemaMismatch

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from holdfast.data.table import Table
    from holdfast.tree.edit import Edit, TreeEditor
    from holdfast.tree.monotone import Monotone
    from holdfast.tree.summary import TreeSummary


class EditInfo(TypedDict, total=False):
    """Author, reason and date that are recorded with an edit."""

    by: str  # who makes it
    why: str
    when: str


class EditMixin:
    """Manual edits of a tree."""

    def edit(
        self,
        table: Table | None = None,
        *,
        rules: Any = None,
        keep_values: bool = False,
        **said: Unpack[EditInfo],
    ) -> TreeEditor:
        """Edit the tree in several steps that share rows, author and reason.

        Each verb below is one of its methods, and `tree` is what came of them. With a `table`, counts and
        weights of all nodes become those of its rows, and values and impurities those below an edited
        question; without one they stay as they are, and a note says so. `keep_values` keeps the values even
        so: those of a teacher, say, which rows alone do not give. The `rules` are growth rules: how
        `grow_at` grows, and how classes are weighted.

        >>> from holdfast import Table, grow
        >>> table = Table.from_arrays([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"])
        >>> print(grow(table).edit(table, by="Ada", why="the guideline").with_threshold(0, 55).tree)
        4 rows           y    p(yes)  rows  of all
        ├─ x0 <= 55 [1]  no   0.33       3  75.0 %
        └─ x0 > 55 [1]   yes  1.00       1  25.0 %
        [1] x0 <= 40 became x0 <= 55 (Ada: the guideline)
        """
        from holdfast.tree.edit import TreeEditor

        return TreeEditor(cast("Tree", self), table, rules, keep_values, **said)

    def with_threshold(
        self, node: int, threshold: float, table: Table | None = None, **said: Unpack[EditInfo]
    ) -> Tree:
        """Change the threshold of a node; children and the side of missing values stay.

        Without rows, counts and values below the node are those from before, and a note says so.
        """
        return self.edit(table, **said).with_threshold(node, threshold).tree

    def with_categories(
        self, node: int, categories: Any, table: Table | None = None, **said: Unpack[EditInfo]
    ) -> Tree:
        """Change the categories that go left at the node. See `with_threshold`."""
        return self.edit(table, **said).with_categories(node, categories).tree

    def with_split(
        self,
        node: int,
        feature: str | int,
        *,
        threshold: float | None = None,
        categories: Any = None,
        missing_left: bool | None = None,
        table: Table | None = None,
        **said: Unpack[EditInfo],
    ) -> Tree:
        """Change the split at the node, whose children stay. See `with_threshold`.

        Missing values go where they went, unless `missing_left` says otherwise.
        """
        question = {"threshold": threshold, "categories": categories, "missing_left": missing_left}
        return self.edit(table, **said).with_split(node, feature, **question).tree

    def prune_at(self, node: int, table: Table | None = None, **said: Unpack[EditInfo]) -> Tree:
        """Make the node a leaf with the value it had."""
        return self.edit(table, **said).prune_at(node).tree

    def grow_at(self, node: int, table: Table, rules: Any = None, **said: Unpack[EditInfo]) -> Tree:
        """Replace the node by a subtree grown by the rules on the rows that reach it.

        The rules speak of these rows and of the subtree: max_depth counts from the node.
        """
        return self.edit(table, rules=rules, **said).grow_at(node).tree

    def with_leaf_value(
        self, node: int, value: Any, table: Table | None = None, **said: Unpack[EditInfo]
    ) -> Tree:
        """Set a leaf's value: the probability of the positive class, a mapping, or a number.

        A mapping has the fractions of the classes; of one class, what is left to 1. No later fit to rows
        changes the value.
        """
        return self.edit(table, **said).with_leaf_value(node, value).tree


# -- The tree ------------------------------------------------------------------------------------------------

LONGEST_TEXT = 256  # letters of a label in an array of texts
LEAF = -1  # in `feature`, `left` and `right`
KNOWN = float_info.max  # the threshold of the question "is the value known?": every number is at most this
NOTHING = 2.0**-40  # a gain below this fraction of a node's impurity is rounding


@dataclass(frozen=True, eq=False)
class Tree(EditMixin):
    """Nodes in preorder: the root is 0, a node's left subtree comes before its right one.

    A row goes left at a node if its answer is yes: `x <= threshold`, or the category is in the node's set,
    or the user's question is true. A missing value goes left where `missing_left` says so.
    """

    schema: Schema
    feature: IntArray  # index into schema.features; LEAF at a leaf
    threshold: FloatArray  # NaN at a leaf and at a split on categories
    left: IntArray  # the child for "yes"; LEAF at a leaf
    right: IntArray
    missing_left: BoolArray
    set_start: LongArray  # where the node's categories begin in `in_set`; -1 where the split is no set
    in_set: BoolArray  # for each split on categories, one flag per category: does it go left?
    value: FloatArray  # (nodes, classes) fractions of the classes, or (nodes, 1) mean of the target
    count: FloatArray  # rows that reached the node
    weight: FloatArray  # their total weight
    impurity: FloatArray  # of the criterion the tree was grown with
    criterion: str = "gini"
    notes: tuple[str, ...] = ()  # what the reader of the tree must know: a budget ran out, say
    # The class of every node, where ties are decided otherwise than by the nodes above; None if none is.
    given_outcome: IntArray | None = None
    # (nodes, classes) rows of each class, where value and count do not tell: leaves that say what a teacher
    # says, or rows that weigh more than others. None elsewhere: `class_counts` works them out.
    observed: FloatArray | None = None
    edits: tuple[Edit, ...] = ()  # what people changed by hand, in the order in which they did
    # (true classes, predicted ones): what errors cost. The class of a node is that of least expected loss.
    loss_matrix: FloatArray | None = None
    monotone: Monotone | None = None  # which way its values go along features, where that is promised
    # How many rows every node is worth, where rows weigh unlike or come in groups; None: as many as it has.
    effective: FloatArray | None = None
    # The standard deviation of the numbers at every node, where its impurity is not that of these numbers.
    deviation: FloatArray | None = None
    # (nodes, classes or 1) fractions or mean of the rows by weight, where `observed` and `value` do not tell:
    # `observed_mean` works them out.
    rows_mean: FloatArray | None = None
    # (entries, 3) leaf, feature, rows: how many rows of the leaf lack a value that the way to it splits on; 0
    # rows where some do and it is not known how many. None where none does, or nothing is known of it.
    not_recorded: FloatArray | None = None
    # For each flag of `in_set`: did a training row with this category reach it? None: all, or not known.
    seen: BoolArray | None = None
    # The share of the reference trees that split mostly the rows of the node on its feature; NaN at leaves,
    # and where it is not known.
    split_support: FloatArray | None = None
    # (nodes, classes or 1) the teacher's mean predictions, where values combine them with the rows.
    teacher_mean: FloatArray | None = None

    def __post_init__(self) -> None:
        own = vars(self)
        own.update({name: freeze(entry) for name, entry in own.items() if isinstance(entry, np.ndarray)})
        target = self.schema.target
        if target.positive is None and len(target.classes) == 2 and self.criterion != "density":
            # A tree on a schema that no table chose it for: written by hand, adopted, or of an old file.
            rows = self.value[:1] * self.count[:1, None] if self.observed is None else self.observed[:1]
            target = target.with_rarer_positive(rows.sum(axis=0).tolist())
            own["schema"] = replace(self.schema, target=target)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Copies and unpickled arrays can be written to, and would make the kernels compile once more.
        vars(self).update(state)
        self.__post_init__()

    @classmethod
    def from_nodes(cls, schema: Schema, nodes: Any) -> Tree:
        """The tree that another solver, or a person, has written down node by node.

        `nodes` is a list of nodes, the root first, with children by number; or the root with its children
        in it. A node is a `Node` or a dictionary with its fields: `feature` by name or number, `threshold`
        or the `categories` that go left, `left`, `right`, `missing_left`, and at leaves `value`, `count`
        and `weight`. What inner nodes lack follows from their leaves.

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
        """True where values combine the rows with a teacher's predictions: intervals are about them."""
        return self.teacher_mean is not None

    @cached_property
    def observed_mean(self) -> FloatArray:
        """Fractions of the classes among the rows of every node, or their mean, in the shape of `value`.

        The value of a leaf may be another: a teacher's, one drawn towards the nodes above, or one set by
        hand. A node without rows has its value.
        """
        if self.rows_mean is not None:
            return self.rows_mean
        if self.observed is None:
            return self.value
        total = self.observed.sum(axis=1, keepdims=True)
        return freeze(np.where(total > 0, self.observed / np.where(total > 0, total, 1.0), self.value))

    @cached_property
    def node_depth(self) -> IntArray:
        """Number of questions asked on the way to each node."""
        depth = [0] * self.n_nodes
        for node, parent in enumerate(self.parent.tolist()):  # preorder: a parent stands before its children
            depth[node] = depth[parent] + 1 if node else 0
        return freeze(np.array(depth, np.int32))

    @cached_property
    def subtree_end(self) -> IntArray:
        """For every node, the first number beyond those of its subtree."""
        end = list(range(1, self.n_nodes + 1))
        right = self.right.tolist()
        for node in range(self.n_nodes - 1, -1, -1):  # preorder: children stand after their parent
            if right[node] != LEAF:
                end[node] = end[right[node]]
        return freeze(np.array(end, np.int32))

    @cached_property
    def depth(self) -> int:
        """Greatest number of questions that any row is asked."""
        return int(self.node_depth.max())

    @property
    def mean_path_length(self) -> float:
        """Number of questions asked of a row, averaged over the training weight."""
        leaves = self.feature == LEAF
        weight, _ = scale_to_unit(self.weight[leaves])
        total = weight.sum()
        return float(self.node_depth[leaves] @ weight / total) if total else 0.0

    # -- meaning --------------------------------------------------------------------------------------

    def left_categories(self, node: int) -> BoolArray:
        """One flag per category of the node's feature: does it go left?"""
        start = self.set_start[node]
        return self.in_set[start : start + len(self.schema.features[self.feature[node]].categories)]

    @cached_property
    def rows_not_recorded(self) -> Mapping[tuple[int, int], float]:
        """Rows at a node that lack the value of a feature, by node and feature, below splits on the feature.

        NaN where some do and it is not known how many; there is no entry where none does.
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
        """Index of the most frequent class at every node; of several, the one most frequent above it.

        With a loss matrix, of the class of least expected loss.
        """
        from holdfast.tree.stats import majority

        return freeze(majority(self) if self.given_outcome is None else self.given_outcome)

    @property
    def scaled_decreases(self) -> tuple[FloatArray, int]:
        """The decreases times 2 ** -exponent, which no weight or impurity is too large for; the exponent."""
        (weight, of_weight), (impurity, of_impurity) = (
            scale_to_unit(self.weight),
            scale_to_unit(self.impurity),
        )
        risk = weight * impurity
        inner = np.flatnonzero(self.feature != LEAF)
        decrease = risk[inner] - risk[self.left[inner]] - risk[self.right[inner]]
        # Rounding leaves a split that gains nothing with a little more or less than that.
        decrease[np.abs(decrease) <= NOTHING * risk[inner]] = 0.0
        total = np.zeros(len(self.schema.features))
        np.add.at(total, self.feature[inner], decrease)
        return freeze(total), of_weight + of_impurity

    @property
    def decreases(self) -> FloatArray:
        """The decrease of impurity, times weight, that each feature brought."""
        return scale_back(*self.scaled_decreases)

    @property
    def importances(self) -> FloatArray:
        """Fraction of the decrease of impurity that each feature brought; they sum to 1, or 0 for a leaf."""
        return freeze(fractions_of(self.scaled_decreases[0]))

    def with_schema(self, schema: Schema) -> Tree:
        """The same tree measured on another schema, which holds all its features, categories and classes."""
        from holdfast.tree.schema import project_to_schema

        return project_to_schema(self, schema)

    # -- prediction -----------------------------------------------------------------------------------

    def apply(self, X: Any, *, handle_unknown: str = "missing", handle_missing: str = "learned") -> IntArray:
        """The leaf that each row reaches.

        `handle_unknown="error"` refuses categories that the schema does not hold, instead of treating them as
        missing with a warning; `handle_missing="error"` refuses missing values in columns that the tree
        splits on.
        """
        from holdfast.tree.predict import find_leaves

        return find_leaves(self, X, handle_unknown=handle_unknown, handle_missing=handle_missing)

    def predict(self, X: Any, **policy: str) -> Any:
        """The class, or the mean, of the leaf that each row reaches."""
        leaves = self.apply(X, **policy)
        if self.schema.target.is_classes:
            return label_array(self.schema.target.classes)[self.outcome[leaves]]
        return self.value[leaves, 0]

    def predict_proba(self, X: Any, **policy: str) -> FloatArray:
        """The fractions of the classes, in the order of the schema, in the leaf that each row reaches."""
        if not self.schema.target.is_classes:
            raise SchemaMismatch(f"The target {self.schema.target.name!r} is a number: use predict.")
        fractions: FloatArray = self.value[self.apply(X, **policy)]
        return fractions

    def values(self, X: Any, **policy: str) -> FloatArray:
        """What the leaf of each row says: the fractions of the classes, or one column of numbers."""
        values: FloatArray = self.value[self.apply(X, **policy)]
        return values

    def decision_path(self, X: Any, **policy: str) -> csr_array:
        """A sparse matrix with a 1 for every node that each row passes."""
        from holdfast.tree.predict import find_passed_nodes

        return find_passed_nodes(self, self.apply(X, **policy))

    # -- reading --------------------------------------------------------------------------------------

    def rules(
        self, *, missing: bool = False, positive: Any = None, order: str = "tree", intervals: bool = False
    ) -> str:
        """One IF ... THEN rule per leaf, with its support and probabilities.

        Where training rows lacked a value, the condition that takes them says "or not recorded", with the
        number of rows. `missing=True` says it of every condition that takes missing values, and adds the
        categories that it takes although no training row had them there. Of two classes the probability is
        that of the positive one: `positive`, or the one that the target remembers. `order="risk"` begins with
        the leaf where it, or the mean, is highest; of three or more classes it needs `positive`.
        `intervals=True` adds the observed rate, or mean, of the rows, and the 95 % interval: of that rate or,
        where values combine the rows with a teacher's predictions, of the probability itself.
        """
        from holdfast.tree.rules_text import rules_text

        options = {"missing": missing, "positive": positive, "order": order, "intervals": intervals}
        return rules_text(self, **options)

    def numbered(self, *, positive: Any = None) -> str:
        """One line per node, with its number, what it asks, or what it says: what an edit goes by."""
        from holdfast.tree.text import draw_numbered_tree

        return draw_numbered_tree(self, positive=positive)

    def __str__(self) -> str:
        from holdfast.tree.text import draw_tree

        return draw_tree(self)

    def __repr__(self) -> str:
        return f"<Tree: {self.n_leaves} leaves, depth {self.depth}, {self.schema.target.name!r}>"

    def summary(self) -> TreeSummary:
        """Size and fit: residual mean deviance and, for classes, the misclassification rate.

        Both are of the rows that the tree was grown on, which flatter it.
        """
        from holdfast.tree.summary import summary

        return summary(self)

    def to_frame(self, backend: str | None = None) -> Any:
        """One row per node, as a pandas, polars or pyarrow frame (the first that is installed)."""
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
        """A drawing that opens in a browser.

        Of two classes every leaf shows the probability of the positive one (see `rules`), how many of its
        rows were of that class (`class_counts`), and the 95 % interval. `title` stands in
        place of the name of the target; `decimals` are those of percentages and means; `width` is in pixels;
        `missing=True` says on every split which way missing values go, even where no training row lacked the
        value; `changed` says something of some
        nodes, by their numbers, and marks them: {0: "was 45"}; `beside` are trees that are looked at together
        with this one, so that one colour means the same in all of them.
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

    def replace(self, **changes: Any) -> Tree:
        """The same tree with some of its fields changed."""
        return replace(self, **changes)


def fractions_of(amounts: FloatArray) -> FloatArray:
    """The amounts as fractions of their sum, none for less than nothing; all 0 if there is nothing."""
    amounts = np.maximum(amounts, 0.0)
    total = float(amounts.sum())
    return amounts / total if total > 0 else np.zeros(len(amounts))


def label_array(labels: tuple[Label, ...]) -> NDArray[Any]:
    """The labels as an array; of objects if only some are text, lest numpy turn the numbers into text.

    Also if one text is long, as all would take as much room, or ends with a NUL, which numpy would drop.
    """
    texts = [label for label in labels if isinstance(label, str)]
    is_awkward = any(len(text) > LONGEST_TEXT or text.endswith("\0") for text in texts)
    as_objects = is_awkward or 0 < len(texts) < len(labels)
    return np.array(labels, object if as_objects else None)


# -- Copies of trees -----------------------------------------------------------------------------------------

DECIMALS = 12  # of what leaves say: sums in another order differ beyond


def make_tree_key(tree: Tree) -> bytes:
    """Make a key that is equal for trees with the same splits and predictions."""
    parts = (
        *(tree.feature, tree.threshold, tree.left, tree.missing_left, tree.set_start, tree.in_set),
        tree.value[tree.feature == LEAF].round(DECIMALS) + 0.0,  # -0.0 is 0.0
    )
    return b"|".join(part.tobytes() for part in parts)


def drop_copies(trees: Iterable[Tree]) -> dict[bytes, Tree]:
    """Return the distinct trees by their keys, in order."""
    found: dict[bytes, Tree] = {}
    for tree in trees:
        found.setdefault(make_tree_key(tree), tree)
    return found
