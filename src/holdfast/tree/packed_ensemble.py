"""The trees of an ensemble as its kernel reads them, and the rows that go through them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import BoolArray, FloatArray, IntArray, LongArray, frozen
from holdfast.backends.tasks import LEAST_SHARED, check_jobs, run_all
from holdfast.data.input.rows import encode_rows
from holdfast.data.schema import Schema
from holdfast.data.table import Table
from holdfast.tree.route import select_table_rows
from holdfast.tree.tree import LEAF, Tree

if TYPE_CHECKING:
    from holdfast.kernels.prediction.ensemble import PackedTrees
    from holdfast.tree.ensemble import Ensemble

# A multiple of the block of the kernel: enough for a thread to be worth it, few enough that all end together.
ROWS_PER_TASK = 8192
MOST_STEPS = 2**24  # rows times trees of one call of a kernel: Ctrl-C waits for it


@dataclass(frozen=True, eq=False)
class PackedEnsemble:
    """All trees of an ensemble in flat arrays, with the features that they split on."""

    schema: Schema
    used: tuple[int, ...]
    trees: "PackedTrees"

    @classmethod
    def of(cls, ensemble: "Ensemble") -> "PackedEnsemble":
        """Pack an ensemble with its weights and outputs."""
        from holdfast.kernels.prediction.ensemble import PackedTrees, Sets

        asked = [np.unique(tree.feature) for tree in ensemble.trees]
        used = np.setdiff1d(np.concatenate(asked), [LEAF])
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
        """The columns of X that the trees ask about, X being a Table or anything that `encoded` reads."""
        if isinstance(X, Table):
            return frozen(select_table_rows(self.schema, X, self.used, handle_missing))
        return frozen(
            encode_rows(
                X, self.schema, self.used, handle_unknown=handle_unknown, handle_missing=handle_missing
            )
        )

    def added(self, rows: FloatArray, scores: FloatArray, trees: range, n_jobs: int | None) -> FloatArray:
        """Add the values of the trees to the scores, tree by tree."""
        check_jobs(n_jobs)
        parts = _parts(len(rows), len(trees))
        task = partial(_added, self.trees, trees)
        items = [(rows[part], scores[part]) for part in parts]
        added = run_all(task, items, n_jobs if len(parts) > 1 else 1, stays=True)
        return added[0] if len(added) == 1 else np.concatenate(added)

    def leaves(self, rows: FloatArray, n_jobs: int | None) -> IntArray:
        """Return the leaf of each row in each tree."""
        check_jobs(n_jobs)
        parts = _parts(len(rows), len(self.trees.root))
        items = [rows[part] for part in parts]
        task, n_jobs = partial(_leaves, self.trees), n_jobs if len(parts) > 1 else 1
        return np.concatenate(run_all(task, items, n_jobs, stays=True))


# -- the work of one task ---------------------------------------------------------------------------------


def _parts(n_rows: int, n_estimators: int) -> list[slice]:
    """Divide rows among tasks: one if they are few."""
    size = ROWS_PER_TASK if n_rows >= LEAST_SHARED else max(n_rows, 1)
    size = min(size, max(MOST_STEPS // max(n_estimators, 1), 1))
    return [slice(begin, begin + size) for begin in range(0, max(n_rows, 1), size)]


def _added(trees: "PackedTrees", taken: range, item: tuple[FloatArray, FloatArray]) -> FloatArray:
    from holdfast.kernels.prediction.ensemble import add_values

    rows, start = item
    scores = start.copy()
    add_values(frozen(rows), _frozen_all(trees), taken.start, taken.stop, scores)
    return scores


def _leaves(trees: "PackedTrees", rows: FloatArray) -> IntArray:
    from holdfast.kernels.prediction.ensemble import find_leaves

    leaves = np.empty((len(rows), len(trees.root)), np.int32)
    find_leaves(frozen(rows), _frozen_all(trees), leaves)
    return leaves


def _frozen_all(trees: "PackedTrees") -> "PackedTrees":
    # Arrays that travelled to another process can be written to, and kernels would compile once more.
    parts = trees._asdict()
    sets = trees.sets._replace(**{name: frozen(array) for name, array in parts.pop("sets")._asdict().items()})
    return trees._replace(sets=sets, **{name: frozen(array) for name, array in parts.items()})


# -- packing ----------------------------------------------------------------------------------------------


def _packed_nodes(trees: Sequence[Tree], used: LongArray, set_starts: Sequence[LongArray]) -> NDArray[Any]:
    from holdfast.kernels.prediction.ensemble import IS_SET, LEAF_JUMP, MISSING_LEFT, NODE

    packed = []
    for tree, starts in zip(trees, set_starts, strict=True):
        nodes = np.zeros(tree.n_nodes, NODE)
        is_leaf, is_set = tree.feature == LEAF, tree.set_start >= 0
        question = np.searchsorted(used, tree.feature)
        question |= (is_set << IS_SET) | (tree.missing_left.astype(np.int64) << MISSING_LEFT)
        nodes["threshold"] = np.where(is_set, starts, tree.threshold)
        nodes["question"] = np.where(is_leaf, 0, question)
        nodes["jump"] = np.where(is_leaf, LEAF_JUMP, tree.right - np.arange(1, tree.n_nodes + 1))
        packed.append(nodes)
    return np.concatenate(packed)


def _packed_sets(trees: Sequence[Tree]) -> tuple[list[LongArray], BoolArray]:
    """Return the start of each node's flags, and the flags; the last of a set is for missing values."""
    starts, flags = [], [np.zeros(1, np.bool_)]  # the first one is read by nodes without a set
    n_flags = 1
    for tree in trees:
        nodes = np.flatnonzero(tree.set_start >= 0)
        # The flags of a tree's sets stand in the order of its nodes.
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


def weighted_values(ensemble: "Ensemble") -> list[FloatArray]:
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
