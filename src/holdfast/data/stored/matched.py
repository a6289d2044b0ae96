"""Data in parts as the columns of a given schema."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import BoolArray, FloatArray
from holdfast.data.input.target import Task
from holdfast.data.input.zero_weight import match_weighted_column, match_weighted_target
from holdfast.data.schema import Feature, Schema
from holdfast.data.schema_differences import SchemaDifferences
from holdfast.data.stored.parts import Parts
from holdfast.data.stored.pieces import PIECE


def write_matched(
    parts: Parts, schema: Schema, names: tuple[str, ...], weighted: BoolArray | None, out: FloatArray
) -> SchemaDifferences:
    """Write the columns of the schema to `out`; return the mismatches."""
    differences = SchemaDifferences.compare_names((feature.name for feature in schema.columns), names)
    for feature, own in zip(schema.columns, out, strict=False):
        if feature.name not in differences.missing:
            _write_column(parts.column(feature.name), feature, weighted, own, differences)
    return differences


def _write_column(
    raw: Any, feature: Feature, weighted: BoolArray | None, out: FloatArray, differences: SchemaDifferences
) -> None:
    unknown: dict[Any, None] = {}
    for begin in range(0, len(raw), PIECE):
        part = slice(begin, begin + PIECE)
        match = match_weighted_column(raw[part], feature, None if weighted is None else weighted[part])
        out[part] = match.values
        if match.clash:
            differences.kinds[feature.name] = match.clash
            return
        unknown |= dict.fromkeys(match.unknown)
    if unknown:
        differences.categories[feature.name] = list(unknown)


def match_values(
    raw: Any, schema: Schema, task: Task | None, weighted: BoolArray | None, differences: SchemaDifferences
) -> NDArray[Any]:
    """Encode the target by the schema; a SchemaMismatch lists all that does not fit."""
    values = match_weighted_target(raw, schema.target, task, weighted, differences)
    differences.raise_if_any()
    return np.asarray(values)
