"""The formats that models are exported to: to add one is to add a file here and a line to the table."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from holdfast._text import join_parts, pluralize, printable
from holdfast.errors import DataWarning, EngineError, ExportError

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
    "mermaid": ("diagrams", "to_mermaid"),
    "dot": ("diagrams", "to_dot"),
}
OBJECTS = ("sklearn",)  # all others are files
DRAWN = ("mermaid", "dot")  # to be read: they predict nothing


def export(
    model: Any, to: str, path: str | os.PathLike[str] | None = None, *, verify: Any = True, **options: Any
) -> Any:
    """Export a model to another format.

    Parameters
    ----------
    model : Tree, Ensemble or fitted estimator
    to : str
        One of `FORMATS`.
    path : path-like, optional
        File to write, atomically.
    verify : array-like or bool
        Before a file is written, run the export at every threshold and its neighbouring floats, see
        `check_export`, and on these rows besides. False: do not check. A DataWarning says if nothing is
        installed to run it.
    **options
        Options of the format.

    Returns
    -------
    object, str or bytes
        An object of another library, or the content of a file; None if `path` is given.

    Raises
    ------
    ExportError
        If the format cannot express the model, or the export predicts otherwise.
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


# -- How often an export of a model differs from it ----------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """A row of which the export says something else."""

    row: dict[str, Any]
    ours: Any  # the class, or the number; of classes that agree, the probabilities
    theirs: Any


@dataclass(frozen=True)
class ExportCheck:
    """How often an export differs from the model."""

    to: str
    engine: str  # what ran the export
    n_rows: int
    n_differing_rows: int
    n_edges: int  # rows at thresholds and their neighbours, of every category, missing and never seen
    n_differing_edges: int
    largest: float  # the largest difference of a number
    examples: tuple[Difference, ...]  # the first few

    @property
    def is_equal(self) -> bool:
        """True if nothing differs by more than rounding."""
        return self.n_differing_rows == 0 and self.n_differing_edges == 0

    def __str__(self) -> str:
        return export_check_text(self)


# -- What a check of an export found, in words ---------------------------------------------------------------


def export_check_text(check: ExportCheck) -> str:
    """How many rows were compared, how many differ, and the first few of them."""
    rows = f"{pluralize(check.n_rows, 'row')} and " if check.n_rows else ""
    compared = f"{rows}{pluralize(check.n_edges, 'edge')}"
    if check.n_rows + check.n_edges == 0:
        return f"{check.to} has no split to verify."
    if check.is_equal:
        within = f", numbers within {check.largest:.1e}" if check.largest else ""
        return f"{check.to} equals the model on {compared}{within} ({check.engine})."
    differing = pluralize(check.n_differing_rows, "row"), pluralize(check.n_differing_edges, "edge")
    return "\n".join(
        [
            f"{check.to} differs from the model on {differing[0]} and {differing[1]} of {compared} "
            f"({check.engine}):",
            *(f"  {_difference_text(each)}" for each in check.examples),
        ]
    )


def _difference_text(difference: Difference) -> str:
    row = join_parts([f"{printable(name)}={value!r}" for name, value in difference.row.items()])
    return f"{row}: {_said(difference.ours)} by the model, {_said(difference.theirs)} by the export"


def _said(what: Any) -> str:
    return printable(repr(what))
