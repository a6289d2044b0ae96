"""The arrays of a model file: JSON that is read piece by piece, as numbers take less room than objects."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import DTypeLike, NDArray

from holdfast.errors import ModelFileError

# Bytes that are decoded at a time. A number of one digit takes two bytes in the file, and 32 as an object.
PIECE = 2**20
LONGEST_ENTRY = 2**25  # bytes: the fractions of more than a million classes

NodeIndex = Annotated[int, msgspec.Meta(ge=-1, le=2**31 - 1)]
CategoryIndex = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


@dataclass(frozen=True)
class Form:
    """What the entries of an array are, and where one of them ends."""

    entry: Any
    end: re.Pattern[bytes]
    kind: DTypeLike = np.float64  # of an array of them

    def decoded(self, text: bytes) -> list[Any]:
        """The entries in the text of an array."""
        entries: list[Any] = msgspec.json.decode(text, type=list[self.entry])  # type: ignore[name-defined]
        return entries


_QUOTE = re.compile(rb'"')
_COMMA, _COMMA_AFTER_LIST = re.compile(rb","), re.compile(rb"[\]l]\s*,")  # or after null
INDICES = Form(NodeIndex, _COMMA, np.int32)
NUMBERS = Form(float, _COMMA)
GAPPED_NUMBERS = Form(float | None, _COMMA)
TRUTHS = Form(bool, _COMMA, np.bool_)
LISTS = Form(list[float], _COMMA_AFTER_LIST)
GAPPED_LISTS = Form(list[CategoryIndex] | None, _COMMA_AFTER_LIST)


def raw_array(entries: list[Any]) -> msgspec.Raw:
    """The entries as JSON."""
    return msgspec.Raw(msgspec.json.encode(entries))


def n_entries(array: msgspec.Raw, form: Form) -> int:
    """Number of entries, counted without decoding them: of an array that is none, any number."""
    text = bytes(array)
    if b"," not in text and not text[1:-1].strip():
        return 0
    if form.end is _COMMA:
        return text.count(b",") + 1
    return text.count(b"[") - 1 + text.count(b"null")


def holds_text(array: msgspec.Raw) -> bool:
    """True if there is a text anywhere in it, which no form of array allows."""
    return _QUOTE.search(memoryview(array)) is not None


def pieces(array: msgspec.Raw, form: Form, place: str) -> Iterator[list[Any]]:
    """The entries, some thousands at a time; a ModelFileError if they are of another form."""
    text = memoryview(array)
    if bytes(text[:1]) != b"[":
        raise ModelFileError(f"at {place}: it must be an array.")
    begin, n_before = 1, 0
    while begin < len(text):
        match = form.end.search(text, begin + PIECE)
        end = match.end() - 1 if match else len(text) - 1
        if end - begin > PIECE + LONGEST_ENTRY:
            raise ModelFileError(f"at {place}: an entry takes {end - begin} bytes, too many for any model.")
        entries = _decoded(b"[%b]" % bytes(text[begin:end]), form, place, n_before)
        yield entries
        begin, n_before = end + 1, n_before + len(entries)


def _decoded(text: bytes, form: Form, place: str, n_before: int) -> list[Any]:
    try:
        return form.decoded(text)
    except msgspec.ValidationError as error:
        problem, _, within = str(error).partition(" - at `$")
        index, _, rest = within.removeprefix("[").rstrip("`").partition("]")
        if index.isdigit():
            place = f"{place}[{n_before + int(index)}]{rest}"
        raise ModelFileError(f"at {place}: {problem[:200]}.") from error
    except (msgspec.DecodeError, RecursionError) as error:
        # The file is JSON as a whole: this piece ends within a text or a list that should not be there.
        raise ModelFileError(f"at {place}: its entries are of another kind.") from error


def array_in(array: msgspec.Raw, form: Form, place: str) -> NDArray[Any]:
    """The entries as an array of numbers; None becomes NaN."""
    numbers = np.empty(n_entries(array, form), form.kind)
    filled = 0
    for entries in pieces(array, form, place):
        numbers[filled : filled + len(entries)] = entries
        filled += len(entries)
    return numbers


def respelt(array: msgspec.Raw, form: Form, place: str) -> msgspec.Raw:
    """The array as holdfast writes it: 1 and 1e0 are 1.0 where the form has numbers."""
    texts = (msgspec.json.encode(entries)[1:-1] for entries in pieces(array, form, place))
    return msgspec.Raw(b"[%b]" % b",".join(texts))
