"""The text of SQL: names, numbers and what it refuses."""

import sqlite3

import pandas as pd
import pytest
from exported_models import SITE, model, rows

from holdfast import Table, grow
from holdfast.errors import ExportError
from holdfast.exports import to_sql
from holdfast.exports.sql import Dialect, format_literal, format_number, quote_identifier


def test_a_query_reads_as_a_case_for_each_question() -> None:
    frame = pd.DataFrame({"age": [20.0, 30.0, 50.0, 60.0]})
    tree = grow(Table.from_arrays(frame, ["no", "no", "yes", "yes"]))
    assert (
        to_sql(tree, table="patients", keep=["id"])
        == """\
WITH "walked" AS MATERIALIZED (
  SELECT
    "id",
    "age",
    CASE WHEN ("age" IS NULL OR "age" <= 4e1)
      THEN 1
      ELSE 2 END AS "leaf"
  FROM "patients"
)
SELECT
  "id",
  CASE "leaf" WHEN 1 THEN 'no' WHEN 2 THEN 'yes' END AS "prediction",
  CASE "leaf" WHEN 1 THEN 1e0 WHEN 2 THEN 0e0 END AS "p(no)",
  CASE "leaf" WHEN 1 THEN 0e0 WHEN 2 THEN 1e0 END AS "p(yes)"
FROM "walked"
"""
    )


def test_names_of_our_own_give_way_to_those_of_the_data() -> None:
    frame = pd.DataFrame({"Leaf": [20.0, 30.0, 50.0, 60.0]})
    tree = grow(Table.from_arrays(frame, ["no", "no", "yes", "yes"]))
    query = to_sql(tree, table="walked", keep=["prediction"], dialect="sqlite")
    database = sqlite3.connect(":memory:")
    database.execute('CREATE TABLE "walked" ("Leaf" DOUBLE, "prediction" VARCHAR)')
    database.execute("INSERT INTO walked VALUES (55.0, 'kept')")
    found = database.execute(query)
    assert [column[0] for column in found.description] == ["prediction", "prediction_2", "p(no)", "p(yes)"]
    assert found.fetchall() == [("kept", "yes", 0.0, 1.0)]


def test_numbers_are_floats_of_17_digits() -> None:
    assert format_number(0.1 + 0.2) == "3.0000000000000004e-1"
    assert format_number(-1e22) == "-1e22"
    assert float(format_number(2 / 3)) == 2 / 3


def test_quotes_are_doubled() -> None:
    assert quote_identifier('a"b') == '"a""b"'
    assert format_literal("it's") == "'it''s'"
    assert format_literal(True) == "TRUE"
    assert format_literal(3) == "3"


def test_deep_trees_are_walked_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    from holdfast.exports import check_export
    from holdfast.exports import sql as sql_query

    monkeypatch.setattr(sql_query, "LEVELS", 2)
    monkeypatch.setattr(sql_query, "TREES", 2)
    for name in ("deep tree", "boosted four"):
        check = check_export(model(name), "sql", rows(), dialect="sqlite")
        assert check.is_equal, str(check)


def test_other_dialects_come_from_sqlglot() -> None:
    pytest.importorskip("sqlglot", reason="sqlglot writes other dialects")
    assert "`age`" in to_sql(model("regression tree"), dialect="mysql")
    assert "[age]" in to_sql(model("regression tree"), dialect="tsql")
    with pytest.raises(ExportError, match="There is no dialect 'clipper': choose one of"):
        Dialect.of("clipper")


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_a_name_that_sql_has_not_is_refused(name: str) -> None:
    with pytest.raises(ExportError, match="SQL has no name"):
        quote_identifier(name)


def test_capital_letters_do_not_tell_columns_apart() -> None:
    with pytest.raises(ExportError, match="'age' and 'AGE' are equal to SQL"):
        to_sql(model("regression tree"), keep=["age", "AGE"])


def test_text_and_numbers_in_one_column_are_refused() -> None:
    frame = pd.DataFrame({"site": ["a", 1, "b", 2] * 3})
    tree = grow(Table.from_arrays(frame, ["x", "y", "x", "y"] * 3))
    with pytest.raises(ExportError, match="'site' are text and numbers"):
        to_sql(tree)


def test_a_database_that_is_not_here_cannot_verify() -> None:
    from holdfast.exports import check_export

    pytest.importorskip("sqlglot", reason="sqlglot writes other dialects")
    with pytest.raises(ExportError, match="There is no mysql here"):
        check_export(model("regression tree"), "sql", rows(), dialect="mysql")


def test_awkward_names_are_quoted() -> None:
    assert quote_identifier(SITE) in to_sql(model("deep tree"))
