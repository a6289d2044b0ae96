"""How a setting is declared: once, as a field of a dataclass with all that is known of it.

The options of the terminal (names, defaults, help), the keywords of Python, the checks and the facts of a run
are made from these fields. The module is light: `--help` waits for it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

from holdfast.errors import ParameterError

_KEY = "setting"


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, which belongs to it unless it is open."""

    low: float
    high: float | None = None
    low_open: bool = False
    high_open: bool = False

    def __contains__(self, number: float) -> bool:
        above = number > self.low if self.low_open else number >= self.low
        return above and (
            self.high is None or (number < self.high if self.high_open else number <= self.high)
        )

    def __str__(self) -> str:
        low = f"{'above' if self.low_open else 'at least'} {self.low:g}"
        if self.high is None:
            return low
        return f"{low} and {'below' if self.high_open else 'at most'} {self.high:g}"


@dataclass(frozen=True)
class Setting:
    """All that is known of a setting but its name and its default."""

    help: str
    kind: type = str  # int, float, bool or str
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    range: Range | None = None
    repeated: bool = False  # several values, each given by an option of its own on the terminal
    from_text: Callable[[str], Any] | None = None  # the value from its text; a ValueError says what is wrong
    from_python: Callable[[Any], Any] | None = None  # the value from what Python gives; likewise
    models: tuple[str, ...] = ()  # that have a use for it; empty: all
    methods: tuple[str, ...] = ()  # of a stable tree that have a use for it; empty: all


def setting(default: Any = MISSING, /, **known: Any) -> Any:
    """A field of a dataclass with what is known of the setting; without a default it is required."""
    return field(default=default, metadata={_KEY: Setting(**known)})


def setting_of(field: "Field[Any]") -> Setting:
    """What is known of the setting that the field declares."""
    known: Setting = field.metadata[_KEY]
    return known


def option(name: str) -> str:
    """The name of the setting on the terminal.

    >>> option("max_depth")
    '--max-depth'
    """
    return f"--{name.replace('_', '-')}"


def check_names(kind: Any, names: Iterable[str]) -> None:
    """Raise a TypeError that names the nearest setting unless all of these are settings."""
    known = [each.name for each in fields(kind)]
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 1, 0.7)
            guess = f"did you mean {near[0]!r}?" if near else f"the settings are {', '.join(known)}."
            raise TypeError(f"There is no setting {name!r}: {guess}")


def checked(settings: Any) -> dict[str, Any]:
    """The values of the settings as the program works with them; a ParameterError for one it cannot."""
    return {each.name: _checked(each, getattr(settings, each.name)) for each in fields(settings)}


def _checked(field: "Field[Any]", value: Any) -> Any:
    known, name = setting_of(field), option(field.name)
    if value is None and field.default is None:
        return None
    if known.from_python is not None:
        try:
            return known.from_python(value)
        except ValueError as error:
            raise ParameterError(f"{name}: {error}") from None
    if known.repeated:
        return names_of(name, value)
    if known.choices:
        return _choice(name, known, value)
    if known.kind is bool:
        if not isinstance(value, bool):
            raise ParameterError(f"{name} {value!r} has to be True or False.")
        return value
    if known.kind is str:
        if not isinstance(value, str):
            noun = "the name of a column" if known.metavar == "COLUMN" else "a text"
            raise ParameterError(f"{name} {value!r} has to be {noun}.")
        return value
    return _number(name, known, value)


def names_of(name: str, value: Any) -> tuple[str, ...]:
    """The texts as a tuple; a single one may stand alone."""
    values = (value,) if isinstance(value, str) else value
    if isinstance(values, Mapping) or not isinstance(values, Iterable):
        raise ParameterError(f"{name} {value!r} has to be a text, or a list of texts.")
    texts = tuple(values)
    if not all(isinstance(text, str) for text in texts):
        raise ParameterError(f"{name} {value!r} has to be a text, or a list of texts.")
    return texts


def _choice(name: str, known: Setting, value: Any) -> str:
    text = value.lower() if isinstance(value, str) else value
    if text not in known.choices:
        raise ParameterError(f"{name} {value!r} is unknown: choose one of {', '.join(known.choices)}.")
    return str(text)


def _number(name: str, known: Setting, value: Any) -> float:
    wanted = Integral if known.kind is int else Real
    allowed = known.range
    is_number = isinstance(value, wanted) and not isinstance(value, bool)
    if not is_number or (allowed is not None and value not in allowed):
        noun = "an integer" if known.kind is int else "a number"
        limits = f" of {allowed}" if allowed is not None else ""
        raise ParameterError(f"{name} {value!r} is out of range: it must be {noun}{limits}.")
    number: float = known.kind(value)
    return number
