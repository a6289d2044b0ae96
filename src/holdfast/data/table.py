"""The table that trees are grown on, made from numpy arrays, pandas, polars or Arrow frames."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, KeyArray, LongArray, freeze
from holdfast._text import RowLabels, quoted
from holdfast.data.columns import Reading, choose_readings, read_column
from holdfast.data.custom_features import (
    check_same_custom_features,
    evaluate_custom_features,
    make_custom_features,
    read_custom_features,
)
from holdfast.data.encode import (
    match_features,
    match_labels,
    name_columns,
    spread_rows,
    warn_unknown_categories,
)
from holdfast.data.frame import Frame, make_frame, subset_vector
from holdfast.data.schema import Feature, Schema, SchemaDifferences, Target
from holdfast.data.survival import SurvivalTimes, find_leaks, make_risk_target, read_survival
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
    scale_weight,
)
from holdfast.data.target_columns import choose_target_columns
from holdfast.errors import DataWarning
from holdfast.parallel.clusters import Shared

if TYPE_CHECKING:
    from holdfast.data.binning import CodeBuffers
    from holdfast.kernels.growth.histogram import Coded
    from holdfast.kernels.growth.random_splits import RankValues


@dataclass(frozen=True, eq=False)
class Table(Shared):
    """Immutable training data: one column per feature, a target and weights.

    Make one with `from_arrays` or `from_frame`. Float64 columns are views of the original data, not copies.
    Rows of weight 0 keep their place but define nothing: ranges, categories and classes come from the rows of
    positive weight, and values outside of them count as missing.

    Parameters
    ----------
    schema : Schema
        The features, custom ones last, and the target.
    columns : tuple of array
        One per feature: numbers, or indices of categories; NaN where missing.
    target : array
        The index of each row's class (int32), or numbers (float64).
    weight : array, optional
        The weight of each row. Default: 1.
    identity : array, optional
        The key of each row for random draws. Default: a hash of its values.
    survival : SurvivalTimes, optional
        Times and events, if the target is a time to an event. The target of a row is then its event divided
        by the number of events expected for it.

    Examples
    --------
    >>> table = Table.from_arrays([[41.0, "f"], [63.0, "m"], [58.0, "f"]], ["lived", "died", "lived"])
    >>> table.n_rows, table.schema.names, table.schema.target.classes
    (3, ('x0', 'x1'), ('died', 'lived'))
    """

    schema: Schema
    columns: tuple[FloatArray, ...]
    target: NDArray[Any]
    weight: FloatArray | None = None
    identity: KeyArray | None = None
    survival: SurvivalTimes | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(map(_read_only, self.columns)))
        object.__setattr__(self, "target", _read_only(self.target))
        if self.weight is not None:
            check_weight_sum(self.weight)
            object.__setattr__(self, "weight", _read_only(self.weight))
        if self.identity is not None:
            object.__setattr__(self, "identity", _read_only(self.identity))
        if self.survival is not None:
            object.__setattr__(self, "survival", _freeze_all(self.survival))
        target = self.schema.target
        if target.positive is None and len(target.classes) == 2:
            # Chosen once, from all rows, and kept by samples of the table and trees grown on it.
            counts = np.bincount(self.target, _count_repeats(self.weight), 2)
            target = target.with_rarer_positive(counts.tolist())
            object.__setattr__(self, "schema", replace(self.schema, target=target))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Unpickled arrays are writeable, and kernels would be compiled a second time for them.
        for name, entry in state.items():
            object.__setattr__(self, name, _freeze_all(entry))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.target)

    @cached_property
    def known_keys(self) -> KeyArray | None:
        """Stored keys of the rows; None if they are computed from the rows."""
        return None

    @property
    def n_features(self) -> int:
        """Number of features, custom ones included."""
        return len(self.columns)

    @cached_property
    def coded(self) -> "Coded":
        """Columns in name order as small integers; computed once, shared by all trees."""
        return self.code()

    def code(self, n_jobs: int | None = None, buffers: "CodeBuffers | None" = None) -> "Coded":
        """Return `coded`, computed by this many threads; call it before trees grow in threads.

        Codes and ranks are written to the buffers, if given.

        >>> Table.from_arrays([[20.0], [30.0], [30.0]], ["no", "yes", "yes"]).code(n_jobs=2).ranks
        array([[0, 1, 1]], dtype=int32)
        """
        from holdfast.data.binning import code_columns

        if "coded" not in self.__dict__:
            columns, repeats = self._columns_by_name(), _count_repeats(self.weight)
            self.__dict__["coded"] = code_columns(*columns, repeats, n_jobs=n_jobs, buffers=buffers)
        return self.coded

    @cached_property
    def coded_custom_features(self) -> "Coded":
        """Custom features in name order as small integers; there must be one."""
        from holdfast.data.binning import code_columns

        return code_columns(*self._columns_by_name(len(self.schema.columns)))

    @cached_property
    def rank_values(self) -> "RankValues":
        """Values that the ranks of the coded columns stand for, for splits drawn at random."""
        from holdfast.data.binning import list_rank_values

        return list_rank_values(*self._columns_by_name(), self.coded)

    @cached_property
    def custom_feature_values(self) -> "RankValues":
        """Values that the ranks of the custom features stand for."""
        from holdfast.data.binning import list_rank_values

        return list_rank_values(*self._columns_by_name(len(self.schema.columns)), self.coded_custom_features)

    def _columns_by_name(self, first: int = 0) -> tuple[list[Feature], list[FloatArray]]:
        """Return features and columns in name order; custom features come last."""
        order = self.schema.name_order[first:]
        return [self.schema.features[i] for i in order], [self.columns[i] for i in order]

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
        hazard: str = "nelson-aalen",
        horizon: float | None = None,
        time_unit: str | None = None,
    ) -> "Table":
        """Make a table of features X and a target y.

        Parameters
        ----------
        X : 2-D array, list of rows or data frame
            Columns of text, categoricals and True/False are nominal features.
        y : array-like
            The target.
        sample_weight : array-like or float, optional
            The weight of each row.
        task : {"classification", "regression", "survival"}, optional
            Default: regression if y has fractions or more than 20 numbers. With "survival" y has times and
            events, see `read_survival`.
        categorical_features : "from_dtype", None or list
            Further nominal features: names, indices, or one flag per column. None reads all columns as
            numbers.
        custom_features : list of str
            True/false features computed from the columns, such as `"bmi ** 2 > 900"`.
        schema : Schema, optional
            Read the data on this schema: columns of a frame are matched by name, categories and classes by
            value, and anything new is a SchemaMismatch.
        target : str
            Name of the target.
        positive : optional
            The class whose probability drawings and rules show. Default: that of the schema, or the rarer of
            two. Trees and updates keep it.
        handle_unknown : {"error", "missing"}
            Whether categories that the schema does not have are errors, or missing values with a warning.
        hazard, horizon
            Of times to an event, see `estimate_hazard`.
        time_unit : str, optional
            Unit of the times, such as "days", for display.

        Returns
        -------
        Table

        Examples
        --------
        >>> table = Table.from_arrays([[41.0, "f"], [63.0, "m"]], ["lived", "died"])
        >>> table.schema.features[1].categories, table.target
        (('f', 'm'), array([1, 0], dtype=int32))
        """
        check_task(task)
        custom_features = read_custom_features(custom_features)
        frame = make_frame(X)
        weight = read_weight(sample_weight, frame.n_rows, frame.rows)
        weighted = find_weighted_rows(weight)
        known = None if schema is None else schema.target.hazard
        survival = None
        if task == "survival" or known is not None:
            y, weight = read_survival(y, frame.n_rows), scale_weight(weight)
            vector, defined, survival = make_risk_target(y, weight, known, hazard, horizon, time_unit)
            target, task = defined.name, "regression"
        else:
            vector = read_vector(y, frame.n_rows)
        if schema is not None:
            columns, values = _match_columns(schema, frame, vector, task, weighted, handle_unknown)
            check_same_custom_features(custom_features, schema)
        else:
            readings = choose_readings(categorical_features, frame.names)
            features, columns = _define_columns(frame, readings, custom_features, weighted)
            if survival is None:
                values, defined = define_weighted_target(vector, target, task, weighted, frame.rows)
            else:
                values = vector
            schema = Schema(features, defined)
        if positive is not None:
            schema = replace(schema, target=schema.target.with_positive(positive))
        table = cls(schema, columns, values, weight, survival=survival)
        warn_uninformative_data(table)
        if known is None and survival is not None and (leaks := find_leaks(schema.names, columns, survival)):
            warnings.warn(
                f"{quoted(leaks)} tells which rows have the event, or when. What becomes known only at the "
                "end is no feature: leave it out.",
                DataWarning,
                stacklevel=3,
            )
        return table

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        target: str | None = None,
        *,
        time: str | None = None,
        event: str | None = None,
        entry: str | None = None,
        sample_weight: Any = None,
        task: Task | None = None,
        categorical_features: Any = "from_dtype",
        custom_features: Sequence[str] = (),
        schema: Schema | None = None,
        positive: Any = None,
        hazard: str = "nelson-aalen",
        horizon: float | None = None,
        time_unit: str | None = None,
    ) -> "Table":
        """Make a table of a data frame that has the target as a column.

        Parameters
        ----------
        frame : data frame
            Of pandas, polars or pyarrow.
        target : str, optional
            Name of the target. Default: that of the schema, or "outcome".
        time, event, entry : str, optional
            Instead of a target: names of the columns of times to an event. The event is a column of 0 and 1,
            or of yes and no, or "status=dead". Before its entry, by default 0, a row is not observed.
        sample_weight : str or array-like, optional
            A column of weights, or one number per row.
        task, categorical_features, custom_features, schema, positive
            As in `from_arrays`.

        hazard, horizon, time_unit
            Of times to an event, as in `from_arrays`.

        Returns
        -------
        Table

        Examples
        --------
        >>> import pandas
        >>> frame = pandas.DataFrame({"age": [41, 63], "outcome": ["lived", "died"]})
        >>> Table.from_frame(frame).schema.names
        ('age',)
        """
        whole = make_frame(frame)
        if whole.matrix is not None:
            raise TypeError(
                "from_frame needs a frame with named columns: use Table.from_arrays(X, y) for an array."
            )
        targets = choose_target_columns(target, time, event, entry, schema.target if schema else None)
        whole = targets.read_event(whole)
        y, dropped = targets.read(whole), targets.names
        if isinstance(sample_weight, str):
            dropped.append(sample_weight)
            sample_weight = whole.column(sample_weight)
        return cls.from_arrays(
            whole.without(dropped),
            y,
            sample_weight,
            task="survival" if targets.is_survival else task,
            categorical_features=categorical_features,
            custom_features=custom_features,
            schema=schema,
            target=targets.name,
            positive=positive,
            hazard=hazard,
            horizon=horizon,
            time_unit=time_unit,
        )

    def subset(self, rows: NDArray[Any] | slice) -> "Table":
        """Select rows by a mask, row numbers or a slice; the schema stays.

        Examples
        --------
        >>> table = Table.from_arrays([[41.0], [63.0], [58.0]], ["lived", "died", "lived"])
        >>> table.subset(np.array([2, 0])).columns[0]
        array([58., 41.])
        """
        if isinstance(rows, np.ndarray) and rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)  # once, not for every column
        weight = None if self.weight is None else self.weight[rows]
        identity = None if self.identity is None else self.identity[rows]
        columns = tuple(column[rows] for column in self.columns)
        survival = None if self.survival is None else self.survival.subset(rows)
        return Table(self.schema, columns, self.target[rows], weight, identity, survival)

    def reorder(self, order: NDArray[Any], weight: FloatArray | None = None) -> "Table":
        """Reorder the rows and, if they are there, the codes.

        Of copies of a row the order may contain only one, given the weight of all.
        """
        table = self.subset(order)
        table = table if weight is None else replace(table, weight=weight)
        if "coded" in self.__dict__:
            codes, ranks = _reordered(self.coded.codes, order), _reordered(self.coded.ranks, order)
            table.__dict__["coded"] = self.coded._replace(codes=codes, ranks=ranks)
        return table

    def rows(self, features: Sequence[int]) -> FloatArray:
        """Return these features as the columns of a C-contiguous matrix."""
        matrix = np.empty((self.n_rows, len(features)))
        for position, feature in enumerate(features):
            matrix[:, position] = self.columns[feature]
        return matrix


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _reordered(lines: NDArray[Any], order: NDArray[Any]) -> NDArray[Any]:
    """Reorder each line; numpy takes four times as long for all at once."""
    moved = np.empty((len(lines), len(order)), lines.dtype)
    for line, to in zip(lines, moved, strict=True):
        to[:] = line[order]
    return freeze(moved)


def _count_repeats(weight: FloatArray | None) -> LongArray | None:
    """Return integer weights as row counts, other positive weights as 1; None without weights."""
    if weight is None:
        return None
    return (weight if are_repetitions(weight) else weight > 0).astype(np.int64)


def _freeze_all(entry: Any) -> Any:
    """Make an array, or a tuple of them, read-only and contiguous."""
    if isinstance(entry, np.ndarray):
        return freeze(entry)
    if isinstance(entry, tuple):
        parts = [_freeze_all(part) for part in entry]
        return type(entry)(*parts) if hasattr(entry, "_fields") else tuple(parts)
    return entry


# -- warnings ------------------------------------------------------------------------------------------------


def warn_uninformative_data(table: Table) -> None:
    """Warn about a single class and about constant columns."""
    weighted = find_weighted_rows(table.weight)
    table = table if weighted is None else table.subset(weighted)
    classes = table.schema.target.classes
    if classes and (table.target == table.target[0]).all():
        only = classes[table.target[0]]
        warnings.warn(
            f"the target has one class, {only!r}, so that the tree will be a single leaf.",
            DataWarning,
            stacklevel=3,
        )
    pairs = zip(table.schema.names, table.columns, strict=True)
    constant = [name for name, values in pairs if _is_constant(values)]
    if constant and table.n_rows > 1:
        warnings.warn(
            f"no tree can split on columns with a single value, or without any: {quoted(constant)}.",
            DataWarning,
            stacklevel=3,
        )


def _is_constant(values: FloatArray) -> bool:
    """Return True if the column has a single value, or only missing ones."""
    first = values[0]
    # Most columns differ within the first rows; only the others are read in full.
    return all(
        np.isnan(part).all() if np.isnan(first) else (part == first).all() for part in (values[:100], values)
    )


# -- All columns of a frame, and the custom features ---------------------------------------------------------


def _define_columns(
    frame: Frame, readings: Sequence[Reading], custom_features: Sequence[str], weighted: BoolArray | None
) -> tuple[tuple[Feature, ...], tuple[FloatArray, ...]]:
    """Define features from rows of positive weight, and read all rows, custom features last."""
    columns = [
        define_weighted_column(raw, name, reading, weighted, frame.rows)
        for raw, name, reading in zip(frame.columns, frame.names, readings, strict=True)
    ]
    features, values = tuple(feature for feature, _ in columns), tuple(values for _, values in columns)
    custom = make_custom_features(custom_features, frame.names)
    return features + custom, (*values, *evaluate_custom_features(custom_features, features, values))


def _match_columns(
    schema: Schema,
    frame: Frame,
    vector: Any,
    task: Task | None,
    weighted: BoolArray | None,
    handle_unknown: str = "error",
) -> tuple[tuple[FloatArray, ...], NDArray[Any]]:
    """Encode columns and target on the schema; a SchemaMismatch lists all differences."""
    frame = name_columns(schema, frame)
    differences = SchemaDifferences.compare_names((feature.name for feature in schema.columns), frame.names)
    present = [feature for feature in schema.columns if feature.name not in differences.missing]
    columns, unseen = match_features(frame, present, differences, handle_unknown, weighted)
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # already given for all rows
        own = read_column(subset_vector(raw, weighted), what, reading)
    if own.kind == column.kind == "numeric":
        return own.feature(name), column.values
    if "numeric" in (own.kind, column.kind):  # text that only rows of weight 0 hold
        return own.feature(name), spread_rows(own.values, weighted)
    return own.feature(name), match_labels(column, own.kind, own.labels).values


def define_weighted_target(
    vector: Any, name: str, task: Task | None, weighted: BoolArray | None, rows: RowLabels | None = None
) -> tuple[NDArray[Any], Target]:
    """Define the target from weighted rows, and read the values of all rows.

    A class that no weighted row has is encoded as the first class.
    """
    values, whole = define_target(vector, name, task, rows)
    if weighted is None:
        return values, whole
    _, target = define_target(subset_vector(vector, weighted), name, task, rows and rows.subset(weighted))
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
    differences_of_all = SchemaDifferences()
    values = match_target(vector, target, task, differences_of_all, rows)
    if differences_of_all.classes or differences_of_all.kinds:
        weighted_rows = rows and rows.subset(weighted)
        own = match_target(subset_vector(vector, weighted), target, task, differences, weighted_rows)
        values = np.zeros(len(weighted), own.dtype)
        values[weighted] = own
    return values
