"""Files of named lines, checked by msgspec: the base of change policies and model cards, read from TOML."""

import json
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

import msgspec
import numpy as np
from msgspec import Meta

from holdfast._files import check_is_file
from holdfast._text import closest_name, quoted, wrap_lines
from holdfast.errors import DataError, HoldfastError

MAX_BYTES = 2**20
WIDTH = 100
GREATEST = sys.float_info.max  # TOML has infinity, the lines of a form do not
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


class TomlForm(msgspec.Struct, frozen=True, kw_only=True):
    """Named lines, each optional; `line` gives the description and the example of each in the template."""

    error_type: ClassVar[type[HoldfastError]]
    noun: ClassVar[str]  # what the file holds, for messages
    head: ClassVar[str]  # first comment of the template

    def __post_init__(self) -> None:
        # msgspec checks what it decodes, and nothing that Python code passes.
        for each in msgspec.structs.fields(self):
            value = getattr(self, each.name)
            if value is None and each.default is None:
                continue
            metas = _find_metas(each.type)
            try:
                value = msgspec.convert(_to_plain(value), each.type)
                for meta in metas:
                    value = (meta.extra or {}).get("check", _unchanged)(value)
            except (msgspec.ValidationError, ValueError, TypeError):
                must_be = next(meta.title for meta in metas if meta.title)
                raise self.error_type(
                    f"The line {each.name} must be {must_be}, got {getattr(self, each.name)!r}."
                ) from None
            msgspec.structs.force_setattr(self, each.name, value)

    @classmethod
    def from_dict(cls, lines: Mapping[str, Any]) -> Self:
        """Make it from lines by name; an error names a line that is unknown or malformed."""
        for name, value in lines.items():
            if name not in cls.__struct_fields__:
                suggestion = suggest_name(str(name), cls.__struct_fields__)
                raise cls.error_type(f"There is no line {name!r} (= {value!r}): {suggestion}")
        return cls(**lines)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a TOML file; an error names the line that is wrong."""
        try:
            return cls.from_dict(read_toml(path, cls.noun, cls.error_type))
        except cls.error_type as error:
            raise cls.error_type(f"Cannot use the {cls.noun} '{os.fspath(path)}': {error}") from error

    @classmethod
    def template(cls) -> Self:
        """Return the lines of the template, to be edited before use."""
        metas = cls._line_metas().items()
        return cls(**{name: _example(meta) for name, meta in metas if _is_in_template(meta)})

    @classmethod
    def template_text(cls) -> str:
        """Return the template as TOML: every line with its example, and its description above it."""
        parts = [_to_comment(cls.head)]
        for name, meta in cls._line_metas().items():
            text = format_toml({name: _example(meta)}).rstrip()
            if not _is_in_template(meta):
                text = "\n".join(f"# {row}" for row in text.splitlines())
            parts.append([*_to_comment(meta.description or ""), text])
        return "\n\n".join("\n".join(part) for part in parts) + "\n"

    @classmethod
    def _line_metas(cls) -> dict[str, Meta]:
        """Return the description and the example of each line."""
        return {each.name: each.type.__metadata__[-1] for each in msgspec.structs.fields(cls)}

    def to_dict(self) -> dict[str, Any]:
        """Return the lines that are stated, as `from_dict` reads them, with lists for tuples."""
        lines = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: _to_plain(value) for name, value in lines.items() if value not in (None, (), [], {})}

    def to_toml(self) -> str:
        """Return the lines that are stated, as a file that `load` reads."""
        return format_toml(self.to_dict())


def line(description: str, example: Any, *, in_template: bool = True) -> Meta:
    """Describe a line of a form; with `in_template=False` its example is a comment of the template."""
    return Meta(description=description, examples=[example], extra={"in_template": in_template})


def _find_metas(hint: Any) -> list[Meta]:
    """Find the `Meta` of a type and of its parts, the outermost first."""
    own = [each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Meta)]
    return own + [meta for part in get_args(hint) for meta in _find_metas(part)]


def _example(meta: Meta) -> Any:
    return (meta.examples or [None])[0]


def _is_in_template(meta: Meta) -> bool:
    return bool((meta.extra or {})["in_template"])


def _unchanged(value: Any) -> Any:
    return value


def _to_plain(value: Any) -> Any:
    """Replace tuples by lists, and numbers of numpy by those of Python; a ValueError for a set."""
    if isinstance(value, Mapping):
        return {name: _to_plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(part) for part in value]
    if isinstance(value, set | frozenset):
        raise ValueError
    return value.item() if isinstance(value, np.generic) else value


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Suggest the nearest known name, or list all.

    >>> suggest_name("max_chrun", ["max_churn", "max_flips"]), suggest_name("hue", ["age"])
    ("did you mean 'max_churn'?", "choose one of 'age'.")
    """
    names = list(known)
    near = closest_name(name, names)
    return f"choose one of {quoted(names, 30)}." if near is None else f"did you mean {near!r}?"


