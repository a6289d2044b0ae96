"""The formats that models are exported to: to add one is to add a file here and a line to the table."""

import os
from importlib import import_module
from typing import Any

from holdfast.errors import ExportError

# From the format to our file on it and the function there, which takes the model and returns an object, or
# the content of a file, as text or bytes. A format that predicts has `scored` there, which runs it.
FORMATS = {
    "sklearn": ("sklearn", "to_sklearn"),
    "python": ("python", "to_python"),
    "sql": ("sql", "to_sql"),
    "onnx": ("onnx", "to_onnx"),
    "pmml": ("pmml", "to_pmml"),
    "excel": ("excel", "to_excel"),
    "json": ("json", "to_json"),
    "mermaid": ("mermaid", "to_mermaid"),
    "dot": ("dot", "to_dot"),
}
OBJECTS = ("sklearn",)  # all others are files


def export(
    model: Any, to: str, path: str | os.PathLike[str] | None = None, *, verify: Any = None, **options: Any
) -> Any:
    """The model in another format: an object of another library, or the content of a file.

    `model` is a tree, an ensemble or a fitted estimator, and `to` one of the FORMATS. With a path the file is
    written, all or nothing, and nothing comes back. An ExportError says what the format cannot express.
    `verify` are rows: the export is run on them, and at every threshold and its two neighbouring floats, as
    `check_export` does; an ExportError says what differs, and no file is written.
    """
    exported = function_of(to)(model, **options)
    if verify is not None:
        from holdfast.export.check import check_export

        check = check_export(model, to, verify, exported, **options)
        if not check.is_equal:
            raise ExportError(str(check))
    if path is None:
        return exported
    if to in OBJECTS or not isinstance(exported, str | bytes):
        raise ExportError(f"The format {to!r} is an object, not a file: leave out the path.")
    from holdfast.files import replace_file

    replace_file(path, exported.encode() if isinstance(exported, str) else exported, ExportError)
    return None


def function_of(to: str) -> Any:
    """The function that writes the format; an ExportError if there is no such format."""
    if to not in FORMATS:
        raise ExportError(f"There is no format {to!r}: choose one of {', '.join(FORMATS)}.")
    file, function = FORMATS[to]
    return getattr(import_module(f"holdfast.export.{file}"), function)
