"""A tree through the stages of real data: python -m benchmarks.studies.stages.

The stages are survey years (nhanes_diabetes), half-years (elec2), quarters (bike_sharing_hourly), fifths of
the time (diabetic_readmission), thirds at random (dermatology). At each stage the consensus tree of the last
one is updated by the rows so far; next to it, a new consensus tree and CART by cross-validation.
Distances (label weight 10) are those from one stage to the next, summed; churn is their mean; a forward score
is that of a stage's tree on the rows of the next.

    python -m benchmarks.studies.stages --sets nhanes_diabetes,elec2 --most 6000
"""

import argparse
import json
import time
import warnings
from copy import copy
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score, roc_auc_score

from benchmarks.studies.retraining import DATA, cart_by_cv
from holdfast import StableTreeClassifier, StableTreeRegressor, Table, tree_distance

SETS = "nhanes_diabetes elec2 diabetic_readmission bike_sharing_hourly dermatology"
COLUMNS = ("way", "score", "distance", "churn", "leaves", "seconds")


class Staged(NamedTuple):
    """A data set with a stage for each row."""

    X: pd.DataFrame
    y: np.ndarray
    stage: np.ndarray
    is_classes: bool


def load(name: str, folder: Path, most: int) -> Staged:
    """At most so many rows, with stages made of their time."""
    entry = {each["name"]: each for each in json.loads((folder / "datasets.json").read_text())}[name]
    frame = pd.read_csv(folder / entry["file"], low_memory=False).dropna(subset=[entry["target"]])
    if len(frame) > most:
        frame = frame.sample(most, random_state=0)
    aside = {*entry["ids"], entry["time_column"], entry["group_column"]}
    features = frame.drop(columns=[column for column in frame if column in aside])
    return Staged(
        features.drop(columns=entry["target"]),
        frame[entry["target"]].to_numpy(),
        stages_of(name, frame),
        entry["task"] != "regression",
    )


def stages_of(name: str, frame: pd.DataFrame) -> np.ndarray:
    """A number for each row, the earliest stage first."""
    if name == "nhanes_diabetes":
        return pd.factorize(frame["SurveyYr"], sort=True)[0]
    if name in ("elec2", "bike_sharing_hourly"):
        day = pd.to_datetime(frame["date" if name == "elec2" else "dteday"])
        months = 6 if name == "elec2" else 3
        return pd.factorize(day.dt.year * 12 + (day.dt.month - 1) // months * months, sort=True)[0]
    if name == "diabetic_readmission":
        return pd.qcut(frame["encounter_id"], 5, labels=False)
    return np.random.default_rng(0).permutation(len(frame)) * 3 // len(frame)


def study(name: str, rows: Staged) -> pd.DataFrame:
    """The figures of every way."""
    kind = StableTreeClassifier if rows.is_classes else StableTreeRegressor
    schema = Table.from_arrays(
        rows.X, rows.y, task="classification" if rows.is_classes else "regression"
    ).schema
    ways = {
        "consensus, updated": Updated(kind),
        "consensus, trained again": lambda X, y: kind(validation=None).fit(X, y),
        "CART, trained again": lambda X, y: cart_by_cv(rows.is_classes, 0).fit(X, y),
    }
    found = []
    for way, train in ways.items():
        start, models = time.perf_counter(), []
        for stage in range(int(rows.stage.max()) + 1):
            seen = rows.stage <= stage
            models.append(train(rows.X[seen], rows.y[seen]))
        seconds = (time.perf_counter() - start) / len(models)
        found.append({"way": way, **figures(models, rows, schema), "seconds": seconds})
    return pd.DataFrame(found, columns=COLUMNS).assign(set=name)


class Updated:
    """A model that is fitted once, and then updated by the rows so far."""

    def __init__(self, kind: Any) -> None:
        self.model = kind(validation=None)
        self.is_fitted = False

    def __call__(self, X: pd.DataFrame, y: np.ndarray) -> Any:
        if not self.is_fitted:
            self.model.fit(X, y)
        else:
            self.model.update(X, y, allow_new_values=True, validation=None)
        self.is_fitted = True
        return copy(self.model)


def figures(models: list[Any], rows: Staged, schema: Any) -> dict[str, float]:
    """Mean forward score, total distance, mean churn and leaves."""
    scores, distances, churn = [], [], []
    for stage, (one, other) in enumerate(pairwise(models)):
        later = rows.X[rows.stage == stage + 1]
        said = [answers(model, later, rows.is_classes) for model in (one, other)]
        scores.append(score(rows.y[rows.stage == stage + 1], said[0], rows.is_classes, one))
        trees = [model.tree_.with_schema(schema) for model in (one, other)]
        distances.append(tree_distance(*trees, label_weight=10.0).total)
        change = np.abs(said[0] - said[1]).sum(axis=1).mean()
        churn.append(change / 2 if rows.is_classes else change / np.std(rows.y))
    return {
        "score": float(np.mean(scores)),
        "distance": float(np.sum(distances)),
        "churn": float(np.mean(churn)),
        "leaves": float(np.mean([model.tree_.n_leaves for model in models])),
    }


def answers(model: Any, X: pd.DataFrame, is_classes: bool) -> np.ndarray:
    return np.asarray(model.predict_proba(X) if is_classes else model.predict(X)[:, None])


def score(y: np.ndarray, said: np.ndarray, is_classes: bool, model: Any) -> float:
    if not is_classes:
        return float(r2_score(y, said[:, 0]))
    if said.shape[1] == 2:
        return float(roc_auc_score(y == model.classes_[1], said[:, 1]))
    return float(roc_auc_score(y, said, multi_class="ovr", labels=model.classes_))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--most", type=int, default=6_000)
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.sets.replace(",", " ").split():
        rows = load(name, options.data, options.most)
        print(f"\n{name}: {len(rows.y):,} rows, {int(rows.stage.max()) + 1} stages")
        print(study(name, rows).drop(columns="set").round(4).to_string(index=False), flush=True)


if __name__ == "__main__":
    main()
