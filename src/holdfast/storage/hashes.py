"""Hashes as model files and registers write them: sha256: and 64 digits."""

import json
import re
from hashlib import sha256
from typing import Annotated, Any

import msgspec

from holdfast.errors import HoldfastError

FEWEST_DIGITS = 8  # of a hash that is given in short
Hash = Annotated[str, msgspec.Meta(pattern="^sha256:[0-9a-f]{64}$")]
_GIVEN = re.compile(r"(?:sha256:)?([0-9a-f]{1,64})")


def hash_of(data: bytes) -> str:
    """SHA-256 of the bytes."""
    return f"sha256:{sha256(data).hexdigest()}"


def content_hash(content: Any) -> str:
    """SHA-256 of the content as JSON, whatever the order of its names."""
    return hash_of(json_line(content, sort_keys=True))


def json_line(content: Any, *, sort_keys: bool = False) -> bytes:
    """The content as JSON in one line; a ValueError or TypeError for what JSON has no word for."""
    options: dict[str, Any] = {"ensure_ascii": False, "allow_nan": False, "separators": (",", ":")}
    text = json.dumps(content, sort_keys=sort_keys, **options)
    return text.encode("utf-8", "replace")  # half a character, which UTF-8 has not, is a question mark


def hash_start(text: str, error_type: type[HoldfastError]) -> str:
    """What the hash that a user gives, whole or in short, begins with; an error of this type if it is none.

    >>> from holdfast.errors import RegisterError
    >>> hash_start("B0AEB3F7", RegisterError)
    'sha256:b0aeb3f7'
    """
    digits = _GIVEN.fullmatch(text.strip().lower())
    if digits is None or len(digits[1]) < FEWEST_DIGITS:
        raise error_type(
            f"{text!r} is no hash: give sha256: and 64 digits, or at least the first {FEWEST_DIGITS} of them."
        )
    return f"sha256:{digits[1]}"
