"""How many rows a score must rest on before it is shown, and a tree before it is trusted."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.data.schema import Target
from holdfast.scoring.metric import TrueValues
from holdfast.text.lines import label_text
from holdfast.text.numbers import counted

MIN_ROWS = 20  # or groups, of which half as many are enough
MIN_EVENTS = 5  # rows of a class, in at least two classes
LEAST_ROWS, LEAST_CASES = 30, 10  # with fewer, a note says that they are too few to learn from


def has_enough_rows(target: Target, values: NDArray[Any]) -> bool:
    """Return True if there are enough rows, and enough of at least two classes."""
    if len(values) < MIN_ROWS or not target.is_classes:
        return len(values) >= MIN_ROWS
    counts = np.sort(np.bincount(values, minlength=max(2, len(target.classes))))
    return int(counts[-2]) >= MIN_EVENTS


def describe_too_few(true_values: TrueValues) -> str:
    """Describe rows and cases if they are too few to judge a model; else an empty text.

    >>> describe_too_few(TrueValues(Target(classes=("no", "yes")), np.array([0] * 9 + [1])))
    '10 rows, 1 case'
    >>> describe_too_few(TrueValues(Target(classes=("no", "yes")), np.array([0, 1] * 10)))
    ''
    """
    target, values, groups = true_values.target, true_values.rows.values, true_values.groups
    n_rows = counted(len(values), "row")
    n_groups = None if groups is None else len(np.unique(groups[true_values.counted]))
    if n_groups is not None and n_groups < MIN_ROWS // 2:
        return f"{n_rows} of {counted(n_groups, 'group')}"
    if has_enough_rows(target, values):
        return ""
    if not target.is_classes:
        return n_rows
    counts = np.bincount(values, minlength=len(target.classes))
    if (counts > 0).sum() < 2:
        return f"{n_rows}, all of class {label_text(target.classes[int(counts.argmax())])}"
    n_rare = len(values) - int(counts.max())
    return (
        f"{n_rows}, {counted(n_rare, 'case')}"
        if len(counts) == 2
        else f"{n_rows}, {n_rare} outside the largest class"
    )


def describe_few_to_learn(target: Target, values: NDArray[Any]) -> str:
    """Describe rows or cases if they are too few to compare trees; else an empty text.

    >>> describe_few_to_learn(Target(classes=("no", "yes")), np.array([0] * 86 + [1] * 6))
    '92 rows with 6 cases of the rarer classes: too few to tell one tree from another. Read the model as a \
description of these rows, and trust no score.'
    """
    few, what = len(values) < LEAST_ROWS, counted(len(values), "row")
    if target.is_classes:
        n_cases = len(values) - int(np.bincount(values, minlength=2).max())
        if n_cases == 0:
            return ""  # one class has a note of its own
        few = few or n_cases < LEAST_CASES
        what = f"{what} with {counted(n_cases, 'case')} of the rarer classes"
    return (
        f"{what}: too few to tell one tree from another. Read the model as a description of these rows, and "
        "trust no score."
        if few
        else ""
    )
