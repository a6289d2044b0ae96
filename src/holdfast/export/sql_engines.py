"""The databases that an exported query is tried on: SQLite, which Python has, and DuckDB."""

from collections.abc import Sequence
from typing import Any

from holdfast.data.schema import Feature
from holdfast.errors import EngineError, ExportError
from holdfast.export.plain_model import PlainModel
from holdfast.export.scored import Rows, count_rows
from holdfast.export.sql_text import format_literal, quote_identifier

BATCH = 500  # rows of one INSERT
Result = tuple[list[tuple[Any, ...]], str]


def run_query(
    script: str,
    plain: PlainModel,
    rows: Rows,
    *,
    table: str,
    extra: Sequence[str],
    dialect: str = "duckdb",
    view: str | None = None,
    key: str | None = None,
) -> Result:
    """Run the query; return records in row order, and the name of the database.

    With a view, the script creates it; the rows get numbers as their key.
    """
    connection, engine = _connected(dialect)
    rows = dict(rows)
    if key is not None:
        _check_key(key, rows)
        rows[key] = [*range(count_rows(rows))]
    _insert(connection, plain, rows, table=table, extra=extra, key=key)
    query = script
    if view is not None:
        run = getattr(
            connection, "executescript", connection.execute
        )  # SQLite executes one statement at a time
        run(script)
        query = f"SELECT * FROM {quote_identifier(view)}" + (
            f" ORDER BY {quote_identifier(key)}" if key else ""
        )
    result = connection.execute(query).fetchall()
    connection.close()
    return result, engine


def _check_key(key: str, rows: Rows) -> None:
    if key in rows:
        raise ExportError(
            f"key={key!r} is a column that the model asks about, and rows at its edges share their values: "
            "verify the views with another key."
        )


def _insert(
    connection: Any, plain: PlainModel, rows: Rows, *, table: str, extra: Sequence[str], key: str | None
) -> None:
    names = list(dict.fromkeys((*rows, *extra)))
    types = {feature.name: _type(feature) for feature in plain.columns}
    if key is not None:
        types[key] = "INTEGER PRIMARY KEY"
    columns = ", ".join(f"{quote_identifier(name)} {types.get(name, 'VARCHAR')}" for name in names)
    connection.execute(f"CREATE TABLE {quote_identifier(table)} ({columns})")
    missing = [None] * count_rows(rows)
    records = list(zip(*(rows.get(name, missing) for name in names), strict=True))
    for begin in range(0, len(records), BATCH):
        batch = ", ".join(f"({', '.join(map(_cell, record))})" for record in records[begin : begin + BATCH])
        connection.execute(f"INSERT INTO {quote_identifier(table)} VALUES {batch}")


def _connected(dialect: str) -> tuple[Any, str]:
    if dialect == "sqlite":
        import sqlite3

        return sqlite3.connect(":memory:"), f"SQLite {sqlite3.sqlite_version}"
    if dialect in ("duckdb", "postgres"):
        try:
            import duckdb
        except ImportError as error:
            raise EngineError(
                f"the dialect {dialect!r} is verified by DuckDB: pip install duckdb, or take the dialect "
                "'sqlite', which Python runs itself."
            ) from error
        connection = duckdb.connect()
        connection.execute("SET threads = 1")
        return connection, f"DuckDB {duckdb.__version__}"
    raise EngineError(
        f"There is no {dialect} here to verify the query with: take the dialect 'duckdb' or 'sqlite'."
    )


def _type(feature: Feature) -> str:
    if feature.kind == "numeric":
        return "DOUBLE"
    if all(isinstance(label, bool) for label in feature.categories):
        return "BOOLEAN"
    return "VARCHAR" if isinstance(feature.categories[0], str) else "DOUBLE"


def _cell(value: Any) -> str:
    return "NULL" if value is None else format_literal(value)
