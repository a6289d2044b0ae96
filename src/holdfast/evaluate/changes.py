"""The changes of an audit: each makes pairs of samples, before and after.

To add one, add a function of a resample and its entry in CHANGES.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, LongArray
from holdfast._random import Branch, Stream, make_generator
from holdfast.data.folds import pool_stages, select_below
from holdfast.data.frame import Frame
from holdfast.data.schema import Feature, Schema
from holdfast.evaluate.fit import EvaluationData
from holdfast.evaluate.folds import Resample

SAMPLE = 0.75  # of the pool; two samples share twice that less 1
FEWER = 0.02  # of the rows are left out
MOST_STAGES = 5  # more of them are pooled, neighbours with neighbours
MOST_DECIMALS = 15  # of a float
ONE, TWO, ANOTHER, STAGES = 0, 1, 2, 3  # numbers of the seeds of a repetition


class ChangedColumns(NamedTuple):
    """All rows with changed columns."""

    X: Any  # for training
    X_test: Any  # for prediction
    schema: Schema  # in the order of the columns, on which trees are measured


ColumnChange = Callable[[EvaluationData, Schema], ChangedColumns]


def keep_columns(data: EvaluationData, schema: Schema) -> ChangedColumns:
    """Return the columns unchanged."""
    return ChangedColumns(data.X, data.X, schema)


@dataclass(frozen=True, eq=False)
class TrainingSample:
    """The training rows of a model, and its seed. Samples with the same key are fitted once."""

    key: str
    rows: LongArray  # in the order in which the model gets them
    seed: int
    columns: ColumnChange = keep_columns


class SamplePair(NamedTuple):
    """Two samples that a method is trained on, and the test rows on which the models are compared."""

    change: str
    part: int  # which of several pairs of the resample, as of stages
    before: TrainingSample
    after: TrainingSample
    tested: BoolArray | None = None  # of the test rows; None: all


def make_first_sample(resample: Resample) -> TrainingSample:
    """Make the sample of small changes, which is also the first of the two that overlap."""
    return TrainingSample("one", resample.part(0.0, SAMPLE), resample.model_seed(ONE))


def overlap(resample: Resample) -> list[SamplePair]:
    """Make two samples of three quarters of the pool, which share half of it, with a seed for each."""
    second = TrainingSample("two", resample.part(1 - SAMPLE, 1.0), resample.model_seed(TWO))
    return [SamplePair("overlap", 0, make_first_sample(resample), second)]


def staged(resample: Resample) -> list[SamplePair]:
    """Pair half of the pool with all of it; or, with stages, all up to one stage with all up to the next.

    With stages, models are tested on the stages that the later one has seen.
    """
    stage = resample.data.stage
    if stage is None or stage.max() == 0:
        half = TrainingSample("half", resample.part(0.0, 0.5), resample.model_seed(STAGES))
        return [
            SamplePair(
                "staged", 0, half, TrainingSample("all", resample.pool, resample.model_seed(STAGES + 1))
            )
        ]
    block = pool_stages(stage, MOST_STAGES)
    first = int(block[resample.pool].min())
    samples = {
        last: TrainingSample(
            f"stage {last}",
            resample.pool[block[resample.pool] <= last],
            resample.model_seed(STAGES + last),
        )
        for last in range(first, int(block.max()) + 1)
    }
    tested = block[resample.test]
    return [
        SamplePair("staged", last, samples[last], samples[last + 1], np.asarray(tested <= last + 1, np.bool_))
        for last in range(first, int(block.max()))
    ]


# -- small changes of one sample --------------------------------------------------------------------------


def leave_out_rows(resample: Resample) -> list[SamplePair]:
    """Leave out 2 % of the rows, or of the groups, of the sample."""
    one = make_first_sample(resample)
    left_out = select_below(resample.positions(one.rows, Branch.AUDIT_CHANGES), FEWER)
    kept = one.rows[~left_out] if not left_out.all() else one.rows
    return [SamplePair("fewer rows", 0, one, TrainingSample("fewer", kept, one.seed))]


def change_seed(resample: Resample) -> list[SamplePair]:
    """Fit the same sample with another seed."""
    one = make_first_sample(resample)
    return [
        SamplePair("another seed", 0, one, TrainingSample("seed", one.rows, resample.model_seed(ANOTHER)))
    ]


def _change_columns(
    name: str,
    number: int,
    change: Callable[[Stream, EvaluationData, Schema], ChangedColumns],
    resample: Resample,
) -> list[SamplePair]:
    """Fit the same rows with other columns."""
    one = make_first_sample(resample)
    stream = (resample.seed, Branch.AUDIT_CHANGES, resample.number, number)
    return [SamplePair(name, 0, one, TrainingSample(name, one.rows, one.seed, partial(change, stream)))]


def permute_columns(stream: Stream, data: EvaluationData, schema: Schema) -> ChangedColumns:
    """Permute the columns at random."""
    by_name = np.array(schema.name_order)
    order = by_name[make_generator(*stream).permutation(len(by_name))].tolist()
    X = reorder_columns(data.X, order)
    return ChangedColumns(X, X, Schema(tuple(schema.features[place] for place in order), schema.target))


def add_noise_column(stream: Stream, data: EvaluationData, schema: Schema) -> ChangedColumns:
    """Add a column of normally distributed random numbers."""
    name = "noise"
    while name in schema.names:
        name += "_"
    noise = make_generator(*stream).normal(size=data.n_rows)
    feature = Feature(name, low=float(noise.min()), high=float(noise.max()))
    X = add_column(data.X, name, noise)
    return ChangedColumns(X, X, Schema((*schema.features, feature), schema.target))


def jitter_last_digits(stream: Stream, data: EvaluationData, schema: Schema) -> ChangedColumns:
    """Move every number at random by at most half of the last digit of its column.

    Only in the rows for training. Columns of two values stay unchanged.
    """
    moved = {}
    for rank, place in enumerate(schema.name_order):
        values = data.table.columns[place]
        if schema.features[place].kind == "numeric" and len(np.unique(values[~np.isnan(values)])) > 2:
            shift = make_generator(*stream, rank).uniform(-0.5, 0.5, data.n_rows)
            moved[place] = values + shift * find_last_digit(values)
    return ChangedColumns(replace_columns(data.X, moved), data.X, schema)


def find_last_digit(values: FloatArray) -> float:
    """Find the unit of the last digit of the numbers.

    >>> find_last_digit(np.array([1.5, 2.25, np.nan])), find_last_digit(np.array([30.0, 41.0]))
    (0.01, 1.0)
    """
    known = values[~np.isnan(values)]
    for decimals in range(MOST_DECIMALS):
        if (np.abs(known) < 1e15).all() and (np.round(known, decimals) == known).all():
            return float(f"1e-{decimals}")
    return float(f"1e-{MOST_DECIMALS}")


CHANGES: dict[str, Callable[[Resample], list[SamplePair]]] = {
    "overlap": overlap,
    "staged": staged,
    "fewer rows": leave_out_rows,
    "another seed": change_seed,
    "noise column": partial(_change_columns, "noise column", 1, add_noise_column),
    "columns permuted": partial(_change_columns, "columns permuted", 2, permute_columns),
    "last digit": partial(_change_columns, "last digit", 3, jitter_last_digits),
}


# -- arrays and frames of any library ---------------------------------------------------------------------


def reorder_columns(X: Any, order: list[int]) -> Any:
    """Reorder the columns of X, in its type."""
    if isinstance(X, np.ndarray):
        return X[:, order]
    if isinstance(X, Frame):
        names, columns = (tuple(each[place] for place in order) for each in (X.names, X.columns))
        return Frame(names, columns, X.n_rows, is_named=X.is_named, rows=X.rows)
    import narwhals as nw

    frame = _narwhals(X)
    return frame.select([nw.col(frame.columns[place]) for place in order]).to_native()


def add_column(X: Any, name: str, values: FloatArray) -> Any:
    """Append a column to X, in its type."""
    if isinstance(X, np.ndarray):
        return np.column_stack([X, values])
    if isinstance(X, Frame):
        columns = (*X.columns, values)
        return Frame((*X.names, name), columns, X.n_rows, is_named=X.is_named, rows=X.rows)
    frame = _narwhals(X)
    label: Any = name if all(isinstance(each, str) for each in frame.columns) else len(frame.columns)
    return frame.with_columns(_series(frame, label, values)).to_native()


def replace_columns(X: Any, changed: Mapping[int, FloatArray]) -> Any:
    """Replace the numbers in the columns of X at these places, in its type."""
    if isinstance(X, np.ndarray):
        copy = X.astype(object if X.dtype == object else np.float64)
        for place, values in changed.items():
            copy[:, place] = values
        return copy
    if isinstance(X, Frame):
        columns = [changed.get(place, column) for place, column in enumerate(X.columns)]
        return Frame(X.names, columns, X.n_rows, is_named=X.is_named, rows=X.rows)
    frame = _narwhals(X)
    columns = [_series(frame, frame.columns[place], values) for place, values in changed.items()]
    return frame.with_columns(*columns).to_native() if columns else X


def _narwhals(X: Any) -> Any:
    import narwhals as nw

    return nw.from_native(X, eager_only=True)


def _series(frame: Any, name: Any, values: FloatArray) -> Any:
    """Make a column of numbers in the library of the frame, with its row labels."""
    import narwhals as nw

    series = nw.new_series(name, values, nw.Float64, backend=frame.implementation)
    native = frame.to_native()
    if hasattr(native, "index"):  # of pandas, which matches rows by their labels
        labelled = series.to_native()
        labelled.index = native.index
        return nw.from_native(labelled, series_only=True)
    return series
