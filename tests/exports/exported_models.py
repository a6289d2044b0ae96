"""Small models of every kind on columns with awkward names, and the rows they were fitted to."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from holdfast import (
    AdaBoostClassifier,
    BoostingClassifier,
    BoostingRegressor,
    ForestClassifier,
    ForestRegressor,
    SurvivalForest,
    SurvivalTree,
    TreeClassifier,
    TreeRegressor,
)

SITE = "si\"te's \\<b>&#96;\n{x}[y]|%s`--;"  # quotes, markup and line breaks of every language
CATEGORIES = ["a", 'b"', "c'; DROP TABLE rows;--", "d\n\\", "è €"]

GRADES = ["low", "mid", "high"]


@cache
def rows() -> pd.DataFrame:
    """Numbers, text, an order, yes or no, and numbers as categories; some are missing."""
    rng, n = np.random.default_rng(0), 160
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            SITE: rng.choice(CATEGORIES, n),
            "dose": rng.integers(0, 6, n) / 10,
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True
            ),
            "flag": rng.random(n) < 0.5,
            "zip": pd.Categorical(rng.integers(1, 9, n)),
        }
    )
    frame.loc[rng.random(n) < 0.2, "age"] = np.nan
    frame.loc[rng.random(n) < 0.2, SITE] = None
    return frame


@cache
def target(kind: str) -> Any:
    """What depends on all columns: two classes, four of them, a number, a count, or times and events."""
    frame, noise = rows(), np.random.default_rng(1).normal(0, 0.4, len(rows()))
    score = (
        (frame["age"].isna() | (frame["age"] > 52)) * 1.0
        + (frame[SITE] == CATEGORIES[2]) * 0.7
        + frame["dose"] * 2
        + (frame["grade"] == "low")
        + frame["flag"] * 0.5
        + (frame["zip"].astype(int) % 3) * 0.4
        + noise
    ).to_numpy()
    if kind == "survival":
        time = np.ceil(np.random.default_rng(2).exponential(1000 / np.exp(score)))
        return np.minimum(time, 365.0), time < 300
    if kind == "two":
        return np.where(score > np.median(score), 'y"es', "no's")
    if kind == "four":
        return np.array(["p", "q", "r\n", "s"])[np.digitize(score, np.quantile(score, [0.3, 0.5, 0.8]))]
    return np.maximum(np.round(score), 0) if kind == "count" else score


MODELS = {
    "tree": lambda: TreeClassifier(max_depth=5).fit(rows(), target("two")),
    "deep tree": lambda: TreeClassifier().fit(rows(), target("four")),
    "regression tree": lambda: TreeRegressor(max_depth=4).fit(rows(), target("number")),
    "one leaf": lambda: TreeClassifier(max_depth=1, min_samples_leaf=100).fit(rows(), target("two")),
    "forest": lambda: ForestClassifier(3, random_state=0, max_depth=4).fit(rows(), target("four")),
    "voting forest": lambda: ForestClassifier(3, voting="hard", random_state=0, max_depth=4).fit(
        rows(), target("four")
    ),
    "regression forest": lambda: ForestRegressor(3, random_state=0, max_depth=4).fit(
        rows(), target("number")
    ),
    "boosted two": lambda: BoostingClassifier(n_estimators=3).fit(rows(), target("two")),
    "boosted four": lambda: BoostingClassifier(n_estimators=2).fit(rows(), target("four")),
    "boosted number": lambda: BoostingRegressor(n_estimators=3).fit(rows(), target("number")),
    "boosted count": lambda: BoostingRegressor(n_estimators=3, loss="poisson").fit(rows(), target("count")),
    "adaboost": lambda: AdaBoostClassifier(n_estimators=3).fit(rows(), target("two")),
    "survival tree": lambda: SurvivalTree(max_depth=4, horizon=200, time_unit="days").fit(
        rows(), target("survival")
    ),
    "survival forest": lambda: SurvivalForest(3, random_state=0, max_depth=4).fit(
        rows(), target("survival"), np.arange(160.0) % 3
    ),
    "adaboost four": lambda: AdaBoostClassifier(n_estimators=3).fit(rows(), target("four")),
}


@cache
def model(name: str) -> Any:
    """The model of this name, fitted once."""
    return MODELS[name]()
