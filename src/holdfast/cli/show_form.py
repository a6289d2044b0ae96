"""The forms of `holdfast show`, and the names of files that each may be written to."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.errors import DataError

_TEXT = ("", ".txt", ".text", ".md")
ENDINGS = {"drawing": _TEXT, "rules": _TEXT, "svg": (".svg",), "csv": (".csv",)}
NODES = "nodes"  # a drawing, for those who edit
FORMS = tuple(ENDINGS)
_FOR = {"order": ("rules",), "title": ("svg",), "decimals": ("svg",), "width": ("svg",)}  # options by form


def form_of(form: str | None, output: Path | None, *, nodes: bool = False) -> str:
    """The form that is asked for or else told by the name of the file; a DataError if the two disagree.

    >>> form_of(None, Path("tree.svg")), form_of(None, Path("tree.txt")), form_of("rules", None)
    ('svg', 'drawing', 'rules')
    """
    ending = "" if output is None else output.suffix.lower()
    told = [each for each, endings in ENDINGS.items() if ending in endings]
    chosen = form or (told[0] if told else "drawing")
    if output is not None and chosen not in told:
        raise DataError(f"Cannot write to '{output}': {_way_out(chosen, ending, told)}")
    if not nodes:
        return chosen
    if chosen != "drawing":
        raise DataError(f"--nodes numbers the nodes of a drawing, and --format is {chosen}: leave one out.")
    return NODES


def check_use(form: str, options: Mapping[str, Any]) -> None:
    """A DataError names an option that was given, and that the form has no use for."""
    for name, forms in _FOR.items():
        if options.get(name) is not None and form not in forms:
            raise DataError(f"--{name} is for --format {' or '.join(forms)}, and the form is {form}.")


def _way_out(form: str, ending: str, told: list[str]) -> str:
    names = " or ".join(each for each in ENDINGS[form] if each)
    reason = f"--format {form} is for a name that ends in {names}, not in {ending or 'nothing'}."
    return f"{reason} For such a name say --format {' or '.join(told)}." if told else reason
