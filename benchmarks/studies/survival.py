"""How well survival trees rank and how much they move: python -m benchmarks.studies.survival.

Each table of scikit-survival and lifelines (at most 3,000 rows) is divided into 70 % to train on and 30 % to
test on. Every method is trained on two samples of 75 % of the training rows that share half of them. Printed
are the means of concordance, integrated Brier score, mean change of predicted survival between the trainings,
tree distance (label weight 10), rank agreement of the two trainings (Spearman), and differences to the tree
of scikit-survival, with standard errors over repetitions. The sets `flchain` and `rossi` served no choice of
the method.

    python -m benchmarks.studies.survival --sets gbsg2,whas500 --reps 12 --out pairs.csv
"""

import argparse
import importlib.util
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sksurv import datasets
from sksurv.ensemble import RandomSurvivalForest
from sksurv.linear_model import CoxPHSurvivalAnalysis
from sksurv.metrics import concordance_index_censored, integrated_brier_score
from sksurv.tree import SurvivalTree as LogRankTree

from holdfast import StableSurvivalTree, SurvivalForest, SurvivalTree, Table, tree_distance

SETS = ("gbsg2", "whas500", "veterans_lung_cancer", "aids", "lung", "flchain", "rossi")
TIMES = {"lung": ("time", "status"), "rossi": ("week", "arrest")}  # of lifelines
MOST_ROWS = 3_000
LEAVES = 8
FIRST = "scikit-survival"


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Features and times of a table."""
    if name in TIMES:
        spec = importlib.util.find_spec("lifelines")
        if spec is None or spec.origin is None:
            raise SystemExit(f"{name} is a table of lifelines: install it, or leave {name} out of --sets.")
        rows = pd.read_csv(Path(spec.origin).parent / "datasets" / f"{name}.csv")
        time_name, event_name = TIMES[name]
        event = (rows[event_name] == rows[event_name].max()).to_numpy()
        y = np.array(
            list(zip(event, rows[time_name].astype(float), strict=True)), [("event", bool), ("time", float)]
        )
        features = rows.drop(columns=[time_name, event_name])
    else:
        features, y = getattr(datasets, f"load_{name}")()
        features = features.drop(columns=["chapter"], errors="ignore")  # of flchain: known after death only
    numbers = features.select_dtypes("number").columns
    features = features.astype(dict.fromkeys(numbers, float))
    kept = np.flatnonzero(y[y.dtype.names[1]] > 0)
    if len(kept) > MOST_ROWS:
        kept = np.sort(np.random.RandomState(0).choice(kept, MOST_ROWS, replace=False))
    return features.iloc[kept].reset_index(drop=True), y[kept]


def on_numbers(columns: pd.Index, model: Any) -> Any:
    """Give a model of scikit-survival the columns as numbers, missing values as the median."""

    def encode(rows: pd.DataFrame) -> pd.DataFrame:
        coded = pd.get_dummies(rows, dtype=float).reindex(columns=columns, fill_value=0.0)
        return coded.fillna(coded.median())

    return make_pipeline(FunctionTransformer(encode), StandardScaler(), model)


def make_methods(features: pd.DataFrame) -> dict[str, Any]:
    columns = pd.get_dummies(features, dtype=float).columns
    return {
        FIRST: on_numbers(columns, LogRankTree(max_leaf_nodes=LEAVES, min_samples_leaf=10, random_state=0)),
        "plain": SurvivalTree(max_leaf_nodes=LEAVES),
        "pruned": SurvivalTree(ccp_alpha="cv-1se"),
        "consensus": StableSurvivalTree(max_leaf_nodes=LEAVES),
        "default": StableSurvivalTree(),
        "forest": SurvivalForest(random_state=0),
        "their forest": on_numbers(columns, RandomSurvivalForest(200, min_samples_leaf=10, random_state=0)),
        "Cox": on_numbers(columns, CoxPHSurvivalAnalysis(alpha=1.0)),
    }


def predict_survival(model: Any, rows: pd.DataFrame, times: np.ndarray) -> np.ndarray:
    found = model.predict_survival_function(rows, times) if _is_ours(model) else None
    if found is None:
        functions = model.predict_survival_function(rows)
        found = np.array([np.interp(times, each.x, each.y, left=1.0) for each in functions])
    return np.asarray(found)


def _is_ours(model: Any) -> bool:
    return type(model).__module__.startswith("holdfast")


def measure(
    models: list[Any], features: pd.DataFrame, y: np.ndarray, test: np.ndarray, schema: Any
) -> dict[str, float]:
    event, times = y.dtype.names
    risks = [model.predict(features.iloc[test]) for model in models]
    concordances = [concordance_index_censored(y[event][test], y[times][test], each)[0] for each in risks]
    low, high = np.quantile(y[times][test], [0.05, 0.8])
    high = min(high, 0.99 * y[times][test].max())  # nobody is observed later
    grid = np.linspace(low, high, 50)
    briers = [
        integrated_brier_score(y, y[test], predict_survival(model, features.iloc[test], grid), grid)
        for model in models
    ]
    ends = [predict_survival(model, features.iloc[test], grid[-1:]) for model in models]
    churn = np.abs(ends[0] - ends[1]).mean()  # of survival to the last time of the Brier score
    found = {"concordance": np.mean(concordances), "brier": np.mean(briers), "churn": churn}
    if min(map(np.ptp, risks)) > 0:
        found["rank"] = spearmanr(*risks).statistic
    if hasattr(models[0], "tree_"):
        one, other = (model.tree_.with_schema(schema) for model in models)
        found["distance"] = tree_distance(one, other, label_weight=10.0).total
        found["leaves"] = (one.n_leaves + other.n_leaves) / 2
        found["same_root"] = float(one.feature[0] == other.feature[0])
    return found


def study(name: str, n_repeats: int, chosen: list[str]) -> pd.DataFrame:
    features, y = load(name)
    schema = Table.from_arrays(features, y, task="survival").schema
    rows = []
    for repeat in range(n_repeats):
        train, test = train_test_split(
            np.arange(len(y)), test_size=0.3, random_state=100 + repeat, stratify=y[y.dtype.names[0]]
        )
        order = np.random.default_rng(repeat).permutation(train)
        shared = int(0.75 * len(order))
        samples = [np.sort(order[:shared]), np.sort(order[len(order) - shared :])]
        for method, model in make_methods(features).items():
            if chosen and method not in chosen:
                continue
            start = time.process_time()
            models = [clone(model).fit(features.iloc[own], y[own]) for own in samples]
            seconds = (time.process_time() - start) / 2
            figures = measure(models, features, y, test, schema)
            rows.append({"set": name, "repeat": repeat, "method": method, "seconds": seconds, **figures})
    found = pd.DataFrame(rows)
    print(f"\n{name}: {len(y):,} rows, {y[y.dtype.names[0]].sum():,} events\n{means(found)}", flush=True)
    return found


def means(pairs: pd.DataFrame) -> str:
    by_set = pairs.drop(columns="repeat").groupby(["set", "method"], sort=False).mean()
    return by_set.groupby("method", sort=False).mean().round(3).to_string(na_rep="")


def differences(pairs: pd.DataFrame) -> str:
    """Differences to scikit-survival's tree, with standard errors over repetitions, the sets as they are."""
    lines = []
    for method in pairs["method"].unique():
        cells = []
        for name in ("concordance", "brier", "churn", "rank"):
            wide = pairs.pivot_table(index=["set", "repeat"], columns="method", values=name)
            if method == FIRST or FIRST not in wide or method not in wide:
                continue
            by_set = (wide[method] - wide[FIRST]).dropna().groupby("set")
            error = np.sqrt((by_set.var() / by_set.count()).sum()) / len(by_set)
            cells.append(f"{name} {by_set.mean().mean():+.4f} ± {error:.4f}")
        lines.append(f"{method:14} {'   '.join(cells)}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--reps", type=int, default=12, help="repetitions")
    parser.add_argument("--methods", default="", help="names of methods; all without it")
    parser.add_argument("--out", default="", help="CSV file for all pairs")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [name.strip() for name in args.methods.split(",") if name.strip()]
    pairs = pd.concat([study(name, args.reps, chosen) for name in args.sets.split(",")])
    if args.out:
        pairs.to_csv(args.out, index=False)
    print(f"\nMEAN OF {pairs['set'].nunique()} SETS\n{means(pairs)}")
    print(f"\nDIFFERENCE TO THE TREE OF {FIRST.upper()}\n{differences(pairs)}")


if __name__ == "__main__":
    main()
