"""The rows that two trees are compared on, as a table."""

from typing import Any

import numpy as np

from holdfast.data.input.frame import make_frame
from holdfast.data.input.matching import match_column, name_columns
from holdfast.data.input.rows import encode_rows
from holdfast.data.input.target import read_vector
from holdfast.data.input.weight import find_weighted_rows, read_weight
from holdfast.data.input.zero_weight import match_weighted_target
from holdfast.data.schema import Schema
from holdfast.data.schema_differences import SchemaDifferences
from holdfast.data.table import Table
from holdfast.tree.tree import LEAF, Tree


def prepare_table(old: Tree, new: Tree, X: Any, y: Any = None, sample_weight: Any = None) -> Table:
    """Encode rows on the schema of both trees: the columns they split on, target and weight.

    A column that no tree asks about may be missing, or hold something else; it can only help to describe
    rows. Without y the target means nothing.
    """
    if isinstance(X, Table):
        return X
    schema = old.schema
    frame = name_columns(schema, make_frame(X))
    asked = sorted({int(index) for tree in (old, new) for index in np.unique(tree.feature) if index != LEAF})
    columns = dict(zip(asked, encode_rows(X, schema, asked).T, strict=True))
    for index, feature in enumerate(schema.columns):
        if index not in columns and feature.name in frame.names:
            match = match_column(frame.column(feature.name), feature, f"column {feature.name!r}", frame.rows)
            if not match.clash:
                columns[index] = match.values
    weight = read_weight(sample_weight, frame.n_rows, frame.rows)
    kept = sorted(columns)
    own = Schema(tuple(schema.features[index] for index in kept), schema.target)
    target = np.zeros(frame.n_rows, np.int32 if schema.target.is_classes else np.float64)
    if y is not None:
        differences = SchemaDifferences()
        vector = read_vector(y, frame.n_rows)
        target = match_weighted_target(
            vector, schema.target, None, find_weighted_rows(weight), differences, frame.rows
        )
        differences.raise_if_any()
    return Table(own, tuple(columns[index] for index in kept), target, weight)
