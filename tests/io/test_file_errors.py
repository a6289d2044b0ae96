import gzip
import json
import os
import pickle
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from test_model_file import MIXED

from holdfast.data.schema import Feature
from holdfast.errors import ModelFileError
from holdfast.io.model_file import load, model_from_json, model_to_json, save
from reference.trees import SURVIVED, leaf, tree_of


def edited(*changes: tuple[str, str]) -> bytes:
    text = model_to_json(MIXED).decode()
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text.encode()


class Bomb:
    def __reduce__(self) -> Any:
        return (pytest.fail, ("the pickle was loaded",))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (pickle.dumps(Bomb()), "looks like a pickle, which can run code: it is never loaded"),
        (pickle.dumps(Bomb(), protocol=0), "it is not JSON at line 1, column 1, near"),
        (gzip.compress(model_to_json(MIXED)), "compressed with gzip: unpack it first"),
        (b"PK\x03\x04...", "it is a zip archive"),
        (b"\xef\xbb\xbf" + model_to_json(MIXED), "starts with a byte order mark"),
        ("{}".encode("utf-16"), "it is UTF-16"),
        (b"age,sex\n30,male\n", "it is not JSON at line 1, column 1, near 'age,sex"),
        (model_to_json(MIXED)[:700], r"it is cut off at line 13, column \d+, near"),
        (model_to_json(MIXED) + b"}", "it is not JSON at line 31, column ., near .*: trailing characters"),
        (b"[1, 2]", "at its top: Expected `object`, got `array`"),
        (b"3", "at its top: Expected `object`, got `int`"),
        (
            b'{"learner": {}}',
            "it is JSON, but no holdfast model: its format is missing, not 'holdfast-model'",
        ),
        (b'{"format": "pmml"}', "its format is 'pmml', not 'holdfast-model'"),
        (b'{"format": 3}', "at format: Expected `str`, got `int`"),
        (b'{"a": ' + b"[" * 1_000_000, "nested too deeply"),
        (b"[" * 1_000_000, "Expected `object`, got `array`"),
        (
            b'{"format": "holdfast-model", "version": 2, "kind": "tree", "new": 1}',
            r"written by a newer holdfast \(format 2, this one reads 1\): upgrade",
        ),
        (edited(('"version": 1', '"version": 0')), "at version: Invalid enum value 0"),
        (
            edited(('"kind": "tree"', '"kind": "forest"')),
            "its kind is 'forest', and this holdfast loads: tree",
        ),
        (b'{"format": "holdfast-model", "version": 1, "kind": "tree"}', "missing required field `checksum`"),
        (edited(('"notes"', '"remarks"')), "unknown field `remarks`"),
        (edited(('"left": [1', '"left": ["1"')), r"at nodes.left\[0\]: Expected `int`, got `str`"),
        (edited(('"left": [1', '"left": [true')), r"at nodes.left\[0\]: Expected `int`, got `bool`"),
        (edited(('"left": [1', '"left": [1.0')), r"at nodes.left\[0\]: Expected `int`, got `float`"),
        (edited(('"left": [1', '"left": [2147483648')), r"at nodes.left\[0\]: Expected `int` <= 2147483647"),
        (edited(('"left": [1', f'"left": [{"9" * 9999}')), r"at nodes.left\[0\]: Integer value out of range"),
        (
            edited(('"weight": [25.0', f'"weight": [{"9" * 9999}')),
            r"at nodes.weight\[0\]: Number out of range",
        ),
        (edited(('"weight": [25.0', '"weight": [1e999')), r"at nodes.weight\[0\]: Number out of range"),
        (edited(('"weight": [25.0', '"weight": [NaN')), "it is not JSON at line 27, column 16, near .*NaN"),
        (edited(('"weight": [25.0', '"weight": [-Infinity')), "it is not JSON at line 27"),
        (
            edited(('"weight": [25.0', '"weight": [null')),
            r"at nodes.weight\[0\]: Expected `float`, got `null`",
        ),
        (
            edited(("größer", "grosser")).replace(b"grosser", b"gr\xf6sser"),
            "it is not UTF-8 at line 7, column",
        ),
        (
            edited(('"kind": "nominal"', '"kind": "set"')),
            r"at schema.features\[1\].kind: Invalid enum value 'set'",
        ),
        (
            edited(('["atypical", "none"', '[null, "none"')),
            r"at schema.features\[1\].categories\[0\]: Expected",
        ),
        (
            edited(('["atypical", "none"', f'[{2**63}, "none"')),
            r"at schema.features\[1\].categories\[0\]: Expected",
        ),
        (edited(('"criterion"', '"notes": [],\n"criterion"')), "it has the key 'notes' twice in one object"),
    ],
    ids=lambda value: None if isinstance(value, bytes) else value[:40],
)
def test_what_is_no_model_is_refused_with_the_place(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_bytes(data)
    with pytest.raises(ModelFileError, match=f"Cannot load the model file '.*model.json': .*{message}"):
        load(tmp_path / "model.json")
    with pytest.raises(ModelFileError, match=f"Cannot load the model: .*{message}"):
        model_from_json(data)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"slope", "kind"', '"incline", "kind"'),
        ('"missing_left": [false', '"missing_left": [true'),
        ('"low": 18.0', '"low": 18.000000000000004'),
        ('"checksum": "sha256:', '"checksum": "sha512:'),
    ],
)
def test_a_change_after_writing_is_noticed(old: str, new: str) -> None:
    with pytest.raises(ModelFileError, match=r"the file was changed after it was written.*edited=True"):
        model_from_json(edited((old, new)))


