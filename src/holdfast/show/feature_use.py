"""The features that a collection of trees asks about, as a table of text."""

from collections.abc import Sequence

from holdfast.evidence.feature_use import FeatureUse
from holdfast.show.html import MOST_ROWS, sentences, table, view
from holdfast.text.lines import printable, shortened
from holdfast.text.numbers import counted, fixed_text, rounded_percent
from holdfast.text.table import table_lines

WIDTH = 80  # columns
HEADINGS = ["feature", "level", "two", "three", "anywhere", "mean", "spread"]
WIDTHS = (7, 7, 7, 10, 9, 8)  # of all but the names


def feature_table(uses: Sequence[FeatureUse], most: int | None = 10, whole: str = "") -> str:
    """The features that are asked about in columns, `most` of them, in lines of at most 80 letters.

    Where there are more, the last line says that `whole` has all, if it is told.
    """
    asked = [use for use in uses if use.anywhere > 0]
    shown = asked[:most]
    room = WIDTH - sum(WIDTHS)
    names = [shortened(printable(use.name), room) for use in shown]
    rows = [HEADINGS, *([name, *_cells(use)] for name, use in zip(names, shown, strict=True))]
    width = max(map(len, ["feature", *names]))
    lines = [
        f"{'':{width}}{'asked in the first':>21}{'':10}{'importance':>17}",
        *table_lines(rows, widths=(0, *WIDTHS), gap=0),
    ]
    if more := len(asked) - len(shown):
        lines.append(f"... and {more} more{f': {whole} has all' if whole else ''}")
    if never := len(uses) - len(asked):
        lines.append(
            f"No tree asks about {'the other feature' if never == 1 else f'{never} other features'}."
        )
    return "\n".join(lines)


def feature_use_html(uses: Sequence[FeatureUse]) -> str:
    """The same for a notebook."""
    asked = [use for use in uses if use.anywhere > 0]
    heads = ["feature", "first level", "first two", "first three", "anywhere", "importance", "spread"]
    told = asked[:MOST_ROWS]
    said = f"{counted(len(asked), 'feature')} of {len(uses)} are asked about, the most important first."
    more = f"{len(told)} of {len(asked)} features; the list itself has them all."
    rows = [[printable(use.name), *_cells(use)] for use in told]
    return view(sentences(said), table([heads, *rows], more=more if len(told) < len(asked) else ""))


def _cells(use: FeatureUse) -> list[str]:
    fractions = [rounded_percent(fraction) for fraction in (*use.first, use.anywhere)]
    return [*fractions, fixed_text(use.importance, 3), fixed_text(use.spread, 3)]
