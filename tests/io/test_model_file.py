import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.schema import Feature, Label, Schema, Target
from holdfast.errors import BrokenTreeError, ModelFileError, ModelFileWarning
from holdfast.io.model_file import load, model_from_json, model_to_json, save
from holdfast.tree.check import check_tree
from holdfast.tree.tree import Tree
from reference.trees import (
    AGE,
    FARE_KNOWN,
    LONE_LEAF,
    NUMERIC,
    ORDERED,
    PAIN,
    PRICE,
    SLOPE,
    SPECIES,
    SUBSET,
    SURVIVED,
    Node,
    leaf,
    split,
    tree_of,
)

YOUNG = Feature("age ** 2 < 900", "custom", categories=(False, True))
MIXED = tree_of(
    split(
        "age ** 2 < 900",
        (True,),
        split("pain", ("none", "typical"), leaf(10, 0.5, 0.5), leaf(1, 1 / 3, 2 / 3), True),
        split("slope", 1.5, leaf(4, 0.1, 0.9), split("age", 1e-300, leaf(7, 0.0, 1.0), leaf(3, 0.7, 0.3))),
    ),
    (AGE, PAIN, SLOPE, YOUNG),
    SURVIVED,
    notes=("growth ended early: the budget of 6 leaves ran out", "größer ≥ 5\n"),
)


def with_classes(*classes: Label) -> Tree:
    shares = [1 / len(classes)] * len(classes)
    first = [1.0] + [0.0] * (len(classes) - 1)
    return tree_of(split("age", 40.5, leaf(5, *shares), leaf(5, *first)), (AGE,), Target("y", classes))


TREES = {
    "numbers": NUMERIC,
    "categories": SUBSET,
    "ordered categories": ORDERED,
    "is it known": FARE_KNOWN,
    "three classes": SPECIES,
    "regression": PRICE,
    "one leaf": LONE_LEAF,
    "every kind of question": MIXED,
    "text classes": with_classes("", "1", 'ja\t"ja"', "née", "\u2028", "\U0001d518"),
    "integer classes": with_classes(-(2**63), 0, 1, 2**63 - 1),
    "true and false": with_classes(False, True),
    "float classes": with_classes(-0.0, 0.1, 1.0, 1e22, 5e-324),
    "one class": with_classes("only"),
    "no column": tree_of(leaf(3, 2.5, impurity=0.0), (), Target("cost")),
}


def types(labels: tuple[Label, ...]) -> list[type]:
    return [type(label) for label in labels]


def assert_same(loaded: Tree, tree: Tree) -> None:
    for field in fields(Tree):
        found, expected = getattr(loaded, field.name), getattr(tree, field.name)
        if isinstance(expected, np.ndarray):
            assert found.dtype == expected.dtype
            assert found.tobytes() == expected.tobytes(), field.name
        else:
            assert found == expected
    assert types(loaded.schema.target.classes) == types(tree.schema.target.classes)
    for new, old in zip(loaded.schema.features, tree.schema.features, strict=True):
        assert types(new.categories) == types(old.categories)


# -- there and back -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TREES)
def test_a_tree_comes_back_from_its_file_as_it_was(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    save(TREES[name], path)
    loaded = load(path)
    assert_same(loaded, TREES[name])
    save(loaded, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


labels = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
)
several_labels = st.lists(labels, min_size=1, max_size=5, unique=True).map(tuple)
finite = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    names = draw(
        st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=4, unique=True)
    )
    kinds = st.sampled_from(["numeric", "ordered", "nominal"])
    features = []
    for name in names:
        kind: Any = draw(kinds)
        low, high = sorted((draw(finite), draw(finite)))
        categories = () if kind == "numeric" else draw(several_labels)
        features.append(Feature(name, kind, low, high, categories))
    return Schema(tuple(features), Target(draw(st.text("abc")), draw(several_labels | st.just(()))))


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    schema = draw(schemas())
    width = max(len(schema.target.classes), 1)

    def node(depth: int) -> Node:
        if depth == 0 or draw(st.booleans()):
            shares = [0.0] * width
            shares[draw(st.integers(0, width - 1))] = 1.0
            mean = draw(st.floats(-1e100, 1e100))
            value = shares if schema.target.is_classes else [mean]
            return leaf(draw(st.integers(1, 10**6)), *value, impurity=draw(st.floats(0, 1)))
        feature = draw(st.sampled_from(schema.features))
        some = (
            st.lists(st.sampled_from(feature.categories), unique=True).map(tuple)
            if feature.is_subset
            else finite
        )
        return split(feature.name, draw(some), node(depth - 1), node(depth - 1), draw(st.booleans()))

    return tree_of(node(4), schema.features, schema.target, draw(st.lists(st.text("ab\n")).map(tuple)))


