"""Tables on a terminal: columns that do not fit are left out whole, never squeezed."""

from collections.abc import Collection, Sequence

from rich.console import Console
from rich.text import Text

from holdfast._view import fitting, format_table


def show_grid(
    console: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    bold: Collection[int] = (),
    spare: Sequence[str] = (),
) -> tuple[str, ...]:
    """Print the table, the rows of these numbers bold, and return the headings of the columns it has.

    The columns named by `spare`, the first of them first, are left out as far as the terminal is too narrow.
    """
    shown = fitting([headings, *rows], console.width, spare)
    for number, line in enumerate(format_table(shown).splitlines()):
        style = "dim" if number == 0 else "bold" if number - 1 in bold else ""
        console.print(Text(line, style=style), soft_wrap=True)
    return tuple(shown[0])