# -- types of lines ---------------------------------------------------------------------------------------
# The title completes "The line x must be ...". `check` checks, or changes, what msgspec has decoded.


def _check_order(ends: tuple[float, float]) -> tuple[float, float]:
    if ends[0] > ends[1]:
        raise ValueError
    return ends


def _check_each_order(intervals: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    return {name: _check_order(ends) for name, ends in intervals.items()}


def _check_distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise ValueError
    return names


def _as_tuple(texts: str | tuple[str, ...]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else texts


Permission = Annotated[Literal["allowed", "never"], Meta(title='"allowed" or "never"')]
Text = Annotated[str, Meta(min_length=1, title="a text in quotes")]
Number = Annotated[float, Meta(ge=-GREATEST, le=GREATEST, title="a number")]
Amount = Annotated[float, Meta(ge=0, le=GREATEST, title="a number of at least 0")]
Fraction = Annotated[float, Meta(ge=0, le=1, title="a number between 0 and 1")]
Confidence = Annotated[float, Meta(gt=0.5, lt=1, title="a number above 0.5 and below 1")]
Count = Annotated[int, Meta(ge=0, title="an integer of at least 0")]
PositiveCount = Annotated[int, Meta(ge=1, title="an integer of at least 1")]
Range = Annotated[
    tuple[Number, Number],
    Meta(title="two numbers, the lower one first, such as [-0.2, 0.2]", extra={"check": _check_order}),
]
ColumnRanges = Annotated[
    dict[str, tuple[Number, Number]],
    Meta(
        title="two numbers for each column, the lower one first, such as age = [40, 55]",
        extra={"check": _check_each_order},
    ),
]
ColumnNames = Annotated[
    tuple[Text, ...],
    Meta(
        title='a list of columns, none of them twice, such as ["sex", "age"]',
        extra={"check": _check_distinct},
    ),
]
Texts = Annotated[
    Text | tuple[Text, ...],
    Meta(title="a text in quotes, or a list of texts", extra={"check": _as_tuple}),
]
Roles = Annotated[
    dict[str, str],
    Meta(title='a name for each role, such as owner = "A. Kim", or "" to be filled in by hand'),
]


# -- TOML -------------------------------------------------------------------------------------------------


def read_toml(path: str | os.PathLike[str], noun: str, error_type: type[HoldfastError]) -> dict[str, Any]:
    """Read the lines of a TOML file by name; an error of that type if it is not TOML."""
    file = Path(path)
    try:
        check_is_file(file)
    except DataError as error:
        raise error_type(str(error)) from None
    with file.open("rb") as opened:
        data = opened.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise error_type(f"it has more than {MAX_BYTES} bytes: a {noun} is a page of text.")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise error_type(f"it is not UTF-8 at byte {error.start}: store it as UTF-8.") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise error_type(f"it is not TOML: {str(error)[:1].lower()}{str(error)[1:]}.") from error


def format_toml(lines: Mapping[str, Any]) -> str:
    """Write the lines as TOML; tables come last, as TOML requires.

    >>> print(format_toml({"limits": {"age": [40, 55]}, "name": "risk"}), end="")
    name = "risk"
    [limits]
    age = [40, 55]
    """
    plain = {name: value for name, value in lines.items() if not isinstance(value, Mapping)}
    tables = {name: value for name, value in lines.items() if isinstance(value, Mapping)}
    parts = ["\n".join(_assignments(plain))] if plain else []
    parts += ["\n".join([f"[{_key(name)}]", *_assignments(table)]) for name, table in tables.items()]
    return "".join(f"{part}\n" for part in parts)


def _assignments(lines: Mapping[str, Any]) -> list[str]:
    return [f"{_key(name)} = {_value(value)}" for name, value in lines.items()]


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, str):
        # The escapes of JSON are those of TOML, but for one character that TOML escapes, too.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Iterable):
        return f"[{', '.join(_value(part) for part in value)}]"
    return repr(value)


def _to_comment(text: str) -> list[str]:
    return wrap_lines(text, WIDTH, "# ", "# ")
