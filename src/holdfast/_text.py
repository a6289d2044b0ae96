"""Numbers, counts, times, names and lists as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import floor, isfinite, isnan, log10
from re import sub
from statistics import median
from textwrap import wrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast._arrays import BoolArray, LongArray

MOST_DECIMALS = 6
WORDS = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
HUGE = 1e6  # numbers from here on have a few digits and a power of ten


def number_text(value: float, digits: int = 6) -> str:
    """Format a number to `digits` significant digits, but never without its integer part and one decimal.

    A threshold halfway between two integers is therefore never rounded to one of them.

    >>> number_text(0.1 + 0.2), number_text(1234567.5)
    ('0.3', '1234567.5')
    """
    if not isfinite(value):
        return str(value)
    integer_digits = len(str(int(abs(value))))
    return f"{value + 0.0:.{max(digits, integer_digits + 1) if integer_digits <= 15 else digits}g}"


def distinct_texts(first: float, second: float, digits: int = 4, most: int = 12) -> tuple[str, str]:
    """Format two numbers to `digits` digits, or to as many more, up to `most`, as make them differ.

    >>> distinct_texts(4.4741, 4.4739)
    ('4.4741', '4.4739')
    """
    for each in range(digits, most + 1):
        texts = number_text(first, each), number_text(second, each)
        if texts[0] != texts[1]:
            break
    return texts


def fixed_text(value: float, decimals: int, sign: str = "", huge: float = HUGE) -> str:
    """Format a number to `decimals` decimals; from `huge` on, to three digits and a power of ten.

    >>> fixed_text(-0.0004, 3), fixed_text(0.25, 3, "+"), fixed_text(1234567.8, 1)
    ('0.000', '+0.250', '1.23e+06')
    """
    # Adding 0 turns -0.00 into 0.00.
    return (
        f"{value:{sign}.3g}" if abs(value) >= huge else f"{round(value, decimals) + 0.0:{sign}.{decimals}f}"
    )


# -- values with errors --------------------------------------------------------------------------------------


def decimals_of_values(values: Iterable[float], digits: int, of_zero: int = 0) -> int:
    """Return the decimals that show `digits` digits of the greatest value; `of_zero` if all are 0.

    >>> decimals_of_values([0.0123, 4.5], 3)
    2
    """
    greatest = max((abs(float(value)) for value in values if not isnan(value)), default=0.0)
    return min(max(0, digits - 1 - floor(log10(greatest))), MOST_DECIMALS) if greatest else of_zero


def decimals_of_errors(errors: Iterable[float]) -> int | None:
    """Return the decimals that show two digits of the median error; None if no error is above 0.

    >>> decimals_of_errors([0.0121, 0.0144])
    3
    """
    known = [float(error) for error in errors if error > 0]
    return min(max(0, 1 - floor(log10(median(known)))), MOST_DECIMALS) if known else None


def estimate_texts(values: Sequence[float], errors: Sequence[float]) -> list[str]:
    """Format values with their standard errors, in as many decimals as the errors justify.

    >>> estimate_texts([0.97123, 0.95], [0.0121, 0.0144])
    ['0.971 ± 0.012', '0.950 ± 0.014']
    """
    pairs = list(zip(values, errors, strict=True))
    if max(map(abs, values), default=0.0) >= HUGE:
        return [f"{value:.4g} ± {error:.2g}" for value, error in pairs]
    known = decimals_of_errors(errors)
    decimals = 3 if known is None else known
    return [f"{fixed_text(value, decimals)} ± {fixed_text(error, decimals)}" for value, error in pairs]


def estimate_text(value: float, error: float, room: int = 0) -> str:
    """Format a value to four digits with its standard error to two, padded to `room` letters.

    >>> estimate_text(0.97123, 0.0121)
    '0.9712 ± 0.012'
    """
    return f"{value:.4g} ± {error:<{room}.2g}"


# -- fractions -----------------------------------------------------------------------------------------------


def probability_text(fraction: float) -> str:
    """Format a probability to two decimals, or to as many as distinguish it from 0 and 1.

    >>> probability_text(1.0), probability_text(0.9987)
    ('1.00', '0.999')
    """
    text = f"{fraction:.2f}"
    for decimals in range(3, 7):
        if 0 < fraction < 1 and float(text) in (0, 1):
            text = f"{fraction:.{decimals}f}"
    return text


def loss_text(loss: float) -> str:
    """Format the lost fraction of a fit in percent; "all" if a constant would fit better.

    >>> loss_text(0.021), loss_text(-1e-9), loss_text(1.876)
    ('2.1 %', '0.0 %', 'all')
    """
    return "all" if loss >= 1.0 else percent_text(max(loss, 0.0))


def percent_text(fraction: float) -> str:
    """Format a fraction in percent, to one decimal."""
    return "< 0.1 %" if 0 < fraction < 0.0005 else f"{100 * fraction:.1f} %"


def rounded_percent(fraction: float) -> str:
    """Format a fraction in whole percent, never rounded to 0 or to 100 %.

    >>> rounded_percent(0.618), rounded_percent(0.999), rounded_percent(1.0)
    ('62 %', '> 99 %', '100 %')
    """
    if 0 < fraction < 0.005:
        return "< 1 %"
    return "> 99 %" if 0.995 <= fraction < 1 else f"{100 * fraction:.0f} %"


def percent_range(low: float, high: float) -> str:
    """Format an interval of fractions in percent, its ends never rounded to 0 or to 100 %.

    >>> percent_range(0.257, 0.534), percent_range(0.997, 1.0)
    ('26 to 53 %', '> 99 to 100 %')
    """
    low, high = round(low, 9), round(high, 9)  # a rounding error such as 1e-17 is 0
    return f"{rounded_percent(low).removesuffix(' %')} to {rounded_percent(high)}"


# -- counts and times ----------------------------------------------------------------------------------------


def pluralize(number: float, noun: str, several: str = "") -> str:
    """Return the number with the noun, in the plural unless it is one.

    >>> pluralize(1, "row"), pluralize(12345, "row"), pluralize(2, "leaf", "leaves")
    ('1 row', '12,345 rows', '2 leaves')
    """
    return f"{number:,.0f} {noun if number == 1 else several or plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a noun.

    >>> plural("patient"), plural("policy")
    ('patients', 'policies')
    """
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else f"{noun}s"


