"""Leaf values of consensus trees, by the teacher and by the teacher and the rows together.

    python -m benchmarks.studies.leaf_values [scores | coverage] [--reps 3] [--sets titanic,stroke]

scores: each pair of samples takes 75 % of 70 % of the rows, at most 2,600, so that half of the rows are in
both; the other 30 %, or more, are the test part. Both samples are fitted with leaf_values="teacher" and
"posterior", so that all differences are paired. `coverage` is the share of the leaves with at least 20 test
rows whose 95 % interval, widened by the sampling error of the test part, holds the rate of the test rows;
`inside` is the share of the leaves whose estimate lies in their interval. Relative churn is churn over the
standard deviation of the predictions. Last come the cases of compensated hypothyroidism, a class of 5 %, that
are found.

coverage: the same on tables of more than 5,000 rows, of which 600 to 2,600 are fitted, for two classes, three
classes (numbers in three parts, equal and unequal) and numbers, by the rows of a leaf; and the R² of numbers.
"""

import argparse
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.studies.cases import listed_frame
from benchmarks.studies.leaves import DATA, SETS, calibration_error
from holdfast import StableTreeClassifier, StableTreeRegressor
from holdfast._arrays import FloatArray, IntArray
from holdfast.scoring.calibration import calibration
from holdfast.scoring.metric import TrueValues
from holdfast.tree.leaf_evidence import node_intervals
from holdfast.tree.tree import LEAF

KINDS = ("teacher", "posterior")
MOST_ROWS, MOST_TEST, LEAST_TEST = 2_600, 15_000, 20
NORMAL = 1.96
SIZES = (600, 1300, 2600)
CUTS = {"three equal classes": [1 / 3, 2 / 3], "three unequal classes": [0.7, 0.93]}
NUMBERS = ("california_housing", "bike_sharing_hourly")
LARGE = (
    *(
        (name, "two classes")
        for name in ("adult_income", "nhanes_diabetes", "elec2", "stroke", "diabetic_readmission")
    ),
    *((name, kind) for name in NUMBERS for kind in (*CUTS, "numbers")),
)


def fitted(kind: str, X: pd.DataFrame, y: pd.Series) -> StableTreeClassifier:
    return StableTreeClassifier(leaf_values=kind, validation=None, n_jobs=1).fit(X, y)


def figures(
    first: StableTreeClassifier, other: StableTreeClassifier, X: pd.DataFrame, y: IntArray
) -> dict[str, float]:
    """Scores of the first tree, and what the other tree predicts otherwise."""
    predicted, others = first.predict_proba(X), other.predict_proba(X)
    p, truth = predicted[:, 1], TrueValues(first.schema_.target, y)
    churn, spread = float(np.abs(p - others[:, 1]).mean()), float((p.std() + others[:, 1].std()) / 2)
    covers, inside = coverage(first, X, y)
    return {
        "slope": calibration(predicted, truth, 1).slope,
        "log loss": log_loss(y, np.clip(p, 1e-3, 1 - 1e-3)),
        "calibration error": calibration_error(p, y.astype(float)),
        "AUC": roc_auc_score(y, p),
        "coverage": covers,
        "inside": inside,
        "churn": churn,
        "relative churn": churn / spread,
        "flips": float(((p > 0.5) != (others[:, 1] > 0.5)).mean()),
    }


def coverage(model: StableTreeClassifier, X: pd.DataFrame, y: IntArray) -> tuple[float, float]:
    """The share of the leaves whose interval holds the rate of the test rows, and its own estimate."""
    leaves = leaf_figures(model, X, y[:, None], place=1)
    return float(leaves["holds"].mean()), float(leaves["inside"].mean())


def leaf_figures(model: Any, X: pd.DataFrame, outputs: FloatArray, place: int = 0) -> pd.DataFrame:
    """Of each leaf and column of outputs: does the interval hold the test mean, and the estimate?"""
    tree, leaf = model.tree_, model.apply(X)
    n_rows = np.bincount(leaf, minlength=tree.n_nodes)
    leaves = np.flatnonzero((tree.feature == LEAF) & (n_rows >= LEAST_TEST))
    parts = []
    for column, found in enumerate(outputs.T, start=place):
        low, high = (end[leaves, column] for end in node_intervals(tree))
        mean = (np.bincount(leaf, found, tree.n_nodes) / np.maximum(n_rows, 1))[leaves]
        square = (np.bincount(leaf, found**2, tree.n_nodes) / np.maximum(n_rows, 1))[leaves]
        middle, value = (low + high) / 2, tree.value[leaves, column]
        variance = (
            np.maximum(square - mean**2, 0.0) if model.schema_.target.classes == () else middle * (1 - middle)
        )
        half = np.hypot((high - low) / 2, NORMAL * np.sqrt(variance / n_rows[leaves]))
        holds, inside = np.abs(mean - middle) <= half, (low <= value) & (value <= high)
        parts.append(pd.DataFrame({"rows": tree.count[leaves], "holds": holds, "inside": inside}))
    return pd.concat(parts)


