"""What a check of an export found, in words."""

from typing import Any

from holdfast.evidence.export_check import Difference, ExportCheck
from holdfast.text.lines import printable
from holdfast.text.lists import joined
from holdfast.text.numbers import counted


def export_check_text(check: ExportCheck) -> str:
    """How many rows were compared, how many differ, and the first few of them."""
    rows = f"{counted(check.n_rows, 'row')} and " if check.n_rows else ""
    compared = f"{rows}{counted(check.n_edges, 'edge')}"
    if check.n_rows + check.n_edges == 0:
        return f"{check.to} has no split to verify."
    if check.is_equal:
        within = f", numbers within {check.largest:.1e}" if check.largest else ""
        return f"{check.to} equals the model on {compared}{within} ({check.engine})."
    differing = counted(check.n_differing_rows, "row"), counted(check.n_differing_edges, "edge")
    return "\n".join(
        [
            f"{check.to} differs from the model on {differing[0]} and {differing[1]} of {compared} "
            f"({check.engine}):",
            *(f"  {_difference_text(each)}" for each in check.examples),
        ]
    )


def _difference_text(difference: Difference) -> str:
    row = joined([f"{printable(name)}={value!r}" for name, value in difference.row.items()])
    return f"{row}: {_said(difference.ours)} by the model, {_said(difference.theirs)} by the export"


def _said(what: Any) -> str:
    return printable(repr(what))
