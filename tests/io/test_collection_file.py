"""The file of several trees: it gives back the same trees, or says what is wrong with which of them."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_model_file import MIXED, assert_same

from holdfast.data.schema import Feature, Schema, Target
from holdfast.errors import BrokenTreeError, DataError, ModelFileError, SchemaMismatch
from holdfast.io.model_file import (
    load,
    load_trees,
    model_from_json,
    model_to_json,
    save,
    save_trees,
    trees_from_json,
    trees_to_json,
)
from holdfast.tree.tree import LEAF, Tree
from reference.random_trees import FEATURES, OUTCOMES, STAY, grown_trees, random_schema, random_tree
from reference.trees import AGE, FARE_KNOWN, LONE_LEAF, NUMERIC, PRICE, SUBSET, SURVIVED, leaf, split, tree_of

OTHER = MIXED.replace(criterion="entropy", notes=())
PAIR = [MIXED, OTHER]


def edited(*changes: tuple[str, str]) -> bytes:
    """The file of the pair with these changes, each made in one place."""
    text = trees_to_json(PAIR).decode()
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text.encode()


def edited_tree(position: int, change: Callable[[dict[str, Any]], None]) -> bytes:
    """The file of the pair with a change in one of its trees."""
    content = json.loads(trees_to_json(PAIR))
    change(content["trees"][position])
    return json.dumps(content).encode()


# -- there and back -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "trees",
    [
        PAIR,
        [SUBSET],
        [PRICE, PRICE.replace(notes=("cut back",))],
        [NUMERIC, LONE_LEAF.with_schema(NUMERIC.schema)],
        [FARE_KNOWN, FARE_KNOWN],
    ],
    ids=["mixed", "categories", "regression", "a lone leaf", "missing"],
)
def test_trees_come_back_as_they_were(trees: list[Tree], tmp_path: Path) -> None:
    save_trees(trees, tmp_path / "trees.json")
    loaded = load_trees(tmp_path / "trees.json")
    assert len(loaded) == len(trees)
    for after, before in zip(loaded, trees, strict=True):
        assert_same(after, before)
    assert trees_to_json(loaded) == (tmp_path / "trees.json").read_bytes()


@pytest.mark.parametrize("target", [OUTCOMES, STAY], ids=["classes", "numbers"])
@pytest.mark.parametrize("seed", range(5))
def test_random_and_grown_trees_come_back_as_they_were(seed: int, target: Target) -> None:
    random = Random(seed)
    schema = random_schema(random, target)
    made = [random_tree(random, schema, random.randint(1, 20)) for _ in range(10)]
    for trees in (made, grown_trees(random, target, n_estimators=4)):
        data = trees_to_json(trees)
        loaded = trees_from_json(data)
        for after, before in zip(loaded, trees, strict=True):
            assert model_to_json(after) == model_to_json(before)
        assert trees_to_json(loaded) == data


def test_loaded_trees_share_one_schema() -> None:
    first, second = trees_from_json(trees_to_json([NUMERIC, NUMERIC.replace(schema=twin(NUMERIC.schema))]))
    assert first.schema is second.schema


def twin(schema: Schema) -> Schema:
    """An equal schema that is another object, as it comes from another process."""
    return Schema(tuple(schema.features), Target(schema.target.name, schema.target.classes))


def test_fitted_estimators_are_saved_as_their_trees() -> None:
    assert trees_to_json(iter([SimpleNamespace(tree_=NUMERIC)])) == trees_to_json([NUMERIC])


def test_a_file_with_one_tree_loads_as_a_list_of_it(tmp_path: Path) -> None:
    save(NUMERIC, tmp_path / "model.json")
    (tree,) = load_trees(tmp_path / "model.json")
    assert_same(tree, NUMERIC)


def test_a_file_with_several_trees_is_not_taken_for_one(tmp_path: Path) -> None:
    save_trees(PAIR, tmp_path / "trees.json")
    with pytest.raises(
        ModelFileError, match=r"'.*trees.json': it holds 2 trees, not one: .*load_trees\(path\)"
    ):
        load(tmp_path / "trees.json")
    with pytest.raises(ModelFileError, match="it holds 2 trees"):
        model_from_json(trees_to_json(PAIR))


# -- the text -----------------------------------------------------------------------------------------


def test_the_schema_is_there_once_and_each_tree_has_a_line() -> None:
    lines = trees_to_json(PAIR).decode().splitlines()
    assert lines[:4] == ["{", '  "format": "holdfast-model",', '  "version": 1,', '  "kind": "trees",']
    assert sum('"pain"' in line for line in lines) == 1
    trees = lines[lines.index('  "trees": [') + 1 : lines.index("  ]")]
    assert [line.split(",")[0] for line in trees] == [
        '    {"criterion": "gini"',
        '    {"criterion": "entropy"',
    ]
    assert json.loads(trees[1])["nodes"]["feature"] == MIXED.feature.tolist()


def test_the_checksum_is_that_of_the_file_without_its_line() -> None:
    lines = trees_to_json(PAIR).splitlines(keepends=True)
    rest = b"".join(line for line in lines if b'"checksum"' not in line)
    assert f'"sha256:{hashlib.sha256(rest).hexdigest()}"'.encode() in lines[4]


def test_another_layout_of_the_same_content_loads() -> None:
    data = trees_to_json(PAIR)
    other = json.dumps(json.loads(data), indent=3, sort_keys=True).encode()
    assert trees_to_json(trees_from_json(other)) == data


# -- what is not saved --------------------------------------------------------------------------------


def test_no_trees_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="without a tree there is no schema"):
        save_trees([], tmp_path / "trees.json")
    assert list(tmp_path.iterdir()) == []


def test_one_tree_is_no_list_of_trees(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"use save\(tree, path\), or \[tree\]"):
        save_trees(NUMERIC, tmp_path / "trees.json")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Cannot save a str: it is neither a tree"):
        save_trees(["model.json"], tmp_path / "trees.json")


def stump(feature: Feature, target: Target) -> Tree:
    return tree_of(split(feature.name, 40.5, leaf(5, 1.0, 0.0), leaf(5, 0.0, 1.0)), (feature,), target)


@pytest.mark.parametrize(
    ("feature", "target", "difference"),
    [
        (Feature("age", low=18.0, high=91.0), SURVIVED, "the kind, range or categories of column 'age'"),
        (Feature("years"), SURVIVED, r"their columns \('age'; 'years'\)"),
        (AGE, Target("survived", classes=("no", "perhaps")), r"the target \(Target\(.*'yes'.*'perhaps'"),
    ],
)
def test_trees_on_different_schemas_are_refused_with_the_way_out(
    feature: Feature, target: Target, difference: str
) -> None:
    trees = [stump(AGE, SURVIVED), stump(AGE, SURVIVED), stump(feature, target)]
    with pytest.raises(
        SchemaMismatch, match=rf"tree 0 and tree 2 differ in {difference}.*\[tree.with_schema\(wide\)"
    ):
        trees_to_json(trees)


def test_labels_that_are_equal_but_not_the_same_are_told_apart() -> None:
    with pytest.raises(SchemaMismatch, match="tree 0 and tree 1 differ in the target"):
        trees_to_json(
            [stump(AGE, Target("y", classes=(0, 1))), stump(AGE, Target("y", classes=(False, True)))]
        )


def test_the_way_out_works() -> None:
    first, second = stump(AGE, SURVIVED), stump(Feature("age", low=0.0, high=200.0), SURVIVED)
    wide = first.schema.widened(second.schema)
    loaded = trees_from_json(trees_to_json([tree.with_schema(wide) for tree in (first, second)]))
    assert loaded[0].schema.features[0].high == 200.0


def test_a_broken_tree_is_not_saved_and_its_position_is_told(tmp_path: Path) -> None:
    broken = NUMERIC.replace(right=np.array([7, 3, -1, -1, -1], np.int32))
    with pytest.raises(BrokenTreeError, match=r"tree 1: right\[0\] is 7"):
        save_trees([NUMERIC, broken], tmp_path / "trees.json")
    assert list(tmp_path.iterdir()) == []


# -- what is not loaded -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "it is empty"),
        (edited(('"kind": "trees"', '"kind": "forest"')), "loads: tree, trees"),
        (edited(('"kind": "trees"', '"kind": "tree"')), "at its top: Object "),
        (
            edited(('"criterion": "entropy"', '"criterion": "gini"')),
            "changed after it was written.*edited=True",
        ),
        (edited(('"criterion": "entropy"', '"notes": [], "criterion": "entropy"')), "the key 'notes' twice"),
        (edited(('"criterion": "entropy"', '"rule": "entropy"')), r"at trees\[1\]: Object .* `rule`"),
        (edited_tree(1, lambda tree: tree["nodes"]["left"].append("1")), r"at trees\[1\].nodes.left\[9\]"),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else value[:30],
)
def test_what_is_no_file_of_trees_is_refused_with_the_place(
    data: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / "trees.json").write_bytes(data)
    with pytest.raises(ModelFileError, match=f"Cannot load the model file '.*trees.json': .*{message}"):
        load_trees(tmp_path / "trees.json")
    with pytest.raises(ModelFileError, match=f"Cannot load the model: .*{message}"):
        trees_from_json(data)


def test_a_file_without_trees_is_refused() -> None:
    content = json.loads(trees_to_json(PAIR)) | {"trees": []}
    with pytest.raises(ModelFileError, match="it holds no trees"):
        trees_from_json(json.dumps(content).encode(), edited=True)


def test_a_change_that_was_meant_can_be_kept() -> None:
    data = edited(('"criterion": "entropy"', '"criterion": "gini"'))
    assert [tree.criterion for tree in trees_from_json(data, edited=True)] == ["gini", "gini"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tree: tree["nodes"]["left"].__setitem__(0, 0), r"left\[0\] is 0, not 1"),
        (lambda tree: tree["nodes"]["weight"].pop(), "weight has 8 nodes and feature has 9"),
        (lambda tree: tree["nodes"]["value"][0].append(0.5), r"value\[0\] has 3 numbers"),
    ],
    ids=["children", "lengths", "values"],
)
def test_a_change_that_breaks_a_tree_is_refused_with_its_position(
    change: Callable[[dict[str, Any]], None], message: str
) -> None:
    with pytest.raises(ModelFileError, match=rf"(its tree 1 is not sound|at trees\[1\].nodes): {message}"):
        trees_from_json(edited_tree(1, change), edited=True)


def test_many_small_trees_cannot_ask_for_much_memory() -> None:
    site = Feature("site", "nominal", categories=tuple(range(60_000)))
    content = json.loads(trees_to_json([tree_of(leaf(1, 1.0, 0.0), (site,), SURVIVED)]))
    (tree,) = content["trees"]
    n_splits = 1_000  # 60 million flags: allowed in one tree, not in two
    nodes = {name: (2 * n_splits + 1) * [column[0]] for name, column in tree["nodes"].items()}
    nodes["weight"] = (2 * n_splits + 1) * [0.0]
    nodes["feature"] = n_splits * [0] + (n_splits + 1) * [LEAF]
    nodes["categories_left"] = n_splits * [[]] + (n_splits + 1) * [None]
    nodes["left"] = [*range(1, n_splits + 1), *(n_splits + 1) * [LEAF]]
    nodes["right"] = [*range(2 * n_splits, n_splits, -1), *(n_splits + 1) * [LEAF]]
    content["trees"] = 5 * [tree | {"nodes": nodes}]
    with pytest.raises(
        ModelFileError, match=r"its tree 1 is not sound: .* needs 60000000 flags: the limit is"
    ):
        trees_from_json(json.dumps(content).encode(), edited=True)


def test_the_limit_of_bytes_is_the_users(tmp_path: Path) -> None:
    save_trees(PAIR, tmp_path / "trees.json")
    size = (tmp_path / "trees.json").stat().st_size
    assert len(load_trees(tmp_path / "trees.json", max_bytes=size)) == 2
    with pytest.raises(
        ModelFileError, match=f"has {size} bytes, and the limit is {size - 1}.*max_bytes={size}"
    ):
        load_trees(tmp_path / "trees.json", max_bytes=size - 1)


@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")  # a damaged category is an unknown one
@pytest.mark.parametrize("edited", [False, True], ids=["as written", "edited"])
def test_flipped_bytes_are_refused_or_leave_sound_trees(edited: bool) -> None:
    random = Random(7)
    schema = Schema((FEATURES[0], FEATURES[4], FEATURES[6]), OUTCOMES)
    sound = trees_to_json([random_tree(random, schema, 4) for _ in range(3)])
    rows = np.array([[30.0, "flat", "none"], [None, None, None], [80.0, "steep", "other"]], object)
    digits = [place for place, byte in enumerate(sound) if chr(byte).isdigit()]
    loaded = 0
    for turn in range(600):
        data = bytearray(sound)
        if turn % 2:  # so that it stays JSON, and the later checks have their turn
            data[random.choice(digits)] = ord(random.choice("0123456789"))
        else:
            data[random.randrange(len(data))] ^= random.randint(1, 255)
        try:
            trees = trees_from_json(bytes(data), edited=edited)
        except ModelFileError:
            continue
        loaded += 1
        saved = trees_to_json(trees)
        assert trees_to_json(trees_from_json(saved)) == saved
        assert edited or saved == sound  # the damage was to spaces, or undid itself
        if [feature.name for feature in trees[0].schema.features] == list(schema.names):
            assert all((tree.feature[tree.apply(rows)] == LEAF).all() for tree in trees)
    assert loaded > (100 if edited else 5)
