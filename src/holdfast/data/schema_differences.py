"""How some data differs from a schema, gathered so that one error can show all of it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from holdfast.data.schema import Label
from holdfast.errors import SchemaMismatch
from holdfast.text.lists import listed


@dataclass(eq=False)
class SchemaDifferences:
    """Differences of data from a schema: columns, kinds, categories and classes."""

    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)  # from the column to what is wrong with it
    categories: dict[str, list[Label]] = field(default_factory=dict)  # from the column to its new ones
    classes: list[Label] = field(default_factory=list)  # the new ones

    @classmethod
    def compare_names(cls, expected: Iterable[str], found: Iterable[str]) -> "SchemaDifferences":
        """Add the columns that only one side has."""
        expected, found = dict.fromkeys(expected), dict.fromkeys(found)
        return cls(
            missing=[name for name in expected if name not in found],
            extra=[name for name in found if name not in expected],
        )

    def raise_if_any(self) -> None:
        """Raise a SchemaMismatch with a table of the differences, if there are any."""
        rows = [("columns missing", listed(self.missing))] if self.missing else []
        rows += [("columns not in the schema", listed(self.extra))] if self.extra else []
        rows += [("kind differs", f"column {name!r}: {clash}") for name, clash in self.kinds.items()]
        rows += [
            ("new categories", f"column {name!r}: {listed(new)}") for name, new in self.categories.items()
        ]
        rows += [("new classes", listed(self.classes))] if self.classes else []
        lines = [f"  {title:<27}{content}" for title, content in rows]
        if lines:
            raise SchemaMismatch("\n".join(["The data does not fit the schema:", *lines, *self._ways_out()]))

    def _ways_out(self) -> list[str]:
        ways = []
        if self.missing or self.extra:
            ways.append("Give the data exactly the columns of the schema, in any order.")
        if self.kinds:
            ways.append("Give these columns the type they had in the data that the schema was read from.")
        if self.categories or self.classes:
            ways.append(
                "To take the new ones in, read the data without a schema and measure both on a wider one: "
                "old.schema.widened(new.schema)."
            )
        return ways
