"""Tables made of integers alone: no random generator and no mathematical library has a part in them."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

from holdfast import Table

N_ROWS = 240
WARDS = ("A", "B", "C", "D", "E")
GRADES = ("none", "mild", "severe")
QUESTIONS = ("dose * 2 > age", "ward in ('A', 'C') and age > 40")


def whole_numbers(seed: int) -> Iterator[int]:
    """Numbers from 0 to 2^31 - 1 that look unrelated: Knuth's linear generator."""
    state = seed
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield state >> 33


def drawn(numbers: Iterator[int], below: int) -> list[int]:
    return [next(numbers) % below for _ in range(N_ROWS)]


@cache
def clinic() -> pd.DataFrame:
    """Numbers, a column with gaps, categories, ordered categories, and what follows from them."""
    numbers = whole_numbers(7)
    age, dose, blood = (drawn(numbers, below) for below in (80, 50, 1000))
    ward, grade, gap, luck = (drawn(numbers, below) for below in (5, 3, 9, 100))
    risk = [
        a + 2 * d + 15 * g + (20 if w in (0, 2) else 0) + k // 2
        for a, d, g, w, k in zip(age, dose, grade, ward, luck, strict=True)
    ]
    return pd.DataFrame(
        {
            "age": np.array(age, float),
            "dose": np.array(dose) / 4,
            "blood": [np.nan if g == 0 else b / 8 for b, g in zip(blood, gap, strict=True)],
            "ward": pd.Categorical([WARDS[w] for w in ward]),
            "grade": pd.Categorical([GRADES[g] for g in grade], GRADES, ordered=True),
            "outcome": ["died" if r > 170 else "ill" if r > 120 else "well" for r in risk],
            "lived": ["yes" if r <= 140 else "no" for r in risk],
            "stay": np.array(risk) / 8,
            "events": [max(r - 100, 0) // 20 for r in risk],
            "weight": [(k % 7 + 1) / 4 for k in luck],
        }
    )


def table(
    target: str, *, weighted: bool = False, custom_features: tuple[str, ...] = (), **options: Any
) -> Table:
    """The clinic with one of its targets: "outcome", "lived", "stay" or "events"."""
    frame = clinic()
    columns = frame[["age", "dose", "blood", "ward", "grade"]]
    weight = frame["weight"].to_numpy() if weighted else None
    task = "regression" if target in ("stay", "events") else "classification"
    return Table.from_arrays(
        columns, frame[target], weight, custom_features=custom_features, task=task, **options
    )


def features() -> pd.DataFrame:
    """The columns of the clinic that models learn from."""
    return clinic()[["age", "dose", "blood", "ward", "grade"]]


def builtin(name: str) -> tuple[Any, Any]:
    """One of scikit-learn's own data sets, as it was recorded."""
    options = {"scaled": False} if name == "diabetes" else {}
    return getattr(datasets, f"load_{name}")(return_X_y=True, **options)
