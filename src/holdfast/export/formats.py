"""The formats that models are exported to: to add one is to add a file here and a line to the table."""

import os
from importlib import import_module
from typing import Any

from holdfast.errors import ExportError

# From the format to our file on it and the function there, which takes the model and returns an object, or
# the bytes of a file.
FORMATS = {
    "sklearn": ("sklearn", "to_sklearn"),
}


def export(model: Any, to: str, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
    """The model in another format: an object of another library, or the content of a file, as bytes.

    `model` is a tree, an ensemble or a fitted estimator, and `to` one of the FORMATS. With a path the file is
    written, all or nothing, and nothing comes back. An ExportError says what the format cannot express.
    """
    if to not in FORMATS:
        raise ExportError(f"There is no format {to!r}: choose one of {', '.join(FORMATS)}.")
    file, function = FORMATS[to]
    exported = getattr(import_module(f"holdfast.export.{file}"), function)(model, **options)
    if path is None:
        return exported
    if not isinstance(exported, bytes):
        raise ExportError(f"The format {to!r} is an object, not a file: leave out the path.")
    from holdfast.files import replace_file

    replace_file(path, exported, ExportError)
    return None
