"""Tables on a terminal: columns that do not fit are left out whole, never squeezed."""

from collections.abc import Collection, Sequence

from rich.console import Console
from rich.text import Text

from holdfast._view import TextTable


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
    shown = TextTable(headings, rows).fit_width(console.width, spare)
    for number, line in enumerate(shown.to_text(console.width).splitlines()):
        style = "dim" if number == 0 else "bold" if number - 1 in bold else ""
        console.print(Text(line, style=style), soft_wrap=True)
    return tuple(shown.headings)
