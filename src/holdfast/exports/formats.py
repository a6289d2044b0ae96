"""The formats that models are exported to.

A new format is a file in this folder, a line of FORMATS, and one of EXPORT_ENDINGS in `_choices.py`.
"""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.errors import DataWarning, EngineError, ExportError

if TYPE_CHECKING:
    from holdfast.exports.check import ExportCheck

# From the format to our file on it and the function there, which takes the model and returns an object, or
# the content of a file, as text or bytes. A format that predicts has `predict_rows` there, which runs it.
FORMATS = {
    "sklearn": ("sklearn", "to_sklearn"),
    "python": ("python", "to_python"),
    "sql": ("sql", "to_sql"),
    "onnx": ("onnx", "to_onnx"),
    "pmml": ("pmml", "to_pmml"),
    "excel": ("excel", "to_excel"),
    "json": ("json", "to_json"),
    "mermaid": ("diagrams", "to_mermaid"),
    "dot": ("diagrams", "to_dot"),
}
OBJECTS = ("sklearn",)  # all others are files
DRAWN = ("mermaid", "dot")  # drawings: they predict nothing


def export(
    model: Any, to: str, path: str | os.PathLike[str] | None = None, *, verify: Any = True, **options: Any
) -> Any:
    """Export a model to another format.

    Parameters
    ----------
    model : Tree, Ensemble or fitted estimator
    to : {"sklearn", "python", "sql", "onnx", "pmml", "excel", "json", "mermaid", "dot"}
        The format.
    path : path-like, optional
        File to write, atomically.
    verify : array-like or bool
        Before a file is written, the export is run at every threshold and its neighbouring floats, see
        `check_export`, and on these rows. False: do not check. A DataWarning says if nothing is installed
        to run it.
    **options
        Options of the format: see `to_sql` and `to_excel`.

    Returns
    -------
    object, str or bytes
        An object of another library, or the content of a file; None if `path` is given.

    Raises
    ------
    ExportError
        If the format cannot express the model, or the export predicts something else.

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0], [3.0]], ["no", "no", "yes"]))
    >>> print(export(tree, "dot").splitlines()[2])
        n0 [label="x0 <= 2.5"];
    """
    exported = get_function(to)(model, **options)
    if verify is not True and verify is not False and verify is not None:
        verify_export(model, to, exported, verify, **options)
    elif verify is True and path is not None and to not in DRAWN:
        try:
            verify_export(model, to, exported, **options)
        except EngineError as error:
            warnings.warn(f"The export is not verified: {error}", DataWarning, stacklevel=2)
    if path is None:
        return exported
    if to in OBJECTS or not isinstance(exported, str | bytes):
        raise ExportError(f"The format {to!r} is an object, not a file: leave out the path.")
    from holdfast._files import replace_file

    replace_file(path, exported.encode() if isinstance(exported, str) else exported, ExportError)
    return None


def verify_export(model: Any, to: str, exported: Any, rows: Any = None, **options: Any) -> ExportCheck:
    """Check an export; an ExportError if it differs from the model."""
    from holdfast.exports.check import check_export

    check = check_export(model, to, rows, exported, **options)
    if not check.is_equal:
        raise ExportError(str(check))
    return check


def get_function(to: str) -> Any:
    """Return the function that writes the format; an ExportError if it is unknown."""
    if to not in FORMATS:
        raise ExportError(f"There is no format {to!r}: choose one of {', '.join(FORMATS)}.")
    file, function = FORMATS[to]
    return getattr(import_module(f"holdfast.exports.{file}"), function)
