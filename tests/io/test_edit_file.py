"""Edits in the model file: kept to the letter, checked in full, and absent where there are none."""

import json
from dataclasses import replace
from typing import Any

import pytest

from holdfast import load, load_trees, save, save_trees
from holdfast.errors import BrokenTreeError, ModelFileError
from holdfast.estimators.tree import TreeClassifier
from holdfast.io.model_file import model_from_json, model_to_json
from holdfast.tree import Edit, Node, edited_nodes
from holdfast.tree.check import check_tree
from holdfast.tree.tree import Tree
from reference.trees import FARE_KNOWN, NUMERIC, ORDERED, PRICE, SUBSET

EDITED = (
    NUMERIC.edit(by="Ada", why="größer ≥ 5", when="2026-05-01")
    .with_threshold(0, 55)
    .with_leaf_value(2, 0.25)
    .tree
)


def edited_in_some_way(tree: Tree) -> Tree:
    return tree.prune_at(0, by="Ada")


@pytest.mark.parametrize("tree", [EDITED, *map(edited_in_some_way, (SUBSET, ORDERED, FARE_KNOWN, PRICE))])
def test_edits_come_back_to_the_letter(tree: Tree) -> None:
    data = model_to_json(tree)
    loaded = model_from_json(data)
    assert loaded.edits == tree.edits
    assert edited_nodes(loaded) == edited_nodes(tree)
    assert model_to_json(loaded) == data


def test_a_tree_without_edits_has_the_file_that_it_had() -> None:
    assert b"edits" not in model_to_json(NUMERIC)


def test_an_edit_is_one_line_of_the_file() -> None:
    before = set(model_to_json(NUMERIC).splitlines())
    lines = [line for line in model_to_json(EDITED).splitlines() if line not in before]
    assert sum(b'"kind": "threshold"' in line for line in lines) == 1


def test_collections_and_estimators_keep_edits(tmp_path: Any) -> None:
    save_trees([NUMERIC, EDITED], tmp_path / "trees.json")
    assert [tree.edits for tree in load_trees(tmp_path / "trees.json")] == [(), EDITED.edits]
    model = TreeClassifier().fit([[20.0], [30.0], [48.0], [60.0]], ["no", "no", "yes", "yes"])
    model.tree_ = model.tree_.with_threshold(0, 50, by="Ada")
    save(model, tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert loaded.tree_.edits == model.tree_.edits
    assert loaded.predict([[49.0]]).tolist() == ["no"]


def with_edit(**changes: Any) -> bytes:
    """The file of an edited tree whose first edit says something else."""
    document = json.loads(model_to_json(EDITED))
    edit = document["edits"][0]
    for name, entry in changes.items():
        part, _, field = name.partition("__")
        if field:
            edit[part][field] = entry
        else:
            edit[part] = entry
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"kind": "wished"}, "kind"),
        ({"path": "LX"}, "a path is written with L and R"),
        ({"path": 3}, "path"),
        ({"by": None}, "by"),
        ({"extra": 1}, "extra"),
        ({"before__feature": None}, "has no feature"),
        ({"before__threshold": None}, "threshold or categories"),
        ({"before__categories": ["a"]}, "threshold or categories"),
        ({"before__value": [["no", 0.5], ["no", 0.5]]}, r"edits\[0\].before.value has a class twice"),
        ({"before__value": 0.5}, "nothing else"),
        ({"before__value": [["no"]]}, "value"),
        ({"after__missing_left": 1}, "missing_left"),
        ({"stale": "no"}, "stale"),
    ],
)
def test_an_edit_that_is_none_is_refused(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(ModelFileError, match=word):
        model_from_json(with_edit(**changes), edited=True)


def test_an_edit_of_another_time_is_no_error() -> None:
    """The record tells what was done: the tree may have changed since."""
    tree = model_from_json(with_edit(path="LLLLLLLL", before__feature="gone"), edited=True)
    assert 0 not in edited_nodes(tree)


SOUND = EDITED.edits[0]


@pytest.mark.parametrize(
    "edit",
    [
        replace(SOUND, by="\ud800"),
        replace(SOUND, why=None),  # type: ignore[arg-type]
        replace(SOUND, kind="other"),  # type: ignore[arg-type]
        replace(SOUND, stale=1),  # type: ignore[arg-type]
        replace(SOUND, before=None),  # type: ignore[arg-type]
        replace(SOUND, after=Node("age", threshold=float("nan"))),
        replace(SOUND, after=Node(3, threshold=1.0)),
        replace(SOUND, after=Node("ward", categories=("A", "A"))),
        replace(SOUND, after=Node(value={})),
        replace(SOUND, after=Node(value={"no": float("inf")})),
        "an edit",
    ],
)
def test_a_tree_promises_sound_edits(edit: Edit) -> None:
    with pytest.raises(BrokenTreeError, match=r"edits\[0\]"):
        check_tree(NUMERIC.replace(edits=(edit,)))
