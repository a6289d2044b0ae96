"""The rows that a deployed tree is updated by, on a schema that holds those of the tree as well."""

import warnings
from collections.abc import Collection
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.data.input.target import Task, name_of
from holdfast.data.input.weight import read_weight
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.distance.reference_schema import features_asked
from holdfast.errors import DataError, DataWarning, ParameterError, SchemaMismatch
from holdfast.estimators.stable_rows import TrainingRows
from holdfast.stability.update.update import NewRows
from holdfast.tree.tree import Tree

FEWEST_ROWS = 20  # of an update
FEWEST_EVENTS = 5  # of them, rows that are not of the most frequent class
_FORCE = "Wait for more rows, or give force=True to update the tree all the same."
_WIDEN = "give allow_new_values=True: the update then takes in new columns, categories and classes."
_WIDER_SCHEMA = "To take the new ones in, read the data without a schema"  # not for updates


@dataclass(frozen=True)
class Reading:
    """How the estimator reads rows."""

    task: Task
    categorical_features: Any
    questions: tuple[str, ...]
    allow_new_values: bool


def update_rows(rows: TrainingRows, tree: Tree, reading: Reading) -> NewRows:
    """The rows on the schema of the tree, whose ranges hold theirs too; on request also what is new to it.

    New categories of a column that the tree does not split on are taken in anyway. Those of other columns
    count as missing, as they do in predictions, with a warning. Rows of the stage 0 are old ones.
    """
    is_new = np.ones(rows.X.n_rows, np.bool_) if rows.stage is None else rows.stage > 0
    asked = features_asked([tree])
    if reading.allow_new_values:
        return NewRows(_read(rows, _widened(rows, tree, reading, asked), reading), rows.groups, is_new)
    try:
        table = _read(rows, tree.schema, reading)
    except SchemaMismatch as error:
        if "columns" in str(error):  # missing, or more of them
            raise offer_widen(error) from None
        wide = _widened(rows, tree, reading, asked)
        known = {feature.name: feature for feature in tree.schema.features}
        features = tuple(known[each.name] if each.name in asked else each for each in wide.features)
        try:
            table = _read(rows, Schema(features, tree.schema.target), reading, handle_unknown="missing")
        except SchemaMismatch:
            raise offer_widen(error) from error
    return NewRows(table, rows.groups, is_new)


def offer_widen(error: SchemaMismatch) -> SchemaMismatch:
    """The error with allow_new_values=True as a way out, unless columns are missing and nothing is new."""
    lines = [line for line in str(error).splitlines() if not line.startswith(_WIDER_SCHEMA)]
    if any(new in str(error) for new in ("columns not in the schema", "new categories", "new classes")):
        others = any(line.startswith("Give ") for line in lines)
        lines.append(f"Or {_WIDEN}" if others else f"{_WIDEN[0].upper()}{_WIDEN[1:]}")
    return SchemaMismatch("\n".join(lines))


def check_enough(rows: NewRows) -> None:
    """Raise a DataError if the new rows are too few, or too much alike, to update a tree by.

    Of classes, at least two must be there, and at least `FEWEST_EVENTS` rows must not be of the most
    frequent one.
    """
    counted = rows.is_new if rows.table.weight is None else rows.is_new & (rows.table.weight > 0)
    target, classes = rows.table.target[counted], rows.table.schema.target.classes
    if len(target) < FEWEST_ROWS:
        raise DataError(
            f"An update needs at least {FEWEST_ROWS} new rows, and there are {len(target)}. {_FORCE}"
        )
    if not classes:
        return
    counts = np.bincount(target, minlength=len(classes))
    most, n_events = classes[int(counts.argmax())], len(target) - int(counts.max())
    if n_events == 0:
        raise DataError(
            f"All {len(target):,} new rows have the class {most!r}: an update needs rows of at least two "
            f"classes. {_FORCE}"
        )
    if n_events < FEWEST_EVENTS:
        raise DataError(
            f"Of {len(target):,} new rows, {n_events} have another class than {most!r}: an update needs at "
            f"least {FEWEST_EVENTS} such rows. {_FORCE}"
        )


def _read(rows: TrainingRows, schema: Schema, reading: Reading, handle_unknown: str = "error") -> Table:
    with warnings.catch_warnings():
        # Rows of one class, or columns of one value, say little, but the tree will not be a leaf.
        warnings.filterwarnings("ignore", "the target has one class", DataWarning)
        warnings.filterwarnings("ignore", "no question can be asked of columns", DataWarning)
        return with_ranges(
            Table.from_arrays(
                rows.X, rows.y, rows.weight, task=reading.task, schema=schema, handle_unknown=handle_unknown
            )
        )


