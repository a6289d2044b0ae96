"""Python, Mermaid, DOT and JSON as text."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from exported_models import SITE, model, rows

from holdfast import Feature, Table, Tree, grow
from holdfast.errors import ExportError
from holdfast.exports import to_dot, to_json, to_mermaid, to_python
from holdfast.io import model_file_schema
from holdfast.tree.text import draw_numbered_tree
from reference.trees import SEX, SURVIVED, leaf, split, tree_of


@pytest.fixture(scope="module")
def stump() -> Tree:
    frame = pd.DataFrame({"age": [20.0, 30.0, 50.0, 60.0]})
    return grow(Table.from_arrays(frame, ["no", "no", "yes", "yes"], target="outcome"))


def test_the_function_stands_alone(stump: Tree) -> None:
    text = to_python(stump)
    assert "import" not in text
    space: dict[str, object] = {}
    exec(text, space)
    predict = space["predict"]
    assert predict({"age": 40}) == ("no", {"no": 1.0, "yes": 0.0})
    assert predict({"age": 40.1})[0] == "yes"
    assert predict({"age": float("nan")}) == predict({"age": None}) == predict({})


def test_a_tree_too_deep_for_indentation_is_refused(stump: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    from holdfast.exports import python

    monkeypatch.setattr(python, "DEEPEST", 0)
    with pytest.raises(ExportError, match="tree 0 has 1 levels of splits"):
        to_python(stump)


def test_a_flowchart_has_a_question_and_two_ways(stump: Tree) -> None:
    assert to_mermaid(stump).splitlines() == [
        "flowchart TD",
        '    n0{{"age #60;= 40"}}',
        '    n0 -- "yes, or not recorded" --> n1',
        '    n0 -- "no" --> n2',
        '    n1["outcome = no<br>p(yes) = 0.00<br>2 rows"]',
        '    n2["outcome = yes<br>p(yes) = 1.00<br>2 rows"]',
    ]


def test_a_set_in_a_drawing_has_all_its_categories_and_missing_values_are_told_once() -> None:
    jobs = Feature("job", "nominal", categories=("1st", "3rd", "cook", "deck"))
    by_job = split("job", ("1st", "deck"), leaf(4, 0.0, 1.0), leaf(8, 1.0, 0.0))
    tree = tree_of(split("sex", ("female",), by_job, leaf(9, 0.5, 0.5)), (SEX, jobs), SURVIVED)
    # No woman was a cook or on deck; 5 on the no side have no job recorded.
    tree = tree.replace(
        seen=np.array([True, True, True, True, False, False]), not_recorded=np.array([[3.0, 1.0, 5.0]])
    )
    flowchart, graph, numbered = (
        next(line for line in text.splitlines() if "job" in line)
        for text in (to_mermaid(tree), to_dot(tree), draw_numbered_tree(tree))
    )
    assert all("1st, deck" in text for text in (flowchart, graph, numbered))
    assert "job in {1st, deck} (5 not recorded: no)?" in numbered
    assert "not recorded" not in flowchart
    assert to_mermaid(tree).count("no, or not recorded") == 2
    turned = tree.replace(
        missing_left=np.array([False, True, False, False, False]), not_recorded=np.array([[2.0, 1.0, 3.0]])
    )
    assert "not recorded" not in next(line for line in to_mermaid(turned).splitlines() if "job" in line)
    assert "job in {1st, deck} (1) or not recorded (3)?" in draw_numbered_tree(turned)


def test_a_graph_of_dot_has_a_question_and_two_ways(stump: Tree) -> None:
    lines = to_dot(stump).splitlines()
    assert lines[0] == "digraph tree {"
    assert lines[-1] == "}"
    assert '    n0 [label="age <= 40"];' in lines
    assert '    n0 -> n2 [label="no"];' in lines


def test_awkward_names_cannot_leave_their_labels() -> None:
    tree = model("deep tree").tree_
    assert SITE.splitlines()[0] not in to_mermaid(tree)
    for line in to_mermaid(tree).splitlines()[1:]:
        assert re.fullmatch(r' {4}n\d+(\{\{)?\[?"[^"`]*"(\}\})?\]?| {4}n\d+ -- "[^"`]*" --> n\d+', line), line
    for line in to_dot(tree).splitlines()[2:-1]:
        assert re.fullmatch(r' {4}n\d+( -> n\d+)? \[label="(?:[^"\\]|\\.)*"[a-z=, ]*\];', line), line


def test_an_ensemble_is_no_one_picture() -> None:
    with pytest.raises(ExportError, match=r"of 3: draw one of them, as export\(ensemble\[0\], 'dot'\)"):
        to_dot(model("forest"))


# -- JSON -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tree", "regression tree", "forest", "boosted four"])
def test_a_model_file_fits_its_schema(name: str) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema reads the schema")
    document = json.loads(to_json(model(name)))
    validator = jsonschema.Draft202012Validator(model_file_schema())
    validator.check_schema(model_file_schema())
    assert [error.message for error in validator.iter_errors(document)] == []
    parts = document["trees"][0]["nodes"] if "trees" in document else document["nodes"]
    parts["left"][0] = "one"
    assert not validator.is_valid(document)


def test_the_published_schema_is_the_one_of_the_code() -> None:
    from test_house_rules import ROOT

    published = ROOT / "docs" / "model-file.schema.json"
    schema = json.dumps(model_file_schema(), indent=1) + "\n"
    assert published.read_text(encoding="utf-8") == schema, f"write this to {published}"


def test_rows_of_a_json_model_are_predicted_alike() -> None:
    from holdfast.io.model_file import model_from_json

    again = model_from_json(to_json(model("tree")))
    assert again.predict(rows()).tolist() == model("tree").predict(rows()).tolist()
