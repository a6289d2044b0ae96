"""The target: labels as class indices, or numbers."""

import math
from numbers import Number
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, IntArray
from holdfast._text import RowLabels, first_rows, quoted
from holdfast.data.columns import Column, read_column
from holdfast.data.encode import match_column, match_labels
from holdfast.data.frame import as_vector
from holdfast.data.schema import Feature, Label, SchemaDifferences, Target
from holdfast.errors import DataError, SchemaMismatch

Task = Literal["classification", "regression", "survival"]

MOST_CLASSES = 20  # integers with more distinct values are a numeric target


def check_task(task: str | None) -> None:
    """Raise a DataError unless the task is "classification", "regression", "survival" or None."""
    if task not in ("classification", "regression", "survival", None):
        raise DataError(
            f"task={task!r} is unknown: choose 'classification', 'regression', 'survival' or None."
        )


def read_vector(y: Any, n_rows: int, names: tuple[str, str] = ("X", "y")) -> Any:
    """Read the target as a vector with one entry per row."""
    if y is None:
        raise DataError("Growing a tree requires y to be passed, but the target y is None.")
    vector = as_vector(y, names[1], allow_column=True)
    if len(vector) != n_rows:
        rows = f"{n_rows} in {names[0]} and {len(vector)} in {names[1]}"
        raise DataError(f"{names[0]} and {names[1]} have inconsistent numbers of rows: {rows}.")
    return vector


class NamedVector(np.ndarray[Any, Any]):
    """An array with the name of its column."""

    name: str

    def __array_finalize__(self, source: Any) -> None:
        self.name = getattr(source, "name", "")


def attach_name(values: NDArray[Any], name: str) -> NamedVector:
    """Attach the name of the column to the values.

    >>> get_target_name(attach_name(np.array([0, 1]), "died")[1:])
    'died'
    """
    vector = values.view(NamedVector)
    vector.name = name
    return vector


