"""Sentences of a report: how many of how many, with an interval; plain words for a reader in a hurry."""

from collections.abc import Iterable

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.data.schema import Target
from holdfast.evidence.leaf_evidence import FEW_ROWS
from holdfast.evidence.outcome_at import LeafOutcome
from holdfast.text.lines import printable
from holdfast.text.numbers import number_text, percent_range, rounded_percent, told_apart
from holdfast.tree.wording import format_class_names

MOST_CLASSES = 3  # that a sentence names besides the first


def plural(noun: str) -> str:
    """The noun for many.

    >>> plural("patient"), plural("policy")
    ('patients', 'policies')
    """
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else f"{noun}s"


def rows_of(count: float, noun: str) -> str:
    """So many cases.

    >>> rows_of(1, "case"), rows_of(12345, "case")
    ('1 case', '12,345 cases')
    """
    return f"{count_of(count)} {noun if count == 1 else plural(noun)}"


def count_of(count: float) -> str:
    """A number of rows, which weights can make a broken one.

    >>> count_of(1234.0), count_of(9.06281)
    ('1,234', '9.1')
    """
    return f"{count:,.0f}" if abs(count - round(count)) < 1e-6 else f"{count:,.1f}"


def interval_text(low: float, high: float) -> str:
    """An interval of fractions in percent.

    >>> interval_text(0.257, 0.534)
    '26 to 53 %'
    """
    return percent_range(low, high)


def frequency_sentence(
    target: Target,
    counts: FloatArray,
    noun: str,
    place: int,
    found: LeafOutcome | None = None,
    *,
    with_others: bool = False,
) -> str:
    """How many rows of a leaf are of the class at this place and, `with_others`, of each other class.

    What was found of the leaf adds the interval, and the rate by weight where rows weigh unlike.

    >>> target = Target("stroke", classes=("no", "yes"))
    >>> found = LeafOutcome(1, "no", 44, "yes", 0.35, 17, observed=17 / 44, interval=(0.257, 0.534))
    >>> frequency_sentence(target, np.array([27.0, 17.0]), "patient", 1, found)
    'Of 44 patients like this, 17 had stroke = yes: 39 % (26 to 53 %).'
    """
    total, names = float(counts.sum()), format_class_names(target)
    if total <= 0:
        return f"No {noun} like this is known."
    rate, between, by_weight = float(counts[place]) / total, "", ""
    if found is not None and found.observed is not None:
        interval = own_interval(found)
        rate, between = found.observed, "" if interval is None else f" ({interval_text(*interval)})"
        by_weight = "by weight " if found.is_weighted else ""
    text = (
        f"Of {rows_of(total, noun)} like this, {count_of(float(counts[place]))} had "
        f"{printable(target.name)} = {names[place]}: {by_weight}{rounded_percent(rate)}{between}"
    )
    if not with_others:
        return f"{text}."
    order = np.argsort(-counts, kind="stable").tolist()
    others = [other for other in order if other != place and counts[other] > 0]
    return f"{text}{_others_text(names, counts, others)}."


def _others_text(names: tuple[str, ...], counts: FloatArray, places: list[int]) -> str:
    if not places:
        return ""
    told = [f"{count_of(float(counts[place]))} {names[place]}" for place in places[:MOST_CLASSES]]
    more = f" and {len(places) - MOST_CLASSES} more classes" if len(places) > MOST_CLASSES else ""
    return f"; the others: {', '.join(told)}{more}"


def few_rows_sentence(count: float) -> str:
    """A word of warning where a leaf rests on less than a dozen rows.

    >>> few_rows_sentence(7), few_rows_sentence(12)
    ('It rests on few rows.', '')
    """
    return "It rests on few rows." if 0 < count < FEW_ROWS else ""


def mean_sentence(
    target: Target,
    values: FloatArray,
    mean: float,
    noun: str,
    statistic: str = "mean",
    *,
    interval: tuple[float, float] | None = None,
) -> str:
    """The mean, or a quantile, of the rows of a leaf with its interval, and the middle half of them.

    >>> mean_sentence(Target("days"), np.array([1.0, 2.0, 3.0, 4.0]), 2.5, "patient", interval=(0.4, 4.6))
    '4 patients like this: mean days 2.5 (0.4 to 4.6), half of them between 1.75 and 3.25.'
    """
    if not len(values):
        return f"No {noun} like this is known."
    low, high = (number_text(float(each), 4) for each in np.quantile(values, [0.25, 0.75]))
    return (
        f"{rows_of(len(values), noun)} like this: {statistic} {printable(target.name)} "
        f"{number_text(mean, 4)}{_between(interval)}, half of them between {low} and {high}."
    )


def observed_sentence(target: Target, found: LeafOutcome, noun: str) -> str:
    """The mean of the rows of a leaf where only the tree tells it.

    >>> found = LeafOutcome(1, 2.5, 4, observed=2.0, interval=(0.4, 3.6))
    >>> observed_sentence(Target("days"), found, "patient")
    '4 patients like this: mean days 2 (0.4 to 3.6).'
    """
    if found.n_rows <= 0:
        return f"No {noun} like this is known."
    if found.observed is None:
        return f"{rows_of(found.n_rows, noun)} like this."
    mean = f"mean {printable(target.name)} {number_text(found.observed, 4)}"
    return f"{rows_of(found.n_rows, noun)} like this: {mean}{_between(own_interval(found))}."


def own_interval(found: LeafOutcome) -> tuple[float, float] | None:
    """The interval of the rows of a leaf; None where it is about the estimate of the tree."""
    return None if found.is_about_estimate else found.interval


def _between(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f" ({' to '.join(told_apart(*interval))})"


def listing(parts: Iterable[str]) -> str:
    """The parts as people list them.

    >>> listing(["age", "sex", "ward"])
    'age, sex and ward'
    """
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
