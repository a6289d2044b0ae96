"""Whether firmness foretells whose class changes on retraining: python -m benchmarks.studies.firmness.

Two samples of 75 % that share half train a stable tree each, as in the study of retraining. On 30 % of the
rows, which neither has seen, the share of reference trees of the first that agree with its decision is set
against the decisions that the second changes: the AUC of 1 - share, next to that of the distance of the
probability to the threshold, and the share of changed rows, and of wrong answers, by level of firmness, with
standard errors over the pairs. Then the size of the model files with and without reference trees, and the
time that 100,000 rows take.

    python -m benchmarks.studies.firmness --reps 2 --sets titanic,stroke --out rows.csv
"""

import argparse
import json
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.studies.retraining import DATA, Rows, chosen_sets, load
from holdfast import StableTreeClassifier, save
from holdfast.evaluate.reliability import FirmnessPair, firmness_reliability

MANY_ROWS = 100_000
AGAINST = ("1 - firmness", "distance to the threshold")


def one_pair(name: str, rows: Rows, rep: int) -> tuple[dict[str, Any], FirmnessPair, FirmnessPair]:
    """The figures of one division of the rows; of its test rows, firmness and changes, and errors."""
    X, X_test, y, y_test = train_test_split(
        rows.X, rows.y, test_size=0.3, random_state=100 + rep, stratify=rows.y
    )
    order, n = np.random.default_rng(rep).permutation(len(X)), len(X)
    samples = order[: int(0.75 * n)], order[int(0.25 * n) :]
    first, second = (
        StableTreeClassifier(random_state=2 * rep + number).fit(X.iloc[sample], y[sample])
        for number, sample in enumerate(samples)
    )
    firmness = first.predict_firmness(X_test)
    changed = first.predict(X_test) != second.predict(X_test)
    near = -np.abs(first.predict_proba(X_test)[:, 1] - 0.5)
    aucs = [
        roc_auc_score(changed, each) if 0 < changed.sum() < len(changed) else np.nan
        for each in (1 - firmness.share, near)
    ]
    figures = {"set": name, "rep": rep, **dict(zip(AGAINST, aucs, strict=True)), "changed": changed.mean()}
    found = (changed, first.predict(X_test) != y_test)
    pairs = (FirmnessPair(firmness.share, each.astype(float), np.ones(len(each))) for each in found)
    return {**figures, **sizes(first), "seconds": seconds(first, X_test)}, *pairs


def sizes(model: StableTreeClassifier) -> dict[str, Any]:
    """Leaves, reference trees, and kilobytes: of the model file, of the references in it, and without."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        save(model, path)
        whole, packed = path.stat().st_size, len(json.loads(path.read_text())["references"]["packed"])
        save(model, path, references=False)
        smaller = path.stat().st_size
    kilobytes = {"kB": whole / 1000, "references": packed / 1000, "without": smaller / 1000}
    return {"leaves": model.get_n_leaves(), "trees": len(model.references), **kilobytes}


def seconds(model: StableTreeClassifier, X: pd.DataFrame) -> float:
    """Time the firmness of many rows: the shortest of four calls, the first of which loads compiled code."""
    many = X.sample(MANY_ROWS, replace=True, random_state=0)
    taken = []
    for _ in range(4):
        start = time.perf_counter()
        model.predict_firmness(many)
        taken.append(time.perf_counter() - start)
    return min(taken)


def report(figures: pd.DataFrame, changed: list[FirmnessPair], wrong: list[FirmnessPair]) -> None:
    """Print the tables."""
    print(f"\nBY SET\n{figures.drop(columns='rep').groupby('set', sort=False).mean().round(3).to_string()}")
    known = figures.dropna(subset=list(AGAINST))
    gap = known[AGAINST[0]] - known[AGAINST[1]]
    print(f"\nAUC FOR A CHANGED CLASS ({len(known)} of {len(figures)} pairs have changes)")
    for title, values in (*((name, known[name]) for name in AGAINST), ("difference", gap)):
        print(f"{title:28} {values.mean():.3f} ± {values.std(ddof=1) / len(values) ** 0.5:.3f}")
    for title, pairs in (("CHANGED", changed), ("WRONG (as changed)", wrong)):
        print(f"\n{title} BY LEVEL OF FIRMNESS (± standard errors over the pairs)")
        print(pd.DataFrame(firmness_reliability(pairs, True)).round(4).to_string(index=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--reps", type=int, default=4, help="repetitions")
    parser.add_argument("--sets", default="main", help="names of sets of two classes, or of groups of sets")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data sets")
    parser.add_argument("--out", default="", help="CSV file for the figures of every pair")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    found = []
    for name in chosen_sets(args.sets):
        rows = load(name, args.data)
        for rep in range(args.reps):
            found.append(one_pair(name, rows, rep))
            print(
                {key: round(x, 3) if isinstance(x, float) else x for key, x in found[-1][0].items()},
                flush=True,
            )
    figures, changed, wrong = map(list, zip(*found, strict=True))
    frame = pd.DataFrame(figures)
    if args.out:
        frame.to_csv(args.out, index=False)
    report(frame, changed, wrong)


if __name__ == "__main__":
    main()