def get_target_name(y: Any) -> str:
    """Return the name of a series; y if it has none."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name else "y"


def define_target(
    vector: Any, name: str, task: Task | None, rows: RowLabels | None = None
) -> tuple[NDArray[Any], Target]:
    """Define the target from its values: classes or range; `rows` is for messages."""
    column = _read_complete(vector, name, rows)
    if (task or _guess_task(column)) == "regression":
        numbers = _read_numbers(vector, name)
        return numbers, Target(name, low=float(numbers.min()), high=float(numbers.max()))
    codes, classes = _drop_unused_labels(_read_labels(vector, column, name))
    return codes, Target(name, classes)


def match_target(
    vector: Any,
    target: Target,
    task: Task | None,
    differences: SchemaDifferences,
    rows: RowLabels | None = None,
) -> NDArray[Any]:
    """Encode the target on a schema; mismatches are added to the differences."""
    if task is not None and (task == "classification") != target.is_classes:
        kind = "classes" if target.is_classes else "numbers"
        raise SchemaMismatch(
            f"The target {target.name!r} of the schema holds {kind}, and the task is {task}."
        )
    column = _read_complete(vector, target.name, rows)
    if target.is_classes:
        match = match_labels(_read_labels(vector, column, target.name), "classes", target.classes, rows)
    else:
        match = match_column(vector, Feature(target.name), f"the target {target.name!r}", rows)
    differences.classes = list(match.unknown)
    if match.clash:
        differences.kinds[target.name] = match.clash
    fits = not match.clash and not match.unknown
    values: NDArray[Any] = match.values
    return values.astype(np.int32) if target.is_classes and fits else values


def _read_complete(vector: Any, name: str, rows: RowLabels | None) -> Column:
    """Read the target by its dtype; missing values are an error."""
    rows = RowLabels.of(vector) or rows
    column = read_column(vector, f"the target {name!r}", rows=rows)
    missing: BoolArray = np.isnan(column.values)
    if missing.any():
        count = int(missing.sum())
        raise DataError(
            f"The target {name!r} has {count} missing {'label' if count == 1 else 'labels'}, "
            f"{first_rows(missing, rows)}. Drop these rows, or fill in the labels."
        )
    return column


def _guess_task(column: Column) -> Task:
    if column.kind != "numeric":
        return "classification"
    many = len(np.unique(column.values)) > MOST_CLASSES
    return "regression" if many or _is_continuous(column.values) else "classification"


def _is_continuous(numbers: FloatArray) -> bool:
    return bool((numbers != np.floor(numbers)).any())


def _read_numbers(vector: Any, name: str) -> FloatArray:
    column = read_column(vector, f"the target {name!r}", "numbers")
    if column.kind != "numeric":
        raise DataError(
            f"Regression needs numbers, and the target {name!r} holds the labels {quoted(column.labels, 5)}. "
            "Convert them to numbers, or use classification."
        )
    return column.values


def _read_labels(vector: Any, column: Column, name: str) -> Column:
    if column.kind == "numeric" and _is_continuous(column.values):
        value = column.values[column.values != np.floor(column.values)][0]
        raise DataError(
            f"Unknown label type: continuous. The target {name!r} holds numbers such as {value:g}, and "
            "classification needs a few distinct classes: use regression, or group the numbers."
        )
    return column if column.kind == "nominal" else read_column(vector, f"the target {name!r}", "categories")


def _drop_unused_labels(column: Column) -> tuple[IntArray, tuple[Label, ...]]:
    """Return the class of every row, and the labels that occur."""
    codes = column.values.astype(np.int32)
    used = np.bincount(codes, minlength=len(column.labels)) > 0
    if used.all():
        return codes, column.labels
    positions = (np.cumsum(used) - 1).astype(np.int32)
    return positions[codes], tuple(label for label, some in zip(column.labels, used, strict=True) if some)


# -- Sample weights ------------------------------------------------------------------------------------------

MOST_REPEATS = 2**31  # a greater sum of integer weights means importances, not repetitions


def read_weight(sample_weight: Any, n_rows: int, rows: RowLabels | None = None) -> FloatArray | None:
    """Read finite weights of at least 0, one per row; None if all are 1.

    A single number is the weight of every row.
    """
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Number):
        sample_weight = np.full(n_rows, sample_weight)
    vector = as_vector(sample_weight, "sample_weight")
    if len(vector) != n_rows:
        raise DataError(
            f"sample_weight has {len(vector)} values, and the data has {n_rows} rows: give one per row."
        )
    rows = RowLabels.of(vector) or rows
    column = read_column(vector, "sample_weight", "numbers", rows)
    if column.kind != "numeric":
        raise DataError(f"sample_weight must be numbers, and holds the text {column.labels[0]!r}.")
    if (missing := np.isnan(column.values)).any():
        raise DataError(f"sample_weight has {missing.sum()} missing values, {first_rows(missing, rows)}.")
    if (negative := column.values < 0.0).any():
        raise DataError(
            f"sample_weight has {negative.sum()} negative values, {first_rows(negative, rows)}. "
            "Weights must be at least 0: drop a row by the weight 0."
        )
    if not column.values.any():
        raise DataError("sample_weight is zero for every row: at least one weight must be above zero.")
    check_weight_sum(column.values)
    return None if (column.values == 1.0).all() else column.values


def are_repetitions(weight: FloatArray) -> bool:
    """Return True if the weights are row counts: integers with a moderate sum."""
    return bool(np.all(weight == np.rint(weight)) and weight.sum() < MOST_REPEATS)


def scale_weight(weight: FloatArray | None) -> FloatArray | None:
    """Scale positive weights to a mean of 1, unless they are row counts.

    >>> scale_weight(np.array([0.5, 1.5, 4.0, 0.0])), scale_weight(np.array([1.0, 3.0]))
    (array([0.25, 0.75, 2.  , 0.  ]), array([1., 3.]))
    """
    if weight is None or are_repetitions(weight):
        return weight
    return np.asarray(weight / (math.fsum(weight.tolist()) / int((weight > 0).sum())), np.float64)


def count_effective_rows(weight: FloatArray | None, n_rows: int) -> float:
    """Return the effective number of rows; integer weights count as copies.

    Otherwise it is Kish's effective sample size, the square of the sum over the sum of squares.

    >>> count_effective_rows(np.array([2.0, 1.0]), 2), count_effective_rows(np.array([0.5, 0.5]), 2)
    (3.0, 2.0)
    """
    if weight is None:
        return float(n_rows)
    if are_repetitions(weight):
        return float(weight.sum())
    share = weight / weight.max()
    return float(share.sum() ** 2 / (share**2).sum())


def find_weighted_rows(weight: FloatArray | None) -> BoolArray | None:
    """Flag the rows of positive weight; None if all are."""
    if weight is None or (weight > 0.0).all():
        return None
    return np.asarray(weight > 0.0, np.bool_)


def check_weight_sum(weight: FloatArray) -> None:
    """Raise a DataError unless the sum of the weights is finite."""
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if not math.isfinite(total):
        raise DataError(
            f"sample_weight adds up to {total:g}, and the greatest weight is {weight.max():g}: the sum must "
            "be a finite number. Divide all weights by one number: only their ratios matter."
        )
