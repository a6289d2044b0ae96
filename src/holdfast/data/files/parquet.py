"""Parquet files, through whichever library for them is installed."""

import json
import warnings
from importlib.util import find_spec
from io import BytesIO
from typing import Any, BinaryIO

from holdfast.errors import DataError, DataWarning
from holdfast.text.lists import listed

# In the order in which they are tried. pyarrow is first because it alone keeps the order of the categories
# whether pandas or polars has written the file.
LIBRARIES = ("pyarrow", "polars", "pandas")


def read_parquet_frame(file: BinaryIO) -> Any:
    """Read a Parquet file with the first library that is installed."""
    library = find_parquet_library()
    try:
        if library == "pyarrow":
            from pyarrow.parquet import read_table

            return read_table(file)
        if library == "polars":
            import polars

            _warn_of_lost_order(file)
            return polars.read_parquet(file)
        import pandas

        return pandas.read_parquet(file)
    except ImportError as error:  # pandas alone cannot
        raise _none_installed() from error
    except Exception as error:
        raise DataError(f"it is not a valid Parquet file ({_first_line(error)}).") from error


def encode_parquet(columns: dict[str, list[Any]]) -> bytes:
    """Encode columns as a Parquet file; a column of mixed text and numbers becomes text."""
    import narwhals as nw

    frame = nw.from_dict(
        {name: _of_one_type(values) for name, values in columns.items()}, backend=find_parquet_library()
    )
    content = BytesIO()
    try:
        frame.write_parquet(content)
    except ImportError as error:
        raise _none_installed() from error
    return content.getvalue()


def find_parquet_library() -> Any:
    """Name the installed library that reads Parquet; a DataError if there is none."""
    for library in LIBRARIES:
        if find_spec(library) is not None:
            return library
    raise _none_installed()


def _none_installed() -> DataError:
    return DataError(
        "Parquet needs a library that is not installed: pip install 'holdfast[io]'. Or use a CSV file."
    )


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def _warn_of_lost_order(file: BinaryIO) -> None:
    """Warn that polars drops the order of an ordered categorical written by pandas."""
    import polars

    notes = polars.read_parquet_metadata(file).get("pandas", "{}")
    file.seek(0)
    columns = json.loads(notes).get("columns", [])
    ordered = [each["name"] for each in columns if (each.get("metadata") or {}).get("ordered")]
    if ordered:
        warnings.warn(
            f"polars does not keep the order of the categories in {listed(ordered)}: they are read as plain "
            "categories. Install pyarrow to keep it.",
            DataWarning,
            stacklevel=5,
        )


def _of_one_type(values: list[Any]) -> list[Any]:
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) < 2 or kinds == {int, float}:
        return values
    return [None if value is None else str(value) for value in values]