def _widened(rows: TrainingRows, tree: Tree, reading: Reading, asked: Collection[str]) -> Schema:
    """The schema of the tree with all that is new in the rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # told when the rows are read on it
        fresh = Table.from_arrays(
            rows.X,
            rows.y,
            rows.weight,
            task=reading.task,
            categorical_features=reading.categorical_features,
            custom_features=reading.questions,
            target=name_of(rows.y),
        )
    return joined(tree.schema, fresh.schema, asked)


def joined(old: Schema, new: Schema, asked: Collection[str]) -> Schema:
    """The old schema with the new columns, and the ranges, categories and classes of both.

    A column that is of another kind now, as one that was empty before, is what it is now, unless it is asked
    about.
    """
    by_name = {feature.name: feature for feature in new.features}
    if lost := [name for name in old.names if name not in by_name]:
        raise SchemaMismatch(
            f"The new rows have no column {lost[0]!r}, which the deployed tree was trained with. Give it, "
            "with missing values if it is no longer known."
        )
    shared = Schema(tuple(by_name[name] for name in old.names), replace(new.target, name=old.target.name))
    known = [
        theirs if own.kind != theirs.kind and own.name not in asked else own
        for own, theirs in zip(old.features, shared.features, strict=True)
    ]
    wide = Schema(tuple(known), old.target).widened(shared)
    added = tuple(feature for feature in new.columns if feature.name not in old.names)
    questions = wide.features[len(wide.columns) :]
    return Schema((*wide.columns, *added, *questions), wide.target)


def with_ranges(table: Table) -> Table:
    """The table on a schema whose ranges hold its values."""
    features = tuple(map(_ranged, table.schema.features, table.columns))
    target = table.schema.target
    if not target.is_classes:
        low, high = _range(table.target, target)
        target = replace(target, low=low, high=high)
    return replace(table, schema=Schema(features, target))


def _ranged(feature: Feature, values: FloatArray) -> Feature:
    if feature.kind != "numeric":
        return feature
    low, high = _range(values[~np.isnan(values)], feature)
    return replace(feature, low=low, high=high)


def _range(values: FloatArray, scale: Feature | Target) -> tuple[float, float]:
    if not len(values):
        return scale.low, scale.high
    return min(scale.low, float(values.min())), max(scale.high, float(values.max()))


# -- age ------------------------------------------------------------------------------------------------


def weights_by_age(n_old: int, n_new: int, sample_weight: Any, age: Any, half_life: Any) -> Any:
    """The weights, of old rows and then of new ones, halved for every `half_life` of the age of a row.

    Without ages, old rows have the age 1 and new ones 0.
    """
    if half_life is None:
        if age is not None:
            raise ParameterError(
                "age says how old rows are, and half_life after which age they count half: give both."
            )
        return sample_weight
    if not isinstance(half_life, Real) or isinstance(half_life, bool) or not 0 < float(half_life) < np.inf:
        raise ParameterError(f"half_life={half_life!r} is out of range: it must be a number above 0.")
    if age is None and not n_old:
        raise ParameterError(
            "half_life needs to know how old rows are: give age=, one number per row, or X_old and y_old."
        )
    ages = np.repeat([1.0, 0.0], [n_old, n_new]) if age is None else _ages(age, n_old + n_new)
    # Against the youngest row, so that very old ones are not all without weight.
    factor = np.exp2(-(ages - ages.min()) / float(half_life))
    weight = read_weight(sample_weight, n_old + n_new)
    return factor if weight is None else weight * factor


def _ages(age: Any, n_rows: int) -> FloatArray:
    try:
        ages = np.asarray(age, np.float64).ravel()
    except (TypeError, ValueError):
        raise DataError("age must be numbers, such as years, and some are not.") from None
    if np.asarray(age).dtype.kind == "M":
        raise DataError("age is dates: give how long ago each row was, as a number.")
    if len(ages) != n_rows:
        raise DataError(f"age has {len(ages)} values, and there are {n_rows} rows: give one per row.")
    if not (np.isfinite(ages).all() and (ages >= 0).all()):
        raise DataError("age must be finite numbers of at least 0, and some are not.")
    return ages
