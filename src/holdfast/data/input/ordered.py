"""A column of text whose categories have an order that somebody gave."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class OrderedText:
    """Text with ordered categories, None where missing."""

    texts: NDArray[Any]
    order: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, rows: NDArray[Any]) -> "OrderedText":
        """Some of the rows, by flags or by numbers."""
        return OrderedText(self.texts[rows], self.order)
