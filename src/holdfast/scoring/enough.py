"""How many rows a score or a calibration must rest on before it is shown."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.data.schema import Target
from holdfast.scoring.metric import TrueValues
from holdfast.text.lines import label_text
from holdfast.text.numbers import counted

MIN_ROWS = 20  # or groups, of which half as many are enough
MIN_EVENTS = 5  # rows of a class, in at least two classes


def is_enough(target: Target, values: NDArray[Any]) -> bool:
    """True if there are enough rows, and enough of at least two classes."""
    if len(values) < MIN_ROWS or not target.is_classes:
        return len(values) >= MIN_ROWS
    counts = np.sort(np.bincount(values, minlength=max(2, len(target.classes))))
    return int(counts[-2]) >= MIN_EVENTS


def describe_too_few(true_values: TrueValues) -> str:
    """Count rows and cases if they are too few to judge a model by; an empty string if they are enough.

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
    if is_enough(target, values):
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
