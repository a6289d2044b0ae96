"""How much each method moves when it is trained again: python -m benchmarks.studies.retraining.

Every data set, at most 5,000 rows of it, goes through `retrain_audit`: two samples of 75 % that share half,
staged samples and small changes, tested on 30 % of the rows, which no model sees. Printed are the means over
the repetitions of each set, the means over all sets, and paired differences to the first method with standard
errors over sets and repetitions. Sets of classes, of numbers and of stages have tables of their own.

    python -m benchmarks.studies.retraining --reps 2 --sets titanic,stroke --methods cart-cv,pruned-1se
    python -m benchmarks.studies.retraining --sets confirmation --changes overlap --jobs 2 --out pairs.csv
"""

import argparse
import json
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.studies import solvers
from holdfast import Table, retrain_audit
from holdfast.evaluate.methods import make_estimator

DATA = Path(__file__).parents[3] / "shared" / "data"
MOST_ROWS = 5_000
SETS = {
    "main": "heart_cleveland pima_diabetes breast_cancer_wdbc german_credit stroke nhanes_diabetes "
    "adult_income titanic",
    "confirmation": "hepatitis breast_cancer_ljubljana elec2",
    "numbers": "hitters_salary california_housing bike_sharing_hourly",
    "classes": "dermatology",
}
CHANGES = ("overlap", "fewer rows", "another seed", "noise column", "columns permuted")
STAGED = {"elec2": "date"}  # sets that are also retrained stage by stage, and by which column
SCORES = ("auc", "r2", "log_loss", "brier")
MOVES = ("distance", "distance_per_leaf", "churn", "flips", "negative_flips", "rank_agreement")
FIGURES = (*SCORES, *MOVES, "leaves", "same_root", "identical", "same_rules", "seconds")
PAIRED = ("auc", "r2", "distance", "churn", "flips")


class Rows(NamedTuple):
    """A data set, as a user would hand it in."""

    X: pd.DataFrame
    y: Any
    stage: Any


class Task(NamedTuple):
    """One data set of the study."""

    name: str
    methods: tuple[str, ...] | None  # None: the defaults
    changes: tuple[str, ...]
    reps: int
    n_jobs: int
    data: Path
    most_rows: int = MOST_ROWS


def load(name: str, folder: Path = DATA, most_rows: int = MOST_ROWS) -> Rows:
    """The features as pandas reads them, the target (1 for the positive one of two classes), and stages."""
    entry = {each["name"]: each for each in json.loads((folder / "datasets.json").read_text())}[name]
    frame = pd.read_csv(folder / entry["file"], low_memory=False)
    frame = frame.dropna(subset=[entry["target"]])
    if len(frame) > most_rows:
        frame = frame.sample(most_rows, random_state=0)
    stage = frame[STAGED[name]].to_numpy() if name in STAGED else None
    aside = {*entry["ids"], entry["time_column"], entry["group_column"]}
    features = frame.drop(columns=[column for column in frame if column in aside])
    y = features.pop(entry["target"])
    if entry["task"] == "binary":
        y = (y == (entry.get("positive") or sorted(y.unique())[-1])).astype(int)
    return Rows(features, y.to_numpy(), stage)


def study(task: Task) -> pd.DataFrame:
    """The pairs of one data set."""
    warnings.simplefilter("ignore")
    rows = load(task.name, task.data, task.most_rows)
    changes = [change for change in task.changes if change != "staged"]
    if "staged" in task.changes or task.name in STAGED:
        changes.append("staged")
    start = time.perf_counter()
    is_classes = Table.from_arrays(rows.X, rows.y).schema.target.is_classes
    audit = retrain_audit(
        task.methods and {name: method(name, is_classes) for name in task.methods},
        rows.X,
        rows.y,
        changes=changes,
        n_repeats=task.reps,
        stage=rows.stage,
        n_jobs=task.n_jobs,
    )
    pairs = pd.DataFrame(audit.pairs.columns())
    pairs.insert(0, "set", task.name)
    kind = "numbers" if not audit.target.is_classes else "classes"
    pairs.insert(1, "kind", kind)
    print(
        f"\n{task.name}: {len(rows.X):,} rows, {time.perf_counter() - start:.0f} s\n{means(pairs)}",
        flush=True,
    )
    return pairs


def cart_by_cv(is_classes: bool, seed: int) -> Any:
    """CART by cross-validation, as the audit has it."""
    return make_estimator("cart-cv", "classification" if is_classes else "regression", random_state=seed)


def method(name: str, is_classes: bool) -> Any:
    """What `retrain_audit` gets for a name: itself, or the estimator of a solver."""
    return solvers.make_solver(name, is_classes) if name in solvers.NAMES else name