def test_a_change_that_was_meant_can_be_kept(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(edited(('"low": 18.0', '"low": 16.0')))
    tree = load(path, edited=True)
    assert tree.schema.features[0].low == 16.0
    save(tree, path)
    assert model_to_json(load(path)) == model_to_json(tree)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"left": [1', '"left": [0', r"it holds no sound tree: left\[0\] is 0, not 1"),
        ('"feature": [3', '"feature": [4', r"feature\[0\] is 4: the schema has 4 features"),
        (
            '"feature": [3',
            '"feature": [0',
            r"categories_left\[0\] is \[1\]: node 0 is no split on categories",
        ),
        (
            '"categories_left": [[1]',
            '"categories_left": [null',
            r"categories_left\[0\] is null: node 0 is a split",
        ),
        (
            '"categories_left": [[1]',
            '"categories_left": [[2]',
            r"categories_left\[0\] is \[2\]: .*there are 2",
        ),
        ('"categories_left": [[1]', '"categories_left": [[1, 0]', r"categories_left\[0\] is \[1, 0\]"),
        ('"categories_left": [[1]', '"categories_left": [[1, 1]', r"categories_left\[0\] is \[1, 1\]"),
        ('"weight": [25.0', '"weight": [26.0', r"weight\[0\] is 26.0, not 25.0"),
        ('"weight": [25.0, ', '"weight": [', "weight has 8 nodes and feature has 9"),
        ('"value": [[', '"value": [[0.5, ', r"value\[0\] has 3 numbers: the target needs 2"),
        ('["no", "yes"]', '["no"]', r"value\[0\] has 2 numbers: the target needs 1"),
        ('["no", "yes"]', '["no", "no"]', r"schema.target.classes\[1\] is 'no'"),
        ('"age ** 2 < 900"', '"age.mean() < 900"', r"schema.features\[3\] is no custom feature: "),
    ],
)
def test_a_change_that_breaks_the_tree_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        model_from_json(edited((old, new)), edited=True)


def test_few_bytes_cannot_ask_for_much_memory() -> None:
    categories = tuple(range(60_000))
    everywhere = Feature("site", "nominal", categories=categories)
    lone = tree_of(leaf(1, 1.0, 0.0), (everywhere,), SURVIVED)
    content = json.loads(model_to_json(lone))
    n_splits = 10_000
    repeats = {
        name: n_splits * [column[0]] + (n_splits + 1) * [column[0]]
        for name, column in content["nodes"].items()
    }
    repeats["feature"] = n_splits * [0] + (n_splits + 1) * [-1]
    repeats["categories_left"] = n_splits * [[]] + (n_splits + 1) * [None]
    content["nodes"] = repeats
    with pytest.raises(ModelFileError, match="categories_left needs 600000000 flags: the limit is"):
        model_from_json(json.dumps(content).encode(), edited=True)


# -- what is no file ----------------------------------------------------------------------------------


def test_a_missing_file_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "model.json")


def test_a_folder_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="it is a folder"):
        load(tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="named pipes and devices of POSIX")
def test_a_pipe_without_a_writer_and_an_endless_device_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ModelFileError, match="it is a pipe or a device"):
            load(path)


def test_a_file_over_the_limit_is_refused_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    with path.open("wb") as file:
        file.truncate(2 * 10**9)
    tracemalloc.start()
    with pytest.raises(
        ModelFileError, match=r"it has 2000000000 bytes, and the limit is 268435456.*max_bytes"
    ):
        load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10**7


def test_the_limit_is_the_users(tmp_path: Path) -> None:
    save(MIXED, tmp_path / "model.json")
    size = (tmp_path / "model.json").stat().st_size
    assert load(tmp_path / "model.json", max_bytes=size).n_nodes == MIXED.n_nodes
    with pytest.raises(ModelFileError, match=f"it has {size} bytes, and the limit is {size - 1}"):
        load(tmp_path / "model.json", max_bytes=size - 1)
