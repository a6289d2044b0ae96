"""Between what a tree promises of its values and the part of its document."""

import msgspec

from holdfast.errors import BrokenTreeError
from holdfast.storage.document import MonotonePart, Promise
from holdfast.tree.monotone import Monotone


def monotone_part(monotone: Monotone | None) -> Promise:
    """The part of the document; nothing if nothing is promised."""
    if monotone is None:
        return msgspec.UNSET
    names, directions = zip(*monotone.directions, strict=True)
    return MonotonePart(features=names, directions=directions, outcome=monotone.outcome)


def monotone_in(part: Promise) -> Monotone | None:
    """The promise as the document says it: whether it is sound, and kept, remains to be checked."""
    if part is msgspec.UNSET:
        return None
    if len(part.features) != len(part.directions) or len(set(part.features)) != len(part.features):
        raise BrokenTreeError("monotone must have one direction for each of its features, each there once.")
    return Monotone(tuple(zip(part.features, part.directions, strict=True)), part.outcome)
