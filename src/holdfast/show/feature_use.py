"""The features that a collection of trees splits on, as a table."""

from collections.abc import Sequence

from holdfast.evidence.feature_use import FeatureUse
from holdfast.text.lines import printable, shortened
from holdfast.text.numbers import counted, fixed_text, rounded_percent
from holdfast.text.table import Table
from holdfast.text.view import View

LONGEST_NAME = 22  # letters: so all lines have at most 80
MEANINGS = {
    "root": "fraction of the trees that split on it first",
    "2 levels": "fraction of the trees that split on it in the first two levels",
    "3 levels": "fraction of the trees that split on it in the first three levels",
}


def feature_use_view(uses: Sequence[FeatureUse]) -> View:
    """The features, the most important first."""
    return View(feature_table(uses))


def feature_table(uses: Sequence[FeatureUse], most: int | None = 10, whole: str = "the list") -> Table:
    """The first `most` of the features that some tree splits on; `whole` has all."""
    used = [use for use in uses if use.anywhere > 0]
    notes = []
    if most is not None and (more := len(used) - most) > 0:
        notes.append(f"... and {more} more{f': {whole} has all' if whole else ''}")
    if never := len(uses) - len(used):
        notes.append(f"{counted(never, 'feature')} {'is' if never == 1 else 'are'} in no tree.")
    return Table(
        ["feature", "root", "2 levels", "3 levels", "anywhere", "importance", "spread"],
        [[shortened(printable(use.name), LONGEST_NAME), *_cells(use)] for use in used[:most]],
        note="\n".join(notes),
        meanings=MEANINGS,
    )


def _cells(use: FeatureUse) -> list[str]:
    fractions = [rounded_percent(fraction) for fraction in (*use.first, use.anywhere)]
    return [*fractions, fixed_text(use.importance, 3), fixed_text(use.spread, 3)]
