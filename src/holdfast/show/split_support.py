"""The support of every split of a tree as lines of text."""

from collections.abc import Sequence
from math import floor

from holdfast.data.schema import Label
from holdfast.errors import ParameterError
from holdfast.evidence.split_support import SplitSupport
from holdfast.show.html import sentences, table, view
from holdfast.show.support_marks import same_rows_words
from holdfast.text.lines import NO_BREAK, item_text, unbreakable, wrapped_lines
from holdfast.text.numbers import number_text, rounded_percent
from holdfast.tree.support import LEAST_SUPPORT

WIDTH = 80  # columns
NARROWEST = 72  # columns it can do with
WIDEST_INDENT = 8  # columns left of a split
DIGITS = 4  # of a threshold, or as many more as tell the ends of an interval apart
LEAST_SURE = 3  # categories named of a set

# By whether there are reference trees alone: the sentence, and a shorter one.
_SENTENCES = {
    False: (
        "asked here by {} of reference and {} of candidate trees",
        "{} of reference, {} of candidate trees",
    ),
    True: ("asked here by {} of the reference trees", "{} of reference trees"),
}


def split_support_text(split_support: Sequence[SplitSupport], width: int = WIDTH) -> str:
    """One line per split, in preorder, and one more on its thresholds or categories, if trees ask about it.

    No line is longer than `width`, which is at least 72.
    """
    if width < NARROWEST:
        raise ParameterError(f"width={width!r} is out of range: it must be at least {NARROWEST} columns.")
    if not split_support:
        return "The tree asks nothing: it has no split that could stand or fall."
    stems = [_stem(each) for each in split_support]
    long, short = _SENTENCES[split_support[0].candidates is None]
    asked = _asked_texts(split_support, long)
    widest = max(_indent(each) + len(stem) for each, stem in zip(split_support, stems, strict=True))
    if widest + 2 + len(asked[0]) > width:
        asked = _asked_texts(split_support, short)
    column = min(widest, width - 2 - len(asked[0]))
    lines = []
    for each, stem, text in zip(split_support, stems, asked, strict=True):
        first, *more = wrapped_lines(stem, column, first=" " * _indent(each), rest=" " * (_indent(each) + 4))
        lines += [f"{first:{column}}  {text}", *more]
        lines += _indented(support_detail(each), _indent(each) + 4, width)
    return "\n".join(lines)


def split_support_html(split_support: Sequence[SplitSupport]) -> str:
    """The same for a notebook: a table with one row per split, indented by its depth."""
    if not split_support:
        return view(sentences(split_support_text(split_support)))
    heads = ["split", "reference trees", "candidate trees", "the same way", "where they ask it"]
    rows = [
        [
            f"{NO_BREAK * 3 * each.depth}{_answer(each)}{each.short or each.question}",
            rounded_percent(each.references),
            "" if each.candidates is None else rounded_percent(each.candidates),
            rounded_percent(each.same_way),
            support_detail(each),
        ]
        for each in split_support
    ]
    said = "How often the trees of other samples ask about the same feature at the same place."
    return view(sentences(said), table([heads, *rows], explained=_MEANINGS))


_MEANINGS = {
    "split": "what the tree asks, indented below the question before it",
    "reference trees": "fraction of the reference trees that ask about this feature at this place",
    "candidate trees": "fraction of the candidate trees that ask about this feature at this place",
    "the same way": "fraction of all trees that ask about the same features from the root down to here",
    "where they ask it": "the thresholds, or the sides of the categories, in the trees that ask",
}


def support_words(support: SplitSupport) -> str:
    """How often others ask about the feature at this place, and about which values, in one line."""
    percents = [support.references, *([] if support.candidates is None else [support.candidates])]
    long, _ = _SENTENCES[support.candidates is None]
    asked = long.format(*map(rounded_percent, percents))
    return "; ".join(filter(None, [asked, support_detail(support)]))


def _stem(support: SplitSupport) -> str:
    return _answer(support) + unbreakable(support.short or support.question)


def _answer(support: SplitSupport) -> str:
    """The answer that leads to the split."""
    return ("yes: " if support.place[-1] else "no: ") if support.place else ""


def _indent(support: SplitSupport) -> int:
    return min(2 * support.depth, WIDEST_INDENT)


def _asked_texts(supports: Sequence[SplitSupport], sentence: str) -> list[str]:
    """The sentence about each split, the percentages of all one below the other."""
    percents = [
        [rounded_percent(part) for part in (each.references, each.candidates) if part is not None]
        for each in supports
    ]
    widths = [max(map(len, column)) for column in zip(*percents, strict=True)]
    return [sentence.format(*map(str.rjust, row, widths)) for row in percents]


def support_detail(support: SplitSupport) -> str:
    """What the trees that ask about the feature ask of it; empty where there is nothing to tell."""
    parts = []
    # Only where it answers a question: few trees split here, or few split these rows so.
    if support.same_rows is not None and min(support.same_rows, support.references) < LEAST_SUPPORT:
        parts.append(same_rows_words(support.same_rows))
    if support.categories is not None:
        return "; ".join([*parts, _sides_text(support.categories)])
    n_known, n_others = support.n_known, support.n_asking - support.n_known
    if n_known:
        ask = "asks" if n_known == 1 and n_others else "ask"
        parts.append(f"{n_known if n_others else 'all'} of them {ask} whether it is recorded")
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


def _indented(text: str, indent: int, width: int) -> list[str]:
    return wrapped_lines(text.replace(" %", f"{NO_BREAK}%"), width, first=" " * indent, rest=" " * indent)