def list_text(parts: Iterable[str]) -> str:
    """List the parts in a sentence.

    >>> list_text(["age", "sex", "ward"])
    'age, sex and ward'
    """
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def number_word(number: int) -> str:
    """Format a number up to twelve as a word, a greater one in digits.

    >>> number_word(8), number_word(1234)
    ('eight', '1,234')
    """
    return WORDS[number] if number < len(WORDS) else f"{number:,}"


def count_text(count: float) -> str:
    """Format a number of rows, which is not an integer if rows have weights.

    >>> count_text(12345.0), count_text(0.25)
    ('12,345', '0.25')
    """
    return f"{count:,.0f}" if count == round(count) else number_text(count)


def rows_text(count: float) -> str:
    """Format a number of rows with the noun."""
    return f"{count_text(count)} {'row' if count == 1 else 'rows'}"


def duration_text(seconds: float) -> str:
    """Format a time in seconds or milliseconds.

    >>> duration_text(0.0123), duration_text(75.0)
    ('12 ms', '75.0 s')
    """
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


# -- names and rows in messages ------------------------------------------------------------------------------


def quoted(things: Iterable[Any], limit: int = 10) -> str:
    """List things as Python writes them, separated by commas, cut after `limit`.

    >>> quoted(["age", "bmi", "sex"], limit=2)
    "'age', 'bmi' and 1 more"
    """
    return join_parts([repr(thing) for thing in things], limit)


def join_parts(parts: list[str], limit: int = 10) -> str:
    """List the parts separated by commas, cut after `limit`."""
    rest = len(parts) - limit
    return ", ".join(parts[:limit]) + (f" and {rest} more" if rest > 0 else "")


