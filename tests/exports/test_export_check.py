"""Every export that predicts equals the model: on rows, at all thresholds and their neighbours, on gaps."""

from math import inf, nextafter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from exported_models import MODELS, SITE, model, rows

from holdfast import DataWarning, Table, TreeClassifier, export, grow
from holdfast.errors import EngineError, ExportError
from holdfast.exports import check_export, to_python
from holdfast.exports import python as python_format
from holdfast.exports.check import make_edge_rows
from holdfast.exports.plain_model import make_plain_model

ENGINES = {
    "python": ("python", {}),
    "json": ("json", {}),
    "sqlite": ("sql", {"dialect": "sqlite"}),
    "duckdb": ("sql", {"dialect": "duckdb"}),
    "onnxruntime": ("onnx", {}),
    "jpmml": ("pmml", {}),
}
NEEDED = {"duckdb": "duckdb", "onnxruntime": "onnxruntime", "jpmml": "jpmml_evaluator"}
# Those that take a second a model run on one of each kind.
FEW = {
    "duckdb": ("deep tree", "forest", "boosted four", "boosted count", "survival tree", "survival forest"),
    "onnxruntime": tuple(name for name in MODELS if name != "one leaf"),  # no input, no graph
}


@pytest.mark.parametrize(
    ("name", "engine"), [(name, engine) for engine in ENGINES for name in FEW.get(engine, MODELS)]
)
def test_an_export_equals_the_model(name: str, engine: str) -> None:
    if engine in NEEDED:
        pytest.importorskip(NEEDED[engine], reason=f"{NEEDED[engine]} runs the export")
    to, options = ENGINES[engine]
    check = check_export(model(name), to, rows(), **options)
    assert check.is_equal, str(check)
    assert (check.n_rows > 0) == (name != "one leaf")


def test_the_edges_stand_on_both_sides_of_every_threshold() -> None:
    table = Table.from_arrays(pd.DataFrame({"age": [20.0, 30.0, 50.0, 60.0]}), ["no", "no", "yes", "yes"])
    edges = make_edge_rows(make_plain_model(grow(table)), {"age": [25.0]})
    assert edges == {"age": [None, nextafter(40.0, -inf), 40.0, nextafter(40.0, inf)]}


def test_the_edges_of_a_set_are_all_its_categories_missing_and_one_never_seen() -> None:
    frame = pd.DataFrame({"site": ["never seen", "b", "c"] * 4})
    edges = make_edge_rows(
        make_plain_model(grow(Table.from_arrays(frame, ["x", "y", "y"] * 4))), {"site": ["b"]}
    )
    assert edges == {"site": [None, "b", "c", "never seen", "never seen!"]}


def test_an_edge_reaches_its_split_whatever_the_usual_row() -> None:
    tree = model("deep tree").tree_
    plain = make_plain_model(tree)
    usual = {feature.name: [None] for feature in plain.columns}
    edges = pd.DataFrame(make_edge_rows(plain, usual))
    edges["age"] = edges["age"].astype(float)
    with pytest.warns(match="has not seen"):
        passed = np.unique(tree.decision_path(edges).nonzero()[1])
    assert set(plain.trees[0].splits) <= set(passed.tolist())


def test_a_check_tells_of_a_row_that_differs() -> None:
    tree = model("tree").tree_
    check = check_export(tree, "python", rows(), export(tree, "python").replace("<=", ">"))
    assert not check.is_equal
    assert check.n_differing_rows > 0
    shown = str(check)
    assert shown.startswith("python differs from the model on ")
    assert "age=" in shown
    assert "by the model" in shown
    assert "\n  " in shown
    assert SITE not in shown  # its line break is spelt out


def test_a_threshold_that_is_asked_the_wrong_way_shows_at_the_edges_alone() -> None:
    tree = model("regression tree").tree_
    check = check_export(tree, "python", rows(), export(tree, "python").replace("<=", "<"))
    assert check.n_differing_rows == 0  # thresholds stand halfway between two values
    assert check.n_differing_edges > 0


def test_an_export_that_differs_is_not_written(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = export(model("tree"), "python").replace("<=", ">")
    monkeypatch.setattr(python_format, "to_python", lambda model: wrong)
    with pytest.raises(ExportError, match="python differs from the model"):
        export(model("tree"), "python", tmp_path / "model.py", verify=rows())
    assert not (tmp_path / "model.py").exists()


def test_a_file_is_verified_at_every_edge_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.py"
    for name in ("tree", "regression tree", "forest"):
        export(model(name), "python", path)
    written = path.read_text()
    monkeypatch.setattr(python_format, "to_python", lambda each: to_python(each).replace("<=", "<"))
    with pytest.raises(ExportError, match="differs from the model"):
        export(model("tree"), "python", path)
    assert path.read_text() == written
    export(model("tree"), "python", path, verify=False)
    assert path.read_text() != written


def test_a_file_that_nothing_can_run_is_written_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(*_: object, **__: object) -> None:
        raise EngineError("install it.")

    monkeypatch.setattr(python_format, "predict_rows", absent)
    with pytest.warns(DataWarning, match=r"not verified: install it\."):
        export(model("tree"), "python", tmp_path / "model.py")
    assert (tmp_path / "model.py").is_file()
    with pytest.raises(EngineError):  # rows to verify by are insisted on
        export(model("tree"), "python", tmp_path / "other.py", verify=rows())


def test_a_drawing_has_nothing_to_verify() -> None:
    with pytest.raises(ExportError, match="'dot' is a drawing"):
        check_export(model("tree"), "dot", rows())


def test_a_question_of_the_user_is_refused_by_name() -> None:
    frame = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40.0)[::-1] % 7})
    asked = TreeClassifier(custom_features=["a * b > 60"], max_depth=1).fit(
        frame, frame["a"] * frame["b"] > 60
    )
    with pytest.raises(ExportError, match=r"node 0 splits on the custom feature 'a \* b > 60'"):
        export(asked, "python")


def test_a_threshold_of_votes_is_refused() -> None:
    voting = model("voting forest")
    voting.vote_threshold = 0.3
    try:
        with pytest.raises(ExportError, match=r"vote_threshold=0.3"):
            export(voting, "python")
    finally:
        voting.vote_threshold = None
