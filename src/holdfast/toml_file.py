"""Small TOML files that people write: read strictly, and written with a sentence above every line."""

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from holdfast.errors import DataError, HoldfastError
from holdfast.files import check_is_file
from holdfast.text.lines import wrapped_lines

MOST_BYTES = 2**20
WIDTH = 100
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def read_toml(path: str | os.PathLike[str], what: str, error_type: type[HoldfastError]) -> dict[str, Any]:
    """The lines of the file by name; an error of that type if it is no TOML. `what` it should be is named."""
    file = Path(path)
    try:
        check_is_file(file)
    except DataError as error:
        raise error_type(str(error)) from None
    with file.open("rb") as opened:
        data = opened.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise error_type(f"it has more than {MOST_BYTES} bytes: {what} is a page of text.")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise error_type(f"it is not UTF-8 at byte {error.start}: store it as UTF-8.") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise error_type(f"it is not TOML: {str(error)[:1].lower()}{str(error)[1:]}.") from error


def toml_text(lines: Mapping[str, Any]) -> str:
    """The lines as TOML; tables come last, as TOML wants it.

    >>> print(toml_text({"limits": {"age": [40, 55]}, "name": "risk"}), end="")
    name = "risk"
    [limits]
    age = [40, 55]
    """
    plain = {name: value for name, value in lines.items() if not isinstance(value, Mapping)}
    tables = {name: value for name, value in lines.items() if isinstance(value, Mapping)}
    parts = ["\n".join(_assigned(plain))] if plain else []
    parts += ["\n".join([f"[{_key(name)}]", *_assigned(table)]) for name, table in tables.items()]
    return "".join(f"{part}\n" for part in parts)


def commented(text: str) -> list[str]:
    """The text as comments, one to a line."""
    return wrapped_lines(text, WIDTH, "# ", "# ")


def _assigned(lines: Mapping[str, Any]) -> list[str]:
    return [f"{_key(name)} = {_value(value)}" for name, value in lines.items()]


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, str):
        # The escapes of JSON are TOML's, too; but for one letter that TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Iterable):
        return f"[{', '.join(_value(part) for part in value)}]"
    return repr(value)
