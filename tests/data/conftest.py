"""The same columns held by every library that the door is open to."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

Columns = dict[str, list[Any]]
STAGE_ORDER = ["II", "I", "IV", "III"]  # the sorted order would prove nothing


def as_pandas(columns: Columns) -> pd.DataFrame:
    stages = {
        name: pd.Categorical(values, categories=STAGE_ORDER, ordered=True)
        for name, values in columns.items()
        if name == "stage"
    }
    return pd.DataFrame({**columns, **stages})


def as_arrow_backed_pandas(columns: Columns) -> pd.DataFrame:
    return as_arrow(columns).to_pandas(types_mapper=pd.ArrowDtype)


def as_nullable_pandas(columns: Columns) -> pd.DataFrame:
    return as_pandas(columns).convert_dtypes()


def as_polars(columns: Columns) -> pl.DataFrame:
    return pl.DataFrame(
        {
            name: pl.Series(values, dtype=pl.Enum(STAGE_ORDER)) if name == "stage" else values
            for name, values in columns.items()
        },
        strict=False,
    )


def as_lazy_polars(columns: Columns) -> pl.LazyFrame:
    return as_polars(columns).lazy()


def as_arrow(columns: Columns) -> pa.Table:
    return pa.table(
        {name: _stages(values) if name == "stage" else pa.array(values) for name, values in columns.items()}
    )


def as_objects(columns: Columns) -> np.ndarray:
    matrix = np.empty((len(next(iter(columns.values()))), len(columns)), dtype=object)
    for index, values in enumerate(columns.values()):
        matrix[:, index] = values
    return matrix


def _stages(values: list[Any]) -> pa.DictionaryArray:
    codes = [None if value is None else STAGE_ORDER.index(value) for value in values]
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(STAGE_ORDER), ordered=True)


FRAMES: dict[str, Callable[[Columns], Any]] = {
    "pandas": as_pandas,
    "nullable pandas": as_nullable_pandas,
    "Arrow-backed pandas": as_arrow_backed_pandas,
    "polars": as_polars,
    "lazy polars": as_lazy_polars,
    "pyarrow": as_arrow,
}


@pytest.fixture(params=FRAMES)
def as_frame(request: pytest.FixtureRequest) -> Callable[[Columns], Any]:
    """A frame of one of the libraries from lists of Python values; `stage` is an ordered categorical."""
    return FRAMES[request.param]


@pytest.fixture
def every_frame() -> list[Callable[[Columns], Any]]:
    """One way per library to make a frame."""
    return list(FRAMES.values())


@pytest.fixture
def objects() -> Callable[[Columns], np.ndarray]:
    """The columns side by side in a numpy array of objects."""
    return as_objects
