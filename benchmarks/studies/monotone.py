"""Directions on real data: how often they are broken, and what they cost next to other libraries.

    python -m benchmarks.studies.monotone DATA_FOLDER [sets ...]

Of every set the numeric columns are taken, missing values filled with the median, for the others cannot have
both. A column has the direction of its rank correlation with the target where that is clear. Violations are
counted over a grid of every such column; losses are mean squared errors on the training rows, two classes
as 0 and 1, of trees of as many leaves, and of ensembles of as many such trees.
"""

import sys
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.studies.cases import load_case
from holdfast import (
    BoostingClassifier,
    BoostingRegressor,
    ForestClassifier,
    ForestRegressor,
    StableTreeClassifier,
    StableTreeRegressor,
    TreeClassifier,
    TreeRegressor,
)

SETS = (
    *("heart_cleveland", "pima_diabetes", "breast_cancer_wdbc", "german_credit", "titanic", "adult_income"),
    *("nhanes_diabetes", "hitters_salary", "california_housing", "bike_sharing_hourly"),
)
LEAVES, LEAST, ROUNDS, MOST_ROWS, N_GRID = 16, 5, 30, 2000, 25


def numeric_part(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Numeric columns without gaps, the target as a number, and a direction for each column."""
    table = load_case(name, folder).table
    numeric = [i for i, feature in enumerate(table.schema.columns) if feature.kind == "numeric"]
    X = np.column_stack([table.columns[i] for i in numeric])[:MOST_ROWS]
    X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    y = np.asarray(table.target[:MOST_ROWS], float)
    if len(table.schema.target.classes) > 2:
        y = (y == 0).astype(float)
    return X, y, [_direction(column, y) for column in X.T]


def _direction(column: np.ndarray, y: np.ndarray) -> int:
    ranks = [np.unique(each, return_inverse=True)[1].astype(float) for each in (column, y)]
    if min(np.ptp(each) for each in ranks) == 0:
        return 0
    correlation = np.corrcoef(*ranks)[0, 1]
    return int(np.sign(correlation)) if abs(correlation) * np.sqrt(len(y)) > 3 else 0


# -- violations -----------------------------------------------------------------------------------------


def violations(model: Any, X: np.ndarray, directions: list[int]) -> int:
    rows = X[:: max(len(X) // 200, 1)]
    said = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    n_broken = 0
    for column, direction in enumerate(directions):
        if direction == 0:
            continue
        lines = []
        for value in np.unique(np.quantile(X[:, column], np.linspace(0, 1, N_GRID))):
            moved = rows.copy()
            moved[:, column] = value
            values = said(moved)
            lines.append(direction * (values[:, 1] if values.ndim == 2 else values))
        spread = 1e-12 * (1 + np.abs(lines).max())
        n_broken += sum(int((after < before - spread).sum()) for before, after in pairwise(lines))
    return n_broken


def own_models(is_classes: bool, directions: list[int]) -> dict[str, Any]:
    pick = (lambda classes, numbers: classes) if is_classes else (lambda classes, numbers: numbers)
    said = {"monotonic_cst": directions}
    stable = {"max_leaf_nodes": 8, "n_estimators": 10, "validation": None, "teacher": "forest"}
    return {
        "tree": pick(TreeClassifier, TreeRegressor)(min_samples_leaf=LEAST, **said),
        "pruned": pick(TreeClassifier, TreeRegressor)(min_samples_leaf=LEAST, ccp_alpha="cv", cv=3, **said),
        "stable": pick(StableTreeClassifier, StableTreeRegressor)(**stable, **said),
        "forest": pick(ForestClassifier, ForestRegressor)(n_estimators=10, random_state=0, **said),
        "boosting": pick(BoostingClassifier, BoostingRegressor)(n_estimators=ROUNDS, splits="exact", **said),
        "binned": pick(BoostingClassifier, BoostingRegressor)(n_estimators=ROUNDS, splits="binned", **said),
    }


# -- losses ---------------------------------------------------------------------------------------------


def single_losses(X: np.ndarray, y: np.ndarray, directions: list[int]) -> dict[str, float]:
    from sklearn.tree import DecisionTreeRegressor

    limits = {"max_leaf_nodes": LEAVES, "min_samples_leaf": LEAST}
    models = {
        "free": TreeRegressor(**limits),
        "holdfast": TreeRegressor(**limits, monotonic_cst=directions),
        "scikit-learn": DecisionTreeRegressor(**limits, monotonic_cst=directions, random_state=0),
    }
    for method in ("basic", "advanced"):
        models[f"lightgbm {method}"] = _lightgbm(directions, method, 1, 1.0)
    return {name: _loss(model, X, y) for name, model in models.items()}


def boosted_losses(X: np.ndarray, y: np.ndarray, directions: list[int]) -> dict[str, float]:
    from sklearn.ensemble import HistGradientBoostingRegressor

    limits = {"max_leaf_nodes": LEAVES, "max_depth": None, "min_samples_leaf": LEAST}
    own = {"n_estimators": ROUNDS, "splits": "binned", **limits}
    models = {
        "free": BoostingRegressor(**own),
        "holdfast": BoostingRegressor(**own, monotonic_cst=directions),
        "scikit-learn": HistGradientBoostingRegressor(
            max_iter=ROUNDS, early_stopping=False, monotonic_cst=directions, **limits
        ),
    }
    for method in ("basic", "advanced"):
        models[f"lightgbm {method}"] = _lightgbm(directions, method, ROUNDS, 0.1)
    return {name: _loss(model, X, y) for name, model in models.items()}


def _lightgbm(directions: list[int], method: str, n_trees: int, rate: float) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(
        n_estimators=n_trees,
        learning_rate=rate,
        num_leaves=LEAVES,
        min_child_samples=LEAST,
        min_child_weight=0.0,
        max_bin=255,
        min_data_in_bin=1,
        monotone_constraints=directions,
        monotone_constraints_method=method,
        n_jobs=1,
        verbose=-1,
    )


def _loss(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    return float(((model.fit(X, y).predict(X) - y) ** 2).mean() / y.var())


def main(folder: Path, names: tuple[str, ...]) -> None:
    warnings.simplefilter("ignore")
    totals: dict[str, list[dict[str, float]]] = {"one tree": [], f"{ROUNDS} trees": []}
    for name in names:
        X, y, directions = numeric_part(name, folder)
        is_classes = len(np.unique(y)) == 2
        fitted = {
            kind: model.fit(X, y.astype(int) if is_classes else y)
            for kind, model in own_models(is_classes, directions).items()
        }
        broken = {kind: violations(model, X, directions) for kind, model in fitted.items()}
        print(f"{name}: {len(X)} rows, {sum(map(abs, directions))} of {len(directions)} columns directed")
        print("  violations:", ", ".join(f"{kind} {number}" for kind, number in broken.items()))
        for title, losses in zip(
            totals, (single_losses(X, y, directions), boosted_losses(X, y, directions)), strict=True
        ):
            totals[title].append(losses)
            print(f"  {title}:", ", ".join(f"{kind} {loss:.4f}" for kind, loss in losses.items()), flush=True)
    for title, lines in totals.items():
        means = {kind: np.mean([line[kind] for line in lines]) for kind in lines[0]}
        print(f"mean, {title}:", ", ".join(f"{kind} {mean:.4f}" for kind, mean in means.items()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), tuple(sys.argv[2:]) or SETS)