@given(trees())
def test_any_sound_tree_comes_back_as_it_was(tree: Tree) -> None:
    check_tree(tree)
    data = model_to_json(tree)
    loaded = model_from_json(data)
    assert_same(loaded, tree)
    assert model_to_json(loaded) == data


def test_an_estimator_of_others_is_saved_as_its_tree(tmp_path: Path) -> None:
    with pytest.warns(ModelFileWarning, match="A SimpleNamespace is no estimator of holdfast"):
        save(SimpleNamespace(tree_=NUMERIC), tmp_path / "model.json")
    assert_same(load(tmp_path / "model.json"), NUMERIC)


@pytest.mark.parametrize("model", [object(), SimpleNamespace(tree_="sklearn's"), None])
def test_what_is_no_tree_cannot_be_saved(model: object, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"Cannot save a .*as_tree\(model\)"):
        save(model, tmp_path / "model.json")


def test_a_broken_tree_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(BrokenTreeError, match=r"right\[0\] is 7"):
        save(NUMERIC.replace(right=np.array([7, 3, -1, -1, -1], np.int32)), tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


# -- the text -----------------------------------------------------------------------------------------


def test_the_file_has_a_line_for_each_entry_feature_and_array() -> None:
    lines = model_to_json(SUBSET).decode().splitlines()
    assert lines[:4] == ["{", '  "format": "holdfast-model",', '  "version": 1,', '  "kind": "tree",']
    assert lines[7:9] == ['  "schema": {', '    "features": [']
    assert lines[10].strip() == (
        '{"name": "sex", "kind": "nominal", "low": 0.0, "high": 1.0, "categories": ["female", "male"]}'
    )
    assert '    "feature": [0, 0, -1, -1, 1, -1, -1],' in lines
    assert '    "categories_left": [[0, 1], [0], null, null, [0], null, null],' in lines
    assert len(lines) == 28


def test_the_checksum_is_that_of_the_file_without_its_line() -> None:
    lines = model_to_json(MIXED).splitlines(keepends=True)
    rest = b"".join(line for line in lines if b'"checksum"' not in line)
    assert f'"sha256:{hashlib.sha256(rest).hexdigest()}"'.encode() in lines[4]


@pytest.mark.parametrize(
    "reformatted",
    [
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: json.dumps(json.loads(data)).encode(),
        lambda data: json.dumps(json.loads(data), indent=4, sort_keys=True, ensure_ascii=False).encode(),
    ],
    ids=["windows line ends", "one line", "one number per line"],
)
def test_another_layout_of_the_same_content_loads(reformatted: Callable[[bytes], bytes]) -> None:
    data = model_to_json(MIXED)
    assert model_to_json(model_from_json(reformatted(data))) == data


# -- saving -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_the_old_file_survives_a_failure_and_nothing_is_left_over(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disk_full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    save(NUMERIC, tmp_path / "model.json")
    old = (tmp_path / "model.json").read_bytes()
    monkeypatch.setattr(os if step == "fsync" else Path, step, disk_full)
    with pytest.raises(OSError, match="No space left"):
        save(SUBSET, tmp_path / "model.json")
    assert (tmp_path / "model.json").read_bytes() == old
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]


@pytest.mark.skipif(os.name == "nt", reason="file modes and links of POSIX")
def test_saving_keeps_the_mode_of_the_file_and_the_link_to_it(tmp_path: Path) -> None:
    stored, link = tmp_path / "stored.json", tmp_path / "link.json"
    stored.touch(mode=0o640)
    stored.chmod(0o640)
    link.symlink_to(stored)
    save(NUMERIC, link)
    assert link.is_symlink()
    assert stored.stat().st_mode & 0o777 == 0o640
    assert_same(load(stored), NUMERIC)


@pytest.mark.skipif(os.name == "nt", reason="file modes of POSIX")
def test_a_new_file_has_the_mode_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    save(NUMERIC, tmp_path / "model.json")
    assert (tmp_path / "model.json").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_folder_is_not_replaced_by_a_model(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="it is a folder or a device"):
        save(NUMERIC, tmp_path)
    with pytest.raises(FileNotFoundError):
        save(NUMERIC, tmp_path / "nowhere" / "model.json")
