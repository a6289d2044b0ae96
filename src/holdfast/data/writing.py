"""Columns as data files, CSV or Parquet."""

import csv
import gzip
import os
from collections.abc import Mapping, Sequence
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.data.filetype import is_parquet, is_zipped
from holdfast.errors import DataError
from holdfast.files import replace_file


def write_file(columns: Mapping[str, Sequence[Any]], path: str | os.PathLike[str]) -> None:
    """Write the columns as CSV or Parquet, as the name of the file says, all or nothing.

    The separator is a tab for .tsv and a comma else. None and NaN become empty cells in CSV and nulls in
    Parquet; a column of text and numbers mixed is text there.
    """
    target = Path(path)
    parquet = is_parquet(target)  # which refuses a name that ends otherwise, before any work
    lists = {name: _plain(values) for name, values in columns.items()}
    _check_lengths(lists)
    if parquet:
        from holdfast.data.parquet import parquet_bytes

        replace_file(target, parquet_bytes(lists))
        return
    data = _csv_text(lists, "\t" if ".tsv" in target.name.lower() else ",").encode()
    replace_file(target, gzip.compress(data, mtime=0) if is_zipped(target) else data)


def _plain(values: Sequence[Any]) -> list[Any]:
    """The values as Python has them, None for a gap."""
    plain = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return [None if isinstance(value, float) and value != value else value for value in plain]


def _check_lengths(columns: dict[str, list[Any]]) -> None:
    if not columns:
        raise DataError("Cannot write a file without columns.")
    first, length = next((name, len(values)) for name, values in columns.items())
    for name, values in islice(columns.items(), 1, None):
        if len(values) != length:
            raise DataError(
                f"Cannot write the columns: {first!r} has {length} rows and {name!r} has {len(values)}."
            )


def _csv_text(columns: dict[str, list[Any]], separator: str) -> str:
    text = StringIO()
    lines = csv.writer(text, delimiter=separator, lineterminator="\n")
    lines.writerow(columns)
    lines.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
