"""Thousands of damaged model files: each is refused with our error, or is a model that predicts every row.

Run as a script in a process of its own, so that a crash of the interpreter is seen as its return code.
"""

import json
import os
import random
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from holdfast.arrays import IntArray
from holdfast.data.schema import Feature
from holdfast.errors import DataError, DataWarning, ModelFileError
from holdfast.storage.model_file import model_from_json, model_to_json
from holdfast.tree.tree import LEAF, Tree


def feature(name: str, kind: str, low: float, high: float, *categories: Any) -> dict[str, Any]:
    """A feature as the file has it."""
    return {"name": name, "kind": kind, "low": low, "high": high, "categories": list(categories)}


# age <= 50.5 ? (site in {colon, skin} ? a : b) : (young ? (stage at most early ? a : c) : b)
MODEL: dict[str, Any] = {
    "format": "holdfast-model",
    "version": 1,
    "kind": "tree",
    "checksum": "",
    "criterion": "gini",
    "notes": ["made by hand"],
    "estimator": {
        "name": "TreeClassifier",
        "parameters": {
            "class_weight": {"keys": ["a", "b"], "values": [1, 2.5]},
            "growth_rules": {"keys": ["max_depth", "criterion"], "values": [4, "entropy"]},
            "max_depth": 3,
            "min_samples_leaf": 0.01,
            "n_jobs": -1,
            "custom_features": ["age ** 2 < 5000"],
            "random_state": None,
            "handle_unknown": "missing",
        },
        "left_out": ["scoring", "size_table_"],
        "has_feature_names": True,
        "label_type": "str",
        "attributes": {"ccp_alpha_": 0.125},
        "tables": {},
        "permutation": None,
        "choice": None,
        "density": None,
    },
    "schema": {
        "features": [
            feature("age", "numeric", 18.0, 90.0),
            feature("stage", "ordered", 0.0, 2.0, "early", "middle", "late"),
            feature("site", "nominal", 0.0, 1.0, "colon", "lung", "skin"),
            feature("ward", "nominal", 0.0, 1.0, 1, 2.5, "x"),
            feature("age ** 2 < 5000", "question", 0.0, 1.0, False, True),
        ],
        "target": {"name": "outcome", "classes": ["a", "b", "c"], "low": 0.0, "high": 1.0},
    },
    "nodes": {
        "feature": [0, 2, -1, -1, 4, 1, -1, -1, -1],
        "threshold": [50.5, None, None, None, None, 0.5, None, None, None],
        "left": [1, 2, -1, -1, 5, 6, -1, -1, -1],
        "right": [4, 3, -1, -1, 8, 7, -1, -1, -1],
        "missing_left": [True, False, False, False, False, True, False, False, False],
        "categories_left": [None, [0, 2], None, None, [1], None, None, None, None],
        "value": [[0.5, 0.25, 0.25]] * 9,
        "outcome": [0] * 9,
        "count": [10.0, 4.0, 1.0, 3.0, 6.0, 5.0, 2.0, 3.0, 1.0],
        "weight": [0.0] * 9,  # any two sum to any third, so that no check of weights hides a wrong child
        "impurity": [0.5, 0.25, 0.0, 0.0, 0.25, 0.125, 0.0, 0.0, 0.0],
    },
}
SOUND = model_to_json(model_from_json(json.dumps(MODEL).encode(), edited=True))
NUMBERS = [True, -1, 0, 1, 2, 3, 9, 2**31 - 1, 2**31, -(2**31), 2**64, 10**400, 0.5, -0.0, 1e308, 5e-324]
TEXTS = ["", "age", "1", "\x00", "é" * 300, "__import__('os')", "TreeRegressor", "object", "int64", "n_jobs"]
STRANGE: list[Any] = [*NUMBERS, *TEXTS, None, [], [[]], [0], {}, {"age": 1}, [None] * 100]


# -- damage -------------------------------------------------------------------------------------------


def flipped_bytes(dice: random.Random) -> bytes:
    """The file with one to three of its bytes changed."""
    data = bytearray(SOUND)
    for _ in range(dice.randint(1, 3)):
        data[dice.randrange(len(data))] ^= dice.randint(1, 255)
    return bytes(data)


def changed_digit(dice: random.Random) -> bytes:
    """The file with one digit changed: it stays JSON, so that the later checks have their turn."""
    data = bytearray(SOUND)
    place = dice.choice([index for index, byte in enumerate(data) if chr(byte).isdigit()])
    data[place] = ord(dice.choice("0123456789"))
    return bytes(data)


def truncated(dice: random.Random) -> bytes:
    """The file without its end, or without a piece of its middle."""
    begin, end = sorted((dice.randrange(len(SOUND)), dice.randrange(len(SOUND))))
    return SOUND[:begin] if dice.random() < 0.5 else SOUND[:begin] + SOUND[end:]


def edited_content(dice: random.Random) -> bytes:
    """The file with one to three edits of what it says."""
    content = json.loads(SOUND)
    for _ in range(dice.choice([1, 1, 2, 3])):
        container, key = _any_place(content, dice)
        dice.choice([_nudge, _nudge, _nudge, _exchange, _exchange, _replace, _remove, _repeat])(
            container, key, dice
        )
    return json.dumps(content).encode()


