"""The procedures that make candidates: one file and one line here for each."""

from holdfast.errors import RulesError
from holdfast.stability.methods import bootstrap, paper, pruned
from holdfast.stability.methods.method import Method
from holdfast.text.lists import listed

METHODS: dict[str, Method] = {
    "bootstrap": bootstrap.METHOD,
    "pruned": pruned.METHOD,
    "paper": paper.METHOD,
}


def method_of(name: str) -> Method:
    """The method of that name; a RulesError with the names there are if there is none."""
    if name not in METHODS:
        raise RulesError(f"method={name!r} is unknown: choose one of {listed(METHODS)}.")
    return METHODS[name]