def study(name: str, rep: int, folder: Path) -> list[dict[str, object]]:
    """One row for each kind of leaf value."""
    X, y = listed_frame(name, folder)
    n_train = min(int(0.7 * len(y)), round(MOST_ROWS / 0.75))
    rest, test, y_rest, y_test = train_test_split(X, y, train_size=n_train, random_state=rep, stratify=y)
    order = np.random.default_rng(rep).permutation(n_train)
    parts = order[: int(0.75 * n_train)], order[n_train - int(0.75 * n_train) :]
    found = []
    for kind in KINDS:
        pair = [fitted(kind, rest.iloc[rows], y_rest.iloc[rows]) for rows in parts]
        truth = (y_test[:MOST_TEST] == pair[0].classes_[1]).to_numpy().astype(np.int32)
        found.append({"set": name, "rep": rep, "kind": kind, **figures(*pair, test[:MOST_TEST], truth)})
    return found


def rare_cases(rep: int, folder: Path) -> dict[str, str]:
    """How many cases of a rare class are found, and the log loss of all classes, by kind."""
    X, y = listed_frame("hypothyroid", folder)
    kept = y.map(y.value_counts()) > 2
    rest, test, y_rest, y_test = train_test_split(
        X[kept], y[kept], test_size=0.25, random_state=rep, stratify=y[kept]
    )
    cases, texts = y_test == "compensated_hypothyroid", {}
    for kind in KINDS:
        model = fitted(kind, rest, y_rest)
        n_found = (model.predict(test)[cases] == "compensated_hypothyroid").sum()
        loss = log_loss(y_test, model.predict_proba(test), labels=list(model.classes_))
        texts[kind] = f"{n_found} of {cases.sum()}, log loss {loss:.3f}"
    return texts


def cover(reps: int, folder: Path) -> str:
    """The coverage by kind of target and by rows in the leaf, and the R² of numbers."""
    parts, scores = [], []
    for name, kind in LARGE:
        X, y = listed_frame(name, folder)
        if kind in CUTS:
            y = pd.cut(
                y, [-np.inf, *y.quantile(CUTS[kind]), np.inf], labels=["low", "middle", "high"]
            ).astype(str)
        for rep, size in product(range(reps), SIZES):
            train, test, y_train, y_test = train_test_split(X, y, train_size=size, random_state=rep)
            test, y_test = test[:MOST_TEST], y_test[:MOST_TEST]
            for values in KINDS:
                made = StableTreeRegressor if kind == "numbers" else StableTreeClassifier
                model = made(leaf_values=values, validation=None, n_jobs=1).fit(train, y_train)
                if kind == "numbers":
                    outputs = y_test.to_numpy(np.float64)[:, None]
                    scores.append((name, size, values, model.score(test, y_test)))
                else:
                    outputs = (y_test.to_numpy()[:, None] == model.classes_).astype(np.float64)
                parts.append(leaf_figures(model, test, outputs).assign(kind=values, target=kind))
    leaves = pd.concat(parts)
    leaves["rows"] = pd.cut(leaves["rows"], [0, 20, 50, 150, 400, np.inf])
    names = ["holds", "inside"]
    by = [leaves.groupby([key, "kind"], observed=True)[names].mean().unstack() for key in ("target", "rows")]
    r2 = pd.DataFrame(scores, columns=["set", "size", "kind", "R2"]).pivot_table(
        "R2", ["set", "size"], "kind"
    )
    return "\n\n".join(str(each.round(4)) for each in [*by, leaves.groupby("kind")[names].mean(), r2])


def report(pairs: pd.DataFrame) -> str:
    """Means of both kinds, and paired differences with standard errors over all pairs and over the sets."""
    wide = pairs.drop(columns=["set", "rep"]).groupby("kind").mean().T[list(KINDS)]
    each = pairs.set_index(["set", "rep", "kind"]).unstack("kind")
    names = wide.index
    difference = pd.DataFrame({name: each[name, KINDS[1]] - each[name, KINDS[0]] for name in names})
    of_sets = difference.groupby("set").mean()
    wide["difference"] = difference.mean()
    wide["error, pairs"] = difference.sem()
    wide["error, sets"] = of_sets.sem()
    return str(wide.round(4))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["scores", "coverage"], nargs="?", default="scores")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--reps", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.part == "coverage":
        print(cover(options.reps, options.data))
        return
    rows = [
        row
        for name in options.sets.split(",")
        for rep in range(options.reps)
        for row in study(name, rep, options.data)
    ]
    pairs = pd.DataFrame(rows)
    print(pairs.groupby(["set", "kind"], sort=False).mean().drop(columns="rep").round(3).to_string())
    print(f"\n{len(pairs) // len(KINDS)} pairs of samples, {pairs['set'].nunique()} sets\n{report(pairs)}")
    for rep in range(options.reps):
        print("compensated hypothyroidism:", rare_cases(rep, options.data))


if __name__ == "__main__":
    main()
