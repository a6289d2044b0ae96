"""What all parts of a document have in common."""

from typing import Annotated

import msgspec

Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
# JSON tells 1, 1.0, true and "1" apart, and so does msgspec: a label comes back as the type it was.
LabelEntry = str | Integer | float | bool


class Part(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A part of the document. Every field is there, unless its type says otherwise, and nothing else is."""
