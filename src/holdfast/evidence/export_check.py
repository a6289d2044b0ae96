"""How often an export of a model differs from it."""

from dataclasses import dataclass
from typing import Any

from holdfast.shown import shown


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
        return shown("export_check_text", self)
