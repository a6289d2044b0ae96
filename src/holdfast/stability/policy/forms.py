"""What may stand in a line of a change policy: words, numbers, intervals, names of columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real
from typing import Any, Protocol

Interval = tuple[float, float]


class Form(Protocol):
    """A way to read what stands in a line; its text says what may stand there."""

    def read(self, given: Any) -> Any:
        """The value as a policy has it; a ValueError if it has another form."""


@dataclass(frozen=True)
class Word:
    """One of a few words."""

    words: tuple[str, ...]

    def read(self, given: Any) -> str:
        """The word."""
        if given not in self.words:
            raise ValueError
        return str(given)

    def __str__(self) -> str:
        return " or ".join(f'"{word}"' for word in self.words)


@dataclass(frozen=True)
class Name:
    """A text, such as the name of a metric."""

    what: str = "a name"

    def read(self, given: Any) -> str:
        """The text."""
        if not isinstance(given, str) or not given:
            raise ValueError
        return given

    def __str__(self) -> str:
        return f"{self.what} in quotes"


@dataclass(frozen=True)
class Number:
    """A number from `low` to `high`, or beyond them if these are None; the ends may be left out."""

    low: float | None = 0.0
    high: float | None = None
    is_open: bool = False  # are the ends left out?
    is_whole: bool = False

    def read(self, given: Any) -> float:
        """The number; True is none."""
        kind = Integral if self.is_whole else Real
        if not isinstance(given, kind) or isinstance(given, bool) or not isfinite(given):
            raise ValueError
        number = int(given) if isinstance(given, Integral) and self.is_whole else float(given)
        if not self._contains(number):
            raise ValueError
        return number

    def _contains(self, number: float) -> bool:
        if self.is_open and number in (self.low, self.high):
            return False
        return (self.low is None or number >= self.low) and (self.high is None or number <= self.high)

    def __str__(self) -> str:
        noun = "an integer" if self.is_whole else "a number"
        low, high = ("above", "below") if self.is_open else ("at least", "at most")
        ends = [f"{low} {self.low:g}"] if self.low is not None else []
        ends += [f"{high} {self.high:g}"] if self.high is not None else []
        return f"{noun} of {' and '.join(ends)}" if ends else noun


@dataclass(frozen=True)
class Between:
    """Two numbers, the lower one first."""

    def read(self, given: Any) -> Interval:
        """The two numbers."""
        if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
            raise ValueError
        low, high = (Number(None).read(end) for end in given)
        if low > high:
            raise ValueError
        return low, high

    def __str__(self) -> str:
        return "two numbers, the lower one first, such as [-0.2, 0.2]"


@dataclass(frozen=True)
class Intervals:
    """An interval for each of some columns."""

    def read(self, given: Any) -> dict[str, Interval]:
        """The intervals by column."""
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise ValueError
        return {name: Between().read(ends) for name, ends in given.items()}

    def __str__(self) -> str:
        return "two numbers for each column, such as age = [40, 55]"


@dataclass(frozen=True)
class Names:
    """A list of columns, none of them twice."""

    def read(self, given: Any) -> tuple[str, ...]:
        """The names."""
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise ValueError
        names = tuple(Name().read(name) for name in given)
        if len(set(names)) < len(names):
            raise ValueError
        return names

    def __str__(self) -> str:
        return 'a list of columns, none of them twice, such as ["sex", "age"]'


@dataclass(frozen=True)
class Texts:
    """A text, or a list of texts."""

    def read(self, given: Any) -> tuple[str, ...]:
        """The texts; a single one is a list of one."""
        texts = (given,) if isinstance(given, str) else given
        if not isinstance(texts, Sequence):
            raise ValueError
        return tuple(Name().read(text) for text in texts)

    def __str__(self) -> str:
        return "a text in quotes, or a list of texts"


@dataclass(frozen=True)
class People:
    """A name for each of some roles, empty where it is not known yet."""

    def read(self, given: Any) -> dict[str, str]:
        """The names by role."""
        if not isinstance(given, Mapping):
            raise ValueError
        if not all(isinstance(text, str) for each in given.items() for text in each):
            raise ValueError
        return dict(given)

    def __str__(self) -> str:
        return 'a name for each role, such as owner = "A. Kim", or "" to be filled in by hand'
