"""A change policy as TOML: read strictly, and written with a sentence above every line."""

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from holdfast.errors import PolicyError
from holdfast.stability.policy.lines import Line
from holdfast.stability.policy.policy import ChangePolicy, line_of
from holdfast.toml_file import commented, read_toml, toml_text

_HEAD = (
    "A change policy: what an update of a deployed tree may change. Write it before the update; afterwards "
    "`holdfast policy check` says of every line whether it passes. Every line is optional: what stands "
    "behind a number sign is not judged."
)


def read_lines(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The lines of the file by name; a PolicyError if it is no TOML."""
    return read_toml(path, "a policy", PolicyError)


def template_text() -> str:
    """The template: every line of a policy, with what it asks for above it."""
    return lines_template(_HEAD, {each.name: line_of(each.name) for each in fields(ChangePolicy)})


def lines_template(head: str, lines: Mapping[str, Line]) -> str:
    """A file of these lines with their examples, and with what each asks for above it."""
    parts = [commented(head)]
    for name, known in lines.items():
        text = toml_text({name: known.example}).rstrip()
        if not known.in_force:
            text = "\n".join(f"# {row}" for row in text.splitlines())
        parts.append([*commented(known.says), text])
    return "\n\n".join("\n".join(part) for part in parts) + "\n"
