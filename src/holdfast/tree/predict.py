"""Prediction: the leaf that each row reaches, and the nodes that it passes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray, freeze
from holdfast.data.encode import encode_rows
from holdfast.data.schema import Feature, Schema
from holdfast.data.table import Table
from holdfast.errors import DataError, SchemaMismatch
from holdfast.tree.tree import LEAF, Tree

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FEW_ROWS = 1000  # that Python walks through a tree before numba is imported
MOST_ROWS = 2**21  # of one kernel call, which Ctrl-C cannot interrupt


def find_leaves(
    tree: Tree, X: Any, *, handle_unknown: str = "missing", handle_missing: str = "learned"
) -> IntArray:
    """Return the leaf that each row reaches; X is a Table or anything `encode_rows` reads.

    Only the columns that the tree splits on are encoded. See `Tree.apply`.
    """
    used = np.unique(tree.feature[tree.feature != LEAF])
    if isinstance(X, Table):
        rows = select_table_rows(tree.schema, X, used.tolist(), handle_missing)
    else:
        rows = encode_rows(
            X, tree.schema, used.tolist(), handle_unknown=handle_unknown, handle_missing=handle_missing
        )
    return Routes.of(tree, used).leaves(freeze(rows), freeze(np.arange(len(rows), dtype=np.int32)))


@dataclass(frozen=True, eq=False)
class Routes:
    """Nodes in the form of the routing kernel, for rows with only the features split on."""

    feature: IntArray  # the column of the rows; LEAF at a leaf
    threshold: FloatArray
    left: IntArray
    right: IntArray
    missing_left: BoolArray
    set_start: LongArray
    n_categories: IntArray
    in_set: BoolArray

    @classmethod
    def of(cls, tree: Tree, used: LongArray) -> "Routes":
        """Make the routes of a tree; `used` are the features of the row columns."""
        column = np.where(tree.feature == LEAF, LEAF, np.searchsorted(used, tree.feature)).astype(np.int32)
        return cls(
            column,
            tree.threshold,
            tree.left,
            tree.right,
            tree.missing_left,
            tree.set_start,
            _categories_of_nodes(tree),
            tree.in_set,
        )

    def leaves(self, X: FloatArray, rows: IntArray, top: int = 0) -> IntArray:
        """Return the leaf that each row reaches from the node `top`."""
        from holdfast.kernels.jit import for_little_work
        from holdfast.kernels.predict import route

        walk = for_little_work(route) if len(rows) <= FEW_ROWS else route
        # Read-only, contiguous and of the same types for every caller, so that the kernel is compiled once.
        nodes = (
            freeze(self.feature),
            freeze(self.threshold),
            freeze(self.left),
            freeze(self.right),
            freeze(self.missing_left),
            freeze(self.set_start),
            freeze(self.n_categories),
            freeze(self.in_set),
        )
        leaves = np.empty(len(rows), np.int32)
        for begin in range(0, len(rows), MOST_ROWS):
            part = slice(begin, begin + MOST_ROWS)
            walk(X, rows[part], top, *nodes, leaves[part])
        return leaves


def find_passed_nodes(tree: Tree, leaves: IntArray) -> "csr_array":
    """Return a sparse matrix (rows, nodes) with a 1 for every node on each row's path."""
    from scipy.sparse import csr_array

    lengths = tree.node_depth[leaves] + 1
    ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    nodes = np.empty(ends[-1], np.int32)
    # From the leaves up, all rows at once. A parent has a smaller number, so that each row is sorted.
    node, place = np.asarray(leaves), ends[1:] - 1
    while len(node):
        nodes[place] = node
        node, place = tree.parent[node], place - 1
        climbing = node >= 0
        node, place = node[climbing], place[climbing]
    return csr_array((np.ones(len(nodes), np.int64), nodes, ends), shape=(len(leaves), tree.n_nodes))


def select_table_rows(schema: Schema, table: Table, used: Sequence[int], handle_missing: str) -> FloatArray:
    """Return the used columns of a table; a SchemaMismatch unless they are those of the schema."""
    for index in used:
        feature = schema.features[index]
        if index >= table.n_features or _code(feature) != _code(table.schema.features[index]):
            raise SchemaMismatch(
                f"Cannot predict the rows of the table: the model uses the {feature.kind} feature "
                f"{feature.name!r} at position {index}, and the table has another one there, or other "
                "categories. Read the data with schema=model.schema, or take tree.with_schema(table.schema)."
            )
    rows = table.rows(used)
    if handle_missing == "error" and np.isnan(rows).any():
        name = schema.names[used[int(np.isnan(rows).any(axis=0).argmax())]]
        raise DataError(
            f"column {name!r} has missing values. Fill them in, or let them follow the learned side with "
            'handle_missing="learned".'
        )
    return rows


def _code(feature: Feature) -> tuple[object, ...]:
    """Return what defines the numbers in the feature's column, apart from its range."""
    return feature.name, feature.kind, feature.categories


def _categories_of_nodes(tree: Tree) -> IntArray:
    """Count the categories of each node's feature; 0 at a leaf."""
    counts = np.zeros(tree.n_nodes, np.int32)
    for index in np.unique(tree.feature[tree.feature != LEAF]):
        counts[tree.feature == index] = len(tree.schema.features[index].categories)
    return counts
