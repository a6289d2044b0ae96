"""Columns as data files, CSV or Parquet."""

import gzip
import os
from collections.abc import Mapping, Sequence
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any

from holdfast.data.files.csv_writing import to_python_values, write_csv
from holdfast.data.files.filetype import is_parquet, is_zipped
from holdfast.errors import DataError
from holdfast.files import replace_file


def write_file(
    columns: Mapping[str, Sequence[Any]], path: str | os.PathLike[str], *, raw: bool = False
) -> None:
    """Write columns as CSV or Parquet, by the ending of the name, atomically.

    The separator is a tab for .tsv and a comma else. None and NaN become empty cells in CSV and nulls in
    Parquet; a column of text and numbers mixed is text there. In CSV, text that a spreadsheet would take for
    a formula gets an apostrophe in front, unless it is to be `raw`.
    """
    target = Path(path)
    parquet = is_parquet(target)  # an error if the name ends otherwise, before any work
    lists = {name: to_python_values(values) for name, values in columns.items()}
    _check_lengths(lists)
    if parquet:
        from holdfast.data.files.parquet import encode_parquet

        replace_file(target, encode_parquet(lists))
        return
    text = StringIO()
    write_csv(text, lists, "\t" if ".tsv" in target.name.lower() else ",", raw=raw)
    data = text.getvalue().encode()
    replace_file(target, gzip.compress(data, mtime=0) if is_zipped(target) else data)


def _check_lengths(columns: dict[str, list[Any]]) -> None:
    if not columns:
        raise DataError("Cannot write a file without columns.")
    first, length = next((name, len(values)) for name, values in columns.items())
    for name, values in islice(columns.items(), 1, None):
        if len(values) != length:
            raise DataError(
                f"Cannot write the columns: {first!r} has {length} rows and {name!r} has {len(values)}."
            )
