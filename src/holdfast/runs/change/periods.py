"""The data of both times: rows, missing values, what the schema gained, and how far each column has moved."""

from collections.abc import Mapping
from math import isnan
from typing import Any

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.data.schema import Feature, Schema
from holdfast.data.table import Table
from holdfast.runs.change.profile import RowsProfile, rows_profile
from holdfast.scoring.population import LITTLE, MUCH, profile_index

BANDS = ("little", "some", "much")  # of a population stability index
NEW_VALUES, OTHER_KIND = "new values", "of another kind now"  # of columns that no index can be told of
UNKNOWN_RANGE: dict[str, Any] = {"range_before": None, "range_now": None, "beyond": None}
NO_TEXT: dict[str, float] = {}


def period_facts(
    before: RowsProfile | None,
    schema: Schema,
    table: Table,
    origin: str,
    text: Mapping[str, float] = NO_TEXT,
) -> dict[str, Any]:
    """Both times side by side. `schema` is that of the deployed model, and `origin` where `before` is from.

    Without a profile of before, what the schema knows of it is told: ranges and categories. `text` names the
    columns whose text the table has as missing, each with the fraction of rows that truly are.
    """
    now = rows_profile(table)
    kinds = schema_facts(schema, table.schema)
    kinds["other_kinds"] += [name for name in text if name not in kinds["other_kinds"]]
    return {
        "before": None
        if before is None
        else {"rows": before.n_rows, "target": dict(before.target), "source": origin},
        "now": {"rows": now.n_rows, "target": dict(now.target)},
        "columns": _columns(before, now, schema, table, text),
        "schema": kinds,
    }


def schema_facts(old: Schema, new: Schema) -> dict[str, Any]:
    """What the schema of the new model has that the one of before had not, and the other way round."""
    before = {each.name: each for each in old.columns}
    after = {each.name: each for each in new.columns}
    categories = {
        name: [label for label in after[name].categories if label not in before[name].categories]
        for name in after
        if name in before
    }
    return {
        "new_columns": [name for name in after if name not in before],
        "gone_columns": [name for name in before if name not in after],
        "other_kinds": [name for name in after if name in before and after[name].kind != before[name].kind],
        "new_categories": {name: new for name, new in categories.items() if new},
        "new_classes": [label for label in new.target.classes if label not in old.target.classes],
    }


def band(index: float) -> str:
    """What custom says of a population stability index.

    >>> band(0.02), band(0.1), band(0.3)
    ('little', 'some', 'much')
    """
    return BANDS[0] if index < LITTLE else BANDS[1] if index < MUCH else BANDS[2]


def _columns(
    before: RowsProfile | None, now: RowsProfile, schema: Schema, table: Table, text: Mapping[str, float]
) -> list[dict[str, Any]]:
    """One entry per column, the most changed first, those of which nothing is known last."""
    known = {each.name: each for each in schema.columns}
    found = [
        _told(_column(feature, values, now, before, known.get(feature.name)), text.get(feature.name))
        for feature, values in zip(table.schema.features, table.columns, strict=True)
        if feature.kind != "question"
    ]
    return sorted(
        found, key=lambda each: (each["index"] is None, not each["news"], -round(each["index"] or 0.0, 9))
    )


def _told(column: dict[str, Any], missing: float | None) -> dict[str, Any]:
    """The column; of one whose text was left out, only what can be said of it, and what is truly missing."""
    if missing is None:
        return column
    return {
        **column,
        **UNKNOWN_RANGE,
        "missing_now": missing,
        "index": None,
        "band": None,
        "news": OTHER_KIND,
    }


def _column(
    feature: Feature, values: FloatArray, now: RowsProfile, before: RowsProfile | None, old: Feature | None
) -> dict[str, Any]:
    was = None if before is None else before.columns.get(feature.name)
    index = None if was is None else profile_index(was, feature, values)
    had_none = was is not None and was.missing == was.n_rows
    news = NEW_VALUES if had_none and bool((~np.isnan(values)).any()) else ""
    if news or (index is not None and isnan(index)):
        index = None
    return {
        "name": feature.name,
        "kind": feature.kind,
        "missing_before": None if was is None or not was.n_rows else was.missing / was.n_rows,
        "missing_now": now.columns[feature.name].missing / now.n_rows if now.n_rows else None,
        "index": index,
        "band": None if index is None else band(index),
        "news": news,
        **(UNKNOWN_RANGE if had_none else _beyond(values, feature, old)),
    }


def _beyond(values: FloatArray, feature: Feature, old: Feature | None) -> dict[str, Any]:
    """The range of before and now, and the fraction of rows beyond it: trees were not grown for these."""
    known = values[~np.isnan(values)]
    if feature.kind != "numeric" or not len(known) or old is None or old.kind != "numeric":
        return UNKNOWN_RANGE
    outside = (known < old.low) | (known > old.high)
    return {
        "range_before": [old.low, old.high],
        "range_now": [float(known.min()), float(known.max())],
        "beyond": float(outside.sum()) / len(values),
    }
