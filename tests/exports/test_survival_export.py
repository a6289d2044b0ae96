"""Exports of survival models: the risk, and survival to the horizon that follows from it."""

import json
import sqlite3
from io import BytesIO
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from exported_models import SITE, model, rows, target
from sklearn.tree import DecisionTreeRegressor

from holdfast import SurvivalForest, SurvivalTree, export, load, save
from holdfast.cli.main import main
from holdfast.data.schema import Hazard
from holdfast.data.survival import survival_function
from holdfast.errors import ExportError
from holdfast.exports import check_export, to_json, to_sklearn

# Of all eight rows the cumulative hazard is 1/8 + 1/7 up to time 2; `old` rows have the first four events.
TIME, OLD = np.arange(1.0, 9.0), np.repeat([1.0, 0.0], 4)
X = pd.DataFrame({"old": OLD, "risk": [0.0, 1.0] * 4})
SETTINGS = {"max_depth": 1, "min_samples_leaf": 1, "leaf_values": "labels", "time_unit": "years"}


def fit(**settings: Any) -> SurvivalTree:
    return SurvivalTree(**{**SETTINGS, "horizon": 2.5, **settings}).fit(X, {"years": TIME, "died": TIME < 7})


def run_python(exported: str, row: dict[str, Any]) -> Any:
    space: dict[str, Any] = {}
    exec(exported, space)
    return space["predict"](row)


def test_risk_and_survival_to_the_horizon_are_those_worked_out_by_hand() -> None:
    sums = np.cumsum([1 / 8, 1 / 7, 1 / 6, 1 / 5, 1 / 4, 1 / 3])
    risk = 4 / sums[:4].sum()
    predicted = run_python(export(fit(), "python"), {"old": 1})
    assert predicted == pytest.approx({"risk": risk, "survival_2.5": exp(-risk * sums[1])})


@pytest.mark.parametrize("to", ["python", "sql"])
def test_the_text_says_what_the_risk_is_and_the_horizon_with_its_unit(to: str) -> None:
    notes = [line.strip() for line in export(fit(), to).splitlines() if line.strip().startswith(("--", "#"))]
    assert "risk: hazard of 'died' as a multiple of that of all training rows" in notes[0]
    assert "survival_2.5: probability of no 'died' until 'years' 2.5 years, exp(-risk * 0.2678" in notes[1]


def test_a_note_cannot_leave_its_comment() -> None:
    y = {"years\n; DROP TABLE rows": TIME, "died\n; DROP TABLE rows; --": TIME < 7}
    tree = SurvivalTree(max_depth=1, min_samples_leaf=1, time_unit="years\n'''").fit(X, y)
    for to in ("python", "sql"):
        assert check_export(tree, to, X, **({"dialect": "sqlite"} if to == "sql" else {})).is_equal


def test_columns_of_a_query_are_risk_and_survival_beside_those_of_the_data() -> None:
    database = sqlite3.connect(":memory:")
    X.to_sql("rows", database)
    found = database.execute(export(fit(), "sql", keep=["risk"], dialect="sqlite"))
    assert [column[0] for column in found.description] == ["risk", "risk_2", "survival_2.5"]
    assert [row[1] for row in found] == pytest.approx(fit().predict(X))


def test_outputs_of_onnx_and_sheets_of_excel_have_the_names() -> None:
    onnx, openpyxl = pytest.importorskip("onnx"), pytest.importorskip("openpyxl")
    graph = onnx.load_from_string(export(fit(), "onnx")).graph
    assert [output.name for output in graph.output] == ["risk", "survival_2.5"]
    assert "'years' 2.5 years" in graph.doc_string
    book = openpyxl.load_workbook(BytesIO(export(fit(), "excel", rows=1)))
    assert [cell.value for cell in book["Score"][1]][-2:] == ["risk", "survival_2.5"]
    assert [cell.value for cell in book["Rules"][1]] == [
        "tree",
        "leaf",
        "old",
        "risk",
        "survival_2.5",
        "rows",
    ]
    assert book["Rules"]["E2"].value == pytest.approx(exp(-book["Rules"]["D2"].value * (1 / 8 + 1 / 7)))
    assert book["Notes"]["A2"].value == "survival_2.5"


def test_a_tree_of_one_leaf_predicts_the_risk_of_all_rows() -> None:
    one = fit(min_samples_leaf=8)
    assert run_python(export(one, "python"), {})["risk"] == pytest.approx(1.0)
    database = sqlite3.connect(":memory:")
    X.to_sql("rows", database)
    records = database.execute(export(one, "sql", dialect="sqlite")).fetchall()
    assert records[0] == pytest.approx((1.0, exp(-(1 / 8 + 1 / 7))))


@pytest.mark.parametrize("hazard", ["nelson-aalen", "piecewise"])
def test_the_model_file_holds_the_whole_cumulative_hazard(hazard: str) -> None:
    tree, times = fit(hazard=hazard), [0.5, 1.0, 2.2, 5.0, 8.0, 20.0]
    part = json.loads(to_json(tree))["schema"]["target"]["hazard"]
    read = Hazard(part["times"], part["cumulative"], part["horizon"], is_linear=part["is_linear"])
    expected = tree.predict_survival_function(X, times)
    assert survival_function(read, tree.predict(X), times) == pytest.approx(expected, abs=0)


def test_scikit_learn_predicts_the_relative_risk() -> None:
    numbers = rows()[["age", "dose", "flag"]].astype(float)
    y = np.arange(1.0, 161.0), np.arange(160) % 3 > 0
    tree = SurvivalTree(max_depth=3).fit(numbers, y)
    assert isinstance(to_sklearn(tree), DecisionTreeRegressor)
    for fitted in (tree, SurvivalForest(3, random_state=0, max_depth=3).fit(numbers, y)):
        check = check_export(fitted, "sklearn", numbers)
        assert check.is_equal, str(check)


def test_a_custom_feature_is_refused() -> None:
    frame = pd.DataFrame({"a": np.arange(40.0) % 7, "b": np.arange(40.0) % 5})
    event = frame["a"] < frame["b"]
    tree = SurvivalTree(custom_features=["a < b"], max_depth=1).fit(frame, (np.arange(1.0, 41.0), event))
    with pytest.raises(ExportError, match="splits on the custom feature 'a < b'"):
        export(tree, "sql")


def test_drawings_have_the_risk_and_survival_of_leaves() -> None:
    leaf = export(model("survival tree"), "dot").splitlines()[-2]
    assert '"200-day survival = ' in leaf
    assert "\\nrisk = " in leaf


@pytest.mark.parametrize("kind", [SurvivalTree, SurvivalForest])
def test_a_model_file_is_exported_from_the_terminal(kind: Any, tmp_path: Path) -> None:
    frame, (model_file, csv) = rows().drop(columns=SITE), (tmp_path / "model.json", tmp_path / "rows.csv")
    size = {"n_estimators": 3} if kind is SurvivalForest else {}
    fitted = kind(max_depth=4, **size).fit(frame, target("survival"))
    save(fitted, model_file)
    assert export(load(model_file), "sql") == export(fitted, "sql")
    frame.assign(time=1.0, event=True).to_csv(csv, index=False)
    options = ["--to", "sql", "--dialect", "sqlite", "--verify", str(csv)]
    done = CliRunner().invoke(main, ["export", str(model_file), *options])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("-- risk: hazard of 'event'")
    assert "sql equals the model on 160 rows" in done.stderr
