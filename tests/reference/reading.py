"""Read a whole file in one call."""

import os
from collections.abc import Sequence

from holdfast.data.frame import Frame
from holdfast.data.read import ColumnChoices, open_source
from holdfast.data.read_options import ReadingOptions


def read_file(
    path: str | os.PathLike[str],
    *,
    categorical: Sequence[str] = (),
    drop: Sequence[str] = (),
    choices: ColumnChoices | None = None,
    rules: ReadingOptions | None = None,
) -> Frame:
    """Read the columns of a CSV or Parquet file, or of a folder of Parquet files."""
    with open_source(path, None if rules is None else rules.encoding) as source:
        return source.read(choices or ColumnChoices(categorical, drop=drop), rules or ReadingOptions())
