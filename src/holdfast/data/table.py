"""Rows ready for growing: what numpy, pandas, polars or Arrow hold becomes one table."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, KeyArray, LongArray, frozen
from holdfast._text import RowLabels, quoted
from holdfast.data.columns import Column, Reading, choose_readings, read_column
from holdfast.data.custom_features import (
    check_same_custom_features,
    evaluate_custom_features,
    make_custom_features,
    read_custom_features,
)
from holdfast.data.encode import (
    ColumnMatch,
    match_column,
    match_labels,
    name_columns,
    warn_unknown_categories,
)
from holdfast.data.frame import Frame, make_frame, subset_vector
from holdfast.data.schema import Feature, Label, Schema, SchemaDifferences, Target
from holdfast.data.target import (
    Task,
    are_repetitions,
    check_task,
    check_weight_sum,
    define_target,
    find_weighted_rows,
    match_target,
    read_vector,
    read_weight,
)
from holdfast.errors import DataWarning
from holdfast.parallel.clusters import Shared

if TYPE_CHECKING:
    from holdfast.data.binning import CodeBuffers
    from holdfast.kernels.growth.histogram import Coded
    from holdfast.kernels.growth.random_splits import RankValues


@dataclass(frozen=True, eq=False)
class Table(Shared):
    """Rows ready for growing: one column per feature, a target, weights.

    Nothing in it can be written to, and float64 columns of a numpy array, a frame or an Arrow table are
    views of it, not copies. A row of weight 0 keeps its place and is otherwise no row: ranges, categories and
    classes come from the rows of positive weight, and what such a row holds beyond them counts as missing.
    """

    schema: Schema
    columns: tuple[FloatArray, ...]  # one per feature: numbers, or indices of categories; NaN where missing
    target: NDArray[Any]  # int32 index of the class, or float64
    weight: FloatArray | None = None  # None: every row counts once
    identity: KeyArray | None = None  # keys from elsewhere, such as a teacher's rows; None: what a row says

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(map(_read_only, self.columns)))
        object.__setattr__(self, "target", _read_only(self.target))
        if self.weight is not None:
            check_weight_sum(self.weight)
            object.__setattr__(self, "weight", _read_only(self.weight))
        if self.identity is not None:
            object.__setattr__(self, "identity", _read_only(self.identity))
        target = self.schema.target
        if target.positive is None and len(target.classes) == 2:
            # Once, by all the rows: samples of the table, and trees grown on it, do not choose again.
            target = target.with_rarer_positive(np.bincount(self.target, _repeats(self.weight), 2).tolist())
            object.__setattr__(self, "schema", replace(self.schema, target=target))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Arrays that travelled to another process can be written to, and kernels would compile once more.
        for name, entry in state.items():
            object.__setattr__(self, name, _frozen_all(entry))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.target)

    @cached_property
    def known_keys(self) -> KeyArray | None:
        """Keys of the rows if made with the table; None if they follow from the rows."""
        return None

    @property
    def n_features(self) -> int:
        """Number of features, custom ones included."""
        return len(self.columns)

    @cached_property
    def coded(self) -> "Coded":
        """Columns by name as small integers; computed once, shared by all trees."""
        return self._coded_in(None, None)

    def code(self, n_jobs: int | None = None, room: "CodeBuffers | None" = None) -> "Coded":
        """Return `coded`, computed with this many threads; call it before trees grow in threads.

        With a `room`, its large arrays are written there.

        >>> Table.from_arrays([[20.0], [30.0], [30.0]], ["no", "yes", "yes"]).code(n_jobs=2).ranks
        array([[0, 1, 1]], dtype=int32)
        """
        if "coded" not in self.__dict__:
            self.__dict__["coded"] = self._coded_in(room, n_jobs)
        return self.coded

    def _coded_in(self, room: "CodeBuffers | None", n_jobs: int | None) -> "Coded":
        from holdfast.data.binning import code_columns

        repeats = _repeats(self.weight)
        order, features = self.schema.name_order, self.schema.features
        columns = [self.columns[i] for i in order]
        return code_columns([features[i] for i in order], columns, repeats, n_jobs=n_jobs, room=room)

    @cached_property
    def coded_custom_features(self) -> "Coded":
        """Custom features by name as small integers; there must be one."""
        from holdfast.data.binning import code_columns

        order = self.schema.name_order[len(self.schema.columns) :]
        return code_columns([self.schema.features[i] for i in order], [self.columns[i] for i in order])

    @cached_property
    def rank_values(self) -> "RankValues":
        """Values that the ranks of the coded columns stand for, for splits drawn at random."""
        from holdfast.data.binning import list_rank_values

        order, features = self.schema.name_order, self.schema.features
        return list_rank_values([features[i] for i in order], [self.columns[i] for i in order], self.coded)

    @cached_property
    def custom_feature_values(self) -> "RankValues":
        """Values that the ranks of the custom features stand for."""
        from holdfast.data.binning import list_rank_values

        order, features = self.schema.name_order[len(self.schema.columns) :], self.schema.features
        coded = self.coded_custom_features
        return list_rank_values([features[i] for i in order], [self.columns[i] for i in order], coded)

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        task: Task | None = None,
        categorical_features: Any = "from_dtype",
        custom_features: Sequence[str] = (),
        schema: Schema | None = None,
        target: str = "y",
        positive: Any = None,
        handle_unknown: str = "error",
    ) -> "Table":
        """Make a table of a 2-D array, list of rows or frame X and a target y.

        Text, categoricals and True/False become nominal features by themselves; `categorical_features` names
        further ones: names, indices, or one flag per column. `task` None takes numbers with fractions, or
        with more than 20 values, for regression. With a `schema` the data is read on it: columns of a
        frame are matched by name, categories and classes by value, and anything new is a SchemaMismatch;
        with `handle_unknown="missing"` new categories count as missing values, with a warning. `positive` is
        the class that matters, whose probability drawings and rules show; by default the one of the schema,
        or the rarer of two in these rows. Trees and updates keep it.

        >>> table = Table.from_arrays([[41.0, "f"], [63.0, "m"]], ["lived", "died"])
        >>> table.schema.features[1].categories, table.target
        (('f', 'm'), array([1, 0], dtype=int32))
        """
        check_task(task)
        custom_features = read_custom_features(custom_features)
        frame = make_frame(X)
        vector = read_vector(y, frame.n_rows)
        weight = read_weight(sample_weight, frame.n_rows, frame.rows)
        weighted = find_weighted_rows(weight)
        if schema is not None:
            columns, values = match_columns(schema, frame, vector, task, weighted, handle_unknown)
            check_same_custom_features(custom_features, schema)
        else:
            how = choose_readings(categorical_features, frame.names)
            features, columns = define_columns(frame, how, custom_features, weighted)
            values, defined = define_weighted_target(vector, target, task, weighted, frame.rows)
            schema = Schema(features, defined)
        if positive is not None:
            schema = replace(schema, target=schema.target.with_positive(positive))
        table = cls(schema, columns, values, weight)
        warn_uninformative_data(table)
        return table

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        target: str | None = None,
        *,
        sample_weight: Any = None,
        task: Task | None = None,
        categorical_features: Any = "from_dtype",
        custom_features: Sequence[str] = (),
        schema: Schema | None = None,
        positive: Any = None,
    ) -> "Table":
        """Make a table of a frame with the target, and perhaps the weights, as columns.

        `target` defaults to the target of the schema, or else to "outcome"; `sample_weight` is the name of a
        column, or one number per row. All the rest is as in `from_arrays`.
        """
        whole = make_frame(frame)
        if whole.matrix is not None:
            raise TypeError(
                "from_frame needs a frame with named columns: use Table.from_arrays(X, y) for an array."
            )
        target = target or (schema.target.name if schema else "outcome")
        y = whole.column(target)
        aside = [target]
        if isinstance(sample_weight, str):
            aside.append(sample_weight)
            sample_weight = whole.column(sample_weight)
        return cls.from_arrays(
            whole.without(aside),
            y,
            sample_weight,
            task=task,
            categorical_features=categorical_features,
            custom_features=custom_features,
            schema=schema,
            target=target,
            positive=positive,
        )

    def subset(self, rows: NDArray[Any] | slice) -> "Table":
        """Select rows by flags, numbers or a slice, on the same schema."""
        if isinstance(rows, np.ndarray) and rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)  # once, and not for every column
        weight = None if self.weight is None else self.weight[rows]
        identity = None if self.identity is None else self.identity[rows]
        columns = tuple(column[rows] for column in self.columns)
        return Table(self.schema, columns, self.target[rows], weight, identity)

    def reordered(self, order: NDArray[Any], weight: FloatArray | None = None) -> "Table":
        """Return the same rows in another order; codes are reordered, not recomputed.

        Of copies of a row the order may name one, which then has the weight of all of them.
        """
        table = self.subset(order)
        table = table if weight is None else replace(table, weight=weight)
        if "coded" in self.__dict__:
            codes, ranks = _reordered(self.coded.codes, order), _reordered(self.coded.ranks, order)
            table.__dict__["coded"] = self.coded._replace(codes=codes, ranks=ranks)
        return table

    def rows(self, features: Sequence[int]) -> FloatArray:
        """Return a C-contiguous matrix with one column for each of these features."""
        matrix = np.empty((self.n_rows, len(features)))
        for position, feature in enumerate(features):
            matrix[:, position] = self.columns[feature]
        return matrix


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _reordered(lines: NDArray[Any], order: NDArray[Any]) -> NDArray[Any]:
    """Reorder lines one by one, since numpy takes four times as long for all at once."""
    moved = np.empty((len(lines), len(order)), lines.dtype)
    for line, to in zip(lines, moved, strict=True):
        to[:] = line[order]
    return frozen(moved)


def _repeats(weight: FloatArray | None) -> LongArray | None:
    """Return row counts if weights are whole, else None: other weights are importances."""
    if weight is None:
        return None
    return (weight if are_repetitions(weight) else weight > 0).astype(np.int64)


def _frozen_all(entry: Any) -> Any:
    """Make an array, or a tuple of them, read-only and contiguous."""
    if isinstance(entry, np.ndarray):
        return frozen(entry)
    if isinstance(entry, tuple):
        parts = [_frozen_all(part) for part in entry]
        return type(entry)(*parts) if hasattr(entry, "_fields") else tuple(parts)
    return entry


# -- warnings ---------------------------------------------------------------------------------------------


def warn_uninformative_data(table: Table) -> None:
    """Warn about a single class and about constant columns."""
    weighted = find_weighted_rows(table.weight)
    rows = table if weighted is None else table.subset(weighted)
    _warn_of_one_class(rows)
    _warn_of_constant_columns(rows)


def _warn_of_one_class(table: Table) -> None:
    classes = table.schema.target.classes
    if classes and (table.target == table.target[0]).all():
        only = classes[table.target[0]]
        warnings.warn(
            f"the target has one class, {only!r}, so that the tree will be a single leaf.",
            DataWarning,
            stacklevel=4,
        )


def _warn_of_constant_columns(table: Table) -> None:
    if table.n_rows == 1:  # where every column is constant
        return
    constant = [
        name for name, values in zip(table.schema.names, table.columns, strict=True) if _is_constant(values)
    ]
    if constant:
        warnings.warn(
            f"no tree can split on columns with a single value, or without any: {quoted(constant)}.",
            DataWarning,
            stacklevel=4,
        )


def _is_constant(values: FloatArray) -> bool:
    """Return True if the column has one value, or none, in all rows."""
    first = values[0]
    # The first rows clear almost every column; the others are read in full.
    return all(
        np.isnan(part).all() if np.isnan(first) else (part == first).all() for part in (values[:100], values)
    )


# -- All columns of a frame, and the custom features ---------------------------------------------------------


def define_columns(
    frame: Frame, how: Sequence[Reading], custom_features: Sequence[str], weighted: BoolArray | None
) -> tuple[tuple[Feature, ...], tuple[FloatArray, ...]]:
    """Define features from rows of positive weight, and read all rows, custom features last."""
    columns = [
        define_weighted_column(raw, name, reading, weighted, frame.rows)
        for raw, name, reading in zip(frame.columns, frame.names, how, strict=True)
    ]
    features, values = tuple(feature for feature, _ in columns), tuple(values for _, values in columns)
    custom = make_custom_features(custom_features, frame.names)
    return features + custom, (*values, *evaluate_custom_features(custom_features, features, values))


def match_columns(
    schema: Schema,
    frame: Frame,
    vector: Any,
    task: Task | None,
    weighted: BoolArray | None,
    handle_unknown: str = "error",
) -> tuple[tuple[FloatArray, ...], NDArray[Any]]:
    """Encode columns and target by the schema; a SchemaMismatch lists all that does not fit.

    With `handle_unknown="missing"` categories that the schema does not hold count as missing, with a warning.
    """
    frame = name_columns(schema, frame)
    differences = SchemaDifferences.compare_names((feature.name for feature in schema.columns), frame.names)
    columns = []
    unseen: dict[str, dict[Label, int]] = {}
    for feature in schema.columns:
        if feature.name in differences.missing:
            continue
        match = match_weighted_column(frame.column(feature.name), feature, weighted, frame.rows)
        columns.append(match.values)
        if match.clash:
            differences.kinds[feature.name] = match.clash
        elif match.unknown:
            unseen[feature.name] = match.unknown
    if handle_unknown == "error":
        differences.categories = {name: list(counts) for name, counts in unseen.items()}
    values = match_weighted_target(vector, schema.target, task, weighted, differences, frame.rows)
    differences.raise_if_any()
    warn_unknown_categories(unseen, " allow_new_values=True takes them in.")
    return (*columns, *evaluate_custom_features(schema.custom_features, schema.columns, columns)), values


# -- Rows of weight 0 ----------------------------------------------------------------------------------------


def define_weighted_column(
    raw: Any, name: str, reading: Reading, weighted: BoolArray | None, rows: RowLabels | None = None
) -> tuple[Feature, FloatArray]:
    """Define the feature from weighted rows, and read the values of all rows."""
    what = f"column {name!r}"
    column = read_column(raw, what, reading, rows)
    if weighted is None:
        return column.feature(name), column.values
    own = _read_part(raw, what, reading, weighted)
    if own.kind == column.kind == "numeric":
        return own.feature(name), column.values
    if "numeric" in (own.kind, column.kind):  # text that only rows of weight 0 hold
        return own.feature(name), _spread(own.values, weighted)
    return own.feature(name), match_labels(column, own.kind, own.labels).values


def match_weighted_column(
    raw: Any, feature: Feature, weighted: BoolArray | None, rows: RowLabels | None = None
) -> ColumnMatch:
    """Encode a column; only mismatches of weighted rows count."""
    what = f"column {feature.name!r}"
    match = match_column(raw, feature, what, rows)
    if weighted is None or not (match.unknown or match.clash):
        return match
    own = match_column(subset_vector(raw, weighted), feature, what, _taken(rows, weighted))
    if own.clash:
        return ColumnMatch(match.values, clash=match.clash or own.clash)
    return ColumnMatch(_spread(own.values, weighted) if match.clash else match.values, own.unknown)


def define_weighted_target(
    vector: Any, name: str, task: Task | None, weighted: BoolArray | None, rows: RowLabels | None = None
) -> tuple[NDArray[Any], Target]:
    """Define the target from weighted rows, and read the values of all rows.

    A class that no weighted row has stands as the first one.
    """
    values, whole = define_target(vector, name, task, rows)
    if weighted is None:
        return values, whole
    _, target = define_target(subset_vector(vector, weighted), name, task, _taken(rows, weighted))
    if whole.is_classes != target.is_classes:
        kind: Task = "classification" if target.is_classes else "regression"
        values, whole = define_target(vector, name, kind, rows)
    if not target.is_classes:
        return values, target
    position = {label: index for index, label in enumerate(target.classes)}
    recoded = np.array([position.get(label, 0) for label in whole.classes], np.int32)
    return recoded[values], target


def match_weighted_target(
    vector: Any,
    target: Target,
    task: Task | None,
    weighted: BoolArray | None,
    differences: SchemaDifferences,
    rows: RowLabels | None = None,
) -> NDArray[Any]:
    """Encode the target; only mismatches of weighted rows are added to the differences."""
    if weighted is None:
        return match_target(vector, target, task, differences, rows)
    of_all = SchemaDifferences()
    values = match_target(vector, target, task, of_all, rows)
    if of_all.classes or of_all.kinds:
        own = match_target(subset_vector(vector, weighted), target, task, differences, _taken(rows, weighted))
        values = np.zeros(len(weighted), own.dtype)
        values[weighted] = own
    return values


def _taken(rows: RowLabels | None, flags: BoolArray) -> RowLabels | None:
    return None if rows is None else rows.subset(flags)


def _read_part(raw: Any, what: str, reading: Reading, rows: BoolArray) -> Column:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say was said of all rows
        return read_column(subset_vector(raw, rows), what, reading)


def _spread(values: FloatArray, rows: BoolArray) -> FloatArray:
    every = np.full(len(rows), np.nan)
    every[rows] = values
    return every
