"""Tables on a terminal: columns that do not fit are left out whole, never squeezed."""

from collections.abc import Collection, Sequence

from rich.console import Console
from rich.text import Text

from holdfast.text.lists import aligned


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
    kept = list(headings)
    lines = _lines(headings, rows, kept)
    for heading in spare:
        if max(map(len, lines)) <= console.width:
            break
        kept.remove(heading)
        lines = _lines(headings, rows, kept)
    console.print(Text(lines[0], style="dim"), soft_wrap=True)
    for number, line in enumerate(lines[1:]):
        console.print(Text(line, style="bold" if number in bold else ""), soft_wrap=True)
    return tuple(kept)


def _lines(headings: Sequence[str], rows: Sequence[Sequence[str]], kept: Sequence[str]) -> list[str]:
    places = [place for place, heading in enumerate(headings) if heading in kept]
    return aligned([[line[place] for place in places] for line in [headings, *rows]]).splitlines()
