"""Some of the rows, in the type in which all were given: a category stays one, a frame of polars too."""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from holdfast.arrays import LongArray
from holdfast.data.input.frame import Frame


def collected(X: Any) -> Any:
    """X itself, or, of a lazy frame or a batch of Arrow's, the frame or table that rows can be taken of."""
    if isinstance(X, np.ndarray | Sequence | Frame):
        return X
    import narwhals as nw

    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and isinstance(X, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([X])
    frame = nw.from_native(X, allow_series=True, pass_through=True)
    return frame.collect().to_native() if isinstance(frame, nw.LazyFrame) else X


def rows_of(X: Any, numbers: LongArray) -> Any:
    """The rows, or entries, of these numbers, in this order."""
    if isinstance(X, Frame):
        return X.subset(numbers)
    if isinstance(X, np.ndarray):
        return X[numbers]
    if isinstance(X, Sequence):
        return [X[number] for number in numbers.tolist()]
    import narwhals as nw

    if isinstance(X, nw.DataFrame | nw.Series):
        return X[numbers]
    frame = nw.from_native(X, allow_series=True, pass_through=True)
    return (
        frame[numbers].to_native() if isinstance(frame, nw.DataFrame | nw.Series) else np.asarray(X)[numbers]
    )
