"""Rows of several years: from the third on, the outcome turns on another value of x."""

from typing import Any

import numpy as np
import pandas as pd

QUICK: dict[str, Any] = {"teacher": "linear", "n_estimators": 8, "max_leaf_nodes": 4, "validation": None}


def years(n_years: int = 4, n_rows: int = 120, seed: int = 0, task: str = "classes") -> pd.DataFrame:
    """A frame with x, z, kind, year, who and y; every year has the same ranges."""
    parts = []
    for year in range(n_years):
        rng = np.random.default_rng([seed, year])
        x, z = np.clip(rng.normal(size=(2, n_rows)), -2, 2).round(4)
        x[:2], z[2:4] = (-2.0, 2.0), (-2.0, 2.0)
        kind = np.array(["a", "b", "c"])[rng.integers(0, 3, n_rows)]
        score = 2.0 * (x > (0.0 if year < 2 else 1.0)) + z * (kind == "a") + 0.3 * rng.normal(size=n_rows)
        y = score.clip(-1, 2) if task == "numbers" else np.where(score > 0.8, "yes", "no")
        who = rng.integers(0, 40, n_rows)
        parts.append(pd.DataFrame({"x": x, "z": z, "kind": kind, "year": 2001 + year, "who": who, "y": y}))
    return pd.concat(parts, ignore_index=True)


def split(data: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """What is asked about, and what is to be predicted."""
    return data[["x", "z", "kind"]], data["y"]
