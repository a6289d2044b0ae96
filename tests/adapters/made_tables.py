"""Rows with all that adapters get wrong: gaps, categories, integers, ties at thresholds."""

from typing import Any

import numpy as np
import pandas as pd

from holdfast.data.schema import Schema
from holdfast.data.table import Table


def patients(n_rows: int = 400, *, gaps: float = 0.1, seed: int = 0, bar: str = "café") -> pd.DataFrame:
    """A frame with numbers, integers, flags, text categories and numbered categories."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 15, n_rows),
            "visits": rng.integers(-2, 6, n_rows),
            "dose": rng.choice([0.1, 0.2, 0.30000000000000004, 16777217.0], n_rows),
            "ward": pd.Categorical(rng.choice(["ICU", bar, "north", "south", "west"], n_rows)),
            "code": pd.Categorical(rng.choice([3, 5, 9, 20], n_rows)),
            "smoker": rng.random(n_rows) < 0.4,
        }
    )
    for name in ("age", "ward", "code", "dose"):
        frame.loc[rng.random(n_rows) < gaps, name] = None
    return frame


def risk(frame: pd.DataFrame, seed: int = 0) -> np.ndarray:
    """A number that depends on every column, missing values included."""
    rng = np.random.default_rng(seed)
    return np.asarray(
        0.03 * frame["age"].fillna(80)
        + 0.4 * frame["visits"]
        + 1.5 * frame["ward"].isin(["ICU", "west"])
        + 1.2 * frame["code"].isin([5, 20])
        + frame["dose"].isna()
        + (frame["dose"] > 0.2)
        + frame["smoker"]
        + rng.normal(0, 0.3, len(frame)),
        np.float64,
    )


def schema_of(frame: pd.DataFrame, y: np.ndarray) -> Schema:
    """The schema of a table of patients; their codes are numbers, and only the reader knows better."""
    return Table.from_arrays(frame, y, categorical_features=["code"]).schema


def split_in_two(numbers: np.ndarray, labels: Any = ("no", "yes")) -> np.ndarray:
    """The first label for the lower half, the second for the upper."""
    return np.array(labels)[(numbers > np.median(numbers)).astype(int)]


def between(X: np.ndarray) -> np.ndarray:
    """The rows, and those half-way between each one and the next."""
    return np.concatenate([X, (X[1:] + X[:-1]) / 2])
