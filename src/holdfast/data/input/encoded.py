"""Text and categories as their library holds them: the distinct values, and which of them each row has."""

from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from holdfast.arrays import LongArray


class EncodedColumn(NamedTuple):
    """Distinct values of a column, and the position of each row's value; -1 where missing."""

    codes: LongArray
    values: list[Any]


def encode_series(series: Any) -> EncodedColumn | None:
    """Encode a text or categorical Series; None if its values must be read one by one.

    >>> import narwhals, pandas
    >>> towns = pandas.Series(["Ulm", "Bonn", None, "Ulm"])
    >>> encode_series(narwhals.from_native(towns, series_only=True))
    EncodedColumn(codes=array([ 0,  1, -1,  0]), values=['Ulm', 'Bonn'])
    """
    import narwhals as nw

    dtype = series.dtype  # which takes a while to find out
    if dtype not in (nw.String, nw.Categorical, nw.Enum, nw.Object):
        return None
    if series.implementation.is_pandas():
        return _of_pandas(series.to_native())
    if dtype == nw.Object or not find_spec("pyarrow"):
        return None
    if series.implementation.is_polars():
        return _of_arrow(series.to_native().to_arrow())
    return _of_arrow(series.to_native()) if series.implementation.is_pyarrow() else None


def _of_pandas(series: Any) -> EncodedColumn | None:
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _present(series.cat.codes.to_numpy(), series.cat.categories.tolist())
    is_text = isinstance(dtype, pd.StringDtype)
    if isinstance(dtype, pd.ArrowDtype) or (is_text and dtype.storage != "python"):
        return _of_arrow(series.array.__arrow_array__())
    # Objects of one kind only: 1 and True are equal, and so would be taken for one value.
    if is_text or (series.dtype == object and pd.api.types.infer_dtype(series) == "string"):
        codes, values = pd.factorize(series)
        return EncodedColumn(codes.astype(np.int64, copy=False), values.tolist())
    return None


def _of_arrow(array: Any) -> EncodedColumn:
    import pyarrow as pa

    is_encoded = pa.types.is_dictionary(array.type)
    if not is_encoded:
        array = array.dictionary_encode()
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    codes = array.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    values = array.dictionary.to_pylist()
    return _present(codes, values) if is_encoded else EncodedColumn(codes, values)


def _present(codes: Any, values: list[Any]) -> EncodedColumn:
    """Drop the values that no row has."""
    codes = codes.astype(np.int64)
    is_used = np.bincount(codes + 1, minlength=len(values) + 1)[1:] > 0
    if is_used.all():
        return EncodedColumn(codes, values)
    positions = np.append(np.cumsum(is_used) - 1, -1)  # the last for the missing ones
    return EncodedColumn(
        positions[codes], [value for value, some in zip(values, is_used, strict=True) if some]
    )
