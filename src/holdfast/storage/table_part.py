"""The tables that fit leaves behind, and what their scores were measured by, to the file and back."""

from dataclasses import fields
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from holdfast.arrays import BoolArray, FloatArray, LongArray
from holdfast.data.schema import Target
from holdfast.ensembles.max_features import MaxFeaturesTable
from holdfast.ensembles.out_of_bag import Curve
from holdfast.errors import ModelFileError, ParameterError
from holdfast.growth.size.table import SizeTable
from holdfast.scoring.metric import Metric, make_metric
from holdfast.stability.centring.size_choice import SizeChoice
from holdfast.stability.frontier import Frontier
from holdfast.storage.document import MetricPart, TablePart

# The attributes that are tables: each is a dataclass of columns, texts and perhaps a metric.
TABLES: dict[str, Any] = {
    "frontier_": Frontier,
    "max_features_table_": MaxFeaturesTable,
    "oob_curve_": Curve,
    "size_choice_": SizeChoice,
    "size_table_": SizeTable,
}
# What becomes of the entries of a column, and which they may be.
_TYPES: dict[Any, tuple[type, tuple[type, ...]]] = {
    FloatArray: (np.float64, (int, float)),
    LongArray: (np.int64, (int,)),
    BoolArray: (np.bool_, (bool,)),
}
_TYPES |= {kind | None: entries for kind, entries in _TYPES.items()}  # columns that may be missing
# One row for each entry.
_MATRICES = (("max_features_table_", "scores"), ("size_table_", "scores"))
_APART = ("metric", "chosen", "compared", "baseline")  # fields that another part of the document has
_GAPPED = ("oob_curve_",)  # a few trees may have no score


def table_part(table: Any) -> TablePart:
    """The part of the document on a table."""
    found = {field.name: getattr(table, field.name) for field in fields(table)}
    metric = found.get("metric")
    return TablePart(
        columns={name: gapped(entry) for name, entry in found.items() if isinstance(entry, np.ndarray)},
        texts={name: entry for name, entry in found.items() if isinstance(entry, str)},
        metric=None if metric is None else metric_part(metric),
    )


def table_in(name: str, part: TablePart, target: Target) -> Any:
    """The table of the attribute `name` that the part describes."""
    kind, place = TABLES[name], f"at estimator.tables.{name}"
    known = [field for field in fields(kind) if field.type in _TYPES]
    texts = [field for field in fields(kind) if field not in known and field.name not in _APART]
    columns = [field for field in known if field.default is not None or field.name in part.columns]
    for found, wanted in ((part.columns, columns), (part.texts, texts)):
        if set(found) != {field.name for field in wanted}:
            raise ModelFileError(f"{place}: it needs {', '.join(field.name for field in wanted)}.")
    content: dict[str, Any] = {
        field.name: _column(name, field, part.columns[field.name]) for field in columns
    }
    lengths = {len(column) for column in content.values()}
    if len(lengths) > 1 or 0 in lengths:
        raise ModelFileError(f"{place}: all columns must have as many entries, and at least one.")
    for field in texts:
        content[field.name] = part.texts[field.name]
        if (allowed := get_args(field.type)) and content[field.name] not in allowed:
            raise ModelFileError(f"{place}: {field.name} must be one of {', '.join(map(str, allowed))}.")
    if any(field.name == "metric" for field in fields(kind)):
        if part.metric is None:
            raise ModelFileError(f"{place}: it needs a metric.")
        content["metric"] = metric_in(part.metric, target)
    return kind(**content)


def _column(table: str, field: Any, entries: tuple[Any, ...]) -> NDArray[Any]:
    kind, allowed = _TYPES.get(field.type, _TYPES[FloatArray])
    is_matrix = (table, field.name) in _MATRICES
    rows = entries if is_matrix else (entries,)
    width = len(rows[0]) if rows and isinstance(rows[0], tuple) else 0
    allowed = (*allowed, type(None)) if table in _GAPPED else allowed
    for row in rows:
        is_sound = isinstance(row, tuple) and len(row) == width > 0
        if not is_sound or any(type(entry) not in allowed for entry in row):
            raise ModelFileError(
                f"at estimator.tables.{table}.{field.name}: its entries are of another kind."
            )
    return np.array(entries, kind)


# -- metrics and arrays -----------------------------------------------------------------------------------


def metric_part(metric: Metric) -> MetricPart:
    """The part of the document on a metric."""
    return MetricPart(name=metric.name, title=metric.title, is_loss=bool(metric.is_loss))


def metric_in(part: MetricPart, target: Target) -> Metric:
    """The metric of that name; one that others wrote has its name and no formula."""
    try:
        return make_metric(part.name, target)
    except ParameterError:
        return Metric(part.name, part.title, part.is_loss)


def gapped(array: NDArray[Any]) -> tuple[Any, ...]:
    """The entries of an array, None for NaN; the rows of a matrix."""
    if array.ndim > 1:
        return tuple(map(gapped, array))
    return tuple(None if entry != entry else entry for entry in array.tolist())
