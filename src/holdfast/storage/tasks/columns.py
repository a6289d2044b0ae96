"""The columns of a frame of another library, as arrays and texts that a key can be made of."""

from typing import Any

import numpy as np

_LIBRARIES = ("pandas", "polars", "narwhals", "pyarrow")


def columns_of(value: Any) -> list[Any] | None:
    """Names, types and entries of the columns of a frame, or of a single one; None of anything else."""
    if type(value).__module__.partition(".")[0] not in _LIBRARIES:
        return None
    import narwhals.stable.v1 as narwhals

    own = value if type(value).__module__.startswith("narwhals") else _wrapped(narwhals, value)
    if own is None:
        return None
    if hasattr(own, "columns"):
        return [_index(value), *(part for name in own.columns for part in _series(own[name]))]
    return [_index(value), *_series(own)] if hasattr(own, "to_list") else None


def _wrapped(narwhals: Any, value: Any) -> Any:
    try:
        return narwhals.from_native(value, eager_only=True, allow_series=True)
    except TypeError:
        return None


def _series(series: Any) -> list[Any]:
    native = series.to_native()
    dtype = str(getattr(native, "dtype", getattr(native, "type", series.dtype)))
    entries: Any = series.to_numpy() if series.dtype.is_numeric() and not _has_gaps(series) else None
    if not isinstance(entries, np.ndarray) or entries.dtype.hasobject:
        entries = [None if each is None else each for each in series.to_list()]
    categories = _categories(native)
    return [str(series.name), str(series.dtype), dtype, categories, _plain(entries)]


def _has_gaps(series: Any) -> bool:
    return bool(series.is_null().any())


def _categories(native: Any) -> list[str]:
    """The categories of a column that has them, in their order."""
    known = getattr(getattr(native, "dtype", None), "categories", None)
    return [] if known is None else [repr(each) for each in list(known)]


def _plain(entries: Any) -> Any:
    """Entries of a kind that a key can be made of: dates and the like by their texts."""
    if isinstance(entries, np.ndarray):
        return entries
    simple = (type(None), bool, int, float, str)
    texts = [each if type(each) in simple else f"{type(each).__name__} {each!r}" for each in entries]
    if all(type(each) is str for each in texts):
        return texts
    return [f"{type(each).__name__} {each!r}" for each in texts]


def _index(value: Any) -> list[str]:
    """What a frame of pandas calls its rows."""
    index = getattr(value, "index", None)
    if index is None or callable(index):
        return []
    return [repr(index)] if type(index).__name__ == "RangeIndex" else [repr(each) for each in list(index)]
