"""Ensembles: trees whose leaf values are summed, and the link from the sum to a prediction."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray, freeze, scale_back
from holdfast.data.encode import encode_rows
from holdfast.data.schema import Schema
from holdfast.data.table import Table
from holdfast.errors import ParameterError, SchemaMismatch
from holdfast.parallel.tasks import LEAST_SHARED, check_jobs, run_all
from holdfast.tree.check import Link, check_ensemble
from holdfast.tree.predict import select_table_rows
from holdfast.tree.stats import score_classes
from holdfast.tree.tree import LEAF, Tree, fractions_of, label_array

if TYPE_CHECKING:
    from holdfast.kernels.predict import PackedTrees

NUMBERS_AT_A_TIME = 2**22  # scores of a block of rows
LARGEST_EXPONENT = 709.0  # its exponential is finite


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees whose leaf values add up to scores, and the link from scores to predictions.

    The scores of a row are `start` plus, for every tree, its weight times the value of the leaf that the row
    reaches, added to the columns from `outputs` on. The link makes class fractions or a number: "mean"
    divides by the total weight, "logistic" and "softmax" give probabilities, "double_logistic" those of twice
    the score, "exp" the exponential, at most the largest number there is, and "identity" the score itself.
    No weight is negative, and no sum can overflow: every row has a finite prediction.
    """

    schema: Schema  # of the prediction
    trees: tuple[Tree, ...]  # on the same features; boosted trees of a classifier have numeric targets
    weights: FloatArray  # (trees,) factors of the leaf values
    outputs: IntArray  # (trees,) the first column of the scores that each tree adds to
    start: FloatArray  # (outputs,) initial scores
    link: Link
    votes: bool = False  # add the weight of a tree to its predicted class instead of the class fractions
    notes: tuple[str, ...] = ()  # remarks for readers
    loss_matrix: FloatArray | None = None  # predict the class of least expected loss

    def __post_init__(self) -> None:
        object.__setattr__(self, "trees", tuple(self.trees))
        for name, kind in (("weights", np.float64), ("outputs", np.int32), ("start", np.float64)):
            object.__setattr__(self, name, freeze(np.array(getattr(self, name), kind)))
        check_ensemble(self)
        target = self.schema.target
        if target.positive is None and len(target.classes) == 2:  # of an old file, or of another library
            target = target.with_rarer_positive(self._root_prediction().tolist())
            object.__setattr__(self, "schema", replace(self.schema, target=target))

    def _root_prediction(self) -> FloatArray:
        """Return the prediction from the roots of the trees."""
        scores = self.start.copy()
        for tree, weight, output in zip(
            self.trees, self.weights.tolist(), self.outputs.tolist(), strict=True
        ):
            scores[output : output + tree.value.shape[1]] += weight * tree.value[0]
        fractions: FloatArray = self.apply_link(scores[None, :])[0]
        return fractions

    def __getstate__(self) -> dict[str, Any]:
        # Without cached results: the packed nodes are as large as all the trees.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, entry in state.items():
            object.__setattr__(self, name, freeze(entry) if isinstance(entry, np.ndarray) else entry)

    # -- trees ----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.trees)

    def __iter__(self) -> Iterator[Tree]:
        return iter(self.trees)

    @overload
    def __getitem__(self, index: int) -> Tree: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Tree, ...]: ...
    def __getitem__(self, index: int | slice) -> Tree | tuple[Tree, ...]:
        return self.trees[index]

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return len(self.start)

    @cached_property
    def trees_per_round(self) -> int:
        """Number of trees per round: one, or one for each class."""
        return len(np.unique(self.outputs))

    @property
    def n_rounds(self) -> int:
        """Number of rounds."""
        return -(-len(self.trees) // self.trees_per_round)

    def first(self, n_rounds: int) -> Ensemble:
        """Return the ensemble of the first rounds."""
        if not 1 <= n_rounds <= self.n_rounds:
            raise ParameterError(
                f"n_rounds={n_rounds} is out of range: it must be from 1 to {self.n_rounds}."
            )
        end = n_rounds * self.trees_per_round
        return replace(self, trees=self.trees[:end], weights=self.weights[:end], outputs=self.outputs[:end])

    @cached_property
    def importances(self) -> FloatArray:
        """Impurity decrease by feature as fractions, which sum to 1 (or 0 without splits).

        Trees that are averaged or vote count by their weights; trees of a score count by their gains.
        """
        if self.link == "mean" or self.votes:
            total = np.zeros(len(self.schema.features))
            for tree, weight in zip(self.trees, self.weights.tolist(), strict=True):
                total += weight * tree.importances
            return freeze(fractions_of(total))
        highest = max(tree.scaled_decreases[1] for tree in self.trees)
        total = np.zeros(len(self.schema.features))
        for tree in self.trees:
            decreases, exponent = tree.scaled_decreases
            total += np.ldexp(decreases, exponent - highest)
        return freeze(fractions_of(total))

    # -- prediction -----------------------------------------------------------------------------------

    def leaves(
        self,
        X: Any,
        *,
        handle_unknown: str = "missing",
        handle_missing: str = "learned",
        n_jobs: int | None = None,
    ) -> IntArray:
        """Return the leaf of each row in each tree, (rows, trees).

        `handle_unknown` and `handle_missing` are as in `Tree.apply`.
        """
        return self._packed.leaves(self._packed.rows(X, handle_unknown, handle_missing), n_jobs)

    def scores(
        self,
        X: Any,
        *,
        handle_unknown: str = "missing",
        handle_missing: str = "learned",
        n_jobs: int | None = None,
    ) -> FloatArray:
        """Return the sums before the link, (rows, outputs)."""
        return self._scores_of(self._packed.rows(X, handle_unknown, handle_missing), n_jobs)

    def add_scores(self, X: Any, scores: FloatArray, **policy: Any) -> FloatArray:
        """Add the values of the trees to these scores, tree by tree; other parameters as in `scores`."""
        rows, n_jobs = self._rows(X, **policy)
        return self._packed.add_scores(rows, scores, range(len(self.trees)), n_jobs)

    def values(self, X: Any, **policy: Any) -> FloatArray:
        """Return class probabilities, or one column of numbers; parameters as in `scores`."""
        if self.spare_bits:
            return scale_back(self._shrunk.values(X, **policy), self.spare_bits)
        rows, n_jobs = self._rows(X, **policy)
        blocks = [self._values_of(rows[part], n_jobs) for part in self._blocks(rows)]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def apply_link(self, scores: FloatArray) -> FloatArray:
        """Apply the link to the scores: a column for each class, or one column of numbers."""
        return apply_link(self.link, scores, float(self.weights.sum()))

    def predict(self, X: Any, **policy: Any) -> Any:
        """Predict the most likely class, or that of least expected loss; or the number."""
        if not self.schema.target.is_classes:
            return self.values(X, **policy)[:, 0]
        rows, n_jobs = self._rows(X, **policy)
        places = [self.predict_indices(self._values_of(rows[part], n_jobs)) for part in self._blocks(rows)]
        return label_array(self.schema.target.classes)[np.concatenate(places)]

    def predict_indices(self, values: FloatArray) -> IntArray:
        """Return the class index for these values: the most likely, or that of least expected loss."""
        return np.asarray(score_classes(values, self.loss_matrix).argmax(axis=1), np.int32)

    def predict_proba(self, X: Any, **policy: Any) -> FloatArray:
        """Return class probabilities in the order of the schema."""
        if not self.schema.target.is_classes:
            raise SchemaMismatch(f"The target {self.schema.target.name!r} is a number: use predict.")
        return self.values(X, **policy)

    def staged_values(
        self,
        X: Any,
        step: int = 1,
        *,
        handle_unknown: str = "missing",
        handle_missing: str = "learned",
        n_jobs: int | None = None,
    ) -> Iterator[FloatArray]:
        """Iterate over the values after every `step` rounds, equal to those of `first(n_rounds)`."""
        if step < 1:
            raise ParameterError(f"step={step} is out of range: it must be at least 1.")
        if self.spare_bits:
            staged = self._shrunk.staged_values(
                X, step, handle_unknown=handle_unknown, handle_missing=handle_missing, n_jobs=n_jobs
            )
            yield from (scale_back(values, self.spare_bits) for values in staged)
            return
        rows = self._packed.rows(X, handle_unknown, handle_missing)
        scores, begin = self._start_of(rows), 0
        for n_rounds in range(step, self.n_rounds + 1, step):
            end = min(n_rounds * self.trees_per_round, len(self.trees))
            scores = self._packed.add_scores(rows, scores, range(begin, end), n_jobs)
            begin = end
            yield apply_link(self.link, scores, float(self.weights[:end].sum()))

    @cached_property
    def spare_bits(self) -> int:
        """Number of bits by which values must be scaled down so that the sum of a mean stays finite."""
        greatest = max(float(np.abs(tree.value).max()) for tree in self.trees)
        total = float(np.abs(self.weights).sum())
        if self.link != "mean" or math.isfinite(greatest * max(total, 1.0)):
            return 0
        return max(math.frexp(total)[1], 0) + 1

    @cached_property
    def _shrunk(self) -> Ensemble:
        """Scale the values of the ensemble down."""
        shrunk = (tree.replace(value=np.ldexp(tree.value, -self.spare_bits)) for tree in self.trees)
        return self.replace(trees=tuple(shrunk), start=np.ldexp(self.start, -self.spare_bits))

    def _rows(
        self,
        X: Any,
        *,
        handle_unknown: str = "missing",
        handle_missing: str = "learned",
        n_jobs: int | None = None,
    ) -> tuple[FloatArray, int | None]:
        return self._packed.rows(X, handle_unknown, handle_missing), n_jobs

    def _blocks(self, rows: FloatArray) -> list[slice]:
        size = max(NUMBERS_AT_A_TIME // self.n_outputs, 1)
        return [slice(begin, begin + size) for begin in range(0, max(len(rows), 1), size)]

    def _values_of(self, rows: FloatArray, n_jobs: int | None) -> FloatArray:
        return self.apply_link(self._scores_of(rows, n_jobs))

    def _scores_of(self, rows: FloatArray, n_jobs: int | None) -> FloatArray:
        return self._packed.add_scores(rows, self._start_of(rows), range(len(self.trees)), n_jobs)

    def _start_of(self, rows: FloatArray) -> FloatArray:
        return np.tile(self.start, (len(rows), 1))

    @cached_property
    def _packed(self) -> PackedEnsemble:
        return PackedEnsemble.of(self)

    def __repr__(self) -> str:
        return f"<Ensemble: {len(self.trees)} trees, {self.link}, {self.schema.target.name!r}>"

    def replace(self, **changes: Any) -> Ensemble:
        """Return a copy with some fields changed."""
        return replace(self, **changes)


def apply_link(link: Link, scores: FloatArray, total_weight: float) -> FloatArray:
    """Apply a link to the scores; "mean" divides them by the total weight of the trees."""
    match link:
        case "mean":
            return np.divide(scores, total_weight)
        case "identity":
            return scores.copy()
        case "exp":
            return np.exp(np.minimum(scores, LARGEST_EXPONENT))
        case "softmax":
            # Relative to the highest score, so that the exponential cannot overflow.
            fractions: FloatArray = np.exp(scores - scores.max(axis=1, keepdims=True))
            fractions /= fractions.sum(axis=1, keepdims=True)
            return fractions
        case "logistic":
            return _both_classes(scores[:, 0])
        case "double_logistic":
            return _both_classes(2 * scores[:, 0])


def _both_classes(scores: FloatArray) -> FloatArray:
    from scipy.special import expit

    # Separately, since 1 - p would be rounded to 0.
    return np.column_stack([expit(-scores), expit(scores)])


# -- Packed trees for the kernel -----------------------------------------------------------------------------

# A multiple of the block size of the kernel, large enough for a thread and small enough to balance the load.
ROWS_PER_TASK = 8192
MOST_STEPS = 2**24  # rows times trees of one kernel call, which Ctrl-C cannot interrupt


@dataclass(frozen=True, eq=False)
class PackedEnsemble:
    """All trees of an ensemble in flat arrays, with the features that they split on."""

    schema: Schema
    used: tuple[int, ...]
    trees: PackedTrees

    @classmethod
    def of(cls, ensemble: Ensemble) -> PackedEnsemble:
        """Pack an ensemble with its weights and outputs."""
        from holdfast.kernels.predict import PackedTrees, Sets

        used = np.setdiff1d(np.concatenate([np.unique(tree.feature) for tree in ensemble.trees]), [LEAF])
        set_starts, in_set = _packed_sets(ensemble.trees)
        values = weighted_values(ensemble)
        arrays = PackedTrees(
            nodes=_packed_nodes(ensemble.trees, used, set_starts),
            root=_starts([tree.n_nodes for tree in ensemble.trees]),
            has_sets=np.array([len(tree.in_set) > 0 for tree in ensemble.trees]),
            sets=Sets(in_set, _set_sizes(ensemble.schema, used)),
            value=np.concatenate([value.ravel() for value in values]),
            value_start=_starts([value.size for value in values]),
            width=np.array([value.shape[1] for value in values], np.int64),
            output=ensemble.outputs.astype(np.int64),
        )
        return cls(ensemble.schema, tuple(used.tolist()), _frozen_all(arrays))

    def rows(self, X: Any, handle_unknown: str, handle_missing: str) -> FloatArray:
        """Encode the columns of X that the trees split on; X is a Table or anything `encode_rows` reads."""
        if isinstance(X, Table):
            return freeze(select_table_rows(self.schema, X, self.used, handle_missing))
        return freeze(
            encode_rows(
                X, self.schema, self.used, handle_unknown=handle_unknown, handle_missing=handle_missing
            )
        )

    def add_scores(
        self, rows: FloatArray, scores: FloatArray, trees: range, n_jobs: int | None
    ) -> FloatArray:
        """Add the values of the trees to the scores, tree by tree."""
        check_jobs(n_jobs)
        parts = _parts(len(rows), len(trees))
        task = partial(_add_values, self.trees, trees)
        items = [(rows[part], scores[part]) for part in parts]
        blocks = run_all(task, items, n_jobs if len(parts) > 1 else 1, is_local=True)
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def leaves(self, rows: FloatArray, n_jobs: int | None) -> IntArray:
        """Return the leaf of each row in each tree."""
        check_jobs(n_jobs)
        parts = _parts(len(rows), len(self.trees.root))
        items = [rows[part] for part in parts]
        task, n_jobs = partial(_leaves, self.trees), n_jobs if len(parts) > 1 else 1
        return np.concatenate(run_all(task, items, n_jobs, is_local=True))


# -- the work of one task ---------------------------------------------------------------------------------


def _parts(n_rows: int, n_estimators: int) -> list[slice]:
    """Divide rows among tasks: one if they are few."""
    size = ROWS_PER_TASK if n_rows >= LEAST_SHARED else max(n_rows, 1)
    size = min(size, max(MOST_STEPS // max(n_estimators, 1), 1))
    return [slice(begin, begin + size) for begin in range(0, max(n_rows, 1), size)]


def _add_values(trees: PackedTrees, selected: range, item: tuple[FloatArray, FloatArray]) -> FloatArray:
    from holdfast.kernels.predict import add_values

    rows, start = item
    scores = start.copy()
    add_values(freeze(rows), _frozen_all(trees), selected.start, selected.stop, scores)
    return scores


def _leaves(trees: PackedTrees, rows: FloatArray) -> IntArray:
    from holdfast.kernels.predict import find_leaves

    leaves = np.empty((len(rows), len(trees.root)), np.int32)
    find_leaves(freeze(rows), _frozen_all(trees), leaves)
    return leaves


def _frozen_all(trees: PackedTrees) -> PackedTrees:
    # Arrays sent to another process are writable, for which the kernels would be compiled again.
    parts = trees._asdict()
    sets = trees.sets._replace(**{name: freeze(array) for name, array in parts.pop("sets")._asdict().items()})
    return trees._replace(sets=sets, **{name: freeze(array) for name, array in parts.items()})


# -- packing ----------------------------------------------------------------------------------------------


def _packed_nodes(trees: Sequence[Tree], used: LongArray, set_starts: Sequence[LongArray]) -> NDArray[Any]:
    from holdfast.kernels.predict import IS_SET, LEAF_JUMP, MISSING_LEFT, NODE

    packed = []
    for tree, starts in zip(trees, set_starts, strict=True):
        nodes = np.zeros(tree.n_nodes, NODE)
        is_leaf, is_set = tree.feature == LEAF, tree.set_start >= 0
        split = np.searchsorted(used, tree.feature)
        split |= (is_set << IS_SET) | (tree.missing_left.astype(np.int64) << MISSING_LEFT)
        nodes["threshold"] = np.where(is_set, starts, tree.threshold)
        nodes["split"] = np.where(is_leaf, 0, split)
        nodes["jump"] = np.where(is_leaf, LEAF_JUMP, tree.right - np.arange(1, tree.n_nodes + 1))
        packed.append(nodes)
    return np.concatenate(packed)


def _packed_sets(trees: Sequence[Tree]) -> tuple[list[LongArray], BoolArray]:
    """Return the start of each node's flags, and the flags; the last of a set is for missing values."""
    starts, flags = [], [np.zeros(1, np.bool_)]  # the first one is for nodes without a set
    n_flags = 1
    for tree in trees:
        nodes = np.flatnonzero(tree.set_start >= 0)
        # The flags of a tree are in the order of its nodes.
        ends = np.append(tree.set_start[nodes][1:], len(tree.in_set))
        flags.append(np.insert(tree.in_set, ends, tree.missing_left[nodes]))
        start = np.full(tree.n_nodes, -1, np.int64)
        start[nodes] = tree.set_start[nodes] + np.arange(len(nodes)) + n_flags
        starts.append(start)
        n_flags += len(flags[-1])
    return starts, np.concatenate(flags)


def _set_sizes(schema: Schema, used: LongArray) -> FloatArray:
    features = [schema.features[index] for index in used.tolist()]
    return np.array([len(each.categories) if each.is_subset else 0 for each in features], np.float64)


def weighted_values(ensemble: Ensemble) -> list[FloatArray]:
    """Return what nodes add to scores: values or votes, times the weight of the tree."""
    weighted = zip(ensemble.weights.tolist(), ensemble.trees, strict=True)
    if not ensemble.votes:
        return [weight * tree.value for weight, tree in weighted]
    return [_votes(weight, tree) for weight, tree in weighted]


def _votes(weight: float, tree: Tree) -> FloatArray:
    """Return the weight for the most frequent class of every node, 0 for others."""
    votes = np.zeros(tree.value.shape)
    votes[np.arange(tree.n_nodes), tree.outcome] = weight
    return votes


def _starts(lengths: Sequence[int]) -> LongArray:
    return np.cumsum([0, *lengths[:-1]], dtype=np.int64)