def _any_place(content: Any, dice: random.Random) -> tuple[Any, Any]:
    container, key = content, dice.choice(list(content))
    if "nodes" in content and dice.random() < 0.4:
        key = dice.choice(["nodes", "nodes", "estimator"])
        key = key if key in content else "nodes"
    while isinstance(container[key], dict | list) and container[key] and dice.random() < 0.9:
        container = container[key]
        key = dice.choice(list(container) if isinstance(container, dict) else range(len(container)))
    return container, key


def _nudge(container: Any, key: Any, dice: random.Random) -> None:
    match container[key]:
        case bool(old):
            container[key] = not old
        case int(old):
            container[key] = old + dice.choice([-1, 1])
        case float(old):
            container[key] = dice.choice([old + 0.25, -old, old * 1e9, dice.gauss(0, 50)])
        case str(old):
            container[key] = old + dice.choice("_ a'")
        case list(old):
            dice.shuffle(old)


def _exchange(container: Any, key: Any, dice: random.Random) -> None:
    other = dice.choice(list(container) if isinstance(container, dict) else range(len(container)))
    container[key], container[other] = container[other], container[key]


def _replace(container: Any, key: Any, dice: random.Random) -> None:
    container[key] = dice.choice(STRANGE)


def _remove(container: Any, key: Any, dice: random.Random) -> None:
    del container[key]
    if not container and isinstance(container, dict):
        container["left"] = 0


def _repeat(container: Any, key: Any, dice: random.Random) -> None:
    if isinstance(container, list):
        container.insert(key, container[key])
    else:
        container[f"{key}2"] = container[key]


# -- what becomes of it -------------------------------------------------------------------------------


def outcomes(damage: Callable[[random.Random], bytes], times: int) -> Counter[str]:
    """How many of the damaged files were refused, and how many are models that work."""
    dice = random.Random(damage.__name__)
    return Counter(outcome(damage(dice), edited, dice) for _ in range(times) for edited in (False, True))


def outcome(data: bytes, edited: bool, dice: random.Random) -> str:
    """Whether the file was refused or loaded; nothing else may happen."""
    try:
        model = model_from_json(data, edited=edited)
    except ModelFileError:
        return "refused"
    tree = model if isinstance(model, Tree) else model.tree_
    assert (tree.feature[routed(tree, model, dice)] == LEAF).all()
    saved = model_to_json(model)
    if not edited:
        assert saved == SOUND  # the damage was to spaces, or undid itself
        return "same"
    assert model_to_json(model_from_json(saved)) == saved
    return "loaded"


def routed(tree: Tree, model: Any, dice: random.Random) -> IntArray:
    """The leaves of some random rows, after asking for their predictions."""
    columns = [_column(feature, dice) for feature in tree.schema.columns]
    X = np.array(columns, dtype=object).T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # some categories are unknown on purpose
        with suppress(DataError):  # a policy may refuse missing values and unknown categories
            assert model.predict(X).tolist() == tree.predict(X).tolist()
        return tree.apply(X)


def _column(feature: Feature, dice: random.Random) -> list[Any]:
    # Some unknown labels, text among text and numbers among numbers: all else would be refused.
    labels = [*feature.categories, *("?" if isinstance(each, str) else 0.125 for each in feature.categories)]
    known = [dice.choice(labels) if labels else dice.uniform(-100, 100) for _ in range(8)]
    return [*known, None, None]


CAMPAIGNS = {flipped_bytes: 1500, changed_digit: 500, truncated: 500, edited_content: 1500}


@pytest.fixture(scope="module")
def seen() -> dict[str, dict[str, int]]:
    """What became of each kind of damage, in a process that must end well and in time."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-X", "faulthandler", __file__]
    process = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env=environment, check=False
    )
    assert process.returncode == 0, process.stderr
    counts: dict[str, dict[str, int]] = json.loads(process.stdout)
    return counts


def test_changed_bytes_are_refused_or_harmless(seen: dict[str, dict[str, int]]) -> None:
    assert sum(seen["flipped_bytes"].values()) == 3000
    assert seen["flipped_bytes"]["loaded"] > 5


def test_changed_digits_are_found_by_the_checksum(seen: dict[str, dict[str, int]]) -> None:
    assert seen["changed_digit"]["same"] < 75  # where a digit was replaced by itself
    assert seen["changed_digit"]["loaded"] > 150


def test_files_without_a_piece_are_refused(seen: dict[str, dict[str, int]]) -> None:
    assert seen["truncated"]["refused"] > 950


def test_edited_content_is_refused_or_a_sound_model(seen: dict[str, dict[str, int]]) -> None:
    assert seen["edited_content"]["refused"] > 1500
    assert seen["edited_content"]["loaded"] > 150


if __name__ == "__main__":
    json.dump({damage.__name__: outcomes(damage, times) for damage, times in CAMPAIGNS.items()}, sys.stdout)
