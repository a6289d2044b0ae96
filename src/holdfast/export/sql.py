"""A model as SQL: one query, or a view for each tree and one that combines them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from holdfast.errors import EngineError, ExportError
from holdfast.export.plain_model import PlainModel, make_plain_model
from holdfast.export.scored import EnginePredictions, Rows
from holdfast.export.sql_query import Query
from holdfast.export.sql_text import Dialect
from holdfast.export.sql_views import Views


def to_sql(
    model: Any,
    *,
    table: str = "rows",
    keep: Sequence[str] | None = None,
    dialect: str = "duckdb",
    view: str | None = None,
    key: str | None = None,
) -> str:
    """Export as a query that selects, for every row, the columns to keep and the prediction.

    `keep` are the columns that come along, by default those that the model asks about. The prediction is
    `prediction` and, of classes, `p(class)` for each of them. Missing is NULL, not NaN. "duckdb", "postgres"
    and "sqlite" are written directly, any other dialect of SQL by sqlglot.

    With `view` it is a script that creates a view of this name, which any query can select from. The view of
    an ensemble rests on one for each tree and joins them by `key`, a column of the table that no two rows
    share: no statement is longer than a tree, however many there are.
    """
    plain, kept, words = make_plain_model(model), _kept(model, keep), Dialect.of(dialect)
    if view is None:
        if key is not None:
            raise ExportError(f"key={key!r} joins views: name the view that predicts, view='scored'.")
        return words.translate(Query(plain, table, kept, words).text())
    statements = Views(plain, table, kept, words, view, key).statements()
    return ";\n\n".join(words.translate(each).rstrip() for each in statements) + ";\n"


def _kept(model: Any, keep: Sequence[str] | None) -> tuple[str, ...]:
    if isinstance(keep, str):
        raise ExportError(f"keep={keep!r} is a text: it is a list of columns, also of one.")
    return tuple(feature.name for feature in make_plain_model(model).columns) if keep is None else tuple(keep)


# -- running it -------------------------------------------------------------------------------------------


LONGEST = 1_000_000  # characters of a query that DuckDB plans in about ten seconds


def check_runs_quickly(exported: str, *, dialect: str = "duckdb", **_: Any) -> None:
    """Raise an EngineError if the database would take minutes, whatever the rows."""
    if dialect != "sqlite" and len(exported) > LONGEST:
        raise EngineError(
            f"DuckDB takes minutes to plan a query of {len(exported):,} characters. Give rows to verify "
            "it by, or take the dialect 'sqlite'."
        )


def scored(
    exported: str,
    plain: PlainModel,
    rows: Rows,
    *,
    table: str = "rows",
    keep: Sequence[str] | None = None,
    **options: Any,
) -> EnginePredictions:
    """Predict with the query or view, by DuckDB or SQLite."""
    from holdfast.export.sql_engines import run_query

    result, engine = run_query(exported, plain, rows, table=table, extra=keep or (), **options)
    n_predicted = len(plain.target.classes) + 1  # the last columns
    records = [record[-n_predicted:] for record in result]
    if not plain.target.is_classes:
        return EnginePredictions(np.array(records, np.float64), None, engine)
    values = np.array([record[1:] for record in records], np.float64)
    return EnginePredictions(values, [record[0] for record in records], engine)
