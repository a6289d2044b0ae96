"""Figures as records: one mapping each, which become a frame, a table of text, or plain columns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from holdfast.shown import shown
from holdfast.text.numbers import number_text
from holdfast.text.table import aligned

Record = Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Records(Sequence[Record]):
    """Records of the same fields, in order.

    >>> print(Records(({"method": "tree", "leaves": 4.0}, {"method": "forest", "leaves": float("nan")})))
    method  leaves
    tree         4
    forest
    """

    records: tuple[Record, ...]

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> "Records": ...
    def __getitem__(self, place: int | slice) -> "Record | Records":
        return Records(self.records[place]) if isinstance(place, slice) else self.records[place]

    def where(self, **fields: Any) -> "Records":
        """The records that have these values.

        >>> len(Records(({"method": "tree"}, {"method": "forest"})).where(method="tree"))
        1
        """
        return Records(
            tuple(each for each in self if all(each[name] == value for name, value in fields.items()))
        )

    def columns(self) -> dict[str, list[Any]]:
        """One list for each field."""
        return {name: [each[name] for each in self] for name in (self.records[0] if self.records else ())}

    def to_frame(self, backend: str | None = None) -> Any:
        """One row per record, as a pandas, polars or pyarrow frame (the first that is installed)."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        kinds = {str: nw.String, int: nw.Int64, float: nw.Float64}
        types = {name: kinds[type(values[0])] for name, values in columns.items()}
        return frame_from(columns, types, backend)

    def _cells(self) -> list[list[str]]:
        return [list(self.columns()), *([_text(value) for value in each.values()] for each in self)]

    def __repr__(self) -> str:
        return aligned(self._cells()) if self.records else "no records"

    def _repr_html_(self) -> str:
        return shown("records_html", self._cells()) if self.records else "<p>no records</p>"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else number_text(value, 4)
    return str(value)