@dataclass(frozen=True, eq=False)
class RowLabels:
    """Names of rows in messages: lines of a file, or labels of a frame."""

    labels: Any  # an array, or an index of pandas
    noun: str = "row"

    @classmethod
    def of(cls, data: Any) -> RowLabels | None:
        """Return the labels of a pandas frame or series; None for data without labels.

        >>> import pandas
        >>> RowLabels.of(pandas.Series([1, 2], index=["ann", "bob"])).labels[1]
        'bob'
        """
        native = data.to_native() if hasattr(data, "to_native") else data
        labels = getattr(native, "index", None)
        return None if labels is None or callable(labels) else cls(labels)

    def subset(self, rows: BoolArray | LongArray) -> RowLabels:
        """Return the names of the selected rows."""
        return RowLabels(self.labels[rows], self.noun)


def row_name(position: int, rows: RowLabels | None = None) -> str:
    """Return the name of the row at this position: 'row 3', or 'line 5' in a file.

    >>> import numpy as np
    >>> row_name(3), row_name(3, RowLabels(np.array([2, 3, 4, 5]), "line"))
    ('row 3', 'line 5')
    """
    return f"row {position}" if rows is None else f"{rows.noun} {_label(rows.labels[position])}"


def first_rows(flags: BoolArray, rows: RowLabels | None = None, limit: int = 3) -> str:
    """Name the first rows with a true flag.

    >>> import numpy as np
    >>> first_rows(np.array([False, True, True]))
    'first at rows 1, 2'
    """
    places = flags.nonzero()[0][:limit].tolist()
    noun = "row" if rows is None else rows.noun
    labels = [str(place) if rows is None else _label(rows.labels[place]) for place in places]
    return f"first at {noun}{'s' if len(labels) > 1 else ''} {', '.join(labels)}"


def _label(label: Any) -> str:
    return repr(label) if isinstance(label, str) else str(label)


def closest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name with the most similar spelling, ignoring case; None if none is similar.

    >>> closest_name("Severity", ["age", "severity"]), closest_name("hue", ["age"])
    ('severity', None)
    """
    names = {each.lower(): each for each in reversed(list(known))}
    near = get_close_matches(name.lower(), list(names), 1, 0.6)
    return names[near[0]] if near else None


def columns_text(absent: Iterable[str], known: Sequence[str]) -> str:
    """Suggest columns for names that are no columns, and list the columns.

    >>> columns_text(["Age"], ["age", "sex"])
    "Did you mean 'age'? The columns are 'age', 'sex'."
    """
    meant = [near for name in absent if (near := closest_name(str(name), map(str, known))) is not None]
    suggestion = f"Did you mean {quoted(meant)}? " if meant else ""
    return f"{suggestion}The columns are {quoted(known, 30)}."


# -- text that fits ------------------------------------------------------------------------------------------

NO_BREAK = "\N{NO-BREAK SPACE}"
CUT = "…"  # marks text that a drawing or the terminal omits
_QUOTED = r"""(?<=[{ ])(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?=[,}])"""  # a category of a list, in quotes


def printable(text: str) -> str:
    """Escape line breaks and other invisible characters."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def shorten(text: str, width: int) -> str:
    """Shorten a text to `width` letters by its middle, as name and threshold stand at the ends."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 3
    return f"{text[: width - 1 - tail]}{CUT}{text[len(text) - tail :]}"


def left_out_text(whole: str) -> str:
    """Return the note below a shortened text: the meaning of the sign, and where to find all of it."""
    return f"{CUT} stands for what is left out: {whole} has all of it."


def protect_spaces(text: str) -> str:
    """Replace the spaces inside the categories of a condition by NO_BREAK."""
    whole = sub(_QUOTED, lambda match: match[0].replace(" ", NO_BREAK), text)
    return sub(r"(?<!,) (?=[^{}]*\})", NO_BREAK, whole)


def wrap_lines(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """Wrap a text to lines of at most `width` letters that begin with `first`, then with `rest`.

    No line breaks at a hyphen or at a NO_BREAK, which becomes a space.
    """
    lines = wrap(text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return [line.replace(NO_BREAK, " ") for line in lines]


def label_text(label: object) -> str:
    """Format a category or class; 1.0 and 1 give the same text."""
    if isinstance(label, float) and label.is_integer() and abs(label) < 1e15:
        return str(int(label))
    return printable(str(label))


def item_text(label: object) -> str:
    """Format a label within a list, in quotes if it contains a comma or a brace."""
    text = label_text(label)
    is_plain = text == text.strip() and text and not any(mark in text for mark in ",{}")
    return text if is_plain else repr(text)
