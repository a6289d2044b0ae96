"""Names, texts and numbers as SQL writes them, and what differs between its dialects."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.data.schema import Label
from holdfast.errors import ExportError

MOST_ARGUMENTS = 50  # of one function: SQLite takes 100
SHORT = 15  # significant digits that any reader of numbers takes for the same float


def quote_identifier(name: str) -> str:
    """Quote the name of a table or column."""
    if not name or "\0" in name:
        raise ExportError(f"SQL has no name {name!r}: rename the column.")
    return '"' + name.replace('"', '""') + '"'


def format_literal(label: Label) -> str:
    """Format a category or class."""
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    if isinstance(label, int):
        return str(label)
    if isinstance(label, float):
        return format_number(label)
    if "\0" in label:
        raise ExportError(f"SQL has no text {label!r}, which holds a NUL character.")
    return "'" + label.replace("'", "''") + "'"


def format_number(value: float) -> str:
    """Format a float with 17 digits, or fewer if they are exact.

    With an exponent, as DuckDB takes a number without one for a decimal.

    >>> format_number(40.5), format_number(0.1 + 0.2)
    ('4.05e1', '3.0000000000000004e-1')
    """
    short = f"{value:.{SHORT - 1}e}"
    mantissa, exponent = (short if float(short) == value else f"{value:.16e}").split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


@dataclass(frozen=True)
class Dialect:
    """A SQL dialect with the keywords that differ."""

    name: str
    most: str = "GREATEST"
    least_word: str = "LEAST"
    materialized: str = "MATERIALIZED "  # worked out once, not wherever it is used

    @classmethod
    def of(cls, name: str) -> "Dialect":
        """Return the dialect of this name; an ExportError lists the known ones."""
        if name == "sqlite":
            return cls(name, "MAX", "MIN")
        if name not in ("duckdb", "postgres"):
            _check_dialect(name)
            return cls(name, materialized="")
        return cls(name)

    def greatest(self, columns: Sequence[str]) -> str:
        """Return the greatest of the columns."""
        return _folded(self.most, columns)

    def least(self, columns: Sequence[str]) -> str:
        """Return the least of the columns."""
        return _folded(self.least_word, columns)

    def translate(self, query: str) -> str:
        """Translate the query with sqlglot if the dialect is not one of ours."""
        if self.name in ("duckdb", "postgres", "sqlite"):
            return query
        import sqlglot

        try:
            return sqlglot.transpile(query, read="postgres", write=self.name, pretty=True)[0] + "\n"
        except RecursionError as error:
            raise ExportError(
                f"the query is nested too deeply for sqlglot to turn it into {self.name}: export fewer or "
                "smaller trees, or take the dialect 'postgres'."
            ) from error


def _folded(function: str, columns: Sequence[str]) -> str:
    parts = list(columns)
    while len(parts) > 1:
        groups = [parts[i : i + MOST_ARGUMENTS] for i in range(0, len(parts), MOST_ARGUMENTS)]
        parts = [group[0] if len(group) == 1 else f"{function}({', '.join(group)})" for group in groups]
    return parts[0]


def _check_dialect(name: str) -> None:
    try:
        from sqlglot.dialects.dialect import Dialect as Known
    except ImportError as error:
        raise ExportError(
            f"the dialect {name!r} needs sqlglot: pip install 'holdfast[export]', or take one of duckdb, "
            "postgres, sqlite."
        ) from error
    if name not in Known.classes or not name:
        known = ", ".join(sorted(each for each in Known.classes if each))
        raise ExportError(f"There is no dialect {name!r}: choose one of {known}.")
