"""Write columns to CSV or Parquet files."""

import csv
import gzip
import os
import re
from collections.abc import Mapping, Sequence
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from holdfast._files import replace_file
from holdfast.data.read_options import is_parquet, is_zipped
from holdfast.errors import DataError


def write_file(
    columns: Mapping[str, Sequence[Any]], path: str | os.PathLike[str], *, raw: bool = False
) -> None:
    """Write columns as CSV or Parquet, by the ending of the name, atomically.

    The separator is a tab for .tsv, else a comma. None and NaN become empty cells in CSV and nulls in
    Parquet, where columns of mixed text and numbers become text. Unless `raw`, CSV text that a spreadsheet
    would interpret as a formula is prefixed with an apostrophe.
    """
    target = Path(path)
    parquet = is_parquet(target)  # raises an error for other endings before any work
    lists = {name: to_python_values(values) for name, values in columns.items()}
    if not lists:
        raise DataError("Cannot write a file without columns.")
    first, length = next((name, len(values)) for name, values in lists.items())
    for name, values in lists.items():
        if len(values) != length:
            raise DataError(
                f"Cannot write the columns: {first!r} has {length} rows and {name!r} has {len(values)}."
            )
    if parquet:
        from holdfast.data.parquet import encode_parquet

        replace_file(target, encode_parquet(lists))
        return
    text = StringIO()
    write_csv(text, lists, "\t" if ".tsv" in target.name.lower() else ",", raw=raw)
    data = text.getvalue().encode()
    replace_file(target, gzip.compress(data, mtime=0) if is_zipped(target) else data)


# -- CSV without formulas ------------------------------------------------------------------------------------

# Spreadsheets run cells that start so as formulas, which can send data away or start a program; some also
# accept the full-width characters of Chinese and Japanese text.
_STARTS = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
_NUMBER = re.compile(r"[+-]?(?:[0-9.,]*[0-9][0-9.,]*(?:e[+-]?[0-9]+)?\s?%?|inf|infinity|nan)", re.IGNORECASE)


def write_csv(
    file: TextIO, columns: Mapping[str, Sequence[Any]], separator: str = ",", *, raw: bool = False
) -> None:
    """Write a header and one line per row; None and NaN become empty cells.

    Unless `raw`, text that a spreadsheet would interpret as a formula is prefixed with an apostrophe.
    """
    names = list(columns) if raw else list(map(escape_formula, columns))
    cells = [
        to_python_values(values) if raw else list(map(escape_formula, to_python_values(values)))
        for values in columns.values()
    ]
    # Many readers end a line at an unquoted carriage return, which csv does not quote by default.
    has_returns = any(isinstance(cell, str) and "\r" in cell for cell in chain(names, *cells))
    lines = csv.writer(
        file,
        delimiter=separator,
        lineterminator="\n",
        quoting=csv.QUOTE_ALL if has_returns else csv.QUOTE_MINIMAL,
    )
    lines.writerow(names)
    lines.writerows(zip(*cells, strict=True))


def escape_formula(cell: Any) -> Any:
    """Prefix an apostrophe if a spreadsheet would interpret the cell as a formula.

    >>> escape_formula("=1+1"), escape_formula("-3.5"), escape_formula(-3.5), escape_formula("-")
    ("'=1+1", '-3.5', -3.5, '-')
    """
    if not isinstance(cell, str) or len(cell) < 2 or cell[0] not in _STARTS or _NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"


def to_python_values(values: Sequence[Any]) -> list[Any]:
    """Convert values to Python objects, None where missing."""
    entries = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return [None if isinstance(value, float) and value != value else value for value in entries]
