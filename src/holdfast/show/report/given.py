"""What a report is told besides its subject."""

from dataclasses import dataclass, field
from typing import Any

from holdfast.data.schema import Label


@dataclass(frozen=True)
class Given:
    """Rows, the user's own words, and what to show first."""

    X: Any = None  # rows, for what only rows can tell: calibration, flips
    y: Any = None
    model_card: dict[str, Any] = field(default_factory=dict)  # in the user's words, by name
    positive: Label | None = None  # the class that matters; None: that of the model
    title: str | None = None
    replications: Any = None  # of a stable tree, from model.replicate(X, y)
