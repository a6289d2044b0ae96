"""One message for both doors: the terminal names its options, Python its keywords.

Below, messages name a setting as the terminal does (--max-depth), or as Python does (max_depth=3).
"""

import re
from ast import literal_eval
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from shlex import quote

from holdfast.errors import HoldfastError
from holdfast.runs.setting import option

_OPTION = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)")
_TEXT = r"""(?:'[^']*'|"[^"]*")"""
_FILE_VALUES = re.compile(
    rf"\b(date|categorical|drop|decimal|thousands|encoding)=({_TEXT}|\[{_TEXT}(?:, (?:{_TEXT}|\.\.\.))*\])"
)


def in_python(message: str) -> str:
    """The message with keywords in place of options.

    >>> in_python("With --keep-ids more of them stay.")
    'With keep_ids more of them stay.'
    """
    return _OPTION.sub(lambda found: found[1].replace("-", "_"), message)


def on_terminal(message: str, names: Iterable[str]) -> str:
    """The message with options in place of the keywords of these names, but for those of a call in brackets.

    >>> on_terminal("validation=1 is out of range: see fit(validation=0.3)", ["validation"])
    '--validation 1 is out of range: see fit(validation=0.3)'
    """

    def in_options(found: re.Match[str]) -> str:
        before = message[: found.start()]
        if before.count("(") > before.count(")"):
            return found[0]
        return option(found[1]) if found[2] else f"{option(found[1])} "

    keyword = re.compile(rf"(?<![\w-])({'|'.join(names)})=(True\b)?")
    message = _FILE_VALUES.sub(_as_options, message)
    changed = keyword.sub(in_options, re.sub(r"\bsample_weight\b", "--weight", message))
    return re.sub(r"(--[a-z-]+) \(\1\)", r"\1", changed)


def _as_options(found: re.Match[str]) -> str:
    """Write the parameter as an option for each of its values."""
    values = [quote(literal_eval(text)) for text in re.findall(_TEXT, found[2])]
    return " ".join(f"{option(found[1])} {value}" for value in values) + (" ..." if "..." in found[2] else "")


@contextmanager
def python_errors() -> Iterator[None]:
    """Within it, errors name keywords."""
    try:
        yield
    except HoldfastError as error:
        error.args = (in_python(str(error)), *error.args[1:])
        raise
