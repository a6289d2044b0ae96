"""The options of every command that reads a data file: how its cells are to be understood."""

from collections.abc import Callable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from holdfast.data.files.reading_rules import ReadingRules

_CELLS = (
    click.option(
        "--missing",
        multiple=True,
        metavar="WORD",
        help="Means missing, as empty cells, NA, N/A, #N/A, NaN, null, None, ? and . do; may be repeated.",
    ),
    click.option(
        "--date",
        multiple=True,
        metavar="COLUMN",
        help="Dates, as days since 2000-01-01; with COLUMN:parts as year, month and weekday. :dmy or :mdy "
        "tells day from month. May be repeated.",
    ),
    click.option(
        "--decimal", default=".", metavar="MARK", help="Decimal mark of numbers, as the comma in 1,5."
    ),
    click.option("--thousands", metavar="MARK", help="Mark between thousands, as in 1,234,567."),
    click.option(
        "--encoding", metavar="NAME", help="latin-1, cp1252, ...; without it UTF-8, or UTF-16 with its mark."
    ),
    click.option(
        "--coerce", is_flag=True, help="Cells that are no numbers, in a column of numbers, are missing."
    ),
)
_TRAINING = (
    click.option(
        "--keep-ids", is_flag=True, help="Keep columns that only tell rows apart: names, free text."
    ),
    click.option("--drop-missing-target", is_flag=True, help="Leave out rows whose target is missing."),
)


def cell_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the options that say how cells are written."""
    return with_options(_CELLS, command)


def training_data_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with these, and those for rows to learn from."""
    return with_options((*_CELLS, *_TRAINING), command)


def rules_of(options: Mapping[str, Any]) -> "ReadingRules":
    """What the options say; a DataError names one that says nothing."""
    from holdfast.data.files.numerals import Numerals
    from holdfast.data.files.reading_rules import ReadingRules

    return ReadingRules(
        encoding=options["encoding"],
        numerals=Numerals(options["decimal"], options["thousands"] or ""),
        missing=options["missing"],
        dates=options["date"],
        coerce=options["coerce"],
        keep_ids=options.get("keep_ids", True),
    )


def with_options(options: tuple[Callable[..., Any], ...], command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with these options, in the order in which --help lists them."""
    return reduce(lambda wrapped, option: option(wrapped), reversed(options), command)
