"""Firmness: how many reference trees agree with the decision of a tree for one row.

A reference tree is grown on resampled rows, and its leaf values are estimated from these rows in the same way
as those of the tree itself. What the reference trees predict for a row is what the tree might have predicted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray, freeze
from holdfast._text import label_text, number_text, percent_range, pluralize, printable, rounded_percent
from holdfast._view import TextTable, View, ViewMixin
from holdfast.data.schema import Schema
from holdfast.data.survival import name_survival, survival_function
from holdfast.distance.reference_schema import project_to_reference
from holdfast.errors import ParameterError
from holdfast.tree.ensemble import Ensemble, PackedEnsemble
from holdfast.tree.monotone import set_losses
from holdfast.tree.prune import prune_at
from holdfast.tree.stats import positive_class
from holdfast.tree.tree import LEAF, Tree

if TYPE_CHECKING:
    from holdfast.kernels.predict import PackedTrees

FIRM = 0.95  # of the reference trees must agree, for an answer that is called firm
LEVELS = (0.5, 0.75, FIRM)  # of firmness, between the lines of tables
PERCENTS = (5, 95)  # of the estimates of the reference trees, at the ends of the interval
FEW_ROWS = 1000  # that numpy walks through the trees before numba is imported
BLOCK = 2**14  # rows at a time: all leaves of a block fit into memory


@dataclass(frozen=True, eq=False, repr=False)
class Firmness(ViewMixin):
    """How firm the predictions for some rows are, one entry per row.

    Attributes
    ----------
    share : ndarray or None
        Share of the reference trees that agree with the decision; None if the target is a number.
    estimate : ndarray
        What the tree predicts: the probability of the positive class of two, or of the predicted class of
        more; the number; or survival to the horizon.
    low, high : ndarray
        The interval of the same estimate from 5 % to 95 % of the reference trees.
    n_trees : int
        Number of reference trees.
    title : str
        What is estimated, in words.
    is_survival : bool
        True if probabilities to survive are estimated.

    Examples
    --------
    >>> from holdfast import StableTreeClassifier
    >>> X, y = [[number, number % 3] for number in range(60)], [number // 30 for number in range(60)]
    >>> model = StableTreeClassifier(teacher="linear", n_estimators=20).fit(X, y)
    >>> model.predict_firmness([[5, 0], [55, 1]]).share
    array([1., 1.])
    """

    share: FloatArray | None
    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    n_trees: int
    title: str
    is_survival: bool = False

    def __len__(self) -> int:
        return len(self.estimate)

    @property
    def spread(self) -> FloatArray:
        """Width of the interval."""
        return np.asarray(self.high - self.low, np.float64)

    def is_firm(self, least: float = FIRM) -> BoolArray:
        """Flag the rows whose decision at least this share of the reference trees agree with."""
        return np.asarray(self.shares() >= least, np.bool_)

    def shares(self) -> FloatArray:
        """Return the share of every row; a ParameterError if the target is a number."""
        if self.share is None:
            raise ParameterError(
                "The target is a number or a time, which has no share of trees that agree: use low, high and "
                "spread."
            )
        return self.share

    def columns(self) -> dict[str, FloatArray]:
        """Return the columns of the frame, by name."""
        share = {} if self.share is None else {"firmness": self.share}
        return {**share, "estimate": self.estimate, "low": self.low, "high": self.high}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a pandas, polars or pyarrow frame (the first installed or `backend`), a row per row."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = {name: values.tolist() for name, values in self.columns().items()}
        return frame_from(columns, dict.fromkeys(columns, nw.Float64), backend)

    def sentences(self, row: int = 0) -> tuple[str, ...]:
        """Describe the firmness of one row."""
        low, high = float(self.low[row]), float(self.high[row])
        is_fraction = self.share is not None or self.is_survival
        between = percent_range(low, high) if is_fraction else _range_text(low, high)
        trees = f"{self.n_trees} trees trained on resampled data"
        if self.is_survival:
            return (f"Nine of ten of {trees} put {self.title} at {between}.",)
        if self.share is None:
            return (f"Nine of ten of {trees} predict {between}.",)
        agree = round(float(self.share[row]) * self.n_trees)
        verb = "agrees" if agree == 1 else "agree"
        firm = "" if self.share[row] >= FIRM else ": the answer is not firm"
        return (f"{agree} of {trees} {verb}{firm}.", f"Nine of ten of them put {self.title} at {between}.")

    def facts(self, row: int = 0) -> dict[str, Any]:
        """Return the figures of one row as plain data."""
        return {"n_trees": self.n_trees, **{name: float(each[row]) for name, each in self.columns().items()}}

    def _view(self) -> View:
        if self.share is None:
            quartiles = np.quantile(self.spread, [0.25, 0.5, 0.75]).tolist() if len(self) else []
            widths = [
                f"{100 * each:.0f} points" if self.is_survival else number_text(each, 4) for each in quartiles
            ]
            rows = [[name, each] for name, each in zip(_QUARTERS, widths, strict=False)]
            return View(self._head, TextTable(["rows", "width of the interval"], rows))
        rows = []
        for low, high in levels():
            inside = (self.share >= low) & (self.share < high)
            rows.append([level_text(low, high), f"{inside.sum():,}", rounded_percent(float(inside.mean()))])
        return View(self._head, TextTable(["trees that agree", "rows", "of all"], rows[::-1], sides="<>>"))

    @property
    def _head(self) -> str:
        return f"Firmness of {pluralize(len(self), 'row')}, by {pluralize(self.n_trees, 'reference tree')}."


_QUARTERS = ("a quarter has at most", "half", "three quarters")


def compare_firmness(before: Firmness, after: Firmness) -> TextTable:
    """Tabulate how firm the answers for the same rows were and are, with a note on those that lost.

    >>> import numpy as np
    >>> one, other = (Firmness(np.array(each), *np.zeros((3, 2)), 20, "p") for each in ([1, 1], [1, 0.8]))
    >>> compare_firmness(one, other).note
    '1 of 2 rows (50 %) had a firm answer, and no longer have.'
    """
    both = [part for each in (before, after) for part in each._view().parts if isinstance(part, TextTable)]
    rows = [[*old[:2], new[1]] for old, new in zip(*(each.rows for each in both), strict=True)]
    if before.share is None or after.share is None:
        wider = after.spread > before.spread
        title, headings = "How firm the estimates are for these rows", ["rows", "width before", "now"]
        words = "have a wider interval than before"
    else:
        wider = before.is_firm() & ~after.is_firm()
        title, headings = (
            "How firm the answers are for these rows",
            ["trees that agree", "rows before", "now"],
        )
        words = "had a firm answer, and no longer have"
    share = rounded_percent(float(wider.mean())) if len(wider) else "0 %"
    note = f"{wider.sum():,} of {pluralize(len(wider), 'row')} ({share}) {words}."
    return TextTable(headings, rows, title=title, note=note, sides="<>>")


def levels() -> list[tuple[float, float]]:
    """List the lines of tables of firmness, each from one share to below another, the lowest first."""
    return list(zip((0.0, *LEVELS), (*LEVELS, np.inf), strict=True))


def level_text(low: float, high: float) -> str:
    """Describe the shares from `low` to below `high`."""
    if low == 0.0:
        return f"below {100 * high:.0f} %"
    return f"{100 * low:.0f} % or more" if high == np.inf else f"{100 * low:.0f} to {100 * high:.0f} %"


def _range_text(low: float, high: float) -> str:
    return f"{number_text(low, 4)} to {number_text(high, 4)}"


# -- The reference trees -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class ReferenceTrees:
    """Reference trees with leaf values of their own samples, and their subtrees of smaller sizes.

    Trees have no counts and weights: only their splits and values are kept.
    """

    trees: tuple[Tree, ...]
    # By the most leaves of smaller trees: the nodes of each tree that are leaves then.
    smaller: Mapping[int, tuple[BoolArray, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.trees)

    def __repr__(self) -> str:
        return f"<ReferenceTrees: {len(self)}>"

    @property
    def schema(self) -> Schema:
        """The schema that all trees share."""
        return self.trees[0].schema

    @cached_property
    def used(self) -> tuple[int, ...]:
        """The features that the trees split on."""
        feature = np.unique(np.concatenate([tree.feature for tree in self.trees]))
        return tuple(feature[feature != LEAF].tolist())

    @classmethod
    def of(
        cls,
        trees: Sequence[Tree],
        values: Sequence[FloatArray] | None = None,
        smaller: Mapping[int, Sequence[Tree]] = MappingProxyType({}),
    ) -> ReferenceTrees:
        """Keep what firmness needs of the trees, with these values of their nodes in place of their own.

        `smaller` are pruned trees by size, in the same order.
        """
        found = [tree.value for tree in trees] if values is None else values
        schema, is_classes = trees[0].schema, trees[0].schema.target.is_classes
        kept = tuple(
            make_bare_tree(
                schema, {name: getattr(tree, name) for name in SPLITS}, round_values(value, is_classes)
            )
            for tree, value in zip(trees, found, strict=True)
        )
        flags = {
            size: tuple(_find_pruned(tree, pruned) for tree, pruned in zip(trees, own, strict=True))
            for size, own in smaller.items()
        }
        return cls(kept, flags)

    def of_size(self, max_leaf_nodes: int | None) -> ReferenceTrees:
        """Return the trees of a smaller size, or these where there is none."""
        if max_leaf_nodes is None or max_leaf_nodes not in self.smaller:
            return self
        if max_leaf_nodes not in self._by_size:
            flags = self.smaller[max_leaf_nodes]
            self._by_size[max_leaf_nodes] = ReferenceTrees(tuple(map(prune_at, self.trees, flags)))
        return self._by_size[max_leaf_nodes]

    def project(self, schema: Schema) -> ReferenceTrees:
        """Put the trees on a wider schema; a SchemaMismatch if they split on a column of another kind."""
        if schema is self.schema or schema == self.schema:
            return self
        return ReferenceTrees(tuple(project_to_reference(tree, schema) for tree in self.trees))

    def firmness(
        self,
        tree: Tree,
        X: Any,
        *,
        handle_unknown: str = "missing",
        handle_missing: str = "learned",
        n_jobs: int | None = None,
    ) -> Firmness:
        """Find how firm the predictions of a tree are for the rows of X.

        A reference tree decides as the tree does: by its loss matrix, or the threshold that this implies.
        """
        return self._voters(tree).firmness(X, handle_unknown, handle_missing, n_jobs)

    def decide_as(self, tree: Tree) -> list[Tree]:
        """Return the trees on the schema of a tree, with its loss matrix or the threshold that it implies."""
        trees, losses = self.project(tree.schema).trees, tree.loss_matrix
        return [each if losses is None else set_losses(each, losses) for each in trees]

    def _voters(self, tree: Tree) -> _Voters:
        if self._last is None or self._last.tree is not tree:  # the same tree again and again
            vars(self)["_last"] = _Voters(tree, self.decide_as(tree))
        voters: _Voters = vars(self)["_last"]
        return voters

    @cached_property
    def _by_size(self) -> dict[int, ReferenceTrees]:
        return {}

    @cached_property
    def _last(self) -> _Voters | None:
        return None

    def __getstate__(self) -> dict[str, Any]:  # without cached results
        return {"trees": self.trees, "smaller": self.smaller}


SPLITS = ("feature", "threshold", "left", "right", "missing_left", "set_start", "in_set")


def make_bare_tree(schema: Schema, splits: Mapping[str, Any], value: FloatArray) -> Tree:
    """Make a tree of the arrays of `SPLITS` and the values of its nodes, without counts and weights."""
    nothing = freeze(np.zeros(len(value)))
    criterion = "gini" if schema.target.is_classes else "squared_error"
    return Tree(
        schema, **splits, value=value, count=nothing, weight=nothing, impurity=nothing, criterion=criterion
    )


def round_values(value: FloatArray, is_classes: bool) -> FloatArray:
    """Round fractions of classes to single precision, in which a file has them; the last makes up the sum."""
    if not is_classes:
        return value
    first = np.clip(value[:, :-1], 0.0, 1.0).astype(np.float32).astype(np.float64)
    return np.column_stack([first, np.maximum(1.0 - first.sum(axis=1), 0.0)])


def _find_pruned(tree: Tree, pruned: Tree) -> BoolArray:
    """Flag the nodes of the tree that are leaves of its subtree, or below one."""
    is_leaf = np.ones(tree.n_nodes, np.bool_)
    pairs = [(0, 0)]
    while pairs:
        own, other = pairs.pop()
        if pruned.feature[other] != LEAF:
            is_leaf[own] = False
            pairs += [
                (int(tree.left[own]), int(pruned.left[other])),
                (int(tree.right[own]), int(pruned.right[other])),
            ]
    return is_leaf


class _Voters:
    """A tree and its reference trees, packed for prediction; the tree comes first."""

    def __init__(self, tree: Tree, references: Sequence[Tree]) -> None:
        self.tree = tree
        target, trees = tree.schema.target, [tree, *references]
        n = len(trees)
        start = np.zeros(tree.value.shape[1])
        self.packed = PackedEnsemble.of(
            Ensemble(tree.schema, tuple(trees), np.ones(n), np.zeros(n, np.int32), start, "mean")
        )
        self.n_references = n - 1
        self.value = np.concatenate([each.value for each in trees])
        if target.hazard is not None:  # of relative risks, survival to the horizon
            self.value = survival_function(target.hazard, self.value[:, 0], [target.hazard.horizon])
        self.outcome = np.concatenate([each.outcome for each in trees]) if target.is_classes else None
        self.positive = positive_class(tree)
        self.title = printable(target.name)
        if target.is_classes:
            label = None if self.positive is None else target.classes[self.positive]
            self.title = "p(predicted class)" if label is None else f"p({label_text(label)})"
        if target.hazard is not None:
            self.title = name_survival(target.hazard)

    def firmness(self, X: Any, handle_unknown: str, handle_missing: str, n_jobs: int | None) -> Firmness:
        rows = self.packed.rows(X, handle_unknown, handle_missing)
        columns = np.empty((4, len(rows)))
        for begin in range(0, len(rows), BLOCK):
            part = slice(begin, begin + BLOCK)
            walk = walk_few if len(rows) <= FEW_ROWS else None
            leaves = self.packed.leaves(rows[part], n_jobs) if walk is None else walk(self.packed.trees, rows)
            columns[:, part] = self._measure(leaves + self.packed.trees.root.astype(np.int32))
        share, estimate, low, high = map(freeze, columns)
        known = None if self.outcome is None else share
        is_survival = self.tree.schema.target.is_survival
        return Firmness(known, estimate, low, high, self.n_references, self.title, is_survival)

    def _measure(self, nodes: IntArray) -> tuple[FloatArray, ...]:
        """Compute share, estimate, low and high from the nodes that rows reach in each tree."""
        place: Any = 0 if self.positive is None else self.positive
        share = np.full(len(nodes), np.nan)
        if self.outcome is not None:
            decided = self.outcome[nodes]
            share = (decided[:, 1:] == decided[:, :1]).mean(axis=1)
            if self.positive is None:
                place = decided[:, :1]
        values = self.value[nodes, place]
        ordered = np.sort(values[:, 1:], axis=1)
        low, high = (ordered[:, max(ceil(percent * self.n_references / 100), 1) - 1] for percent in PERCENTS)
        return share, values[:, 0], low, high


def walk_few(trees: PackedTrees, rows: FloatArray) -> IntArray:
    """Find the leaf of each row in each tree as the kernel does, without numba."""
    from holdfast.kernels.predict import COLUMN, IS_SET, MISSING_LEFT

    node: LongArray = np.repeat(trees.root[None, :], len(rows), axis=0)
    if not rows.shape[1]:  # no tree has a split
        return np.zeros(node.shape, np.int32)
    row, sets = np.arange(len(rows))[:, None], trees.sets
    while True:
        record = trees.nodes[node]
        split, threshold = record["split"], record["threshold"]
        x, sizes = rows[row, split & COLUMN], sets.n_categories[split & COLUMN]
        is_set = (split >> IS_SET) & 1 == 1
        code = np.where((x >= 0.0) & (x < sizes), x, sizes)
        goes_left = (x <= threshold) | (np.isnan(x) & ((split >> MISSING_LEFT) & 1 == 1))
        in_set = sets.in_set[np.where(is_set, threshold + code, 0.0).astype(np.int64)]
        after = node + 1 + np.where(np.where(is_set, in_set, goes_left), 0, record["jump"])
        if (after == node).all():
            return (node - trees.root).astype(np.int32)
        node = after
