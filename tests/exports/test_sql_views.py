"""A view for each tree and one that combines them, in both databases."""

import sqlite3

import pandas as pd
import pytest
from exported_models import model, rows

from holdfast import Table, grow
from holdfast.errors import ExportError
from holdfast.exports import check_export, to_sql
from holdfast.exports import sql as sql_views


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("name", ["tree", "forest", "voting forest", "boosted four", "boosted count"])
def test_views_predict_as_the_model_does(name: str, dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if dialect == "duckdb":
        pytest.importorskip("duckdb")
    monkeypatch.setattr(sql_views, "JOINED", 2)  # so that sums rest on sums
    check = check_export(model(name), "sql", rows(), dialect=dialect, view='risk "A"', key="row id")
    assert check.is_equal, str(check)
    assert check.n_rows == 160


def test_every_tree_has_a_view_and_sums_join_them_in_order() -> None:
    script = to_sql(model("regression forest"), view="risk", key="id", table="patients")
    names = [line.split('"')[1] for line in script.splitlines() if line.startswith("CREATE VIEW")]
    assert names == ["risk_tree_0", "risk_tree_1", "risk_tree_2", "risk_sum_0", "risk"]
    start = script.index('CREATE VIEW "risk_sum_0"')
    assert script[start : script.index('CREATE VIEW "risk" AS')] == (
        """\
CREATE VIEW "risk_sum_0" AS
SELECT
  "risk_tree_0"."id",
  0e0 + "risk_tree_0"."value" + "risk_tree_1"."value" + "risk_tree_2"."value" AS "score"
FROM "risk_tree_0"
  JOIN "risk_tree_1" USING ("id")
  JOIN "risk_tree_2" USING ("id");

"""
    )


def test_the_view_can_be_asked_about_one_row() -> None:
    frame = pd.DataFrame({"age": [20.0, 30.0, 50.0, 60.0]})
    tree = grow(Table.from_arrays(frame, ["no", "no", "yes", "yes"]))
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE patients (id INTEGER PRIMARY KEY, age DOUBLE)")
    database.execute("INSERT INTO patients VALUES (1, 25.0), (2, 55.0)")
    database.executescript(to_sql(tree, table="patients", dialect="sqlite", view="risk", key="id"))
    assert database.execute("SELECT * FROM risk WHERE id = 2").fetchall() == [(2, 55.0, "yes", 0.0, 1.0)]


def test_other_dialects_translate_every_view() -> None:
    pytest.importorskip("sqlglot", reason="sqlglot writes other dialects")
    script = to_sql(model("regression forest"), view="risk", key="id", dialect="mysql")
    assert script.count("CREATE VIEW") == 5
    assert "USING (`id`)" in script


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"view": "risk"}, "joined by a column that identifies rows: name it, key='id'"),
        ({"view": "Rows", "key": "id"}, "view='Rows' is the name of the table"),
        ({"key": "id"}, "key='id' joins views: name the view"),
    ],
)
def test_what_the_views_need_is_asked_for(options: dict[str, str], message: str) -> None:
    with pytest.raises(ExportError, match=message):
        to_sql(model("forest"), **options)


def test_views_with_a_key_that_the_model_asks_about_are_not_verified() -> None:
    with pytest.raises(ExportError, match="key='dose' is a column that the model uses"):
        check_export(model("forest"), "sql", rows(), dialect="sqlite", view="risk", key="dose")
