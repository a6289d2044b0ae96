"""Every export against its model on six data sets: rows and edges that differ, by engine.

Run as `python -m benchmarks.exports`, or with the names of formats. Engines that are not installed are named.
"""

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from holdfast import (
    BoostingClassifier,
    ExportError,
    ForestClassifier,
    ForestRegressor,
    TreeClassifier,
    check_export,
)

ENGINES: tuple[tuple[str, dict[str, str]], ...] = (
    ("python", {}),
    ("sql", {"dialect": "sqlite"}),
    ("sql", {"dialect": "duckdb"}),
    ("onnx", {}),
    ("pmml", {}),
    ("excel", {}),
    ("json", {}),
)
LEVELS = ["none", "school", "college", "phd"]


def people(n: int = 5000) -> tuple[pd.DataFrame, np.ndarray]:
    """Categories, an order, numbers and flags, and a score that depends on all of them."""
    dice = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "job": dice.choice([f"job {i}" for i in range(40)], n),
            "city": dice.choice([f"city {i}" for i in range(12)], n),
            "edu": pd.Categorical(dice.choice(LEVELS, n), LEVELS, ordered=True),
            "age": dice.integers(18, 80, n) * 1.0,
            "own": dice.random(n) < 0.4,
        }
    )
    jobs, cities = frame["job"].str[4:].astype(int), frame["city"].str[5:].astype(int)
    score = (jobs % 7 > 3) * 1.0 + (cities % 3 == 1) * 0.8 + (frame["edu"].cat.codes > 1) * 0.9
    return frame, (score + (frame["age"] > 45) * 0.5 + dice.normal(0, 0.8, n)).to_numpy()


def with_gaps(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with a fifth of its cells missing."""
    dice, gaps = np.random.default_rng(1), frame.astype({"own": object})
    for name in gaps:
        gaps.loc[dice.random(len(gaps)) < 0.2, name] = None
    return gaps.astype({"age": float})


def models() -> Iterator[tuple[str, Any, Any]]:
    """The name of the data, its rows, and a model fitted to them."""
    cells, benign = load_breast_cancer(return_X_y=True, as_frame=True)
    yield (
        "numbers",
        cells,
        TreeClassifier(max_depth=8).fit(cells, np.where(benign == 1, "benign", "malignant")),
    )
    frame, score = people()
    yield "categories", frame, TreeClassifier(max_depth=10).fit(frame, np.where(score > 1.7, "yes", "no"))
    gaps = with_gaps(frame)
    missing = np.where(score + gaps["age"].isna() > 1.9, "yes", "no")
    yield "missing", gaps, TreeClassifier(max_depth=10).fit(gaps, missing)
    pixels, digit = load_digits(return_X_y=True)
    yield "many classes", pixels, ForestClassifier(20, random_state=0).fit(pixels, digit)
    patients, progression = load_diabetes(return_X_y=True)
    yield "regression", patients, ForestRegressor(20, random_state=0).fit(patients, progression)
    classes = np.digitize(score, [1.2, 2.4]).astype(str)
    yield "boosted", gaps, BoostingClassifier(n_estimators=50).fit(gaps, classes)


def main() -> None:
    """Print a line for each data set and engine."""
    warnings.simplefilter("ignore")
    asked = sys.argv[1:]
    for name, rows, model in models():
        for to, options in ENGINES:
            if asked and to not in asked:
                continue
            try:
                print(f"{name:13} {check_export(model, to, rows, **options)}", flush=True)
            except ExportError as error:
                print(f"{name:13} {to}: {error}", flush=True)


if __name__ == "__main__":
    main()
