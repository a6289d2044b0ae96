"""A change policy as TOML: read strictly, and written with a sentence above every line."""

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from holdfast.errors import DataError, PolicyError
from holdfast.files import check_is_file
from holdfast.stability.policy.policy import ChangePolicy, line_of
from holdfast.text.lines import wrapped_lines

MOST_BYTES = 2**20
WIDTH = 100
_BARE = re.compile(r"[A-Za-z0-9_-]+")

_HEAD = (
    "A change policy: what an update of a deployed tree may change. Write it before the update; afterwards "
    "`holdfast policy check` says of every line whether it passes. Every line is optional: what stands "
    "behind a number sign is not judged."
)


def read_lines(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The lines of the file by name; a PolicyError if it is no TOML."""
    file = Path(path)
    try:
        check_is_file(file)
    except DataError as error:
        raise PolicyError(str(error)) from None
    with file.open("rb") as opened:
        data = opened.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise PolicyError(f"it has more than {MOST_BYTES} bytes: a policy is a page of text.")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise PolicyError(f"it is not UTF-8 at byte {error.start}: store it as UTF-8.") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise PolicyError(f"it is not TOML: {str(error)[:1].lower()}{str(error)[1:]}.") from error


def lines_text(lines: Mapping[str, Any]) -> str:
    """The lines as TOML; tables come last, as TOML wants it."""
    plain = {name: value for name, value in lines.items() if not isinstance(value, Mapping)}
    tables = {name: value for name, value in lines.items() if isinstance(value, Mapping)}
    parts = ["\n".join(_assigned(plain))] if plain else []
    parts += ["\n".join([f"[{_key(name)}]", *_assigned(table)]) for name, table in tables.items()]
    return "".join(f"{part}\n" for part in parts)


def template_text() -> str:
    """The template: every line of a policy, with what it asks for above it."""
    parts = [_commented(_HEAD)]
    for each in fields(ChangePolicy):
        known = line_of(each.name)
        text = lines_text({each.name: known.example}).rstrip()
        if not known.in_force:
            text = "\n".join(f"# {row}" for row in text.splitlines())
        parts.append([*_commented(known.says), text])
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _commented(text: str) -> list[str]:
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