# -- tables -----------------------------------------------------------------------------------------------


def means(pairs: pd.DataFrame) -> str:
    """Means by change and method: of the pairs of a repetition, then over repetitions and sets."""
    present = [name for name in FIGURES if name in pairs and pairs[name].notna().any()]
    by_repeat = pairs.groupby(["set", "change", "method", "repeat"], sort=False)[present].mean()
    return by_repeat.groupby(["change", "method"], sort=False).mean().round(3).to_string(na_rep="")


def paired(pairs: pd.DataFrame, change: str = "overlap") -> str:
    """Differences to the first method on the same samples, with standard errors over sets and repetitions."""
    first = pairs["method"].iloc[0]
    own = pairs[pairs["change"] == change]
    lines = []
    for method in own["method"].unique():
        cells = []
        for measure in (name for name in PAIRED if name in own):
            wide = own.pivot_table(index=["set", "repeat"], columns="method", values=measure)
            if method != first and method in wide and first in wide:
                cells.append(_difference(measure, wide[method], wide[first]))
        if cells:
            lines.append(f"{method:12} {'   '.join(cells)}")
    return "\n".join(lines)


def _difference(measure: str, own: pd.Series, first: pd.Series) -> str:
    change = (own - first).dropna()
    error = _error_within_sets(change)
    ratio = f" ({100 * (own.mean() / first.mean() - 1):+.0f} %)" if measure not in ("auc", "r2") else ""
    return f"{measure} {change.mean():+.4f} ± {error:.4f}{ratio}"


def _error_within_sets(change: pd.Series) -> float:
    """The standard error of the mean over the sets as they are: chance is in the repetitions alone."""
    by_set = change.groupby("set")
    variances = (by_set.var() / by_set.count()).dropna()
    return float(np.sqrt(variances.sum()) / max(len(by_set), 1))


def set_by_set(pairs: pd.DataFrame, measure: str, change: str = "overlap") -> str:
    """One measure: a line for each set, a column for each method."""
    own = pairs[pairs["change"] == change]
    table = own.pivot_table(index="set", columns="method", values=measure, sort=False)
    return table.round(4).to_string(na_rep="")


def report(pairs: pd.DataFrame) -> None:
    """The tables over all sets."""
    for kind, own in pairs.groupby("kind", sort=False):
        if own["set"].nunique() > 1:
            print(f"\nMEAN OF {own['set'].nunique()} SETS OF {str(kind).upper()}\n{means(own)}")
        for measure in ("auc", "r2", "distance", "churn"):
            if measure in own and own[measure].notna().any() and own["set"].nunique() > 1:
                print(f"\n{measure}, overlapping samples, by set\n{set_by_set(own, measure)}")
        heading = f"PAIRED AGAINST {own['method'].iloc[0]}, overlapping samples (± over repetitions)"
        print(f"\n{heading}\n{paired(own)}")


def chosen_sets(text: str) -> list[str]:
    """The sets that the text names, by their own names or as a group of SETS."""
    return [name for part in text.split(",") for name in SETS.get(part.strip(), part.strip()).split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--reps", type=int, default=8, help="repetitions")
    parser.add_argument("--sets", default="main", help=f"names, or groups of them: {', '.join(SETS)}")
    parser.add_argument(
        "--methods",
        default="",
        help=f"names of retrain_audit, or {', '.join(solvers.NAMES)}; without it, its defaults",
    )
    parser.add_argument("--changes", default=",".join(CHANGES), help="changes of retrain_audit")
    parser.add_argument("--jobs", type=int, default=1, help="data sets at a time, each in a process")
    parser.add_argument("--n-jobs", type=int, default=1, help="fits at a time within a data set")
    parser.add_argument("--out", default="", help="CSV file for all pairs")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data sets")
    parser.add_argument(
        "--most-rows", type=int, default=MOST_ROWS, help="rows of a larger set that are taken"
    )
    args = parser.parse_args()
    methods = tuple(name.strip() for name in args.methods.split(",") if name.strip()) or None
    changes = tuple(name.strip() for name in args.changes.split(","))
    tasks = [
        Task(name, methods, changes, args.reps, args.n_jobs, args.data, args.most_rows)
        for name in chosen_sets(args.sets)
    ]
    if args.jobs > 1:
        with ProcessPoolExecutor(args.jobs) as pool:
            found = list(pool.map(study, tasks))
    else:
        found = [study(task) for task in tasks]
    pairs = pd.concat(found, ignore_index=True)
    if args.out:
        pairs.to_csv(args.out, index=False)
    report(pairs)


if __name__ == "__main__":
    main()
