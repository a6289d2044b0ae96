"""The support of every split of a tree, as a table."""

from collections.abc import Sequence
from math import floor

from holdfast.data.schema import Label
from holdfast.evidence.split_support import SplitSupport
from holdfast.show.support_marks import same_rows_words
from holdfast.text.lines import NO_BREAK, item_text, unbreakable
from holdfast.text.numbers import number_text, rounded_percent
from holdfast.text.table import Table
from holdfast.text.view import View
from holdfast.tree.support import LEAST_SUPPORT

DIGITS = 4  # of a threshold, or as many more as tell the ends of an interval apart
LEAST_SURE = 3  # categories named of a set
WIDEST_SPLIT, WIDEST_DETAIL = 40, 34  # columns
MEANINGS = {
    "split": "the split, indented below the split before it",
    "reference": "fraction of the reference trees that split on this feature at this place",
    "candidates": "fraction of the candidate trees that split on this feature at this place",
    "where they split": "the thresholds, or the sides of the categories, in the trees that split there",
}


def split_support_view(supports: Sequence[SplitSupport]) -> View:
    """One row per split, in preorder, indented by its depth."""
    if not supports:
        return View("The tree has no split.")
    rows = [
        [
            f"{NO_BREAK * 2 * min(each.depth, 6)}{_answer(each)}{unbreakable(each.short or each.question)}",
            rounded_percent(each.references),
            "" if each.candidates is None else rounded_percent(each.candidates),
            support_detail(each).replace(" %", f"{NO_BREAK}%"),
        ]
        for each in supports
    ]
    title = "Split support: the share of other trees that split on the same feature at the same place"
    wrap = (WIDEST_SPLIT, 0, 0, WIDEST_DETAIL)
    return View(Table(list(MEANINGS), rows, title=title, sides="<>><", wrap=wrap, meanings=MEANINGS))


def support_words(support: SplitSupport) -> str:
    """The share of other trees that split on the feature at this place, and where, in one line."""
    share = f"split support {rounded_percent(support.references)} of reference trees"
    if support.candidates is not None:
        share += f", {rounded_percent(support.candidates)} of candidate trees"
    return "; ".join(filter(None, [share, support_detail(support)]))


def _answer(support: SplitSupport) -> str:
    """The branch that leads to the split."""
    return ("yes: " if support.place[-1] else "no: ") if support.place else ""


def support_detail(support: SplitSupport) -> str:
    """Where the trees that split on the feature do so; empty where there is nothing to tell."""
    parts = []
    # Only where it answers a question: few trees split here, or few split these rows so.
    if support.same_rows is not None and min(support.same_rows, support.references) < LEAST_SUPPORT:
        parts.append(same_rows_words(support.same_rows))
    if support.categories is not None:
        return "; ".join([*parts, _sides_text(support.categories)])
    n_known, n_others = support.n_known, support.n_asking - support.n_known
    if n_known:
        split = "splits" if n_known == 1 and n_others else "split"
        parts.append(f"{n_known if n_others else 'all'} of them {split} on whether it is recorded")
    if support.thresholds is not None:
        often = _often_text(n_others, "the others" if n_known else "them")
        parts.append(f"{_thresholds_text(support.thresholds, support.levels)} {often}")
    return "; ".join(parts)


def _often_text(n: int, whom: str) -> str:
    """How many of n thresholds lie between their 5 % and their 95 % quantile."""
    if n == 1:
        return "in the only one"
    # Of fewer than 20, these are the smallest and the largest.
    return f"in nine of ten of {whom}" if n >= 20 else f"in all of {whom}"


def _thresholds_text(thresholds: tuple[float, float, float], levels: tuple[Label, ...]) -> str:
    texts = [_level_text(value, levels) for value in thresholds] if levels else _number_texts(thresholds)
    low, median, high = texts
    what = "" if levels else "threshold "
    return f"{what}{low}" if low == high else f"{what}{low} to {high} (median {median})"


def _number_texts(thresholds: tuple[float, float, float]) -> list[str]:
    for digits in range(DIGITS, 18):
        texts = [number_text(value, digits) for value in thresholds]
        if len(set(texts)) == len(set(thresholds)):
            break
    return texts


def _level_text(threshold: float, levels: tuple[Label, ...]) -> str:
    position = min(floor(threshold), len(levels) - 1)
    return f'"at most {item_text(levels[position])}"' if position >= 0 else f'"below {item_text(levels[0])}"'


def _sides_text(categories: tuple[tuple[Label, float], ...]) -> str:
    unsure = sorted((each for each in categories if each[1] < 1), key=lambda each: each[1])
    if not unsure:
        return "each category goes the same way in all of them"
    named = [f"{item_text(label)} ({rounded_percent(fraction)})" for label, fraction in unsure[:LEAST_SURE]]
    more = f" and {len(unsure) - LEAST_SURE} more" if len(unsure) > LEAST_SURE else ""
    return f"not always on the same side: {', '.join(named)}{more}"
