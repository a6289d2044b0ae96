"""Reference trees in a model file: small, exact, and refused if damaged."""

import base64
import json
import zlib
from typing import Any

import numpy as np
import pytest

from holdfast import StableTreeClassifier
from holdfast.errors import ModelFileError
from holdfast.io.model_file import model_from_json, model_to_json

DICE = np.random.default_rng(0)
X = DICE.normal(size=(300, 5)).round(2)
Y = X[:, 0] * X[:, 1] + X[:, 2] + DICE.normal(size=300) > 0.2


def fit(**options: Any) -> Any:
    return StableTreeClassifier(teacher="linear", n_estimators=20, max_leaf_nodes=6, **options).fit(X, Y)


MODEL = fit()
FILE = model_to_json(MODEL)


def edit(**changes: Any) -> bytes:
    """The file with other fields of its references; a checksum is not looked at with edited=True."""
    document = json.loads(FILE)
    document["references"] |= changes
    return json.dumps(document).encode()


def repack(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data)).decode()


PACKED = json.loads(FILE)["references"]["packed"]
RAW = zlib.decompress(base64.b64decode(PACKED))


def test_a_hundred_trees_of_twelve_leaves_take_less_than_60_kb() -> None:
    model = StableTreeClassifier(teacher="linear", max_leaf_nodes=12, min_samples_leaf=5).fit(X, Y)
    assert (len(model.references_), max(tree.n_leaves for tree in model.references_.trees)) == (100, 12)
    with_trees, without = (len(model_to_json(model, references=each)) for each in (True, False))
    assert with_trees - without < 60_000


def test_the_file_is_the_same_after_a_journey() -> None:
    loaded = model_from_json(FILE)
    assert model_to_json(loaded) == FILE
    pairs = zip(loaded.references_.trees, MODEL.references_.trees, strict=True)
    for one, other in pairs:
        for name in ("feature", "threshold", "left", "right", "missing_left", "set_start", "in_set", "value"):
            assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=name == "threshold")


def test_a_file_without_references_can_still_be_loaded() -> None:
    data = model_to_json(MODEL, references=False)
    assert not {"references", "candidates"} & json.loads(data).keys()
    loaded = model_from_json(data)
    assert loaded.predict(X).tolist() == MODEL.predict(X).tolist()
    assert model_to_json(loaded) == data


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"packed": "no base64!"}, "cannot be unpacked"),
        ({"packed": PACKED[:-8]}, "cannot be unpacked|end is missing"),
        ({"packed": repack(RAW[:-1])}, "bytes are needed"),
        ({"packed": repack(RAW + b"1")}, "1 bytes are left over"),
        ({"packed": repack(b"\0" * 2**25)}, "more than"),
        ({"n_trees": 0}, "0 trees"),
        ({"n_trees": 2**31 - 1}, "too many for the file"),
        ({"n_trees": 19}, "at references"),
        ({"sizes": [4, 4]}, "twice"),
        ({"sizes": []}, "left over"),
    ],
)
def test_damaged_references_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        model_from_json(edit(**changes), edited=True)


def test_random_bytes_give_an_error_or_sound_trees() -> None:
    rng = np.random.default_rng(1)
    n_sound = 0
    for _ in range(300):
        raw = bytearray(RAW)
        for place in rng.integers(0, len(raw), rng.integers(1, 4)).tolist():
            raw[place] = int(rng.integers(256))
        try:
            loaded = model_from_json(edit(packed=repack(bytes(raw))), edited=True)
        except ModelFileError:
            continue
        share = loaded.predict_firmness(X).share
        assert ((share >= 0) & (share <= 1)).all()
        n_sound += 1
    assert 0 < n_sound < 300


def test_unsound_candidates_are_refused() -> None:
    document = json.loads(FILE)
    assert document["candidates"]
    for change, message in [
        ({"candidate": 999}, "the frontier has"),
        ({"candidate": document["candidates"][-1]["candidate"]}, "there twice"),
    ]:
        changed = json.loads(FILE)
        changed["candidates"][0] |= change
        with pytest.raises(ModelFileError, match=message):
            model_from_json(json.dumps(changed).encode(), edited=True)
    changed = json.loads(FILE)
    changed["candidates"][0]["nodes"]["left"][0] = 0
    with pytest.raises(ModelFileError, match="candidate 0 is not sound"):
        model_from_json(json.dumps(changed).encode(), edited=True)
    del changed["references"]
    with pytest.raises(ModelFileError):
        model_from_json(json.dumps(changed).encode(), edited=True)
