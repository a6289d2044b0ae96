"""What was meant: the nearest of the names that there are."""

from collections.abc import Iterable

from holdfast.text.lists import closest, listed


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that asks whether the nearest name was meant, or lists all.

    >>> nearest("max_chrun", ["max_churn", "max_flips"]), nearest("hue", ["age"])
    ("did you mean 'max_churn'?", "choose of 'age'.")
    """
    names = list(known)
    near = closest(name, names)
    return f"choose of {listed(names, 30)}." if near is None else f"did you mean {near!r}?"
