"""What was meant: the nearest of the names that there are."""

from collections.abc import Iterable
from difflib import get_close_matches

from holdfast.text.lists import listed


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that asks whether the nearest name was meant, or lists all.

    >>> nearest("max_chrun", ["max_churn", "max_flips"]), nearest("hue", ["age"])
    ("did you mean 'max_churn'?", "choose of 'age'.")
    """
    names = list(known)
    near = get_close_matches(name.lower(), names, 1, 0.6)
    return f"did you mean {near[0]!r}?" if near else f"choose of {listed(names, 30)}."
