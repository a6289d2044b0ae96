"""ONNX: names, kinds of classes, and what onnxruntime cannot take."""

import numpy as np
import pandas as pd
import pytest
from exported_models import SITE, model

from holdfast import Table, grow
from holdfast.errors import ExportError
from holdfast.exports import check_export, to_onnx

onnx = pytest.importorskip("onnx", reason="onnx writes the graph")


def test_the_graph_is_sound_and_names_its_columns() -> None:
    graph = onnx.load_from_string(to_onnx(model("deep tree")))
    onnx.checker.check_model(graph, full_check=True)
    assert SITE in {each.name for each in graph.graph.input}
    assert [each.name for each in graph.graph.output] == ["label", "probabilities"]


@pytest.mark.parametrize("labels", [[1, 5], [True, False], ["a", 1]])
def test_classes_of_every_type_come_back(labels: list[object]) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime runs the graph")
    frame = pd.DataFrame({"label": np.arange(20.0), "constant": [1.5, np.nan] * 10})
    y = np.array(labels, object)[np.arange(20) // 10]
    tree = grow(Table.from_arrays(frame, y, task="classification"))
    check = check_export(tree, "onnx", frame)
    assert check.is_equal, str(check)


def test_too_many_categories_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from holdfast.exports import onnx as written

    monkeypatch.setattr(written, "MOST_MEMBERS", 3)
    with pytest.raises(ExportError, match="at most 3 are exported"):
        to_onnx(model("deep tree"))


def test_a_model_without_a_question_is_refused() -> None:
    with pytest.raises(ExportError, match="has no split"):
        to_onnx(model("one leaf"))
