"""The settings of data: what its columns are for, and how the cells of a file are written."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from holdfast.errors import ParameterError
from holdfast.runs.parsing import Order, column_in_order, columns_in_order, names_in_order, order_of
from holdfast.runs.setting import checked, setting

if TYPE_CHECKING:
    from holdfast.data.files.reading_options import ReadingOptions

TASKS = ("classification", "regression")


@dataclass(frozen=True, kw_only=True)
class CellSettings:
    """How the cells of a file are written; a frame has its own types, and only gaps and dates are read."""

    missing: tuple[str, ...] = setting(
        (),
        help="Means missing, as empty cells, NA, N/A, #N/A, NaN, null, None, ? and . do; may be repeated.",
        metavar="WORD",
        repeated=True,
    )
    date: tuple[str, ...] = setting(
        (),
        help="Dates, as days since 2000-01-01; with COLUMN:parts as year, month and weekday. :dmy or :mdy "
        "tells day from month. May be repeated.",
        metavar="COLUMN",
        repeated=True,
    )
    decimal: str = setting(".", help="Decimal mark of numbers, as the comma in 1,5.", metavar="MARK")
    thousands: str | None = setting(None, help="Mark between thousands, as in 1,234,567.", metavar="MARK")
    encoding: str | None = setting(
        None, help="latin-1, cp1252, ...; without it UTF-8, or UTF-16 with its mark.", metavar="NAME"
    )
    coerce: bool = setting(
        False, kind=bool, help="Cells that are no numbers, in a column of numbers, are missing."
    )

    def __post_init__(self) -> None:
        for name, value in checked(self).items():
            object.__setattr__(self, name, value)

    @property
    def reading_options(self) -> "ReadingOptions":
        """How a file is read; a DataError names a mark or an encoding that there is not."""
        return self._reading_rules(keep_ids=True)

    def _reading_rules(self, *, keep_ids: bool) -> "ReadingOptions":
        from holdfast.data.files.numerals import Numerals
        from holdfast.data.files.reading_options import ReadingOptions

        return ReadingOptions(
            encoding=self.encoding,
            numerals=Numerals(self.decimal, self.thousands or ""),
            missing=self.missing,
            dates=self.date,
            coerce=self.coerce,
            keep_ids=keep_ids,
        )


@dataclass(frozen=True, kw_only=True)
class ColumnSettings:
    """What the columns of the data are for, and which rows and columns are left out."""

    target: str = setting(help="What is to be predicted.", metavar="COLUMN")
    stage: str | None = setting(
        None,
        help="Years, cohorts, sites in their order: the last are to test by, and where a method has early "
        "rows, they are the first. No feature.",
        metavar="COLUMN",
    )
    groups: str | None = setting(
        None,
        help="Rows of one patient, say, stay on one side, but for earlier ones where stages go forward. No "
        "feature.",
        metavar="COLUMN",
    )
    weight: str | None = setting(None, help="How much each row counts. No feature.", metavar="COLUMN")
    drop: tuple[str, ...] = setting(
        (), help="Leave it out; may be repeated.", metavar="COLUMN", repeated=True
    )
    categorical: tuple[str, ...] = setting(
        (), help="Text, even if all digits; may be repeated.", metavar="COLUMN", repeated=True
    )
    ordered: tuple[tuple[str, Order], ...] = setting(
        (),
        help="Categories that have an order, the lowest first; may be repeated.",
        metavar="COLUMN=A,B,C",
        repeated=True,
        from_text=column_in_order,
        from_python=columns_in_order,
    )
    stage_order: Order | None = setting(
        None,
        help="Stages that are words, earliest first.",
        metavar="A,B,C",
        from_text=names_in_order,
        from_python=order_of,
    )
    question: tuple[str, ...] = setting(
        (),
        help='A yes/no question that trees may ask: "bmi ** 2 < 900"; may be repeated.',
        metavar="TEXT",
        repeated=True,
    )
    task: Literal["classification", "regression"] | None = setting(
        None, help="Without it, the values of the target tell.", choices=TASKS
    )
    keep_ids: bool = setting(
        False, kind=bool, help="Keep columns that only tell rows apart: names, free text."
    )
    drop_missing_target: bool = setting(False, kind=bool, help="Leave out rows whose target is missing.")


@dataclass(frozen=True, kw_only=True)
class DataSettings(CellSettings, ColumnSettings):
    """Both, for rows to learn from."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stage_order and not self.stage:
            raise ParameterError("--stage-order needs --stage, the column that has these stages.")
        columns = [column for column, _ in self.ordered]
        if repeated := [column for column in columns if columns.count(column) > 1]:
            raise ParameterError(f"--ordered is given twice for column {repeated[0]!r}: choose one.")

    @property
    def reading_options(self) -> "ReadingOptions":
        """How the data is read; a DataError names a mark or an encoding that there is not."""
        return self._reading_rules(keep_ids=self.keep_ids)

    @property
    def columns_by_setting(self) -> dict[str, tuple[str, ...]]:
        """The columns that each setting names, but for dates."""
        single: dict[str, Any] = {
            "target": self.target,
            "stage": self.stage,
            "groups": self.groups,
            "weight": self.weight,
        }
        named = {name: (column,) for name, column in single.items() if column is not None}
        ordered = tuple(column for column, _ in self.ordered)
        return {**named, "drop": self.drop, "categorical": self.categorical, "ordered": ordered}
