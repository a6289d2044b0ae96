"""The procedures that make candidates. To add one is to add a file here, and its name to METHODS."""

from importlib import import_module
from typing import TYPE_CHECKING

from holdfast.errors import ParameterError

if TYPE_CHECKING:
    from holdfast.stability.methods.method import Method

# Each is a file of this folder, which has a METHOD. It is imported when it is first asked for, so that the
# command line can tell the names at once.
METHODS = ("centred", "bootstrap", "pruned", "paper")


def method_of(name: str) -> "Method":
    """The method of that name; a ParameterError with the names there are if there is none."""
    if name not in METHODS:
        raise ParameterError(f"method={name!r} is unknown: choose one of {', '.join(map(repr, METHODS))}.")
    method: Method = import_module(f"{__name__}.{name}").METHOD
    return method
