"""Which kind of data file a name stands for."""

from pathlib import PurePath

from holdfast.errors import DataError
from holdfast.text.lists import joined

CSV_ENDINGS = (".csv", ".tsv", ".txt")
PARQUET_ENDINGS = (".parquet", ".pq")


def is_parquet(path: PurePath) -> bool:
    """Return True for the name of a Parquet file, False for CSV; a DataError for anything else.

    >>> is_parquet(PurePath("patients.csv.gz")), is_parquet(PurePath("patients.pq"))
    (False, True)
    """
    name = path.name.lower()
    if name.endswith(PARQUET_ENDINGS):
        return True
    if name.removesuffix(".gz").endswith(CSV_ENDINGS):
        return False
    raise DataError(
        f"The name '{path}' does not say what the file is: it must end in {joined(list(CSV_ENDINGS))}, or "
        f"one of these and .gz, for CSV; in {joined(list(PARQUET_ENDINGS))} for Parquet."
    )


def is_zipped(path: PurePath) -> bool:
    """Return True if the name ends as a gzip file's."""
    return path.name.lower().endswith(".gz")
