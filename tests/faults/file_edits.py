"""Edits of model files: of their bytes, and of what they say, with a checksum that fits again."""

import json
import random
import re
from typing import Any

import msgspec

from holdfast.errors import ModelFileError
from holdfast.io.document import EnsembleDocument, TreeDocument, TreesDocument, checksum_of

DOCUMENTS = {"tree": TreeDocument, "trees": TreesDocument, "ensemble": EnsembleDocument}
NUMBERS: list[Any] = [
    *(-1, 0, 1, 2, 3, 9, 100_000, 2**31 - 1, 2**31, -(2**31), 2**53 + 1, 2**63, 10**400),
    *(0.5, -0.0, -0.25, 1e-320, 5e-324, 1e-200, 1e-9, 0.9999999, 1.0000001, 709.0, 710.0, 1e5, 1e200),
    *(1e300, 1e308, -1e308, 1.7976931348623157e308),
]
TEXTS = ["", "age", "1", "\x00", "é" * 300, "x" * 5000, "=1+1", "mean", "softmax", "exp", "identity", "trees"]
TEXTS += ["TreeRegressor", "StableTreeClassifier", "eval", "__class__", "unknown", "n_jobs", "int8", "object"]
STRANGE: list[Any] = [*NUMBERS, *TEXTS, True, False, None, [], [[]], [0], {}, {"age": 1}, [None] * 100]
QUESTIONS = ["age > 1", "age ** 99 > 1", "1 / 0 > age", "site == ward", "stage < 'late'", "a" * 2000, "("]


# -- bytes --------------------------------------------------------------------------------------------


def raw_edit(data: bytes, dice: random.Random) -> bytes:
    """The file after one edit of its bytes."""
    return dice.choice([_flipped, _flipped, _with_digit, _with_number, _cut, _doubled])(data, dice)


def _flipped(data: bytes, dice: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(dice.randint(1, 3)):
        changed[dice.randrange(len(changed))] ^= dice.randint(1, 255)
    return bytes(changed)


def _with_digit(data: bytes, dice: random.Random) -> bytes:
    changed = bytearray(data)
    places = [place for place, byte in enumerate(data) if chr(byte).isdigit()]
    changed[dice.choice(places)] = ord(dice.choice("0123456789"))
    return bytes(changed)


def _with_number(data: bytes, dice: random.Random) -> bytes:
    match = dice.choice(list(re.finditer(rb"(?<=[ \[])-?\d+(\.\d+)?(?=[,\]])", data)))
    return data[: match.start()] + json.dumps(dice.choice(NUMBERS)).encode() + data[match.end() :]


def _cut(data: bytes, dice: random.Random) -> bytes:
    begin, end = sorted(dice.randrange(len(data)) for _ in range(2))
    return data[:begin] if dice.random() < 0.3 else data[:begin] + data[end:]


def _doubled(data: bytes, dice: random.Random) -> bytes:
    begin = dice.randrange(len(data))
    end = min(begin + dice.randint(1, 200), len(data))
    return data[:end] + dice.choice([1, 1, 50]) * data[begin:end] + data[end:]


# -- content ------------------------------------------------------------------------------------------


def content_edit(data: bytes, dice: random.Random) -> bytes:
    """The file after one to three edits of what it says, with the checksum of what it says then."""
    content = json.loads(data)
    for _ in range(dice.choice([1, 1, 1, 2, 3])):
        container, key = _any_place(content, dice)
        edits = [_nudge, _nudge, _nudge, _exchange, _exchange, _replace, _replace, _remove, _repeat, _fill]
        dice.choice([*edits, _scale, _question])(container, key, dice)
        if not isinstance(content, dict) or not content:
            break
    return _with_checksum(content)


def _with_checksum(content: Any) -> bytes:
    data = json.dumps(content).encode()
    document = DOCUMENTS.get(content.get("kind") if isinstance(content.get("kind"), str) else "")
    if document is None:
        return data
    try:
        content["checksum"] = checksum_of(msgspec.json.decode(data, type=document))
    except (msgspec.MsgspecError, ModelFileError, UnicodeError):
        return data
    return json.dumps(content).encode()


def _any_place(content: Any, dice: random.Random) -> tuple[Any, Any]:
    telling = [name for name in ("nodes", "trees", "weights", "start", "link", "votes") if name in content]
    telling += 6 * ["estimator"] * ("estimator" in content)
    container, key = content, dice.choice([*content, *telling])
    while isinstance(container[key], dict | list) and container[key] and dice.random() < 0.88:
        container = container[key]
        key = dice.choice(_keys(container))
    return container, key


def _keys(container: Any) -> list[Any]:
    return list(container) if isinstance(container, dict) else list(range(len(container)))


def _nudge(container: Any, key: Any, dice: random.Random) -> None:
    match container[key]:
        case bool(old):
            container[key] = not old
        case int(old):
            container[key] = old + dice.choice([-1, 1])
        case float(old):
            container[key] = dice.choice([old + 0.25, -old, old * 1e9, old * 1e300, dice.gauss(0, 50), 0.0])
        case str(old):
            container[key] = old + dice.choice("_ a'")
        case list(old):
            dice.shuffle(old)


def _exchange(container: Any, key: Any, dice: random.Random) -> None:
    other = dice.choice(_keys(container))
    container[key], container[other] = container[other], container[key]


def _replace(container: Any, key: Any, dice: random.Random) -> None:
    container[key] = dice.choice(STRANGE)


def _remove(container: Any, key: Any, dice: random.Random) -> None:
    del container[key]


def _repeat(container: Any, key: Any, dice: random.Random) -> None:
    if isinstance(container, list):
        container[key:key] = dice.choice([1, 1, 2, 40, 3000]) * [container[key]]
    else:
        container[f"{key}2"] = container[key]


def _fill(container: Any, key: Any, dice: random.Random) -> None:
    """An array with the same entry everywhere, as long as before or much longer."""
    if isinstance(container[key], list) and container[key]:
        length = dice.choice([len(container[key]), len(container[key]), 60_000])
        container[key] = [dice.choice([*container[key], *NUMBERS])] * length
    elif isinstance(container, list):
        container[:] = [container[key]] * len(container)


def _scale(container: Any, key: Any, dice: random.Random) -> None:
    """All numbers of an array times one factor, so that sums and shares still fit together."""
    factor = dice.choice([-1.0, 0.0, 1e-300, 1e-9, 1e9, 1e150, 1e300])
    numbers = container if isinstance(container, list) else container[key]
    if isinstance(numbers, list):
        numbers[:] = [each * factor if isinstance(each, float) else each for each in numbers]


def _question(container: Any, key: Any, dice: random.Random) -> None:
    if isinstance(container, dict) and "name" in container:
        container["name"] = dice.choice(QUESTIONS)
