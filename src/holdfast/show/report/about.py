"""What the user says about the model: intended use, population, outcome and the like, from a small file."""

import os
from collections.abc import Mapping
from pathlib import Path

from holdfast.errors import DataError, ParameterError

About = Mapping[str, str] | str | os.PathLike[str] | None


def read_about(about: About) -> dict[str, str]:
    """The entries of `about.toml`, or of a mapping, as text by name; none if nothing is given."""
    if about is None:
        return {}
    found = dict(about) if isinstance(about, Mapping) else _read(Path(about))
    wrong = [name for name, entry in found.items() if not isinstance(entry, str)]
    if wrong:
        raise ParameterError(
            f'about: {wrong[0]!r} is {found[wrong[0]]!r}, which is no text. Write {wrong[0]} = "...".'
        )
    return found


def _read(path: Path) -> dict[str, str]:
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"Cannot read '{path}': it is no TOML ({error}).") from error
