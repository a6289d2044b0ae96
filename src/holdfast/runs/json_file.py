"""Figures for programs: JSON that every reader takes."""

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from holdfast.files import replace_file


def write_json(content: Mapping[str, Any], path: Path) -> None:
    """Write the content, with null for every number that JSON has no word for, all or nothing."""
    text = json.dumps(finite(content), indent=2, ensure_ascii=False, allow_nan=False)
    replace_file(path, f"{text}\n".encode())


def finite(value: Any) -> Any:
    """The value with None for every number that JSON has no word for."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): finite(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [finite(part) for part in value]
    return value
